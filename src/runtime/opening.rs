//! Sessions come into an Agent and leave it: created, opened, released, removed.

use std::sync::Arc;

use serde_json::Value;

use super::{
    agent::{Agent, NOTHING, Opening, Slot},
    arguments::valid_id,
    error::RuntimeError,
    host::SessionRef,
    outside::Around,
    runner::Runner,
    standing::Standing,
    view,
};
use crate::{
    core::{
        change::{ApprovalMode, OpenRows, SessionRow},
        engine::Engine,
        error::Refusal,
        input::{Input, Ticket},
        json::{Json, check_limits},
    },
    storage::{Liveness, Opened, OwnerId, Ownership, SessionKey, StoreError, UnfinishedSession},
};

const UNKNOWN_MODE: &str = "Its stored approval mode is none that is known, so people are asked. Set it anew with \
                            session.set({ security: { approval_mode } }).";

impl Agent {
    pub(super) fn create(
        self: &Arc<Self>,
        ticket: Ticket,
        session_id: &Value,
        metadata: Value,
        security: &Value,
    ) -> Result<(), RuntimeError> {
        let mut stamp = self.outside.clock.stamp();
        let session_id = match session_id {
            Value::Null => stamp.id("session"),
            given => valid_id("session_id", given)?.to_owned(),
        };
        check_limits(&metadata)
            .map_err(|problem| Refusal::invalid(format!("metadata is refused: {problem}.")))?;
        let mode = match security {
            Value::Null => None,
            security => ApprovalMode::from_security(security)?,
        };
        let mode = mode.unwrap_or(ApprovalMode::Ask);
        let row = SessionRow {
            metadata: (!metadata.is_null()).then(|| Json::new(metadata)),
            ..SessionRow::new(&session_id, mode, stamp.now())
        };
        let (agent, key, created) = (Arc::clone(self), self.key(&session_id), row.clone());
        let reply = Box::new(move |result: Result<u64, StoreError>| {
            match result {
                Ok(fence) => agent.created(ticket, created, fence),
                Err(error) => agent.outside.host.answer(ticket, Err(error.into())),
            }
            agent.outside.host.wake();
        });
        self.join();
        self.outside.store.create(&key, row, reply);
        Ok(())
    }

    fn created(self: &Arc<Self>, ticket: Ticket, row: SessionRow, fence: u64) {
        let key = self.key(&row.session_id);
        let mut sessions = self.lock();
        sessions.forget_what_is_over(&key.session_id);
        if sessions.by_id.contains_key(&key.session_id) {
            // Somebody who knew the id was faster to open it.
            drop(sessions);
            self.open(ticket, &key.session_id);
            return;
        }
        sessions.by_id.insert(key.session_id.clone(), Opening::of(ticket));
        drop(sessions);
        self.admit(key, OpenRows::of(row), Standing::of_creator(fence));
    }

    /// Opens a Session, or gives the open one: everyone who asks gets the same.
    pub(super) fn open(self: &Arc<Self>, ticket: Ticket, session_id: &str) {
        self.join();
        let mut sessions = self.lock();
        sessions.forget_what_is_over(session_id);
        match sessions.by_id.get_mut(session_id) {
            Some(Slot::Opening(opening)) => opening.waiting.push(ticket),
            Some(Slot::Open(handle)) => {
                let handle = *handle;
                let runner = sessions.by_handle.get(&handle).cloned();
                drop(sessions);
                if let Some(runner) = runner {
                    runner.submit(Input::Open { ticket });
                }
            }
            None => {
                let key = self.key(session_id);
                sessions.by_id.insert(key.session_id.clone(), Opening::of(ticket));
                drop(sessions);
                let agent = Arc::clone(self);
                let opened_key = key.clone();
                let reply = Box::new(move |result| {
                    agent.opened(opened_key, result);
                    agent.outside.host.wake();
                });
                self.outside.store.open(&key, reply);
            }
        }
    }

    fn opened(self: &Arc<Self>, key: SessionKey, result: Result<Opened, StoreError>) {
        let Opened { rows, ownership } = match result {
            Ok(opened) => opened,
            Err(error) => {
                let slot = self.lock().by_id.remove(&key.session_id);
                let Some(Slot::Opening(opening)) = slot else { return };
                for ticket in opening.waiting {
                    self.outside.host.answer(ticket, Err(error.clone().into()));
                }
                return;
            }
        };
        if ownership.owner.as_ref() == Some(&self.me) && !self.settings.has_model {
            // Left behind under an earlier handle, and nothing here to go on with it: others must be able to.
            let (agent, of) = (Arc::clone(self), key.clone());
            let reply = Box::new(move |given_up: Result<(), StoreError>| {
                let nobodys = Ownership { owner: None, ..ownership };
                agent.opened(of, given_up.map(|()| Opened { rows, ownership: nobodys }));
                agent.outside.host.wake();
            });
            self.outside.store.release(&key, &self.me, reply);
            return;
        }
        let mut standing = Standing::seen(ownership, &self.me);
        let Some(owner) = standing.other().cloned() else {
            self.admit(key, rows, standing);
            return;
        };
        // An owner that is seen to be dead is replaced before anybody gets the Session.
        let agent = Arc::clone(self);
        let of = owner.clone();
        let reply = Box::new(move |seen: Result<Liveness, StoreError>| {
            if seen == Ok(Liveness::Dead) {
                standing.owner_is_gone(&of);
            }
            agent.admit(key, rows, standing);
            agent.keep_watch();
            agent.outside.host.wake();
        });
        self.outside.store.liveness(&owner, reply);
    }

    /// Those who waited for the Session get it.
    fn admit(self: &Arc<Self>, key: SessionKey, rows: OpenRows, standing: Standing) {
        let mut sessions = self.lock();
        let Some(Slot::Opening(opening)) = sessions.by_id.remove(&key.session_id) else { return };
        sessions.last_handle += 1;
        let handle = sessions.last_handle;
        let session = SessionRef { handle, session_id: key.session_id.clone() };
        if rows.session.unknown_mode {
            self.outside.host.warn(&session, UNKNOWN_MODE.to_owned());
        }
        let engine = Engine::restored(self.settings.clone(), rows);
        let agent = Arc::downgrade(self);
        let around = Around {
            outside: self.outside.clone(),
            feed: self.feed.clone(),
            watch_owners: Arc::new(move || {
                if let Some(agent) = agent.upgrade() {
                    agent.keep_watch();
                }
            }),
        };
        let runner = Runner::new(session, key.clone(), self.me.clone(), standing, engine, around);
        sessions.by_handle.insert(handle, runner.clone());
        sessions.by_id.insert(key.session_id, Slot::Open(handle));
        drop(sessions);
        for ticket in opening.waiting {
            runner.submit(Input::Open { ticket });
        }
        if opening.noticed {
            runner.noticed();
        }
    }

    pub(super) fn release(&self, ticket: Ticket, handle: u32) {
        let reply = self.reply(ticket, |()| NOTHING.to_owned());
        let mut sessions = self.lock();
        let Some(runner) = sessions.by_handle.remove(&handle) else {
            drop(sessions);
            reply(Ok(()));
            return;
        };
        let session_id = &runner.key().session_id;
        if matches!(sessions.by_id.get(session_id), Some(Slot::Open(open)) if *open == handle) {
            sessions.by_id.remove(session_id);
        }
        drop(sessions);
        runner.release(reply);
    }

    pub(super) fn remove(self: &Arc<Self>, ticket: Ticket, key: SessionKey) {
        let agent = Arc::clone(self);
        let session_id = key.session_id.clone();
        let reply = Box::new(move |result: Result<(), StoreError>| {
            if result.is_ok() {
                agent.forget_removed(&session_id);
            }
            let answer = result.map(|()| NOTHING.to_owned()).map_err(RuntimeError::from);
            agent.outside.host.answer(ticket, answer);
            agent.outside.host.wake();
        });
        self.outside.store.remove(&key, reply);
    }

    /// Whoever has it open is told that it is gone.
    fn forget_removed(&self, session_id: &str) {
        let mut sessions = self.lock();
        if let Some(Slot::Open(handle)) = sessions.by_id.get(session_id) {
            let handle = *handle;
            sessions.by_id.remove(session_id);
            let runner = sessions.by_handle.remove(&handle);
            drop(sessions);
            if let Some(runner) = runner {
                runner.removed();
            }
        }
    }

    /// The Sessions with an unfinished Turn that nobody alive owns.
    pub(super) fn claimable(self: &Arc<Self>, ticket: Ticket) {
        if !self.settings.has_model {
            self.outside.host.answer(ticket, Ok(view::ids(&[])));
            return;
        }
        let agent = Arc::clone(self);
        let reply = Box::new(move |found: Result<Vec<UnfinishedSession>, StoreError>| match found {
            Ok(found) => {
                let owners = found.iter().filter_map(|session| session.owner.clone());
                let mut owners: Vec<OwnerId> = owners.filter(|owner| *owner != agent.me).collect();
                owners.sort_unstable();
                owners.dedup();
                agent.judge_claims(ticket, found, owners, Vec::new());
            }
            Err(error) => {
                agent.outside.host.answer(ticket, Err(error.into()));
                agent.outside.host.wake();
            }
        });
        self.outside.store.unfinished(&self.agent_id, reply);
    }

    /// Looks at one owner after the other, then answers.
    fn judge_claims(
        self: &Arc<Self>,
        ticket: Ticket,
        found: Vec<UnfinishedSession>,
        mut owners: Vec<OwnerId>,
        mut alive: Vec<OwnerId>,
    ) {
        let Some(owner) = owners.pop() else {
            let free = found.iter().filter(|session| match &session.owner {
                Some(owner) => *owner != self.me && !alive.contains(owner),
                None => true,
            });
            let ids: Vec<&str> = free.map(|session| &*session.session_id).collect();
            self.outside.host.answer(ticket, Ok(view::ids(&ids)));
            self.outside.host.wake();
            return;
        };
        let agent = Arc::clone(self);
        let of = owner.clone();
        let reply = Box::new(move |seen: Result<Liveness, StoreError>| {
            if seen != Ok(Liveness::Dead) {
                alive.push(of);
            }
            agent.judge_claims(ticket, found, owners, alive);
        });
        self.outside.store.liveness(&owner, reply);
    }
}
