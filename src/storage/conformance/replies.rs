//! Replies: each exactly once, and free to do what they like.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
    mpsc,
};

use super::Harness;
use crate::storage::{
    Authority, ListPage, MessagePage, OwnerId, Reply, Store,
    fixture::{AGENT, CommitBuilder, Hand, ask, key, session_row},
};

/// Counts the answers; its receiver ends when no reply is left that could still be called.
struct Counter {
    answers: Arc<AtomicUsize>,
    alive: mpsc::Sender<()>,
}

impl Counter {
    fn reply<T>(&self) -> Reply<T> {
        let (answers, alive) = (self.answers.clone(), self.alive.clone());
        Box::new(move |_| {
            answers.fetch_add(1, Ordering::SeqCst);
            drop(alive);
        })
    }
}

/// Makes each call once, for a Session that exists and one that does not.
fn call_everything(store: &dyn Store, counter: &Counter) -> usize {
    let page = MessagePage { before_sequence: None, limit: 1 };
    let me = OwnerId::from("me");
    for session_id in ["s", "unknown"] {
        let key = key(session_id);
        let (_, commit) = CommitBuilder::on(&session_row(session_id)).finish();
        store.create(&key, session_row("s"), counter.reply());
        store.open(&key, counter.reply());
        store.catch_up(&key, 0, counter.reply());
        store.append(&key, &me, Authority::Guest, commit.into(), counter.reply());
        store.release(&key, &me, counter.reply());
        store.messages(&key, page, counter.reply());
        store.snapshot(&key, 1, counter.reply());
        store.pending(&key, counter.reply());
        store.interaction(&key, "i", counter.reply());
        store.journal(&key, 0, 1, counter.reply());
        store.archive(&key, counter.reply());
        store.remove(&key, counter.reply());
    }
    store.list(AGENT, ListPage { limit: 1, after: None, archived: false }, counter.reply());
    store.pending_of_agent(AGENT, 1, Some("no cursor".to_owned()), counter.reply());
    store.liveness(&me, counter.reply());
    store.unfinished(AGENT, counter.reply());
    28
}

fn count(harness: &mut Harness, rounds: usize, drop_the_store: bool) {
    Hand::create(harness.store(), "s");
    let (alive, ended) = mpsc::channel();
    let counter = Counter { answers: Arc::new(AtomicUsize::new(0)), alive };
    let calls: usize = (0..rounds).map(|_| call_everything(&**harness.store(), &counter)).sum();
    if drop_the_store {
        harness.store = None;
    }
    let answers = counter.answers.clone();
    drop(counter);
    assert!(ended.recv().is_err(), "it ends without a message");
    assert_eq!(answers.load(Ordering::SeqCst), calls);
}

pub fn every_call_is_answered_exactly_once(harness: &mut Harness) {
    count(harness, 1, false);
}

pub fn calls_still_queued_when_the_store_is_dropped_are_answered(harness: &mut Harness) {
    count(harness, 50, true);
}

pub fn a_reply_may_call_the_store_again(harness: &mut Harness) {
    let store = harness.store().clone();
    let chain = ask(|reply| {
        let again = store.clone();
        store.create(
            &key("s"),
            session_row("s"),
            Box::new(move |created| {
                created.expect("the id is free");
                let then = again.clone();
                again.open(
                    &key("s"),
                    Box::new(move |opened| {
                        opened.expect("it was created");
                        then.snapshot(&key("s"), 1, reply);
                    }),
                );
            }),
        );
    });
    assert_eq!(chain.expect("it exists").session, session_row("s"));
}

pub fn a_reply_may_drop_the_store(harness: &mut Harness) {
    let store = harness.store.take().expect("a store between two cases");
    let last = store.clone();
    let answer = ask(move |reply| {
        store.create(
            &key("s"),
            session_row("s"),
            Box::new(move |created| {
                drop(last);
                reply(created);
            }),
        );
        drop(store);
    });
    assert!(answer.is_ok(), "{answer:?}");
}
