//! How a Session leaves a runner: lost to somebody else, or let go; and how one comes that nobody has any more.

use std::sync::{Arc, MutexGuard};

use super::{
    flight::Phase,
    runner::{Inner, Runner},
};
use crate::{
    core::{error::Refusal, input::Input},
    storage::{Authority, OwnerId, Reply, StoreError},
};

impl Inner {
    /// It is this runner's to go on with the Session.
    pub fn owns(&self) -> bool {
        self.standing.is_mine() && self.engine.state().is_unfinished()
    }
}

impl Runner {
    /// The Session was removed from the store.
    pub fn removed(&self) {
        self.lose(&mut self.lock(), StoreError::NotFound);
        self.outside.host.wake();
    }

    /// Nothing more is taken here; the Session can be opened anew.
    pub fn is_over(&self) -> bool {
        let inner = self.lock();
        inner.lost.is_some() || inner.released || inner.engine.state().closed
    }

    pub(super) fn lose(&self, inner: &mut Inner, why: StoreError) {
        if inner.lost.is_none() {
            inner.lost = Some(why.clone());
            self.outside.host.lost(&self.session, why.into());
        }
    }

    /// The handle is given up: whoever is about to open it has to open the Session anew. What has happened by now
    /// is written first, and nothing more is started; then the Session has no owner here.
    pub fn release(self: &Arc<Self>, reply: Reply<()>) {
        let mut inner = self.lock();
        inner.released = true;
        inner.inbox.keep_what_has_happened();
        inner.on_release = Some(reply);
        match inner.phase {
            Phase::Driving | Phase::Appending { .. } | Phase::Checking => {}
            // A store that fails is not waited for.
            Phase::Idle | Phase::Doubtful(_) => self.let_go(inner),
        }
    }

    /// Ends what [`release`](Self::release) began, where it was called.
    pub(super) fn let_go(self: &Arc<Self>, mut inner: MutexGuard<'_, Inner>) {
        let Some(reply) = inner.on_release.take() else { return };
        let mut waiting = std::mem::take(&mut inner.inbox).take_calls();
        let mut owns = inner.owns();
        if let Phase::Doubtful(Some(flight)) = std::mem::replace(&mut inner.phase, Phase::Idle) {
            // Perhaps it went through, and the Session is this Agent's.
            owns |= flight.authority != Authority::Guest;
            // Nobody comes back to what was to be decided again.
            waiting.extend(flight.untold());
        }
        drop(inner);
        for ticket in waiting.iter().filter_map(Input::ticket) {
            self.outside.host.answer(ticket, Err(Refusal::closed().into()));
        }
        if owns {
            self.outside.store.release(&self.key, &self.me, reply);
        } else {
            reply(Ok(()));
        }
    }

    /// Gives up what was taken when the Session was opened and nobody got it: the store had said that it failed.
    pub(super) fn hand_back(&self, mut inner: MutexGuard<'_, Inner>) {
        inner.standing.hand_back();
        inner.engine.hand_back();
        drop(inner);
        // Where this fails too, it is this Agent's still, and taken again when it is opened.
        self.outside.store.release(&self.key, &self.me, Box::new(|_| ()));
    }

    /// Who owns the Session elsewhere.
    pub(super) fn other_owner(&self) -> Option<OwnerId> {
        let inner = self.lock();
        if inner.lost.is_some() || inner.released { None } else { inner.standing.other().cloned() }
    }

    /// The owner will not go on with the Session: whoever has a model takes it.
    pub(super) fn owner_is_gone(self: &Arc<Self>, owner: &OwnerId) {
        let mut inner = self.lock();
        if inner.standing.owner_is_gone(owner) {
            inner.inbox.push(Input::GoOn);
            self.start(inner);
        }
    }
}
