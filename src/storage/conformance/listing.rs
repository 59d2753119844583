//! Pages over all Sessions of an agent.

use std::sync::Arc;

use super::Harness;
use crate::{
    core::{interaction::Interaction, message::ToolState},
    storage::{
        ListPage, PendingList, SessionList, Store, StoreError,
        fixture::{AGENT, Hand, answered, ask, interaction, key, key_of, session_row, tool},
    },
};

fn created(store: &Arc<dyn Store>, session_id: &str, updated_at: i64) -> Hand {
    let mut hand = Hand::create(store, session_id);
    hand.commit(|c| c.at(updated_at));
    hand
}

fn page(harness: &Harness, limit: u32, after: Option<String>, archived: bool) -> SessionList {
    let page = ListPage { limit, after, archived };
    ask(|reply| harness.store().list(AGENT, page, reply)).expect("a page")
}

fn ids(list: &SessionList) -> Vec<&str> {
    list.items.iter().map(|item| item.session.session_id.as_str()).collect()
}

/// Asks in a Session of its own.
fn asking(store: &Arc<dyn Store>, agent_id: &str, session_id: &str, created_at: &[i64]) -> Hand {
    let mut hand = Hand::create_as(store, &key_of(agent_id, session_id), session_row(session_id));
    hand.commit(|c| {
        c.turn("turn", "step", "m").message("m", 1).part("m", tool("p", 1, ToolState::WaitingUser));
        for (n, created_at) in created_at.iter().enumerate() {
            let asked = Interaction { created_at: *created_at, ..interaction(&format!("{session_id}-{n}")) };
            c.interaction("m", "p", asked);
        }
        c
    });
    hand
}

fn pending(harness: &Harness, limit: u32, after: Option<String>) -> PendingList {
    ask(|reply| harness.store().pending_of_agent(AGENT, limit, after, reply)).expect("a page")
}

fn asked(list: &PendingList) -> Vec<&str> {
    list.items.iter().map(|item| item.interaction.interaction_id.as_str()).collect()
}

pub fn sessions_are_listed_the_one_touched_last_first(harness: &mut Harness) {
    let mut old = created(harness.store(), "old", 10);
    created(harness.store(), "middle", 20);
    created(harness.store(), "new", 30);
    assert_eq!(ids(&page(harness, 10, None, false)), ["new", "middle", "old"]);
    old.commit(|c| c.at(40));
    harness.reopen();
    let list = page(harness, 10, None, false);
    assert_eq!((ids(&list), &list.next), (vec!["old", "new", "middle"], &None));
    assert_eq!(list.items[0].session, old.row);
}

pub fn ties_are_listed_by_id_across_pages(harness: &mut Harness) {
    for (session_id, updated_at) in [("d", 7), ("b", 7), ("z", 9), ("c", 7), ("a", 7), ("e", 5), ("y", 5)] {
        created(harness.store(), session_id, updated_at);
    }
    let mut seen = Vec::new();
    let mut after = None;
    loop {
        let list = page(harness, 2, after, false);
        seen.extend(ids(&list).into_iter().map(str::to_owned));
        after = list.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen, ["z", "a", "b", "c", "d", "e", "y"]);
    assert_eq!(page(harness, 7, None, false).next, None, "a page that is just full is the last");
}

pub fn archived_sessions_are_listed_apart(harness: &mut Harness) {
    for (session_id, updated_at) in [("a", 1), ("b", 2), ("c", 3), ("d", 3)] {
        created(harness.store(), session_id, updated_at);
    }
    for session_id in ["a", "c", "d"] {
        ask(|reply| harness.store().archive(&key(session_id), reply)).expect("it is idle");
    }
    harness.reopen();
    assert_eq!(ids(&page(harness, 10, None, false)), ["b"]);
    let first = page(harness, 1, None, true);
    assert_eq!(ids(&first), ["c"]);
    assert_eq!(ids(&page(harness, 10, first.next, true)), ["d", "a"]);
}

pub fn a_summary_counts_what_is_pending(harness: &mut Harness) {
    asking(harness.store(), AGENT, "asks", &[1, 2]).commit(|c| c.interaction("m", "p", answered("asks-0")));
    created(harness.store(), "idle", 1);
    let list = page(harness, 10, None, false);
    let counts: Vec<_> = list.items.iter().map(|item| (&*item.session.session_id, item.pending)).collect();
    assert_eq!(counts, [("asks", 1), ("idle", 0)]);
}

pub fn other_agents_sessions_are_not_listed(harness: &mut Harness) {
    created(harness.store(), "mine", 1);
    Hand::create_as(harness.store(), &key_of("agent-2", "theirs"), session_row("theirs"));
    assert_eq!(ids(&page(harness, 10, None, false)), ["mine"]);
}

pub fn a_session_touched_while_paging_makes_no_other_appear_twice(harness: &mut Harness) {
    let mut hands: Vec<Hand> = (0..6).map(|n| created(harness.store(), &format!("s{n}"), 10 - n)).collect();
    let first = page(harness, 2, None, false);
    assert_eq!(ids(&first), ["s0", "s1"]);
    hands[1].commit(|c| c.at(50));
    hands[4].commit(|c| c.at(51));
    assert_eq!(ids(&page(harness, 10, first.next, false)), ["s2", "s3", "s5"]);
}

pub fn a_session_created_while_paging_makes_no_other_appear_twice(harness: &mut Harness) {
    for n in 0..4 {
        created(harness.store(), &format!("s{n}"), 10 - n);
    }
    let first = page(harness, 2, None, false);
    created(harness.store(), "new", 90);
    ask(|reply| harness.store().remove(&key("s1"), reply)).expect("it is idle");
    assert_eq!(ids(&page(harness, 10, first.next, false)), ["s2", "s3"]);
}

pub fn what_is_pending_of_an_agent_comes_oldest_first_in_pages(harness: &mut Harness) {
    asking(harness.store(), AGENT, "b", &[5, 9]);
    asking(harness.store(), AGENT, "a", &[7, 7]);
    asking(harness.store(), AGENT, "c", &[7, 1]);
    harness.reopen();
    let mut seen = Vec::new();
    let mut after = None;
    loop {
        let list = pending(harness, 2, after);
        seen.extend(asked(&list).into_iter().map(str::to_owned));
        after = list.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen, ["c-1", "b-0", "a-0", "a-1", "c-0", "b-1"]);
    assert_eq!(pending(harness, 1, None).items[0].session_id, "c");
    assert_eq!(pending(harness, 6, None).next, None);
}

pub fn what_is_answered_while_paging_makes_no_other_appear_twice(harness: &mut Harness) {
    let mut hand = asking(harness.store(), AGENT, "s", &[1, 2, 3, 4]);
    let first = pending(harness, 2, None);
    assert_eq!(asked(&first), ["s-0", "s-1"]);
    let answer = Interaction { created_at: 2, ..answered("s-1") };
    hand.commit(|c| c.interaction("m", "p", answer));
    assert_eq!(asked(&pending(harness, 10, first.next)), ["s-2", "s-3"]);
    assert_eq!(asked(&pending(harness, 10, None)), ["s-0", "s-2", "s-3"]);
}

pub fn what_is_pending_in_an_archived_session_is_left_out(harness: &mut Harness) {
    // Pending without a Turn, as only a damaged Session would be.
    asking(harness.store(), AGENT, "away", &[1, 2]).commit(|c| c.end_turn("turn"));
    asking(harness.store(), AGENT, "here", &[3, 4]);
    ask(|reply| harness.store().archive(&key("away"), reply)).expect("it is idle");
    let first = pending(harness, 1, None);
    assert_eq!(asked(&first), ["here-0"]);
    assert_eq!(asked(&pending(harness, 1, first.next)), ["here-1"]);
}

pub fn other_agents_interactions_are_left_out(harness: &mut Harness) {
    for agent_id in ["agen", "agent-2", "b"] {
        asking(harness.store(), agent_id, "theirs", &[1]);
    }
    asking(harness.store(), AGENT, "mine", &[2]);
    let list = pending(harness, 10, None);
    assert_eq!((asked(&list), list.next.as_ref()), (vec!["mine-0"], None));
}

pub fn a_cursor_of_another_kind_is_refused(harness: &mut Harness) {
    asking(harness.store(), AGENT, "a", &[1, 2]);
    created(harness.store(), "b", 2);
    let store = harness.store();
    let listed = page(harness, 1, None, false).next.expect("there is a second page");
    let pending = pending(harness, 1, None).next.expect("there is a second page");
    for after in ["", "x", "listed:", "listed:x:y", "pending:1", "pending:1:x", &pending] {
        let page = ListPage { limit: 1, after: Some(after.to_owned()), archived: false };
        assert_eq!(ask(|reply| store.list(AGENT, page, reply)), Err(StoreError::BadCursor), "{after}");
    }
    for after in ["", "x", "pending:1", "pending:1:x", "pending:1:-1", &listed] {
        let result = ask(|reply| store.pending_of_agent(AGENT, 1, Some(after.to_owned()), reply));
        assert_eq!(result, Err(StoreError::BadCursor), "{after}");
    }
}
