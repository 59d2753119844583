//! Why the core refuses an input.

use serde::Serialize;

use super::interaction::Interaction;

/// The public codes the core decides on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// The caller mends its arguments.
    InvalidInput,
    /// The person or the UI answers again, as `issues` says.
    InvalidResponse,
    /// The caller asks with an id of this Session.
    InteractionNotFound,
    /// Nothing to do: somebody answered, or it was cancelled.
    InteractionTerminal,
    /// The caller sends the response's type as the Interaction has it.
    ResponseTypeMismatch,
    /// The caller asks while the Turn and the call are going on.
    ToolCallNotActive,
    /// The tool's author makes it ask the same when it is entered again.
    ReplayMismatch,
    /// The caller waits until the Turn has ended, or asks the process that owns the Session.
    SessionBusy,
    /// The caller opens the Session again.
    SessionClosed,
    /// The host gives the Agent a model.
    ModelMissing,
    /// The model's provider failed.
    ModelFailed,
    /// The host raises `max_steps`, or the model is asked to do less at a time.
    MaxSteps,
    /// A process ended while the Turn was going on. Only in an `error` Part: no call is refused with it.
    RuntimeInterrupted,
}

impl Code {
    /// As users see it. `runtime_interrupted` is also a cancel reason, and is written as those are.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidInput => "INVALID_INPUT",
            Self::InvalidResponse => "INVALID_RESPONSE",
            Self::InteractionNotFound => "INTERACTION_NOT_FOUND",
            Self::InteractionTerminal => "INTERACTION_TERMINAL",
            Self::ResponseTypeMismatch => "RESPONSE_TYPE_MISMATCH",
            Self::ToolCallNotActive => "TOOL_CALL_NOT_ACTIVE",
            Self::ReplayMismatch => "REPLAY_MISMATCH",
            Self::SessionBusy => "SESSION_BUSY",
            Self::SessionClosed => "SESSION_CLOSED",
            Self::ModelMissing => "MODEL_MISSING",
            Self::ModelFailed => "MODEL_FAILED",
            Self::MaxSteps => "MAX_STEPS",
            Self::RuntimeInterrupted => "runtime_interrupted",
        }
    }
}

/// One thing that is wrong with a value, and where: `payload.answers[1].value`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Issue {
    pub path: String,
    pub message: String,
}

/// A refused input. It changed nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    pub code: Code,
    /// What is wrong and what to do, in a sentence.
    pub message: String,
    pub issues: Vec<Issue>,
    /// The committed Interaction, with [`Code::InteractionTerminal`].
    pub interaction: Option<Box<Interaction>>,
}

impl Refusal {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), issues: Vec::new(), interaction: None }
    }

    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(Code::InvalidInput, message)
    }

    /// Every issue, and the first ones of them in the message.
    pub fn with_issues(code: Code, what: &str, issues: Vec<Issue>) -> Self {
        let shown: Vec<String> =
            issues.iter().take(3).map(|issue| format!("{}: {}", issue.path, issue.message)).collect();
        let more = issues.len().saturating_sub(shown.len());
        let more = if more == 0 { String::new() } else { format!(" (and {more} more)") };
        Self { issues, ..Self::new(code, format!("{what} {}{more}", shown.join("; "))) }
    }

    pub fn closed() -> Self {
        Self::new(
            Code::SessionClosed,
            "This handle of the Session is closed; open the Session again with agent.sessions.get().",
        )
    }

    /// The answer to whoever responds to an Interaction that has ended.
    pub fn terminal(interaction: Interaction) -> Self {
        let message = format!(
            "Interaction {} has ended as {} and cannot be answered again.",
            interaction.interaction_id,
            interaction.status.as_str()
        );
        Self { interaction: Some(Box::new(interaction)), ..Self::new(Code::InteractionTerminal, message) }
    }

    pub fn unknown_interaction(interaction_id: &str) -> Self {
        Self::new(
            Code::InteractionNotFound,
            format!(
                "This Session has no Interaction {interaction_id:?}. Use an id from session.interactions()."
            ),
        )
    }
}
