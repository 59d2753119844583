//! What is SQLite's own; what every store must do stands in the conformance suite.

mod batches;
mod files;
mod locks;
mod plans;
mod watch;

use std::{path::Path, sync::mpsc, time::Duration};

use rusqlite::Connection;

use super::{SqliteOptions, SqliteStore};
use crate::{
    core::change::Durability,
    storage::{
        Store, StoreError,
        fixture::{ask, key, later, session_row},
    },
};

fn store_at(path: &Path) -> SqliteStore {
    SqliteStore::open(path, SqliteOptions::default())
}

/// A store that gives up on a lock at once.
fn impatient(path: &Path) -> SqliteStore {
    SqliteStore::open(
        path,
        SqliteOptions { busy_timeout: Duration::from_millis(10), ..SqliteOptions::default() },
    )
}

fn create(store: &SqliteStore, session_id: &str) -> Result<(), StoreError> {
    ask(|reply| store.create(&key(session_id), session_row(session_id), reply)).map(drop)
}

/// Runs something on the writer's thread, as a call of its own.
fn write<T: Send + 'static>(
    store: &SqliteStore,
    durability: Durability,
    work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    ask(|reply| store.write(durability, reply, work))
}

/// Holds the writer in a call, so that what is submitted meanwhile comes together afterwards.
struct Gate {
    release: mpsc::Sender<()>,
    passed: mpsc::Receiver<Result<(), StoreError>>,
}

impl Gate {
    fn shut(store: &SqliteStore) -> Self {
        let (release, released) = mpsc::channel();
        let (enter, entered) = mpsc::channel();
        let passed = later(|reply| {
            store.write(Durability::Process, reply, move |_| {
                enter.send(()).expect("the test waits for it");
                released.recv().expect("the test opens the gate");
                Ok(())
            });
        });
        entered.recv().expect("the writer runs");
        Self { release, passed }
    }

    fn open(self) {
        self.release.send(()).expect("the writer waits for it");
        assert_eq!(self.passed.recv(), Ok(Ok(())));
    }
}
