//! Those of this process who own Sessions of the file, and whether an owner elsewhere still lives.
//!
//! An owner keeps a file beside the database locked: the kernel lets go of the lock when its process ends, however
//! that happens. A process that was stopped holds it on; its beat in the database stands still.

use std::{
    collections::HashMap,
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use rusqlite::{Connection, OptionalExtension, params};

use super::{error::io_error, rows::unsigned, sql};
use crate::storage::{Liveness, Member, Notice, OwnerId, SessionKey, StoreError, ownership::Members};

/// How many beats fit into a lease: some may come late.
const BEATS_PER_LEASE: u32 = 4;

pub(super) struct Owners {
    database: PathBuf,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    members: Members,
    /// Of those that have owned something.
    locks: HashMap<OwnerId, LockFile>,
    last_beats: HashMap<OwnerId, Instant>,
}

impl Owners {
    pub fn new(database: &Path) -> Self {
        Self { database: database.to_owned(), state: Mutex::default() }
    }

    pub fn join(&self, member: Member) {
        self.state().members.join(member);
    }

    /// Nobody is told anything more for it. Its lock goes with [`forget`](Self::forget).
    pub fn leave(&self, owner: &OwnerId) {
        self.state().members.leave(owner);
    }

    /// It has given up all it owned.
    pub fn forget(&self, owner: &OwnerId) {
        let mut state = self.state();
        state.last_beats.remove(owner);
        if let Some(lock) = state.locks.remove(owner) {
            lock.remove();
        }
    }

    pub fn has_owned(&self, owner: &OwnerId) -> bool {
        self.state().locks.contains_key(owner)
    }

    pub fn is_empty(&self) -> bool {
        self.state().members.is_empty()
    }

    pub fn notify_others(&self, key: &SessionKey, by: &OwnerId) {
        let others = self.state().members.others(&key.agent_id, by);
        for notice in others {
            notice(Some(key));
        }
    }

    /// Gives notice of a change from outside this process; of any, where the Session is not known.
    pub fn notify_all(&self, key: Option<&SessionKey>) {
        let concerned = |member: &&Member| key.is_none_or(|key| key.agent_id == member.agent_id);
        let notices: Vec<Notice> =
            self.state().members.iter().filter(concerned).map(|member| member.notice.clone()).collect();
        for notice in notices {
            notice(key);
        }
    }

    /// Before it owns something.
    pub fn show_life(&self, db: &Connection, owner: &OwnerId) -> Result<(), StoreError> {
        let lease = self.state().members.lease_of(owner).unwrap_or_default();
        let lease_ms = i64::try_from(lease.as_millis()).unwrap_or(i64::MAX);
        db.prepare_cached(sql::ENLIST)?.execute(params![&**owner, lease_ms])?;
        if self.has_owned(owner) {
            return Ok(());
        }
        let lock = LockFile::take(&self.lock_path(owner)).map_err(|error| io_error(&error))?;
        self.state().locks.insert(owner.clone(), lock);
        self.clear_away_the_dead(db, owner)
    }

    /// Processes that ended while they owned nothing have left their names behind.
    fn clear_away_the_dead(&self, db: &Connection, but: &OwnerId) -> Result<(), StoreError> {
        let mut statement = db.prepare_cached(sql::IDLE_OWNERS)?;
        let idle = statement.query_map([&**but], |row| row.get::<_, String>(0))?;
        for owner in idle.collect::<Result<Vec<_>, _>>()? {
            if !self.state().members.has(&owner) && LockFile::is_free(&self.lock_path(&owner)) {
                self.clear_away(db, &owner)?;
            }
        }
        Ok(())
    }

    pub fn liveness(&self, db: &Connection, owner: &OwnerId) -> Result<Liveness, StoreError> {
        if self.state().members.has(owner) {
            return Ok(Liveness::Alive);
        }
        if LockFile::is_free(&self.lock_path(owner)) {
            return Ok(Liveness::Dead);
        }
        let mut statement = db.prepare_cached(sql::BEAT_OF)?;
        let found = statement.query_row([&**owner], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        let (beat, lease_ms) = found.unwrap_or_default();
        Ok(Liveness::Beating { beat: unsigned(beat), lease: Duration::from_millis(unsigned(lease_ms)) })
    }

    /// An owner that lost its last Session leaves nothing behind.
    pub fn clear_away(&self, db: &Connection, owner: &str) -> Result<(), StoreError> {
        let owns: bool = db.prepare_cached(sql::OWNS_ANYTHING)?.query_row([owner], |row| row.get(0))?;
        if owns {
            return Ok(());
        }
        db.prepare_cached(sql::DISCHARGE)?.execute([owner])?;
        LockFile::clear(&self.lock_path(owner));
        Ok(())
    }

    /// Writes a beat for each that owns something, where its next one is due.
    pub fn beat(&self, db: &Connection) -> Result<(), StoreError> {
        for owner in self.due() {
            if db.prepare_cached(sql::OWNS_ANYTHING)?.query_row([&*owner], |row| row.get(0))? {
                db.prepare_cached(sql::BEAT)?.execute([&*owner])?;
            }
            self.state().last_beats.insert(owner, Instant::now());
        }
        Ok(())
    }

    fn due(&self) -> Vec<OwnerId> {
        let state = self.state();
        let is_due = |owner: &OwnerId, lease: Duration| {
            state.last_beats.get(owner).is_none_or(|last| last.elapsed() >= lease / BEATS_PER_LEASE)
        };
        let members = state.members.iter().filter(|member| state.locks.contains_key(&member.owner));
        members
            .filter(|member| is_due(&member.owner, member.lease))
            .map(|member| member.owner.clone())
            .collect()
    }

    fn lock_path(&self, owner: &str) -> PathBuf {
        let mut path = OsString::from(self.database.as_os_str());
        // Ids are data: whatever is no plain character must not become a path.
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        path.push(format!("-{}", owner.chars().map(plain).collect::<String>()));
        PathBuf::from(path)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A file that is locked for as long as its process lives.
struct LockFile {
    path: PathBuf,
    _locked: File,
}

impl LockFile {
    fn take(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
        file.try_lock()?;
        Ok(Self { path: path.to_owned(), _locked: file })
    }

    /// Whether nobody holds it any more, as far as that can be told from here.
    fn is_free(path: &Path) -> bool {
        match OpenOptions::new().write(true).open(path) {
            // Shared: two who look at the same time are not each other's owner.
            Ok(file) => file.try_lock_shared().is_ok(),
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        }
    }

    /// Removes the file while the lock is still held: who looks sees a dead owner or none.
    fn remove(self) {
        // What is left behind is cleared away by whoever takes over next.
        let _ = fs::remove_file(&self.path);
    }

    fn clear(path: &Path) {
        if Self::is_free(path) {
            // Nobody needs it; at worst it is left lying there.
            let _ = fs::remove_file(path);
        }
    }
}
