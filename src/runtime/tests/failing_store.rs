use std::{sync::Arc, time::Duration};

use serde_json::json;

use super::{Fixture, recording_host::RecordingHost, settings, unreliable_store::Fate};
use crate::{
    runtime::{agent::Agent, clock::SystemClock, outside::Outside},
    storage::{Liveness, StoreError},
};

fn full() -> StoreError {
    StoreError::Full("no space left".into())
}

/// A Turn that waits at a gate; gives the Interaction's id.
fn waiting(fixture: &Fixture) -> String {
    fixture.prompt("go").unwrap();
    fixture.model_calls("gated", "c1");
    fixture.pending()[0]["interaction_id"].as_str().unwrap().to_owned()
}

#[test]
fn a_prompt_that_cannot_be_written_is_refused_and_leaves_nothing() {
    let fixture = Fixture::new();
    fixture.store.next(Fate::Fail(full()));
    assert!(fixture.prompt("go").unwrap_err().contains("Full"));
    assert_eq!(fixture.status()["state"], "idle");
    assert!(fixture.shown().is_empty());
    fixture.prompt("go").unwrap();
    fixture.model_says("fine");
    assert_eq!(fixture.host.wait_for_turn_end(), "fine");
}

#[test]
fn an_answer_that_cannot_be_written_leaves_the_interaction_pending() {
    let fixture = Fixture::new();
    let id = waiting(&fixture);
    fixture.store.next(Fate::Fail(full()));
    assert!(fixture.approve(&id).is_err());
    assert_eq!(fixture.pending().len(), 1);
    assert_eq!(fixture.host.entered("c1"), 0);
    fixture.approve(&id).unwrap();
    fixture.host.wait_for_entered("c1");
}

#[test]
fn an_answer_that_was_written_although_the_store_said_no_is_acted_on() {
    let fixture = Fixture::new();
    let id = waiting(&fixture);
    fixture.store.next(Fate::WriteAndFail(full()));
    assert!(fixture.approve(&id).is_err(), "nobody knows better at that moment");
    fixture.host.wait_for_entered("c1");
    assert_eq!(fixture.approve(&id).unwrap_err(), "INTERACTION_TERMINAL");
    assert_eq!(fixture.host.entered("c1"), 1);
}

#[test]
fn a_feed_tells_of_a_commit_that_was_written_although_the_store_said_no() {
    let fixture = Fixture::new();
    fixture.call(json!({ "op": "feed", "on": true })).unwrap();
    fixture.store.next(Fate::WriteAndFail(full()));
    let mode = json!({ "security": { "approval_mode": "always-allow" } });
    assert!(fixture.ask(json!({ "input": "set", "config": mode })).is_err());
    // Nothing is committed behind it, and nobody else gives notice of it.
    fixture.host.wait(|seen| seen.fed.iter().any(|mutation| mutation["variant"] == "session").then_some(()));
}

#[test]
fn what_a_tool_returned_is_kept_until_it_can_be_written() {
    let fixture = Fixture::new();
    fixture.prompt("go").unwrap();
    fixture.model_calls("plain", "c1");
    for _ in 0..3 {
        fixture.store.next(Fate::Fail(full()));
    }
    fixture.send(json!({ "input": "tool_settled", "tool_call_id": "c1", "ok": { "n": 1 } }));
    fixture.model_says("done");
    assert_eq!(fixture.host.wait_for_turn_end(), "done");
    let tool = fixture.shown()[1]["parts"][0].clone();
    assert_eq!(tool["output"], json!({ "n": 1 }));
    assert!(!fixture.host.seen().warnings.is_empty(), "a developer is told");
}

#[test]
fn a_store_out_of_reach_is_asked_again_until_it_answers() {
    let fixture = Fixture::new();
    fixture.prompt("go").unwrap();
    fixture.model_calls("plain", "c1");
    fixture.store.next(Fate::WriteAndFail(StoreError::Unavailable("gone".into())));
    fixture.store.fail_looks(3);
    fixture.send(json!({ "input": "tool_settled", "tool_call_id": "c1", "ok": 1 }));
    fixture.model_says("done");
    assert_eq!(fixture.host.wait_for_turn_end(), "done");
}

#[test]
fn callers_are_told_while_the_store_is_out_of_reach() {
    let fixture = Fixture::new();
    fixture.store.next(Fate::Fail(StoreError::Unavailable("gone".into())));
    fixture.store.fail_looks(2);
    assert!(fixture.prompt("one").unwrap_err().contains("Unavailable"));
    assert!(fixture.prompt("two").unwrap_err().contains("Unavailable"));
    fixture.prompt("three").unwrap();
    fixture.model_says("ok");
    assert_eq!(fixture.host.wait_for_turn_end(), "ok");
}

#[test]
fn a_stale_owner_is_refused_and_changes_nothing() {
    let first = Fixture::new();
    let id = waiting(&first);
    first.store.pretend(Liveness::Dead);
    let second = Fixture::on(first.host.clone(), first.store.clone());
    let before = second.shown();
    assert!(first.approve(&id).unwrap_err().contains("LeaseLost"));
    assert!(first.prompt("more").unwrap_err().contains("LeaseLost"));
    assert_eq!(second.shown(), before);
    assert_eq!(first.host.entered("c1"), 0);
    assert_eq!(first.host.seen().lost, ["Store(LeaseLost)"], "its host is told once");
    second.prompt("go on").unwrap();
}

#[test]
fn a_call_that_was_to_be_decided_again_is_answered_when_its_session_is_let_go() {
    let fixture = Fixture::new();
    fixture.store.next(Fate::Fail(StoreError::Conflict));
    fixture.store.fail_looks(usize::MAX);
    let ticket = fixture.send(json!({ "input": "prompt", "parts": [{ "type": "text", "text": "go" }] }));
    assert_eq!(fixture.host.answers_to(ticket), 0);
    fixture.call(json!({ "op": "release", "session": fixture.session })).unwrap();
    assert_eq!(fixture.host.wait_for_answer(ticket).unwrap_err(), "SESSION_CLOSED");
    assert_eq!(fixture.host.answers_to(ticket), 1);
}

/// A Turn that an Agent has left in the middle, and one whose opening of it the store says has failed.
fn opened_in_vain() -> Fixture {
    let first = Fixture::new();
    first.prompt("go").unwrap();
    first.call(json!({ "op": "release", "session": first.session })).unwrap();
    let (host, store) = (first.host.clone(), first.store.clone());
    drop(first);
    store.next(Fate::WriteAndFail(full()));
    let outside = Outside { store: store.clone(), host: host.clone(), clock: Arc::new(SystemClock) };
    let agent = Agent::new("agent", settings(), Duration::from_secs(10), outside);
    host.seen().effects.clear();
    let fixture = Fixture { agent, host, store, session: 0 };
    assert!(fixture.call(json!({ "op": "open", "session_id": "s" })).unwrap_err().contains("Full"));
    assert!(fixture.host.seen().effects.is_empty(), "nobody has it, so nobody is asked to work for it");
    fixture
}

#[test]
fn an_opening_that_was_written_although_the_store_said_no_is_gone_on_with_when_it_is_opened_again() {
    let mut fixture = opened_in_vain();
    let opened = fixture.call(json!({ "op": "open", "session_id": "s" })).unwrap();
    fixture.session = u32::try_from(opened["session"].as_u64().unwrap()).unwrap();
    fixture.model_says("done");
    assert_eq!(fixture.host.wait_for_turn_end(), "done");
}

#[test]
fn an_opening_that_was_written_although_the_store_said_no_keeps_the_session_from_nobody() {
    let fixture = opened_in_vain();
    let other = Fixture::on(Arc::new(RecordingHost::default()), fixture.store.clone());
    other.model_says("done");
    assert_eq!(other.host.wait_for_turn_end(), "done");
}

#[test]
fn a_session_that_may_have_been_taken_is_given_up_when_it_is_let_go() {
    let fixture = Fixture::new();
    fixture.store.next(Fate::WriteAndFail(full()));
    fixture.store.fail_looks(usize::MAX);
    assert!(fixture.prompt("go").unwrap_err().contains("Full"));
    fixture.call(json!({ "op": "release", "session": fixture.session })).unwrap();
    fixture.store.fail_looks(0);
    let other = Fixture::on(Arc::new(RecordingHost::default()), fixture.store.clone());
    other.model_says("done");
    assert_eq!(other.host.wait_for_turn_end(), "done");
}
