use serde_json::{Value, json};

use super::scenario::Scenario;
use crate::core::{
    effect::{Answer, Effect},
    error::Code,
    interaction::{CancelReason, InteractionStatus},
    message::ToolState,
};

/// A Turn in which `plain` was called and has asked for an approval.
fn asked() -> (Scenario, String) {
    let mut scenario = Scenario::new();
    scenario.prompt("go");
    scenario.calls(&[("c1", "plain", json!({ "b": 1, "a": 2 }))]);
    let id = match scenario.ask_approval("c1") {
        Ok(Some(Answer::Asked { interaction })) => interaction.interaction_id.clone(),
        other => panic!("{other:?}"),
    };
    (scenario, id)
}

#[test]
fn asking_makes_the_tool_wait_in_the_same_revision() {
    let (scenario, id) = asked();
    let tool = scenario.tool("c1");
    assert_eq!(tool["state"], "waiting-user");
    assert_eq!(tool["interactions"][0]["interaction_id"], json!(id));
    assert_eq!(
        tool["interactions"][0]["source"],
        json!({ "type": "tool", "tool_call_id": "c1", "tool_name": "plain" })
    );
    let payload = &tool["interactions"][0]["payload"];
    assert_eq!(
        payload.to_string(),
        r#"{"operation":"tool","validated_input":{"b":1,"a":2},"tool_description":"Does it."}"#
    );
}

#[test]
fn an_approval_lets_the_tool_go_on_with_the_decision() {
    let (mut scenario, id) = asked();
    scenario.take_effects();
    let committed = scenario.approve(&id).unwrap();
    assert_eq!(committed.status, InteractionStatus::Resolved);
    assert_eq!(scenario.tool_state("c1"), ToolState::Running);
    let ended = scenario.take_effects().into_iter().find_map(|effect| match effect {
        Effect::InteractionEnded { decision, .. } => decision,
        _ => None,
    });
    assert!(ended.is_some_and(|decision| decision.approved && !decision.auto_approved));
    scenario.settle("c1", json!({ "deleted": true }));
    scenario.says("done");
    assert_eq!(scenario.last_turn().text, "done");
    assert_eq!(scenario.last_turn().usage.total_tokens, 6);
}

#[test]
fn a_denied_tool_decides_for_itself_what_it_returns() {
    let (mut scenario, id) = asked();
    let response = json!({ "type": "approval", "outcome": "denied", "reason": "no" });
    let committed = scenario.respond(&id, response).unwrap();
    assert_eq!(committed.status, InteractionStatus::Denied);
    assert_eq!(scenario.tool_state("c1"), ToolState::Running);
    scenario.settle("c1", json!({ "error": "denied" }));
    assert_eq!(scenario.tool_state("c1"), ToolState::Completed);
}

#[test]
fn the_second_of_two_answers_is_refused_and_shown_the_first() {
    let (mut scenario, id) = asked();
    scenario.approve(&id).unwrap();
    let refusal = scenario.approve(&id).unwrap_err();
    assert_eq!(refusal.code, Code::InteractionTerminal);
    assert_eq!(refusal.interaction.unwrap().status, InteractionStatus::Resolved);
}

#[test]
fn what_is_neither_yes_nor_no_is_refused_and_changes_nothing() {
    let wrong = [
        (json!({ "type": "question", "outcome": "resolved" }), Code::ResponseTypeMismatch),
        (json!(true), Code::InvalidResponse),
        (json!("approved"), Code::InvalidResponse),
        (json!({}), Code::InvalidResponse),
        (Value::Null, Code::InvalidResponse),
        (json!({ "type": "approval", "outcome": "yes" }), Code::InvalidResponse),
        (json!({ "type": "approval", "outcome": "resolved" }), Code::InvalidResponse),
        (
            json!({ "type": "approval", "outcome": "resolved", "payload": { "decision": "yes" } }),
            Code::InvalidResponse,
        ),
        (
            json!({ "type": "approval", "outcome": "resolved", "payload": { "approved": true } }),
            Code::InvalidResponse,
        ),
        (
            json!({ "type": "approval", "outcome": "denied", "payload": { "decision": "approved" } }),
            Code::InvalidResponse,
        ),
        (json!({ "type": "approval", "outcome": "denied", "reason": 1 }), Code::InvalidResponse),
        (json!({ "type": "approval", "outcome": "denied", "because": "x" }), Code::InvalidResponse),
    ];
    let (mut scenario, id) = asked();
    for (response, code) in wrong {
        let before = scenario.stored.journal.len();
        let refusal = scenario.respond(&id, response.clone()).unwrap_err();
        assert_eq!(refusal.code, code, "{response}");
        assert_eq!(scenario.stored.journal.len(), before, "{response}");
        assert_eq!(scenario.pending().len(), 1);
    }
    scenario.approve(&id).unwrap();
}

#[test]
fn a_resolved_answer_may_say_denied_and_carry_more() {
    let (mut scenario, id) = asked();
    let payload = json!({ "decision": "denied", "reason": "later", "until": 7 });
    scenario.take_effects();
    scenario.respond(&id, json!({ "type": "approval", "outcome": "resolved", "payload": payload })).unwrap();
    let decision = scenario.take_effects().into_iter().find_map(|effect| match effect {
        Effect::InteractionEnded { decision, .. } => decision,
        _ => None,
    });
    let decision = decision.unwrap();
    assert!(!decision.approved);
    assert_eq!(decision.reason.as_deref(), Some("later"));
    assert_eq!(decision.payload.unwrap().as_value(), &payload);
}

#[test]
fn several_at_once_keep_the_call_waiting_until_the_last() {
    let (mut scenario, first) = asked();
    scenario.ask_approval("c1").unwrap();
    let second = scenario.pending()[1].interaction_id.clone();
    scenario.approve(&second).unwrap();
    assert_eq!(scenario.tool_state("c1"), ToolState::WaitingUser);
    scenario.approve(&first).unwrap();
    assert_eq!(scenario.tool_state("c1"), ToolState::Running);
}

#[test]
fn a_call_that_ends_cancels_what_it_asked() {
    let (mut scenario, _) = asked();
    scenario.settle("c1", json!(1));
    let interaction = &scenario.stored.interactions[0].interaction;
    assert_eq!(interaction.status, InteractionStatus::Cancelled);
    assert_eq!(interaction.cancel_reason, Some(CancelReason::ToolEnded));
    assert_eq!(scenario.tool_state("c1"), ToolState::Completed);
}

#[test]
fn always_allow_asks_nobody() {
    let mut scenario = Scenario::new();
    let config = json!({ "security": { "approval_mode": "always-allow" } });
    scenario.input(json!({ "input": "set", "config": config })).unwrap();
    scenario.prompt("go");
    scenario.calls(&[("c1", "gated", json!({})), ("c2", "plain", json!({}))]);
    assert_eq!(scenario.tool_state("c1"), ToolState::Running, "a gate is open");
    match scenario.ask_approval("c2") {
        Ok(Some(Answer::Decided { decision })) => assert!(decision.approved && decision.auto_approved),
        other => panic!("{other:?}"),
    }
    assert!(scenario.stored.interactions.is_empty());
}

#[test]
fn a_gate_asks_before_the_tool_is_entered() {
    let mut scenario = Scenario::new();
    scenario.prompt("go");
    scenario.calls(&[("c1", "gated", json!({ "n": 1 }))]);
    assert!(scenario.outside.entered.is_empty());
    assert_eq!(scenario.tool_state("c1"), ToolState::WaitingUser);
    let id = scenario.pending()[0].interaction_id.clone();
    scenario.approve(&id).unwrap();
    assert!(scenario.outside.entered.contains("c1"));
    assert_eq!(scenario.tool_state("c1"), ToolState::Running);
}

#[test]
fn a_denied_gate_ends_the_call_and_tells_the_model_why() {
    let mut scenario = Scenario::new();
    scenario.prompt("go");
    scenario.calls(&[("c1", "gated", json!({})), ("c2", "gated", json!({}))]);
    let ids: Vec<String> = scenario.pending().iter().map(|pending| pending.interaction_id.clone()).collect();
    scenario
        .respond(&ids[0], json!({ "type": "approval", "outcome": "denied", "reason": "use /tmp" }))
        .unwrap();
    let tool = scenario.tool("c1");
    assert_eq!((&tool["state"], &tool["error_code"]), (&json!("failed"), &json!("denied")));
    assert!(tool["error"].as_str().unwrap().contains("use /tmp"));
    assert_eq!(scenario.pending().len(), 1, "its sibling goes on waiting");
    scenario.respond(&ids[1], json!({ "type": "approval", "outcome": "denied" })).unwrap();
    assert!(scenario.outside.entered.is_empty());
    assert!(scenario.outside.model.is_some(), "the model is told in the next step");
}

#[test]
fn requests_that_are_no_good_are_refused_in_words() {
    let (mut scenario, _) = asked();
    let turn_id = scenario.stored.session.active_turn_id.clone().unwrap();
    let good = json!({ "turn_id": turn_id, "tool_call_id": "c1", "payload": { "operation": "tool" } });
    let with = |field: &str, value: Value| {
        let mut request = good.clone();
        request[field] = value;
        request
    };
    let cases = [
        (with("turn_id", json!("turn:other")), Code::ToolCallNotActive),
        (with("tool_call_id", json!("c9")), Code::ToolCallNotActive),
        (with("turn_id", Value::Null), Code::InvalidInput),
        (with("payload", json!({ "operation": "fly" })), Code::InvalidInput),
        (with("payload", json!([])), Code::InvalidInput),
        (with("response_schema", json!({ "type": "object" })), Code::InvalidInput),
        (
            with("response_schema", json!({ "type": "nonsense", "required": ["decision"] })),
            Code::InvalidInput,
        ),
        (with("responseSchema", json!({})), Code::InvalidInput),
        (json!("approve me"), Code::InvalidInput),
    ];
    for (request, code) in cases {
        let refusal = scenario.input(json!({ "input": "approval", "request": request })).unwrap_err();
        assert_eq!(refusal.code, code, "{request}: {}", refusal.message);
    }
    assert_eq!(scenario.pending().len(), 1);
}

#[test]
fn an_interaction_without_a_call_does_not_hold_the_step_and_ends_with_the_turn() {
    let mut scenario = Scenario::new();
    let turn_id = scenario.prompt("go");
    let request = json!({ "type": "vote", "turn_id": turn_id, "payload": { "for": ["a"] } });
    scenario.input(json!({ "input": "request", "request": request })).unwrap();
    scenario.says("done");
    let interaction = &scenario.stored.interactions[0].interaction;
    assert_eq!(interaction.cancel_reason, Some(CancelReason::TurnEnded));
    assert_eq!(scenario.last_turn().text, "done");
}
