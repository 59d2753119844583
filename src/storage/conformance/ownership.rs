//! Who owns a Session, who is seen to live, and who is told.

use std::{
    sync::{Arc, mpsc},
    time::Duration,
};

use super::Harness;
use crate::storage::{
    Liveness, Member, OwnerId, Ownership, Store, StoreError, UnfinishedSession,
    fixture::{AGENT, CommitBuilder, Hand, ask, key, key_of, session_row},
};

fn ownership(store: &Arc<dyn Store>) -> Ownership {
    ask(|reply| store.open(&key("s"), reply)).expect("it exists").ownership
}

fn running(c: &mut CommitBuilder) -> &mut CommitBuilder {
    c.turn("turn", "step", "m").message("m", 1)
}

/// A member, and the Sessions it is given notice of by name.
fn member(store: &Arc<dyn Store>, owner: &str) -> (OwnerId, mpsc::Receiver<String>) {
    let (sender, notices) = mpsc::channel();
    let owner = OwnerId::from(owner);
    store.join(Member {
        owner: owner.clone(),
        agent_id: AGENT.into(),
        lease: Duration::from_secs(10),
        notice: Arc::new(move |key| {
            // A test may have lost interest.
            let _ = key.map(|key| sender.send(key.session_id.to_string()));
        }),
    });
    (owner, notices)
}

pub fn whoever_leaves_a_session_unfinished_owns_it_until_it_is_finished(harness: &mut Harness) {
    let mut hand = Hand::create(harness.store(), "s");
    assert_eq!(ownership(harness.store()), Ownership { fence: hand.fence, owner: None });
    hand.commit(running);
    harness.reopen();
    assert_eq!(ownership(harness.store()), Ownership { fence: hand.fence, owner: Some(hand.me.clone()) });
    hand.store = harness.store().clone();
    hand.commit(|c| c.end_turn("turn"));
    assert_eq!(ownership(harness.store()), Ownership { fence: hand.fence, owner: None });
}

pub fn a_session_is_taken_only_as_it_was_seen(harness: &mut Harness) {
    let mut former = Hand::create(harness.store(), "s");
    former.commit(running);
    let mut one = Hand::open(harness.store(), &key("s"));
    let mut two = Hand { me: "two".into(), ..Hand::open(harness.store(), &key("s")) };
    one.commit(|c| c.publish("{}"));
    assert!(one.fence > former.fence);
    two.row = one.row.clone();
    assert_eq!(two.try_commit(|c| c.publish("{}")), Err(StoreError::Conflict), "somebody else was faster");
    former.row = one.row.clone();
    assert_eq!(former.try_commit(|c| c.publish("{}")), Err(StoreError::LeaseLost));
    let now = Ownership { fence: one.fence, owner: Some(one.me.clone()) };
    assert_eq!(ownership(harness.store()), now);
}

pub fn a_guest_leaves_the_session_to_its_owner(harness: &mut Harness) {
    let mut owner = Hand::create(harness.store(), "s");
    owner.commit(running);
    let before = ownership(harness.store());
    let mut guest = Hand::open(harness.store(), &key("s"));
    let receipt = guest.commit_as_guest(|c| c.publish("{}")).expect("anybody may");
    assert_eq!((receipt.fence(), ownership(harness.store())), (owner.fence, before));
    // The owner learns of it, and goes on under the number it has.
    assert_eq!(owner.try_commit(|c| c.publish("{}")), Err(StoreError::Conflict));
    owner.row = guest.row.clone();
    owner.commit(|c| c.publish("{}"));
    // What a guest finishes is nobody's any more.
    guest.row = owner.row.clone();
    guest.commit_as_guest(|c| c.end_turn("turn")).expect("anybody may");
    assert_eq!(ownership(harness.store()), Ownership { fence: owner.fence, owner: None });
    owner.row = guest.row.clone();
    owner.commit(running);
    assert_eq!(guest.commit_as_guest(|c| c.publish("{}")), Err(StoreError::Conflict));
}

pub fn a_session_given_up_has_no_owner_and_only_its_owner_gives_it_up(harness: &mut Harness) {
    let mut hand = Hand::create(harness.store(), "s");
    hand.commit(running);
    let store = harness.store();
    ask(|reply| store.release(&key("s"), &"somebody else".into(), reply)).expect("it changes nothing");
    assert_eq!(ownership(store).owner, Some(hand.me.clone()));
    ask(|reply| store.release(&key("s"), &hand.me, reply)).expect("it owns it");
    assert_eq!(ownership(store), Ownership { fence: hand.fence, owner: None });
}

pub fn whoever_leaves_gives_up_all_it_owns(harness: &mut Harness) {
    let (leaving, _) = member(harness.store(), "leaving");
    let (_, notices) = member(harness.store(), "staying");
    let mut mine = Hand { me: leaving.clone(), ..Hand::create(harness.store(), "s") };
    let mut others = Hand::create(harness.store(), "t");
    mine.commit(running);
    others.commit(running);
    harness.store().leave(&leaving);
    // The notice of leaving comes when it is written.
    let told: Vec<_> = (0..3).map(|_| notices.recv().expect("three notices")).collect();
    assert_eq!(told, ["s", "t", "s"]);
    assert_eq!(ownership(harness.store()).owner, None);
    let other = ask(|reply| harness.store().open(&key("t"), reply)).expect("it exists");
    assert_eq!(other.ownership.owner, Some(others.me));
}

pub fn a_member_lives_until_it_leaves(harness: &mut Harness) {
    let (me, _) = member(harness.store(), "me");
    let mut hand = Hand { me: me.clone(), ..Hand::create(harness.store(), "s") };
    hand.commit(running);
    let store = harness.store();
    assert_eq!(ask(|reply| store.liveness(&me, reply)), Ok(Liveness::Alive));
    store.leave(&me);
    // What was called before is done.
    ask(|reply| store.catch_up(&key("s"), 0, reply)).expect("it exists");
    assert_eq!(ask(|reply| store.liveness(&me, reply)), Ok(Liveness::Dead));
    assert_eq!(ask(|reply| store.liveness(&"never seen".into(), reply)), Ok(Liveness::Dead));
}

pub fn the_others_are_given_notice_and_the_doer_is_not(harness: &mut Harness) {
    let (me, mine) = member(harness.store(), "me");
    let (_, others) = member(harness.store(), "other");
    let mut hand = Hand { me: me.clone(), ..Hand::create(harness.store(), "s") };
    let next = || others.recv().expect("a notice");
    hand.commit(running);
    assert_eq!(next(), "s");
    hand.commit_as_guest(|c| c.enqueue("q", 1)).expect("anybody may");
    assert_eq!(next(), "s");
    ask(|reply| hand.store.release(&hand.key, &me, reply)).expect("it owns it");
    assert_eq!(next(), "s");
    harness.store().leave(&"other".into());
    hand.commit(|c| c.publish("{}"));
    assert_eq!(others.try_iter().count(), 0, "nothing comes after leaving");
    assert_eq!(mine.try_iter().count(), 0, "nobody is told of its own doing");
}

pub fn catching_up_gives_what_was_published_since(harness: &mut Harness) {
    let mut hand = Hand::create(harness.store(), "s");
    hand.commit(|c| running(c).publish("1").publish("2").publish("3"));
    let seen = ask(|reply| hand.store.catch_up(&hand.key, 1, reply)).expect("it exists");
    assert_eq!(seen.journal, [Arc::from("2"), Arc::from("3")]);
    assert_eq!(seen.opened, ask(|reply| hand.store.open(&hand.key, reply)).expect("it exists"));
    let nothing = ask(|reply| hand.store.catch_up(&hand.key, 3, reply)).expect("it exists");
    assert_eq!(nothing.journal, Vec::<Arc<str>>::new());
}

pub fn unfinished_sessions_are_listed_with_their_owners(harness: &mut Harness) {
    let mut hands: Vec<Hand> = ["b", "c", "a"].map(|id| Hand::create(harness.store(), id)).into();
    hands[0].commit(running);
    hands[2].commit(running);
    ask(|reply| harness.store().release(&key("a"), &hands[2].me, reply)).expect("it owns it");
    let found = ask(|reply| harness.store().unfinished(AGENT, reply)).expect("a list");
    let of = |id: &str, owner: Option<&OwnerId>| UnfinishedSession {
        session_id: id.into(),
        owner: owner.cloned(),
    };
    assert_eq!(found, [of("a", None), of("b", Some(&hands[0].me))]);
    assert_eq!(ask(|reply| harness.store().unfinished("another", reply)), Ok(Vec::new()));
}

pub fn the_feed_has_what_all_sessions_of_an_agent_publish_in_order(harness: &mut Harness) {
    let mut hands: Vec<Hand> = ["a", "b"].map(|id| Hand::create(harness.store(), id)).into();
    let mut other = Hand::create_as(harness.store(), &key_of("other", "a"), session_row("a"));
    hands[0].commit(|c| c.publish("before"));
    let page = |after: Option<u64>, limit: u32| {
        ask(|reply| harness.store().feed(AGENT, after, limit, reply)).expect("a page")
    };
    let start = page(None, 10);
    assert_eq!(start.bodies, Vec::<Arc<str>>::new());
    let receipt = hands[0].commit(|c| c.publish("1").publish("2"));
    assert_eq!(receipt.place(), Some(start.place + 2));
    other.commit(|c| c.publish("of another agent"));
    hands[1].commit(|c| c.publish("3"));
    let first = page(Some(start.place), 2);
    assert_eq!(first.bodies, [Arc::from("1"), Arc::from("2")]);
    // One that is removed leaves no place that is given again.
    ask(|reply| harness.store().remove(&key("b"), reply)).expect("it is idle");
    hands[0].commit(|c| c.publish("4"));
    let rest = page(Some(first.place), 10).bodies;
    assert_eq!(rest.last(), Some(&Arc::from("4")));
    assert_eq!(page(Some(page(None, 0).place), 10).bodies, Vec::<Arc<str>>::new());
}
