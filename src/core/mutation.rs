//! The Mutation: what subscribers are told of a committed change.

use serde::{Deserialize, Serialize};

use super::{
    change::{ApprovalMode, TurnStatus},
    json::Json,
    message::{Message, Part},
};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Mutation {
    pub mutation_id: String,
    pub session_id: String,
    /// Counts the published Mutations of the Session, from 1, without gaps.
    pub revision_of_session: u64,
    pub created_at: i64,
    #[serde(flatten)]
    pub body: MutationBody,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "variant", rename_all = "snake_case")]
pub enum MutationBody {
    /// The complete Message; `type` is its role.
    Message {
        #[serde(rename = "type")]
        role: super::message::Role,
        message_id: String,
        revision: u64,
        message: Message,
    },
    /// The complete Part; `type` is the Part's type.
    Part {
        #[serde(rename = "type")]
        part_type: &'static str,
        message_id: String,
        revision: u64,
        part: Part,
    },
    /// A fragment appended to a Part that is still streaming.
    Delta {
        #[serde(rename = "type")]
        kind: DeltaKind,
        message_id: String,
        part_id: String,
        revision: u64,
        delta: String,
    },
    Turn(TurnMutation),
    Session(SessionMutation),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeltaKind {
    Text,
    Reasoning,
    ToolInput,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TurnMutation {
    Start {
        turn_id: String,
        status: TurnStatus,
    },
    Finish {
        turn_id: String,
        status: TurnStatus,
        text: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<Json>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error_code: Option<String>,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum SessionMutation {
    Config { security: SecurityView },
    Closed,
}

/// The configured mode, and the one that rules the running step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SecurityView {
    pub approval_mode: ApprovalMode,
    pub effective_approval_mode: ApprovalMode,
}
