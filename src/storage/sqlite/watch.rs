//! Notices what other processes commit: SQLite's data version says that they did, the ids that only grow say where.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use rusqlite::{Connection, OptionalExtension, Row};

use super::{lifecycle::KEPT_NOTES, owners::Owners, sql};
use crate::storage::{SessionKey, StoreError};

/// How soon a commit of another process is noticed.
pub(super) const EVERY: Duration = Duration::from_millis(10);

/// Where the last look ended. Belongs to one connection.
pub(super) struct Watch {
    last: Option<Place>,
    looked: Instant,
}

#[derive(Clone, Copy, PartialEq)]
struct Place {
    /// Changes with the commits of other connections only.
    data_version: i64,
    journal: i64,
    notices: i64,
}

impl Default for Watch {
    fn default() -> Self {
        Self { last: None, looked: Instant::now() }
    }
}

impl Watch {
    /// How long until the next look is due.
    pub fn due_in(&self) -> Duration {
        EVERY.saturating_sub(self.looked.elapsed())
    }

    /// Looks, and gives notice of what is new.
    pub fn look(&mut self, db: &Connection, owners: &Owners) -> Result<(), StoreError> {
        self.looked = Instant::now();
        let instant = db.unchecked_transaction()?;
        let mut statement = instant.prepare_cached(sql::PLACE)?;
        let (journal, notices) = statement.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let data_version = instant.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?;
        let now = Place { data_version, journal, notices };
        let Some(last) = self.last else {
            // A new connection has missed whatever happened before.
            self.last = Some(now);
            owners.notify_all(None);
            return Ok(());
        };
        if last.data_version == now.data_version {
            self.last = Some(now);
            return Ok(());
        }
        let mut changed = BTreeSet::new();
        for (sql, since) in [(sql::PUBLISHED_SINCE, last.journal), (sql::NOTED_SINCE, last.notices)] {
            let mut statement = instant.prepare_cached(sql)?;
            let mut rows = statement.query([since])?;
            while let Some(row) = rows.next()? {
                changed.insert(row.get::<_, Option<i64>>(0)?);
            }
        }
        // A process that was stopped for long may have missed notes that are no longer there.
        let mut any = now.notices - last.notices > KEPT_NOTES;
        let mut keys = Vec::new();
        let mut statement = instant.prepare_cached(sql::KEY_OF)?;
        for session in changed {
            let found = session.map(|id| statement.query_row([id], key)).transpose().optional()?.flatten();
            any |= found.is_none();
            keys.extend(found);
        }
        self.last = Some(now);
        if any {
            owners.notify_all(None);
        } else {
            keys.iter().for_each(|key| owners.notify_all(Some(key)));
        }
        Ok(())
    }
}

fn key(row: &Row<'_>) -> rusqlite::Result<SessionKey> {
    Ok(SessionKey { agent_id: row.get::<_, String>(0)?.into(), session_id: row.get::<_, String>(1)?.into() })
}
