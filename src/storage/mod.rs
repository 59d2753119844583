//! The store: one narrow trait, fulfilled by memory, SQLite and (later) PostgreSQL.
//!
//! Each "must" below is a case of the conformance suite that every store runs.
//!
//! Calls never block and never fail directly: the answer comes through a [`Reply`]. A store that can
//! answer at once calls it before returning, on the caller's thread; any other calls it later from a
//! thread of its own, and never while it holds a lock that a further call would need.

mod cursor;
mod error;
pub mod memory;
mod shown;
pub mod sqlite;

#[cfg(test)]
mod conformance;
#[cfg(test)]
pub mod fixture;

use std::sync::Arc;

pub use error::StoreError;

use crate::core::{
    change::{Commit, OpenRows, SessionRow},
    engine::Receipt,
    interaction::Interaction,
    message::Message,
};

/// Takes the one answer to a call. It must be called exactly once, also when the store shuts down.
pub type Reply<T> = Box<dyn FnOnce(Result<T, StoreError>) + Send>;

/// Sessions are keyed by agent and session id. Ids are data: compared exactly, never a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionKey {
    pub agent_id: Arc<str>,
    pub session_id: Arc<str>,
}

/// A Session as it was opened.
#[derive(Debug, Clone, PartialEq)]
pub struct Opened {
    pub rows: OpenRows,
    /// The fencing number this opener has to show with each append.
    pub fence: u64,
}

/// A page is ended early where its Messages are larger together; it always has one.
pub const PAGE_BYTES: usize = 32 * 1024 * 1024;

/// Messages before `before_sequence` (all, when `None`): the last `limit` of them, ascending. A store may give
/// fewer, down to one, when they are larger than [`PAGE_BYTES`] together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessagePage {
    pub before_sequence: Option<u64>,
    pub limit: u32,
}

/// One consistent read of a Session.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    pub session: SessionRow,
    /// The last `limit` Messages, ascending.
    pub messages: Vec<Message>,
    /// Pending Interactions, oldest first.
    pub pending: Vec<Interaction>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListPage {
    pub limit: u32,
    /// The cursor a former page gave as `next`.
    pub after: Option<String>,
    /// Archived Sessions only, or those that are not.
    pub archived: bool,
}

/// A page of Sessions, the one touched last first; ties by session id.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionList {
    pub items: Vec<SessionSummary>,
    pub next: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SessionSummary {
    pub session: SessionRow,
    /// How many Interactions are pending.
    pub pending: u64,
}

/// A page of what is pending in all Sessions of an agent, oldest first.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingList {
    pub items: Vec<PendingItem>,
    pub next: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PendingItem {
    pub session_id: String,
    pub interaction: Interaction,
}

/// Every call about a Session that does not exist must be answered [`StoreError::NotFound`]. Within a Session,
/// "oldest first" is the order of asking; over all Sessions of an agent it is `created_at`, then that order.
pub trait Store: Send + Sync + 'static {
    /// Creates a Session. An existing id, archived ones included, must be refused as [`StoreError::Exists`]
    /// and left as it is. The new row must be durable against a power cut when acknowledged.
    fn create(&self, key: &SessionKey, row: SessionRow, reply: Reply<()>);

    /// Opens a Session for writing: gives what is not finished and a fencing number greater than any given
    /// for it before. Must read what is open, not the history. Unknown ids are [`StoreError::NotFound`].
    fn open(&self, key: &SessionKey, reply: Reply<Opened>);

    /// Reads the open rows again, without taking the Session over.
    fn reload(&self, key: &SessionKey, reply: Reply<OpenRows>);

    /// Writes a commit: every change and journal entry in one transaction, or none.
    ///
    /// Must refuse as [`StoreError::LeaseLost`] when `fence` is not the last one given, and as
    /// [`StoreError::Conflict`] when the Session row's `commits` is not `expected_commits`; a refusal changes
    /// nothing. Appends of one Session must be applied in the order of the calls. After any other error the
    /// outcome may be unknown: the caller compares `last_commit_id` after a `reload`.
    fn append(&self, key: &SessionKey, fence: u64, commit: Arc<Commit>, reply: Reply<Receipt>);

    /// A page of Messages with their Parts; tool Parts carry their Interactions, streaming text is complete.
    fn messages(&self, key: &SessionKey, page: MessagePage, reply: Reply<Vec<Message>>);

    /// Session row, last Messages and pending Interactions of the same instant.
    fn snapshot(&self, key: &SessionKey, limit: u32, reply: Reply<Snapshot>);

    /// Pending Interactions, oldest first. Must not read the history.
    fn pending(&self, key: &SessionKey, reply: Reply<Vec<Interaction>>);

    /// One Interaction of this Session, whatever its status. One of another Session must not be found.
    fn interaction(&self, key: &SessionKey, interaction_id: &str, reply: Reply<Option<Interaction>>);

    /// Journal bodies with a revision greater than `after`, ascending, at most `limit`.
    fn journal(&self, key: &SessionKey, after: u64, limit: u32, reply: Reply<Vec<(u64, Arc<str>)>>);

    /// Lists Sessions. Sessions created or touched while paging must not make another one appear twice.
    fn list(&self, agent_id: &str, page: ListPage, reply: Reply<SessionList>);

    /// Lists what is pending in all Sessions of an agent, archived ones excepted.
    fn pending_of_agent(&self, agent_id: &str, limit: u32, after: Option<String>, reply: Reply<PendingList>);

    /// Puts a Session among the archived. One with an unfinished Turn must be refused as [`StoreError::Running`].
    /// Archiving an archived one changes nothing.
    fn archive(&self, key: &SessionKey, reply: Reply<()>);

    /// Removes a Session and everything of it. One with an unfinished Turn must be refused as [`StoreError::Running`].
    fn remove(&self, key: &SessionKey, reply: Reply<()>);

    /// Lets go of files and connections once what was asked is answered; may wait for that. A later call opens them
    /// again.
    fn close(&self) {}
}
