//! The open Sessions of an Agent in one store, and what is asked of the store beyond them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::Value;

use super::{
    arguments::{DEFAULT_PAGE, cursor, existing_id, page_limit, valid_id, whole_number},
    clock,
    error::RuntimeError,
    host::{Host, SessionRef},
    request::{Operation, Request},
    runner::Runner,
    view,
};
use crate::{
    core::{
        change::{ApprovalMode, SessionRow},
        engine::Engine,
        error::Refusal,
        input::{Input, Ticket},
        json::{Json, check_limits},
        settings::Settings,
    },
    storage::{ListPage, MessagePage, Opened, SessionKey, Store, StoreError},
};

/// The answer to a call that gives nothing, as JSON.
const NOTHING: &str = "null";

pub struct Agent {
    agent_id: Arc<str>,
    settings: Arc<Settings>,
    store: Arc<dyn Store>,
    host: Arc<dyn Host>,
    sessions: Mutex<Sessions>,
}

#[derive(Default)]
struct Sessions {
    last_handle: u32,
    by_handle: HashMap<u32, Arc<Runner>>,
    by_id: HashMap<Arc<str>, Slot>,
}

impl Sessions {
    /// A Session that was closed here, or taken over by another owner, is opened anew.
    fn forget_what_is_over(&mut self, session_id: &str) {
        if let Some(Slot::Open(handle)) = self.by_id.get(session_id) {
            let handle = *handle;
            if self.by_handle.get(&handle).is_some_and(|runner| runner.is_over()) {
                self.by_handle.remove(&handle);
                self.by_id.remove(session_id);
            }
        }
    }
}

enum Slot {
    /// With the store; these callers wait for it.
    Opening(Vec<Ticket>),
    Open(u32),
}

impl Agent {
    pub fn new(agent_id: &str, settings: Settings, store: Arc<dyn Store>, host: Arc<dyn Host>) -> Arc<Self> {
        let settings = Arc::new(settings);
        Arc::new(Self { agent_id: agent_id.into(), settings, store, host, sessions: Mutex::default() })
    }

    pub fn session(&self, handle: u32) -> Option<Arc<Runner>> {
        self.lock().by_handle.get(&handle).cloned()
    }

    /// Takes an input of an open Session. Where it is open no more, its caller is told.
    pub fn submit(&self, handle: u32, input: Input) {
        match self.session(handle) {
            Some(runner) => runner.submit(input),
            None => {
                if let Some(ticket) = input.ticket() {
                    self.host.answer(ticket, Err(RuntimeError::NotOpen));
                    self.host.wake();
                }
            }
        }
    }

    /// Takes a request; the answer goes to the host.
    pub fn call(self: &Arc<Self>, request: Request) {
        let ticket = request.ticket;
        if let Err(error) = self.start(ticket, request.operation) {
            self.host.answer(ticket, Err(error));
        }
        self.host.wake();
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
                self.store.list(&self.agent_id, page, reply);
                Ok(())
            }
            Operation::Archive { session_id } => {
                let key = self.key(&existing_id(&session_id)?);
                self.store.archive(&key, self.reply(ticket, |()| NOTHING.to_owned()));
                Ok(())
            }
            Operation::Remove { session_id } => {
                self.remove(ticket, self.key(&existing_id(&session_id)?));
                Ok(())
            }
            Operation::Pending { limit, after } => {
                let (limit, after) = (page_limit(&limit)?, cursor(&after)?);
                let reply = self.reply(ticket, |list| view::pending(&list));
                self.store.pending_of_agent(&self.agent_id, limit, after, reply);
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
                self.store.messages(runner.key(), page, reply);
            }
            Operation::Snapshot { session } => {
                let runner = self.open_session(session)?;
                let reply = self.reply(ticket, |snapshot| view::snapshot(&snapshot));
                self.store.snapshot(runner.key(), DEFAULT_PAGE, reply);
            }
            Operation::Interactions { session } => {
                self.host.answer(ticket, Ok(self.open_session(session)?.read(view::pending_of)));
            }
            Operation::Status { session } => {
                self.host.answer(
                    ticket,
                    Ok(self.open_session(session)?.read(|state| view::status(&state.session).to_string())),
                );
            }
            Operation::Journal { session, after, limit } => {
                let runner = self.open_session(session)?;
                let host = Arc::clone(&self.host);
                let reply = Box::new(move |result: Result<Vec<(u64, Arc<str>)>, StoreError>| {
                    let bodies = result.map(|rows| {
                        let bodies: Vec<&str> = rows.iter().map(|(_, body)| &**body).collect();
                        format!("[{}]", bodies.join(","))
                    });
                    host.answer(ticket, bodies.map_err(RuntimeError::from));
                    host.wake();
                });
                self.store.journal(runner.key(), after, limit, reply);
            }
            Operation::Release { session } => self.release(session),
            _ => unreachable!("the other operations are not about one open Session"),
        }
        Ok(())
    }

    fn create(
        self: &Arc<Self>,
        ticket: Ticket,
        session_id: &Value,
        metadata: Value,
        security: &Value,
    ) -> Result<(), RuntimeError> {
        let mut stamp = clock::stamp();
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
            session_id: session_id.clone(),
            metadata: (!metadata.is_null()).then(|| Json::new(metadata)),
            approval_mode: mode,
            effective_approval_mode: mode,
            revision: 0,
            commits: 0,
            last_commit_id: String::new(),
            message_count: 0,
            active_turn_id: None,
            created_at: stamp.now(),
            updated_at: stamp.now(),
        };
        let agent = Arc::clone(self);
        let key = self.key(&session_id);
        let reply = Box::new(move |result: Result<(), StoreError>| {
            match result {
                Ok(()) => agent.open(ticket, &session_id),
                Err(error) => agent.host.answer(ticket, Err(error.into())),
            }
            agent.host.wake();
        });
        self.store.create(&key, row, reply);
        Ok(())
    }

    fn remove(self: &Arc<Self>, ticket: Ticket, key: SessionKey) {
        let agent = Arc::clone(self);
        let session_id = key.session_id.clone();
        let reply = Box::new(move |result: Result<(), StoreError>| {
            if result.is_ok() {
                agent.forget_removed(&session_id);
            }
            let answer = result.map(|()| NOTHING.to_owned()).map_err(RuntimeError::from);
            agent.host.answer(ticket, answer);
            agent.host.wake();
        });
        self.store.remove(&key, reply);
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

    /// Opens a Session, or gives the open one: everyone who asks gets the same.
    fn open(self: &Arc<Self>, ticket: Ticket, session_id: &str) {
        let mut sessions = self.lock();
        sessions.forget_what_is_over(session_id);
        match sessions.by_id.get_mut(session_id) {
            Some(Slot::Opening(waiting)) => waiting.push(ticket),
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
                sessions.by_id.insert(key.session_id.clone(), Slot::Opening(vec![ticket]));
                drop(sessions);
                let agent = Arc::clone(self);
                let opened_key = key.clone();
                self.store.open(&key, Box::new(move |result| agent.opened(opened_key, result)));
            }
        }
    }

    fn opened(self: &Arc<Self>, key: SessionKey, result: Result<Opened, StoreError>) {
        let mut sessions = self.lock();
        let Some(Slot::Opening(waiting)) = sessions.by_id.remove(&key.session_id) else { return };
        match result {
            Err(error) => {
                drop(sessions);
                for ticket in waiting {
                    self.host.answer(ticket, Err(error.clone().into()));
                }
            }
            Ok(Opened { rows, fence }) => {
                sessions.last_handle += 1;
                let handle = sessions.last_handle;
                let session = SessionRef { handle, session_id: key.session_id.clone() };
                let engine = Engine::restored(self.settings.clone(), rows);
                let (store, host) = (self.store.clone(), self.host.clone());
                let runner = Runner::new(session, key.clone(), fence, engine, store, host);
                sessions.by_handle.insert(handle, runner.clone());
                sessions.by_id.insert(key.session_id, Slot::Open(handle));
                drop(sessions);
                for ticket in waiting {
                    runner.submit(Input::Open { ticket });
                }
            }
        }
        self.host.wake();
    }

    fn release(&self, handle: u32) {
        let mut sessions = self.lock();
        if let Some(runner) = sessions.by_handle.remove(&handle) {
            runner.release();
            let session_id = &runner.key().session_id;
            if matches!(sessions.by_id.get(session_id), Some(Slot::Open(open)) if *open == handle) {
                sessions.by_id.remove(session_id);
            }
        }
    }

    fn open_session(&self, handle: u32) -> Result<Arc<Runner>, RuntimeError> {
        self.session(handle).ok_or(RuntimeError::NotOpen)
    }

    fn key(&self, session_id: &str) -> SessionKey {
        SessionKey { agent_id: self.agent_id.clone(), session_id: session_id.into() }
    }

    fn lock(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A reply that hands the store's answer on to the host.
    fn reply<T: 'static>(
        &self,
        ticket: Ticket,
        show: impl Fn(T) -> String + Send + 'static,
    ) -> Box<dyn FnOnce(Result<T, StoreError>) + Send> {
        let host = Arc::clone(&self.host);
        Box::new(move |result| {
            host.answer(ticket, result.map(show).map_err(RuntimeError::from));
            host.wake();
        })
    }
}
