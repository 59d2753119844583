//! `Json`: a value that entered once and is then shared, never changed.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Deepest nesting a single user value may have (SPEC: refused beyond it).
pub const MAX_DEPTH: usize = 128;
/// Largest JSON text of a single user value, in bytes.
pub const MAX_BYTES: usize = 16 * 1024 * 1024;

/// A JSON value in the key order it came in. Cloning is a reference count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Json(Arc<Value>);

impl Json {
    pub fn new(value: Value) -> Self {
        Self(Arc::new(value))
    }

    pub fn as_value(&self) -> &Value {
        &self.0
    }

    /// The member of an object, or `None` for anything else.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }
}

/// For optional fields in which `null` is a value: only a missing field is `None`.
///
/// # Errors
/// The deserializer's own.
pub fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Json>, D::Error> {
    Json::deserialize(deserializer).map(Some)
}

impl From<Value> for Json {
    fn from(value: Value) -> Self {
        Self::new(value)
    }
}

/// Why a text was not taken as a user value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    #[error("it is nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    #[error("it is larger than 16 MiB")]
    TooLarge,
}

/// Checks the two limits every single value has to keep.
///
/// # Errors
/// [`LimitError`] names the limit that is broken.
pub fn check_limits(value: &Value) -> Result<(), LimitError> {
    fn depth(value: &Value, left: usize) -> Result<(), LimitError> {
        let inner: &mut dyn Iterator<Item = &Value> = match value {
            Value::Array(items) => &mut items.iter(),
            Value::Object(map) => &mut map.values(),
            _ => return Ok(()),
        };
        let left = left.checked_sub(1).ok_or(LimitError::TooDeep)?;
        for item in inner {
            depth(item, left)?;
        }
        Ok(())
    }
    depth(value, MAX_DEPTH)?;
    let mut counter = ByteCounter(0);
    match serde_json::to_writer(&mut counter, value) {
        Ok(()) => Ok(()),
        Err(_) => Err(LimitError::TooLarge),
    }
}

/// Whether a JSON text is nested deeper than `limit`, without parsing it: no text must exhaust a parser's stack.
pub fn is_deeper_than(limit: usize, text: &str) -> bool {
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => depth += 1,
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > limit {
            return true;
        }
    }
    false
}

struct ByteCounter(usize);

impl std::io::Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        if self.0 > MAX_BYTES {
            return Err(std::io::ErrorKind::FileTooLarge.into());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::is_deeper_than;

    #[test]
    fn brackets_in_strings_are_no_nesting() {
        let text = r#"{"a\"[[[":["{\\"]}"#;
        assert!(!is_deeper_than(2, text));
        assert!(is_deeper_than(1, text));
        assert!(is_deeper_than(2, "[[[]]]"));
    }
}
