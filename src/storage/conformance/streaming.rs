//! Text that is still coming in: the row's, and the fragments journaled after it.

use super::Harness;
use crate::{
    core::message::{PartBody, ToolState},
    storage::fixture::{Hand, done, key, reasoning, streaming, tool},
};

fn reopened(harness: &mut Harness) -> Hand {
    harness.reopen();
    Hand::open(harness.store(), &key("s"))
}

pub fn fragments_follow_the_text_of_the_row(harness: &mut Harness) {
    let mut hand = Hand::create(harness.store(), "s");
    hand.commit(|c| c.message("m", 1).part("m", streaming("p", 1, "a")).publish("{}"));
    hand.commit(|c| c.process().message("m", 1).delta("p", "b").delta("p", ""));
    hand.commit(|c| c.process().message("m", 1).delta("p", "c"));
    assert_eq!(hand.part("p"), streaming("p", 1, "abc").body);
    assert_eq!(reopened(harness).part("p"), streaming("p", 1, "abc").body);
}

pub fn fragments_of_reasoning_and_tool_input_are_added_as_well(harness: &mut Harness) {
    let mut hand = Hand::create(harness.store(), "s");
    hand.commit(|c| {
        c.message("m", 1).part("m", reasoning("r", 1, "")).part("m", tool("t", 2, ToolState::InputStreaming))
    });
    hand.commit(|c| c.delta("r", "hm").delta("t", "{\"a\":").delta("r", "m").delta("t", "1}"));
    let hand = reopened(harness);
    assert_eq!(hand.part("r"), reasoning("r", 1, "hmm").body);
    let PartBody::Tool(call) = hand.part("t") else { panic!("t is a call") };
    assert_eq!(call.input_text.as_deref(), Some("{\"a\":1}"));
}

pub fn fragments_of_the_commit_that_writes_the_row_are_in_it_already(harness: &mut Harness) {
    let mut hand = Hand::create(harness.store(), "s");
    hand.commit(|c| c.message("m", 1).publish("{}").delta("p", "ab").part("m", streaming("p", 1, "ab")));
    hand.commit(|c| c.delta("p", "c"));
    assert_eq!(reopened(harness).part("p"), streaming("p", 1, "abc").body);
}

pub fn a_row_written_again_while_streaming_starts_anew(harness: &mut Harness) {
    let mut hand = Hand::create(harness.store(), "s");
    hand.commit(|c| c.message("m", 1).part("m", streaming("p", 1, "")).publish("{}"));
    hand.commit(|c| c.delta("p", "a"));
    // Without a Mutation of its own.
    hand.commit(|c| c.part("m", streaming("p", 1, "a")));
    hand.commit(|c| c.delta("p", "b"));
    assert_eq!(reopened(harness).part("p"), streaming("p", 1, "ab").body);
}

pub fn a_part_that_is_done_has_the_whole_text_in_its_row(harness: &mut Harness) {
    let mut hand = Hand::create(harness.store(), "s");
    hand.commit(|c| c.message("m", 1).part("m", streaming("p", 1, "")));
    hand.commit(|c| c.delta("p", "a"));
    hand.commit(|c| c.part("m", done("p", 1, "ab")).publish("{}"));
    hand.commit(|c| c.delta("p", "a straggler"));
    assert_eq!(reopened(harness).part("p"), done("p", 1, "ab").body);
}

pub fn each_fragment_belongs_to_its_own_part(harness: &mut Harness) {
    let mut hand = Hand::create(harness.store(), "s");
    let mut other = Hand::create(harness.store(), "other");
    for hand in [&mut hand, &mut other] {
        hand.commit(|c| c.message("m", 1).part("m", streaming("p", 1, "")).part("m", streaming("q", 2, "")));
    }
    hand.commit(|c| c.delta("p", "1").delta("q", "2"));
    other.commit(|c| c.delta("p", "3").delta("unknown", "4"));
    let hand = reopened(harness);
    assert_eq!(hand.part("p"), streaming("p", 1, "1").body);
    assert_eq!(hand.part("q"), streaming("q", 2, "2").body);
}

pub fn tool_input_without_fragments_has_no_text(harness: &mut Harness) {
    let mut hand = Hand::create(harness.store(), "s");
    hand.commit(|c| c.message("m", 1).part("m", tool("t", 1, ToolState::InputStreaming)));
    assert_eq!(reopened(harness).part("t"), tool("t", 1, ToolState::InputStreaming).body);
}
