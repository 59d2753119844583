//! Asking a person: `interactions.request`, `interactions.approval.request`, and gates.

use serde_json::{Map, Value, json};

use super::{
    change::{ApprovalMode, GateRecord, InteractionRow},
    draft::Draft,
    effect::{Answer, Decision, Effect},
    error::{Code, Refusal},
    fields::Fields,
    input::Ticket,
    interaction::{CancelReason, Interaction, InteractionSource, InteractionStatus, SourceType},
    json::{Json, check_limits},
    lifecycle::interaction_may_become,
    message::{PartBody, ToolState},
    question,
    replay::Replay,
    respond::decision_of,
    schema::{Schema, approval_response_schema, kind_of},
};

const FIELDS: [&str; 8] =
    ["type", "turn_id", "tool_call_id", "tool_name", "title", "description", "payload", "response_schema"];
const OPERATIONS: [&str; 4] = ["tool", "exec", "start", "write"];

/// A request that passed every check.
pub(super) struct Request {
    pub kind: String,
    /// The Part of the call that asks.
    pub part_id: Option<String>,
    source: InteractionSource,
    title: Option<String>,
    description: Option<String>,
    payload: Value,
    response_schema: Option<Value>,
    /// What the validator reads in its place.
    native_schema: Option<Value>,
    /// The producer's own `{ type, payload }`, before the Session filled anything in.
    pub own: Value,
    /// The call asks itself: only that is matched when it is entered again.
    pub from_call: bool,
}

impl Draft<'_> {
    pub fn request(
        &mut self,
        ticket: Ticket,
        request: &Value,
        native_schema: Option<&Value>,
        from_call: bool,
    ) -> Result<(), Refusal> {
        let request = Request { from_call, ..self.check_request(request, native_schema, None)? };
        match self.replay(&request) {
            Replay::New => {
                let interaction = self.create_interaction(request);
                self.answer(ticket, Answer::Interaction(Box::new(interaction)));
            }
            Replay::Asked(interaction) => {
                self.answer(ticket, Answer::Interaction(interaction.clone()));
                self.wake_if_ended(&interaction);
            }
            Replay::AutoApproved | Replay::Mismatch => self.refuse_replay(ticket, &request),
        }
        Ok(())
    }

    pub fn request_approval(
        &mut self,
        ticket: Ticket,
        request: &Value,
        native_schema: Option<&Value>,
        from_call: bool,
    ) -> Result<(), Refusal> {
        let request = Request { from_call, ..self.check_request(request, native_schema, Some("approval"))? };
        match self.replay(&request) {
            Replay::New => {}
            Replay::Asked(interaction) => {
                self.answer(ticket, Answer::Asked { interaction: interaction.clone() });
                self.wake_if_ended(&interaction);
                return Ok(());
            }
            Replay::AutoApproved => {
                self.answer_auto_approved(ticket);
                return Ok(());
            }
            Replay::Mismatch => {
                self.refuse_replay(ticket, &request);
                return Ok(());
            }
        }
        if self.state.session.effective_approval_mode == ApprovalMode::AlwaysAllow {
            self.record_request(&request, None);
            self.answer_auto_approved(ticket);
            return Ok(());
        }
        let interaction = Box::new(self.create_interaction(request));
        self.answer(ticket, Answer::Asked { interaction });
        Ok(())
    }

    fn answer_auto_approved(&mut self, ticket: Ticket) {
        let decision = Decision {
            approved: true,
            auto_approved: true,
            interaction_id: None,
            reason: None,
            payload: None,
        };
        self.answer(ticket, Answer::Decided { decision });
    }

    /// Asks before `execute` is entered. A shell's tool says itself what it is about to do.
    pub fn ask_gate(&mut self, part_id: &str, approval: Option<&Json>) {
        let call = self.tool_call(part_id);
        let of_shell = approval.and_then(shell_payload);
        let source_type = if of_shell.is_some() { SourceType::Shell } else { SourceType::Tool };
        let mut payload =
            of_shell.cloned().unwrap_or_else(|| Map::from_iter([("operation".into(), json!("tool"))]));
        self.fill_approval_payload(part_id, &mut payload);
        let interaction = self.create_interaction(Request {
            kind: "approval".to_owned(),
            part_id: Some(part_id.to_owned()),
            source: InteractionSource {
                source_type,
                tool_call_id: Some(call.tool_call_id),
                tool_name: Some(call.tool_name),
            },
            title: None,
            description: None,
            payload: Value::Object(payload),
            response_schema: Some(approval_response_schema()),
            native_schema: None,
            own: Value::Null,
            from_call: false,
        });
        self.change_call_record(part_id, |call| {
            call.input_valid = true;
            call.gate = Some(GateRecord::Asked { interaction_id: interaction.interaction_id });
        });
    }

    fn check_request(
        &mut self,
        value: &Value,
        native_schema: Option<&Value>,
        entry: Option<&str>,
    ) -> Result<Request, Refusal> {
        let fields = Fields::of("The request", value, &FIELDS)?;
        let kind = match (fields.text("type")?, entry) {
            (None, Some(entry)) => entry.to_owned(),
            (Some(kind), None) if !kind.is_empty() => kind.to_owned(),
            (Some(kind), Some(entry)) if kind == entry => kind.to_owned(),
            (_, Some(entry)) => {
                return Err(Refusal::invalid(format!("The request's type must be {entry:?} here.")));
            }
            _ => {
                return Err(Refusal::invalid(
                    "The request needs a type: approval, question, or your own word.",
                ));
            }
        };
        if kind == "approval" && (fields.get("title").is_some() || fields.get("description").is_some()) {
            return Err(Refusal::invalid(
                "An approval takes no title or description: what is shown is the tool and its validated input.",
            ));
        }
        let (part_id, source) = self.check_source(&fields, &kind)?;
        let empty = Value::Object(Map::new());
        let payload = fields.get("payload").unwrap_or(&empty);
        check_limits(payload)
            .map_err(|problem| Refusal::invalid(format!("payload is refused: {problem}.")))?;
        let response_schema = check_response_schema(&kind, fields.get("response_schema"), native_schema)?;
        let own = json!({ "type": kind, "payload": payload });
        let payload = match kind.as_str() {
            "approval" => self.approval_payload(payload, part_id.as_deref())?,
            "question" => question::normalise(payload, &mut self.stamp)?,
            _ => payload.clone(),
        };
        let title = fields.text("title")?.map(str::to_owned);
        let description = fields.text("description")?.map(str::to_owned);
        Ok(Request {
            kind,
            part_id,
            source,
            title,
            description,
            payload,
            response_schema,
            native_schema: native_schema.cloned(),
            own,
            from_call: false,
        })
    }

    /// Who asks: the Turn must be the active one, the call (if any) one of it that was entered and has not ended.
    fn check_source(
        &self,
        fields: &Fields<'_, '_>,
        kind: &str,
    ) -> Result<(Option<String>, InteractionSource), Refusal> {
        let turn_id = fields.required_text("turn_id")?;
        let inactive = |what: String| Refusal::new(Code::ToolCallNotActive, what);
        let turn = self.state.turn.as_ref().filter(|turn| turn.row.turn_id == turn_id).ok_or_else(|| {
            inactive(format!(
                "Turn {turn_id:?} is not the active one; ask with session.status().active_turn_id."
            ))
        })?;
        let Some(tool_call_id) = fields.text("tool_call_id")? else {
            let tool_name = fields.text("tool_name")?.map(str::to_owned);
            return Ok((
                None,
                InteractionSource { source_type: SourceType::Execution, tool_call_id: None, tool_name },
            ));
        };
        let part = turn
            .call(tool_call_id)
            .filter(|part| part.tool().is_some_and(|tool| tool.state.is_active()))
            .filter(|part| part.row.call.as_ref().is_some_and(|call| call.execution_started))
            .ok_or_else(|| {
                inactive(format!(
                    "Tool call {tool_call_id:?} is not going on in this Turn; ask inside its execute."
                ))
            })?;
        let tool = part.tool().expect("the Part is a tool call");
        let shell = kind == "approval"
            && fields
                .get("payload")
                .and_then(|payload| payload.get("operation"))
                .is_some_and(|word| word != "tool");
        let source = InteractionSource {
            source_type: if shell { SourceType::Shell } else { SourceType::Tool },
            tool_call_id: Some(tool_call_id.to_owned()),
            tool_name: Some(tool.tool_name.clone()),
        };
        Ok((Some(part.id().to_owned()), source))
    }

    fn approval_payload(&self, payload: &Value, part_id: Option<&str>) -> Result<Value, Refusal> {
        let Value::Object(payload) = payload else {
            let kind = kind_of(payload);
            return Err(Refusal::invalid(format!(
                "An approval's payload must be an object with operation; it is {kind}."
            )));
        };
        let operation = payload.get("operation").and_then(Value::as_str).unwrap_or_default();
        if !OPERATIONS.contains(&operation) {
            return Err(Refusal::invalid(format!(
                "An approval's payload.operation must be one of {}.",
                OPERATIONS.join(", ")
            )));
        }
        let mut payload = payload.clone();
        if let Some(part_id) = part_id {
            self.fill_approval_payload(part_id, &mut payload);
        }
        Ok(Value::Object(payload))
    }

    /// Tool `-> waiting-user` and Interaction `pending`, in one revision of the Message.
    fn create_interaction(&mut self, request: Request) -> Interaction {
        let interaction_id = self.stamp.id("interaction");
        self.record_request(&request, Some(&interaction_id));
        if let Some(schema) = request.native_schema {
            let id = interaction_id.clone();
            self.change_turn(|turn| {
                turn.native_schemas.insert(id, Json::new(schema));
            });
        }
        let interaction = Interaction {
            interaction_id,
            kind: request.kind,
            status: InteractionStatus::Pending,
            turn_id: self.turn().row.turn_id.clone(),
            source: request.source,
            title: request.title,
            description: request.description,
            payload: Json::new(request.payload),
            response_schema: request.response_schema.map(Json::new),
            response: None,
            created_at: self.now(),
            resolved_at: None,
            cancel_reason: None,
        };
        match request.part_id {
            Some(part_id) => {
                let message_id =
                    self.turn().part(&part_id).expect("the call is in the state").row.message_id.clone();
                let row =
                    InteractionRow { part_id: part_id.clone(), message_id, interaction: interaction.clone() };
                self.put_interaction(row);
                let tool = self.turn().part(&part_id).and_then(|part| part.tool());
                if tool.is_some_and(|tool| tool.state == ToolState::WaitingUser) {
                    self.publish_part_now(&part_id);
                } else {
                    self.set_tool_state(&part_id, ToolState::WaitingUser);
                }
            }
            None => {
                let body = PartBody::Interaction { interaction: Box::new(interaction.clone()) };
                let part_id = self.add_part(body, None, true);
                let message_id =
                    self.turn().part(&part_id).expect("the Part was just added").row.message_id.clone();
                self.put_interaction(InteractionRow {
                    part_id,
                    message_id,
                    interaction: interaction.clone(),
                });
            }
        }
        interaction
    }

    /// Cancels what is pending, of one Part or of the whole Turn. The caller publishes the Tool's end with it;
    /// Parts that consist of an Interaction are published here.
    pub fn cancel_pending(&mut self, part_id: Option<&str>, reason: CancelReason) -> bool {
        let of_part = |row: &InteractionRow| part_id.is_none_or(|part_id| row.part_id == part_id);
        let pending: Vec<(String, String)> = self
            .turn()
            .pending()
            .filter(|row| of_part(row))
            .map(|row| (row.interaction.interaction_id.clone(), row.part_id.clone()))
            .collect();
        for (interaction_id, part_id) in &pending {
            self.end_interaction(interaction_id, InteractionStatus::Cancelled, None, Some(reason));
            if self.turn().part(part_id).is_some_and(|part| part.tool().is_none()) {
                self.publish_part_now(part_id);
            }
        }
        !pending.is_empty()
    }

    /// Ends an Interaction for good and wakes whoever waits for it.
    pub fn end_interaction(
        &mut self,
        interaction_id: &str,
        status: InteractionStatus,
        response: Option<Json>,
        cancel_reason: Option<CancelReason>,
    ) -> Interaction {
        let now = self.now();
        if self.turn().row.native_schemas.contains_key(interaction_id) {
            self.change_turn(|turn| {
                turn.native_schemas.remove(interaction_id);
            });
        }
        let interaction = self.change_interaction(interaction_id, |interaction| {
            assert!(interaction_may_become(interaction.status, status), "an Interaction ends once");
            interaction.status = status;
            interaction.response = response;
            interaction.cancel_reason = cancel_reason;
            interaction.resolved_at = Some(now);
        });
        let decision = decision_of(&interaction).map(Box::new);
        self.effect(Effect::InteractionEnded { interaction: Box::new(interaction.clone()), decision });
        interaction
    }
}

/// The schema an answer has to fit; `native` is what the validator reads in its place.
fn check_response_schema(
    kind: &str,
    given: Option<&Value>,
    native: Option<&Value>,
) -> Result<Option<Value>, Refusal> {
    let Some(schema) = given else {
        return Ok((kind == "approval").then(approval_response_schema));
    };
    if kind == "question" {
        return Err(Refusal::invalid(
            "A question takes no response_schema; its questions say what may be answered.",
        ));
    }
    check_limits(schema)
        .map_err(|problem| Refusal::invalid(format!("response_schema is refused: {problem}.")))?;
    Schema::compile(native.unwrap_or(schema)).map_err(|problem| {
        Refusal::invalid(format!("response_schema is not a usable JSON Schema: {problem}."))
    })?;
    let requires_decision = || {
        let required = schema.get("required").and_then(Value::as_array);
        required.is_some_and(|names| names.iter().any(|name| name == "decision"))
    };
    if kind == "approval" && !requires_decision() {
        return Err(Refusal::invalid("The response_schema of an approval must require \"decision\"."));
    }
    Ok(Some(schema.clone()))
}

/// What a gate shows of a command; nothing else may pass for one.
fn shell_payload(approval: &Json) -> Option<&Map<String, Value>> {
    let payload = approval.as_value().as_object()?;
    let operation = payload.get("operation").and_then(Value::as_str)?;
    (operation != "tool" && OPERATIONS.contains(&operation)).then_some(payload)
}
