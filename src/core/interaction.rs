//! The Interaction: something a running Turn asks a person.

use serde::{Deserialize, Serialize};

use super::json::Json;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InteractionStatus {
    Pending,
    Resolved,
    Denied,
    Cancelled,
    Failed,
}

impl InteractionStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Resolved => "resolved",
            Self::Denied => "denied",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
        }
    }
}

/// Why a pending Interaction ended without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelReason {
    TurnStopped,
    SessionDisposed,
    RuntimeInterrupted,
    ToolEnded,
    TurnEnded,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceType {
    Tool,
    Shell,
    Execution,
}

/// Who asks. `tool_call_id` links the Interaction with its Tool Part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InteractionSource {
    #[serde(rename = "type")]
    pub source_type: SourceType,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
}

/// One flat shape everywhere: in a Part, from `interactions()`, from `respond()`, as `result`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Interaction {
    pub interaction_id: String,
    /// `approval`, `question`, or a producer's own word.
    #[serde(rename = "type")]
    pub kind: String,
    pub status: InteractionStatus,
    pub turn_id: String,
    pub source: InteractionSource,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub payload: Json,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_schema: Option<Json>,
    /// The whole response as it was committed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Json>,
    pub created_at: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel_reason: Option<CancelReason>,
}

impl Interaction {
    pub fn is_pending(&self) -> bool {
        self.status == InteractionStatus::Pending
    }
}
