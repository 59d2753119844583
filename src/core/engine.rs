//! The engine: `decide` what an input changes, and `commit` it once the store has it.
//!
//! ```text
//! Input --decide--> Proposal --store.append--> Receipt --commit--> Effects
//! ```
//!
//! Effects come out of `commit` only, and `commit` needs the store's receipt, so that nothing is told, entered or
//! resumed before it is durable.

use std::sync::Arc;

use super::{
    change::{Commit, OpenRows},
    draft::Draft,
    effect::Effect,
    error::Refusal,
    input::Input,
    settings::Settings,
    stamp::Stamp,
    state::{SessionState, Stream},
};

/// A store's word that a commit is durable. [`Engine::commit`] cannot be called without one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    commit_id: String,
    fence: u64,
    place: Option<u64>,
}

impl Receipt {
    /// For stores only, once the transaction of `commit_id` is durable. `fence` is the Session's from then on.
    pub fn new(commit_id: &str, fence: u64) -> Self {
        Self { commit_id: commit_id.to_owned(), fence, place: None }
    }

    /// The same, with the place in the store's feed where the commit's journal ends; its entries have the places
    /// just before.
    pub fn published_at(self, place: u64) -> Self {
        Self { place: Some(place), ..self }
    }

    /// Where the commit's journal ends in the feed; `None` where the store did not say, or nothing was published.
    pub fn place(&self) -> Option<u64> {
        self.place
    }

    pub fn commit_id(&self) -> &str {
        &self.commit_id
    }

    pub fn fence(&self) -> u64 {
        self.fence
    }
}

/// In whose name a batch is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The Session's owner: it starts Turns, asks models and enters tools.
    Owner,
    /// Becomes the owner with this commit, and goes on with what was left.
    NewOwner,
    /// Another owns the Session: what is written here is left to it to go on with.
    Guest,
}

/// Decides for one Session. Holds what is open of it.
#[derive(Debug, Clone)]
pub struct Engine {
    settings: Arc<Settings>,
    state: SessionState,
}

/// What a batch of inputs comes to.
#[derive(Debug)]
pub enum Decided {
    /// Nothing has to be written. Counts once it is [`settled`](Engine::settle).
    Settled(Box<Settlement>),
    /// Counts only once the store has written [`Proposal::commit`].
    Proposed(Box<Proposal>),
}

/// What differs without anything to write: what belongs to this process, and what callers are told.
#[derive(Debug)]
pub struct Settlement {
    next: SessionState,
    effects: Vec<Effect>,
}

impl Settlement {
    pub fn effects(&self) -> &[Effect] {
        &self.effects
    }
}

/// What is to be written, and what follows once it is.
#[derive(Debug)]
pub struct Proposal {
    commit: Arc<Commit>,
    next: SessionState,
    effects: Vec<Effect>,
}

impl Proposal {
    pub fn commit(&self) -> &Arc<Commit> {
        &self.commit
    }
}

impl Engine {
    /// A Session as a store has it, new or not. Its first input is [`Input::Open`].
    pub fn restored(settings: Arc<Settings>, rows: OpenRows) -> Self {
        Self { settings, state: SessionState::restore(rows) }
    }

    pub fn state(&self) -> &SessionState {
        &self.state
    }

    pub(super) fn state_mut(&mut self) -> &mut SessionState {
        &mut self.state
    }

    /// Nothing of what was asked for was heard outside: the Session is as another process would find it.
    pub fn hand_back(&mut self) {
        let state = &mut self.state;
        state.needs_recovery = true;
        state.forget_feed();
        if let Some(turn) = &mut state.turn {
            turn.stream = Stream::default();
            turn.resumed.clear();
        }
    }

    /// Whether this Agent could own the Session: what is unfinished waits for one that has a model.
    pub fn may_own(&self, inputs: &[Input]) -> bool {
        let sets_model = |input: &Input| matches!(input, Input::Set { model: Some(_), .. });
        self.state.can_be_recovered(&self.settings) || inputs.iter().any(sets_model)
    }

    /// Decides a batch of inputs, in order. A refused input changes nothing and becomes its caller's answer.
    pub fn decide(&self, inputs: &[Input], role: Role, stamp: Stamp) -> Decided {
        let mut draft = Draft::new(&self.settings, self.state.clone(), role, stamp);
        if role != Role::Guest && self.state.needs_recovery && self.state.can_be_recovered(&self.settings) {
            draft.recover();
        }
        for input in inputs {
            if let Err(refusal) = draft.handle(input) {
                let ticket = input.ticket().expect("only callers' inputs are refused");
                draft.effect(Effect::Answer { ticket, result: Err(refusal) });
            }
        }
        match draft.finish() {
            (next, Some(commit), effects) => {
                Decided::Proposed(Box::new(Proposal { commit: Arc::new(commit), next, effects }))
            }
            (next, None, effects) => Decided::Settled(Box::new(Settlement { next, effects })),
        }
    }

    /// Takes over what was decided without anything to write; the effects may go out.
    pub fn settle(&mut self, settlement: Settlement) -> Vec<Effect> {
        self.state = settlement.next;
        settlement.effects
    }

    /// Moves the state to what was proposed.
    ///
    /// # Panics
    /// When the receipt is for another commit: the runner appends one at a time.
    pub fn commit(&mut self, proposal: Proposal, receipt: &Receipt) -> Vec<Effect> {
        assert_eq!(proposal.commit.commit_id, receipt.commit_id, "a receipt settles the commit it names");
        self.state = proposal.next;
        proposal.effects
    }
}

impl Draft<'_> {
    fn handle(&mut self, input: &Input) -> Result<(), Refusal> {
        if self.state.closed && input.ticket().is_some() {
            return Err(Refusal::closed());
        }
        match input {
            Input::Open { ticket } => {
                self.open(*ticket);
                Ok(())
            }
            Input::Prompt { ticket, parts } => self.prompt(*ticket, parts),
            Input::Withdraw { prompt_id } => {
                self.withdraw(prompt_id);
                Ok(())
            }
            Input::Stop { ticket } => {
                self.stop(*ticket);
                Ok(())
            }
            Input::Close { ticket } => {
                self.close(*ticket);
                Ok(())
            }
            Input::Set { ticket, config, options, model } => {
                self.set(*ticket, config, options, model.as_ref())
            }
            Input::Request { ticket, request, native_schema, from_call } => {
                self.request(*ticket, request, native_schema.as_ref(), *from_call)
            }
            Input::Approval { ticket, request, native_schema, from_call } => {
                self.request_approval(*ticket, request, native_schema.as_ref(), *from_call)
            }
            Input::Respond { ticket, interaction_id, response, again } => {
                self.respond(*ticket, interaction_id, response, *again)
            }
            Input::Model { step_id, event } => {
                self.model_event(step_id, event);
                Ok(())
            }
            Input::ToolPrepared { tool_call_id, outcome } => {
                self.tool_prepared(tool_call_id, outcome);
                Ok(())
            }
            Input::GoOn => {
                self.go_on();
                Ok(())
            }
            Input::ToolProgress { tool_call_id, output } => {
                self.tool_progress(tool_call_id, output);
                Ok(())
            }
            Input::ToolSettled { tool_call_id, outcome, model_output } => {
                self.tool_settled(tool_call_id, outcome, model_output.as_ref());
                Ok(())
            }
        }
    }
}
