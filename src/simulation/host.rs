//! What a process is told. It is heard a little later, as JavaScript hears it.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard},
};

use super::scheduler::{Act, Job, ProcessId, Sim};
use crate::{
    core::{effect::Effect, input::Ticket},
    runtime::{
        error::RuntimeError,
        host::{Host, SessionRef},
    },
};

#[derive(Debug)]
pub enum Heard {
    Effect(u32, Box<Effect>),
    Answer(Ticket, Result<String, RuntimeError>),
    Lost(u32),
}

pub struct SimHost {
    sim: Sim,
    process: ProcessId,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    queue: VecDeque<Heard>,
    /// It will be heard.
    called: bool,
    /// By handle, the last revision that was told.
    told: Option<(u32, u64)>,
}

impl SimHost {
    pub fn new(sim: Sim, process: ProcessId) -> Self {
        Self { sim, process, inner: Mutex::default() }
    }

    pub fn hear(&self) -> VecDeque<Heard> {
        let mut inner = self.inner();
        inner.called = false;
        std::mem::take(&mut inner.queue)
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Host for SimHost {
    fn perform(&self, session: &SessionRef, effect: Effect) {
        let mut inner = self.inner();
        let mut state = self.sim.lock();
        match &effect {
            Effect::Publish { body } => {
                let last = inner.told.filter(|(handle, _)| *handle == session.handle);
                let revision = state.ledger.told(body, last.map(|(_, revision)| revision));
                inner.told = Some((session.handle, revision));
                return;
            }
            Effect::RequestModel(request) => state.ledger.assert_sendable(&request.step_id),
            Effect::EnterTool { call, resumed } => state.ledger.entered(call, *resumed),
            _ => {}
        }
        inner.queue.push_back(Heard::Effect(session.handle, Box::new(effect)));
    }

    fn fed(&self, body: Arc<str>) {
        self.sim.lock().ledger.fed(self.process, &body);
    }

    fn answer(&self, ticket: Ticket, result: Result<String, RuntimeError>) {
        if let Err(RuntimeError::Broken(why)) = &result {
            panic!("an invariant of the core was broken: {why}");
        }
        self.inner().queue.push_back(Heard::Answer(ticket, result));
    }

    fn lost(&self, session: &SessionRef, _why: RuntimeError) {
        self.inner().queue.push_back(Heard::Lost(session.handle));
    }

    fn warn(&self, _session: &SessionRef, message: String) {
        assert!(!message.starts_with("An input was dropped"), "{message}");
    }

    fn wake(&self) {
        let mut inner = self.inner();
        if inner.queue.is_empty() || std::mem::replace(&mut inner.called, true) {
            return;
        }
        let mut state = self.sim.lock();
        if !state.processes[self.process].dead {
            let wait = state.random.wait(20);
            state.later(Some(self.process), wait, "hears", Job::Act(Act::Hear));
        }
    }
}
