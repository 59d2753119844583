//! Calls that the provider runs itself once a person has agreed: asked here, answered with the next request.

use serde_json::{Value, json};

use super::scenario::Scenario;
use crate::core::{
    change::TurnStatus,
    effect::Effect,
    engine::Role,
    input::Input,
    interaction::{CancelReason, InteractionStatus},
    message::ToolState,
};

fn provider_call(reference: u32, id: &str, input: Value) -> Value {
    json!({
        "type": "tool_call", "ref": reference, "tool_name": "mcp.book", "tool_call_id": id, "input": input,
        "provider_executed": true,
    })
}

fn approval_request(reference: u32, approval_id: &str) -> Value {
    json!({ "type": "approval_request", "ref": reference, "approval_id": approval_id })
}

fn result(reference: u32, output: &str) -> Value {
    json!({
        "type": "tool_result", "ref": reference, "output": output,
        "provider_metadata": { "p": { "itemId": "run" } },
    })
}

/// The provider wants to book a room and asks before it does; its stream has not ended.
fn requested() -> Scenario {
    let mut scenario = Scenario::new();
    scenario.prompt("go");
    scenario.model(provider_call(8, "dummy", json!({ "room": 1, "day": "Mon" })));
    scenario.model(approval_request(8, "ask-1"));
    scenario
}

fn asked() -> (Scenario, String) {
    let mut scenario = requested();
    scenario.finish("stop");
    let id = scenario.pending()[0].interaction_id.clone();
    (scenario, id)
}

fn approved() -> Scenario {
    let (mut scenario, id) = asked();
    scenario.approve(&id).unwrap();
    scenario
}

fn deny(scenario: &mut Scenario, interaction_id: &str) {
    let response = json!({ "type": "approval", "outcome": "denied", "reason": "too early" });
    scenario.respond(interaction_id, response).unwrap();
}

fn approval_of(scenario: &Scenario, tool_call_id: &str) -> Value {
    scenario.tool(tool_call_id)["provider_approval"].clone()
}

#[test]
fn a_person_is_asked_once_the_stream_has_ended_and_shown_what_the_provider_would_run() {
    let mut scenario = requested();
    assert!(scenario.pending().is_empty(), "nobody is asked about an answer that may still break off");
    scenario.finish("stop");
    assert_eq!(scenario.tool_state("dummy"), ToolState::WaitingUser);
    assert!(!scenario.is_streaming(), "the step waits");
    let asked = &scenario.pending()[0];
    assert_eq!(asked.kind, "approval");
    assert_eq!(asked.source.tool_name.as_deref(), Some("mcp.book"));
    assert_eq!(
        asked.payload.as_value(),
        &json!({ "operation": "tool", "validated_input": { "room": 1, "day": "Mon" } })
    );
}

#[test]
fn an_approved_call_runs_with_the_next_request_under_whatever_id() {
    let mut scenario = approved();
    assert_eq!(scenario.tool_state("dummy"), ToolState::Running);
    assert_eq!(approval_of(&scenario, "dummy"), json!({ "approval_id": "ask-1", "approved": true }));
    let second_step = scenario.outside.model.as_ref().expect("the model is asked").step_id.clone();
    assert!(scenario.outside.entered.is_empty(), "there is nothing to execute here");
    scenario.model(provider_call(5, "run", json!({ "room": 1, "day": "Mon" })));
    scenario.model(result(5, "booked"));
    scenario.says("Done.");
    let tool = scenario.tool("dummy");
    assert_eq!((&tool["state"], &tool["output"]), (&json!("completed"), &json!("booked")));
    assert_eq!(tool["result_step_id"], json!(second_step));
    assert_eq!(tool["result_metadata"], json!({ "p": { "itemId": "run" } }));
    let parts: Vec<Value> = scenario
        .stored
        .shown()
        .iter()
        .flat_map(|message| message["parts"].as_array().unwrap().clone())
        .collect();
    assert_eq!(
        parts.iter().filter(|part| part["type"] == "tool").count(),
        1,
        "the run is no call of its own"
    );
    assert_eq!(scenario.last_turn().status, TurnStatus::Completed);
}

#[test]
fn a_run_with_other_arguments_is_another_call_and_the_approval_is_taken_back() {
    let mut scenario = approved();
    scenario.model(provider_call(5, "run", json!({ "room": 2, "day": "Mon" })));
    scenario.model(result(5, "booked"));
    scenario.says("Done.");
    assert_eq!(scenario.tool("run")["output"], "booked");
    assert_eq!(scenario.tool("dummy")["error_code"], "not_run");
    assert_eq!(approval_of(&scenario, "dummy")["approved"], false);
}

#[test]
fn two_calls_alike_are_each_run_once() {
    let mut scenario = Scenario::new();
    scenario.prompt("go");
    for (reference, id) in [(1, "one"), (2, "two")] {
        scenario.model(provider_call(reference, id, json!({})));
        scenario.model(approval_request(reference, id));
    }
    scenario.finish("stop");
    for asked in scenario.pending() {
        assert!(!scenario.is_streaming(), "every call of the step is decided first");
        scenario.approve(&asked.interaction_id).unwrap();
    }
    for reference in [3, 4] {
        scenario.model(provider_call(reference, &format!("run-{reference}"), json!({})));
    }
    scenario.model(result(4, "second"));
    scenario.model(result(3, "first"));
    scenario.says("Done.");
    assert_eq!(
        (&scenario.tool("one")["output"], &scenario.tool("two")["output"]),
        (&json!("first"), &json!("second"))
    );
}

#[test]
fn what_is_asked_for_again_is_a_call_of_its_own() {
    let mut scenario = approved();
    scenario.model(provider_call(5, "other", json!({ "room": 1, "day": "Mon" })));
    scenario.model(approval_request(5, "ask-2"));
    scenario.finish("stop");
    assert_eq!(scenario.tool_state("other"), ToolState::WaitingUser);
    assert_eq!(scenario.tool("other")["input"], json!({ "room": 1, "day": "Mon" }));
    assert_eq!(approval_of(&scenario, "other"), json!({ "approval_id": "ask-2" }));
    assert_eq!(scenario.tool_state("dummy"), ToolState::Running);
    let id = scenario.pending()[0].interaction_id.clone();
    deny(&mut scenario, &id);
    scenario.model(provider_call(6, "run", json!({ "room": 1, "day": "Mon" })));
    scenario.model(result(6, "booked"));
    scenario.says("Done.");
    assert_eq!(scenario.tool("dummy")["output"], "booked");
}

#[test]
fn a_denied_call_ends_and_the_provider_is_told_why() {
    let (mut scenario, id) = asked();
    deny(&mut scenario, &id);
    let tool = scenario.tool("dummy");
    assert_eq!((&tool["state"], &tool["error_code"]), (&json!("failed"), &json!("denied")));
    assert_eq!(tool["provider_approval"]["approved"], false);
    assert!(tool["provider_approval"]["reason"].as_str().unwrap().contains("too early"));
    assert!(scenario.is_streaming(), "the model goes on without it");
    scenario.says("As you like.");
    assert_eq!(scenario.last_turn().status, TurnStatus::Completed);
}

#[test]
fn always_allow_approves_without_asking() {
    let mut scenario = Scenario::new();
    let config = json!({ "security": { "approval_mode": "always-allow" } });
    scenario.input(json!({ "input": "set", "config": config })).unwrap();
    scenario.prompt("go");
    scenario.model(provider_call(8, "dummy", json!({})));
    scenario.model(approval_request(8, "ask-1"));
    scenario.finish("stop");
    assert!(scenario.stored.interactions.is_empty());
    assert_eq!(approval_of(&scenario, "dummy")["approved"], true);
    assert!(scenario.is_streaming());
}

#[test]
fn a_call_of_ours_in_the_same_step_is_waited_for_too() {
    let mut scenario = requested();
    scenario.calls(&[("c1", "plain", json!({}))]);
    let id = scenario.pending()[0].interaction_id.clone();
    scenario.approve(&id).unwrap();
    assert!(!scenario.is_streaming());
    scenario.settle("c1", json!("ours"));
    assert!(scenario.is_streaming());
    assert_eq!(scenario.tool_state("dummy"), ToolState::Running);
}

#[test]
fn nobody_is_asked_about_an_answer_that_was_cut_or_that_broke_off() {
    let failed = json!({ "type": "failed", "message": "down", "code": "MODEL_FAILED", "retryable": true });
    for end in [json!({ "type": "finish", "reason": "length" }), failed] {
        let mut scenario = requested();
        scenario.model(end);
        assert!(scenario.stored.interactions.is_empty());
        assert_eq!(scenario.tool("dummy")["error_code"], "not_run");
        assert_eq!(approval_of(&scenario, "dummy")["approved"], false);
        assert!(scenario.is_streaming(), "the model is told");
    }
}

#[test]
fn arguments_that_nobody_can_read_are_not_asked_about() {
    let mut scenario = Scenario::new();
    scenario.prompt("go");
    scenario.model(provider_call(8, "dummy", Value::Null));
    scenario.model(approval_request(8, "ask-1"));
    scenario.finish("stop");
    assert!(scenario.stored.interactions.is_empty());
    assert_eq!(scenario.tool("dummy")["error_code"], "invalid_input");
    assert_eq!(approval_of(&scenario, "dummy")["approved"], false);
}

#[test]
fn a_provider_that_does_not_wait_for_the_answer_is_not_given_one() {
    let mut scenario = requested();
    scenario.model(result(8, "booked already"));
    scenario.finish("stop");
    assert!(scenario.stored.interactions.is_empty());
    assert_eq!(scenario.tool("dummy")["output"], "booked already");
    assert_eq!(approval_of(&scenario, "dummy"), Value::Null);
    assert_eq!(scenario.last_turn().status, TurnStatus::Completed);
}

#[test]
fn a_stop_takes_back_what_was_asked_and_what_was_approved() {
    let (mut scenario, _) = asked();
    scenario.input(json!({ "input": "stop" })).unwrap();
    let interaction = &scenario.stored.interactions[0].interaction;
    assert_eq!(interaction.cancel_reason, Some(CancelReason::TurnStopped));
    assert_eq!(approval_of(&scenario, "dummy")["approved"], false);

    // Approved, while the step still waits for a call of ours; and approved, while the next answer comes in.
    let mut waiting = requested();
    waiting.calls(&[("c1", "plain", json!({}))]);
    let id = waiting.pending()[0].interaction_id.clone();
    waiting.approve(&id).unwrap();
    for mut scenario in [waiting, approved()] {
        scenario.input(json!({ "input": "stop" })).unwrap();
        assert_eq!(scenario.tool("dummy")["error_code"], "stopped");
        assert_eq!(approval_of(&scenario, "dummy")["approved"], false, "it must not run in a later Turn");
        assert_eq!(scenario.stored.interactions[0].interaction.status, InteractionStatus::Resolved);
    }
}

#[test]
fn it_waits_on_across_the_end_of_the_process_also_without_any_tool_of_that_name() {
    let (mut scenario, id) = asked();
    scenario.open_without_tools();
    assert_eq!(scenario.pending()[0].interaction_id, id);
    assert_eq!(scenario.tool_state("dummy"), ToolState::WaitingUser);
    scenario.approve_and_crash(&id);
    assert!(scenario.outside.model.as_ref().is_some_and(|request| request.history), "the Turn goes on");
    scenario.model(provider_call(5, "run", json!({ "day": "Mon", "room": 1 })));
    scenario.model(result(5, "booked"));
    scenario.says("Done.");
    assert_eq!(scenario.tool("dummy")["output"], "booked");
    assert!(scenario.last_turn().success);
}

#[test]
fn a_call_that_ends_with_the_process_does_not_take_it_along() {
    let mut scenario = requested();
    scenario.calls(&[("c1", "plain", json!({}))]);
    let id = scenario.pending()[0].interaction_id.clone();
    scenario.crash_and_open();
    assert_eq!(scenario.tool("c1")["error_code"], "interrupted");
    assert_eq!(scenario.pending()[0].interaction_id, id);
    deny(&mut scenario, &id);
    assert!(scenario.is_streaming());
}

#[test]
fn a_run_that_has_begun_is_not_asked_for_twice() {
    let mut scenario = approved();
    scenario.model(provider_call(5, "run", json!({ "room": 1, "day": "Mon" })));
    scenario.crash_and_open();
    assert_eq!(scenario.last_turn().error_code.as_deref(), Some("runtime_interrupted"));
    assert_eq!(approval_of(&scenario, "dummy")["approved"], false);
}

#[test]
fn a_run_that_the_stream_broke_off_in_is_not_asked_for_twice_by_the_next_request() {
    let failed = json!({ "type": "failed", "message": "down", "code": "MODEL_FAILED", "retryable": true });
    let mut scenario = approved();
    scenario.model(provider_call(5, "run", json!({ "room": 1, "day": "Mon" })));
    scenario.model(
        json!({ "type": "tool_call", "ref": 6, "tool_name": "plain", "tool_call_id": "c", "input": {} }),
    );
    scenario.model(failed);
    assert!(scenario.is_streaming(), "the model is told that its own call was not run");
    assert_eq!(scenario.tool("dummy")["error_code"], "not_run");
    assert_eq!(approval_of(&scenario, "dummy")["approved"], false);
}

#[test]
fn the_owner_goes_on_with_what_a_guest_answered() {
    for approves in [true, false] {
        let (mut scenario, id) = asked();
        scenario.open_without_model();
        assert_eq!(scenario.role, Role::Guest);
        scenario.take_effects();
        if approves {
            scenario.approve(&id).unwrap();
        } else {
            deny(&mut scenario, &id);
        }
        let asks = |effect: &Effect| matches!(effect, Effect::RequestModel(_) | Effect::GoOn);
        assert!(!scenario.take_effects().iter().any(asks), "that is left to the owner");
        assert_eq!(approval_of(&scenario, "dummy")["approved"], json!(approves));
        // What the owner decides once it has caught up.
        scenario.open_with_model();
        scenario.batch(&[Input::GoOn]);
        assert!(scenario.is_streaming());
        assert_eq!(scenario.tool("dummy")["state"], if approves { "running" } else { "failed" });
    }
}
