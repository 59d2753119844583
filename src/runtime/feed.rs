//! The Mutations of all Sessions of an Agent, open here or not, whoever committed them.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use super::{agent::NOTHING, clock::Clock, host::Host};
use crate::{
    core::{change::Commit, engine::Receipt, input::Ticket},
    storage::{FeedPage, Store, StoreError},
};

/// How many Mutations are read at once.
const PAGE: u32 = 500;
const RETRY: Duration = Duration::from_millis(500);

pub struct Feed {
    agent_id: Arc<str>,
    store: Arc<dyn Store>,
    host: Arc<dyn Host>,
    clock: Arc<dyn Clock>,
    on: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// What was told ends here.
    place: u64,
    reading: bool,
    /// Raised with each begin and end: what was asked before counts no more.
    generation: u64,
    /// Something was committed while it was reading.
    again: bool,
}

impl Feed {
    pub fn new(
        agent_id: Arc<str>,
        store: Arc<dyn Store>,
        host: Arc<dyn Host>,
        clock: Arc<dyn Clock>,
    ) -> Arc<Self> {
        Arc::new(Self { agent_id, store, host, clock, on: AtomicBool::new(false), state: Mutex::default() })
    }

    /// Begins with what is committed from now on; answers `null` when it does.
    pub fn begin(self: &Arc<Self>, ticket: Ticket) {
        let feed = Arc::clone(self);
        let generation = self.next_generation();
        self.state().reading = true;
        let reply = Box::new(move |page: Result<FeedPage, StoreError>| {
            let mut state = feed.state();
            let counts = state.generation == generation;
            let began = counts && page.is_ok();
            if counts {
                state.reading = false;
            }
            if let (true, Ok(page)) = (began, &page) {
                state.place = page.place;
                feed.on.store(true, Ordering::SeqCst);
            }
            drop(state);
            feed.host.answer(ticket, page.map(|_| NOTHING.to_owned()).map_err(Into::into));
            if began {
                feed.changed();
            }
            feed.host.wake();
        });
        self.store.feed(&self.agent_id, None, 0, reply);
    }

    pub fn end(&self) {
        self.next_generation();
    }

    fn next_generation(&self) -> u64 {
        let mut state = self.state();
        self.on.store(false, Ordering::SeqCst);
        state.generation += 1;
        state.reading = false;
        state.generation
    }

    /// A commit of this process: what it publishes comes next, unless something of others lies before it.
    pub fn committed(self: &Arc<Self>, commit: &Commit, receipt: &Receipt) {
        if commit.journal.is_empty() || !self.on.load(Ordering::SeqCst) {
            return;
        }
        let mut state = self.state();
        let next = state.place + commit.journal.len() as u64;
        // Where the store was asked what became of the commit, its place is not known.
        let Some(place) = receipt.place().filter(|place| *place == next && !state.reading) else {
            drop(state);
            self.changed();
            return;
        };
        state.place = place;
        commit.journal.iter().for_each(|entry| self.host.fed(entry.body.clone()));
    }

    /// Something was committed elsewhere, or may have been.
    pub fn changed(self: &Arc<Self>) {
        if !self.on.load(Ordering::SeqCst) {
            return;
        }
        let mut state = self.state();
        state.again = true;
        if !std::mem::replace(&mut state.reading, true) {
            drop(state);
            self.read();
        }
    }

    fn read(self: &Arc<Self>) {
        let mut state = self.state();
        state.again = false;
        let (place, generation) = (state.place, state.generation);
        drop(state);
        let feed = Arc::clone(self);
        let reply = Box::new(move |page| feed.take(page, generation));
        self.store.feed(&self.agent_id, Some(place), PAGE, reply);
    }

    fn take(self: &Arc<Self>, page: Result<FeedPage, StoreError>, generation: u64) {
        let mut state = self.state();
        if state.generation != generation {
            return;
        }
        let Ok(page) = page else {
            // The store may answer again; nothing was passed over.
            state.reading = false;
            drop(state);
            let feed = Arc::clone(self);
            self.clock.after(RETRY, Box::new(move || feed.changed()));
            return;
        };
        state.place = page.place;
        let goes_on = page.bodies.len() >= PAGE as usize || state.again;
        if self.on.load(Ordering::SeqCst) {
            page.bodies.into_iter().for_each(|body| self.host.fed(body));
        }
        state.reading = goes_on;
        drop(state);
        self.host.wake();
        if goes_on {
            self.read();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
