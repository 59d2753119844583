//! What was going on when a process ended goes on in the next one, in the same Turn.

use serde_json::{Value, json};

use super::scenario::Scenario;
use crate::core::{
    effect::{Answer, Effect},
    engine::Role,
    error::{Code, Refusal},
    interaction::InteractionStatus,
    message::ToolState,
};

fn question(text: &str) -> Value {
    json!({ "questions": [{ "question": text, "type": "text" }] })
}

fn ask(scenario: &mut Scenario, payload: Value) -> Result<Option<Answer>, Refusal> {
    let turn_id = scenario.stored.session.active_turn_id.clone();
    let request = json!({ "type": "question", "turn_id": turn_id, "tool_call_id": "c1", "payload": payload });
    scenario.input(json!({ "input": "request", "from_call": true, "request": request }))
}

fn interaction_id(answer: Result<Option<Answer>, Refusal>) -> String {
    match answer {
        Ok(Some(Answer::Interaction(interaction) | Answer::Asked { interaction })) => {
            interaction.interaction_id
        }
        other => panic!("it was asked: {other:?}"),
    }
}

fn answer(scenario: &mut Scenario, interaction_id: &str, value: &str) {
    let rows = scenario.stored.interactions.iter();
    let row = rows.map(|row| &row.interaction).find(|known| known.interaction_id == interaction_id).unwrap();
    let question_id = row.payload.as_value()["questions"][0]["question_id"].clone();
    let payload = json!({ "answers": [{ "question_id": question_id, "value": value }] });
    let response = json!({ "type": "question", "outcome": "resolved", "payload": payload });
    scenario.respond(interaction_id, response).unwrap();
}

/// A replay tool was called.
fn called() -> Scenario {
    let mut scenario = Scenario::new();
    scenario.prompt("go");
    scenario.calls(&[("c1", "again", json!({}))]);
    scenario
}

fn woken(scenario: &mut Scenario) -> Vec<String> {
    let ended = |effect| match effect {
        Effect::InteractionEnded { interaction, .. } => Some(interaction.interaction_id),
        _ => None,
    };
    scenario.take_effects().into_iter().filter_map(ended).collect()
}

#[test]
fn a_gate_survives_and_its_tool_is_entered_once_it_is_approved() {
    let mut scenario = Scenario::new();
    let turn_id = scenario.prompt("go");
    scenario.calls(&[("c1", "gated", json!({ "n": 1 }))]);
    let id = scenario.pending()[0].interaction_id.clone();
    scenario.crash_and_open();
    assert_eq!(scenario.pending()[0].interaction_id, id);
    assert!(scenario.outside.entered.is_empty());
    scenario.approve(&id).unwrap();
    assert!(scenario.outside.entered.contains("c1"));
    scenario.settle("c1", json!("ok"));
    assert!(scenario.outside.model.as_ref().is_some_and(|request| request.history));
    scenario.says("done");
    assert_eq!(scenario.last_turn().turn_id, turn_id);
}

#[test]
fn a_denied_gate_never_runs_after_a_restart_either() {
    let mut scenario = Scenario::new();
    scenario.prompt("go");
    scenario.calls(&[("c1", "gated", json!({}))]);
    scenario.crash_and_open();
    let id = scenario.pending()[0].interaction_id.clone();
    scenario.respond(&id, json!({ "type": "approval", "outcome": "denied", "reason": "no" })).unwrap();
    scenario.crash_and_open();
    assert!(scenario.outside.entered.is_empty());
    assert_eq!(scenario.tool("c1")["error_code"], "denied");
}

#[test]
fn a_question_asked_before_the_crash_is_answered_after_it() {
    let mut scenario = called();
    let id = interaction_id(ask(&mut scenario, question("Why?")));
    scenario.crash_and_open();
    assert_eq!(scenario.tool_state("c1"), ToolState::WaitingUser);
    assert_eq!(interaction_id(ask(&mut scenario, question("Why?"))), id, "the same question waits as before");
    answer(&mut scenario, &id, "because");
    assert_eq!(woken(&mut scenario), [id]);
    scenario.settle("c1", json!("because"));
    scenario.says("done");
    assert!(scenario.last_turn().success);
    assert_eq!(scenario.stored.interactions.len(), 1);
}

#[test]
fn an_answer_given_before_the_crash_is_handed_over_at_once() {
    let mut scenario = called();
    let id = interaction_id(ask(&mut scenario, question("Why?")));
    answer(&mut scenario, &id, "because");
    scenario.crash_and_open();
    scenario.take_effects();
    assert_eq!(interaction_id(ask(&mut scenario, question("Why?"))), id);
    assert_eq!(woken(&mut scenario), std::slice::from_ref(&id));
    let next = interaction_id(ask(&mut scenario, question("And then?")));
    assert_ne!(next, id, "with no record left a request is new");
}

#[test]
fn what_was_approved_without_asking_is_not_asked_later() {
    let mut scenario = Scenario::new();
    let config = json!({ "security": { "approval_mode": "always-allow" } });
    scenario.input(json!({ "input": "set", "config": config })).unwrap();
    scenario.prompt("go");
    scenario.calls(&[("c1", "again", json!({}))]);
    scenario.ask_approval("c1").unwrap();
    scenario.crash_and_open();
    match scenario.ask_approval("c1") {
        Ok(Some(Answer::Decided { decision })) => assert!(decision.auto_approved),
        other => panic!("{other:?}"),
    }
}

#[test]
fn asking_something_else_than_before_fails_the_call() {
    let mut scenario = called();
    ask(&mut scenario, question("Why?")).unwrap();
    scenario.crash_and_open();
    let refusal = ask(&mut scenario, question("Where?")).unwrap_err();
    assert_eq!(refusal.code, Code::ReplayMismatch);
    assert_eq!(scenario.tool("c1")["error_code"], "replay_mismatch");
    assert_eq!(scenario.stored.interactions[0].interaction.status, InteractionStatus::Failed);
    assert!(scenario.outside.model.is_some(), "the model is told");
}

#[test]
fn what_the_host_asks_for_a_call_is_never_matched() {
    let mut scenario = called();
    let id = interaction_id(ask(&mut scenario, question("Why?")));
    let turn_id = scenario.stored.session.active_turn_id.clone();
    let request = json!({ "type": "vote", "turn_id": turn_id, "tool_call_id": "c1" });
    scenario.input(json!({ "input": "request", "request": request })).unwrap();
    scenario.crash_and_open();
    scenario.input(json!({ "input": "request", "request": request })).unwrap();
    assert_eq!(interaction_id(ask(&mut scenario, question("Why?"))), id);
    answer(&mut scenario, &id, "because");
    scenario.settle("c1", json!("because"));
    assert_eq!(scenario.tool("c1")["state"], "completed");
}

#[test]
fn ending_without_asking_all_of_it_fails_the_call() {
    let mut scenario = called();
    let id = interaction_id(ask(&mut scenario, question("Why?")));
    answer(&mut scenario, &id, "because");
    scenario.crash_and_open();
    scenario.settle("c1", json!("done without asking"));
    assert_eq!(scenario.tool("c1")["error_code"], "replay_mismatch");
}

#[test]
fn two_equal_questions_are_matched_in_the_order_they_were_asked() {
    let mut scenario = called();
    let first = interaction_id(ask(&mut scenario, question("Why?")));
    let second = interaction_id(ask(&mut scenario, question("Why?")));
    answer(&mut scenario, &second, "late");
    scenario.crash_and_open();
    assert_eq!(interaction_id(ask(&mut scenario, question("Why?"))), first);
    assert_eq!(interaction_id(ask(&mut scenario, question("Why?"))), second);
    assert_eq!(scenario.pending().len(), 1);
}

#[test]
fn a_tool_that_is_gone_keeps_what_it_asked_and_an_answer_ends_the_call() {
    for (outcome, code) in [("resolved", "cannot_go_on"), ("denied", "denied")] {
        let mut scenario = Scenario::new();
        scenario.prompt("go");
        scenario.calls(&[("c1", "gated", json!({}))]);
        scenario.open_without_tools();
        let id = scenario.pending()[0].interaction_id.clone();
        let payload = json!({ "decision": if outcome == "resolved" { "approved" } else { "denied" } });
        scenario.respond(&id, json!({ "type": "approval", "outcome": outcome, "payload": payload })).unwrap();
        assert_eq!(scenario.tool("c1")["error_code"], code);
        assert!(scenario.outside.entered.is_empty());
        assert!(scenario.outside.model.is_some());
    }
}

#[test]
fn an_agent_without_a_model_answers_and_leaves_the_rest_to_one_that_has_it() {
    let mut scenario = Scenario::new();
    let turn_id = scenario.prompt("go");
    scenario.calls(&[("c1", "gated", json!({}))]);
    scenario.open_without_model();
    let id = scenario.pending()[0].interaction_id.clone();
    scenario.approve(&id).unwrap();
    assert!(scenario.outside.entered.is_empty() && scenario.outside.ended_turns.is_empty());
    let model = json!({ "key": 1, "label": "a/b" });
    scenario.input(json!({ "input": "set", "config": {}, "model": model })).unwrap();
    assert!(scenario.outside.entered.contains("c1"), "it has one now");
    scenario.settle("c1", json!("ok"));
    scenario.says("done");
    assert_eq!(scenario.last_turn().turn_id, turn_id);
}

#[test]
fn prompts_that_wait_are_left_to_an_agent_that_has_a_model() {
    let mut scenario = Scenario::new();
    scenario.queue_beside("go");
    scenario.open_without_model();
    // An owner that cannot begin would keep others from it.
    assert_eq!(scenario.role, Role::Guest);
    assert!(scenario.outside.ended_turns.is_empty() && !scenario.is_streaming());
    scenario.open_with_model();
    scenario.says("done");
    assert!(scenario.last_turn().success);
}

#[test]
fn a_call_that_cannot_go_on_does_not_take_its_siblings_with_it() {
    let mut scenario = Scenario::new();
    scenario.prompt("go");
    scenario.calls(&[("c1", "plain", json!({})), ("c2", "gated", json!({}))]);
    scenario.crash_and_open();
    assert_eq!(scenario.tool("c1")["error_code"], "interrupted");
    assert_eq!(scenario.pending().len(), 1);
    let id = scenario.pending()[0].interaction_id.clone();
    scenario.approve(&id).unwrap();
    scenario.settle("c2", json!("ok"));
    scenario.says("done");
    assert!(scenario.last_turn().success);
}

#[test]
fn an_approval_that_was_stored_but_not_acted_on_is_acted_on_now() {
    let mut scenario = Scenario::new();
    scenario.prompt("go");
    scenario.calls(&[("c1", "gated", json!({}))]);
    let id = scenario.pending()[0].interaction_id.clone();
    scenario.approve_and_crash(&id);
    assert!(scenario.outside.entered.contains("c1"));
    assert_eq!(scenario.tool_state("c1"), ToolState::Running);
}
