//! One state of everything: the process and its outside (or none), the store, and what has been seen.

use std::sync::Arc;

use serde_json::Value;

use super::{events::Event, outside::Outside};
use crate::core::{
    change::{ApprovalMode, OpenRows, PartRow, SessionRow, TurnStatus},
    effect::{Answer, Effect},
    engine::{Decided, Engine, Receipt, Role},
    error::Code,
    input::Input,
    interaction::InteractionStatus,
    message::{PartBody, ToolPart},
    settings::{Settings, ToolDefinition},
    stamp::Stamp,
    tests::{
        fold,
        stored::{Stored, persisted},
        tools::tools,
    },
};

pub const CALLS: [&str; 2] = ["c1", "c2"];

/// What a search is about.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub tools: [&'static str; 2],
    /// How many things each `execute` asks.
    pub asks: [usize; 2],
    /// The host asks something without a call, once.
    pub host_asks: bool,
    /// The mode becomes `always-allow`, once.
    pub mode_changes: bool,
}

impl Default for Shape {
    fn default() -> Self {
        Self { tools: ["gated", "plain"], asks: [1, 2], host_asks: false, mode_changes: false }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    GoesOn,
    /// The commit is written; the process ends before any of its effects.
    DiesAfterCommit,
}

#[derive(Clone)]
pub struct World {
    pub shape: Shape,
    pub settings: Arc<Settings>,
    /// None while no process runs.
    pub engine: Option<Engine>,
    /// As what it decides next.
    pub role: Role,
    pub outside: Outside,
    pub stored: Stored,
    /// What a subscriber has made of the Mutations.
    pub picture: Vec<Value>,
    pub history: History,
    now: i64,
}

/// What has happened, over all processes.
#[derive(Debug, Clone, Default)]
pub struct History {
    pub prompted: bool,
    pub allowed: bool,
    pub host_asked: bool,
    /// Which calls were entered.
    pub entered: [bool; 2],
    /// Answers whose callers were told that they count, by the number of the Interaction.
    pub acknowledged: Vec<(usize, InteractionStatus)>,
}

pub fn tool_of(row: &PartRow) -> &ToolPart {
    match &row.part.body {
        PartBody::Tool(tool) => tool,
        _ => unreachable!("only tool calls are looked up"),
    }
}

impl World {
    pub fn new(shape: Shape) -> Self {
        let tools: Vec<ToolDefinition> = serde_json::from_value(tools()).unwrap();
        let settings = Arc::new(Settings::new(8, true, tools).unwrap());
        let row = SessionRow::new("s", ApprovalMode::Ask, 1);
        Self {
            shape,
            engine: Some(Engine::restored(settings.clone(), OpenRows::of(row.clone()))),
            role: Role::Owner,
            settings,
            outside: Outside::default(),
            stored: Stored::new(row),
            picture: Vec::new(),
            history: History::default(),
            now: 1_700_000_000_000,
        }
    }

    pub fn turn_has_ended(&self) -> bool {
        self.stored.turns.values().any(|turn| turn.status != TurnStatus::Running)
    }

    pub fn part_of(&self, call: usize) -> Option<&PartRow> {
        let of_call = |row: &&PartRow| match &row.part.body {
            PartBody::Tool(tool) => tool.tool_call_id == CALLS[call],
            _ => false,
        };
        self.stored.parts.values().find(of_call)
    }

    /// What an event leads to: the process goes on, or it has ended after the event's commit.
    pub fn after(&self, event: Event) -> Vec<(Fate, Self)> {
        let mut next = self.clone();
        let cut_off = match event {
            Event::Die => {
                next.die();
                None
            }
            Event::Open => {
                let rows = next.stored.open_rows();
                next.engine = Some(Engine::restored(next.settings.clone(), rows));
                next.role = Role::NewOwner;
                next.happen(event)
            }
            _ => next.happen(event),
        };
        next.check_transition();
        let cut_off = cut_off.map(|dead| (Fate::DiesAfterCommit, dead));
        [(Fate::GoesOn, next)].into_iter().chain(cut_off).collect()
    }

    fn die(&mut self) {
        self.engine = None;
        self.outside = Outside::default();
    }

    /// Gives the state in which the process has ended with the commit written, where there was one.
    fn happen(&mut self, event: Event) -> Option<Self> {
        let input = self.input(event);
        self.before(event);
        self.now += 1;
        let stamp = Stamp::new(self.now, self.now as u64);
        let engine = self.engine.as_mut().expect("a process runs");
        let before = engine.state().clone();
        match engine.decide(&[input], self.role, stamp) {
            Decided::Settled(settlement) => {
                let effects = engine.settle(*settlement);
                let after = engine.state();
                assert_eq!(persisted(after), persisted(&before), "what is not written does not change");
                assert!(published(&effects).is_empty(), "I2: nothing is told that is not written");
                self.perform(event, effects);
                None
            }
            Decided::Proposed(proposal) => {
                assert_eq!(engine.state(), &before, "nothing counts before the receipt");
                let commit = proposal.commit().clone();
                self.stored.apply(&commit);
                for mutation in self.stored.journal.drain(..) {
                    fold::take(&mut self.picture, &mutation);
                }
                self.role = Role::Owner;
                let effects = engine.commit(*proposal, &Receipt::new(&commit.commit_id, 1));
                let journal: Vec<_> = commit.journal.iter().map(|entry| entry.body.clone()).collect();
                assert_eq!(published(&effects), journal, "I2, I11: what is written is told, in that order");
                let mut cut_off = self.clone();
                cut_off.die();
                self.perform(event, effects);
                Some(cut_off)
            }
        }
    }

    /// What the outside has done by saying this.
    fn before(&mut self, event: Event) {
        match event {
            Event::Prompt => self.history.prompted = true,
            Event::AllowAlways => self.history.allowed = true,
            Event::HostAsks => self.history.host_asked = true,
            Event::GoOn => self.outside.goes_on = false,
            Event::Model(_) => {
                let last = self.input_ends_the_stream(event);
                if let Some(model) = &mut self.outside.model {
                    model.sent += 1;
                }
                self.outside.model.take_if(|_| last);
            }
            Event::Prepared(call, _) => {
                self.outside.preparing.remove(&call);
            }
            Event::Settle(call, _) => {
                self.outside.running.remove(&call);
            }
            _ => {}
        }
    }

    fn input_ends_the_stream(&self, event: Event) -> bool {
        use crate::core::input::ModelEvent::{Failed, Finish};
        matches!(self.input(event), Input::Model { event: Finish { .. } | Failed { .. }, .. })
    }

    fn perform(&mut self, event: Event, effects: Vec<Effect>) {
        let asking = match event {
            Event::Ask(call) | Event::AskOther(call) => Some(call),
            _ => None,
        };
        for effect in &effects {
            match effect {
                Effect::RequestModel(request) => self.assert_sendable(request),
                Effect::EnterTool { call, resumed } => self.assert_may_enter(call, *resumed),
                Effect::Answer { result: Ok(Answer::Interaction(committed)), .. } => {
                    if let Event::Answer(number, _) = event {
                        self.history.acknowledged.push((number, committed.status));
                        self.history.acknowledged.sort_by_key(|(number, _)| *number);
                    }
                }
                Effect::Answer { result: Err(refusal), .. } => {
                    let mismatch = refusal.code == Code::ReplayMismatch && asking.is_some();
                    assert!(mismatch, "{event:?} was possible and is refused: {refusal:?}");
                }
                _ => {}
            }
            let first_step = self.steps() == 1;
            self.outside.take(effect, asking, first_step);
        }
    }

    /// How many model requests the Turn has begun.
    fn steps(&self) -> u32 {
        self.stored.turns.values().next().map_or(0, |turn| turn.steps)
    }
}

fn published(effects: &[Effect]) -> Vec<Arc<str>> {
    let body = |effect: &Effect| match effect {
        Effect::Publish { body } => Some(body.clone()),
        _ => None,
    };
    effects.iter().filter_map(body).collect()
}
