//! What the model says and what tools do.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::{random::Random, scheduler::State};
use crate::core::{
    effect::ToolCall,
    settings::{Settings, ToolDefinition},
};

/// The rest of a step's stream.
pub type Saying = VecDeque<Value>;

/// The rest of what `execute` does.
#[derive(Debug)]
pub struct Program {
    /// Tells this entering from the next one of the same call.
    pub entering: u64,
    pub tool_call_id: String,
    turn_id: String,
    asks: VecDeque<Value>,
    pub aborted: bool,
    /// The Interaction that it waits for.
    pub waits: Option<String>,
}

pub fn settings(has_model: bool) -> Settings {
    let tools = json!([
        { "name": "plain", "gate": "none", "schema": {} },
        { "name": "gated", "gate": "always", "schema": {} },
        { "name": "judged", "gate": "host" },
        { "name": "again", "gate": "none", "replay": true, "schema": {} },
        { "name": "gated_again", "gate": "always", "replay": true, "schema": {} },
    ]);
    let tools: Vec<ToolDefinition> = serde_json::from_value(tools).expect("they are definitions");
    Settings::new(8, has_model, tools).expect("their schemas are good")
}

const TOOLS: [&str; 6] = ["plain", "gated", "judged", "again", "gated_again", "nobody_knows"];

/// What the model answers with in a step.
pub fn answer(state: &mut State, step_id: &str) -> Saying {
    let mut said = Vec::new();
    let kind = state.random.below(100);
    if kind < 5 {
        let retryable = state.random.percent(50);
        said.push(
            json!({ "type": "failed", "message": "down", "code": "MODEL_FAILED", "retryable": retryable }),
        );
    } else {
        if kind < 60 {
            said.push(json!({ "type": "text_start", "ref": 0 }));
            for _ in 0..=state.random.below(3) {
                said.push(json!({ "type": "delta", "ref": 0, "text": "word " }));
            }
            said.push(json!({ "type": "text_end", "ref": 0 }));
        }
        for reference in 1..=calls(kind) {
            let name = state.random.pick(&TOOLS).expect("there are some");
            let id = format!("call-{}", state.ticket());
            said.push(json!({ "type": "tool_call", "ref": reference, "tool_name": name, "tool_call_id": id,
                "input": { "n": reference } }));
        }
        said.push(end(&mut state.random));
    }
    said.into_iter().map(|event| json!({ "input": "model", "step_id": step_id, "event": event })).collect()
}

fn calls(kind: usize) -> usize {
    match kind {
        45..=69 => 1,
        70..=89 => 2,
        90..=99 => 3,
        _ => 0,
    }
}

fn end(random: &mut Random) -> Value {
    let reason = match random.below(20) {
        0 => "length",
        1 => return json!({ "type": "failed", "message": "cut", "code": "MODEL_FAILED", "retryable": true }),
        2 => "error",
        _ => "tool-calls",
    };
    json!({ "type": "finish", "reason": reason, "usage": { "total_tokens": 1 } })
}

/// What `execute` asks follows from the call alone, so that a replay tool repeats itself. At times one does not.
pub fn program(state: &mut State, call: &ToolCall, resumed: bool, entering: u64) -> Program {
    let number = call.tool_call_id.bytes().fold(7u64, |sum, byte| sum.wrapping_mul(31) + u64::from(byte));
    let mut own = Random::new(number);
    let other = resumed && state.random.percent(5);
    let asks = (0..own.below(3)).map(|place| {
        let mut request = json!({ "turn_id": call.turn_id, "tool_call_id": call.tool_call_id });
        if own.percent(50) {
            request["payload"] = json!({ "operation": "tool", "place": if other { 99 } else { place } });
            json!({ "input": "approval", "from_call": true, "request": request })
        } else {
            request["type"] = json!("vote");
            request["payload"] = json!({ "place": if other { 99 } else { place } });
            json!({ "input": "request", "from_call": true, "request": request })
        }
    });
    Program {
        entering,
        tool_call_id: call.tool_call_id.clone(),
        turn_id: call.turn_id.clone(),
        asks: asks.collect(),
        aborted: false,
        waits: None,
    }
}

impl Program {
    /// The next thing it asks.
    pub fn ask(&mut self) -> Option<Value> {
        self.asks.pop_front()
    }

    pub fn end(&self, random: &mut Random) -> Value {
        let mut settled = json!({ "input": "tool_settled", "tool_call_id": self.tool_call_id });
        if random.percent(85) {
            settled["ok"] = json!({ "of": self.turn_id });
        } else {
            settled["error"] = json!("threw");
        }
        settled
    }
}
