use serde_json::{Value, json};

use super::scenario::Scenario;
use crate::core::{change::ApprovalMode, error::Code};

fn set(scenario: &mut Scenario, mode: &str, options: Value) {
    let config = json!({ "security": { "approval_mode": mode } });
    scenario.input(json!({ "input": "set", "config": config, "options": options })).unwrap();
}

fn modes(scenario: &Scenario) -> (ApprovalMode, ApprovalMode) {
    (scenario.stored.session.approval_mode, scenario.stored.session.effective_approval_mode)
}

fn actions(scenario: &Scenario) -> Vec<String> {
    let messages = scenario.stored.shown();
    let parts = messages.iter().flat_map(|message| message["parts"].as_array().unwrap().clone());
    let actions = parts.filter(|part| part["type"] == "action");
    actions
        .map(|part| format!("{}: {}", part["title"].as_str().unwrap(), part["description"].as_str().unwrap()))
        .collect()
}

const ALLOWED: &str = "Session configuration updated: security.approval_mode: always-allow";

#[test]
fn an_idle_session_shows_both_modes_until_the_next_prompt() {
    let mut scenario = Scenario::new();
    set(&mut scenario, "always-allow", Value::Null);
    assert_eq!(modes(&scenario), (ApprovalMode::AlwaysAllow, ApprovalMode::Ask));
    scenario.prompt("go");
    assert_eq!(modes(&scenario), (ApprovalMode::AlwaysAllow, ApprovalMode::AlwaysAllow));
    assert_eq!(actions(&scenario), [ALLOWED]);
}

#[test]
fn a_running_step_keeps_the_policy_it_started_with() {
    let mut scenario = Scenario::new();
    scenario.prompt("go");
    scenario.calls(&[("c1", "plain", json!({}))]);
    set(&mut scenario, "always-allow", Value::Null);
    scenario.ask_approval("c1").unwrap();
    assert_eq!(scenario.pending().len(), 1, "the mode of the step still asks");
    let id = scenario.pending()[0].interaction_id.clone();
    scenario.approve(&id).unwrap();
    scenario.settle("c1", json!(1));
    assert_eq!(modes(&scenario).1, ApprovalMode::AlwaysAllow);
    assert_eq!(actions(&scenario), [ALLOWED]);
}

#[test]
fn setting_what_is_set_does_nothing_at_all() {
    let mut scenario = Scenario::new();
    set(&mut scenario, "ask", Value::Null);
    assert_eq!(scenario.stored.session.commits, 0);
}

#[test]
fn there_and_back_before_the_checkpoint_leaves_no_action() {
    let mut scenario = Scenario::new();
    set(&mut scenario, "always-allow", Value::Null);
    set(&mut scenario, "ask", Value::Null);
    scenario.prompt("go");
    assert!(actions(&scenario).is_empty());
    assert!(scenario.stored.queue.is_empty());
}

#[test]
fn a_silent_change_leaves_neither_action_nor_mutation() {
    let mut scenario = Scenario::new();
    set(&mut scenario, "always-allow", json!({ "persist_action": false, "publish_mutation": false }));
    scenario.prompt("go");
    assert_eq!(modes(&scenario).1, ApprovalMode::AlwaysAllow);
    assert!(actions(&scenario).is_empty());
    assert!(scenario.stored.journal.iter().all(|mutation| mutation["variant"] != "session"));
}

#[test]
fn each_change_is_shown_as_the_command_that_set_it_says() {
    let silent = json!({ "persist_action": false });
    let model =
        json!({ "input": "set", "config": {}, "options": silent, "model": { "key": 1, "label": "a/b" } });
    let mut scenario = Scenario::new();
    set(&mut scenario, "always-allow", Value::Null);
    scenario.input(model).unwrap();
    scenario.prompt("go");
    assert_eq!(actions(&scenario), [ALLOWED]);
    assert_eq!(scenario.outside.model.as_ref().unwrap().model_key, Some(1));
}

#[test]
fn a_mode_that_does_not_exist_changes_nothing() {
    let mut scenario = Scenario::new();
    let wrong = [
        json!({ "security": { "approval_mode": "autoo" } }),
        json!({ "security": { "approval_mode": "ALWAYS-ALLOW" } }),
        json!({ "security": { "approval_mode": null } }),
        json!({ "security": { "approval_mode": ["ask"] } }),
        json!({ "security": { "approval_mode": "always-allow", "sandbox": false } }),
        json!({ "security": { "approval_mode": "always-allow" }, "mode": 1 }),
        json!({ "security": 1 }),
        json!({}),
        json!(null),
    ];
    for config in wrong {
        let refusal = scenario.input(json!({ "input": "set", "config": config })).unwrap_err();
        assert_eq!(refusal.code, Code::InvalidInput, "{config}");
    }
    let config = json!({ "security": { "approval_mode": "always-allow" } });
    for options in
        [json!({ "persist_action": false, "publish_mutation": true }), json!({ "persist": false }), json!(1)]
    {
        let refusal =
            scenario.input(json!({ "input": "set", "config": config, "options": options })).unwrap_err();
        assert_eq!(refusal.code, Code::InvalidInput, "{options}");
    }
    assert_eq!(scenario.stored.session.commits, 0);
}

#[test]
fn another_model_takes_effect_at_the_checkpoint_and_is_named() {
    let mut scenario = Scenario::new();
    let model = json!({ "key": 3, "label": "acme/large" });
    scenario.input(json!({ "input": "set", "config": {}, "model": model })).unwrap();
    set(&mut scenario, "always-allow", Value::Null);
    scenario.prompt("go");
    assert_eq!(scenario.outside.model.as_ref().unwrap().model_key, Some(3));
    assert_eq!(actions(&scenario), [format!("{ALLOWED}; model: acme/large")]);
}

#[test]
fn opening_a_session_commits_what_was_queued() {
    let mut scenario = Scenario::new();
    set(&mut scenario, "always-allow", Value::Null);
    scenario.crash_and_open();
    assert_eq!(modes(&scenario), (ApprovalMode::AlwaysAllow, ApprovalMode::AlwaysAllow));
    assert_eq!(actions(&scenario), [ALLOWED]);
}
