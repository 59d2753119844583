//! The open Sessions of an Agent in one store, and what is asked of the store beyond them.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use super::{
    arguments::{cursor, existing_id, page_limit, whole_number},
    error::RuntimeError,
    feed::Feed,
    keeper::Keeper,
    outside::Outside,
    request::{Operation, Request},
    runner::Runner,
    view,
};
use crate::{
    core::{
        input::{Input, Ticket},
        settings::Settings,
    },
    storage::{ListPage, Member, MessagePage, Notice, OwnerId, Reply, SessionKey, Snapshot, StoreError},
};

/// The answer to a call that gives nothing, as JSON.
pub(super) const NOTHING: &str = "null";

/// How long an owner that cannot be seen may be silent before it is replaced, unless the host says otherwise.
pub const DEFAULT_LEASE: Duration = Duration::from_secs(10);

pub struct Agent {
    pub(super) agent_id: Arc<str>,
    /// As whom it owns Sessions.
    pub(super) me: OwnerId,
    pub(super) lease: Duration,
    pub(super) settings: Arc<Settings>,
    pub(super) outside: Outside,
    pub(super) keeper: Keeper,
    pub(super) feed: Arc<Feed>,
    joined: AtomicBool,
    sessions: Mutex<Sessions>,
}

#[derive(Default)]
pub(super) struct Sessions {
    pub last_handle: u32,
    pub by_handle: HashMap<u32, Arc<Runner>>,
    pub by_id: HashMap<Arc<str>, Slot>,
}

impl Sessions {
    /// The runner that has to look again; one that is still being opened will.
    fn notice(&mut self, session_id: &str) -> Option<Arc<Runner>> {
        match self.by_id.get_mut(session_id)? {
            Slot::Open(handle) => self.by_handle.get(handle).cloned(),
            Slot::Opening(opening) => {
                opening.noticed = true;
                None
            }
        }
    }

    /// A Session that was closed here, or taken over by another owner, is opened anew.
    pub fn forget_what_is_over(&mut self, session_id: &str) {
        if let Some(Slot::Open(handle)) = self.by_id.get(session_id) {
            let handle = *handle;
            if self.by_handle.get(&handle).is_some_and(|runner| runner.is_over()) {
                self.by_handle.remove(&handle);
                self.by_id.remove(session_id);
            }
        }
    }
}

pub(super) enum Slot {
    /// With the store.
    Opening(Opening),
    Open(u32),
}

pub(super) struct Opening {
    /// These callers wait for it.
    pub waiting: Vec<Ticket>,
    /// Somebody else has committed meanwhile, perhaps after it was read.
    pub noticed: bool,
}

impl Opening {
    pub fn of(ticket: Ticket) -> Slot {
        Slot::Opening(Self { waiting: vec![ticket], noticed: false })
    }
}

impl Agent {
    pub fn new(agent_id: &str, settings: Settings, lease: Duration, outside: Outside) -> Arc<Self> {
        let me = outside.clock.stamp().id("owner").into();
        let agent_id: Arc<str> = agent_id.into();
        Arc::new(Self {
            feed: outside.feed_of(agent_id.clone()),
            agent_id,
            me,
            lease,
            settings: Arc::new(settings),
            outside,
            keeper: Keeper::default(),
            joined: AtomicBool::new(false),
            sessions: Mutex::default(),
        })
    }

    pub fn session(&self, handle: u32) -> Option<Arc<Runner>> {
        self.lock().by_handle.get(&handle).cloned()
    }

    /// Takes an input of an open Session. Where it is open no more, its caller is told.
    pub fn submit(&self, handle: u32, input: Input) {
        self.submit_all(handle, vec![input]);
    }

    /// Takes inputs that came together.
    pub fn submit_all(&self, handle: u32, inputs: Vec<Input>) {
        match self.session(handle) {
            Some(runner) => runner.submit_all(inputs),
            None => {
                for ticket in inputs.iter().filter_map(Input::ticket) {
                    self.outside.host.answer(ticket, Err(RuntimeError::NotOpen));
                }
                self.outside.host.wake();
            }
        }
    }

    /// Takes a request; the answer goes to the host.
    pub fn call(self: &Arc<Self>, request: Request) {
        let ticket = request.ticket;
        if let Err(error) = self.start(ticket, request.operation) {
            self.outside.host.answer(ticket, Err(error));
        }
        self.outside.host.wake();
    }

    fn start(self: &Arc<Self>, ticket: Ticket, operation: Operation) -> Result<(), RuntimeError> {
        match operation {
            Operation::Create { session_id, metadata, security } => {
                self.create(ticket, &session_id, metadata, &security)
            }
            Operation::Open { session_id } => {
                self.open(ticket, &existing_id(&session_id)?);
                Ok(())
            }
            Operation::List { limit, after, archived } => {
                let page = ListPage { limit: page_limit(&limit)?, after: cursor(&after)?, archived };
                let reply = self.reply(ticket, |list| view::sessions(&list));
                self.outside.store.list(&self.agent_id, page, reply);
                Ok(())
            }
            Operation::Archive { session_id } => {
                let key = self.key(&existing_id(&session_id)?);
                self.outside.store.archive(&key, self.reply(ticket, |()| NOTHING.to_owned()));
                Ok(())
            }
            Operation::Remove { session_id } => {
                self.remove(ticket, self.key(&existing_id(&session_id)?));
                Ok(())
            }
            Operation::Pending { limit, after } => {
                let (limit, after) = (page_limit(&limit)?, cursor(&after)?);
                let reply = self.reply(ticket, |list| view::pending(&list));
                self.outside.store.pending_of_agent(&self.agent_id, limit, after, reply);
                Ok(())
            }
            Operation::Feed { on: true } => {
                self.join();
                self.feed.begin(ticket);
                Ok(())
            }
            Operation::Feed { on: false } => {
                self.feed.end();
                self.outside.host.answer(ticket, Ok(NOTHING.to_owned()));
                Ok(())
            }
            Operation::Claim => {
                self.claimable(ticket);
                Ok(())
            }
            operation => self.query(ticket, operation),
        }
    }

    /// What is asked about one open Session.
    fn query(self: &Arc<Self>, ticket: Ticket, operation: Operation) -> Result<(), RuntimeError> {
        match operation {
            Operation::Messages { session, before_sequence, limit } => {
                let runner = self.open_session(session)?;
                let before_sequence = whole_number("before_sequence", &before_sequence)?;
                let page = MessagePage { before_sequence, limit: page_limit(&limit)? };
                let reply = self.reply(ticket, |messages: Vec<_>| view::messages(&messages));
                self.outside.store.messages(runner.key(), page, reply);
            }
            Operation::Snapshot { session, limit } => {
                let runner = self.open_session(session)?;
                let reply = self.reply(ticket, |snapshot| view::snapshot(&snapshot));
                self.outside.store.snapshot(runner.key(), page_limit(&limit)?, reply);
            }
            Operation::Interactions { session } => {
                let runner = self.open_session(session)?;
                let reply = self.reply(ticket, |pending: Vec<_>| view::interactions(&pending));
                self.outside.store.pending(runner.key(), reply);
            }
            Operation::Status { session } => {
                let runner = self.open_session(session)?;
                let status = |snapshot: Snapshot| view::status(&snapshot.session).to_string();
                self.outside.store.snapshot(runner.key(), 0, self.reply(ticket, status));
            }
            Operation::Journal { session, after, limit } => {
                let runner = self.open_session(session)?;
                let host = Arc::clone(&self.outside.host);
                let reply = Box::new(move |result: Result<Vec<(u64, Arc<str>)>, StoreError>| {
                    let bodies = result.map(|rows| {
                        let bodies: Vec<&str> = rows.iter().map(|(_, body)| &**body).collect();
                        format!("[{}]", bodies.join(","))
                    });
                    host.answer(ticket, bodies.map_err(RuntimeError::from));
                    host.wake();
                });
                self.outside.store.journal(runner.key(), after, limit, reply);
            }
            Operation::Release { session } => self.release(ticket, session),
            _ => unreachable!("the other operations are not about one open Session"),
        }
        Ok(())
    }

    /// From the first Session on: who only lists what there is has to show no life.
    pub(super) fn join(self: &Arc<Self>) {
        if self.joined.swap(true, Ordering::Relaxed) {
            return;
        }
        let agent = Arc::downgrade(self);
        let notice: Notice = Arc::new(move |key| {
            if let Some(agent) = agent.upgrade() {
                agent.noticed(key);
            }
        });
        let (owner, agent_id, lease) = (self.me.clone(), self.agent_id.clone(), self.lease);
        self.outside.store.join(Member { owner, agent_id, lease, notice });
    }

    /// Gives up all it owns. What still holds the Agent on some thread does not delay that.
    pub fn leave(&self) {
        if self.joined.swap(false, Ordering::Relaxed) {
            self.outside.store.leave(&self.me);
        }
    }

    /// Somebody else has changed a Session, or it may be any.
    fn noticed(self: &Arc<Self>, key: Option<&SessionKey>) {
        self.feed.changed();
        let runners: Vec<Arc<Runner>> = match key {
            Some(key) => self.lock().notice(&key.session_id).into_iter().collect(),
            None => {
                let mut sessions = self.lock();
                let ids: Vec<_> = sessions.by_id.keys().cloned().collect();
                ids.iter().filter_map(|id| sessions.notice(id)).collect()
            }
        };
        if runners.is_empty() {
            return;
        }
        runners.iter().for_each(|runner| runner.noticed());
        // Somebody else may own it from now on.
        self.keep_watch();
    }

    pub(super) fn runners(&self) -> Vec<Arc<Runner>> {
        self.lock().by_handle.values().cloned().collect()
    }

    fn open_session(&self, handle: u32) -> Result<Arc<Runner>, RuntimeError> {
        self.session(handle).ok_or(RuntimeError::NotOpen)
    }

    pub(super) fn key(&self, session_id: &str) -> SessionKey {
        SessionKey { agent_id: self.agent_id.clone(), session_id: session_id.into() }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A reply that hands the store's answer on to the host.
    pub(super) fn reply<T: 'static>(
        &self,
        ticket: Ticket,
        show: impl Fn(T) -> String + Send + 'static,
    ) -> Reply<T> {
        let host = Arc::clone(&self.outside.host);
        Box::new(move |result| {
            host.answer(ticket, result.map(show).map_err(RuntimeError::from));
            host.wake();
        })
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.leave();
    }
}
