//! The writer's loop: takes what waits, and commits it together.

use std::{
    sync::{Arc, atomic::Ordering, mpsc::RecvTimeoutError},
    time::Duration,
};

use rusqlite::Connection;

use super::{
    Database, Synchronous, connect::Connected, error::keeps_connection, migrations, request::Request,
    watch::Watch, worker::Inbox,
};
use crate::{core::change::Durability, storage::StoreError};

/// Bounds how long the first request of a batch waits for the others.
const MAX_BATCH: usize = 256;

/// How soon a lost connection is tried again where no request does.
const REOPEN_EVERY: Duration = Duration::from_millis(250);

pub(super) fn serve(database: &Arc<Database>, inbox: &Inbox) {
    let mut writer =
        Writer { database: database.clone(), connected: None, lost: false, watch: Watch::default() };
    loop {
        let first = match writer.wait(inbox) {
            Ok(first) => first,
            Err(RecvTimeoutError::Timeout) => {
                writer.look_around();
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let mut batch = vec![first];
        batch.extend(inbox.try_iter().take(MAX_BATCH - 1));
        let outcome = writer.commit(&mut batch);
        // In order, and also to those that were refused: what refused them may have been undone with the rest.
        for request in batch {
            request.answer(outcome.clone());
        }
        if writer.watch.due_in().is_zero() {
            writer.look_around();
        }
    }
}

struct Writer {
    database: Arc<Database>,
    /// With what it is set to.
    connected: Option<(Connected, Synchronous)>,
    /// It was lost to something that passes, and others may be waiting for this process meanwhile.
    lost: bool,
    watch: Watch,
}

impl Writer {
    /// Waits for a request, or until it is time to look around.
    fn wait(&self, inbox: &Inbox) -> Result<Box<dyn Request>, RecvTimeoutError> {
        if self.database.owners.is_empty() || (self.connected.is_none() && !self.lost) {
            return inbox.recv().map_err(|_| RecvTimeoutError::Disconnected);
        }
        let wait = if self.connected.is_some() { self.watch.due_in() } else { REOPEN_EVERY };
        inbox.recv_timeout(wait)
    }

    /// Notices what other processes did, and shows them that this one lives.
    fn look_around(&mut self) {
        if self.connected.is_none() && self.lost {
            // A new one misses nothing.
            if let Err(error) = self.connected(Synchronous::Normal) {
                self.lost = may_come_back(&error);
            }
        }
        let Some((connected, _)) = &self.connected else { return };
        let owners = &self.database.owners;
        let outcome = self
            .watch
            .look(&connected.connection, owners)
            .and_then(|()| owners.beat(&connected.connection))
            .and_then(|()| connected.expect_files(&self.database.path));
        // The next look is soon, and a request that meets the same error tells its caller.
        if let Err(error) = outcome.as_ref()
            && !keeps_connection(error)
        {
            self.drop_connection(error);
        }
    }

    fn drop_connection(&mut self, why: &StoreError) {
        if let Some((connected, _)) = self.connected.take() {
            self.database.let_go_of_writer(connected, why);
        }
        self.lost = may_come_back(why);
        self.watch = Watch::default();
    }

    /// Runs a batch as one transaction.
    fn commit(&mut self, batch: &mut [Box<dyn Request>]) -> Result<(), StoreError> {
        let durability = batch.iter().map(|request| request.durability()).max().unwrap_or(Durability::Power);
        let synchronous = self.database.synchronous_for(durability);
        let database = self.database.clone();
        let connected = self.connected(synchronous)?;
        // Before, so that a refused call has changed nothing; after, so that only what stands where it will be
        // looked for is acknowledged.
        let in_place = || connected.expect_files(&database.path);
        let outcome =
            in_place().and_then(|()| transaction(&connected.connection, batch)).and_then(|()| in_place());
        if let Err(error) = &outcome {
            // Fails where SQLite has rolled back already.
            let _ = connected.connection.execute_batch("ROLLBACK");
            if !keeps_connection(error) {
                self.drop_connection(error);
            }
        } else {
            self.database.transactions.fetch_add(1, Ordering::Relaxed);
        }
        outcome
    }

    /// The connection, opened if need be. A commit that is synced carries the unsynced ones before it, since
    /// they stand before it in the same log.
    fn connected(&mut self, wanted: Synchronous) -> Result<&Connected, StoreError> {
        if self.connected.is_none() {
            self.connected = Some((self.database.connect_writer()?, Synchronous::Full));
            self.lost = false;
        }
        let Some((connected, current)) = &mut self.connected else { unreachable!("it was opened above") };
        if *current != wanted {
            connected.connection.pragma_update(None, "synchronous", wanted.pragma())?;
            *current = wanted;
        }
        Ok(connected)
    }
}

fn transaction(connection: &Connection, batch: &mut [Box<dyn Request>]) -> Result<(), StoreError> {
    execute(connection, "BEGIN IMMEDIATE")?;
    // A newer program may have migrated the file meanwhile.
    migrations::expect_current(connection)?;
    if let [request] = batch {
        // Alone, it has no neighbours that a savepoint would spare.
        return match request.run(connection) {
            Ok(()) => execute(connection, "COMMIT"),
            Err(cause) => execute(connection, "ROLLBACK").map_err(|_| cause),
        };
    }
    for request in batch {
        // A request that is refused must not harm its neighbours.
        execute(connection, "SAVEPOINT request")?;
        if let Err(cause) = request.run(connection) {
            // Fails when the cause made SQLite roll back the whole transaction: then it is everyone's error.
            execute(connection, "ROLLBACK TO request").map_err(|_| cause)?;
        }
        execute(connection, "RELEASE request")?;
    }
    execute(connection, "COMMIT")
}

fn execute(connection: &Connection, sql: &str) -> Result<(), StoreError> {
    connection.prepare_cached(sql)?.execute([])?;
    Ok(())
}

/// A damaged or foreign file is touched again only when somebody asks: it may just be being replaced.
fn may_come_back(error: &StoreError) -> bool {
    matches!(error, StoreError::Unavailable(_) | StoreError::Busy(_) | StoreError::Full(_))
}
