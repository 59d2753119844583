//! Whose a Session is, as far as its runner knows, and what it may write therefore.

use crate::{
    core::engine::Role,
    storage::{Authority, OwnerId, Ownership},
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Standing {
    fence: u64,
    /// The fencing number was given to this runner.
    mine: bool,
    /// Somebody else owns the Session and is not known to be gone.
    other: Option<OwnerId>,
}

impl Standing {
    /// Of the one that has just created the Session.
    pub fn of_creator(fence: u64) -> Self {
        Self { fence, mine: true, other: None }
    }

    pub fn seen(ownership: Ownership, me: &OwnerId) -> Self {
        // What this Agent left behind under an earlier handle is its own to take again.
        let other = ownership.owner.filter(|owner| owner != me);
        Self { fence: ownership.fence, mine: false, other }
    }

    /// It was this runner's, and is nobody's.
    pub fn hand_back(&mut self) {
        self.mine = false;
    }

    pub fn is_mine(&self) -> bool {
        self.mine
    }

    /// It was this runner's, and somebody has taken it since.
    pub fn is_lost_to(&self, now: &Ownership) -> bool {
        self.mine && self.fence != now.fence
    }

    /// Nothing is different from what is known.
    pub fn agrees_with(&self, now: &Ownership) -> bool {
        self.fence == now.fence && (self.mine || self.other.is_some() == now.owner.is_some())
    }

    pub fn other(&self) -> Option<&OwnerId> {
        self.other.as_ref()
    }

    /// True when the owner that is gone is the one that was known.
    pub fn owner_is_gone(&mut self, owner: &OwnerId) -> bool {
        self.other.take_if(|other| other == owner).is_some()
    }

    pub fn authority(&self, may_own: bool) -> Authority {
        if self.mine {
            Authority::Owner { fence: self.fence }
        } else if self.other.is_none() && may_own {
            Authority::Taking { seen: self.fence }
        } else {
            Authority::Guest
        }
    }

    /// A commit went through; the Session has this fencing number from then on.
    pub fn committed(&mut self, authority: Authority, fence: u64, unfinished: bool) {
        if authority != Authority::Guest {
            *self = Self { fence, mine: true, other: None };
        } else if !unfinished {
            // Nobody owns what is finished.
            self.other = None;
        }
    }
}

pub(super) fn role(authority: Authority) -> Role {
    match authority {
        Authority::Owner { .. } => Role::Owner,
        Authority::Taking { .. } => Role::NewOwner,
        Authority::Guest => Role::Guest,
    }
}
