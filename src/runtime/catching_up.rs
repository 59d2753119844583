//! A runner that no longer knows how its Session stands asks the store: after a commit that failed, after one of
//! somebody else.

use std::{
    sync::{Arc, MutexGuard},
    time::Duration,
};

use serde_json::Value;

use super::{
    flight::{Flight, Phase},
    runner::{Inner, Runner},
};
use crate::{
    core::{
        change::OpenRows,
        engine::Receipt,
        input::{Input, Ticket},
    },
    storage::{CaughtUp, Opened, Ownership, StoreError},
};

const LONGEST_RETRY: Duration = Duration::from_secs(5);

impl Runner {
    /// Somebody else has changed the Session, or may have.
    pub fn noticed(self: &Arc<Self>) {
        let mut inner = self.lock();
        inner.noticed = true;
        // A store that fails is asked again when its wait is over.
        if !matches!(inner.phase, Phase::Doubtful(_)) {
            self.start(inner);
        }
    }

    /// Somebody else has just asked what is answered here: once that is known here it is decided.
    pub(super) fn respond_again(self: &Arc<Self>, ticket: Ticket, interaction_id: String, response: Value) {
        let again = Input::Respond { ticket, interaction_id: interaction_id.into(), response, again: true };
        let mut inner = self.lock();
        inner.noticed = true;
        inner.inbox.push(again);
        self.start(inner);
    }

    /// Asks the store how the Session stands there, and what became of a commit. The phase is `Driving`.
    pub(super) fn check(self: &Arc<Self>, flight: Option<Flight>) {
        let mut inner = self.lock();
        inner.phase = Phase::Checking;
        inner.noticed = false;
        let revision = inner.engine.state().session.revision;
        drop(inner);
        let runner = Arc::clone(self);
        let reply = Box::new(move |result| runner.checked(flight, result));
        self.outside.store.catch_up(&self.key, revision, reply);
    }

    fn checked(self: &Arc<Self>, mut flight: Option<Flight>, result: Result<CaughtUp, StoreError>) {
        let mut inner = self.lock();
        inner.phase = Phase::Driving;
        match result {
            Ok(caught_up) => {
                if self.caught_up(&mut inner, flight, caught_up) {
                    drop(inner);
                    self.drive();
                } else {
                    inner.phase = Phase::Idle;
                    self.try_later(inner);
                }
            }
            Err(StoreError::NotFound) => {
                if let Some(flight) = &mut flight {
                    self.fail(&flight.inputs, &StoreError::NotFound, &mut flight.told);
                }
                self.lose(&mut inner, StoreError::NotFound);
                drop(inner);
                self.drive();
            }
            Err(error) => {
                let waiting: Vec<Input> = inner.inbox.take_calls();
                self.fail(&waiting, &error, &mut Vec::new());
                inner.phase = Phase::Doubtful(flight);
                self.try_later(inner);
            }
        }
        self.outside.host.wake();
    }

    /// Takes over what the store has; false when what is left to do should wait a little.
    fn caught_up(
        self: &Arc<Self>,
        inner: &mut Inner,
        flight: Option<Flight>,
        CaughtUp { opened: Opened { rows, ownership }, journal }: CaughtUp,
    ) -> bool {
        let mut failed = false;
        let known = &inner.engine.state().session;
        if rows.session.created_at != known.created_at || rows.session.commits < known.commits {
            // It was removed, and made again under its id.
            if let Some(mut flight) = flight {
                self.fail(&flight.inputs, &StoreError::NotFound, &mut flight.told);
            }
            self.lose(inner, StoreError::NotFound);
            return true;
        }
        inner.fresh = true;
        match flight {
            Some(flight) if went_through(&flight, &rows) => {
                let receipt = Receipt::new(&flight.proposal.commit().commit_id, ownership.fence);
                self.committed(inner, flight, &receipt);
                // What others committed behind it is another look.
                inner.noticed |= rows.session.commits != inner.engine.state().session.commits;
                return true;
            }
            Some(mut flight) => {
                if inner.standing.is_lost_to(&ownership) && inner.engine.state().is_unfinished() {
                    self.fail(&flight.inputs, &StoreError::LeaseLost, &mut flight.told);
                }
                inner.inbox.put_back(flight.untold().collect());
                failed = true;
            }
            None => {}
        }
        let same_commits = rows.session.commits == inner.engine.state().session.commits;
        if same_commits && inner.standing.agrees_with(&ownership) {
            // The store reads but did not write: what is left is not tried again at once.
            return !failed || inner.inbox.is_empty();
        }
        self.follow(inner, rows, &journal, ownership);
        true
    }

    /// Somebody else has committed, or taken the Session, or given it up.
    fn follow(
        self: &Arc<Self>,
        inner: &mut Inner,
        rows: OpenRows,
        journal: &[Arc<str>],
        ownership: Ownership,
    ) {
        let lost = inner.standing.is_lost_to(&ownership);
        if lost && inner.engine.state().is_unfinished() {
            self.lose(inner, StoreError::LeaseLost);
            return;
        }
        let is_owner = inner.standing.is_mine() && !lost;
        if !is_owner {
            inner.standing.seen_again(ownership, &self.me);
        }
        if inner.standing.other().is_some() {
            (self.watch_owners)();
        }
        let effects = inner.engine.catch_up(rows, journal, is_owner);
        self.perform(inner, effects, &[]);
        let nobodys = !is_owner && inner.standing.other().is_none() && inner.engine.state().is_unfinished();
        if nobodys && inner.known {
            // Whoever has it open and can go on with it does.
            inner.inbox.push(Input::GoOn);
        }
    }

    /// Comes back after a while.
    fn try_later(self: &Arc<Self>, mut inner: MutexGuard<'_, Inner>) {
        let wait = inner.retry;
        inner.retry = (wait * 2).min(LONGEST_RETRY);
        if inner.released {
            self.let_go(inner);
            return;
        }
        drop(inner);
        let runner = Arc::downgrade(self);
        let again = Box::new(move || {
            if let Some(runner) = runner.upgrade() {
                runner.start(runner.lock());
            }
        });
        self.outside.clock.after(wait, again);
    }
}

fn went_through(flight: &Flight, rows: &OpenRows) -> bool {
    let id = &flight.proposal.commit().commit_id;
    [&rows.session.last_commit_id, &rows.session.last_guest_commit_id].contains(&id)
}
