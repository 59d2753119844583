//! Other programs on the same file.

use std::sync::Arc;

use rusqlite::Connection;

use super::{create, impatient};
use crate::storage::{
    Store, StoreError,
    fixture::{Hand, ask, key},
};

#[test]
fn a_lock_that_stays_is_named_and_the_store_goes_on_once_it_is_gone() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("s.db");
    let store: Arc<dyn Store> = Arc::new(impatient(&path));
    let mut hand = Hand::create(&store, "s");
    let row = hand.row.clone();

    let other = Connection::open(&path).expect("the test's own connection");
    other.execute_batch("BEGIN IMMEDIATE").expect("nobody writes");
    assert!(matches!(hand.try_commit(|c| c.message("m", 1)), Err(StoreError::Busy(_))));
    // Reading goes on beside a writer.
    assert_eq!(hand.snapshot().session, row);
    other.execute_batch("ROLLBACK").expect("it holds the lock");

    hand.row = row;
    hand.commit(|c| c.message("m", 1));
}

#[test]
fn a_file_locked_from_the_start_is_opened_once_it_is_free() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("s.db");
    let other = Connection::open(&path).expect("the test's own connection");
    other.execute_batch("BEGIN EXCLUSIVE").expect("nobody else is there");
    let store = impatient(&path);
    assert!(matches!(create(&store, "s"), Err(StoreError::Busy(_))));
    assert!(matches!(ask(|reply| store.pending(&key("s"), reply)), Err(StoreError::Busy(_))));
    other.execute_batch("ROLLBACK").expect("it holds the lock");
    assert_eq!(create(&store, "s"), Ok(()));
    assert_eq!(ask(|reply| store.pending(&key("s"), reply)), Ok(Vec::new()));
}

#[test]
fn two_stores_on_one_file_see_each_others_commits() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("s.db");
    let one: Arc<dyn Store> = Arc::new(impatient(&path));
    let two: Arc<dyn Store> = Arc::new(impatient(&path));
    let mut hand = Hand::create(&one, "s");
    hand.commit(|c| c.message("m", 1).publish("{}"));
    let seen = ask(|reply| two.snapshot(&hand.key, 10, reply)).expect("it exists");
    assert_eq!(seen, hand.snapshot());
    let mut taken_over = Hand::open(&two, &hand.key);
    taken_over.commit(|c| c.publish("{}"));
    assert_eq!(hand.try_commit(|c| c.publish("{}")), Err(StoreError::LeaseLost));
}
