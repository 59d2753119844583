//! What opening gives: what is not finished, and a fence.

use serde_json::json;

use super::Harness;
use crate::{
    core::{
        change::{Change, OpenRows},
        message::{PartBody, ToolState},
    },
    storage::{
        StoreError,
        fixture::{Hand, answered, ask, done, interaction, interaction_part, key, streaming, tool},
    },
};

fn open_rows(harness: &Harness) -> OpenRows {
    ask(|reply| harness.store().open(&key("s"), reply)).expect("it exists").rows
}

fn part_ids(rows: &OpenRows) -> Vec<&str> {
    rows.parts.iter().map(|row| row.part.part_id.as_str()).collect()
}

pub fn fences_only_grow(harness: &mut Harness) {
    let mut last = Hand::create(harness.store(), "s").fence;
    for _ in 0..3 {
        harness.reopen();
        let mut hand = Hand::open(harness.store(), &key("s"));
        assert_eq!(hand.fence, last, "opening takes nothing");
        hand.commit(|c| c.publish("{}"));
        assert!(hand.fence > last, "{} was given after {last}", hand.fence);
        last = hand.fence;
    }
}

pub fn a_session_made_again_does_not_repeat_a_fence(harness: &mut Harness) {
    let mut former = Hand::create(harness.store(), "s");
    ask(|reply| former.store.remove(&former.key, reply)).expect("it is idle");
    let now = Hand::create(harness.store(), "s");
    assert!(now.fence > former.fence);
    assert_eq!(former.try_commit(|c| c.message("m", 1)), Err(StoreError::LeaseLost));
}

pub fn opening_takes_nothing_over(harness: &mut Harness) {
    let mut hand = Hand::create(harness.store(), "s");
    hand.commit(|c| c.turn("turn", "step", "m").message("m", 1).part("m", streaming("p", 1, "te")));
    let reloaded = ask(|reply| hand.store.open(&hand.key, reply)).expect("it exists").rows;
    hand.commit(|c| c.publish("{}"));
    assert_eq!(part_ids(&reloaded), ["p"]);
    let opened = open_rows(harness);
    assert_eq!(OpenRows { session: reloaded.session.clone(), ..opened }, reloaded);
}

pub fn opening_gives_what_is_not_finished(harness: &mut Harness) {
    let mut hand = Hand::create(harness.store(), "s");
    hand.commit(|c| {
        c.turn("turn", "step-2", "m3").message("m1", 1).message("m2", 2).message("m3", 3);
        c.part_of_step("m1", "step-1", done("p1", 1, "of a former step"));
        c.part_of_step("m1", "step-1", tool("p2", 2, ToolState::WaitingUser)).interaction(
            "m1",
            "p2",
            interaction("i2"),
        );
        c.part_of_step("m2", "step-1", done("p3", 1, "of a former step, too"));
        // Written in another order than they are shown.
        c.part_of_step("m3", "step-2", tool("p5", 2, ToolState::Completed)).interaction(
            "m3",
            "p5",
            answered("i5"),
        );
        c.part_of_step("m3", "step-2", done("p4", 1, "of the current step"))
    });
    harness.reopen();
    let rows = open_rows(harness);
    assert_eq!(rows.turn.as_ref().map(|turn| turn.turn_id.as_str()), Some("turn"));
    assert_eq!(part_ids(&rows), ["p2", "p4", "p5"]);
    let messages: Vec<_> = rows.messages.iter().map(|row| row.message_id.as_str()).collect();
    assert_eq!(messages, ["m1", "m3"]);
    let asked: Vec<_> = rows.interactions.iter().map(|row| row.interaction.interaction_id.as_str()).collect();
    assert_eq!(asked, ["i2", "i5"]);
    assert_eq!((&*rows.interactions[0].message_id, &*rows.interactions[0].part_id), ("m1", "p2"));
    // Rows carry no Interactions; those stand for themselves.
    let PartBody::Tool(call) = &rows.parts[0].part.body else { panic!("p2 is a call") };
    assert_eq!(call.interactions, None);
}

pub fn a_part_that_consists_of_a_pending_interaction_is_open(harness: &mut Harness) {
    let mut hand = Hand::create(harness.store(), "s");
    hand.commit(|c| {
        c.turn("turn", "step-2", "m1").message("m1", 1);
        c.part_of_step("m1", "step-1", interaction_part("p1", 1, interaction("i1")));
        c.interaction("m1", "p1", interaction("i1"));
        c.part_of_step("m1", "step-1", interaction_part("p2", 2, interaction("i2")));
        c.interaction("m1", "p2", interaction("i2"))
    });
    hand.commit(|c| c.interaction("m1", "p2", answered("i2")));
    harness.reopen();
    let rows = open_rows(harness);
    assert_eq!(part_ids(&rows), ["p1"]);
    assert_eq!(rows.interactions.len(), 1);
}

pub fn a_finished_turn_leaves_nothing_open(harness: &mut Harness) {
    let mut hand = Hand::create(harness.store(), "s");
    hand.commit(|c| {
        c.turn("turn", "step", "m").message("m", 1).part_of_step(
            "m",
            "step",
            tool("p", 1, ToolState::Running),
        );
        c.replay_record("call-p", 1, json!({}).into())
    });
    hand.commit(|c| c.part_of_step("m", "step", tool("p", 1, ToolState::Completed)).end_turn("turn"));
    harness.reopen();
    let rows = open_rows(harness);
    assert_eq!(rows.session, hand.row);
    assert!(rows.turn.is_none() && rows.messages.is_empty() && rows.parts.is_empty());
    assert!(rows.replay_records.is_empty() && rows.interactions.is_empty());
}

pub fn the_queue_comes_in_the_order_of_its_positions(harness: &mut Harness) {
    let mut hand = Hand::create(harness.store(), "s");
    hand.commit(|c| c.enqueue("b", 3).enqueue("c", 1));
    hand.commit(|c| c.enqueue("a", 2));
    harness.reopen();
    let rows = open_rows(harness);
    let queued: Vec<_> = rows.queue.iter().map(|row| (row.queue_id.as_str(), row.position)).collect();
    assert_eq!(queued, [("c", 1), ("a", 2), ("b", 3)]);
}

pub fn an_entry_that_was_taken_out_of_the_queue_is_gone(harness: &mut Harness) {
    let mut hand = Hand::create(harness.store(), "s");
    hand.commit(|c| c.enqueue("a", 1).enqueue("b", 2));
    hand.commit(|c| c.dequeue("a").dequeue("never there"));
    harness.reopen();
    let rows = open_rows(harness);
    assert_eq!(rows.queue.iter().map(|row| row.queue_id.as_str()).collect::<Vec<_>>(), ["b"]);
}

pub fn replay_records_come_with_their_call_in_order(harness: &mut Harness) {
    let mut hand = Hand::create(harness.store(), "s");
    hand.commit(|c| {
        c.turn("turn", "step", "m").message("m", 1).part_of_step(
            "m",
            "step",
            tool("p", 1, ToolState::Running),
        );
        c.replay_record("call-p", 2, json!("second").into()).replay_record(
            "call-p",
            1,
            json!("first").into(),
        );
        c.replay_record("call-of-long-ago", 1, json!("history").into())
    });
    harness.reopen();
    let rows = open_rows(harness);
    let requests: Vec<_> = rows.replay_records.iter().map(|row| row.request.as_value().clone()).collect();
    assert_eq!(requests, [json!("first"), json!("second")]);
}

pub fn opening_completes_text_that_is_still_streaming(harness: &mut Harness) {
    let mut hand = Hand::create(harness.store(), "s");
    hand.commit(|c| {
        c.turn("turn", "step", "m").message("m", 1).part_of_step("m", "step", streaming("p", 1, "one"))
    });
    hand.commit(|c| c.process().delta("p", ", two").delta("p", ", three"));
    harness.reopen();
    let rows = open_rows(harness);
    let expected = crate::core::message::Part {
        step_id: Some("step".to_owned()),
        ..streaming("p", 1, "one, two, three")
    };
    assert_eq!(rows.parts[0].part, expected);
    // What is written back from there is not added to twice.
    let mut hand = Hand::open(harness.store(), &key("s"));
    hand.commit(|c| c.change(Change::Part(rows.parts[0].clone())).publish("{}"));
    assert_eq!(hand.part("p"), expected.body);
}
