use serde_json::{Value, json};

use super::scenario::Scenario;
use crate::core::{effect::Answer, error::Code, interaction::Interaction, message::ToolState};

fn ask(scenario: &mut Scenario, questions: Value) -> Result<Interaction, crate::core::error::Refusal> {
    let turn_id = scenario.stored.session.active_turn_id.clone().unwrap();
    let request = json!({
        "type": "question", "turn_id": turn_id, "tool_call_id": "c1", "payload": { "questions": questions },
    });
    match scenario.input(json!({ "input": "request", "request": request }))? {
        Some(Answer::Interaction(interaction)) => Ok(*interaction),
        other => panic!("{other:?}"),
    }
}

fn running() -> Scenario {
    let mut scenario = Scenario::new();
    scenario.prompt("go");
    scenario.calls(&[("c1", "plain", json!({}))]);
    scenario
}

fn select(kind: &str, id: &str) -> Value {
    let options = json!([{ "value": "a", "label": "b" }, { "value": "b", "label": "a" }, { "value": "x", "label": "Yes, always" }]);
    json!({ "question_id": id, "question": "Which?", "type": kind, "options": options })
}

#[test]
fn ids_are_given_where_the_producer_left_them_out() {
    let mut scenario = running();
    let asked = ask(&mut scenario, json!([{ "question": "Why?", "type": "text" }])).unwrap();
    let question = &asked.payload.as_value()["questions"][0];
    assert!(question["question_id"].as_str().unwrap().starts_with("question:"));
    assert_eq!(scenario.tool_state("c1"), ToolState::WaitingUser);
}

#[test]
fn questions_nobody_could_answer_are_refused() {
    let mut scenario = running();
    let cases = [
        json!([]),
        json!("why"),
        json!([{ "question": "Why?" }]),
        json!([{ "question": "", "type": "text" }]),
        json!([{ "question": "Why?", "type": "choice" }]),
        json!([{ "question": "Why?", "type": "text", "options": [{ "value": "a", "label": "A" }] }]),
        json!([{ "question": "Why?", "type": "single_select" }]),
        json!([{ "question": "Why?", "type": "single_select", "options": [] }]),
        json!([{ "question": "Why?", "type": "multi_select", "options": [{ "value": "a" }] }]),
        json!([{ "question": "Why?", "type": "multi_select", "options": [{ "value": "", "label": "A" }] }]),
        json!([{ "question": "Why?", "type": "multi_select",
            "options": [{ "value": "a", "label": "A" }, { "value": "a", "label": "B" }] }]),
        json!([select("single_select", "same"), select("multi_select", "same")]),
    ];
    for questions in cases {
        let refusal = ask(&mut scenario, questions.clone()).unwrap_err();
        assert_eq!(refusal.code, Code::InvalidInput, "{questions}");
    }
    assert!(scenario.pending().is_empty());
    assert_eq!(scenario.tool_state("c1"), ToolState::Running);
}

#[test]
fn an_answer_covers_every_question_with_values_of_its_kind() {
    let mut scenario = running();
    let questions = json!([{ "question_id": "t", "question": "Why?", "type": "text" }, select("single_select", "s"), select("multi_select", "m")]);
    let id = ask(&mut scenario, questions).unwrap().interaction_id;
    let answers = |t: Value, s: Value, m: Value| {
        json!([
            { "question_id": "t", "value": t }, { "question_id": "s", "value": s }, { "question_id": "m", "value": m },
        ])
    };
    let wrong = [
        (json!([]), 3),
        (answers(json!(1), json!("a"), json!([])), 1),
        (answers(json!(""), json!("Yes, always"), json!([])), 1),
        (answers(json!(""), json!(["a"]), json!("a")), 2),
        (answers(json!(""), json!("a"), json!(["a", "a"])), 1),
        (answers(json!(""), json!("a"), json!(["a", "q"])), 1),
        (
            json!([{ "question_id": "t", "value": "" }, { "question_id": "t", "value": "" }, { "question_id": "z", "value": 1 }]),
            4,
        ),
        (json!([{ "question_id": "t", "value": "", "text": "more" }]), 3),
    ];
    for (answers, count) in wrong {
        let response =
            json!({ "type": "question", "outcome": "resolved", "payload": { "answers": answers } });
        let refusal = scenario.respond(&id, response).unwrap_err();
        assert_eq!(refusal.code, Code::InvalidResponse);
        assert_eq!(refusal.issues.len(), count, "{answers}: {:?}", refusal.issues);
    }
    let payload = json!({ "answers": answers(json!(""), json!("a"), json!(["x", "b"])) });
    scenario.respond(&id, json!({ "type": "question", "outcome": "resolved", "payload": payload })).unwrap();
    assert_eq!(scenario.tool_state("c1"), ToolState::Running);
}

#[test]
fn no_approval_mode_answers_a_question() {
    let mut scenario = Scenario::new();
    let config = json!({ "security": { "approval_mode": "always-allow" } });
    scenario.input(json!({ "input": "set", "config": config })).unwrap();
    scenario.prompt("go");
    scenario.calls(&[("c1", "plain", json!({}))]);
    ask(&mut scenario, json!([select("single_select", "s")])).unwrap();
    assert_eq!(scenario.pending().len(), 1);
}
