//! The public JSON of what is queried.

use serde_json::{Value, json};

use crate::{
    core::{change::SessionRow, interaction::Interaction, message::Message},
    storage::{PAGE_BYTES, PendingList, SessionList, Snapshot},
};

/// `interactions()`: pending, oldest first.
pub fn interactions(pending: &[Interaction]) -> String {
    serde_json::to_string(pending).expect("Interactions are plain JSON")
}

pub fn ids(ids: &[&str]) -> String {
    json!(ids).to_string()
}

/// `status()`.
pub fn status(session: &SessionRow) -> Value {
    let mut status = json!({
        "session_id": session.session_id,
        "state": if session.active_turn_id.is_some() { "running" } else { "idle" },
    });
    if let Some(turn_id) = &session.active_turn_id {
        status["active_turn_id"] = json!(turn_id);
    }
    status["security"] = json!({
        "approval_mode": session.approval_mode,
        "effective_approval_mode": session.effective_approval_mode,
    });
    status
}

pub fn snapshot(snapshot: &Snapshot) -> String {
    let (messages, _) = newest(&snapshot.messages);
    let rest = json!({
        "session_id": snapshot.session.session_id,
        "revision_of_session": snapshot.session.revision,
        "interactions": snapshot.pending,
        "status": status(&snapshot.session),
    })
    .to_string();
    format!(r#"{{"messages":{messages},{}"#, &rest[1..])
}

/// A page of Messages; `next_before_sequence` is there when older ones are.
pub fn messages(messages: &[Message]) -> String {
    let (items, first) = newest(messages);
    match first.filter(|first| *first > 1) {
        Some(first) => format!(r#"{{"items":{items},"next_before_sequence":{first}}}"#),
        None => format!(r#"{{"items":{items}}}"#),
    }
}

/// The last Messages as a JSON array, as many as `PAGE_BYTES` hold and at least one; and the first one's sequence.
fn newest(messages: &[Message]) -> (String, Option<u64>) {
    let mut bytes = 0;
    let mut texts = Vec::with_capacity(messages.len());
    let mut first = None;
    for message in messages.iter().rev() {
        let text = serde_json::to_string(message).expect("Messages are plain JSON");
        bytes += text.len();
        if !texts.is_empty() && bytes > PAGE_BYTES {
            break;
        }
        texts.push(text);
        first = Some(message.sequence);
    }
    texts.reverse();
    (format!("[{}]", texts.join(",")), first)
}

pub fn sessions(list: &SessionList) -> String {
    let items: Vec<Value> = list
        .items
        .iter()
        .map(|item| {
            let session = &item.session;
            let mut entry = json!({ "session_id": session.session_id });
            if let Some(metadata) = &session.metadata {
                entry["metadata"] = metadata.as_value().clone();
            }
            entry["created_at"] = json!(session.created_at);
            entry["updated_at"] = json!(session.updated_at);
            entry["message_count"] = json!(session.message_count);
            entry["state"] = json!(if session.active_turn_id.is_some() { "running" } else { "idle" });
            entry["pending"] = json!(item.pending);
            entry
        })
        .collect();
    page(items, list.next.as_ref())
}

pub fn pending(list: &PendingList) -> String {
    let items: Vec<Value> = list
        .items
        .iter()
        .map(|item| {
            let mut entry = json!({ "session_id": item.session_id });
            if let (Some(entry), Ok(Value::Object(interaction))) =
                (entry.as_object_mut(), serde_json::to_value(&item.interaction))
            {
                entry.extend(interaction);
            }
            entry
        })
        .collect();
    page(items, list.next.as_ref())
}

fn page(items: Vec<Value>, next: Option<&String>) -> String {
    let mut page = json!({ "items": items });
    if let Some(next) = next {
        page["next"] = json!(next);
    }
    page.to_string()
}
