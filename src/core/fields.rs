//! Reading the fields of a user's object: every wrong field is named, none is silently ignored.

use serde_json::{Map, Value};

use super::{error::Refusal, schema::kind_of};

/// An object from a user, and what to call it in messages.
pub(super) struct Fields<'w, 'a> {
    what: &'w str,
    map: &'a Map<String, Value>,
}

impl<'w, 'a> Fields<'w, 'a> {
    /// The value must be an object that has no fields beyond `known`.
    pub fn of(what: &'w str, value: &'a Value, known: &[&str]) -> Result<Self, Refusal> {
        let Value::Object(map) = value else {
            return Err(Refusal::invalid(format!(
                "{what} must be an object with {}; it is {}.",
                known.join(", "),
                kind_of(value)
            )));
        };
        if let Some(unknown) = map.keys().find(|key| !known.contains(&key.as_str())) {
            return Err(Refusal::invalid(format!(
                "{what} has an unknown field {unknown:?}; it takes {}.",
                known.join(", ")
            )));
        }
        Ok(Self { what, map })
    }

    /// The field, where it is given and not null.
    pub fn get(&self, name: &str) -> Option<&'a Value> {
        self.map.get(name).filter(|value| !value.is_null())
    }

    pub fn text(&self, name: &str) -> Result<Option<&'a str>, Refusal> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.wrong(name, "a string", other)),
        }
    }

    pub fn required_text(&self, name: &str) -> Result<&'a str, Refusal> {
        match self.text(name)? {
            Some(text) if !text.is_empty() => Ok(text),
            Some(_) => Err(Refusal::invalid(format!("{}.{name} must not be empty.", self.what))),
            None => Err(self.wrong(name, "a string", &Value::Null)),
        }
    }

    pub fn flag(&self, name: &str) -> Result<Option<bool>, Refusal> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(other) => Err(self.wrong(name, "true or false", other)),
        }
    }

    fn wrong(&self, name: &str, wanted: &str, found: &Value) -> Refusal {
        Refusal::invalid(format!("{}.{name} must be {wanted}; it is {}.", self.what, kind_of(found)))
    }
}
