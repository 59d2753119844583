//! Group commit: what comes together is committed together, and fails together only where it must.

use std::sync::Arc;

use rusqlite::Connection;

use super::{Gate, create, store_at, write};
use crate::{
    core::change::Durability,
    storage::{
        Store, StoreError,
        fixture::{Hand, ask, done, interaction, key, later, session_row},
        sqlite::{SqliteOptions, SqliteStore, Synchronous},
    },
};

const FULL: i64 = 2;
const NORMAL: i64 = 1;

fn synchronous(connection: &Connection) -> Result<i64, StoreError> {
    Ok(connection.query_row("PRAGMA synchronous", [], |row| row.get(0))?)
}

#[test]
fn appends_that_come_together_share_a_transaction() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let sqlite = Arc::new(store_at(&folder.path().join("s.db")));
    let store: Arc<dyn Store> = sqlite.clone();
    let mut hands: Vec<Hand> = (0..64).map(|n| Hand::create(&store, &format!("s{n}"))).collect();
    let before = sqlite.transactions();
    let gate = Gate::shut(&sqlite);
    let answers: Vec<_> = hands.iter_mut().map(|hand| hand.submit(|c| c.message("m", 1))).collect();
    gate.open();
    for answer in answers {
        assert!(answer.recv().expect("every reply is called").is_ok());
    }
    assert_eq!(sqlite.transactions() - before, 2, "the gate's and one for all appends");
}

#[test]
fn a_refused_append_leaves_the_rest_of_its_transaction() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let sqlite = Arc::new(store_at(&folder.path().join("s.db")));
    let store: Arc<dyn Store> = sqlite.clone();
    let mut hands: Vec<Hand> = (0..3).map(|n| Hand::create(&store, &format!("s{n}"))).collect();
    let gate = Gate::shut(&sqlite);
    let first = hands[0].submit(|c| c.message("m", 1).publish("{}"));
    // Two Messages of one sequence: refused halfway, by SQLite.
    let second = hands[1].submit(|c| c.publish("{}").message("m", 1).message("n", 1));
    let third = hands[2].submit(|c| c.message("m", 1).publish("{}"));
    gate.open();
    assert!(matches!(second.recv(), Ok(Err(StoreError::Corrupt(_)))));
    assert!(first.recv().expect("an answer").is_ok() && third.recv().expect("an answer").is_ok());
    let lengths: Vec<_> = hands.iter().map(|hand| hand.messages(None, 10).len()).collect();
    assert_eq!(lengths, [1, 0, 1]);
    assert_eq!(hands[1].snapshot().session, session_row("s1"));
}

#[test]
fn a_commit_that_fails_is_everyones_error_and_changes_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let sqlite = Arc::new(store_at(&folder.path().join("s.db")));
    let store: Arc<dyn Store> = sqlite.clone();
    let mut hands: Vec<Hand> = (0..2).map(|n| Hand::create(&store, &format!("s{n}"))).collect();
    let tables = "CREATE TABLE a (id INTEGER PRIMARY KEY);
        CREATE TABLE b (a REFERENCES a (id) DEFERRABLE INITIALLY DEFERRED);";
    write(&sqlite, Durability::Process, |db| Ok(db.execute_batch(tables)?)).expect("they are made");

    let gate = Gate::shut(&sqlite);
    let before = hands[0].row.clone();
    let first = hands[0].submit(|c| c.message("m", 1));
    let poison = later(|reply| {
        sqlite.write(Durability::Process, reply, |db| Ok(db.execute_batch("INSERT INTO b VALUES (1)")?));
    });
    let last = hands[1].submit(|c| c.message("m", 1));
    gate.open();
    let error = first.recv().expect("an answer").expect_err("the commit fails");
    assert_eq!(poison.recv().expect("an answer"), Err(error.clone()));
    assert_eq!(last.recv().expect("an answer"), Err(error));

    assert_eq!(hands[0].snapshot().session, before);
    hands[0].row = before;
    hands[0].commit(|c| c.message("m", 1));
}

#[test]
fn a_full_disk_is_named_and_the_store_goes_on_once_there_is_space() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let sqlite = Arc::new(store_at(&folder.path().join("s.db")));
    let store: Arc<dyn Store> = sqlite.clone();
    let mut hand = Hand::create(&store, "s");
    let limit = |sql: &'static str| {
        write(&sqlite, Durability::Process, move |db| Ok(db.query_row(sql, [], |_| Ok(()))?))
            .expect("it is set");
    };
    limit("PRAGMA max_page_count = 60");
    let row = hand.row.clone();
    let large = "x".repeat(1_000_000);
    let refused = hand.try_commit(|c| c.message("m", 1).part("m", done("p", 1, &large)));
    assert!(matches!(refused, Err(StoreError::Full(_))), "{refused:?}");
    assert_eq!(hand.snapshot().session, row);
    limit("PRAGMA max_page_count = 1000000");
    hand.row = row;
    hand.commit(|c| c.message("m", 1).part("m", done("p", 1, &large)));
}

#[test]
fn only_a_batch_of_deltas_does_without_syncing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = store_at(&folder.path().join("s.db"));
    for (durability, expected) in
        [(Durability::Process, NORMAL), (Durability::Power, FULL), (Durability::Process, NORMAL)]
    {
        assert_eq!(write(&store, durability, synchronous), Ok(expected));
    }
    let gate = Gate::shut(&store);
    let delta = later(|reply| store.write(Durability::Process, reply, synchronous));
    let other = later(|reply| store.write(Durability::Power, reply, synchronous));
    gate.open();
    assert_eq!((delta.recv(), other.recv()), (Ok(Ok(FULL)), Ok(Ok(FULL))));
}

#[test]
fn a_store_that_may_lose_the_last_commits_never_waits_for_the_disk() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let options = SqliteOptions { synchronous: Synchronous::Normal, ..SqliteOptions::default() };
    let store = SqliteStore::open(folder.path().join("s.db"), options);
    assert_eq!(write(&store, Durability::Power, synchronous), Ok(NORMAL));
}

#[test]
fn a_panic_in_the_work_or_in_a_reply_leaves_the_store_working() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = store_at(&folder.path().join("s.db"));
    let gate = Gate::shut(&store);
    let bad = later(|reply| store.write::<()>(Durability::Process, reply, |_| panic!("for the test")));
    store.create(&key("rude"), session_row("rude"), Box::new(|_| panic!("for the test")));
    let good = later(|reply| store.create(&key("s"), session_row("s"), reply));
    gate.open();
    assert!(matches!(bad.recv(), Ok(Err(StoreError::Unavailable(_)))));
    assert!(matches!(good.recv(), Ok(Ok(_))));
    assert_eq!(create(&store, "rude"), Err(StoreError::Exists));
}

#[test]
fn a_row_that_cannot_be_read_is_named_as_damage() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let sqlite = Arc::new(store_at(&folder.path().join("s.db")));
    let store: Arc<dyn Store> = sqlite.clone();
    let mut hand = Hand::create(&store, "s");
    hand.commit(|c| c.message("m", 1).interaction("m", "p", interaction("i")));
    for body in ["{", "[]", r#"{"interaction_id":1}"#] {
        let sql = format!("UPDATE interactions SET body = '{body}'");
        write(&sqlite, Durability::Process, move |db| Ok(db.execute_batch(&sql)?)).expect("it is spoilt");
        let pending = ask(|reply| store.pending(&hand.key, reply));
        assert!(matches!(pending, Err(StoreError::Corrupt(_))), "{pending:?}");
    }
}
