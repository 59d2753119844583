//! The writer's loop: takes what waits, and commits it together.

use std::sync::{Arc, atomic::Ordering};

use rusqlite::Connection;

use super::{Database, Synchronous, error::keeps_connection, migrations, request::Request, worker::Inbox};
use crate::{core::change::Durability, storage::StoreError};

/// Bounds how long the first request of a batch waits for the others.
const MAX_BATCH: usize = 256;

pub(super) fn serve(database: &Arc<Database>, inbox: &Inbox) {
    let mut writer = Writer { database: database.clone(), connection: None };
    while let Ok(first) = inbox.recv() {
        let mut batch = vec![first];
        batch.extend(inbox.try_iter().take(MAX_BATCH - 1));
        let outcome = writer.commit(&mut batch);
        // In order, and also to those that were refused: what refused them may have been undone with the rest.
        for request in batch {
            request.answer(outcome.clone());
        }
    }
}

struct Writer {
    database: Arc<Database>,
    /// With what it is set to.
    connection: Option<(Connection, Synchronous)>,
}

impl Writer {
    /// Runs a batch as one transaction.
    fn commit(&mut self, batch: &mut [Box<dyn Request>]) -> Result<(), StoreError> {
        let durability = batch.iter().map(|request| request.durability()).max().unwrap_or(Durability::Power);
        let synchronous = self.database.synchronous_for(durability);
        let connection = self.connection(synchronous)?;
        let outcome = transaction(connection, batch);
        if let Err(error) = &outcome {
            // Fails where SQLite has rolled back already.
            let _ = connection.execute_batch("ROLLBACK");
            if !keeps_connection(error) {
                self.connection = None;
            }
        } else {
            self.database.transactions.fetch_add(1, Ordering::Relaxed);
        }
        outcome
    }

    /// The connection, opened if need be. A commit that is synced carries the unsynced ones before it, since
    /// they stand before it in the same log.
    fn connection(&mut self, wanted: Synchronous) -> Result<&Connection, StoreError> {
        if self.connection.is_none() {
            self.connection = Some((self.database.connect()?, Synchronous::Full));
        }
        let Some((connection, current)) = &mut self.connection else { unreachable!("it was opened above") };
        if *current != wanted {
            connection.pragma_update(None, "synchronous", wanted.pragma())?;
            *current = wanted;
        }
        Ok(connection)
    }
}

fn transaction(connection: &Connection, batch: &mut [Box<dyn Request>]) -> Result<(), StoreError> {
    execute(connection, "BEGIN IMMEDIATE")?;
    // A newer program may have migrated the file meanwhile.
    migrations::expect_current(connection)?;
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
