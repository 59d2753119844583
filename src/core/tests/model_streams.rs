use serde_json::{Value, json};

use super::scenario::Scenario;
use crate::core::{change::TurnStatus, effect::Effect, message::ToolState};

fn started() -> Scenario {
    let mut scenario = Scenario::new();
    scenario.prompt("go");
    scenario
}

fn failed(retryable: bool) -> Value {
    json!({ "type": "failed", "message": "The provider is down.", "code": "MODEL_FAILED", "retryable": retryable })
}

fn last_parts(scenario: &Scenario) -> Vec<Value> {
    scenario.stored.shown().last().unwrap()["parts"].as_array().unwrap().clone()
}

#[test]
fn a_failing_request_is_made_again_twice_and_waits_longer_each_time() {
    let mut scenario = started();
    let mut delays = Vec::new();
    for _ in 0..2 {
        scenario.take_effects();
        scenario.model(failed(true));
        delays.extend(scenario.take_effects().into_iter().filter_map(|effect| match effect {
            Effect::RequestModel(request) => Some((request.attempt, request.delay_ms)),
            _ => None,
        }));
    }
    assert_eq!(delays, [(1, 500), (2, 1000)]);
    scenario.model(failed(true));
    assert_eq!(scenario.last_turn().status, TurnStatus::Failed);
    assert_eq!(scenario.last_turn().error.as_deref(), Some("The provider is down."));
    assert_eq!(last_parts(&scenario)[0]["type"], "error");
}

#[test]
fn a_request_is_not_made_again_once_something_has_arrived() {
    let mut scenario = started();
    scenario.model(json!({ "type": "text_start", "ref": 0 }));
    scenario.delta(0, "Half a sen");
    scenario.model(failed(true));
    assert_eq!(scenario.last_turn().status, TurnStatus::Failed);
    let parts = last_parts(&scenario);
    assert_eq!((&parts[0]["text"], &parts[0]["state"]), (&json!("Half a sen"), &json!("done")));
}

#[test]
fn what_came_of_an_answer_that_broke_off_says_so() {
    let unconfirmed = json!({ "type": "finish", "reason": "other", "unconfirmed": true });
    let endings: [fn(&mut Scenario); 4] = [
        |scenario| scenario.model(failed(true)),
        |scenario| drop(scenario.input(json!({ "input": "stop" })).unwrap()),
        |scenario| scenario.crash_and_open(),
        |scenario| scenario.finish("stop"),
    ];
    let mut marks: Vec<Vec<bool>> = Vec::new();
    for end in endings {
        let mut scenario = started();
        scenario.model(json!({ "type": "reasoning_start", "ref": 0 }));
        scenario.model(json!({ "type": "reasoning_end", "ref": 0 }));
        scenario.model(json!({ "type": "text_start", "ref": 1 }));
        scenario.delta(1, "Half");
        end(&mut scenario);
        marks.push(last_parts(&scenario)[..2].iter().map(|part| part["interrupted"] == true).collect());
    }
    assert_eq!(marks, [vec![true; 2], vec![true; 2], vec![true; 2], vec![false; 2]]);
    let mut scenario = started();
    scenario.model(json!({ "type": "text_start", "ref": 1 }));
    scenario.model(unconfirmed);
    assert_eq!(scenario.last_turn().status, TurnStatus::Completed);
    assert_eq!(last_parts(&scenario)[0]["interrupted"], true);
}

#[test]
fn calls_of_an_answer_that_was_cut_never_run() {
    for reason in ["length", "content-filter"] {
        let mut scenario = started();
        scenario.model(
            json!({ "type": "tool_call", "ref": 0, "tool_name": "gated", "tool_call_id": "c1", "input": {} }),
        );
        scenario.model(
            json!({ "type": "tool_input_start", "ref": 1, "tool_name": "plain", "tool_call_id": "c2" }),
        );
        scenario.delta(1, "{\"a\":");
        scenario.finish(reason);
        assert!(scenario.outside.entered.is_empty() && scenario.stored.interactions.is_empty());
        assert_eq!(scenario.tool("c1")["error_code"], "not_run");
        assert_eq!(scenario.tool("c2")["input_text"], "{\"a\":");
        assert!(scenario.outside.model.is_some(), "the model is told");
    }
}

#[test]
fn a_model_that_keeps_being_cut_off_ends_the_turn_after_three_steps() {
    let mut scenario = started();
    for number in 0..3 {
        let id = format!("c{number}");
        scenario.model(
            json!({ "type": "tool_call", "ref": 0, "tool_name": "plain", "tool_call_id": id, "input": {} }),
        );
        if number == 1 {
            scenario.model(failed(false));
        } else {
            scenario.finish("length");
        }
    }
    assert_eq!(scenario.last_turn().error_code.as_deref(), Some("MODEL_FAILED"));
}

#[test]
fn unknown_tools_and_bad_arguments_become_errors_for_the_model() {
    let mut scenario = started();
    scenario.model(
        json!({ "type": "tool_call", "ref": 0, "tool_name": "__proto__", "tool_call_id": "c1", "input": {} }),
    );
    scenario.model(json!({
        "type": "tool_call", "ref": 1, "tool_name": "gated", "tool_call_id": "c2", "input_text": "{\"a\":", "problem": "they are not JSON",
    }));
    scenario.model(json!({ "type": "tool_call", "ref": 2, "tool_name": "strict", "tool_call_id": "c3", "input": { "path": 1 } }));
    scenario.finish("tool-calls");
    assert!(scenario.tool("c1")["error"].as_str().unwrap().contains("plain, strict, gated, hosted"));
    assert_eq!(scenario.tool("c2")["input_text"], "{\"a\":");
    assert!(scenario.tool("c3")["error"].as_str().unwrap().contains("path"));
    assert!(scenario.stored.interactions.is_empty() && scenario.outside.entered.is_empty());
    assert!(scenario.outside.model.is_some());
}

#[test]
fn the_model_explains_beside_its_arguments_never_in_them() {
    let mut scenario = started();
    let input = json!({ "path": "a", "model_explanation": "It is old." });
    scenario.calls(&[("c1", "strict", input)]);
    let tool = scenario.tool("c1");
    assert_eq!(tool["input"], json!({ "path": "a" }));
    assert_eq!(tool["model_explanation"], "It is old.");
    assert_eq!(tool["model_explanation_index"], Value::Null, "it was the last");
    assert_eq!(scenario.outside.running["c1"].input.as_value(), &json!({ "path": "a" }));
    let mut scenario = started();
    scenario.calls(&[("c1", "strict", json!({ "model_explanation": "It is old.", "path": "a" }))]);
    assert_eq!(scenario.tool("c1")["model_explanation_index"], 0);
}

#[test]
fn repeated_and_missing_call_ids_become_ids_of_their_own() {
    let mut scenario = started();
    for (number, id) in [json!("same"), json!("same"), json!(""), json!(null)].iter().enumerate() {
        scenario.model(json!({ "type": "tool_call", "ref": number, "tool_name": "plain", "tool_call_id": id, "input": { "n": number } }));
    }
    scenario.finish("tool-calls");
    let inputs: Vec<_> =
        scenario.outside.running.values().map(|call| call.input.as_value()["n"].clone()).collect();
    assert_eq!(inputs.len(), 4);
    assert!(scenario.outside.running.contains_key("same"));
}

#[test]
fn reasoning_keeps_its_metadata_also_where_it_is_empty() {
    let mut scenario = started();
    scenario
        .model(json!({ "type": "reasoning_start", "ref": 0, "provider_metadata": { "p": { "first": 1 } } }));
    scenario.model(
        json!({ "type": "reasoning_end", "ref": 0, "provider_metadata": { "p": { "signature": "s" } } }),
    );
    scenario.says_more("ok");
    let parts = last_parts(&scenario);
    assert_eq!(parts[0]["provider_metadata"], json!({ "p": { "signature": "s" } }));
    assert_eq!((&parts[0]["type"], &parts[0]["text"]), (&json!("reasoning"), &json!("")));
}

#[test]
fn tools_a_provider_runs_itself_are_never_entered_here() {
    let mut scenario = started();
    scenario.model(json!({
        "type": "tool_call", "ref": 0, "tool_name": "web_search", "tool_call_id": "p1", "input": {}, "provider_executed": true,
    }));
    scenario.model(json!({ "type": "tool_result", "ref": 0, "output": { "hits": 1 } }));
    scenario.says_more("found");
    assert_eq!(scenario.tool_state("p1"), ToolState::Completed);
    assert_eq!(scenario.last_turn().status, TurnStatus::Completed);
    assert!(scenario.outside.entered.is_empty());
}

#[test]
fn a_host_schema_refuses_and_a_gate_rule_that_throws_fails_the_call() {
    let mut scenario = started();
    scenario.calls(&[("c1", "hosted", json!({})), ("c2", "hosted", json!({})), ("c3", "hosted", json!({}))]);
    assert_eq!(scenario.outside.preparing.len(), 3);
    let prepared = |id: &str, outcome: Value| {
        let mut input = json!({ "input": "tool_prepared", "tool_call_id": id });
        input.as_object_mut().unwrap().extend(outcome.as_object().unwrap().clone());
        input
    };
    scenario.input(prepared("c1", json!({ "invalid": "n must be a number" }))).unwrap();
    scenario.input(prepared("c2", json!({ "error": "the rule threw" }))).unwrap();
    scenario.input(prepared("c3", json!({ "valid": { "input": { "n": 7 }, "ask": true } }))).unwrap();
    assert_eq!(scenario.tool("c1")["error_code"], "invalid_input");
    assert_eq!(scenario.tool("c2")["error_code"], "tool_failed");
    assert_eq!(scenario.pending()[0].payload.as_value()["validated_input"], json!({ "n": 7 }));
    let id = scenario.pending()[0].interaction_id.clone();
    scenario.outside.preparing.clear();
    scenario.approve(&id).unwrap();
    assert!(scenario.outside.entered.contains("c3"));
}
