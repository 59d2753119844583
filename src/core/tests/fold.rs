//! What a subscriber makes of the Mutations.

use serde_json::{Value, json};

use crate::core::{lifecycle::tool_may_become, message::ToolState};

/// Folds the journal the way a subscriber does, and checks what no subscriber may see on the way.
pub fn fold(journal: &[Value]) -> Vec<Value> {
    let mut messages: Vec<Value> = Vec::new();
    for mutation in journal {
        take(&mut messages, mutation);
    }
    messages
}

/// Takes one more Mutation.
pub fn take(messages: &mut Vec<Value>, mutation: &Value) {
    match mutation["variant"].as_str().unwrap() {
        "message" => {
            let message = mutation["message"].clone();
            assert!(messages.iter().all(|known| known["message_id"] != message["message_id"]));
            messages.push(message);
        }
        "part" => {
            let message = find(messages, &mutation["message_id"]);
            touch(message, mutation);
            put_part(message["parts"].as_array_mut().unwrap(), &mutation["part"]);
        }
        "delta" => {
            let message = find(messages, &mutation["message_id"]);
            touch(message, mutation);
            let parts = message["parts"].as_array_mut().unwrap();
            let part = parts.iter_mut().find(|part| part["part_id"] == mutation["part_id"]).unwrap();
            let field = if mutation["type"] == "tool_input" { "input_text" } else { "text" };
            assert!(
                part["state"] == "streaming" || part["state"] == "input-streaming",
                "no delta after the end"
            );
            let text =
                part[field].as_str().unwrap_or_default().to_owned() + mutation["delta"].as_str().unwrap();
            part[field] = json!(text);
        }
        _ => {}
    }
    messages.iter_mut().for_each(derive_state);
}

fn find<'a>(messages: &'a mut [Value], id: &Value) -> &'a mut Value {
    messages.iter_mut().find(|message| message["message_id"] == *id).expect("the Message was published first")
}

fn touch(message: &mut Value, mutation: &Value) {
    message["revision"] = mutation["revision"].clone();
    message["updated_at"] = mutation["created_at"].clone();
}

fn put_part(parts: &mut Vec<Value>, part: &Value) {
    let pending = |part: &Value| {
        let asked = part["interactions"].as_array();
        asked.is_some_and(|asked| asked.iter().any(|interaction| interaction["status"] == "pending"))
    };
    if part["type"] == "tool" {
        assert_eq!(part["state"] == "waiting-user", pending(part), "I1 in what is published: {part}");
    }
    let Some(known) = parts.iter_mut().find(|known| known["part_id"] == part["part_id"]) else {
        parts.push(part.clone());
        return;
    };
    if part["type"] == "tool" && known["state"] != part["state"] {
        let state = |part: &Value| serde_json::from_value::<ToolState>(part["state"].clone()).unwrap();
        assert!(tool_may_become(state(known), state(part)), "{} -> {}", known["state"], part["state"]);
    }
    *known = part.clone();
}

fn derive_state(message: &mut Value) {
    let open = |part: &Value| match part["type"].as_str().unwrap() {
        "tool" => part["state"] != "completed" && part["state"] != "failed",
        "interaction" => part["interaction"]["status"] == "pending",
        _ => part["state"] == "streaming",
    };
    let open = message["parts"].as_array().unwrap().iter().any(open);
    message["state"] = json!(if open { "streaming" } else { "done" });
}
