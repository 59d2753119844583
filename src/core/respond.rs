//! Answering an Interaction: the checks in their order, and what the answer sets going.

use serde_json::Value;

use super::{
    change::{GateRecord, InteractionRow},
    draft::Draft,
    effect::{Answer, Decision, Effect},
    error::{Code, Issue, Refusal},
    input::Ticket,
    interaction::{Interaction, InteractionStatus},
    json::{Json, check_limits},
    message::{ToolErrorCode, ToolState},
    question,
    schema::{kind_of, response_issues},
};

impl Draft<'_> {
    pub fn respond(
        &mut self,
        ticket: Ticket,
        interaction_id: &Value,
        response: &Value,
        again: bool,
    ) -> Result<(), Refusal> {
        let Some(interaction_id) = interaction_id.as_str().filter(|id| !id.is_empty()) else {
            return Err(Refusal::invalid(format!(
                "interaction_id must be a string from session.interactions(); it is {}.",
                kind_of(interaction_id)
            )));
        };
        let known = self.state.turn.as_ref().and_then(|turn| turn.interaction(interaction_id));
        let Some(row) = known.cloned() else {
            let again = (!again).then(|| response.clone());
            let interaction_id = interaction_id.to_owned();
            self.effect(Effect::AnswerFromHistory { ticket, interaction_id, again });
            return Ok(());
        };
        if !row.interaction.is_pending() {
            return Err(Refusal::terminal(row.interaction.clone()));
        }
        let native = self.turn().row.native_schemas.get(interaction_id).map(Json::as_value);
        let outcome = check_response(&row.interaction, native, response)?;
        let interaction =
            self.end_interaction(interaction_id, outcome, Some(Json::new(response.clone())), None);
        self.answer(ticket, Answer::Interaction(Box::new(interaction.clone())));
        self.go_on_after_answer(&row, &interaction);
        Ok(())
    }

    fn go_on_after_answer(&mut self, row: &InteractionRow, interaction: &Interaction) {
        let part = self.turn().part(&row.part_id).expect("the Part of a live Interaction is in the state");
        if part.tool().is_none() {
            self.publish_part_now(&row.part_id);
            return;
        }
        let by_provider = part.tool().is_some_and(|tool| tool.provider_executed);
        let gate = part.row.call.as_ref().and_then(|call| call.gate.as_ref());
        let is_gate = matches!(gate, Some(GateRecord::Asked { interaction_id }) if *interaction_id == interaction.interaction_id);
        if let Some(why) = self.turn().resumed(&row.part_id).and_then(|resumed| resumed.stuck.clone()) {
            self.end_stuck_call(&row.part_id, interaction, &why);
            return;
        }
        if !is_gate {
            if self.turn().has_pending(&row.part_id) {
                self.publish_part_now(&row.part_id);
            } else {
                self.set_tool_state(&row.part_id, ToolState::Running);
            }
            return;
        }
        let decision = decision_of(interaction).expect("a gate is an approval");
        if decision.approved {
            // The answer first: it is durable before anything is said to have started.
            if by_provider {
                self.approve_provider_call(&row.part_id, decision.reason);
            } else {
                self.set_tool_state(&row.part_id, ToolState::Running);
            }
            self.effect(Effect::GoOn);
        } else {
            self.fail_call(&row.part_id, ToolErrorCode::Denied, &denial(&decision));
            self.end_step_when_done();
        }
    }

    /// The last answer to a call that nobody can go on with ends it, and the model is told.
    pub fn end_stuck_call(&mut self, part_id: &str, interaction: &Interaction, why: &str) {
        if self.turn().has_pending(part_id) {
            self.publish_part_now(part_id);
            return;
        }
        match decision_of(interaction).filter(|decision| !decision.approved) {
            Some(decision) => self.fail_call(part_id, ToolErrorCode::Denied, &denial(&decision)),
            None => self.fail_call(part_id, ToolErrorCode::CannotGoOn, why),
        }
        self.end_step_when_done();
    }
}

fn denial(decision: &Decision) -> String {
    match &decision.reason {
        Some(reason) => format!("The user denied this call, so it was not executed. Reason: {reason}"),
        None => "The user denied this call, so it was not executed.".to_owned(),
    }
}

/// The status a response gives the Interaction, or everything that is wrong with it.
fn check_response(
    interaction: &Interaction,
    native_schema: Option<&Value>,
    response: &Value,
) -> Result<InteractionStatus, Refusal> {
    let kind = response.get("type").and_then(Value::as_str);
    if let Some(kind) = kind.filter(|kind| *kind != interaction.kind) {
        return Err(Refusal::new(
            Code::ResponseTypeMismatch,
            format!("The Interaction is of type {:?}, the response of type {kind:?}.", interaction.kind),
        ));
    }
    let issues = shape_issues(response);
    let issues =
        if issues.is_empty() { content_issues(interaction, native_schema, response) } else { issues };
    if !issues.is_empty() {
        return Err(Refusal::with_issues(Code::InvalidResponse, "The response is refused:", issues));
    }
    Ok(match response["outcome"].as_str() {
        Some("resolved") => InteractionStatus::Resolved,
        _ => InteractionStatus::Denied,
    })
}

fn shape_issues(response: &Value) -> Vec<Issue> {
    let issue = |path: &str, message: String| Issue { path: path.to_owned(), message };
    let Value::Object(map) = response else {
        let shape = "{ type, outcome, payload?, reason? }";
        return vec![issue("response", format!("must be {shape}; it is {}", kind_of(response)))];
    };
    let mut issues = Vec::new();
    if let Some(Err(problem)) = map.get("payload").map(check_limits) {
        return vec![issue("payload", problem.to_string())];
    }
    if !map.get("type").is_some_and(Value::is_string) {
        issues.push(issue("type", "must be the Interaction's type".to_owned()));
    }
    if !matches!(map.get("outcome").and_then(Value::as_str), Some("resolved" | "denied")) {
        issues.push(issue("outcome", "must be \"resolved\" or \"denied\"".to_owned()));
    }
    if let Some(reason) = map.get("reason").filter(|reason| !reason.is_string() && !reason.is_null()) {
        issues.push(issue("reason", format!("must be a string; it is {}", kind_of(reason))));
    }
    for key in map.keys().filter(|key| !["type", "outcome", "payload", "reason"].contains(&key.as_str())) {
        issues.push(issue(key, "is unknown; a response is { type, outcome, payload?, reason? }".to_owned()));
    }
    issues
}

fn content_issues(interaction: &Interaction, native_schema: Option<&Value>, response: &Value) -> Vec<Issue> {
    let payload = response.get("payload").filter(|payload| !payload.is_null());
    if response["outcome"] == "denied" {
        // A denial needs no payload, but one that says the opposite is neither yes nor no.
        let approves = payload.is_some_and(|payload| payload["decision"] == "approved");
        return if interaction.kind == "approval" && approves {
            vec![Issue {
                path: "payload.decision".to_owned(),
                message: "is \"approved\" although outcome is \"denied\"".to_owned(),
            }]
        } else {
            Vec::new()
        };
    }
    let payload = payload.unwrap_or(&Value::Null);
    if interaction.kind == "question" {
        return question::answer_issues(interaction.payload.as_value(), payload);
    }
    match &interaction.response_schema {
        Some(schema) => response_issues(schema.as_value(), native_schema, payload),
        None => Vec::new(),
    }
}

/// What an approval came to; `None` for anything else.
pub(super) fn decision_of(interaction: &Interaction) -> Option<Decision> {
    if interaction.kind != "approval" {
        return None;
    }
    let response = interaction.response.as_ref().map(Json::as_value);
    let payload = response.and_then(|response| response.get("payload")).filter(|payload| !payload.is_null());
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let reason = text(response.and_then(|response| response.get("reason")))
        .or_else(|| text(payload.and_then(|payload| payload.get("reason"))));
    let approves = payload.is_some_and(|payload| payload["decision"] == "approved");
    Some(Decision {
        approved: interaction.status == InteractionStatus::Resolved && approves,
        auto_approved: false,
        interaction_id: Some(interaction.interaction_id.clone()),
        reason,
        payload: payload.cloned().map(Json::new),
    })
}
