//! JSON of rows. What was accepted once must be readable for ever, and what somebody else wrote into the file
//! must not exhaust the stack.

use serde::{Serialize, de::DeserializeOwned};

use crate::{core::json::MAX_DEPTH, storage::StoreError};

/// The deepest user value, and what a row puts around it.
const MAX_STORED_DEPTH: usize = MAX_DEPTH + 32;

pub(super) fn to_json<T: Serialize>(row: &T) -> Result<String, StoreError> {
    serde_json::to_string(row).map_err(|error| StoreError::Corrupt(error.to_string()))
}

pub(super) fn from_json<T: DeserializeOwned>(text: &str) -> Result<T, StoreError> {
    if depth(text) > MAX_STORED_DEPTH {
        return Err(StoreError::Corrupt("a stored value is nested too deep".to_owned()));
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    reader.disable_recursion_limit();
    let row = T::deserialize(&mut reader).and_then(|row| reader.end().map(|()| row));
    row.map_err(|error| StoreError::Corrupt(format!("a stored row cannot be read: {error}")))
}

/// The deepest nesting of a JSON text, without reading it as one.
fn depth(text: &str) -> usize {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_in_strings_are_no_nesting() {
        assert_eq!(depth(r#"{"a\"[[[":["{\\"]}"#), 2);
    }

    #[test]
    fn a_bottomless_value_is_refused_as_damage() {
        let text = "[".repeat(1_000_000);
        assert!(matches!(from_json::<serde_json::Value>(&text), Err(StoreError::Corrupt(_))));
    }
}
