//! The runner: the only loop. It is driven by whoever brings an input, or by the store's answer.
//!
//! ```text
//! submit -> inbox -> decide -> append -> (receipt) -> commit -> host
//! ```
//!
//! One append is under way at a time; what comes in meanwhile is decided together afterwards, so a fast stream is
//! batched and a slow one goes through at once.

use std::{
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use super::{
    decide::decide,
    error::RuntimeError,
    flight::{Answered, Flight, Phase},
    host::{Host, SessionRef},
    inbox::Inbox,
};
use crate::{
    core::{
        effect::{Answer, Effect},
        engine::{Decided, Engine, Receipt},
        error::Refusal,
        input::{Input, Ticket},
        interaction::Interaction,
        state::SessionState,
    },
    storage::{SessionKey, Store, StoreError},
};

const FIRST_RETRY: Duration = Duration::from_millis(50);
const LONGEST_RETRY: Duration = Duration::from_secs(5);

pub struct Runner {
    session: SessionRef,
    key: SessionKey,
    fence: u64,
    store: Arc<dyn Store>,
    host: Arc<dyn Host>,
    inner: Mutex<Inner>,
}

struct Inner {
    engine: Engine,
    inbox: Inbox,
    phase: Phase,
    /// The wait before the next try after a store failed; grows while it keeps failing.
    retry: Duration,
    /// Another owner has taken the Session over, or it was removed: nothing more may come from here.
    lost: Option<StoreError>,
    /// Nobody has the handle any more.
    released: bool,
}

impl Runner {
    pub fn new(
        session: SessionRef,
        key: SessionKey,
        fence: u64,
        engine: Engine,
        store: Arc<dyn Store>,
        host: Arc<dyn Host>,
    ) -> Arc<Self> {
        let inner = Inner {
            engine,
            inbox: Inbox::default(),
            phase: Phase::Idle,
            retry: FIRST_RETRY,
            lost: None,
            released: false,
        };
        Arc::new(Self { session, key, fence, store, host, inner: Mutex::new(inner) })
    }

    pub fn session(&self) -> &SessionRef {
        &self.session
    }

    pub fn key(&self) -> &SessionKey {
        &self.key
    }

    /// Brings an input. Effects reach the host before this returns where the store answers at once.
    pub fn submit(self: &Arc<Self>, input: Input) {
        let mut inner = self.lock();
        inner.inbox.push(input);
        match std::mem::replace(&mut inner.phase, Phase::Driving) {
            Phase::Idle => {
                drop(inner);
                self.drive();
            }
            // A store that failed may be fine again: a new input is a reason to look.
            Phase::Doubtful(flight) => {
                drop(inner);
                self.check(flight);
            }
            busy => inner.phase = busy,
        }
        self.host.wake();
    }

    /// Looks at what is open, as of the last commit.
    pub fn read<T>(&self, look: impl FnOnce(&SessionState) -> T) -> T {
        look(self.lock().engine.state())
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic in the core is reported to the caller that caused it; the state it worked on was a copy.
        self.inner.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Runs until the inbox is empty or an append has to be waited for. The phase is `Driving`.
    fn drive(self: &Arc<Self>) {
        loop {
            let mut inner = self.lock();
            let inputs = inner.inbox.take_batch();
            if inputs.is_empty() {
                inner.phase = Phase::Idle;
                return;
            }
            if let Some(why) = &inner.lost {
                self.fail(&inputs, why, &mut Vec::new());
                continue;
            }
            let decided = decide(&mut inner.engine, &inputs);
            let proposal = match decided {
                Err(error) if inputs.len() == 1 => {
                    self.give_up(&inputs[0], error);
                    continue;
                }
                Err(_) => {
                    // One of them broke an invariant: decided one at a time, the others go through.
                    inner.inbox.put_back_one_by_one(inputs);
                    continue;
                }
                Ok(decided) => decided,
            };
            let proposal = match proposal {
                Decided::Settled(effects) => {
                    self.perform(&mut inner, effects, &[]);
                    continue;
                }
                Decided::Proposed(proposal) => *proposal,
            };
            let commit = proposal.commit().clone();
            let flight = Flight { proposal, inputs, told: Vec::new() };
            inner.phase = Phase::Appending { flight, answer: Answered::NotYet };
            drop(inner);
            let runner = Arc::clone(self);
            let reply = Box::new(move |result| runner.appended(result));
            self.store.append(&self.key, self.fence, commit, reply);
            if !self.take_ready_answer() {
                return;
            }
        }
    }

    /// Takes the answer if it came while `append` was running. Otherwise it will go on by itself.
    fn take_ready_answer(self: &Arc<Self>) -> bool {
        let mut inner = self.lock();
        match std::mem::replace(&mut inner.phase, Phase::Driving) {
            Phase::Appending { flight, answer: Answered::Ready(result) } => {
                self.settle(inner, flight, result)
            }
            Phase::Appending { flight, .. } => {
                inner.phase = Phase::Appending { flight, answer: Answered::Awaited };
                false
            }
            _ => unreachable!("only the store's answer ends an append"),
        }
    }

    fn appended(self: &Arc<Self>, result: Result<Receipt, StoreError>) {
        let mut inner = self.lock();
        match std::mem::replace(&mut inner.phase, Phase::Driving) {
            Phase::Appending { flight, answer: Answered::NotYet } => {
                inner.phase = Phase::Appending { flight, answer: Answered::Ready(result) };
            }
            Phase::Appending { flight, .. } => {
                if self.settle(inner, flight, result) {
                    self.drive();
                }
                self.host.wake();
            }
            _ => unreachable!("a store answers an append once"),
        }
    }

    /// Moves on with the store's answer; true when the driver may go on.
    fn settle(
        self: &Arc<Self>,
        mut inner: MutexGuard<'_, Inner>,
        mut flight: Flight,
        result: Result<Receipt, StoreError>,
    ) -> bool {
        match result {
            Ok(receipt) => {
                let effects = inner.engine.commit(flight.proposal, &receipt);
                inner.retry = FIRST_RETRY;
                self.perform(&mut inner, effects, &flight.told);
                true
            }
            Err(why @ (StoreError::LeaseLost | StoreError::NotFound)) => {
                self.fail(&flight.inputs, &why, &mut flight.told);
                self.lose(&mut inner, why);
                true
            }
            Err(StoreError::Conflict) => {
                drop(inner);
                self.check(flight);
                false
            }
            Err(error) => {
                // Callers are told; what the model and the tools brought is kept until it can be written.
                self.fail(&flight.inputs, &error, &mut flight.told);
                let kept = flight.inputs.iter().any(|input| input.ticket().is_none());
                if kept && inner.retry == FIRST_RETRY {
                    // Once for each time the store goes out, not for each try.
                    self.host
                        .warn(&self.session, format!("A commit failed and will be tried again: {error}"));
                }
                drop(inner);
                self.check(flight);
                false
            }
        }
    }

    /// Asks the store how the Session stands there, to learn what became of a commit.
    fn check(self: &Arc<Self>, flight: Flight) {
        self.lock().phase = Phase::Checking;
        let runner = Arc::clone(self);
        let reply = Box::new(move |result| runner.checked(flight, result));
        self.store.reload(&self.key, reply);
    }

    fn checked(
        self: &Arc<Self>,
        mut flight: Flight,
        result: Result<crate::core::change::OpenRows, StoreError>,
    ) {
        let mut inner = self.lock();
        let rows = match result {
            Ok(rows) => rows,
            Err(StoreError::NotFound) => {
                self.fail(&flight.inputs, &StoreError::NotFound, &mut flight.told);
                self.lose(&mut inner, StoreError::NotFound);
                inner.phase = Phase::Driving;
                drop(inner);
                self.drive();
                self.host.wake();
                return;
            }
            Err(error) => {
                let waiting: Vec<Input> = inner.inbox.take_calls();
                self.fail(&waiting, &error, &mut Vec::new());
                self.try_later(inner, flight);
                self.host.wake();
                return;
            }
        };
        inner.phase = Phase::Driving;
        let commit_id = flight.proposal.commit().commit_id.clone();
        if rows.session.last_commit_id == commit_id {
            // It had gone through after all.
            let effects = inner.engine.commit(flight.proposal, &Receipt::of(&commit_id));
            self.perform(&mut inner, effects, &flight.told);
        } else {
            let foreign = rows.session.commits != inner.engine.state().session.commits;
            if foreign {
                inner.engine.reload(rows);
            }
            flight.inputs.retain(|input| input.ticket().is_none_or(|ticket| !flight.told.contains(&ticket)));
            inner.inbox.put_back(flight.inputs);
            if !foreign && !inner.inbox.is_empty() {
                // The store read but did not write: what is left waits a little before it is tried again.
                inner.phase = Phase::Idle;
                self.drive_later(inner);
                self.host.wake();
                return;
            }
        }
        drop(inner);
        self.drive();
        self.host.wake();
    }

    fn try_later(self: &Arc<Self>, mut inner: MutexGuard<'_, Inner>, flight: Flight) {
        inner.phase = Phase::Doubtful(flight);
        self.drive_later(inner);
    }

    /// Comes back after a while. A thread of its own is fine here: a failing store is rare.
    fn drive_later(self: &Arc<Self>, mut inner: MutexGuard<'_, Inner>) {
        let wait = inner.retry;
        inner.retry = (wait * 2).min(LONGEST_RETRY);
        drop(inner);
        let runner = Arc::downgrade(self);
        std::thread::spawn(move || {
            std::thread::sleep(wait);
            let Some(runner) = runner.upgrade() else { return };
            let mut inner = runner.lock();
            match std::mem::replace(&mut inner.phase, Phase::Driving) {
                Phase::Doubtful(flight) => {
                    drop(inner);
                    runner.check(flight);
                }
                Phase::Idle => {
                    drop(inner);
                    runner.drive();
                }
                busy => inner.phase = busy,
            }
            runner.host.wake();
        });
    }

    /// The Session was removed from the store.
    pub fn removed(&self) {
        self.lose(&mut self.lock(), StoreError::NotFound);
        self.host.wake();
    }

    /// The handle is given up: whoever is about to open it has to open the Session anew.
    pub fn release(&self) {
        self.lock().released = true;
    }

    /// Nothing more is taken here; the Session can be opened anew.
    pub fn is_over(&self) -> bool {
        let inner = self.lock();
        inner.lost.is_some() || inner.released || inner.engine.state().closed
    }

    fn lose(&self, inner: &mut Inner, why: StoreError) {
        if inner.lost.is_none() {
            inner.lost = Some(why.clone());
            self.host.lost(&self.session, why.into());
        }
    }

    /// Tells the callers among the inputs that their call failed.
    fn fail(&self, inputs: &[Input], error: &StoreError, told: &mut Vec<Ticket>) {
        for ticket in inputs.iter().filter_map(Input::ticket) {
            if !told.contains(&ticket) {
                told.push(ticket);
                self.host.answer(ticket, Err(error.clone().into()));
            }
        }
    }

    /// An input that breaks an invariant of the core: its caller is told, or the developer.
    fn give_up(&self, input: &Input, error: String) {
        match input.ticket() {
            Some(ticket) => self.host.answer(ticket, Err(RuntimeError::Broken(error))),
            None => self.host.warn(&self.session, format!("An input was dropped: {error}")),
        }
    }

    fn perform(self: &Arc<Self>, inner: &mut Inner, effects: Vec<Effect>, told: &[Ticket]) {
        for effect in effects {
            match effect {
                Effect::Answer { ticket, .. } | Effect::AnswerFromHistory { ticket, .. }
                    if told.contains(&ticket) => {}
                Effect::Answer { ticket, result: Ok(Answer::Opened { .. }) } if inner.released => {
                    self.host.answer(ticket, Err(Refusal::closed().into()));
                }
                Effect::EnterApproved => inner.inbox.push(Input::EnterApproved),
                Effect::AnswerFromHistory { ticket, interaction_id } => {
                    self.answer_from_history(ticket, interaction_id)
                }
                effect => self.host.perform(&self.session, effect),
            }
        }
    }

    /// The Interaction is not open. The store knows whether it ever was this Session's.
    fn answer_from_history(&self, ticket: Ticket, interaction_id: String) {
        let host = Arc::clone(&self.host);
        let id = interaction_id.clone();
        let reply = Box::new(move |found: Result<Option<Interaction>, StoreError>| {
            let error = match found {
                Ok(Some(interaction)) => Refusal::terminal(interaction).into(),
                Ok(None) => Refusal::unknown_interaction(&interaction_id).into(),
                Err(error) => RuntimeError::from(error),
            };
            host.answer(ticket, Err(error));
            host.wake();
        });
        self.store.interaction(&self.key, &id, reply);
    }
}
