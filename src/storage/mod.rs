//! The store: one narrow trait, fulfilled by memory and SQLite.
//!
//! Each "must" below is a case of the conformance suite that every store runs.
//!
//! Calls never block and never fail directly: the answer comes through a [`Reply`]. A store that can
//! answer at once calls it before returning, on the caller's thread; any other calls it later from a
//! thread of its own, and never while it holds a lock that a further call would need.

mod cursor;
mod error;
pub mod memory;
mod ownership;
mod shown;
pub mod sqlite;

#[cfg(test)]
mod conformance;
#[cfg(test)]
pub mod fixture;

use std::sync::Arc;

pub use error::StoreError;
pub use ownership::{Authority, Liveness, Member, Notice, OwnerId, Ownership};

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

/// A Session as it was opened: what is not finished, and whose it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Opened {
    pub rows: OpenRows,
    pub ownership: Ownership,
}

/// A Session as it is now, and what was published since a revision: of one instant.
#[derive(Debug, Clone, PartialEq)]
pub struct CaughtUp {
    pub opened: Opened,
    /// The bodies, in order.
    pub journal: Vec<Arc<str>>,
}

/// A run of Mutations of any Sessions of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedPage {
    pub bodies: Vec<Arc<str>>,
    /// Where the next page begins.
    pub place: u64,
}

/// A Session that waits for an owner to go on with it, or has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnfinishedSession {
    pub session_id: Arc<str>,
    pub owner: Option<OwnerId>,
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
    /// Creates a Session without an owner and gives its fencing number, greater than any given in the store
    /// before. An existing id, archived ones included, must be refused as [`StoreError::Exists`] and left as it
    /// is. The new row must be durable against a power cut when acknowledged.
    fn create(&self, key: &SessionKey, row: SessionRow, reply: Reply<u64>);

    /// Gives what is not finished. Must read what is open, not the history, and change nothing. Unknown ids are
    /// [`StoreError::NotFound`].
    fn open(&self, key: &SessionKey, reply: Reply<Opened>);

    /// What [`open`](Self::open) gives, after all appends that were called before, and the journal since revision
    /// `after`.
    fn catch_up(&self, key: &SessionKey, after: u64, reply: Reply<CaughtUp>);

    /// Writes a commit: every change and journal entry in one transaction, or none.
    ///
    /// Must refuse as [`Authority`] says, and as [`StoreError::Conflict`] when the Session row's `commits` is not
    /// `expected_commits`; a refusal changes nothing. After the commit of an owner, `by` must own the Session
    /// if the commit leaves it unfinished, and nobody otherwise. Appends of one Session must be applied in the
    /// order of the calls. After any other error the outcome may be unknown: the caller compares the commit ids
    /// of the Session row after a `catch_up`. The other members must be given notice. The receipt of a commit that
    /// publishes must name its place in the [`feed`](Self::feed).
    fn append(
        &self,
        key: &SessionKey,
        by: &OwnerId,
        authority: Authority,
        commit: Arc<Commit>,
        reply: Reply<Receipt>,
    );

    /// Gives the Session up where `by` owns it, and gives notice; what is unfinished waits for another owner.
    fn release(&self, key: &SessionKey, by: &OwnerId, reply: Reply<()>);

    /// Somebody comes who can own Sessions. Until it leaves, it must be seen to live by others, and it must be
    /// given notice of every commit and release of its agent's Sessions by anybody else, soon after.
    fn join(&self, member: Member);

    /// It goes, and gives up all it owns. A process that ends without this must be seen as dead, or stop beating.
    fn leave(&self, owner: &OwnerId);

    /// Whether an owner still lives, as far as it can be seen from here.
    fn liveness(&self, owner: &OwnerId, reply: Reply<Liveness>);

    /// The Sessions of an agent that have an unfinished Turn or queued input, archived ones too, by id.
    fn unfinished(&self, agent_id: &str, reply: Reply<Vec<UnfinishedSession>>);

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

    /// The Mutations of all Sessions of an agent that were committed after a place, in the order of their commits,
    /// at most `limit`. Without a place: none, and the place where those begin that are appended from then on.
    fn feed(&self, agent_id: &str, after: Option<u64>, limit: u32, reply: Reply<FeedPage>);

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
