//! The outbox: everything JavaScript has to hear, in the order it happened.

use std::{
    collections::{HashSet, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};

use super::{convert, guard::inside_call_for};
use crate::{
    core::{effect::Effect, input::Ticket},
    runtime::{
        error::RuntimeError,
        host::{Host, SessionRef},
    },
};

/// How much one `drain` gives at the most, where it is more than one event.
const DRAIN_BYTES: usize = 32 * 1024 * 1024;

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
    events: VecDeque<String>,
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

    /// The next events as one JSON array, as many as one string may well hold; `None` when there are none.
    pub fn drain(&self) -> Option<String> {
        self.woken.store(false, Ordering::SeqCst);
        let mut queue = self.lock();
        let mut bytes = 0;
        let mut count = 0;
        for event in &queue.events {
            bytes += event.len();
            if count > 0 && bytes > DRAIN_BYTES {
                break;
            }
            count += 1;
        }
        let events: Vec<String> = queue.events.drain(..count).collect();
        drop(queue);
        (!events.is_empty()).then(|| format!("[{}]", events.join(",")))
    }

    pub fn is_empty(&self) -> bool {
        self.lock().events.is_empty()
    }

    fn push(&self, event: String) {
        self.lock().events.push_back(event);
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
        convert::events(session, effect, |event| self.push(event));
    }

    fn answer(&self, ticket: Ticket, result: Result<String, RuntimeError>) {
        self.push(convert::answer(ticket, result));
    }

    fn fed(&self, body: Arc<str>) {
        self.push(format!(r#"{{"e":"feed","mutation":{body}}}"#));
    }

    fn lost(&self, session: &SessionRef, why: RuntimeError) {
        self.push(convert::lost(session, &why));
    }

    fn warn(&self, session: &SessionRef, message: String) {
        self.push(convert::warning(session, &message));
    }

    fn wake(&self) {
        if inside_call_for(self) || self.is_empty() || self.woken.swap(true, Ordering::SeqCst) {
            return;
        }
        self.wake.call((), ThreadsafeFunctionCallMode::NonBlocking);
    }
}
