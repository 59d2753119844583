//! The outbox: everything JavaScript has to hear, in the order it happened.

use std::{
    collections::HashSet,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};

use super::{convert, guard::inside_call};
use crate::{
    core::{effect::Effect, input::Ticket},
    runtime::{
        error::RuntimeError,
        host::{Host, SessionRef},
    },
};

/// Weak: a process with nothing in flight ends although it could be woken.
pub(super) type Wake = ThreadsafeFunction<(), (), (), napi::Status, false, true>;

pub(super) struct Outbox {
    queue: Mutex<Queue>,
    /// A wake is on its way to JavaScript already.
    woken: AtomicBool,
    wake: Wake,
}

#[derive(Default)]
struct Queue {
    events: Vec<String>,
    /// The Sessions whose Mutations somebody listens to.
    observed: HashSet<u32>,
}

impl Outbox {
    pub fn new(wake: Wake) -> Self {
        Self { queue: Mutex::default(), woken: AtomicBool::new(false), wake }
    }

    pub fn observe(&self, session: u32, on: bool) {
        let mut queue = self.lock();
        if on {
            queue.observed.insert(session);
        } else {
            queue.observed.remove(&session);
        }
    }

    /// Everything so far as one JSON array, and nothing is left.
    pub fn drain(&self) -> Option<String> {
        self.woken.store(false, Ordering::SeqCst);
        let events = std::mem::take(&mut self.lock().events);
        (!events.is_empty()).then(|| format!("[{}]", events.join(",")))
    }

    pub fn is_empty(&self) -> bool {
        self.lock().events.is_empty()
    }

    fn push(&self, event: String) {
        self.lock().events.push(event);
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Host for Outbox {
    fn perform(&self, session: &SessionRef, effect: Effect) {
        if matches!(effect, Effect::Publish { .. }) && !self.lock().observed.contains(&session.handle) {
            return;
        }
        self.push(convert::event(session, effect));
    }

    fn answer(&self, ticket: Ticket, result: Result<String, RuntimeError>) {
        self.push(convert::answer(ticket, result));
    }

    fn lost(&self, session: &SessionRef, why: RuntimeError) {
        self.push(convert::lost(session, &why));
    }

    fn warn(&self, session: &SessionRef, message: String) {
        self.push(convert::warning(session, &message));
    }

    fn wake(&self) {
        if inside_call() || self.is_empty() || self.woken.swap(true, Ordering::SeqCst) {
            return;
        }
        self.wake.call((), ThreadsafeFunctionCallMode::NonBlocking);
    }
}
