//! Calls that the provider runs itself, and whose results come in a later response.

use serde_json::{Value, json};

use super::scenario::Scenario;
use crate::core::{change::TurnStatus, effect::Effect, message::ToolState};

fn provider_call(reference: u32) -> Value {
    json!({
        "type": "tool_call", "ref": reference, "tool_name": "code_execution", "tool_call_id": "srv",
        "input": { "code": "await plain()" }, "provider_executed": true,
    })
}

fn late_result(output: &Value) -> Value {
    json!({
        "type": "late_tool_result", "provider_tool_call_id": "srv", "output": output,
        "provider_metadata": { "p": { "container": "c" } },
    })
}

/// The provider's code has called `plain`, and waits for its result.
fn paused() -> Scenario {
    let mut scenario = Scenario::new();
    scenario.prompt("go");
    scenario.model(provider_call(8));
    scenario.calls(&[("c1", "plain", json!({}))]);
    assert_eq!(scenario.tool_state("srv"), ToolState::Running);
    scenario
}

fn requests(effects: Vec<Effect>) -> Vec<Value> {
    let requests = effects.into_iter().filter_map(|effect| match effect {
        Effect::RequestModel(request) => Some(serde_json::to_value(&request.messages).unwrap()),
        _ => None,
    });
    requests.collect()
}

#[test]
fn a_providers_call_stays_open_while_it_waits_for_ours_and_takes_its_result_later() {
    let mut scenario = paused();
    scenario.settle("c1", json!("ours"));
    assert_eq!(scenario.tool_state("srv"), ToolState::Running, "the next request does not wait for it");
    let second_step = scenario.outside.model.as_ref().unwrap().step_id.clone();
    scenario.model(late_result(&json!({ "stdout": "42" })));
    scenario.take_effects();
    scenario.calls(&[("c2", "plain", json!({}))]);
    scenario.settle("c2", json!("more"));
    let tool = scenario.tool("srv");
    assert_eq!((&tool["state"], &tool["output"]), (&json!("completed"), &json!({ "stdout": "42" })));
    assert_eq!(tool["result_step_id"], json!(second_step));
    assert_eq!(tool["result_metadata"], json!({ "p": { "container": "c" } }));
    let requests = requests(scenario.take_effects());
    let told =
        requests[0].as_array().unwrap().iter().flat_map(|message| message["parts"].as_array().unwrap());
    let ids: Vec<_> = told.map(|part| part["tool_call_id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids, ["srv", "c2"], "the host's copy of the prompt hears of the changed call");
}

#[test]
fn a_call_the_provider_never_answers_ends_with_the_first_step_that_calls_nothing() {
    let mut scenario = paused();
    scenario.settle("c1", json!("ours"));
    scenario.says("Done.");
    assert_eq!(scenario.tool("srv")["error_code"], "not_run");
    assert_eq!(scenario.last_turn().status, TurnStatus::Completed);
}

#[test]
fn a_stopped_turn_ends_the_providers_call_of_an_earlier_step_too() {
    let mut scenario = paused();
    scenario.settle("c1", json!("ours"));
    scenario.input(json!({ "input": "stop" })).unwrap();
    assert_eq!(scenario.tool("srv")["error_code"], "stopped");
}

#[test]
fn a_providers_call_stays_open_across_the_end_of_the_process() {
    let mut scenario = paused();
    scenario.settle("c1", json!("ours"));
    scenario.crash_and_open();
    assert_eq!(scenario.tool_state("srv"), ToolState::Running);
    scenario.model(late_result(&json!("late")));
    scenario.says("Done.");
    assert_eq!(scenario.tool("srv")["output"], "late");
    assert_eq!(scenario.last_turn().status, TurnStatus::Completed);
}

#[test]
fn a_request_that_brought_a_late_result_is_not_made_again() {
    let failed = json!({ "type": "failed", "message": "down", "code": "MODEL_FAILED", "retryable": true });
    let mut scenario = paused();
    scenario.settle("c1", json!("ours"));
    scenario.model(late_result(&json!("late")));
    scenario.model(failed);
    assert_eq!(scenario.last_turn().status, TurnStatus::Failed);

    let mut scenario = paused();
    scenario.settle("c1", json!("ours"));
    scenario.model(late_result(&json!("late")));
    scenario.crash_and_open();
    assert_eq!(scenario.last_turn().error_code.as_deref(), Some("runtime_interrupted"));
    assert_eq!(scenario.tool_state("srv"), ToolState::Completed);
}

#[test]
fn a_late_result_for_a_call_that_nobody_knows_is_dropped() {
    let mut scenario = Scenario::new();
    scenario.prompt("go");
    scenario.model(late_result(&json!("whose?")));
    scenario.says("Done.");
    assert_eq!(scenario.last_turn().status, TurnStatus::Completed);
}
