//! Which files a connection stands on, beyond their names.

use std::{ffi::OsString, fs, path::Path};

use crate::storage::StoreError;

/// The database, its write-ahead log, and the index of that log, by which processes agree on what it holds.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Files {
    database: FileId,
    /// There while a connection is: the last one takes it along.
    log: Option<FileId>,
    /// Comes and goes with the log.
    index: Option<FileId>,
}

impl Files {
    /// The files under this name.
    pub fn at(path: &Path) -> Result<Self, StoreError> {
        let database = FileId::at(path).ok_or_else(gone)?;
        let beside = |end| {
            let mut name = OsString::from(path.as_os_str());
            name.push(end);
            FileId::at(Path::new(&name))
        };
        Ok(Self { database, log: beside("-wal"), index: beside("-shm") })
    }

    /// Whether other files have their names now. Where there was none, it was made meanwhile.
    pub fn were_replaced_by(&self, now: &Self) -> bool {
        let replaced = |was: &Option<FileId>, is: &Option<FileId>| was.is_some() && was != is;
        self.database != now.database || replaced(&self.log, &now.log) || replaced(&self.index, &now.index)
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
#[derive(Clone, PartialEq, Eq)]
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
