//! Commits: all or nothing, in order, and only by who has the Session open.

use std::{sync::Arc, thread};

use super::Harness;
use crate::{
    core::{
        change::{CallRecord, Change, GateRecord, PartRow},
        message::{Part, PartBody, ToolState},
    },
    storage::{
        Snapshot, StoreError,
        fixture::{CommitBuilder, Hand, ask, done, interaction, key, streaming, tool},
    },
};

/// Everything of a Session that a commit can change.
fn everything(hand: &Hand) -> (Snapshot, crate::core::change::OpenRows, Vec<(u64, Arc<str>)>) {
    let open = ask(|reply| hand.store.open(&hand.key, reply)).expect("it exists").rows;
    let journal = ask(|reply| hand.store.journal(&hand.key, 0, 1_000, reply)).expect("it exists");
    (hand.snapshot(), open, journal)
}

fn a_bit_of_everything(c: &mut CommitBuilder) -> &mut CommitBuilder {
    c.turn("turn", "step", "m9").message("m9", 9).part("m9", streaming("p9", 1, "")).delta("p9", "text");
    c.part("m9", tool("p10", 2, ToolState::WaitingUser)).interaction("m9", "p10", interaction("i9"));
    c.enqueue("q9", 9).replay_record("call-p10", 1, serde_json::json!(9).into()).publish("{}").at(9_999)
}

pub fn a_commit_reads_back_as_it_was_written(harness: &mut Harness) {
    let mut hand = Hand::create(harness.store(), "s");
    let call = CallRecord {
        execution_started: true,
        gate: Some(GateRecord::Asked { interaction_id: "i".to_owned() }),
        validated_input: Some(serde_json::json!({ "a": [1] }).into()),
        ..CallRecord::default()
    };
    let part = Part { step_id: Some("step".to_owned()), ..tool("p", 1, ToolState::WaitingUser) };
    let row = PartRow { message_id: "m".to_owned(), part, call: Some(call) };
    hand.commit(|c| {
        c.turn("turn", "step", "m").message("m", 1).change(Change::Part(row.clone()));
        c.interaction("m", "p", interaction("i")).publish(r#"{"a":1}"#).at(2_000)
    });
    harness.reopen();
    let opened = ask(|reply| harness.store().open(&key("s"), reply)).expect("it exists").rows;
    assert_eq!(opened.session, hand.row);
    assert_eq!(opened.parts, [row]);
    assert_eq!(opened.interactions[0].interaction, interaction("i"));
    let journal = ask(|reply| harness.store().journal(&key("s"), 0, 10, reply)).expect("it exists");
    assert_eq!(journal, [(1, Arc::from(r#"{"a":1}"#))]);
}

pub fn a_stale_fence_is_refused_and_changes_nothing(harness: &mut Harness) {
    let mut former = Hand::create(harness.store(), "s");
    former.commit(|c| c.message("m", 1).part("m", done("p", 1, "text")));
    let mut now = Hand::open(harness.store(), &key("s"));
    now.commit(|c| c.publish("{}"));
    let before = everything(&now);
    assert_eq!(former.try_commit(a_bit_of_everything), Err(StoreError::LeaseLost));
    assert_eq!(everything(&now), before);
    now.fence += 1;
    assert_eq!(now.try_commit(a_bit_of_everything), Err(StoreError::LeaseLost), "a fence never given");
    assert_eq!(everything(&now), before);
}

pub fn a_fence_never_given_takes_no_append(harness: &mut Harness) {
    let row = crate::storage::fixture::session_row("s");
    ask(|reply| harness.store().create(&key("s"), row.clone(), reply)).expect("the id is free");
    let mut hand = Hand { fence: 0, taking: false, ..Hand::open(harness.store(), &key("s")) };
    assert_eq!(hand.row, row);
    assert_eq!(hand.try_commit(a_bit_of_everything), Err(StoreError::LeaseLost));
}

pub fn a_conflict_is_refused_and_changes_nothing(harness: &mut Harness) {
    let mut hand = Hand::create(harness.store(), "s");
    hand.commit(|c| c.message("m", 1).part("m", done("p", 1, "text")));
    let before = everything(&hand);
    for commits in [0, 2, u64::MAX - 1] {
        let row = hand.row.clone();
        hand.row.commits = commits;
        assert_eq!(hand.try_commit(a_bit_of_everything), Err(StoreError::Conflict));
        hand.row = row;
        assert_eq!(everything(&hand), before);
    }
    hand.commit(a_bit_of_everything);
}

pub fn appends_are_applied_in_the_order_of_the_calls(harness: &mut Harness) {
    let mut hand = Hand::create(harness.store(), "s");
    hand.commit(|c| c.message("m", 1).part("m", streaming("p", 1, "")));
    let words: Vec<String> = (0..500).map(|n| format!("{n} ")).collect();
    let answers: Vec<_> = words.iter().map(|word| hand.submit(|c| c.process().delta("p", word))).collect();
    for (n, answer) in answers.into_iter().enumerate() {
        let receipt = answer.recv().expect("every reply is called").expect("the commit is accepted");
        assert_eq!(receipt.commit_id(), format!("commit-{}", n + 2));
    }
    assert_eq!(hand.part("p"), streaming("p", 1, &words.concat()).body);
}

pub fn a_refused_append_does_not_harm_its_neighbours(harness: &mut Harness) {
    let mut hands: Vec<Hand> = (0..8).map(|n| Hand::create(harness.store(), &format!("s{n}"))).collect();
    let before = hands[3].snapshot();
    hands[3].fence += 1_000;
    hands[5].row.commits = 7;
    let answers: Vec<_> = hands.iter_mut().map(|hand| hand.submit(a_bit_of_everything)).collect();
    let answers: Vec<_> =
        answers.into_iter().map(|answer| answer.recv().expect("every reply is called")).collect();
    for (n, (answer, hand)) in answers.into_iter().zip(&hands).enumerate() {
        match n {
            3 => assert_eq!(answer, Err(StoreError::LeaseLost)),
            5 => assert_eq!(answer, Err(StoreError::Conflict)),
            _ => {
                assert_eq!(answer.expect("it is accepted").commit_id(), "commit-1");
                assert_eq!(hand.snapshot().session, hand.row);
            }
        }
    }
    assert_eq!(hands[3].snapshot(), before);
}

pub fn the_last_commit_id_tells_which_attempt_went_through(harness: &mut Harness) {
    let mut hand = Hand::create(harness.store(), "s");
    let receipt = hand.commit(|c| c.commit_id("attempt-a"));
    assert_eq!((receipt.commit_id(), receipt.fence()), ("attempt-a", hand.fence));
    let row = hand.row.clone();
    hand.row.commits = 0;
    assert!(hand.try_commit(|c| c.commit_id("attempt-b")).is_err());
    harness.reopen();
    let reloaded = ask(|reply| harness.store().open(&key("s"), reply)).expect("it exists").rows;
    assert_eq!(reloaded.session, row);
}

pub fn a_commit_without_a_session_row_is_counted_all_the_same(harness: &mut Harness) {
    let mut hand = Hand::create(harness.store(), "s");
    hand.commit(|c| c.without_session().message("m", 1).publish("{}").commit_id("bare"));
    let session = hand.snapshot().session;
    assert_eq!((session.commits, &*session.last_commit_id, session.revision), (1, "bare", 1));
    hand.row.commits = 0;
    assert_eq!(hand.try_commit(|c| c.publish("{}")), Err(StoreError::Conflict));
}

pub fn a_row_written_again_replaces_the_former(harness: &mut Harness) {
    let mut hand = Hand::create(harness.store(), "s");
    hand.commit(|c| {
        c.turn("turn", "step-1", "m")
            .message("m", 1)
            .part("m", tool("p", 1, ToolState::Ready))
            .enqueue("q", 1);
        c.replay_record("call-p", 1, serde_json::json!("old").into())
    });
    hand.commit(|c| {
        c.turn("turn", "step-2", "m")
            .message("m", 1)
            .part("m", tool("p", 1, ToolState::Running))
            .enqueue("q", 2);
        c.replay_record("call-p", 1, serde_json::json!("new").into())
    });
    harness.reopen();
    let rows = ask(|reply| harness.store().open(&key("s"), reply)).expect("it exists").rows;
    assert_eq!(rows.turn.and_then(|turn| turn.step).map(|step| step.step_id), Some("step-2".to_owned()));
    assert_eq!(rows.queue.iter().map(|row| row.position).collect::<Vec<_>>(), [2]);
    assert_eq!(rows.replay_records.len(), 1);
    assert_eq!(rows.replay_records[0].request, serde_json::json!("new").into());
    assert!(matches!(&rows.parts[0].part.body, PartBody::Tool(call) if call.state == ToolState::Running));
}

pub fn sessions_are_written_from_many_threads_at_once(harness: &mut Harness) {
    let store = harness.store();
    thread::scope(|scope| {
        for n in 0..8 {
            scope.spawn(move || {
                let mut hand = Hand::create(store, &format!("s{n}"));
                hand.commit(|c| c.message("m", 1).part("m", streaming("p", 1, "")));
                for _ in 0..20 {
                    hand.commit(|c| c.process().delta("p", "x"));
                }
                assert_eq!(hand.part("p"), streaming("p", 1, &"x".repeat(20)).body);
            });
        }
    });
}
