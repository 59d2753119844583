//! What can happen next, and how it is said to the Session.

use serde_json::{Value, json};

use super::world::{CALLS, World};
use crate::core::input::Input;

/// Something that may happen. Calls and Interactions go by their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    Prompt,
    Model(Move),
    Prepared(usize, Verdict),
    GoOn,
    /// A running tool asks what it asks next.
    Ask(usize),
    /// A tool that was entered again asks something else than before.
    AskOther(usize),
    HostAsks,
    Answer(usize, Outcome),
    Settle(usize, Outcome),
    AllowAlways,
    Stop,
    Close,
    /// The process ends between two commits.
    Die,
    /// The next process opens the Session.
    Open,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    /// The next part of the stream as the script has it.
    Next,
    /// The stream breaks off.
    BreaksOff,
    /// The request is refused and may be made again.
    Refused,
    /// The stream ends at the length limit.
    Cut,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Ask,
    Open,
    Invalid,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Good,
    Bad,
}

const BOTH: [Outcome; 2] = [Outcome::Good, Outcome::Bad];

impl Event {
    /// Part of a Turn that runs its course.
    pub fn is_ordinary(self) -> bool {
        !matches!(
            self,
            Self::Stop
                | Self::Close
                | Self::Die
                | Self::AskOther(_)
                | Self::Model(Move::BreaksOff | Move::Refused | Move::Cut)
        )
    }
}

impl World {
    pub fn events(&self) -> Vec<Event> {
        let Some(engine) = &self.engine else { return vec![Event::Open] };
        let mut events = vec![Event::Die];
        if engine.state().closed {
            return events;
        }
        if !self.history.prompted {
            events.push(Event::Prompt);
        }
        if engine.state().turn.is_none() {
            return events;
        }
        events.extend([Event::Stop, Event::Close]);
        if self.shape.mode_changes && !self.history.allowed {
            events.push(Event::AllowAlways);
        }
        self.model_events(&mut events);
        for call in 0..CALLS.len() {
            self.call_events(call, &mut events);
        }
        if self.outside.goes_on {
            events.push(Event::GoOn);
        }
        if self.shape.host_asks && !self.history.host_asked && self.may_ask() {
            events.push(Event::HostAsks);
        }
        let pending = self.stored.interactions.iter().enumerate();
        let pending = pending.filter(|(_, row)| row.interaction.is_pending());
        events.extend(pending.flat_map(|(number, _)| BOTH.map(|outcome| Event::Answer(number, outcome))));
        events
    }

    fn model_events(&self, events: &mut Vec<Event>) {
        let Some(model) = &self.outside.model else { return };
        events.extend([Event::Model(Move::Next), Event::Model(Move::BreaksOff)]);
        if model.sent == 0 {
            events.push(Event::Model(Move::Refused));
        }
        if model.calls && model.sent == 2 {
            events.push(Event::Model(Move::Cut));
        }
    }

    fn call_events(&self, call: usize, events: &mut Vec<Event>) {
        if self.outside.preparing.contains(&call) {
            let verdicts = [Verdict::Ask, Verdict::Open, Verdict::Invalid];
            events.extend(verdicts.map(|verdict| Event::Prepared(call, verdict)));
        }
        let Some(running) = self.outside.running.get(&call) else { return };
        events.extend(BOTH.map(|outcome| Event::Settle(call, outcome)));
        let again = running.asked < self.recorded(call);
        if running.asked < self.shape.asks[call] && (again || self.may_ask()) {
            events.push(Event::Ask(call));
        }
        if again && self.part_of(call).is_some_and(|row| is_replay(row.call.as_ref())) {
            events.push(Event::AskOther(call));
        }
    }

    /// Three Interactions in all.
    fn may_ask(&self) -> bool {
        self.stored.interactions.len() < 3
    }

    /// How often the call has asked, in this process and before.
    fn recorded(&self, call: usize) -> usize {
        self.stored.replay_records.iter().filter(|row| row.tool_call_id == CALLS[call]).count()
    }

    pub fn input(&self, event: Event) -> Input {
        let value = match event {
            Event::GoOn => return Input::GoOn,
            Event::Die => unreachable!("a process that ends says nothing"),
            Event::Open => json!({ "input": "open" }),
            Event::Prompt => json!({ "input": "prompt", "parts": [{ "type": "text", "text": "go" }] }),
            Event::Model(step) => self.model_input(step),
            Event::Prepared(call, verdict) => prepared(call, verdict),
            Event::Ask(call) => self.question_of(call, self.outside.running[&call].asked),
            Event::AskOther(call) => self.question_of(call, 99),
            Event::HostAsks => {
                let turn_id = &self.stored.session.active_turn_id;
                json!({ "input": "request", "request": { "type": "vote", "turn_id": turn_id } })
            }
            Event::Answer(number, outcome) => self.response(number, outcome),
            Event::Settle(call, Outcome::Good) => {
                json!({ "input": "tool_settled", "tool_call_id": CALLS[call], "ok": 1 })
            }
            Event::Settle(call, Outcome::Bad) => {
                json!({ "input": "tool_settled", "tool_call_id": CALLS[call], "error": "threw" })
            }
            Event::AllowAlways => {
                json!({ "input": "set", "config": { "security": { "approval_mode": "always-allow" } } })
            }
            Event::Stop => json!({ "input": "stop" }),
            Event::Close => json!({ "input": "close" }),
        };
        said(value)
    }

    fn model_input(&self, step: Move) -> Value {
        let model = self.outside.model.as_ref().expect("the model was asked");
        let call = |number: usize| {
            json!({ "type": "tool_call", "ref": number, "tool_name": self.shape.tools[number],
                "tool_call_id": CALLS[number], "input": { "n": number } })
        };
        let finish = |reason: &str| json!({ "type": "finish", "reason": reason });
        let failed = |retryable: bool| json!({ "type": "failed", "message": "down", "code": "MODEL_FAILED", "retryable": retryable });
        let event = match (step, model.calls, model.sent) {
            (Move::BreaksOff, ..) => failed(false),
            (Move::Refused, ..) => failed(true),
            (Move::Cut, ..) => finish("length"),
            (Move::Next, true, number @ (0 | 1)) => call(number),
            (Move::Next, true, _) => finish("tool-calls"),
            (Move::Next, false, 0) => json!({ "type": "text_start", "ref": 0 }),
            (Move::Next, false, 1) => json!({ "type": "delta", "ref": 0, "text": "done" }),
            (Move::Next, false, _) => finish("stop"),
        };
        json!({ "input": "model", "step_id": model.step_id, "event": event })
    }

    /// What a tool asks first is an approval, then a question.
    pub fn question_of(&self, call: usize, number: usize) -> Value {
        let turn_id = self.stored.session.active_turn_id.clone().unwrap_or_default();
        let mut request = json!({ "turn_id": turn_id, "tool_call_id": CALLS[call] });
        if number == 0 {
            request["payload"] = json!({ "operation": "tool" });
            return json!({ "input": "approval", "from_call": true, "request": request });
        }
        let question = json!({ "question_id": "q", "question": format!("{number}?"), "type": "text" });
        request["type"] = json!("question");
        request["payload"] = json!({ "questions": [question] });
        json!({ "input": "request", "from_call": true, "request": request })
    }

    pub fn response(&self, number: usize, outcome: Outcome) -> Value {
        let interaction = &self.stored.interactions[number].interaction;
        let payload = match (outcome, interaction.kind.as_str()) {
            (Outcome::Bad, _) => Value::Null,
            (_, "question") => json!({ "answers": [{ "question_id": "q", "value": "v" }] }),
            _ => json!({ "decision": "approved" }),
        };
        let word = if outcome == Outcome::Good { "resolved" } else { "denied" };
        let response = json!({ "type": interaction.kind, "outcome": word, "payload": payload });
        json!({ "input": "respond", "interaction_id": interaction.interaction_id, "response": response })
    }
}

fn is_replay(record: Option<&crate::core::change::CallRecord>) -> bool {
    record.is_some_and(|record| record.replay)
}

fn prepared(call: usize, verdict: Verdict) -> Value {
    let mut input = json!({ "input": "tool_prepared", "tool_call_id": CALLS[call] });
    match verdict {
        Verdict::Invalid => input["invalid"] = json!("no"),
        verdict => input["valid"] = json!({ "input": { "n": call }, "ask": verdict == Verdict::Ask }),
    }
    input
}

/// As JavaScript says it. One caller at a time, so one ticket does.
pub fn said(mut value: Value) -> Input {
    value["ticket"] = json!(1);
    serde_json::from_value(value).expect("the test writes what the border takes")
}
