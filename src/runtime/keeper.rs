//! Watches those who own Sessions that are open here, so that one that is gone is replaced.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use super::agent::Agent;
use crate::storage::{Liveness, OwnerId, StoreError};

/// How often it looks: a death that can be seen is noticed as soon.
const EVERY: Duration = Duration::from_millis(100);

#[derive(Default)]
pub(super) struct Keeper(Mutex<Watched>);

#[derive(Default)]
struct Watched {
    /// The next look is on its way.
    looking: bool,
    /// Somebody else was seen to own something since the last look began.
    wanted: bool,
    owners: HashMap<OwnerId, Heard>,
}

/// When an owner was heard of, by the time this process was awake itself.
struct Heard {
    beat: u64,
    silent_for: Duration,
    looked: Duration,
}

impl Keeper {
    /// True when whoever calls has to arrange for the next look.
    fn begins(&self) -> bool {
        let mut watched = self.watched();
        watched.wanted = true;
        !std::mem::replace(&mut watched.looking, true)
    }

    fn looks(&self) {
        self.watched().wanted = false;
    }

    /// Nobody is left to be watched; false when somebody has come meanwhile.
    fn ends(&self) -> bool {
        let mut watched = self.watched();
        if !watched.wanted {
            *watched = Watched::default();
        }
        !watched.wanted
    }

    fn keep_only(&self, owners: &HashSet<OwnerId>) {
        self.watched().owners.retain(|owner, _| owners.contains(owner));
    }

    /// True when the owner was silent for longer than the lease.
    fn hear(&self, owner: &OwnerId, beat: u64, now: Duration, lease: Duration) -> bool {
        let mut watched = self.watched();
        let heard = watched.owners.entry(owner.clone()).or_insert(Heard {
            beat,
            silent_for: Duration::ZERO,
            looked: now,
        });
        if heard.beat == beat {
            // A process that was stopped itself has not listened meanwhile.
            heard.silent_for += now.saturating_sub(heard.looked).min(EVERY * 4);
        } else {
            (heard.beat, heard.silent_for) = (beat, Duration::ZERO);
        }
        heard.looked = now;
        heard.silent_for >= lease
    }

    fn watched(&self) -> std::sync::MutexGuard<'_, Watched> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Agent {
    /// Looks after other owners from now on, for as long as there are any.
    pub(super) fn keep_watch(self: &Arc<Self>) {
        if self.keeper.begins() {
            self.look_later();
        }
    }

    fn look_later(self: &Arc<Self>) {
        let agent = Arc::downgrade(self);
        let look = Box::new(move || {
            if let Some(agent) = agent.upgrade() {
                agent.look();
            }
        });
        self.outside.clock.after(EVERY, look);
    }

    fn look(self: &Arc<Self>) {
        self.keeper.looks();
        let owners: HashSet<OwnerId> =
            self.runners().iter().filter_map(|runner| runner.other_owner()).collect();
        if owners.is_empty() && self.keeper.ends() {
            return;
        }
        self.keeper.keep_only(&owners);
        for owner in owners {
            let agent = Arc::clone(self);
            let of = owner.clone();
            let reply = Box::new(move |seen: Result<Liveness, StoreError>| {
                // A store that fails says nothing of anybody's life.
                if seen.is_ok_and(|seen| agent.is_gone(&of, seen)) {
                    agent.runners().iter().for_each(|runner| runner.owner_is_gone(&of));
                }
            });
            self.outside.store.liveness(&owner, reply);
        }
        self.look_later();
    }

    fn is_gone(&self, owner: &OwnerId, seen: Liveness) -> bool {
        match seen {
            Liveness::Dead => true,
            Liveness::Alive => false,
            Liveness::Beating { beat, lease } => {
                // Programs with different settings may meet: the one that promised more time gets it.
                self.keeper.hear(owner, beat, self.outside.clock.monotonic(), lease.max(self.lease))
            }
        }
    }
}
