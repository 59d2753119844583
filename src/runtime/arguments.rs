//! What users pass beside a Session's inputs: ids, page sizes, cursors. Judged here, in words.

use serde_json::Value;

use super::error::RuntimeError;
use crate::core::{error::Refusal, schema::kind_of};

/// How many items a page has unless the caller says otherwise.
const DEFAULT_PAGE: u32 = 100;
const LARGEST_PAGE: u32 = 1000;

/// Ids match `[A-Za-z0-9][A-Za-z0-9._:-]{0,127}`.
///
/// # Errors
/// `INVALID_INPUT` says what an id may be.
pub(super) fn valid_id<'a>(what: &str, value: &'a Value) -> Result<&'a str, Refusal> {
    let valid = |id: &&str| {
        let mut bytes = id.bytes();
        id.len() <= 128
            && bytes.next().is_some_and(|first| first.is_ascii_alphanumeric())
            && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte))
    };
    value.as_str().filter(valid).ok_or_else(|| {
        let found = value.as_str().map_or_else(|| kind_of(value).to_owned(), |_| "not".to_owned());
        Refusal::invalid(format!(
            "{what} must be 1 to 128 letters, digits or . _ : - and start with a letter or digit; it is {found}."
        ))
    })
}

/// The id of a Session; one that no Session can have is refused as such, before a store is asked.
pub(super) fn existing_id(value: &Value) -> Result<String, RuntimeError> {
    Ok(valid_id("session_id", value)?.to_owned())
}

pub(super) fn page_limit(value: &Value) -> Result<u32, Refusal> {
    if value.is_null() {
        return Ok(DEFAULT_PAGE);
    }
    let limit = value.as_u64().and_then(|limit| u32::try_from(limit).ok());
    limit
        .filter(|limit| (1..=LARGEST_PAGE).contains(limit))
        .ok_or_else(|| Refusal::invalid(format!("limit must be a whole number from 1 to {LARGEST_PAGE}.")))
}

pub(super) fn whole_number(what: &str, value: &Value) -> Result<Option<u64>, Refusal> {
    if value.is_null() {
        return Ok(None);
    }
    let number = value.as_u64().filter(|number| *number > 0);
    number.map(Some).ok_or_else(|| Refusal::invalid(format!("{what} must be a whole number from 1.")))
}

pub(super) fn cursor(value: &Value) -> Result<Option<String>, Refusal> {
    match value {
        Value::Null => Ok(None),
        Value::String(cursor) => Ok(Some(cursor.clone())),
        other => Err(Refusal::invalid(format!(
            "after must be the `next` of a former page; it is {}.",
            kind_of(other)
        ))),
    }
}
