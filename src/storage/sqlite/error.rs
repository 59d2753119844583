//! What SQLite says, in the store's words.

use std::io;

use rusqlite::{Error, ErrorCode, ffi};

use crate::storage::StoreError;

impl From<Error> for StoreError {
    fn from(error: Error) -> Self {
        let text = error.to_string();
        match error {
            // The index of the log could not be made as long as it has to be.
            Error::SqliteFailure(cause, _) if cause.extended_code == ffi::SQLITE_IOERR_SHMSIZE => {
                Self::Full(text)
            }
            Error::SqliteFailure(cause, _) | Error::SqlInputError { error: cause, .. } => {
                named(cause.code, text)
            }
            Error::FromSqlConversionFailure(..)
            | Error::IntegralValueOutOfRange(..)
            | Error::InvalidColumnType(..)
            | Error::Utf8Error(..)
            | Error::QueryReturnedNoRows => Self::Corrupt(text),
            _ => Self::Unavailable(text),
        }
    }
}

fn named(code: ErrorCode, text: String) -> StoreError {
    match code {
        // A lock protocol error is a race for the locks of the log that SQLite gave up on.
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed => {
            StoreError::Busy(text)
        }
        ErrorCode::DiskFull => StoreError::Full(text),
        // A row that breaks a constraint contradicts the rows that stand there.
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::ConstraintViolation => {
            StoreError::Corrupt(text)
        }
        _ => StoreError::Unavailable(text),
    }
}

pub(super) fn io_error(error: &io::Error) -> StoreError {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full(error.to_string()),
        _ => StoreError::Unavailable(error.to_string()),
    }
}

/// Whether the connection is as good as before; after any other error it is opened anew.
pub(super) fn keeps_connection(error: &StoreError) -> bool {
    !matches!(error, StoreError::Corrupt(_) | StoreError::Version { .. } | StoreError::Unavailable(_))
}
