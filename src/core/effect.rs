//! Effects: work the core asks of the outside, released only once its commit is durable.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::{
    change::{TurnStatus, Usage},
    error::Refusal,
    input::Ticket,
    interaction::Interaction,
    json::Json,
    message::Message,
};

#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Tells a caller how its input ended.
    Answer {
        ticket: Ticket,
        result: Result<Answer, Refusal>,
    },
    /// A response to an Interaction that is not open: the store knows whether it ever was, or has just become so.
    AnswerFromHistory {
        ticket: Ticket,
        interaction_id: String,
        /// The response, to be decided once more where it is open after all; `None` where it was.
        again: Option<Value>,
    },
    /// Hands a committed Mutation to the subscribers, as JSON text.
    Publish {
        body: Arc<str>,
    },
    RequestModel(ModelRequest),
    AbortModel {
        step_id: String,
    },
    /// Validate the arguments by the tool's own schema and ask its gate's rule.
    PrepareTool(ToolCall),
    /// Look whether the arguments still come to what a person is asked about, in this process.
    CheckTool(ToolCall),
    /// Enter `execute`.
    EnterTool {
        call: ToolCall,
        resumed: bool,
    },
    /// Bring [`Input::GoOn`](super::input::Input::GoOn) next.
    GoOn,
    /// Abort the call's signal; what it returns later is dropped.
    AbortTool {
        tool_call_id: String,
    },
    /// Wakes whoever waits for it. `decision` is set for an approval.
    InteractionEnded {
        interaction: Box<Interaction>,
        decision: Option<Box<Decision>>,
    },
    /// Another process has begun a Turn.
    TurnSeen {
        turn_id: String,
    },
    /// This process goes on with a Turn that another has begun.
    TurnTaken {
        turn_id: String,
    },
    /// The prompt belongs to this Turn; again when it moves on to the next one.
    PromptTurn {
        prompt_id: String,
        turn_id: String,
    },
    /// The prompt was withdrawn before a Turn absorbed it.
    PromptDropped {
        prompt_id: String,
        result: TurnResult,
    },
    TurnEnded {
        result: TurnResult,
    },
}

/// What a successful call gets back.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Answer {
    Opened {
        session_id: String,
        /// The Turn that is going on.
        #[serde(skip_serializing_if = "Option::is_none")]
        turn_id: Option<String>,
    },
    Prompt {
        prompt_id: String,
        turn_id: String,
    },
    Stop {
        stopped: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        turn_id: Option<String>,
        /// How many prompts were dropped before they were absorbed.
        cancelled_prompts: u64,
        reason: StopReason,
    },
    Interaction(Box<Interaction>),
    /// An approval that a person has to give.
    Asked {
        interaction: Box<Interaction>,
    },
    /// An approval that was given at once.
    Decided {
        decision: Decision,
    },
    Nothing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    Stopped,
    Idle,
}

/// What `interactions.approval.request` resolves to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Decision {
    pub approved: bool,
    pub auto_approved: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interaction_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The whole payload of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<Json>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelRequest {
    pub turn_id: String,
    pub step_id: String,
    /// 0, then one more for each retry.
    pub attempt: u32,
    /// How long to wait first.
    pub delay_ms: u64,
    /// Which of the host's models; `None` for the Agent's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_key: Option<u32>,
    /// How many updates of the prompt were given out before this one.
    pub base: u64,
    /// The prompt has to be built from the stored history: there is more than `messages`.
    pub history: bool,
    /// What is new since the last request: Messages, or the new Parts of one that grew.
    pub messages: Vec<Arc<Message>>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolCall {
    pub turn_id: String,
    pub step_id: String,
    pub tool_call_id: String,
    pub tool_name: String,
    pub input: Json,
    /// What the arguments came to when the host's schema validated them, where it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validated_input: Option<Json>,
    /// The payload its gate was approved with, where a person was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<Json>,
}

/// What a Turn's handle resolves to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TurnResult {
    pub turn_id: String,
    pub status: TurnStatus,
    pub success: bool,
    /// The last step's text.
    pub text: String,
    pub usage: Usage,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
}

impl TurnResult {
    /// What a prompt's handle resolves to where no Turn has absorbed it.
    pub fn of_dropped_prompt(turn_id: String) -> Self {
        Self {
            turn_id,
            status: TurnStatus::Stopped,
            success: false,
            text: String::new(),
            usage: Usage::default(),
            error: None,
            error_code: None,
        }
    }
}
