//! Effects as the events that JavaScript takes out of the outbox, and JSON texts as what Rust takes in.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::error;
use crate::{
    core::{
        effect::{Answer, Effect},
        json::is_deeper_than,
        message::Message,
    },
    runtime::{error::RuntimeError, host::SessionRef},
};

/// A JavaScript string holds 2^29 characters at the most.
const LARGEST_ANSWER: usize = 400 * 1024 * 1024;
/// New Messages of a model request that are larger go ahead of it, Part by Part.
const LARGEST_REQUEST: usize = 16 * 1024 * 1024;

/// No text from JavaScript is nested deeper: user values stop at 128 and the layer adds a few levels.
const DEEPEST: usize = 160;

/// Reads a JSON text from the TypeScript layer.
///
/// # Errors
/// What is wrong with the text; the layer never sends such a text unless it has a bug.
pub(super) fn parse<T: DeserializeOwned>(text: &str) -> napi::Result<T> {
    let wrong = |problem: String| napi::Error::from_reason(format!("Malformed request: {problem}"));
    if is_deeper_than(DEEPEST, text) {
        return Err(wrong(format!("nested deeper than {DEEPEST} levels")));
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    deserializer.disable_recursion_limit();
    T::deserialize(&mut deserializer).map_err(|error| wrong(error.to_string()))
}

pub(super) fn answer(ticket: u64, result: Result<String, RuntimeError>) -> String {
    match result {
        Ok(text) if text.len() > LARGEST_ANSWER => failure(
            ticket,
            &json!({
                "code": "INVALID_INPUT",
                "message": "The answer is larger than a JavaScript string can be. Ask for fewer items.",
            }),
        ),
        Ok(text) => format!(r#"{{"e":"answer","ticket":{ticket},"ok":{text}}}"#),
        Err(error) => failure(ticket, &error::envelope(&error)),
    }
}

fn failure(ticket: u64, envelope: &Value) -> String {
    format!(r#"{{"e":"answer","ticket":{ticket},"error":{envelope}}}"#)
}

pub(super) fn warning(session: &SessionRef, message: &str) -> String {
    json!({ "e": "warning", "session_id": &*session.session_id, "message": message }).to_string()
}

pub(super) fn lost(session: &SessionRef, why: &RuntimeError) -> String {
    json!({ "e": "lost", "session": session.handle, "error": error::envelope(why) }).to_string()
}

/// The events of an effect, in order: one, but for a model request that would be too large.
pub(super) fn events(session: &SessionRef, effect: Effect, mut push: impl FnMut(String)) {
    let Effect::RequestModel(mut request) = effect else {
        push(event(session, effect));
        return;
    };
    let whole = event_with(r#""e":"model""#, session.handle, &request);
    if whole.len() <= LARGEST_REQUEST {
        push(whole);
        return;
    }
    drop(whole);
    for message in std::mem::take(&mut request.messages) {
        for part in &message.parts {
            let parts = vec![part.clone()];
            let message = Message { parts, ..message_without_parts(&message) };
            push(event_with(
                r#""e":"model_history""#,
                session.handle,
                &json!({ "base": request.base, "message": message }),
            ));
        }
    }
    push(event_with(r#""e":"model""#, session.handle, &request));
}

fn message_without_parts(message: &Message) -> Message {
    Message {
        message_id: message.message_id.clone(),
        session_id: message.session_id.clone(),
        turn_id: message.turn_id.clone(),
        parts: Vec::new(),
        ..*message
    }
}

fn event(session: &SessionRef, effect: Effect) -> String {
    let handle = session.handle;
    match effect {
        Effect::Answer { ticket, result: Err(refusal) } => failure(ticket, &error::refused(&refusal)),
        Effect::Answer { ticket, result: Ok(Answer::Opened { session_id, turn_id }) } => {
            let mut opened = json!({ "session": handle, "session_id": session_id });
            if let Some(turn_id) = turn_id {
                opened["turn_id"] = json!(turn_id);
            }
            answer(ticket, Ok(opened.to_string()))
        }
        Effect::Answer { ticket, result: Ok(found) } => answer(ticket, Ok(text_of(&found))),
        Effect::Publish { body } => format!(r#"{{"e":"mutation","session":{handle},"mutation":{body}}}"#),
        Effect::RequestModel(request) => event_with(r#""e":"model""#, handle, &request),
        Effect::AbortModel { step_id } => {
            event_with(r#""e":"model_abort""#, handle, &json!({ "step_id": step_id }))
        }
        Effect::PrepareTool(call) => event_with(r#""e":"tool_prepare""#, handle, &call),
        Effect::CheckTool(call) => event_with(r#""e":"tool_check""#, handle, &call),
        Effect::EnterTool { call, resumed } => {
            event_with(&format!(r#""e":"tool_enter","resumed":{resumed}"#), handle, &call)
        }
        Effect::AbortTool { tool_call_id } => {
            event_with(r#""e":"tool_abort""#, handle, &json!({ "tool_call_id": tool_call_id }))
        }
        Effect::InteractionEnded { interaction, decision } => {
            let mut fields = json!({ "interaction": interaction });
            if let Some(decision) = decision {
                fields["decision"] = json!(decision);
            }
            event_with(r#""e":"interaction_ended""#, handle, &fields)
        }
        Effect::TurnSeen { turn_id } => {
            event_with(r#""e":"turn_seen""#, handle, &json!({ "turn_id": turn_id }))
        }
        Effect::TurnTaken { turn_id } => {
            event_with(r#""e":"turn_taken""#, handle, &json!({ "turn_id": turn_id }))
        }
        Effect::PromptTurn { prompt_id, turn_id } => {
            event_with(r#""e":"prompt_turn""#, handle, &json!({ "prompt_id": prompt_id, "turn_id": turn_id }))
        }
        Effect::PromptDropped { prompt_id, result } => event_with(
            r#""e":"prompt_dropped""#,
            handle,
            &json!({ "prompt_id": prompt_id, "result": result }),
        ),
        Effect::TurnEnded { result } => {
            let fields = json!({ "turn_id": result.turn_id, "result": result });
            event_with(r#""e":"turn_ended""#, handle, &fields)
        }
        Effect::AnswerFromHistory { .. } | Effect::GoOn => {
            unreachable!("the runner performs these itself")
        }
    }
}

/// `{ <head>, session, ...fields }`; `fields` serialises as an object with at least one member.
fn event_with(head: &str, session: u32, fields: &impl serde::Serialize) -> String {
    let fields = text_of(fields);
    format!(r#"{{{head},"session":{session},{}"#, &fields[1..])
}

fn text_of(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("effects are plain JSON")
}
