//! The loop under bad luck: stores that answer late, fail, or fail to say that they succeeded.

mod failing_store;
mod late_answers;
mod owners;
mod recording_host;
mod sessions;
mod unreliable_store;

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};

use self::{recording_host::RecordingHost, unreliable_store::UnreliableStore};
use super::{
    agent::Agent,
    clock::SystemClock,
    outside::Outside,
    request::{Operation, Request},
};
use crate::core::{
    input::Input,
    settings::{Settings, ToolDefinition},
};

/// An Agent with one open Session in a store that does what it is told.
pub struct Fixture {
    pub agent: Arc<Agent>,
    pub host: Arc<RecordingHost>,
    pub store: Arc<UnreliableStore>,
    pub session: u32,
}

fn settings() -> Settings {
    let tools = json!([{ "name": "plain", "gate": "none", "schema": {} }, { "name": "gated", "gate": "always", "schema": {} }]);
    let tools: Vec<ToolDefinition> = serde_json::from_value(tools).unwrap();
    Settings::new(10, true, tools).unwrap()
}

impl Fixture {
    pub fn new() -> Self {
        let (host, store) = (Arc::new(RecordingHost::default()), Arc::new(UnreliableStore::default()));
        Self::on(host, store)
    }

    /// Another Agent of the same id, on the same store: what a second process would be.
    pub fn on(host: Arc<RecordingHost>, store: Arc<UnreliableStore>) -> Self {
        Self::with(settings(), Duration::from_secs(10), host, store)
    }

    pub fn with(
        settings: Settings,
        lease: Duration,
        host: Arc<RecordingHost>,
        store: Arc<UnreliableStore>,
    ) -> Self {
        let outside = Outside { store: store.clone(), host: host.clone(), clock: Arc::new(SystemClock) };
        let agent = Agent::new("agent", settings, lease, outside);
        let mut fixture = Self { agent, host, store, session: 0 };
        let created = fixture.call(json!({ "op": "create", "session_id": "s" }));
        let opened =
            created.unwrap_or_else(|_| fixture.call(json!({ "op": "open", "session_id": "s" })).unwrap());
        fixture.session = u32::try_from(opened["session"].as_u64().unwrap()).unwrap();
        fixture
    }

    /// Asks the Agent and waits for the answer.
    pub fn call(&self, request: Value) -> Result<Value, String> {
        let ticket = self.host.next_ticket();
        let operation: Operation = serde_json::from_value(request).unwrap();
        self.agent.call(Request { ticket, operation });
        self.host.wait_for_answer(ticket)
    }

    /// Sends an input; the ticket can be waited for.
    pub fn send(&self, mut input: Value) -> u64 {
        let ticket = self.host.next_ticket();
        input["ticket"] = json!(ticket);
        let input: Input = serde_json::from_value(input).unwrap();
        self.agent.submit(self.session, input);
        ticket
    }

    pub fn ask(&self, input: Value) -> Result<Value, String> {
        let ticket = self.send(input);
        self.host.wait_for_answer(ticket)
    }

    pub fn prompt(&self, text: &str) -> Result<Value, String> {
        self.ask(json!({ "input": "prompt", "parts": [{ "type": "text", "text": text }] }))
    }

    /// The model calls this tool; answers in the running step.
    pub fn model_calls(&self, tool: &str, tool_call_id: &str) {
        let step_id = self.host.wait_for_step();
        let event = json!({ "type": "tool_call", "ref": 0, "tool_name": tool, "tool_call_id": tool_call_id, "input": {} });
        self.send(json!({ "input": "model", "step_id": step_id, "event": event }));
        self.send(json!({ "input": "model", "step_id": step_id, "event": { "type": "finish", "reason": "tool-calls" } }));
    }

    pub fn model_says(&self, text: &str) {
        let step_id = self.host.wait_for_step();
        for event in [
            json!({ "type": "text_start", "ref": 0 }),
            json!({ "type": "delta", "ref": 0, "text": text }),
            json!({ "type": "finish", "reason": "stop" }),
        ] {
            self.send(json!({ "input": "model", "step_id": step_id, "event": event }));
        }
    }

    pub fn approve(&self, interaction_id: &str) -> Result<Value, String> {
        let payload = json!({ "decision": "approved" });
        self.ask(json!({ "input": "respond", "interaction_id": interaction_id,
            "response": { "type": "approval", "outcome": "resolved", "payload": payload } }))
    }

    pub fn pending(&self) -> Vec<Value> {
        self.call(json!({ "op": "interactions", "session": self.session }))
            .unwrap()
            .as_array()
            .unwrap()
            .clone()
    }

    pub fn status(&self) -> Value {
        self.call(json!({ "op": "status", "session": self.session })).unwrap()
    }

    pub fn shown(&self) -> Vec<Value> {
        let page = self.call(json!({ "op": "messages", "session": self.session })).unwrap();
        page["items"].as_array().unwrap().clone()
    }
}
