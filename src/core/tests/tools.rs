//! The tools of a [`super::scenario`]: one of each kind.

use serde_json::{Value, json};

pub fn tools() -> Value {
    json!([
        { "name": "plain", "description": "Does it.", "gate": "none", "schema": { "type": "object" } },
        {
            "name": "strict", "gate": "none", "explain": true,
            "schema": { "type": "object", "required": ["path"], "properties": { "path": { "type": "string" } }, "additionalProperties": false },
        },
        { "name": "gated", "description": "Needs a yes.", "gate": "always", "schema": { "type": "object" } },
        { "name": "hosted", "gate": "host" },
        { "name": "again", "gate": "none", "replay": true, "schema": { "type": "object" } },
    ])
}
