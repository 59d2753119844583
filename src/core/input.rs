//! Inputs: what happened outside.

use serde::Deserialize;
use serde_json::Value;

use super::{
    change::{ModelChoice, Usage},
    json::{Json, present},
    message::{FilePart, SourcePart},
};

/// Correlates a call from outside with its answer. The core only hands it back.
pub type Ticket = u64;

/// What happened to one Session. Values from users are raw here: the core judges them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "input", rename_all = "snake_case")]
pub enum Input {
    /// Somebody opens the Session. The first one settles what an ended process left.
    Open {
        ticket: Ticket,
    },
    Prompt {
        ticket: Ticket,
        parts: Value,
    },
    /// The AbortSignal of a prompt fired.
    Withdraw {
        prompt_id: String,
    },
    Stop {
        ticket: Ticket,
    },
    Close {
        ticket: Ticket,
    },
    Set {
        ticket: Ticket,
        config: Value,
        #[serde(default)]
        options: Value,
        #[serde(default)]
        model: Option<ModelChoice>,
    },
    /// `interactions.request`.
    Request {
        ticket: Ticket,
        request: Value,
        /// The request's `response_schema` as the validator has to read it, where that differs.
        #[serde(default)]
        native_schema: Option<Value>,
        /// The call asks itself, as opposed to its host.
        #[serde(default)]
        from_call: bool,
    },
    /// `interactions.approval.request`.
    Approval {
        ticket: Ticket,
        request: Value,
        #[serde(default)]
        native_schema: Option<Value>,
        #[serde(default)]
        from_call: bool,
    },
    Respond {
        ticket: Ticket,
        interaction_id: Value,
        response: Value,
        /// It was not known here although it is pending: somebody else has just asked it.
        #[serde(skip)]
        again: bool,
    },
    Model {
        step_id: String,
        event: ModelEvent,
    },
    /// The schema and the gate's rule were asked.
    ToolPrepared {
        tool_call_id: String,
        #[serde(flatten)]
        outcome: Prepared,
    },
    /// Goes on with what was answered or queued: the core asks for it itself, and the runtime once it has caught
    /// up with what others committed.
    #[serde(skip)]
    GoOn,
    /// What a tool that streams its result has so far.
    ToolProgress {
        tool_call_id: String,
        output: Json,
    },
    /// `execute` has ended.
    ToolSettled {
        tool_call_id: String,
        #[serde(flatten)]
        outcome: Settled,
        /// What the model is shown instead of the result, where the tool says so.
        #[serde(default)]
        model_output: Option<Json>,
    },
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Prepared {
    Valid {
        input: Json,
        ask: bool,
        /// What the tool itself says of the call, for the approval; the Session adds its own fields.
        #[serde(default)]
        approval: Option<Json>,
    },
    /// The arguments break the schema; the text tells the model what to mend.
    Invalid(String),
    /// The gate's rule threw.
    Error(String),
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settled {
    Ok(Json),
    Error(String),
    /// It was not entered: its arguments no longer come to what they did.
    CannotGoOn(String),
}

/// A part of a model's stream. `part` is the number the adapter gave it within this stream.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ModelEvent {
    TextStart(PartEdge),
    TextEnd(PartEdge),
    ReasoningStart(PartEdge),
    ReasoningEnd(PartEdge),
    Delta {
        #[serde(rename = "ref")]
        part: u32,
        text: String,
    },
    ToolInputStart(CallStart),
    ToolCall {
        #[serde(flatten)]
        start: CallStart,
        /// The arguments, where they are a JSON object.
        #[serde(default)]
        input: Option<Json>,
        /// The arguments as they came, where they are not; `problem` says why.
        #[serde(default)]
        input_text: Option<String>,
        #[serde(default)]
        problem: Option<String>,
        #[serde(default)]
        provider_metadata: Option<Json>,
    },
    /// The result of a call the provider ran itself.
    ToolResult {
        #[serde(rename = "ref")]
        part: u32,
        #[serde(default, deserialize_with = "present")]
        output: Option<Json>,
        /// What went wrong, in words; `output` may carry the provider's own JSON of it.
        #[serde(default)]
        error: Option<String>,
        #[serde(default)]
        provider_metadata: Option<Json>,
    },
    /// The result of a call that the provider began in an earlier step, under the provider's own id.
    LateToolResult {
        provider_tool_call_id: String,
        #[serde(default, deserialize_with = "present")]
        output: Option<Json>,
        #[serde(default)]
        error: Option<String>,
        #[serde(default)]
        provider_metadata: Option<Json>,
    },
    /// The provider does not run its call before a person has agreed.
    ApprovalRequest {
        #[serde(rename = "ref")]
        part: u32,
        approval_id: String,
    },
    File(FilePart),
    Source(SourcePart),
    /// The stream was read to its proper end.
    Finish {
        reason: FinishReason,
        #[serde(default)]
        usage: Usage,
        /// The provider itself said nothing of an end: the answer may lack its rest.
        #[serde(default)]
        unconfirmed: bool,
    },
    /// The request was refused, or the stream did not end properly.
    Failed {
        message: String,
        code: ModelFailure,
        retryable: bool,
        #[serde(default)]
        retry_after_ms: Option<u64>,
    },
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartEdge {
    #[serde(rename = "ref")]
    pub part: u32,
    #[serde(default)]
    pub provider_metadata: Option<Json>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct CallStart {
    #[serde(rename = "ref")]
    pub part: u32,
    pub tool_name: String,
    /// Only when the Session has not used it before.
    #[serde(default)]
    pub tool_call_id: Option<String>,
    /// The provider's own id, where it could not be kept.
    #[serde(default)]
    pub provider_tool_call_id: Option<String>,
    #[serde(default)]
    pub provider_executed: bool,
    #[serde(default)]
    pub title: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FinishReason {
    Stop,
    Length,
    ContentFilter,
    ToolCalls,
    Error,
    #[serde(other)]
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ModelFailure {
    ModelMissing,
    ModelFailed,
}

impl Input {
    /// The caller that waits for an answer, if any.
    pub fn ticket(&self) -> Option<Ticket> {
        match self {
            Self::Open { ticket }
            | Self::Prompt { ticket, .. }
            | Self::Stop { ticket }
            | Self::Close { ticket }
            | Self::Set { ticket, .. }
            | Self::Request { ticket, .. }
            | Self::Approval { ticket, .. }
            | Self::Respond { ticket, .. } => Some(*ticket),
            Self::GoOn
            | Self::ToolProgress { .. }
            | Self::Withdraw { .. }
            | Self::Model { .. }
            | Self::ToolPrepared { .. }
            | Self::ToolSettled { .. } => None,
        }
    }
}
