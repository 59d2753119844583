//! The public error codes, as the envelope `{ code, message, issues?, interaction? }`. JavaScript makes the Error.

use serde_json::{Value, json};

use crate::{core::error::Refusal, runtime::error::RuntimeError, storage::StoreError};

pub(super) fn envelope(error: &RuntimeError) -> Value {
    match error {
        RuntimeError::Refused(refusal) => refused(refusal),
        RuntimeError::Store(error) => {
            let (code, advice) = of_store(error);
            let text = error.to_string();
            let (first, rest) = text.split_at(text.chars().next().map_or(0, char::len_utf8));
            json!({ "code": code, "message": format!("{}{rest}. {advice}", first.to_uppercase()) })
        }
        RuntimeError::NotOpen => json!({
            "code": "SESSION_CLOSED",
            "message": "The Session is not open here. Open it with agent.sessions.get(id).",
        }),
        RuntimeError::Broken(_) => {
            json!({ "code": "INTERNAL", "message": format!("{error}. Please report this.") })
        }
    }
}

pub(super) fn refused(refusal: &Refusal) -> Value {
    let mut envelope = json!({ "code": refusal.code.as_str(), "message": refusal.message });
    if !refusal.issues.is_empty() {
        envelope["issues"] = json!(refusal.issues);
    }
    if let Some(interaction) = &refusal.interaction {
        envelope["interaction"] = json!(interaction);
    }
    envelope
}

fn of_store(error: &StoreError) -> (&'static str, &'static str) {
    match error {
        StoreError::Exists => ("SESSION_EXISTS", "Use another id, or open it with agent.sessions.get(id)."),
        StoreError::NotFound => ("SESSION_NOT_FOUND", "Check the id and the workspace, or create it."),
        StoreError::Running => ("SESSION_BUSY", "Stop its Turn or wait for its end first."),
        StoreError::Conflict => ("STORAGE_BUSY", "Try again."),
        StoreError::LeaseLost => ("LEASE_LOST", "Open the Session again to go on with it."),
        StoreError::Busy(_) => ("STORAGE_BUSY", "Nothing was changed; try again once it lets go."),
        StoreError::Full(_) => ("STORAGE_FULL", "Nothing was changed; free some space and try again."),
        StoreError::Corrupt(_) => {
            ("STORAGE_CORRUPT", "Nothing was written; restore a backup or use another path.")
        }
        StoreError::Version { .. } => {
            ("STORAGE_VERSION", "Install the version of the package that wrote it, or a newer one.")
        }
        StoreError::Unavailable(_) => {
            ("STORAGE_UNAVAILABLE", "Check the path and its permissions, then try again.")
        }
        StoreError::BadCursor => ("INVALID_INPUT", "Pass the `next` of a former page of the same list."),
    }
}
