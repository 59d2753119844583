//! `SqliteStore`: one file, a thread that writes and a thread that reads.
//!
//! The writer commits what waits together (`writer`), the reader gives each request a view of one instant
//! (`reader`). The file is opened by the first request (`connect`), and again after an error that may have
//! spoilt the connection, so that the store goes on once the cause is gone.

mod append;
mod connect;
mod error;
mod extent;
mod files;
mod json;
mod lifecycle;
mod list;
mod migrations;
mod owners;
mod read;
mod reader;
mod request;
mod rows;
mod shared;
mod sql;
mod watch;
mod worker;
mod writer;

#[cfg(test)]
mod tests;

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use rusqlite::Connection;

use self::{connect::Connected, extent::Extent, files::Files, owners::Owners, request::Call, worker::Worker};
use super::{
    Authority, CaughtUp, FeedPage, ListPage, Liveness, Member, MessagePage, Opened, OwnerId, PendingList,
    Reply, SessionKey, SessionList, Snapshot, Store, StoreError, UnfinishedSession,
};
use crate::core::{
    change::{Commit, Durability, SessionRow},
    engine::Receipt,
    interaction::Interaction,
    message::Message,
};

pub use shared::SharedStore;

/// When a commit that has to survive a power cut waits for the disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Synchronous {
    /// Before it is acknowledged.
    #[default]
    Full,
    /// Later: the last commits can be lost to a power cut, though never to a crash of the process.
    Normal,
}

impl Synchronous {
    fn pragma(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Normal => "normal",
        }
    }
}

/// How a [`SqliteStore`] writes and waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SqliteOptions {
    pub synchronous: Synchronous,
    /// How long a lock of another program is waited for.
    pub busy_timeout: Duration,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self { synchronous: Synchronous::Full, busy_timeout: Duration::from_secs(5) }
    }
}

/// Keeps Sessions in a SQLite file. Dropped, it finishes what is queued and lets the file go.
pub struct SqliteStore {
    database: Arc<Database>,
    writer: Worker,
    reader: Worker,
}

/// What the threads have in common.
struct Database {
    path: PathBuf,
    busy_timeout: Duration,
    full: AtomicBool,
    transactions: AtomicU64,
    owners: Owners,
    /// Once the file was opened, and until it is let go: what it held when it was lost sight of. One that holds less
    /// is not it.
    held: Mutex<Option<Extent>>,
    /// What the writer's connection stands on.
    writing_on: Mutex<Option<Files>>,
    /// The reader's connection. The writer closes it along with its own: those of one process share what SQLite
    /// knows of the log, so the files are found anew only when none is left.
    reading: Mutex<Option<Connected>>,
}

impl Database {
    fn connect(&self) -> Result<Connected, StoreError> {
        let known = *locked(&self.held);
        let connected = connect::connect(&self.path, self.busy_timeout, known)?;
        locked(&self.held).get_or_insert_default();
        Ok(connected)
    }

    fn connect_writer(&self) -> Result<Connected, StoreError> {
        let connected = self.connect()?;
        *locked(&self.writing_on) = Some(connected.files.clone());
        Ok(connected)
    }

    fn connect_reader(&self) -> Result<Connected, StoreError> {
        if let Some(files) = &*locked(&self.writing_on) {
            files.expect_at(&self.path)?;
        }
        self.connect()
    }

    fn let_go_of_writer(&self, connected: Connected, why: &StoreError) {
        self.let_go(connected, why);
        *locked(&self.writing_on) = None;
        // Waits for what is just being read.
        if let Some(reading) = locked(&self.reading).take() {
            self.let_go(reading, why);
        }
    }

    /// Closes a connection that is of no more use. While it is open it still has all that was acknowledged.
    fn let_go(&self, connected: Connected, why: &StoreError) {
        if matches!(why, StoreError::Unavailable(_))
            && let Ok(extent) = Extent::of(&connected.connection)
        {
            let mut held = locked(&self.held);
            *held = Some(held.unwrap_or_default().with(extent));
        }
        // Whatever it says: closed, it must not write to files that are not its own.
        let _ = connected.expect_files(&self.path);
    }

    fn forget(&self) {
        *locked(&self.held) = None;
        *locked(&self.writing_on) = None;
    }

    fn synchronous_for(&self, durability: Durability) -> Synchronous {
        let full = durability == Durability::Power && self.full.load(Ordering::Relaxed);
        if full { Synchronous::Full } else { Synchronous::Normal }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SqliteStore {
    /// Names the file; it is opened, and made where it is missing, by the first request.
    pub fn open(path: impl AsRef<Path>, options: SqliteOptions) -> Self {
        // An absolute path has none of the names that mean something else to SQLite.
        let path = std::path::absolute(path.as_ref()).unwrap_or_else(|_| path.as_ref().to_owned());
        let database = Arc::new(Database {
            owners: Owners::new(&path),
            path,
            busy_timeout: options.busy_timeout,
            full: AtomicBool::new(options.synchronous == Synchronous::Full),
            transactions: AtomicU64::new(0),
            held: Mutex::default(),
            writing_on: Mutex::default(),
            reading: Mutex::default(),
        });
        let (writing, reading) = (database.clone(), database.clone());
        Self {
            database,
            writer: Worker::new("sessions-writer", move |inbox| writer::serve(&writing, inbox)),
            reader: Worker::new("sessions-reader", move |inbox| reader::serve(&reading, inbox)),
        }
    }

    /// The store of this path, the same one for all who ask while anyone holds it. The stricter of their
    /// `synchronous` rules.
    pub fn shared(path: impl AsRef<Path>, options: SqliteOptions) -> Arc<SharedStore> {
        shared::get(path.as_ref(), options)
    }

    /// How many transactions were committed: fewer than the calls, where those came together.
    pub fn transactions(&self) -> u64 {
        self.database.transactions.load(Ordering::Relaxed)
    }

    fn write<T: Send + 'static>(
        &self,
        durability: Durability,
        reply: Reply<T>,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) {
        self.writer.submit(Call::boxed(durability, reply, work));
    }

    /// A reply that gives the other members notice, once its caller has it.
    fn notifying<T: 'static>(&self, key: &SessionKey, by: &OwnerId, reply: Reply<T>) -> Reply<T> {
        let (key, by, database) = (key.clone(), by.clone(), self.database.clone());
        Box::new(move |result| {
            let written = result.is_ok();
            reply(result);
            if written {
                database.owners.notify_others(&key, &by);
            }
        })
    }

    fn read<T: Send + 'static>(
        &self,
        reply: Reply<T>,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) {
        self.reader.submit(Call::boxed(Durability::Process, reply, work));
    }
}

impl Store for SqliteStore {
    fn close(&self) {
        self.writer.close();
        self.reader.close();
        self.database.forget();
    }

    fn create(&self, key: &SessionKey, row: SessionRow, reply: Reply<u64>) {
        let key = key.clone();
        self.write(Durability::Power, reply, move |db| lifecycle::create(db, &key, &row));
    }

    fn open(&self, key: &SessionKey, reply: Reply<Opened>) {
        let key = key.clone();
        self.write(Durability::Process, reply, move |db| lifecycle::open(db, &key));
    }

    fn catch_up(&self, key: &SessionKey, after: u64, reply: Reply<CaughtUp>) {
        let key = key.clone();
        self.write(Durability::Process, reply, move |db| lifecycle::catch_up(db, &key, after));
    }

    fn append(
        &self,
        key: &SessionKey,
        by: &OwnerId,
        authority: Authority,
        commit: Arc<Commit>,
        reply: Reply<Receipt>,
    ) {
        let (key, by, database) = (key.clone(), by.clone(), self.database.clone());
        let reply = self.notifying(&key, &by, reply);
        self.write(commit.durability, reply, move |db| {
            append::append(db, &database.owners, &key, &by, authority, &commit)
        });
    }

    fn release(&self, key: &SessionKey, by: &OwnerId, reply: Reply<()>) {
        let (key, by) = (key.clone(), by.clone());
        let reply = self.notifying(&key, &by, reply);
        self.write(Durability::Process, reply, move |db| lifecycle::release(db, &key, &by));
    }

    fn join(&self, member: Member) {
        self.database.owners.join(member);
    }

    fn leave(&self, owner: &OwnerId) {
        let owners = &self.database.owners;
        owners.leave(owner);
        if !owners.has_owned(owner) {
            return;
        }
        let (owner, database) = (owner.clone(), self.database.clone());
        let of_reply = owner.clone();
        let reply = Box::new(move |given_up: Result<Vec<SessionKey>, StoreError>| {
            // Where this failed, the lock that goes with the process says that the owner is gone.
            database.owners.forget(&of_reply);
            for key in given_up.unwrap_or_default() {
                database.owners.notify_others(&key, &of_reply);
            }
        });
        self.write(Durability::Process, reply, move |db| lifecycle::leave(db, &owner));
    }

    fn liveness(&self, owner: &OwnerId, reply: Reply<Liveness>) {
        let (owner, database) = (owner.clone(), self.database.clone());
        self.read(reply, move |db| database.owners.liveness(db, &owner));
    }

    fn unfinished(&self, agent_id: &str, reply: Reply<Vec<UnfinishedSession>>) {
        let agent_id = agent_id.to_owned();
        self.read(reply, move |db| lifecycle::unfinished(db, &agent_id));
    }

    fn messages(&self, key: &SessionKey, page: MessagePage, reply: Reply<Vec<Message>>) {
        let key = key.clone();
        self.read(reply, move |db| read::messages(db, &key, page));
    }

    fn snapshot(&self, key: &SessionKey, limit: u32, reply: Reply<Snapshot>) {
        let key = key.clone();
        self.read(reply, move |db| read::snapshot(db, &key, limit));
    }

    fn pending(&self, key: &SessionKey, reply: Reply<Vec<Interaction>>) {
        let key = key.clone();
        self.read(reply, move |db| read::pending(db, &key));
    }

    fn interaction(&self, key: &SessionKey, interaction_id: &str, reply: Reply<Option<Interaction>>) {
        let (key, interaction_id) = (key.clone(), interaction_id.to_owned());
        self.read(reply, move |db| read::interaction(db, &key, &interaction_id));
    }

    fn journal(&self, key: &SessionKey, after: u64, limit: u32, reply: Reply<Vec<(u64, Arc<str>)>>) {
        let key = key.clone();
        self.read(reply, move |db| read::journal(db, &key, after, limit));
    }

    fn feed(&self, agent_id: &str, after: Option<u64>, limit: u32, reply: Reply<FeedPage>) {
        let agent_id = agent_id.to_owned();
        let work = move |db: &Connection| list::feed(db, &agent_id, after, limit);
        match after {
            Some(_) => self.read(reply, work),
            None => self.write(Durability::Process, reply, work),
        }
    }

    fn list(&self, agent_id: &str, page: ListPage, reply: Reply<SessionList>) {
        let agent_id = agent_id.to_owned();
        self.read(reply, move |db| list::list(db, &agent_id, &page));
    }

    fn pending_of_agent(&self, agent_id: &str, limit: u32, after: Option<String>, reply: Reply<PendingList>) {
        let agent_id = agent_id.to_owned();
        self.read(reply, move |db| list::pending_of_agent(db, &agent_id, limit, after.as_deref()));
    }

    fn archive(&self, key: &SessionKey, reply: Reply<()>) {
        let key = key.clone();
        self.write(Durability::Power, reply, move |db| lifecycle::archive(db, &key));
    }

    fn remove(&self, key: &SessionKey, reply: Reply<()>) {
        let reply = self.notifying(key, &OwnerId::from(""), reply);
        let key = key.clone();
        self.write(Durability::Power, reply, move |db| lifecycle::remove(db, &key));
    }
}
