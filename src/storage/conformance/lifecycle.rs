//! Creating, archiving and removing Sessions.

use serde_json::json;

use super::Harness;
use crate::{
    core::{
        change::{ApprovalMode, SessionRow},
        message::ToolState,
    },
    storage::{
        Authority, ListPage, MessagePage, OwnerId, Store, StoreError,
        fixture::{
            AGENT, CommitBuilder, Hand, ask, done, interaction, key, key_of, later, session_row, tool,
        },
    },
};

pub fn a_created_session_reads_back_as_it_was_written(harness: &mut Harness) {
    let row = SessionRow {
        metadata: Some(json!({ "title": "t", "n": 1 }).into()),
        effective_approval_mode: ApprovalMode::AlwaysAllow,
        created_at: -5,
        updated_at: i64::MAX - 1,
        ..session_row("s")
    };
    ask(|reply| harness.store().create(&key("s"), row.clone(), reply)).expect("the id is free");
    harness.reopen();
    let opened = ask(|reply| harness.store().open(&key("s"), reply)).expect("it was created");
    assert_eq!(opened.rows.session, row);
    assert!(opened.rows.turn.is_none() && opened.rows.queue.is_empty() && opened.rows.parts.is_empty());
}

pub fn an_existing_id_is_refused_and_left_as_it_is(harness: &mut Harness) {
    let mut hand = Hand::create(harness.store(), "s");
    hand.commit(|c| c.message("m", 1));
    let other = SessionRow { metadata: Some(json!(1).into()), ..session_row("s") };
    assert_eq!(ask(|reply| hand.store.create(&hand.key, other, reply)), Err(StoreError::Exists));
    assert_eq!(hand.snapshot().session, hand.row);
    // Nor was it taken from who has it open.
    hand.commit(|c| c.message("m2", 2));
}

pub fn an_archived_id_is_refused_too(harness: &mut Harness) {
    let hand = Hand::create(harness.store(), "s");
    ask(|reply| hand.store.archive(&hand.key, reply)).expect("it is idle");
    assert_eq!(ask(|reply| hand.store.create(&hand.key, session_row("s"), reply)), Err(StoreError::Exists));
}

pub fn the_same_id_under_two_agents_is_two_sessions(harness: &mut Harness) {
    let mut one = Hand::create_as(harness.store(), &key_of("one", "s"), session_row("s"));
    let two = Hand::create_as(harness.store(), &key_of("two", "s"), session_row("s"));
    one.commit(|c| c.message("m", 1));
    assert_eq!(one.messages(None, 10).len(), 1);
    assert_eq!(two.messages(None, 10).len(), 0);
}

pub fn ids_are_compared_exactly(harness: &mut Harness) {
    for id in ["a.b", "A.b", "a_b", "a%b", "..", "a.b ", "a:b"] {
        Hand::create(harness.store(), id);
    }
    let unknown = later(|reply| harness.store().open(&key("a?b"), reply));
    assert_eq!(unknown.recv(), Ok(Err(StoreError::NotFound)));
}

pub fn an_unknown_session_is_not_found_by_any_call(harness: &mut Harness) {
    let (store, key) = (harness.store(), &key("unknown"));
    let (_, commit) = CommitBuilder::on(&session_row("unknown")).finish();
    let page = MessagePage { before_sequence: None, limit: 1 };
    let refused = Some(StoreError::NotFound);
    assert_eq!(ask(|reply| store.open(key, reply)).err(), refused);
    let me = OwnerId::from("me");
    assert_eq!(ask(|reply| store.catch_up(key, 0, reply)).err(), refused);
    assert_eq!(ask(|reply| store.append(key, &me, Authority::Guest, commit.into(), reply)).err(), refused);
    assert_eq!(ask(|reply| store.release(key, &me, reply)).err(), refused);
    assert_eq!(ask(|reply| store.messages(key, page, reply)).err(), refused);
    assert_eq!(ask(|reply| store.snapshot(key, 1, reply)).err(), refused);
    assert_eq!(ask(|reply| store.pending(key, reply)).err(), refused);
    assert_eq!(ask(|reply| store.interaction(key, "i", reply)).err(), refused);
    assert_eq!(ask(|reply| store.journal(key, 0, 1, reply)).err(), refused);
    assert_eq!(ask(|reply| store.archive(key, reply)).err(), refused);
    assert_eq!(ask(|reply| store.remove(key, reply)).err(), refused);
}

pub fn a_running_session_is_neither_archived_nor_removed(harness: &mut Harness) {
    let mut hand = Hand::create(harness.store(), "s");
    hand.commit(|c| c.turn("turn", "step", "m").message("m", 1));
    assert_eq!(ask(|reply| hand.store.archive(&hand.key, reply)), Err(StoreError::Running));
    assert_eq!(ask(|reply| hand.store.remove(&hand.key, reply)), Err(StoreError::Running));
    hand.commit(|c| c.end_turn("turn"));
    ask(|reply| hand.store.archive(&hand.key, reply)).expect("it is idle now");
    ask(|reply| hand.store.remove(&hand.key, reply)).expect("an archived one can be removed");
}

pub fn archiving_twice_changes_nothing(harness: &mut Harness) {
    let hand = Hand::create(harness.store(), "s");
    ask(|reply| hand.store.archive(&hand.key, reply)).expect("it is idle");
    ask(|reply| hand.store.archive(&hand.key, reply)).expect("it is archived already");
    let page = ListPage { limit: 10, after: None, archived: true };
    let archived = ask(|reply| hand.store.list(AGENT, page, reply)).expect("a page");
    assert_eq!(archived.items.len(), 1);
    assert_eq!(hand.snapshot().session, hand.row);
}

pub fn a_removed_session_leaves_nothing_behind(harness: &mut Harness) {
    let mut hand = Hand::create(harness.store(), "s");
    hand.commit(|c| {
        c.turn("turn", "step", "m").message("m", 1).part_of_step(
            "m",
            "step",
            tool("p", 1, ToolState::WaitingUser),
        );
        c.interaction("m", "p", interaction("i")).enqueue("q", 1).replay_record("call-p", 1, json!(1).into());
        c.part("m", done("p2", 2, "text")).publish("{}")
    });
    // Pending still, as only a damaged Session would be.
    hand.commit(|c| c.end_turn("turn"));
    ask(|reply| hand.store.remove(&hand.key, reply)).expect("it is idle");
    let pending = ask(|reply| hand.store.pending_of_agent(AGENT, 10, None, reply)).expect("a page");
    assert_eq!(pending.items, []);
    let feed = ask(|reply| hand.store.feed(AGENT, Some(0), 10, reply)).expect("a page");
    assert!(feed.bodies.is_empty());

    let mut again = Hand::create(harness.store(), "s");
    again.commit(|c| c.turn("turn", "step", "m"));
    harness.reopen();
    let opened = ask(|reply| harness.store().open(&key("s"), reply)).expect("it was made again");
    let rows = opened.rows;
    assert!(rows.queue.is_empty() && rows.messages.is_empty() && rows.parts.is_empty());
    assert!(rows.interactions.is_empty() && rows.replay_records.is_empty());
    let store: &dyn Store = &**harness.store();
    assert_eq!(ask(|reply| store.journal(&key("s"), 0, 10, reply)), Ok(Vec::new()));
    assert_eq!(ask(|reply| store.interaction(&key("s"), "i", reply)), Ok(None));
}
