//! Which schema a file has, and how it gets this program's. Steps are only ever added: one that was released
//! is never changed.

use rusqlite::{Connection, TransactionBehavior};

use crate::storage::StoreError;

const STEPS: &[&str] = &[include_str!("migrations/0001_sessions.sql")];

/// The schema version this program knows.
pub(super) const KNOWN: i64 = STEPS.len() as i64;

/// Stands in the header of every file of this program: "dcag".
pub(super) const APPLICATION_ID: i64 = 0x6463_6167;

/// The schema version of the file, 0 for an empty one. Anything that is not this program's is refused.
pub(super) fn identify(connection: &Connection) -> Result<i64, StoreError> {
    // One read transaction: another process may be creating the file just now.
    let header = connection.unchecked_transaction()?;
    let application = pragma(&header, "PRAGMA application_id")?;
    let version = pragma(&header, "PRAGMA user_version")?;
    let objects = pragma(&header, "SELECT count(*) FROM sqlite_schema")?;
    match (application, version, objects) {
        (APPLICATION_ID, found, _) if found > KNOWN => Err(StoreError::Version { found, known: KNOWN }),
        (APPLICATION_ID, found, _) if found > 0 => Ok(found),
        (0, 0, 0) => Ok(0),
        _ => Err(StoreError::Corrupt("the file is the database of another program".to_owned())),
    }
}

/// Brings the file to the schema this program knows.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    if identify(connection)? == KNOWN {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Now that nobody else can: another process may have been faster.
    let found = pragma(&transaction, "PRAGMA user_version")?;
    let done = usize::try_from(found).unwrap_or(0);
    for step in STEPS.get(done..).unwrap_or_default() {
        transaction.execute_batch(step)?;
    }
    if found < KNOWN {
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", KNOWN)?;
    }
    Ok(transaction.commit()?)
}

/// Refuses a file that a newer program has migrated since it was opened.
pub(super) fn expect_current(connection: &Connection) -> Result<(), StoreError> {
    let found = pragma(connection, "PRAGMA user_version")?;
    if found == KNOWN { Ok(()) } else { Err(StoreError::Version { found, known: KNOWN }) }
}

fn pragma(connection: &Connection, sql: &str) -> Result<i64, StoreError> {
    Ok(connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}
