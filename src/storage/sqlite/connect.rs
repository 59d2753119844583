//! Opens the file, and nothing that is not ours; and tells when it is no longer where it was.

use std::{
    cell::Cell,
    fs, io,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use rusqlite::{Connection, OpenFlags, config::DbConfig};

use super::{error::io_error, extent::Extent, files::Files, migrations};
use crate::storage::StoreError;

/// SQLite itself does not wait for some of the locks taken while a file is created.
const RETRY_EVERY: Duration = Duration::from_millis(5);

const SMALLEST_PAGE: u64 = 512;

/// A connection, and the files it stands for.
pub(super) struct Connected {
    pub connection: Connection,
    pub files: Files,
}

impl Connected {
    /// Refuses to go on where the files were removed or replaced: SQLite would go on with those that nobody
    /// finds any more.
    pub fn expect_files(&self, path: &Path) -> Result<(), StoreError> {
        let checked = self.files.expect_at(path);
        if checked.is_err() {
            // Closing would otherwise take along the log of whatever stands there now.
            self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        }
        checked
    }
}

/// Opens the file. One that was in use before is not made again, nor written to where it holds less than it did
/// (`known`): it would look as if Sessions had been removed.
pub(super) fn connect(
    path: &Path,
    busy_timeout: Duration,
    known: Option<Extent>,
) -> Result<Connected, StoreError> {
    let started = Instant::now();
    loop {
        match try_connect(path, busy_timeout, known) {
            Err(StoreError::Busy(_)) if started.elapsed() < busy_timeout => thread::sleep(RETRY_EVERY),
            result => return result,
        }
    }
}

/// The file is looked at through SQLite only: to open and close it by other means would release the locks that
/// this process holds on it.
fn try_connect(path: &Path, busy_timeout: Duration, known: Option<Extent>) -> Result<Connected, StoreError> {
    let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    if known.is_none() {
        if let Some(folder) = path.parent() {
            create_folder(folder).map_err(|error| io_error(&error))?;
        }
        flags |= OpenFlags::SQLITE_OPEN_CREATE;
    }
    refuse_stub(path)?;
    let before = if known.is_none() { Files::at(path).ok() } else { Some(Files::at(path)?) };
    let mut connection = Connection::open_with_flags(path, flags)?;
    BUSY_TIMEOUT.set(busy_timeout);
    connection.busy_handler(Some(wait_for_lock))?;
    // Closing would otherwise write a foreign log back into its file.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    let version = migrations::identify(&connection)?;
    if let Some(known) = known
        && (version == 0 || !Extent::of(&connection)?.holds(known))
    {
        return Err(holds_less());
    }
    let mode: String = connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))?;
    if mode != "wal" {
        return Err(StoreError::Unavailable("this file system cannot hold a write-ahead log".to_owned()));
    }
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "wal_autocheckpoint", 10_000)?;
    // What a statement would undo is kept in memory: a file for it costs more than the statement.
    connection.pragma_update(None, "temp_store", "memory")?;
    connection.set_prepared_statement_cache_capacity(64);
    migrations::migrate(&mut connection)?;
    let files = Files::at(path)?;
    if before.is_some_and(|before| before.were_replaced_by(&files)) {
        // The connection stands on either: the last user of a log has just taken it along, or somebody moves them.
        return Err(StoreError::Busy("the database file or its log is just being replaced".to_owned()));
    }
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    Ok(Connected { connection, files })
}

/// It is a copy of an earlier day, or its log is missing.
fn holds_less() -> StoreError {
    let text = "the database file holds less than was written to it: put it back with its log, or restart the \
                process to go on with this one";
    StoreError::Unavailable(text.to_owned())
}

thread_local! {
    /// A connection is used by the thread that opened it.
    static BUSY_TIMEOUT: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    static WAITING_SINCE: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Looks far more often than SQLite's own handler, which sleeps through the moment in which a program that locks the
/// file again and again lets it go.
fn wait_for_lock(tries: i32) -> bool {
    if tries == 0 {
        WAITING_SINCE.set(Some(Instant::now()));
    }
    let waited = WAITING_SINCE.get().map_or(Duration::ZERO, |since| since.elapsed());
    let goes_on = waited < BUSY_TIMEOUT.get();
    if goes_on {
        thread::sleep(RETRY_EVERY);
    }
    goes_on
}

/// SQLite takes a file smaller than its smallest page for an empty one, and would write over it.
fn refuse_stub(path: &Path) -> Result<(), StoreError> {
    match fs::metadata(path) {
        Ok(file) if file.is_file() && (1..SMALLEST_PAGE).contains(&file.len()) => {
            Err(StoreError::Corrupt("the file is not a database".to_owned()))
        }
        _ => Ok(()),
    }
}

/// Creates what is missing of the path. SQLite syncs the folder it creates a file in, but not those above it.
fn create_folder(folder: &Path) -> io::Result<()> {
    if folder.as_os_str().is_empty() || folder.is_dir() {
        return Ok(());
    }
    if let Some(parent) = folder.parent() {
        create_folder(parent)?;
        match fs::create_dir(folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        #[cfg(unix)]
        if !parent.as_os_str().is_empty() {
            fs::File::open(parent)?.sync_all()?;
        }
    }
    Ok(())
}
