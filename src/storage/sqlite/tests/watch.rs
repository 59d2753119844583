//! What a process notices of the others on its file.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use rusqlite::Connection;

use super::create;
use crate::storage::{
    Member, OwnerId, SessionKey,
    fixture::{AGENT, key},
    sqlite::{
        connect::{Connected, connect},
        lifecycle::{self, KEPT_NOTES},
        owners::Owners,
        rows::find,
        watch::Watch,
    },
};

/// Notes a change of the first Session, then so many of the second, and gives what a process hears of it that
/// looked before and looks afterwards.
fn heard_of(changes: i64) -> Vec<Option<SessionKey>> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("s.db");
    let store = super::store_at(&path);
    create(&store, "first").expect("it is new");
    create(&store, "second").expect("it is new");

    let heard = Arc::new(Mutex::new(Vec::new()));
    let owners = Owners::new(&path);
    let ear = heard.clone();
    owners.join(Member {
        owner: OwnerId::from("owner:a"),
        agent_id: AGENT.into(),
        lease: Duration::from_secs(10),
        notice: Arc::new(move |key| ear.lock().expect("nobody panics").push(key.cloned())),
    });
    let open = || connect(&path, Duration::from_secs(5), None).expect("the file is there");
    let (Connected { connection, .. }, Connected { connection: other, .. }) = (open(), open());
    let mut watch = Watch::default();
    watch.look(&connection, &owners).expect("it can be read");
    heard.lock().expect("nobody panics").clear();

    let note = |db: &Connection, session_id: &str| {
        let id = find(db, &key(session_id)).expect("it was created").id;
        lifecycle::note(db, Some(id)).expect("it can be written");
    };
    let transaction = other.unchecked_transaction().expect("nobody else writes");
    note(&transaction, "first");
    (0..changes).for_each(|_| note(&transaction, "second"));
    transaction.commit().expect("it can be written");
    watch.look(&connection, &owners).expect("it can be read");
    let heard = heard.lock().expect("nobody panics");
    heard.clone()
}

#[test]
fn each_session_that_changed_is_named_once() {
    assert_eq!(heard_of(3), [Some(key("first")), Some(key("second"))]);
}

#[test]
fn whoever_was_away_for_longer_than_notes_are_kept_hears_that_it_may_be_any_session() {
    assert_eq!(heard_of(KEPT_NOTES), [None]);
}
