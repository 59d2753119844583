use serde_json::{Value, json};

use super::scenario::Scenario;
use crate::core::{effect::ToolCall, message::ToolState};

/// A call of a tool whose host says what the approval shows.
fn prepared(scenario: &mut Scenario, ask: bool, approval: &Value) {
    scenario.calls(&[("c1", "hosted", json!({ "command": "ls" }))]);
    let valid = json!({ "input": { "command": "ls" }, "ask": ask, "approval": approval });
    scenario.outside.preparing.clear();
    scenario.input(json!({ "input": "tool_prepared", "tool_call_id": "c1", "valid": valid })).unwrap();
}

fn entered(scenario: &Scenario) -> &ToolCall {
    &scenario.outside.running["c1"]
}

fn actions(scenario: &Scenario) -> Vec<Value> {
    let messages = scenario.stored.shown();
    let parts = messages.iter().flat_map(|message| message["parts"].as_array().unwrap().clone());
    parts.filter(|part| part["type"] == "action" && part["title"] == "Ran without a sandbox").collect()
}

fn always_allow() -> Scenario {
    let mut scenario = Scenario::new();
    let config = json!({ "security": { "approval_mode": "always-allow" } });
    scenario.input(json!({ "input": "set", "config": config })).unwrap();
    scenario.prompt("go");
    scenario
}

const EXEC: fn() -> Value =
    || json!({ "operation": "exec", "command": "ls", "cwd": "/w", "sandbox": "left" });

#[test]
fn a_shell_says_itself_what_its_gate_shows() {
    let mut scenario = Scenario::new();
    scenario.prompt("go");
    prepared(&mut scenario, true, &EXEC());
    let pending = &scenario.pending()[0];
    assert_eq!(
        serde_json::to_value(&pending.source).unwrap(),
        json!({ "type": "shell", "tool_call_id": "c1", "tool_name": "hosted" })
    );
    assert_eq!(
        pending.payload.as_value().to_string(),
        r#"{"operation":"exec","command":"ls","cwd":"/w","sandbox":"left","validated_input":{"command":"ls"}}"#
    );
}

#[test]
fn what_was_approved_comes_back_when_the_call_is_entered_also_after_a_restart() {
    for restart in [false, true] {
        let mut scenario = Scenario::new();
        scenario.prompt("go");
        prepared(&mut scenario, true, &EXEC());
        let pending = scenario.pending()[0].clone();
        if restart {
            scenario.crash_and_open();
        }
        scenario.approve(&pending.interaction_id).unwrap();
        assert_eq!(entered(&scenario).approval.as_ref(), Some(&pending.payload));
    }
}

#[test]
fn a_call_that_nobody_was_asked_about_has_no_approval() {
    let mut scenario = Scenario::new();
    scenario.prompt("go");
    prepared(&mut scenario, false, &EXEC());
    assert_eq!(scenario.tool_state("c1"), ToolState::Running);
    assert_eq!(entered(&scenario).approval, None);
}

#[test]
fn a_producer_cannot_pass_for_a_shell_with_another_operation() {
    for approval in
        [json!({ "operation": "tool", "command": "ls" }), json!({ "command": "ls" }), json!("exec")]
    {
        let mut scenario = Scenario::new();
        scenario.prompt("go");
        prepared(&mut scenario, true, &approval);
        let payload = json!({ "operation": "tool", "validated_input": { "command": "ls" } });
        assert_eq!(scenario.pending()[0].payload.as_value(), &payload);
    }
}

#[test]
fn the_history_says_what_ran_without_a_sandbox_because_the_mode_allowed_it() {
    let mut scenario = always_allow();
    let approval = json!({ "operation": "exec", "command": "ls -l", "cwd": "/w", "sandbox": "unavailable" });
    prepared(&mut scenario, true, &approval);
    assert_eq!(scenario.tool_state("c1"), ToolState::Running);
    let actions = actions(&scenario);
    assert_eq!(actions.len(), 1);
    assert_eq!(actions[0]["description"], "exec under always-allow: ls -l");
    assert_eq!(actions[0]["state"], "completed");
}

#[test]
fn nothing_is_said_of_commands_that_had_a_sandbox() {
    for (ask, sandbox) in [(true, "left"), (false, "confined")] {
        let mut scenario = always_allow();
        prepared(&mut scenario, ask, &json!({ "operation": "exec", "command": "ls", "sandbox": sandbox }));
        assert_eq!(actions(&scenario), Vec::<Value>::new());
    }
}
