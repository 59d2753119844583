//! Which files a connection stands on, beyond their names.

use std::{ffi::OsString, fs, path::Path};

use crate::storage::StoreError;

/// The database and its write-ahead log.
#[derive(PartialEq, Eq)]
pub(super) struct Files {
    database: FileId,
    /// There while a connection is: the last one takes it along.
    log: Option<FileId>,
}

impl Files {
    /// The files under this name.
    pub fn at(path: &Path) -> Result<Self, StoreError> {
        let database = FileId::at(path).ok_or_else(gone)?;
        let mut log = OsString::from(path.as_os_str());
        log.push("-wal");
        Ok(Self { database, log: FileId::at(Path::new(&log)) })
    }

    /// Whether they still have their names.
    pub fn expect_at(&self, path: &Path) -> Result<(), StoreError> {
        if Self::at(path)? == *self { Ok(()) } else { Err(gone()) }
    }
}

fn gone() -> StoreError {
    let text = "the database file or its log was removed or replaced while it was in use: put it back";
    StoreError::Unavailable(text.to_owned())
}

/// Stays with a file, whatever its name.
#[derive(PartialEq, Eq)]
struct FileId {
    #[cfg(unix)]
    device: u64,
    #[cfg(unix)]
    inode: u64,
}

impl FileId {
    fn at(path: &Path) -> Option<Self> {
        let found = fs::metadata(path).ok()?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            Some(Self { device: found.dev(), inode: found.ino() })
        }
        #[cfg(not(unix))]
        found.is_file().then_some(Self {})
    }
}
