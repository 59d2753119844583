//! Who may go on with a Session: at most one, for as long as something of it is unfinished.

use std::{fmt, sync::Arc, time::Duration};

use super::SessionKey;

/// Names one Agent of one process, made anew each time.
pub type OwnerId = Arc<str>;

/// Whose a Session is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ownership {
    /// Grows each time the Session is taken.
    pub fence: u64,
    /// Set while something is unfinished and nobody gave it up.
    pub owner: Option<OwnerId>,
}

/// In whose name a commit is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Authority {
    /// Of the one that was given this fencing number: [`LeaseLost`](super::StoreError::LeaseLost) when it is not
    /// the Session's.
    Owner { fence: u64 },
    /// Takes the Session with this commit: [`Conflict`](super::StoreError::Conflict) when its fencing number is
    /// not the one that was seen, else a new one is given.
    Taking { seen: u64 },
    /// Leaves the Session to its owner.
    Guest,
}

/// What can be seen of an owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveness {
    /// It is a member in this very process.
    Alive,
    /// Its process has ended, or it has left.
    Dead,
    /// It may live: it does when `beat` changes within each `lease`.
    Beating { beat: u64, lease: Duration },
}

/// Called with a Session that somebody else changed, or `None` when it may be any. Must not block.
pub type Notice = Arc<dyn Fn(Option<&SessionKey>) + Send + Sync>;

/// Somebody who can own Sessions.
#[derive(Clone)]
pub struct Member {
    pub owner: OwnerId,
    pub agent_id: Arc<str>,
    /// It beats more often than this, for as long as it owns anything.
    pub lease: Duration,
    pub notice: Notice,
}

impl fmt::Debug for Member {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Member").field("owner", &self.owner).field("agent_id", &self.agent_id).finish()
    }
}

/// The members of a store in this process.
#[derive(Default)]
pub(super) struct Members(Vec<Member>);

impl Members {
    pub fn join(&mut self, member: Member) {
        self.0.push(member);
    }

    pub fn leave(&mut self, owner: &str) {
        self.0.retain(|member| *member.owner != *owner);
    }

    pub fn has(&self, owner: &str) -> bool {
        self.0.iter().any(|member| *member.owner == *owner)
    }

    pub fn lease_of(&self, owner: &str) -> Option<Duration> {
        self.0.iter().find(|member| *member.owner == *owner).map(|member| member.lease)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Member> {
        self.0.iter()
    }

    /// Those to be told of what `by` did; to be called without any lock.
    pub fn others(&self, agent_id: &str, by: &str) -> Vec<Notice> {
        let others = self.0.iter().filter(|member| *member.agent_id == *agent_id && *member.owner != *by);
        others.map(|member| member.notice.clone()).collect()
    }
}
