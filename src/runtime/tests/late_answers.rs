use serde_json::json;

use super::{Fixture, unreliable_store::Fate};
use crate::core::effect::Effect;

#[test]
fn nothing_is_told_or_done_before_the_store_has_answered() {
    let fixture = Fixture::new();
    fixture.store.next(Fate::Hold);
    let ticket = fixture.send(json!({ "input": "prompt", "parts": [{ "type": "text", "text": "go" }] }));
    assert_eq!(fixture.host.answers_to(ticket), 0);
    assert!(fixture.host.seen().effects.is_empty());
    fixture.store.release();
    fixture.host.wait_for_answer(ticket).unwrap();
    fixture.host.wait_for_step();
}

#[test]
fn what_comes_in_meanwhile_is_decided_together_and_in_order() {
    let fixture = Fixture::new();
    fixture.prompt("go").unwrap();
    let step_id = fixture.host.wait_for_step();
    let send = |event| fixture.send(json!({ "input": "model", "step_id": step_id, "event": event }));
    fixture.store.next(Fate::Hold);
    send(json!({ "type": "text_start", "ref": 0 }));
    for fragment in ["one ", "two ", "three"] {
        send(json!({ "type": "delta", "ref": 0, "text": fragment }));
    }
    send(json!({ "type": "finish", "reason": "stop" }));
    fixture.store.release();
    assert_eq!(fixture.host.wait_for_turn_end(), "one two three");
    let deltas = fixture
        .host
        .seen()
        .effects
        .iter()
        .filter(|effect| matches!(effect, Effect::Publish { body } if body.contains(r#""variant":"delta""#)))
        .count();
    assert_eq!(deltas, 1, "fragments that waited together are one");
}

#[test]
fn of_many_answers_that_wait_together_the_first_wins() {
    let fixture = Fixture::new();
    fixture.prompt("go").unwrap();
    fixture.model_calls("gated", "c1");
    let id = fixture.pending()[0]["interaction_id"].clone();
    fixture.store.next(Fate::Hold);
    let response = json!({ "type": "approval", "outcome": "denied" });
    let tickets: Vec<u64> = (0..64)
        .map(|_| fixture.send(json!({ "input": "respond", "interaction_id": id, "response": response })))
        .collect();
    fixture.store.release();
    let answers: Vec<_> = tickets.iter().map(|ticket| fixture.host.wait_for_answer(*ticket)).collect();
    assert!(answers[0].is_ok());
    assert!(answers[1..].iter().all(|answer| answer.as_ref().unwrap_err() == "INTERACTION_TERMINAL"));
}
