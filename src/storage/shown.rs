//! How the rows of a Message become what is shown, the same in every store.

use crate::core::{
    change::MessageRow,
    interaction::Interaction,
    message::{Message, Part, PartBody, PartState, ToolState},
};

/// Whether the journal's deltas belong to this Part.
pub(super) fn is_streaming(body: &PartBody) -> bool {
    match body {
        PartBody::Text(text) | PartBody::Reasoning(text) => text.state == PartState::Streaming,
        PartBody::Tool(tool) => tool.state == ToolState::InputStreaming,
        _ => false,
    }
}

/// Appends a fragment to a Part that is still streaming; a Part that is done has the whole text already.
pub(super) fn append_fragment(body: &mut PartBody, fragment: &str) {
    if !is_streaming(body) {
        return;
    }
    match body {
        PartBody::Text(text) | PartBody::Reasoning(text) => text.text.push_str(fragment),
        PartBody::Tool(tool) => tool.input_text.get_or_insert_default().push_str(fragment),
        _ => {}
    }
}

/// Whether the row itself says that the Part is open. One that consists of an Interaction is open for as long
/// as that is pending, which only the Interaction's row tells.
pub(super) fn is_open(part: &Part) -> bool {
    !matches!(part.body, PartBody::Interaction { .. }) && part.is_open()
}

/// Puts the Interactions of a Part, oldest first, into it.
pub(super) fn with_interactions(mut part: Part, interactions: Vec<Interaction>) -> Part {
    match &mut part.body {
        PartBody::Tool(tool) => tool.interactions = Some(interactions).filter(|all| !all.is_empty()),
        PartBody::Interaction { interaction } => {
            if let Some(now) =
                interactions.into_iter().find(|one| one.interaction_id == interaction.interaction_id)
            {
                **interaction = now;
            }
        }
        _ => {}
    }
    part
}

/// Whether a Part can have Interactions at all.
pub(super) fn may_ask(body: &PartBody) -> bool {
    matches!(body, PartBody::Tool(_) | PartBody::Interaction { .. })
}

pub(super) fn message(session_id: &str, row: MessageRow, parts: Vec<Part>) -> Message {
    Message {
        message_id: row.message_id,
        session_id: session_id.to_owned(),
        turn_id: row.turn_id,
        role: row.role,
        sequence: row.sequence,
        revision: row.revision,
        parts,
        created_at: row.created_at,
        updated_at: row.updated_at,
    }
}
