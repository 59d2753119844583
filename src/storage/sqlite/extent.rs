//! How much was ever written to a file: numbers that only grow.

use rusqlite::Connection;

use super::{rows::unsigned, sql};
use crate::storage::StoreError;

/// Two of the same file can be compared: the larger one holds what the smaller one does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Extent {
    fence: u64,
    journal: u64,
    notices: u64,
}

impl Extent {
    pub fn of(connection: &Connection) -> Result<Self, StoreError> {
        let mut statement = connection.prepare_cached(sql::EXTENT)?;
        let (fence, journal, notices) =
            statement.query_row([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        Ok(Self { fence: unsigned(fence), journal: unsigned(journal), notices: unsigned(notices) })
    }

    pub fn holds(self, other: Self) -> bool {
        self.fence >= other.fence && self.journal >= other.journal && self.notices >= other.notices
    }

    pub fn with(self, other: Self) -> Self {
        Self {
            fence: self.fence.max(other.fence),
            journal: self.journal.max(other.journal),
            notices: self.notices.max(other.notices),
        }
    }
}
