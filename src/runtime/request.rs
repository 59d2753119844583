//! Requests: what is asked of an Agent, as opposed to one Session's inputs.

use serde::Deserialize;
use serde_json::Value;

use crate::core::input::Ticket;

#[derive(Debug, Deserialize)]
pub struct Request {
    #[serde(default)]
    pub ticket: Ticket,
    #[serde(flatten)]
    pub operation: Operation,
}

/// Raw values of users are judged here.
#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum Operation {
    Create {
        #[serde(default)]
        session_id: Value,
        #[serde(default)]
        metadata: Value,
        #[serde(default)]
        security: Value,
    },
    Open {
        #[serde(default)]
        session_id: Value,
    },
    List {
        #[serde(default)]
        limit: Value,
        #[serde(default)]
        after: Value,
        #[serde(default)]
        archived: bool,
    },
    Archive {
        #[serde(default)]
        session_id: Value,
    },
    Remove {
        #[serde(default)]
        session_id: Value,
    },
    Pending {
        #[serde(default)]
        limit: Value,
        #[serde(default)]
        after: Value,
    },
    Messages {
        session: u32,
        #[serde(default)]
        before_sequence: Value,
        #[serde(default)]
        limit: Value,
    },
    Snapshot {
        session: u32,
        #[serde(default)]
        limit: Value,
    },
    Interactions {
        session: u32,
    },
    Status {
        session: u32,
    },
    Journal {
        session: u32,
        after: u64,
        limit: u32,
    },
    Release {
        session: u32,
    },
    /// Which Sessions nobody goes on with.
    Claim,
    /// Whether the Mutations of all Sessions are told.
    Feed {
        on: bool,
    },
}
