use std::{sync::Arc, time::Duration};

use napi::bindgen_prelude::Function;
use napi_derive::napi;
use serde::Deserialize;

use super::{
    convert::parse,
    guard::{guarded, guarded_for},
    outbox::Outbox,
    store::{NativeStore, StoreInUse},
};
use crate::{
    core::{
        input::{Input, ModelEvent},
        settings::{Settings, ToolDefinition},
    },
    runtime::{
        agent::{Agent, DEFAULT_LEASE},
        clock::SystemClock,
        outside::Outside,
        request::Request,
    },
};

/// An Agent in one store.
#[napi]
pub struct NativeAgent {
    /// `None` once it was closed.
    agent: Option<Arc<Agent>>,
    /// `None` once it was closed: what JavaScript has not collected yet must hold no file open.
    store: Option<StoreInUse>,
    outbox: Arc<Outbox>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AgentSettings {
    agent_id: String,
    max_steps: u32,
    lease_seconds: Option<f64>,
    has_model: bool,
    tools: Vec<ToolDefinition>,
}

#[napi]
impl NativeAgent {
    /// Throws where a tool's JSON Schema cannot be used; the message names the tool.
    #[napi(constructor)]
    pub fn new(store: &NativeStore, settings_json: String, wake: Function<(), ()>) -> napi::Result<Self> {
        guarded(|| {
            let AgentSettings { agent_id, max_steps, lease_seconds, has_model, tools } =
                parse(&settings_json)?;
            let settings = Settings::new(max_steps, has_model, tools)
                .map_err(|problem| napi::Error::new(napi::Status::InvalidArg, problem.to_string()))?;
            let wake = wake.build_threadsafe_function().weak::<true>().build()?;
            let outbox = Arc::new(Outbox::new(wake));
            let store = store.open();
            let lease = lease_seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            let (host, clock) = (outbox.clone(), Arc::new(SystemClock));
            let outside = Outside { store: store.store.clone(), host, clock };
            let agent = Agent::new(&agent_id, settings, lease.unwrap_or(DEFAULT_LEASE), outside);
            Ok(Self { agent: Some(agent), store: Some(store), outbox })
        })
    }

    /// Lets the store go: the last Agent that uses a file closes it.
    #[napi]
    pub fn close(&mut self) -> napi::Result<()> {
        guarded(|| {
            if let Some(agent) = self.agent.take() {
                agent.leave();
            }
            self.store = None;
            Ok(())
        })
    }

    /// Takes a request of the Agent. True when `drain` has something.
    #[napi]
    pub fn call(&self, request_json: String) -> napi::Result<bool> {
        guarded_for(&self.outbox, || {
            let request: Request = parse(&request_json)?;
            self.agent()?.call(request);
            Ok(!self.outbox.is_empty())
        })
    }

    /// Takes an input of an open Session. True when `drain` has something.
    #[napi]
    pub fn input(&self, session: u32, input_json: String) -> napi::Result<bool> {
        guarded_for(&self.outbox, || {
            let input: Input = parse(&input_json)?;
            self.agent()?.submit(session, input);
            Ok(!self.outbox.is_empty())
        })
    }

    /// What came of the model's stream together: a JSON array of its events. True when `drain` has something.
    #[napi]
    pub fn model(&self, session: u32, step_id: String, events_json: String) -> napi::Result<bool> {
        guarded_for(&self.outbox, || {
            let events: Vec<ModelEvent> = parse(&events_json)?;
            let inputs = events.into_iter().map(|event| Input::Model { step_id: step_id.clone(), event });
            self.agent()?.submit_all(session, inputs.collect());
            Ok(!self.outbox.is_empty())
        })
    }

    /// A fragment of the model's stream: an input without JSON around it, as there are so many.
    #[napi]
    pub fn delta(&self, session: u32, step_id: String, reference: u32, text: String) -> napi::Result<bool> {
        guarded_for(&self.outbox, || {
            let event = ModelEvent::Delta { part: reference, text };
            self.agent()?.submit(session, Input::Model { step_id, event });
            Ok(!self.outbox.is_empty())
        })
    }

    /// Whether somebody listens to the Session's Mutations.
    #[napi]
    pub fn observe(&self, session: u32, on: bool) -> napi::Result<()> {
        guarded(|| {
            self.outbox.observe(session, on);
            Ok(())
        })
    }

    /// All events so far as a JSON array, in order; `null` when there are none.
    #[napi]
    pub fn drain(&self) -> napi::Result<Option<String>> {
        guarded(|| Ok(self.outbox.drain()))
    }
}

impl NativeAgent {
    fn agent(&self) -> napi::Result<&Arc<Agent>> {
        self.agent.as_ref().ok_or_else(|| napi::Error::from_reason("The Agent was closed."))
    }
}
