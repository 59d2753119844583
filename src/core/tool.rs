//! Tool calls: validation, the gate, entering `execute`, and their end.

use serde_json::{Map, Value, json};

use super::{
    change::{ApprovalMode, CallRecord, GateRecord, StepPhase},
    draft::Draft,
    effect::{Effect, ToolCall},
    input::{Prepared, Settled},
    interaction::CancelReason,
    json::Json,
    lifecycle::tool_may_become,
    message::{PartBody, ToolErrorCode, ToolState},
    settings::Gate,
    state::LivePart,
};

/// Where a command runs without a sandbox because the approval mode allows it, the history says so.
const WITHOUT_SANDBOX: &str = "Ran without a sandbox";

impl Draft<'_> {
    /// Takes all calls of the step that came complete to their next station.
    pub fn prepare_calls(&mut self) {
        for part_id in self.parts_where(|part| part.tool().is_some_and(|tool| tool.state == ToolState::Ready))
        {
            self.prepare_call(&part_id);
        }
    }

    pub fn prepare_call(&mut self, part_id: &str) {
        let call = self.tool_call(part_id);
        let Some(tool) = self.settings.tool(&call.tool_name).cloned() else {
            unreachable!("calls of unknown tools fail when they arrive");
        };
        let Some(schema) = &tool.schema else {
            self.effect(Effect::PrepareTool(call));
            return;
        };
        if let Some(message) = schema.refusal_for_model(&call.tool_name, call.input.as_value()) {
            self.fail_call(part_id, ToolErrorCode::InvalidInput, &message);
            return;
        }
        match tool.gate {
            Gate::Host => self.effect(Effect::PrepareTool(call)),
            gate => self.pass_gate(part_id, gate == Gate::Always, None),
        }
    }

    /// The host has validated the arguments and asked the gate's rule.
    pub fn tool_prepared(&mut self, tool_call_id: &str, outcome: &Prepared) {
        if let Prepared::Invalid(message) = outcome
            && self.give_up_resumed_call(tool_call_id, message)
        {
            return;
        }
        let Some(part_id) = self.call_in_state(tool_call_id, ToolState::Ready) else { return };
        match outcome {
            Prepared::Valid { input, ask, approval } => {
                if *input != self.tool_call(&part_id).input {
                    self.change_call_record(&part_id, |call| call.validated_input = Some(input.clone()));
                }
                self.pass_gate(&part_id, *ask, approval.as_ref());
            }
            Prepared::Invalid(message) => self.fail_call(&part_id, ToolErrorCode::InvalidInput, message),
            Prepared::Error(message) => self.fail_call(&part_id, ToolErrorCode::ToolFailed, message),
        }
        self.end_step_when_done();
    }

    fn pass_gate(&mut self, part_id: &str, ask: bool, approval: Option<&Json>) {
        if ask && self.state.session.effective_approval_mode == ApprovalMode::Ask {
            self.ask_gate(part_id, approval);
        } else {
            if let Some(description) = approval.filter(|_| ask).and_then(without_sandbox) {
                self.add_action(WITHOUT_SANDBOX, description, true);
            }
            self.change_call_record(part_id, |call| {
                call.input_valid = true;
                call.gate = Some(GateRecord::Open);
            });
            self.start_call(part_id);
        }
    }

    /// Writes that `execute` is about to be entered, and enters it once that is durable.
    pub fn start_call(&mut self, part_id: &str) {
        self.change_call_record(part_id, |call| call.execution_started = true);
        self.set_tool_state(part_id, ToolState::Running);
        let call = self.tool_call(part_id);
        self.effect(Effect::EnterTool { call, resumed: false });
    }

    /// Enters the calls whose gate was approved: that they start is durable before they do.
    pub fn enter_approved(&mut self) {
        if self.state.turn.is_none() || self.state.needs_recovery {
            return;
        }
        for part_id in self.parts_where(is_approved_and_not_entered) {
            self.change_call_record(&part_id, |call| call.execution_started = true);
            let call = self.tool_call(&part_id);
            self.effect(Effect::EnterTool { call, resumed: false });
        }
    }

    /// Shows what a tool that streams its result has so far. It needs to survive no more than a fragment of text.
    pub fn tool_progress(&mut self, tool_call_id: &str, output: &Json) {
        let part = self.state.turn.as_ref().and_then(|turn| turn.call(tool_call_id));
        let Some(part) = part.filter(|part| part.tool().is_some_and(|tool| tool.state.is_active())) else {
            return;
        };
        let part_id = part.id().to_owned();
        self.change_part(&part_id, |row, _| {
            if let PartBody::Tool(tool) = &mut row.part.body {
                tool.output = Some(output.clone());
                tool.preliminary = true;
            }
        });
    }

    /// `execute` has ended. A call that has ended before (stopped, say) keeps its end.
    pub fn tool_settled(&mut self, tool_call_id: &str, outcome: &Settled, model_output: Option<&Json>) {
        let Some(turn) = &self.state.turn else { return };
        let entered = |part: &&LivePart| part.row.call.as_ref().is_some_and(|call| call.execution_started);
        let call = turn.call(tool_call_id).filter(entered);
        let Some(part) = call.filter(|part| part.is_open_call()) else { return };
        let part_id = part.id().to_owned();
        match outcome {
            _ if !turn.unmatched(part).is_empty() => {
                let why = match outcome {
                    Settled::Error(message) => format!("it failed before it had asked all of it: {message}"),
                    _ => "it ended without asking all of it".to_owned(),
                };
                self.fail_replay(&part_id, &why);
            }
            Settled::Ok(output) => self.complete_call(&part_id, output.clone(), model_output.cloned()),
            Settled::Error(message) => self.fail_call(&part_id, ToolErrorCode::ToolFailed, message),
            Settled::CannotGoOn(message) => self.fail_call(&part_id, ToolErrorCode::CannotGoOn, message),
        }
        self.end_step_when_done();
    }

    pub fn complete_call(&mut self, part_id: &str, output: Json, model_output: Option<Json>) {
        if self.cancel_pending(Some(part_id), CancelReason::ToolEnded) {
            // Its waiting ends and so does the call, in the one commit: waiting-user, running, completed.
            self.set_tool_state(part_id, ToolState::Running);
        }
        self.change_tool(part_id, |tool, _| {
            assert!(tool_may_become(tool.state, ToolState::Completed), "only a running call completes");
            tool.state = ToolState::Completed;
            tool.output = Some(output);
            tool.preliminary = false;
            tool.model_output = model_output;
        });
    }

    pub fn fail_call(&mut self, part_id: &str, code: ToolErrorCode, message: &str) {
        self.fail_call_because(part_id, code, message, CancelReason::ToolEnded);
    }

    fn fail_call_because(&mut self, part_id: &str, code: ToolErrorCode, message: &str, reason: CancelReason) {
        self.cancel_pending(Some(part_id), reason);
        self.change_tool(part_id, |tool, streamed| {
            assert!(tool_may_become(tool.state, ToolState::Failed), "a call that has ended keeps its end");
            if tool.state == ToolState::InputStreaming {
                tool.input_text = Some(streamed.collect());
            }
            if std::mem::take(&mut tool.preliminary) {
                tool.output = None;
            }
            // Leave that was given for a call that did not run must not let it run later.
            let has_result = tool.result_step_id.is_some();
            if let Some(approval) = tool.provider_approval.as_mut().filter(|_| !has_result) {
                approval.approved = Some(false);
                approval.reason = Some(message.to_owned());
            }
            tool.state = ToolState::Failed;
            tool.error = Some(message.to_owned());
            tool.error_code = Some(code);
        });
    }

    /// Ends every call that is still going on.
    pub fn end_open_calls(&mut self, code: ToolErrorCode, message: &str, reason: CancelReason) {
        let open = self.turn().parts.iter().filter(|part| part.is_open_call());
        let open: Vec<String> = open.map(|part| part.id().to_owned()).collect();
        for part_id in open {
            let part = self.turn().part(&part_id).expect("the Part was just listed");
            let tool_call_id = part.tool().expect("only tool calls were picked").tool_call_id.clone();
            self.fail_call_because(&part_id, code, message, reason);
            self.feed_if_earlier(&part_id);
            if !self.take_back_entering(&tool_call_id) {
                self.effect(Effect::AbortTool { tool_call_id });
            }
        }
    }

    pub fn set_tool_state(&mut self, part_id: &str, state: ToolState) {
        self.change_tool(part_id, |tool, _| {
            assert!(
                tool_may_become(tool.state, state),
                "a tool call goes from {:?} to {state:?} only as the table has it",
                tool.state
            );
            tool.state = state;
        });
    }

    pub fn tool_call(&self, part_id: &str) -> ToolCall {
        let turn = self.turn();
        let part = turn.part(part_id).expect("the call is in the state");
        let tool = part.tool().expect("the Part is a tool call");
        // The core's own validation never comes to something else.
        let by_host = self.settings.tool(&tool.tool_name).is_some_and(|tool| tool.schema.is_none());
        let record = part.row.call.as_ref().filter(|call| by_host && call.input_valid);
        let validated = record.and_then(|call| call.validated_input.as_ref().or(tool.input.as_ref()));
        let gate = part.row.call.as_ref().and_then(|call| call.gate.as_ref());
        let asked = match gate {
            Some(GateRecord::Asked { interaction_id }) => turn.interaction(interaction_id),
            _ => None,
        };
        ToolCall {
            validated_input: validated.cloned(),
            turn_id: turn.row.turn_id.clone(),
            step_id: part.row.part.step_id.clone().unwrap_or_default(),
            tool_call_id: tool.tool_call_id.clone(),
            tool_name: tool.tool_name.clone(),
            input: tool.input.clone().unwrap_or_else(|| Json::new(Value::Object(Map::new()))),
            approval: asked.map(|row| row.interaction.payload.clone()),
        }
    }

    fn call_in_state(&self, tool_call_id: &str, state: ToolState) -> Option<String> {
        let turn = self.state.turn.as_ref()?;
        let in_calls_phase = turn.row.step.as_ref().is_some_and(|step| step.phase == StepPhase::Calls);
        let part = turn.call(tool_call_id)?;
        (in_calls_phase && part.tool()?.state == state).then(|| part.id().to_owned())
    }

    /// What every approval shows of the call it belongs to: the input that passed the schema replaces whatever
    /// the producer put there, and the model's explanation stands apart.
    pub fn fill_approval_payload(&self, part_id: &str, payload: &mut Map<String, Value>) {
        let part = self.turn().part(part_id).expect("the call is in the state");
        let tool = part.tool().expect("the Part is a tool call");
        let record = part.row.call.as_ref();
        let validated = record.and_then(|call| call.validated_input.as_ref()).or(tool.input.as_ref());
        payload.insert(
            "validated_input".into(),
            validated.map_or(Value::Null, |input| input.as_value().clone()),
        );
        payload.shift_remove("tool_description");
        if let Some(description) = record.and_then(|call| call.tool_description.as_ref()) {
            payload.insert("tool_description".into(), json!(description));
        }
        payload.shift_remove("model_explanation");
        if let Some(explanation) = &tool.model_explanation {
            payload.insert("model_explanation".into(), json!(explanation));
        }
    }
}

/// Its gate was approved, and `execute` was not about to be entered yet.
fn is_approved_and_not_entered(part: &LivePart) -> bool {
    let asked =
        |call: &CallRecord| matches!(call.gate, Some(GateRecord::Asked { .. })) && !call.execution_started;
    part.tool().is_some_and(|tool| tool.state == ToolState::Running && !tool.provider_executed)
        && part.row.call.as_ref().is_some_and(asked)
}

/// What is said of a command for which no sandbox can be had.
fn without_sandbox(approval: &Json) -> Option<String> {
    let approval = approval.as_value();
    let text = |field: &str| approval.get(field).and_then(Value::as_str);
    let command = text("command").filter(|_| text("sandbox") == Some("unavailable"))?;
    Some(format!("{} under always-allow: {command}", text("operation")?))
}
