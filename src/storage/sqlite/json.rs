//! JSON of rows. What was accepted once must be readable for ever, and what somebody else wrote into the file
//! must not exhaust the stack.

use serde::{Serialize, de::DeserializeOwned};

use crate::{
    core::json::{MAX_DEPTH, is_deeper_than},
    storage::StoreError,
};

/// The deepest user value, and what a row puts around it.
const MAX_STORED_DEPTH: usize = MAX_DEPTH + 32;

pub(super) fn to_json<T: Serialize>(row: &T) -> Result<String, StoreError> {
    serde_json::to_string(row).map_err(|error| StoreError::Corrupt(error.to_string()))
}

pub(super) fn from_json<T: DeserializeOwned>(text: &str) -> Result<T, StoreError> {
    if is_deeper_than(MAX_STORED_DEPTH, text) {
        return Err(StoreError::Corrupt("a stored value is nested too deep".to_owned()));
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    reader.disable_recursion_limit();
    let row = T::deserialize(&mut reader).and_then(|row| reader.end().map(|()| row));
    row.map_err(|error| StoreError::Corrupt(format!("a stored row cannot be read: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bottomless_value_is_refused_as_damage() {
        let text = "[".repeat(1_000_000);
        assert!(matches!(from_json::<serde_json::Value>(&text), Err(StoreError::Corrupt(_))));
    }
}
