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
    /// Somebody else who stands in the store as the owner.
    other: Option<OwnerId>,
    /// It is known to be gone; it stands there until somebody takes the Session.
    other_is_gone: bool,
}

impl Standing {
    /// Of the one that has just created the Session.
    pub fn of_creator(fence: u64) -> Self {
        Self { fence, mine: true, other: None, other_is_gone: false }
    }

    pub fn seen(ownership: Ownership, me: &OwnerId) -> Self {
        // What this Agent left behind under an earlier handle is its own to take again.
        let other = ownership.owner.filter(|owner| owner != me);
        Self { fence: ownership.fence, mine: false, other, other_is_gone: false }
    }

    /// Somebody else has changed the Session. Who is gone stays gone.
    pub fn seen_again(&mut self, now: Ownership, me: &OwnerId) {
        let seen = Self::seen(now, me);
        let other_is_gone = self.other_is_gone && self.other == seen.other;
        *self = Self { other_is_gone, ..seen };
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

    /// Somebody else who owns the Session and is not known to be gone.
    pub fn other(&self) -> Option<&OwnerId> {
        self.other.as_ref().filter(|_| !self.other_is_gone)
    }

    /// True when the owner that is gone is the one that was known.
    pub fn owner_is_gone(&mut self, owner: &OwnerId) -> bool {
        let was_known = self.other() == Some(owner);
        self.other_is_gone |= was_known;
        was_known
    }

    pub fn authority(&self, may_own: bool) -> Authority {
        if self.mine {
            Authority::Owner { fence: self.fence }
        } else if self.other().is_none() && may_own {
            Authority::Taking { seen: self.fence }
        } else {
            Authority::Guest
        }
    }

    /// A commit went through; the Session has this fencing number from then on.
    pub fn committed(&mut self, authority: Authority, fence: u64, unfinished: bool) {
        if authority != Authority::Guest {
            *self = Self { fence, mine: true, other: None, other_is_gone: false };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_that_is_gone_stays_gone_when_the_session_is_looked_at_again() {
        let (me, former, next) = (OwnerId::from("me"), OwnerId::from("former"), OwnerId::from("next"));
        let of = |owner: &OwnerId, fence| Ownership { fence, owner: Some(owner.clone()) };
        let mut standing = Standing::seen(of(&former, 7), &me);
        assert_eq!(standing.authority(true), Authority::Guest);
        assert!(standing.owner_is_gone(&former));
        assert!(standing.agrees_with(&of(&former, 7)), "nothing new");
        standing.seen_again(of(&former, 7), &me);
        assert_eq!(standing.authority(true), Authority::Taking { seen: 7 });
        // Somebody else was faster.
        assert!(!standing.agrees_with(&of(&next, 8)));
        standing.seen_again(of(&next, 8), &me);
        assert_eq!((standing.other(), standing.authority(true)), (Some(&next), Authority::Guest));
        assert!(!standing.owner_is_gone(&former));
    }
}
