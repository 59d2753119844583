use serde_json::json;

use super::scenario::Scenario;
use crate::core::{change::TurnStatus, interaction::CancelReason, message::ToolState};

#[test]
fn a_crash_in_the_middle_of_a_reply_keeps_what_was_said() {
    let mut scenario = Scenario::new();
    scenario.prompt("go");
    scenario.model(json!({ "type": "text_start", "ref": 0 }));
    scenario.delta(0, "Half ");
    scenario.delta(0, "of it");
    scenario.crash_and_open();
    assert_eq!(scenario.last_turn().status, TurnStatus::Failed);
    let message = scenario.stored.shown().last().unwrap().clone();
    assert_eq!(message["parts"][0]["text"], "Half of it");
    assert_eq!(message["parts"][1]["type"], "error");
    assert_eq!(message["state"], "done");
}

#[test]
fn a_call_that_was_going_on_ends_with_its_outcome_unknown() {
    let mut scenario = Scenario::new();
    scenario.prompt("go");
    scenario.calls(&[("c1", "plain", json!({}))]);
    scenario.ask_approval("c1").unwrap();
    scenario.crash_and_open();
    assert_eq!(scenario.tool_state("c1"), ToolState::Failed);
    assert!(scenario.tool("c1")["error"].as_str().unwrap().contains("outcome is unknown"));
    let interaction = &scenario.stored.interactions[0].interaction;
    assert_eq!(interaction.cancel_reason, Some(CancelReason::RuntimeInterrupted));
    scenario.prompt("again");
    scenario.says("fine");
    assert_eq!(scenario.last_turn().status, TurnStatus::Completed);
}

#[test]
fn a_request_that_nothing_had_come_of_is_made_again_in_the_same_turn() {
    let mut scenario = Scenario::new();
    let turn_id = scenario.prompt("one");
    scenario.prompt("two");
    scenario.crash_and_open();
    assert!(scenario.outside.model.as_ref().is_some_and(|request| request.history));
    scenario.says("one");
    assert!(scenario.outside.ended_turns.is_empty(), "what waited joins the Turn");
    scenario.says("two");
    assert_eq!(scenario.last_turn().turn_id, turn_id);
    assert!(scenario.stored.queue.is_empty());
}

#[test]
fn prompts_that_waited_start_the_next_turn_where_theirs_cannot_go_on() {
    let mut scenario = Scenario::new();
    scenario.prompt("one");
    scenario.model(json!({ "type": "text_start", "ref": 0 }));
    scenario.prompt("two");
    scenario.crash_and_open();
    assert_eq!(scenario.last_turn().error_code.as_deref(), Some("runtime_interrupted"));
    scenario.says("both");
    assert_eq!(scenario.last_turn().status, TurnStatus::Completed);
}

#[test]
fn a_call_the_provider_was_running_ends_with_the_turn() {
    let mut scenario = Scenario::new();
    scenario.prompt("go");
    scenario.model(json!({
        "type": "tool_call", "ref": 0, "tool_name": "web_search", "tool_call_id": "p1", "input": {}, "provider_executed": true,
    }));
    scenario.crash_and_open();
    assert_eq!(scenario.tool("p1")["error_code"], "not_run");
    assert_eq!(scenario.stored.shown().last().unwrap()["state"], "done");
}

#[test]
fn opening_again_settles_nothing_twice() {
    let mut scenario = Scenario::new();
    scenario.prompt("one");
    scenario.crash_and_open();
    let commits = scenario.stored.session.commits;
    scenario.input(json!({ "input": "open" })).unwrap();
    assert_eq!(scenario.stored.session.commits, commits);
}
