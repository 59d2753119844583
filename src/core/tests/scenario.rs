//! A Session driven by hand: inputs go in, what comes out is looked at, and the invariants hold after each.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::{Value, json};

use super::{
    fold::fold,
    stored::{Stored, as_json, persisted, tools_of},
    tools::tools,
};
use crate::core::{
    change::{ApprovalMode, OpenRows, SessionRow, StepPhase},
    effect::{Answer, Effect, ModelRequest, ToolCall, TurnResult},
    engine::{Decided, Engine, Receipt, Role},
    error::Refusal,
    input::{Input, ModelEvent},
    interaction::Interaction,
    message::{PartBody, ToolState},
    settings::{Settings, ToolDefinition},
    stamp::Stamp,
    state::SessionState,
};

pub struct Scenario {
    settings: Arc<Settings>,
    pub engine: Engine,
    /// As what the next batch is decided.
    pub role: Role,
    pub stored: Stored,
    /// Everything the core asked for since the last `take_effects`.
    effects: Vec<Effect>,
    ticket: u64,
    now: i64,
    pub outside: Outside,
}

/// What the outside has been asked to do and has not finished.
#[derive(Debug, Default)]
pub struct Outside {
    pub model: Option<ModelRequest>,
    pub preparing: BTreeMap<String, ToolCall>,
    pub running: BTreeMap<String, ToolCall>,
    pub entered: BTreeSet<String>,
    pub ended_turns: Vec<TurnResult>,
    /// The tool calls of the host's copy of the prompt.
    prompt: BTreeMap<String, Value>,
    /// Stream numbers of the running request.
    pub next_ref: u32,
}

impl Scenario {
    pub fn new() -> Self {
        let tools: Vec<ToolDefinition> = serde_json::from_value(tools()).unwrap();
        let settings = Arc::new(Settings::new(8, true, tools).unwrap());
        let row = SessionRow::new("s", ApprovalMode::Ask, 1);
        Self {
            engine: Engine::restored(settings.clone(), OpenRows::of(row.clone())),
            role: Role::Owner,
            settings,
            stored: Stored::new(row),
            effects: Vec::new(),
            ticket: 0,
            now: 1_700_000_000_000,
            outside: Outside::default(),
        }
    }

    // ---- Inputs ------------------------------------------------------------------------------

    /// A batch, decided in one commit.
    pub fn batch(&mut self, inputs: &[Input]) {
        if self.role == Role::Guest && self.engine.may_own(inputs) {
            self.role = Role::NewOwner;
        }
        let before = self.engine.state().clone();
        self.now += 1;
        let stamp = Stamp::new(self.now, self.now as u64);
        match self.engine.decide(inputs, self.role, stamp) {
            Decided::Settled(settlement) => {
                let effects = self.engine.settle(*settlement);
                let after = self.engine.state();
                assert_eq!(persisted(after), persisted(&before), "what is not written does not change");
                self.take(effects);
            }
            Decided::Proposed(proposal) => {
                assert_eq!(self.engine.state(), &before, "nothing counts before the receipt");
                let commit = proposal.commit().clone();
                self.stored.apply(&commit);
                if self.role == Role::NewOwner {
                    self.role = Role::Owner;
                }
                let effects = self.engine.commit(*proposal, &Receipt::new(&commit.commit_id, 1));
                self.take(effects);
            }
        }
        self.assert_invariants();
    }

    /// An input from JavaScript, as JSON; a caller's gets its answer back.
    pub fn input(&mut self, input: Value) -> Result<Option<Answer>, Refusal> {
        self.ticket += 1;
        let mut input = input;
        input["ticket"] = json!(self.ticket);
        self.batch(&[serde_json::from_value(input).unwrap()]);
        let ticket = self.ticket;
        let answer = self.effects.iter().find_map(|effect| match effect {
            Effect::Answer { ticket: of, result } if *of == ticket => Some(result.clone()),
            Effect::AnswerFromHistory { ticket: of, interaction_id, .. } if *of == ticket => {
                let known = self.stored.interactions.iter().map(|row| &row.interaction);
                let found = known.clone().find(|known| known.interaction_id == *interaction_id);
                Some(Err(found.map_or_else(
                    || Refusal::unknown_interaction(interaction_id),
                    |interaction| Refusal::terminal(interaction.clone()),
                )))
            }
            _ => None,
        });
        answer.transpose()
    }

    pub fn prompt(&mut self, text: &str) -> String {
        match self.input(json!({ "input": "prompt", "parts": [{ "type": "text", "text": text }] })) {
            Ok(Some(Answer::Prompt { turn_id, .. })) => turn_id,
            other => panic!("a prompt is queued: {other:?}"),
        }
    }

    pub fn model(&mut self, event: Value) {
        let step_id = self.outside.model.as_ref().expect("the model was asked").step_id.clone();
        self.input(json!({ "input": "model", "step_id": step_id, "event": event })).unwrap();
    }

    pub fn delta(&mut self, part: u32, text: &str) {
        let step_id = self.outside.model.as_ref().expect("the model was asked").step_id.clone();
        let event = ModelEvent::Delta { part, text: text.to_owned() };
        self.batch(&[Input::Model { step_id, event }]);
    }

    /// The model calls these tools, and its stream ends properly.
    pub fn calls(&mut self, calls: &[(&str, &str, Value)]) {
        for (number, (id, name, input)) in calls.iter().enumerate() {
            self.model(json!({
                "type": "tool_call", "ref": number, "tool_name": name, "tool_call_id": id, "input": input,
            }));
        }
        self.finish("tool-calls");
    }

    pub fn says(&mut self, text: &str) {
        self.model(json!({ "type": "text_start", "ref": 0 }));
        self.delta(0, text);
        self.model(json!({ "type": "text_end", "ref": 0 }));
        self.finish("stop");
    }

    /// Text under a number that no other Part of the stream has.
    pub fn says_more(&mut self, text: &str) {
        self.model(json!({ "type": "text_start", "ref": 99 }));
        self.delta(99, text);
        self.model(json!({ "type": "text_end", "ref": 99 }));
        self.finish("stop");
    }

    pub fn finish(&mut self, reason: &str) {
        let usage = json!({ "input_tokens": 2, "output_tokens": 1, "total_tokens": 3 });
        self.model(json!({ "type": "finish", "reason": reason, "usage": usage }));
    }

    pub fn settle(&mut self, tool_call_id: &str, output: Value) {
        self.input(json!({ "input": "tool_settled", "tool_call_id": tool_call_id, "ok": output })).unwrap();
    }

    pub fn ask_approval(&mut self, tool_call_id: &str) -> Result<Option<Answer>, Refusal> {
        let turn_id = self.stored.session.active_turn_id.clone();
        self.input(json!({ "input": "approval", "from_call": true, "request": {
            "turn_id": turn_id, "tool_call_id": tool_call_id, "payload": { "operation": "tool" },
        } }))
    }

    pub fn respond(&mut self, interaction_id: &str, response: Value) -> Result<Interaction, Refusal> {
        let answer = self.input(json!({
            "input": "respond", "interaction_id": interaction_id, "response": response,
        }))?;
        match answer {
            Some(Answer::Interaction(interaction)) => Ok(*interaction),
            other => panic!("an answer gives the committed Interaction: {other:?}"),
        }
    }

    pub fn approve(&mut self, interaction_id: &str) -> Result<Interaction, Refusal> {
        let payload = json!({ "decision": "approved" });
        self.respond(interaction_id, json!({ "type": "approval", "outcome": "resolved", "payload": payload }))
    }

    /// The next process has an Agent without tools.
    pub fn open_without_tools(&mut self) {
        self.open_as(true, json!([]));
    }

    /// The next process has an Agent with these tools and no model.
    pub fn open_without_model(&mut self) {
        self.open_as(false, tools());
    }

    /// The next process has an Agent with these tools and a model.
    pub fn open_with_model(&mut self) {
        self.open_as(true, tools());
    }

    fn open_as(&mut self, has_model: bool, tools: Value) {
        let tools = serde_json::from_value(tools).unwrap();
        self.settings = Arc::new(Settings::new(8, has_model, tools).unwrap());
        self.crash_and_open();
    }

    /// A process that believes in another owner commits a prompt. What is open here is out of date then.
    pub fn queue_beside(&mut self, text: &str) {
        let parts = json!([{ "type": "text", "text": text }]);
        let input = json!({ "input": "prompt", "ticket": 0, "parts": parts });
        let input: Input = serde_json::from_value(input).unwrap();
        match self.engine.decide(&[input], Role::Guest, Stamp::new(self.now + 1, 1)) {
            Decided::Proposed(proposal) => self.stored.apply(proposal.commit()),
            Decided::Settled(_) => panic!("a prompt is written"),
        }
        self.now += 1;
    }

    /// The process ends right after an approval was committed.
    pub fn approve_and_crash(&mut self, interaction_id: &str) {
        let response =
            json!({ "type": "approval", "outcome": "resolved", "payload": { "decision": "approved" } });
        let input = json!({ "input": "respond", "ticket": 0, "interaction_id": interaction_id, "response": response });
        let input: Input = serde_json::from_value(input).unwrap();
        match self.engine.decide(&[input], self.role, Stamp::new(self.now + 1, 1)) {
            Decided::Proposed(proposal) => self.stored.apply(proposal.commit()),
            Decided::Settled(_) => panic!("an answer is written"),
        }
        self.now += 1;
        self.crash_and_open();
    }

    /// The process ends between two commits, and the next one opens the Session.
    pub fn crash_and_open(&mut self) {
        self.outside.model = None;
        self.outside.preparing.clear();
        self.outside.running.clear();
        // Whatever was told before, the store alone goes on.
        self.engine = Engine::restored(self.settings.clone(), self.stored.open_rows());
        self.role = if self.engine.may_own(&[]) { Role::NewOwner } else { Role::Guest };
        self.input(json!({ "input": "open" })).unwrap();
    }

    // ---- What came out -----------------------------------------------------------------------

    pub fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// The model was asked, and its answer is coming in.
    pub fn is_streaming(&self) -> bool {
        let step = self.engine.state().turn.as_ref().and_then(|turn| turn.row.step.as_ref());
        self.outside.model.is_some() && step.is_some_and(|step| step.phase == StepPhase::Model)
    }

    pub fn pending(&self) -> Vec<Interaction> {
        let rows = self.stored.interactions.iter();
        rows.filter(|row| row.interaction.is_pending()).map(|row| row.interaction.clone()).collect()
    }

    pub fn tool_state(&self, tool_call_id: &str) -> ToolState {
        self.tool(tool_call_id)["state"]
            .as_str()
            .map(|word| serde_json::from_value(json!(word)).unwrap())
            .unwrap()
    }

    /// The Tool Part as `messages()` shows it.
    pub fn tool(&self, tool_call_id: &str) -> Value {
        let messages = self.stored.shown();
        let mut parts = messages.iter().flat_map(|message| message["parts"].as_array().unwrap().iter());
        parts.find(|part| part["tool_call_id"] == tool_call_id).expect("the call is shown").clone()
    }

    pub fn last_turn(&self) -> &TurnResult {
        self.outside.ended_turns.last().expect("a Turn has ended")
    }

    fn take(&mut self, effects: Vec<Effect>) {
        let mut goes_on = false;
        for effect in &effects {
            match effect {
                Effect::RequestModel(request) => {
                    self.assert_sendable(request);
                    self.extend_prompt(request);
                    self.outside.model = Some(request.clone());
                    self.outside.next_ref = 0;
                }
                Effect::AbortModel { step_id } => {
                    self.outside.model.take_if(|request| request.step_id == *step_id);
                }
                Effect::PrepareTool(call) => {
                    self.outside.preparing.insert(call.tool_call_id.clone(), call.clone());
                }
                Effect::EnterTool { call, resumed } => {
                    let first = self.outside.entered.insert(call.tool_call_id.clone());
                    assert_ne!(first, *resumed, "execute is entered once, and again only to resume (I9)");
                    assert!(!self.tool_state(&call.tool_call_id).is_terminal());
                    self.outside.running.insert(call.tool_call_id.clone(), call.clone());
                }
                Effect::AbortTool { tool_call_id } => {
                    self.outside.running.remove(tool_call_id);
                }
                Effect::GoOn => goes_on = true,
                Effect::TurnEnded { result } => {
                    self.outside.ended_turns.push(result.clone());
                    self.outside.preparing.clear();
                }
                _ => {}
            }
        }
        self.effects.extend(effects);
        if goes_on {
            self.batch(&[Input::GoOn]);
        }
    }

    // ---- Invariants --------------------------------------------------------------------------

    fn assert_invariants(&self) {
        self.stored.assert_tools_match_their_interactions();
        let restored = SessionState::restore(self.stored.open_rows());
        assert_eq!(persisted(&restored), persisted(self.engine.state()), "restore(rows) is the live state");
        assert_eq!(fold(&self.stored.journal), self.stored.shown(), "folded Mutations are what queries show");
        self.assert_prompt_is_up_to_date();
        self.assert_nothing_stalls();
    }

    /// I12: while a Turn is unfinished, somebody has something to do.
    fn assert_nothing_stalls(&self) {
        // Without a model the Session waits for an Agent that has one.
        if self.engine.state().turn.is_some() && self.settings.has_model {
            let outside = &self.outside;
            let busy = self.is_streaming() || !outside.preparing.is_empty() || !outside.running.is_empty();
            assert!(busy || !self.pending().is_empty(), "nothing is outstanding and the Turn does not go on");
        }
    }

    /// The host adds to its copy of the prompt what each request brings.
    fn extend_prompt(&mut self, request: &ModelRequest) {
        if request.history {
            self.outside.prompt = tools_of(&self.stored.shown());
        }
        self.outside.prompt.extend(tools_of(&as_json(&request.messages)));
    }

    /// That copy, with what the next request will bring, has every call of the steps before as it is stored.
    fn assert_prompt_is_up_to_date(&self) {
        let state = self.engine.state();
        if state.feed.sent == 0 && state.feed.history {
            return;
        }
        let step = state.turn.as_ref().and_then(|turn| turn.row.step.as_ref()).map(|step| &step.step_id);
        let earlier = |part: &Value| step.is_none_or(|step| part["step_id"] != json!(step));
        let mut prompt = self.outside.prompt.clone();
        prompt.extend(tools_of(&as_json(&state.feed.fresh)));
        for (part_id, part) in tools_of(&self.stored.shown()).iter().filter(|(_, part)| earlier(part)) {
            assert_eq!(prompt.get(part_id), Some(part), "the host's copy of the prompt");
        }
    }

    /// I10: what the model is sent has an end for each of its calls.
    fn assert_sendable(&self, request: &ModelRequest) {
        let calls =
            request.messages.iter().flat_map(|message| &message.parts).filter_map(|part| match &part.body {
                PartBody::Tool(tool) => Some(tool),
                _ => None,
            });
        for call in calls {
            let provider_goes_on = call.provider_executed && call.state == ToolState::Running;
            assert!(
                call.state.is_terminal() || provider_goes_on,
                "a request goes out when every call has a result: {call:?}"
            );
            assert!(provider_goes_on || call.output.is_some() || call.error.is_some());
            assert!(!call.awaits_approval(), "a provider is told of every approval it wants: {call:?}");
            let was_run = provider_goes_on || call.result_step_id.is_some();
            assert!(was_run || !call.is_approved_at_provider(), "what has ended is not let run: {call:?}");
        }
    }
}
