//! A process: an Agent, and what its JavaScript has going on.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use serde_json::{Value, json};

use super::{
    host::{Heard, SimHost},
    scheduler::{Act, ProcessId, Sim, SimClock},
    script::{self, Program, Saying},
    store::SimStore,
};
use crate::{
    core::{
        effect::{Answer, Effect, ToolCall},
        error::{Code, Refusal},
        input::{Input, Ticket},
        interaction::Interaction,
        settings::Settings,
    },
    runtime::{
        agent::Agent,
        error::RuntimeError,
        outside::Outside,
        request::{Operation, Request},
    },
    storage::memory::MemoryStore,
};

pub const SESSION: &str = "s";
const LEASE: Duration = Duration::from_secs(3);

pub struct Process {
    pub id: ProcessId,
    sim: Sim,
    agent: Arc<Agent>,
    host: Arc<SimHost>,
    /// The open Session.
    pub session: Option<u32>,
    asked: BTreeMap<Ticket, Asked>,
    pub(super) streams: BTreeMap<String, Saying>,
    pub(super) tools: BTreeMap<String, Program>,
    /// Prompts whose handles wait for the end of a Turn.
    handles: BTreeMap<String, String>,
    opening: bool,
    entered: u64,
}

/// What a call was about.
#[derive(Debug, Clone)]
enum Asked {
    Open,
    Listen,
    Release,
    Prompt,
    Respond,
    Tool(String, u64),
    Other,
}

impl Process {
    pub fn start(id: ProcessId, sim: &Sim, disk: &Arc<MemoryStore>, settings: Settings) -> Self {
        let host = Arc::new(SimHost::new(sim.clone(), id));
        let store = SimStore { sim: sim.clone(), process: id, disk: disk.clone() };
        let clock = SimClock { sim: sim.clone(), process: id };
        let outside = Outside { store: Arc::new(store), host: host.clone(), clock: Arc::new(clock) };
        let agent = Agent::new("agent", settings, LEASE, outside);
        sim.act(id, 0, Act::Open);
        let listens = sim.lock().random.percent(50);
        if listens {
            let wait = sim.lock().random.wait(2_000);
            sim.act(id, wait, Act::Listen);
        }
        Self {
            id,
            sim: sim.clone(),
            agent,
            host,
            session: None,
            asked: BTreeMap::new(),
            streams: BTreeMap::new(),
            tools: BTreeMap::new(),
            handles: BTreeMap::new(),
            opening: true,
            entered: 0,
        }
    }

    /// Nothing is under way between a call and its answer, and no handle waits.
    pub fn is_quiet(&self) -> bool {
        self.asked.is_empty() && self.handles.is_empty() && !self.opening
    }

    pub fn describe(&self) -> String {
        let Self { session, asked, streams, tools, handles, .. } = self;
        format!("session {session:?} asked {asked:?} streams {streams:?} tools {tools:?} handles {handles:?}")
    }

    // ---- What it says ------------------------------------------------------------------------

    pub fn open(&mut self) {
        let exists = self.sim.lock().ledger.exists();
        self.opening = true;
        let op = if exists { "open" } else { "create" };
        self.request(json!({ "op": op, "session_id": SESSION }), Asked::Open);
    }

    pub fn listen(&mut self) {
        self.request(json!({ "op": "feed", "on": true }), Asked::Listen);
    }

    pub fn release(&mut self) {
        if let Some(session) = self.session.take() {
            self.forget_session();
            self.opening = true;
            self.request(json!({ "op": "release", "session": session }), Asked::Release);
        }
    }

    fn request(&mut self, operation: Value, about: Asked) {
        let ticket = self.sim.lock().ticket();
        self.asked.insert(ticket, about);
        let operation: Operation =
            serde_json::from_value(operation).expect("it is written as JavaScript does");
        self.agent.call(Request { ticket, operation });
    }

    pub fn prompt(&mut self) {
        self.call(json!({ "input": "prompt", "parts": [{ "type": "text", "text": "go" }] }), Asked::Prompt);
    }

    pub fn respond(&mut self, interaction: &Interaction, response: &Value) {
        let id = &interaction.interaction_id;
        let input = json!({ "input": "respond", "interaction_id": id, "response": response });
        self.call(input, Asked::Respond);
    }

    pub fn other(&mut self, input: Value) {
        self.call(input, Asked::Other);
    }

    fn call(&mut self, mut input: Value, about: Asked) {
        let Some(session) = self.session else { return };
        let ticket = self.sim.lock().ticket();
        self.asked.insert(ticket, about);
        input["ticket"] = json!(ticket);
        self.agent.submit(session, said(input));
    }

    pub fn tell(&self, input: Value) {
        if let Some(session) = self.session {
            self.agent.submit(session, said(input));
        }
    }

    pub fn ask_for(&mut self, call: &str, entering: u64, input: Value) {
        self.call(input, Asked::Tool(call.to_owned(), entering));
    }

    fn open_again(&mut self, most: u64) {
        self.opening = true;
        let wait = self.sim.lock().random.wait(most);
        self.sim.act(self.id, wait, Act::Open);
    }

    fn forget_session(&mut self) {
        self.session = None;
        self.streams.clear();
        self.handles.clear();
        // What `execute` does goes on outside, and nobody listens.
        self.tools.clear();
    }

    // ---- What it hears -----------------------------------------------------------------------

    pub fn hear(&mut self) {
        for heard in self.host.hear() {
            match heard {
                Heard::Effect(handle, effect) => self.effect(handle, *effect),
                Heard::Answer(ticket, result) => self.answered(ticket, result),
                Heard::Lost(handle) if self.session == Some(handle) => {
                    self.forget_session();
                    self.open_again(500);
                }
                Heard::Lost(_) => {}
            }
        }
    }

    fn answered(&mut self, ticket: Ticket, result: Result<String, RuntimeError>) {
        let about = self.asked.remove(&ticket).expect("a call is answered once");
        match (about, result) {
            (Asked::Open, Err(_)) | (Asked::Release, _) => self.open_again(200),
            (Asked::Listen, Err(_)) => self.sim.act(self.id, 500, Act::Listen),
            (Asked::Tool(call, entering), Err(error)) => {
                self.tool_refused(&call, entering, &error.to_string())
            }
            _ => {}
        }
    }

    fn effect(&mut self, handle: u32, effect: Effect) {
        match effect {
            Effect::Answer { ticket, result } => {
                let about = self.asked.remove(&ticket).expect("a call is answered once");
                self.input_answered(handle, about, result);
            }
            _ if self.session != Some(handle) => {}
            Effect::RequestModel(request) => {
                let mut state = self.sim.lock();
                let saying = script::answer(&mut state, &request.step_id);
                drop(state);
                self.streams.insert(request.step_id.clone(), saying);
                self.sim.act(self.id, request.delay_ms, Act::Stream(request.step_id));
            }
            Effect::AbortModel { step_id } => drop(self.streams.remove(&step_id)),
            Effect::PrepareTool(call) => self.sim.act(self.id, 1, Act::Prepare(call.tool_call_id)),
            Effect::EnterTool { call, resumed } => self.enter(&call, resumed),
            Effect::AbortTool { tool_call_id } => self.abort(&tool_call_id),
            Effect::InteractionEnded { interaction, .. } => self.wake(&interaction),
            Effect::PromptTurn { prompt_id, turn_id } => {
                if let Some(turn) = self.handles.get_mut(&prompt_id) {
                    *turn = turn_id;
                }
            }
            Effect::PromptDropped { prompt_id, .. } => drop(self.handles.remove(&prompt_id)),
            Effect::TurnEnded { result } => self.handles.retain(|_, turn| *turn != result.turn_id),
            _ => {}
        }
    }

    fn input_answered(&mut self, handle: u32, about: Asked, result: Result<Answer, Refusal>) {
        match (about, result) {
            (Asked::Open, Ok(_)) => {
                self.session = Some(handle);
                self.opening = false;
            }
            (Asked::Open, Err(_)) => self.open_again(200),
            (Asked::Prompt, Ok(Answer::Prompt { prompt_id, turn_id })) => {
                self.sim.lock().ledger.prompted(&prompt_id);
                if self.session == Some(handle) {
                    self.handles.insert(prompt_id, turn_id);
                }
            }
            (Asked::Respond, Ok(Answer::Interaction(interaction))) => {
                self.sim.lock().ledger.answered(&interaction);
            }
            (Asked::Tool(call, entering), Ok(answer)) => self.tool_answered(&call, entering, answer),
            (Asked::Tool(call, entering), Err(refusal)) => {
                self.tool_refused(&call, entering, refusal.code.as_str());
            }
            (_, Err(refusal)) if refusal.code == Code::SessionClosed && self.session == Some(handle) => {
                self.forget_session();
                self.open_again(200);
            }
            _ => {}
        }
    }

    fn enter(&mut self, call: &ToolCall, resumed: bool) {
        self.entered += 1;
        let mut state = self.sim.lock();
        let program = script::program(&mut state, call, resumed, self.entered);
        let wait = state.random.wait(300);
        drop(state);
        let before = self.tools.insert(call.tool_call_id.clone(), program);
        assert!(before.is_none(), "I9: entered while it goes on: {call:?}");
        self.sim.act(self.id, wait, Act::Execute(call.tool_call_id.clone(), self.entered));
    }

    /// A tool may listen to its signal, or go on and say more later.
    fn abort(&mut self, call: &str) {
        let listens = self.sim.lock().random.percent(50);
        if listens {
            self.tools.remove(call);
        } else if let Some(program) = self.tools.get_mut(call) {
            program.aborted = true;
            if program.waits.take().is_some() {
                self.sim.act(self.id, 5, Act::Execute(call.to_owned(), program.entering));
            }
        }
    }

    fn tool_answered(&mut self, call: &str, entering: u64, answer: Answer) {
        let Some(program) = self.tools.get_mut(call).filter(|program| program.entering == entering) else {
            return;
        };
        match answer {
            Answer::Interaction(interaction) | Answer::Asked { interaction } if !program.aborted => {
                program.waits = Some(interaction.interaction_id);
            }
            _ => self.sim.act(self.id, 5, Act::Execute(call.to_owned(), entering)),
        }
    }

    fn tool_refused(&mut self, call: &str, entering: u64, why: &str) {
        if self.tools.get(call).is_some_and(|program| program.entering == entering) {
            self.tools.remove(call);
            self.tell(json!({ "input": "tool_settled", "tool_call_id": call, "error": why }));
        }
    }

    /// I4: who waits gets the answer.
    fn wake(&mut self, interaction: &Interaction) {
        let id = Some(&interaction.interaction_id);
        let waiting = self.tools.iter_mut().find(|(_, program)| program.waits.as_ref() == id);
        if let Some((call, program)) = waiting {
            program.waits = None;
            self.sim.act(self.id, 5, Act::Execute(call.clone(), program.entering));
        }
    }
}

fn said(mut input: Value) -> Input {
    if input.get("ticket").is_none() {
        input["ticket"] = json!(0);
    }
    serde_json::from_value(input).expect("it is written as JavaScript does")
}
