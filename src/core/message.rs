//! Messages and their Parts, as they are shown to everyone.

use serde::{Deserialize, Serialize, Serializer, ser::SerializeStruct};

use super::{
    interaction::Interaction,
    json::{Json, present},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    User,
    Assistant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartState {
    Streaming,
    Done,
}

/// A Message with its Parts in order. `state` is derived from them when it is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    pub message_id: String,
    pub session_id: String,
    pub turn_id: Option<String>,
    pub role: Role,
    /// Orders the Messages of a Session, from 1, without gaps.
    pub sequence: u64,
    /// Grows by one with each commit that changes the Message.
    pub revision: u64,
    pub parts: Vec<Part>,
    pub created_at: i64,
    pub updated_at: i64,
}

impl Message {
    pub fn state(&self) -> PartState {
        if self.parts.iter().any(Part::is_open) { PartState::Streaming } else { PartState::Done }
    }
}

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Message", 10)?;
        out.serialize_field("message_id", &self.message_id)?;
        out.serialize_field("session_id", &self.session_id)?;
        if let Some(turn_id) = &self.turn_id {
            out.serialize_field("turn_id", turn_id)?;
        }
        out.serialize_field("role", &self.role)?;
        out.serialize_field("sequence", &self.sequence)?;
        out.serialize_field("revision", &self.revision)?;
        out.serialize_field("state", &self.state())?;
        out.serialize_field("parts", &self.parts)?;
        out.serialize_field("created_at", &self.created_at)?;
        out.serialize_field("updated_at", &self.updated_at)?;
        out.end()
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part {
    pub part_id: String,
    /// Orders the Parts of a Message, from 1.
    pub sequence: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_id: Option<String>,
    /// The model's answer it belongs to broke off or was stopped before its proper end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    #[serde(flatten)]
    pub body: PartBody,
}

impl Part {
    /// Whether something may still change in it.
    pub fn is_open(&self) -> bool {
        match &self.body {
            PartBody::Text(text) | PartBody::Reasoning(text) => text.state == PartState::Streaming,
            PartBody::Tool(tool) => !tool.state.is_terminal(),
            PartBody::Interaction { interaction } => interaction.is_pending(),
            _ => false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PartBody {
    Text(TextPart),
    Reasoning(TextPart),
    Tool(Box<ToolPart>),
    /// Only for an Interaction that belongs to no tool call.
    Interaction {
        interaction: Box<Interaction>,
    },
    File(FilePart),
    Source(SourcePart),
    /// A producer's own JSON.
    Data {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        data: Json,
    },
    Action {
        title: String,
        description: String,
        /// Always `completed`.
        state: ActionState,
    },
    Error {
        error_code: String,
        message: String,
    },
}

impl PartBody {
    /// The Part's `type`.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Reasoning(_) => "reasoning",
            Self::Tool(_) => "tool",
            Self::Interaction { .. } => "interaction",
            Self::File(_) => "file",
            Self::Source(_) => "source",
            Self::Data { .. } => "data",
            Self::Action { .. } => "action",
            Self::Error { .. } => "error",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionState {
    Completed,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TextPart {
    pub text: String,
    pub state: PartState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_metadata: Option<Json>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FilePart {
    pub media_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
    /// It belongs to the model's reasoning.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reasoning: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_metadata: Option<Json>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SourcePart {
    /// `url` or `document`.
    pub source_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_metadata: Option<Json>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolState {
    InputStreaming,
    Ready,
    Running,
    WaitingUser,
    Completed,
    Failed,
}

impl ToolState {
    /// The call has ended, and never changes again.
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed)
    }

    /// The call is being executed, or waits for a person meanwhile.
    pub fn is_active(self) -> bool {
        matches!(self, Self::Running | Self::WaitingUser)
    }
}

/// Why a tool call failed, for programs; `error` says it in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolErrorCode {
    /// The tool threw, or its result could not be kept.
    ToolFailed,
    /// The arguments are not a JSON object or break the tool's schema.
    InvalidInput,
    /// The model named a tool that does not exist.
    UnknownTool,
    /// A person denied the gate before `execute`.
    Denied,
    /// The Turn was stopped or the Session closed.
    Stopped,
    /// The model's stream of the step did not end properly, so the call was never run.
    NotRun,
    /// The process ended while the call was going on: its outcome is unknown.
    Interrupted,
    /// The tool is gone, or the recorded arguments no longer pass its schema.
    CannotGoOn,
    /// Entered again after a crash, the tool asked something else than before.
    ReplayMismatch,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolPart {
    pub tool_call_id: String,
    pub tool_name: String,
    pub state: ToolState,
    /// The arguments as the model wrote them, while they stream and where they are not JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Json>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub output: Option<Json>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<ToolErrorCode>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_explanation: Option<String>,
    /// How many arguments came before it, where it was not the last: it goes back to its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_explanation_index: Option<u32>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub provider_executed: bool,
    /// The provider's own id, where it had to be made unique within the Session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_tool_call_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_metadata: Option<Json>,
    /// `output` is not the last word: the tool goes on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub preliminary: bool,
    /// What the model is shown instead of `output`; the host's own shape.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_output: Option<Json>,
    /// What the provider attached to the result of a call it ran itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_metadata: Option<Json>,
    /// The step in which the provider's result came, where that was not the call's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_step_id: Option<String>,
    /// Set where the provider does not run its own tool before a person has agreed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_approval: Option<ProviderApproval>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interactions: Option<Vec<Interaction>>,
}

/// What a provider asked before it runs a call, and what it is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderApproval {
    /// The provider's own id of what it asked.
    pub approval_id: String,
    /// What the provider is told; `None` while that is not decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl ToolPart {
    /// The provider asked for an approval of which nothing is decided.
    pub fn awaits_approval(&self) -> bool {
        self.provider_approval.as_ref().is_some_and(|approval| approval.approved.is_none())
    }

    /// The provider was given leave to run the call.
    pub fn is_approved_at_provider(&self) -> bool {
        self.provider_approval.as_ref().is_some_and(|approval| approval.approved == Some(true))
    }

    /// Whether the model's answer waits for it: nothing else is needed for what a provider simply runs.
    pub fn needs_answer(&self) -> bool {
        !self.provider_executed || self.provider_approval.is_some()
    }

    /// The id the provider knows the call by.
    pub fn provider_id(&self) -> &str {
        self.provider_tool_call_id.as_deref().unwrap_or(&self.tool_call_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_of_null_is_still_a_result_when_it_is_read_back() {
        let text = r#"{"part_id":"p","sequence":1,"type":"tool","tool_call_id":"c","tool_name":"t","state":"completed","output":null}"#;
        let part: Part = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&part).unwrap(), text);
    }
}
