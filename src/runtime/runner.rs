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

use serde_json::Value;

use super::{
    decide::decide,
    error::RuntimeError,
    feed::Feed,
    flight::{Answered, Flight, Phase},
    host::SessionRef,
    inbox::Inbox,
    outside::{Around, Outside},
    standing::{Standing, role},
};
use crate::{
    core::{
        effect::{Answer, Effect},
        engine::{Decided, Engine, Receipt},
        error::Refusal,
        input::{Input, Ticket},
        interaction::Interaction,
    },
    storage::{Authority, OwnerId, Reply, SessionKey, StoreError},
};

pub(super) const FIRST_RETRY: Duration = Duration::from_millis(50);

pub struct Runner {
    pub(super) session: SessionRef,
    pub(super) key: SessionKey,
    /// As whom it owns the Session, where it does.
    pub(super) me: OwnerId,
    pub(super) outside: Outside,
    pub(super) feed: Arc<Feed>,
    pub(super) watch_owners: Arc<dyn Fn() + Send + Sync>,
    inner: Mutex<Inner>,
}

pub(super) struct Inner {
    pub engine: Engine,
    pub inbox: Inbox,
    pub phase: Phase,
    pub standing: Standing,
    /// Somebody else has changed the Session since it was last caught up with.
    pub noticed: bool,
    /// It was just caught up with, and nothing was decided since.
    pub fresh: bool,
    /// The wait before the next try after a store failed; grows while it keeps failing.
    pub retry: Duration,
    /// Another owner has taken the Session over, or it was removed: nothing more may come from here.
    pub lost: Option<StoreError>,
    /// Somebody was given the handle: only then anyone hears what is to be done.
    pub known: bool,
    /// Nobody has the handle any more.
    pub released: bool,
    /// Waits until the Session is let go.
    pub on_release: Option<Reply<()>>,
    /// Answers that the store has to be asked for, once the lock is free: it may answer at once.
    lookups: Vec<Lookup>,
}

/// A response to an Interaction that is not open as far as is known here.
struct Lookup {
    ticket: Ticket,
    interaction_id: String,
    /// Decided once more where it is open after all.
    again: Option<Value>,
}

impl Runner {
    pub(super) fn new(
        session: SessionRef,
        key: SessionKey,
        me: OwnerId,
        standing: Standing,
        engine: Engine,
        Around { outside, feed, watch_owners }: Around,
    ) -> Arc<Self> {
        let inner = Inner {
            engine,
            inbox: Inbox::default(),
            phase: Phase::Idle,
            standing,
            noticed: false,
            fresh: false,
            retry: FIRST_RETRY,
            lost: None,
            known: false,
            released: false,
            on_release: None,
            lookups: Vec::new(),
        };
        Arc::new(Self { session, key, me, outside, feed, watch_owners, inner: Mutex::new(inner) })
    }

    pub fn key(&self) -> &SessionKey {
        &self.key
    }

    /// Brings an input. Effects reach the host before this returns where the store answers at once.
    pub fn submit(self: &Arc<Self>, input: Input) {
        self.submit_all(vec![input]);
    }

    /// Brings inputs that came together; where nothing is under way, they are decided in one commit.
    pub fn submit_all(self: &Arc<Self>, inputs: Vec<Input>) {
        let mut inner = self.lock();
        inputs.into_iter().for_each(|input| inner.inbox.push(input));
        self.start(inner);
    }

    /// Gets going unless somebody is at it.
    pub(super) fn start(self: &Arc<Self>, mut inner: MutexGuard<'_, Inner>) {
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
            busy => {
                inner.phase = busy;
                drop(inner);
            }
        }
        self.outside.host.wake();
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic in the core is reported to the caller that caused it; the state it worked on was a copy.
        self.inner.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Runs until the inbox is empty or an append has to be waited for. The phase is `Driving`.
    pub(super) fn drive(self: &Arc<Self>) {
        loop {
            let mut inner = self.lock();
            let lookups = std::mem::take(&mut inner.lookups);
            if !lookups.is_empty() {
                drop(inner);
                lookups.into_iter().for_each(|lookup| self.answer_from_history(lookup));
                continue;
            }
            if std::mem::take(&mut inner.noticed) && inner.lost.is_none() {
                drop(inner);
                self.check(None);
                return;
            }
            if !inner.known && inner.owns() {
                self.hand_back(inner);
                continue;
            }
            let inputs = inner.inbox.take_batch();
            if inputs.is_empty() {
                inner.phase = Phase::Idle;
                inner.fresh = false;
                self.let_go(inner);
                return;
            }
            if let Some(why) = &inner.lost {
                self.fail(&inputs, why, &mut Vec::new());
                continue;
            }
            let Some((flight, authority)) = self.decide(&mut inner, inputs) else { continue };
            let commit = flight.proposal.commit().clone();
            inner.phase = Phase::Appending { flight, answer: Answered::NotYet };
            drop(inner);
            let runner = Arc::clone(self);
            let reply = Box::new(move |result| runner.appended(result));
            self.outside.store.append(&self.key, &self.me, authority, commit, reply);
            if !self.take_ready_answer() {
                return;
            }
        }
    }

    /// Has a batch decided; `None` where nothing has to be written for it.
    fn decide(self: &Arc<Self>, inner: &mut Inner, inputs: Vec<Input>) -> Option<(Flight, Authority)> {
        let fresh = std::mem::take(&mut inner.fresh);
        let authority = inner.standing.authority(inner.engine.may_own(&inputs));
        match decide(&inner.engine, &inputs, role(authority), self.outside.clock.stamp()) {
            Err(error) if inputs.len() == 1 => self.give_up(&inputs[0], error),
            // One of them broke an invariant: decided one at a time, the others go through.
            Err(_) => inner.inbox.put_back_one_by_one(inputs),
            // Where nothing is written, no commit finds out that it was decided on an old picture.
            Ok(Decided::Settled(settlement)) if !fresh && only_answers(settlement.effects()) => {
                inner.inbox.put_back(inputs);
                inner.noticed = true;
            }
            Ok(Decided::Settled(settlement)) => {
                let effects = inner.engine.settle(*settlement);
                self.perform(inner, effects, &[]);
            }
            Ok(Decided::Proposed(proposal)) => {
                let flight = Flight { proposal: *proposal, authority, inputs, told: Vec::new() };
                return Some((flight, authority));
            }
        }
        None
    }

    /// Takes the answer if it came while `append` was running. Otherwise it will go on by itself.
    fn take_ready_answer(self: &Arc<Self>) -> bool {
        let mut inner = self.lock();
        match std::mem::replace(&mut inner.phase, Phase::Driving) {
            Phase::Appending { flight, answer: Answered::Ready(result) } => {
                self.take_answer(inner, flight, result)
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
                if self.take_answer(inner, flight, result) {
                    self.drive();
                }
                self.outside.host.wake();
            }
            _ => unreachable!("a store answers an append once"),
        }
    }

    /// Moves on with the store's answer; true when the driver may go on.
    fn take_answer(
        self: &Arc<Self>,
        mut inner: MutexGuard<'_, Inner>,
        mut flight: Flight,
        result: Result<Receipt, StoreError>,
    ) -> bool {
        match result {
            Ok(receipt) => {
                inner.retry = FIRST_RETRY;
                self.committed(&mut inner, flight, &receipt);
                true
            }
            Err(why @ StoreError::NotFound) => {
                self.fail(&flight.inputs, &why, &mut flight.told);
                self.lose(&mut inner, why);
                true
            }
            // Somebody else was faster: this is decided again on what it made of the Session.
            Err(StoreError::Conflict | StoreError::LeaseLost) => {
                drop(inner);
                self.check(Some(flight));
                false
            }
            Err(error) => {
                // Callers are told; what the model and the tools brought is kept until it can be written.
                self.fail(&flight.inputs, &error, &mut flight.told);
                let kept = flight.inputs.iter().any(|input| input.ticket().is_none());
                if kept && inner.retry == FIRST_RETRY {
                    // Once for each time the store goes out, not for each try.
                    let message = format!("A commit failed and will be tried again: {error}");
                    self.outside.host.warn(&self.session, message);
                }
                drop(inner);
                self.check(Some(flight));
                false
            }
        }
    }

    /// The store has the commit, however that was learnt.
    pub(super) fn committed(self: &Arc<Self>, inner: &mut Inner, flight: Flight, receipt: &Receipt) {
        let Flight { proposal, authority, told, .. } = flight;
        inner.standing.committed(authority, receipt.fence(), proposal.commit().unfinished);
        self.feed.committed(proposal.commit(), receipt);
        let effects = inner.engine.commit(proposal, receipt);
        self.perform(inner, effects, &told);
    }

    /// Tells the callers among the inputs that their call failed.
    pub(super) fn fail(&self, inputs: &[Input], error: &StoreError, told: &mut Vec<Ticket>) {
        for ticket in inputs.iter().filter_map(Input::ticket) {
            if !told.contains(&ticket) {
                told.push(ticket);
                self.outside.host.answer(ticket, Err(error.clone().into()));
            }
        }
    }

    /// An input that breaks an invariant of the core: its caller is told, or the developer.
    fn give_up(&self, input: &Input, error: String) {
        match input.ticket() {
            Some(ticket) => self.outside.host.answer(ticket, Err(RuntimeError::Broken(error))),
            None => self.outside.host.warn(&self.session, format!("An input was dropped: {error}")),
        }
    }

    pub(super) fn perform(self: &Arc<Self>, inner: &mut Inner, effects: Vec<Effect>, told: &[Ticket]) {
        for effect in effects {
            match effect {
                Effect::Answer { ticket, .. } | Effect::AnswerFromHistory { ticket, .. }
                    if told.contains(&ticket) => {}
                Effect::Answer { ticket, result: Ok(Answer::Opened { .. }) } if inner.released => {
                    self.outside.host.answer(ticket, Err(Refusal::closed().into()));
                }
                Effect::Answer { result: Ok(Answer::Opened { .. }), .. } => {
                    inner.known = true;
                    self.outside.host.perform(&self.session, effect);
                }
                // Its opening was said to have failed: it is handed back, and whoever opens it goes on with it.
                _ if !inner.known && !matches!(effect, Effect::Answer { .. }) => {}
                // Nothing is started any more by one that lets go.
                Effect::GoOn if inner.released => {}
                Effect::GoOn => inner.inbox.push(Input::GoOn),
                Effect::AnswerFromHistory { ticket, interaction_id, again } => {
                    inner.lookups.push(Lookup { ticket, interaction_id, again });
                }
                effect => self.outside.host.perform(&self.session, effect),
            }
        }
    }

    /// The store knows whether the Interaction ever was, or has just been asked by somebody else.
    fn answer_from_history(self: &Arc<Self>, Lookup { ticket, interaction_id, again }: Lookup) {
        let runner = Arc::clone(self);
        let id = interaction_id.clone();
        let reply = Box::new(move |found: Result<Option<Interaction>, StoreError>| {
            let error = match found {
                Ok(Some(interaction)) if interaction.is_pending() => match again {
                    Some(response) => return runner.respond_again(ticket, interaction_id, response),
                    None => Refusal::unknown_interaction(&interaction_id).into(),
                },
                Ok(Some(interaction)) => Refusal::terminal(interaction).into(),
                Ok(None) => Refusal::unknown_interaction(&interaction_id).into(),
                Err(error) => RuntimeError::from(error),
            };
            runner.outside.host.answer(ticket, Err(error));
            runner.outside.host.wake();
        });
        self.outside.store.interaction(&self.key, &id, reply);
    }
}

/// Callers are told that nothing was to be done, or why not, and that is all.
fn only_answers(effects: &[Effect]) -> bool {
    let opened = |effect: &Effect| matches!(effect, Effect::Answer { result: Ok(Answer::Opened { .. }), .. });
    let answers = effects.iter().all(|effect| matches!(effect, Effect::Answer { .. }));
    answers && effects.iter().any(|effect| !opened(effect))
}
