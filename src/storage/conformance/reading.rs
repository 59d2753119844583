//! What readers of one Session see.

use std::sync::Arc;

use serde_json::{Value, json};

use super::Harness;
use crate::{
    core::{
        change::SessionRow,
        interaction::{Interaction, InteractionStatus},
        json::{Json, MAX_DEPTH, check_limits},
        message::{Message, Part, PartBody, PartState, ToolState},
    },
    storage::{
        StoreError,
        fixture::{
            Hand, answered, ask, done, interaction, interaction_part, key, session_row, streaming, tool,
        },
    },
};

fn sequences(messages: &[Message]) -> Vec<u64> {
    messages.iter().map(|message| message.sequence).collect()
}

fn ids(interactions: &[Interaction]) -> Vec<&str> {
    interactions.iter().map(|one| one.interaction_id.as_str()).collect()
}

/// A Session with ten Messages of one text each.
fn ten_messages(harness: &Harness) -> Hand {
    let mut hand = Hand::create(harness.store(), "s");
    for n in 1..=10 {
        let (message_id, part_id) = (format!("m{n}"), format!("p{n}"));
        hand.commit(|c| c.message(&message_id, n).part(&message_id, done(&part_id, 1, "text")));
    }
    hand
}

pub fn the_last_messages_come_in_ascending_order(harness: &mut Harness) {
    let hand = ten_messages(harness);
    assert_eq!(sequences(&hand.messages(None, 3)), [8, 9, 10]);
    assert_eq!(sequences(&hand.messages(None, 100)), (1..=10).collect::<Vec<_>>());
    assert_eq!(sequences(&hand.messages(None, 0)), [0u64; 0]);
    let first = &hand.messages(None, 10)[0];
    assert_eq!((&*first.message_id, &*first.session_id, first.parts.len()), ("m1", "s", 1));
}

pub fn a_page_ends_before_the_sequence_it_was_asked_for(harness: &mut Harness) {
    let hand = ten_messages(harness);
    assert_eq!(sequences(&hand.messages(Some(8), 3)), [5, 6, 7]);
    assert_eq!(sequences(&hand.messages(Some(2), 3)), [1]);
    assert_eq!(sequences(&hand.messages(Some(1), 3)), [0u64; 0]);
    assert_eq!(sequences(&hand.messages(Some(u64::MAX), 2)), [9, 10]);
}

pub fn parts_come_in_the_order_of_their_sequence(harness: &mut Harness) {
    let mut hand = Hand::create(harness.store(), "s");
    hand.commit(|c| {
        c.part("m", done("b", 2, "")).part("m", done("a", 3, "")).part("m", done("c", 1, "")).message("m", 1)
    });
    hand.commit(|c| c.part("m", done("b", 2, "again")));
    let parts: Vec<String> =
        hand.messages(None, 1)[0].parts.iter().map(|part| part.part_id.clone()).collect();
    assert_eq!(parts, ["c", "b", "a"]);
}

pub fn a_tool_part_carries_its_interactions_oldest_first(harness: &mut Harness) {
    let mut hand = Hand::create(harness.store(), "s");
    hand.commit(|c| {
        c.message("m", 1)
            .part("m", tool("p", 1, ToolState::WaitingUser))
            .part("m", tool("o", 2, ToolState::Ready));
        c.interaction("m", "p", interaction("z")).interaction("m", "p", interaction("a"))
    });
    hand.commit(|c| c.interaction("m", "p", interaction("k")).interaction("m", "p", answered("z")));
    harness.reopen();
    let hand = Hand::open(harness.store(), &key("s"));
    let PartBody::Tool(call) = hand.part("p") else { panic!("p is a call") };
    assert_eq!(call.interactions, Some(vec![answered("z"), interaction("a"), interaction("k")]));
}

pub fn a_tool_part_that_asked_nothing_carries_none(harness: &mut Harness) {
    let mut hand = Hand::create(harness.store(), "s");
    hand.commit(|c| c.message("m", 1).part("m", tool("p", 1, ToolState::Running)));
    let PartBody::Tool(call) = hand.part("p") else { panic!("p is a call") };
    assert_eq!(call.interactions, None);
}

pub fn a_part_that_consists_of_an_interaction_shows_it_as_it_is_now(harness: &mut Harness) {
    let mut hand = Hand::create(harness.store(), "s");
    hand.commit(|c| {
        c.message("m", 1).part("m", interaction_part("p", 1, interaction("i")));
        c.interaction("m", "p", interaction("i"))
    });
    assert_eq!(hand.messages(None, 1)[0].state(), PartState::Streaming);
    hand.commit(|c| c.interaction("m", "p", answered("i")));
    harness.reopen();
    let hand = Hand::open(harness.store(), &key("s"));
    assert_eq!(hand.part("p"), interaction_part("p", 1, answered("i")).body);
    assert_eq!(hand.messages(None, 1)[0].state(), PartState::Done);
}

pub fn a_snapshot_shows_row_messages_and_what_is_pending(harness: &mut Harness) {
    let mut hand = ten_messages(harness);
    hand.commit(|c| {
        c.turn("turn", "step", "m10").part("m10", tool("ask", 2, ToolState::WaitingUser)).publish("{}");
        c.interaction("m10", "ask", interaction("i"))
    });
    let snapshot = ask(|reply| hand.store.snapshot(&hand.key, 2, reply)).expect("it exists");
    assert_eq!(snapshot.session, hand.row);
    assert_eq!(sequences(&snapshot.messages), [9, 10]);
    assert_eq!(ids(&snapshot.pending), ["i"]);
    assert_eq!(snapshot.messages, hand.messages(None, 2));
}

pub fn pending_interactions_come_oldest_first_and_leave_when_answered(harness: &mut Harness) {
    let mut hand = Hand::create(harness.store(), "s");
    hand.commit(|c| {
        c.message("m", 1).part("m", tool("p", 1, ToolState::WaitingUser));
        c.interaction("m", "p", interaction("z")).interaction("m", "p", interaction("b"))
    });
    hand.commit(|c| c.interaction("m", "p", interaction("a")));
    let pending =
        |harness: &Harness| ask(|reply| harness.store().pending(&key("s"), reply)).expect("it exists");
    assert_eq!(ids(&pending(harness)), ["z", "b", "a"]);
    hand.commit(|c| c.interaction("m", "p", answered("b")));
    harness.reopen();
    assert_eq!(ids(&pending(harness)), ["z", "a"]);
}

pub fn an_interaction_is_found_whatever_its_status(harness: &mut Harness) {
    let mut hand = Hand::create(harness.store(), "s");
    let denied = Interaction { status: InteractionStatus::Denied, ..interaction("denied") };
    hand.commit(|c| {
        c.message("m", 1).part("m", tool("p", 1, ToolState::WaitingUser));
        c.interaction("m", "p", interaction("pending")).interaction("m", "p", answered("answered"));
        c.interaction("m", "p", denied.clone())
    });
    harness.reopen();
    for expected in [interaction("pending"), answered("answered"), denied] {
        let found = ask(|reply| harness.store().interaction(&key("s"), &expected.interaction_id, reply));
        assert_eq!(found, Ok(Some(expected)));
    }
}

pub fn an_interaction_of_another_session_is_not_found(harness: &mut Harness) {
    let mut hand = Hand::create(harness.store(), "s");
    hand.commit(|c| {
        c.message("m", 1).part("m", tool("p", 1, ToolState::WaitingUser)).interaction(
            "m",
            "p",
            interaction("i"),
        )
    });
    Hand::create(harness.store(), "other");
    let look = |session_id, id| ask(|reply| harness.store().interaction(&key(session_id), id, reply));
    assert_eq!(look("other", "i"), Ok(None));
    assert_eq!(look("s", "I"), Ok(None));
    assert_eq!(look("nobody", "i"), Err(StoreError::NotFound));
}

pub fn the_journal_is_read_in_pages_after_a_revision(harness: &mut Harness) {
    let mut hand = Hand::create(harness.store(), "s");
    hand.commit(|c| c.publish("1").publish("2"));
    hand.commit(|c| c.at(2_000));
    hand.commit(|c| c.publish("3").publish("4"));
    harness.reopen();
    let read = |after, limit| {
        let page = ask(|reply| harness.store().journal(&key("s"), after, limit, reply)).expect("it exists");
        page.iter().map(|(revision, body)| format!("{revision}:{body}")).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(read(0, 3), "1:1 2:2 3:3");
    assert_eq!(read(3, 3), "4:4");
    assert_eq!(read(4, 3), "");
    assert_eq!(read(u64::MAX, 3), "");
    assert_eq!(read(0, 0), "");
}

pub fn strings_may_hold_nul(harness: &mut Harness) {
    let odd = "a\0b\u{1}\u{feff}\u{1F600}\0";
    let metadata = Some(json!({ odd: odd }).into());
    let row = SessionRow { metadata: metadata.clone(), ..session_row("s") };
    let mut hand = Hand::create_as(harness.store(), &key("s"), row);
    hand.commit(|c| c.message("m", 1).part("m", streaming("p", 1, odd)));
    hand.commit(|c| c.delta("p", odd).publish(odd));
    harness.reopen();
    let hand = Hand::open(harness.store(), &key("s"));
    assert_eq!(hand.row.metadata, metadata);
    assert_eq!(hand.part("p"), streaming("p", 1, &odd.repeat(2)).body);
    let journal = ask(|reply| hand.store.journal(&hand.key, 1, 1, reply));
    assert_eq!(journal, Ok(vec![(2, Arc::from(odd))]));
}

fn with_values(part_id: &str, value: &Json) -> Part {
    let mut part = tool(part_id, 1, ToolState::Completed);
    if let PartBody::Tool(call) = &mut part.body {
        call.input = Some(value.clone());
        call.output = Some(value.clone());
    }
    part
}

pub fn values_may_be_nested_as_deep_as_the_limit(harness: &mut Harness) {
    let nested = |inner: Value, level| if level % 2 == 0 { json!([inner]) } else { json!({ "a": inner }) };
    let deep = (0..MAX_DEPTH).fold(json!(1), nested);
    assert_eq!(check_limits(&deep), Ok(()));
    assert!(check_limits(&json!([deep])).is_err(), "it is the deepest allowed");
    let deep = Json::new(deep);
    let asked = Interaction { payload: deep.clone(), response: Some(deep.clone()), ..interaction("i") };
    let row = SessionRow { metadata: Some(deep.clone()), ..session_row("s") };
    let mut hand = Hand::create_as(harness.store(), &key("s"), row);
    hand.commit(|c| {
        c.turn("turn", "step", "m").message("m", 1).part_of_step("m", "step", with_values("p", &deep));
        c.interaction("m", "p", asked.clone()).replay_record("call-p", 1, deep.clone())
    });
    harness.reopen();
    let hand = Hand::open(harness.store(), &key("s"));
    let PartBody::Tool(call) = hand.part("p") else { panic!("p is a call") };
    assert_eq!((call.input, call.output), (Some(deep.clone()), Some(deep.clone())));
    assert_eq!(call.interactions, Some(vec![asked]));
    let reloaded = ask(|reply| hand.store.open(&hand.key, reply)).expect("it exists").rows;
    assert_eq!(reloaded.replay_records[0].request, deep);
}

pub fn values_keep_their_key_order_and_their_numbers(harness: &mut Harness) {
    let value = json!({
        "z": 1, "a": 2, "type": "x", "m": { "b": null, "a": [true, "1"] },
        "numbers": [0.1 + 0.2, 936.2395387648645, 392.73666773196123, 1e300, -0.0, 5e-324, 1.7976931348623157e308, 9_007_199_254_740_993_u64, u64::MAX,
            i64::MIN, 1.0, 0.3, 123_456_789.123_456_79, 2.2250738585072014e-308, 8.41e-7, 0.000_100_000_000_000_000_05],
    });
    let mut hand = Hand::create(harness.store(), "s");
    hand.commit(|c| c.message("m", 1).part("m", with_values("p", &value.clone().into())));
    harness.reopen();
    let hand = Hand::open(harness.store(), &key("s"));
    let PartBody::Tool(call) = hand.part("p") else { panic!("p is a call") };
    let read = call.input.expect("it was written with one");
    // As text: equality of objects does not see the order of their keys.
    assert_eq!(read.as_value().to_string(), value.to_string());
}
