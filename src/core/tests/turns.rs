use serde_json::json;

use super::scenario::Scenario;
use crate::core::{
    change::TurnStatus,
    effect::{Answer, Effect},
    error::Code,
    message::ToolState,
};

#[test]
fn a_prompt_is_answered_and_the_turn_completes() {
    let mut scenario = Scenario::new();
    let turn_id = scenario.prompt("hello");
    scenario.says("hi there");
    let result = scenario.last_turn();
    assert_eq!((result.status, result.text.as_str()), (TurnStatus::Completed, "hi there"));
    assert_eq!(result.turn_id, turn_id);
    assert_eq!(scenario.stored.session.active_turn_id, None);
    let roles: Vec<_> = scenario.stored.shown().iter().map(|message| message["role"].clone()).collect();
    assert_eq!(roles, [json!("user"), json!("assistant")]);
}

#[test]
fn an_empty_prompt_is_refused() {
    let mut scenario = Scenario::new();
    for parts in [
        json!([]),
        json!([{ "type": "text", "text": " \n" }]),
        json!("text"),
        json!(null),
        json!([{ "type": "song" }]),
    ] {
        let refusal = scenario.input(json!({ "input": "prompt", "parts": parts })).unwrap_err();
        assert_eq!(refusal.code, Code::InvalidInput);
    }
    assert!(scenario.stored.messages.is_empty());
}

#[test]
fn a_prompt_that_comes_while_somebody_is_asked_joins_the_turn_at_the_next_checkpoint() {
    let mut scenario = Scenario::new();
    let turn_id = scenario.prompt("go");
    scenario.calls(&[("c1", "plain", json!({}))]);
    scenario.ask_approval("c1").unwrap();
    let joined = scenario.prompt("actually use B");
    assert_eq!(joined, turn_id);
    assert_eq!(scenario.stored.messages.len(), 2, "a queued prompt is not among the Messages");
    assert_eq!(scenario.pending().len(), 1);
    let id = scenario.pending()[0].interaction_id.clone();
    scenario.approve(&id).unwrap();
    scenario.settle("c1", json!(1));
    scenario.says("B it is");
    let shown = scenario.stored.shown();
    let roles: Vec<_> = shown.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant"]);
    assert!(shown.iter().all(|message| message["turn_id"] == json!(turn_id)));
}

#[test]
fn the_next_step_starts_when_every_call_has_ended() {
    let mut scenario = Scenario::new();
    scenario.prompt("go");
    scenario.calls(&[("c1", "plain", json!({})), ("c2", "plain", json!({}))]);
    let first_step = scenario.outside.model.take().unwrap().step_id;
    scenario.settle("c2", json!(2));
    assert!(scenario.outside.model.is_none());
    scenario.settle("c1", json!(1));
    let request = scenario.outside.model.clone().unwrap();
    assert_ne!(request.step_id, first_step);
    let results: Vec<_> = request.messages.iter().flat_map(|message| &message.parts).collect();
    assert_eq!(results.len(), 2, "only what is new goes to the model");
}

#[test]
fn what_the_outside_says_late_changes_nothing() {
    let mut scenario = Scenario::new();
    scenario.prompt("go");
    scenario.calls(&[("c1", "plain", json!({}))]);
    scenario.input(json!({ "input": "stop" })).unwrap();
    let before = scenario.stored.journal.len();
    scenario.input(json!({ "input": "tool_settled", "tool_call_id": "c1", "ok": 1 })).unwrap();
    scenario
        .input(
            json!({ "input": "model", "step_id": "step:x", "event": { "type": "finish", "reason": "stop" } }),
        )
        .unwrap();
    assert_eq!(scenario.stored.journal.len(), before);
    assert_eq!(scenario.tool_state("c1"), ToolState::Failed);
}

#[test]
fn too_many_steps_end_the_turn_and_say_so() {
    let mut scenario = Scenario::new();
    scenario.prompt("go");
    for number in 0..8 {
        let id = format!("c{number}");
        scenario.calls(&[(&id, "plain", json!({}))]);
        scenario.settle(&id, json!(number));
    }
    let result = scenario.last_turn();
    assert_eq!(result.status, TurnStatus::Failed);
    assert_eq!(result.error_code.as_deref(), Some("MAX_STEPS"));
    let last = scenario.stored.shown().last().unwrap()["parts"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&last["type"], &last["error_code"]), (&json!("error"), &json!("MAX_STEPS")));
}

#[test]
fn a_withdrawn_prompt_leaves_the_queue_and_an_absorbed_one_stops_its_turn() {
    let mut scenario = Scenario::new();
    let prompt_of = |answer| match answer {
        Ok(Some(Answer::Prompt { prompt_id, .. })) => prompt_id,
        other => panic!("{other:?}"),
    };
    let say = |text: &str| json!({ "input": "prompt", "parts": [{ "type": "text", "text": text }] });
    let first = prompt_of(scenario.input(say("one")));
    let second = prompt_of(scenario.input(say("two")));
    scenario.take_effects();
    scenario.input(json!({ "input": "withdraw", "prompt_id": second })).unwrap();
    let dropped = scenario
        .take_effects()
        .into_iter()
        .any(|effect| matches!(effect, Effect::PromptDropped { prompt_id, .. } if prompt_id == second));
    assert!(dropped && scenario.stored.queue.is_empty());
    scenario.input(json!({ "input": "withdraw", "prompt_id": first })).unwrap();
    assert_eq!(scenario.last_turn().status, TurnStatus::Stopped);
}

#[test]
fn a_prompt_that_waited_starts_the_next_turn_when_its_turn_fails() {
    let mut scenario = Scenario::new();
    let first = scenario.prompt("one");
    scenario.prompt("two");
    scenario.take_effects();
    scenario.model(json!({ "type": "failed", "message": "no", "code": "MODEL_FAILED", "retryable": false }));
    assert_eq!(scenario.last_turn().turn_id, first);
    let second = scenario.stored.session.active_turn_id.clone().unwrap();
    let moved = scenario
        .take_effects()
        .into_iter()
        .any(|effect| matches!(effect, Effect::PromptTurn { turn_id, .. } if turn_id == second));
    assert!(moved);
    scenario.says("ok");
    assert_eq!(scenario.last_turn().turn_id, second);
}

#[test]
fn closing_an_idle_session_only_says_so() {
    let mut scenario = Scenario::new();
    scenario.input(json!({ "input": "close" })).unwrap();
    assert_eq!(scenario.stored.journal.last().unwrap()["type"], "closed");
    let refused = scenario.input(json!({ "input": "stop" })).unwrap_err();
    assert_eq!(refused.code, Code::SessionClosed);
    scenario.crash_and_open();
    scenario.prompt("again");
    scenario.says("fine");
}
