//! Two Agents on one store: one owns the Session, the other has it open beside it.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};

use super::{Fixture, recording_host::RecordingHost, settings};
use crate::{
    core::{
        change::TurnStatus,
        effect::Effect,
        settings::{Settings, ToolDefinition},
    },
    storage::Liveness,
};

const LEASE: Duration = Duration::from_secs(10);

/// Another Agent, with a host of its own.
fn beside(first: &Fixture) -> Fixture {
    Fixture::on(Arc::new(RecordingHost::default()), first.store.clone())
}

/// One that could not own anything unfinished.
fn without_model(first: &Fixture) -> Fixture {
    let tools: Vec<ToolDefinition> = Vec::new();
    let settings = Settings::new(10, false, tools).unwrap();
    Fixture::with(settings, LEASE, Arc::new(RecordingHost::default()), first.store.clone())
}

fn waiting() -> (Fixture, String) {
    let fixture = Fixture::new();
    fixture.prompt("go").unwrap();
    fixture.model_calls("gated", "c1");
    let id = fixture.pending()[0]["interaction_id"].as_str().unwrap().to_owned();
    (fixture, id)
}

fn revisions(fixture: &Fixture) -> Vec<u64> {
    let seen = fixture.host.seen();
    let bodies = seen.effects.iter().filter_map(|effect| match effect {
        Effect::Publish { body } => Some(serde_json::from_str::<Value>(body).unwrap()),
        _ => None,
    });
    bodies.map(|mutation| mutation["revision_of_session"].as_u64().unwrap()).collect()
}

fn ended(fixture: &Fixture) -> TurnStatus {
    fixture.host.wait(|seen| {
        seen.effects.iter().find_map(|effect| match effect {
            Effect::TurnEnded { result } => Some(result.status),
            _ => None,
        })
    })
}

#[test]
fn opening_beside_a_living_owner_takes_nothing_from_it() {
    let (owner, id) = waiting();
    let guest = beside(&owner);
    assert_eq!(guest.pending()[0]["interaction_id"], json!(id));
    assert_eq!(guest.status()["state"], "running");
    owner.approve(&id).unwrap();
    owner.host.wait_for_entered("c1");
    assert!(owner.host.seen().lost.is_empty());
    assert_eq!(guest.host.entered("c1"), 0);
}

#[test]
fn an_answer_from_beside_goes_on_at_the_owner() {
    let (owner, id) = waiting();
    let guest = beside(&owner);
    assert_eq!(guest.approve(&id).unwrap()["status"], "resolved");
    owner.host.wait_for_entered("c1");
    assert_eq!((owner.host.entered("c1"), guest.host.entered("c1")), (1, 0));
    assert_eq!(owner.approve(&id).unwrap_err(), "INTERACTION_TERMINAL");
    owner.send(json!({ "input": "tool_settled", "tool_call_id": "c1", "ok": 1 }));
    owner.model_says("done");
    assert_eq!((ended(&owner), ended(&guest)), (TurnStatus::Completed, TurnStatus::Completed));
}

#[test]
fn an_answer_to_what_was_asked_without_notice_finds_it_at_once() {
    let owner = Fixture::new();
    let guest = beside(&owner);
    owner.store.keep_quiet();
    owner.prompt("go").unwrap();
    owner.model_calls("gated", "c1");
    let id = owner.pending()[0]["interaction_id"].as_str().unwrap().to_owned();
    assert_eq!(guest.approve(&id).unwrap()["status"], "resolved");
    assert_eq!(guest.approve(&id).unwrap_err(), "INTERACTION_TERMINAL");
    assert_eq!(guest.approve("interaction:unknown").unwrap_err(), "INTERACTION_NOT_FOUND");
}

#[test]
fn a_denial_from_beside_goes_on_with_the_next_step() {
    let (owner, id) = waiting();
    let guest = beside(&owner);
    let denial = json!({ "type": "approval", "outcome": "denied", "reason": "no" });
    guest.ask(json!({ "input": "respond", "interaction_id": id, "response": denial })).unwrap();
    owner.model_says("as you wish");
    assert_eq!(owner.host.wait_for_turn_end(), "as you wish");
    assert_eq!(owner.host.entered("c1"), 0);
}

#[test]
fn a_guest_sees_every_mutation_once_and_in_order() {
    let (owner, id) = waiting();
    let guest = beside(&owner);
    let before = revisions(&owner).last().copied().unwrap();
    guest.approve(&id).unwrap();
    owner.send(json!({ "input": "tool_settled", "tool_call_id": "c1", "ok": 1 }));
    owner.model_says("done");
    ended(&guest);
    let all = revisions(&owner);
    assert_eq!(all, (1..=all.len() as u64).collect::<Vec<_>>());
    let seen = revisions(&guest);
    assert_eq!(seen, (before + 1..=all.len() as u64).collect::<Vec<_>>());
}

#[test]
fn a_prompt_from_beside_joins_the_turn_and_both_are_told() {
    let owner = Fixture::new();
    owner.prompt("go").unwrap();
    let guest = beside(&owner);
    let queued = guest.prompt("and this").unwrap();
    owner.model_says("first");
    owner.model_says("second");
    assert_eq!(ended(&guest), TurnStatus::Completed);
    let seen = guest.host.seen();
    let joined = seen.effects.iter().any(|effect| {
        matches!(effect, Effect::PromptTurn { prompt_id, turn_id }
            if *prompt_id == queued["prompt_id"] && *turn_id == queued["turn_id"])
    });
    assert!(joined, "its handle is told which Turn it has joined");
    drop(seen);
    assert_eq!(owner.shown().iter().filter(|message| message["role"] == "user").count(), 2);
}

#[test]
fn a_stop_from_beside_ends_the_turn_and_aborts_the_owners_work() {
    let owner = Fixture::new();
    owner.prompt("go").unwrap();
    owner.model_calls("plain", "c1");
    owner.host.wait_for_entered("c1");
    let guest = beside(&owner);
    let waiting = guest.prompt("later").unwrap();
    let stopped = guest.ask(json!({ "input": "stop" })).unwrap();
    assert_eq!((&stopped["stopped"], &stopped["cancelled_prompts"]), (&json!(true), &json!(1)));
    assert_eq!((ended(&owner), ended(&guest)), (TurnStatus::Stopped, TurnStatus::Stopped));
    let aborted =
        |effect: &Effect| matches!(effect, Effect::AbortTool { tool_call_id } if tool_call_id == "c1");
    assert!(owner.host.seen().effects.iter().any(aborted));
    let dropped = |effect: &Effect| matches!(effect, Effect::PromptDropped { prompt_id, .. } if *prompt_id == waiting["prompt_id"]);
    assert!(guest.host.seen().effects.iter().any(dropped));
    // The next Turn begins with whoever is asked, and its model is sent the whole history.
    owner.prompt("again").unwrap();
    let request = owner.host.wait(|seen| {
        seen.effects.iter().rev().find_map(|effect| match effect {
            Effect::RequestModel(request) if request.base == 0 && request.history => Some(request.clone()),
            _ => None,
        })
    });
    assert_eq!(request.attempt, 0);
}

#[test]
fn a_mode_set_from_beside_rules_from_the_owners_next_checkpoint_on() {
    let owner = Fixture::new();
    owner.prompt("go").unwrap();
    let guest = beside(&owner);
    guest
        .ask(json!({ "input": "set", "config": { "security": { "approval_mode": "always-allow" } } }))
        .unwrap();
    let modes = json!({ "approval_mode": "always-allow", "effective_approval_mode": "ask" });
    assert_eq!((&owner.status()["security"], &guest.status()["security"]), (&modes, &modes));
    let model = json!({ "key": 1, "label": "other" });
    let refused = guest.ask(json!({ "input": "set", "config": {}, "model": model }));
    assert_eq!(refused.unwrap_err(), "SESSION_BUSY");
    owner.model_calls("plain", "c1");
    owner.send(json!({ "input": "tool_settled", "tool_call_id": "c1", "ok": 1 }));
    owner.host.wait_for_step();
    assert_eq!(owner.status()["security"]["effective_approval_mode"], "always-allow");
}

#[test]
fn closing_beside_an_owner_only_lets_go() {
    let (owner, id) = waiting();
    let guest = beside(&owner);
    guest.ask(json!({ "input": "close" })).unwrap();
    assert_eq!(guest.prompt("more").unwrap_err(), "SESSION_CLOSED");
    owner.approve(&id).unwrap();
    owner.host.wait_for_entered("c1");
}

#[test]
fn whoever_prompts_an_idle_session_owns_it() {
    let first = Fixture::new();
    let second = beside(&first);
    second.prompt("go").unwrap();
    assert_eq!(first.status()["state"], "running");
    first.prompt("more").unwrap();
    second.model_says("one");
    second.model_says("two");
    assert_eq!((ended(&first), ended(&second)), (TurnStatus::Completed, TurnStatus::Completed));
    first.prompt("mine").unwrap();
    first.host.wait_for_step();
    assert!(first.host.seen().lost.is_empty() && second.host.seen().lost.is_empty());
}

#[test]
fn a_session_given_up_is_gone_on_with_by_who_has_it_open() {
    let (owner, id) = waiting();
    let guest = beside(&owner);
    owner.call(json!({ "op": "release", "session": owner.session })).unwrap();
    guest.approve(&id).unwrap();
    guest.host.wait_for_entered("c1");
    assert_eq!(owner.host.entered("c1"), 0);
}

#[test]
fn an_agent_without_a_model_leaves_it_to_one_that_has_one() {
    let (owner, id) = waiting();
    let guest = without_model(&owner);
    owner.call(json!({ "op": "release", "session": owner.session })).unwrap();
    // Its answer is committed, and nobody goes on yet.
    guest.approve(&id).unwrap();
    assert_eq!(guest.host.entered("c1"), 0);
    let next = beside(&owner);
    next.host.wait_for_entered("c1");
}

#[test]
fn what_an_agent_without_a_model_left_behind_is_given_up_when_it_is_opened_again() {
    let first = Fixture::new();
    let mut fixture = without_model(&first);
    first.call(json!({ "op": "release", "session": first.session })).unwrap();
    fixture.prompt("go").unwrap();
    first.store.fail_releases(1);
    fixture.call(json!({ "op": "release", "session": fixture.session })).unwrap_err();
    let opened = fixture.call(json!({ "op": "open", "session_id": "s" })).unwrap();
    fixture.session = u32::try_from(opened["session"].as_u64().unwrap()).unwrap();
    let next = beside(&first);
    next.model_says("done");
    assert_eq!((ended(&next), ended(&fixture)), (TurnStatus::Completed, TurnStatus::Completed));
}

#[test]
fn an_owner_that_left_is_replaced_by_itself() {
    let (owner, id) = waiting();
    let guest = beside(&owner);
    let Fixture { agent, .. } = owner;
    drop(agent);
    guest.approve(&id).unwrap();
    guest.host.wait_for_entered("c1");
}

#[test]
fn an_owner_that_falls_silent_is_replaced_when_its_lease_is_over_and_is_told() {
    let (owner, id) = waiting();
    owner.store.pretend(Liveness::Beating { beat: 7, lease: Duration::ZERO });
    let host = Arc::new(RecordingHost::default());
    let lease = Duration::from_millis(300);
    let guest = Fixture::with(settings(), lease, host, owner.store.clone());
    assert_eq!(guest.status()["state"], "running");
    owner.host.wait(|seen| seen.lost.first().cloned());
    assert_eq!(owner.host.seen().lost, ["Store(LeaseLost)"]);
    assert!(owner.approve(&id).unwrap_err().contains("LeaseLost"));
    guest.approve(&id).unwrap();
    guest.host.wait_for_entered("c1");
    assert_eq!(owner.host.entered("c1"), 0);
}

#[test]
fn claiming_finds_what_nobody_goes_on_with() {
    let (owner, _) = waiting();
    let next = Fixture::with(settings(), LEASE, Arc::new(RecordingHost::default()), owner.store.clone());
    assert_eq!(next.call(json!({ "op": "claim" })).unwrap(), json!([]));
    next.call(json!({ "op": "release", "session": next.session })).unwrap();
    owner.call(json!({ "op": "release", "session": owner.session })).unwrap();
    assert_eq!(next.call(json!({ "op": "claim" })).unwrap(), json!(["s"]));
}

#[test]
fn a_feed_tells_of_sessions_that_are_open_elsewhere_or_nowhere() {
    let owner = Fixture::new();
    let watching = beside(&owner);
    watching.call(json!({ "op": "release", "session": watching.session })).unwrap();
    watching.call(json!({ "op": "feed", "on": true })).unwrap();
    owner.prompt("go").unwrap();
    owner.model_says("done");
    owner.host.wait_for_turn_end();
    let told = watching.host.wait(|seen| {
        let finished = |mutation: &Value| mutation["variant"] == "turn" && mutation["type"] == "finish";
        seen.fed.iter().any(finished).then(|| seen.fed.clone())
    });
    let revisions: Vec<u64> =
        told.iter().map(|mutation| mutation["revision_of_session"].as_u64().unwrap()).collect();
    assert_eq!(revisions, (1..=told.len() as u64).collect::<Vec<_>>());
    // What it commits itself is told as well.
    let again = watching.call(json!({ "op": "open", "session_id": "s" })).unwrap();
    let session = u32::try_from(again["session"].as_u64().unwrap()).unwrap();
    watching.agent.submit(
        session,
        serde_json::from_value(json!({
            "input": "prompt", "ticket": 0, "parts": [{ "type": "text", "text": "mine" }],
        }))
        .unwrap(),
    );
    watching.host.wait(|seen| (seen.fed.len() > told.len()).then_some(()));
    watching.call(json!({ "op": "feed", "on": false })).unwrap();
}

#[test]
fn nothing_is_refused_or_left_undone_on_an_old_picture() {
    let owner = Fixture::new();
    let guest = beside(&owner);
    owner.store.keep_quiet();
    let mode = |word: &str| json!({ "input": "set", "config": { "security": { "approval_mode": word } } });
    owner.ask(mode("always-allow")).unwrap();
    guest.ask(mode("ask")).unwrap();
    assert_eq!(owner.status()["security"]["approval_mode"], "ask");
    guest.ask(mode("always-allow")).unwrap();
    owner.ask(mode("ask")).unwrap();
    assert_eq!(guest.status()["security"]["approval_mode"], "ask");

    owner.prompt("go").unwrap();
    let turn_id = guest.status()["active_turn_id"].clone();
    let request = json!({ "type": "vote", "turn_id": turn_id, "payload": {} });
    guest.ask(json!({ "input": "request", "request": request })).unwrap();
    owner.prompt("more").unwrap();
    let stopped = guest.ask(json!({ "input": "stop" })).unwrap();
    assert_eq!((&stopped["stopped"], &stopped["cancelled_prompts"]), (&json!(true), &json!(1)));
}

#[test]
fn a_session_that_a_guest_has_finished_is_nobodys() {
    let (owner, _) = waiting();
    let guest = beside(&owner);
    guest.ask(json!({ "input": "stop" })).unwrap();
    owner.call(json!({ "op": "release", "session": owner.session })).unwrap();
    guest.prompt("go").unwrap();
    guest.model_says("mine");
    guest.host.wait(|seen| {
        let mine = |effect: &Effect| matches!(effect, Effect::TurnEnded { result } if result.text == "mine");
        seen.effects.iter().any(mine).then_some(())
    });
}

#[test]
fn an_owner_that_is_only_met_in_a_conflict_is_watched_as_well() {
    let first = Fixture::new();
    let second = beside(&first);
    first.store.keep_quiet();
    first.prompt("go").unwrap();
    first.model_calls("gated", "c1");
    let id = first.pending()[0]["interaction_id"].as_str().unwrap().to_owned();
    second.prompt("more").unwrap();
    let Fixture { agent, .. } = first;
    drop(agent);
    second.approve(&id).unwrap();
    second.host.wait_for_entered("c1");
}

#[test]
fn a_session_made_again_under_its_id_is_another_one() {
    let first = Fixture::new();
    let second = beside(&first);
    first.store.keep_quiet();
    second.call(json!({ "op": "remove", "session_id": "s" })).unwrap();
    // Another millisecond: it is made at another time.
    std::thread::sleep(Duration::from_millis(2));
    second.call(json!({ "op": "create", "session_id": "s" })).unwrap();
    assert!(first.prompt("go").unwrap_err().contains("NotFound"));
    assert_eq!(first.host.seen().lost, ["Store(NotFound)"]);
}
