//! JSON Schema: of tools' arguments and of responses. Nothing remote is ever fetched.

use std::sync::LazyLock;

use jsonschema::{Draft, ValidationError, Validator, error::ValidationErrorKind};
use serde_json::{Value, json};

use super::{error::Issue, schema_cost::check_cost};

/// What an approval's answer must look like, unless its producer says otherwise.
pub fn approval_response_schema() -> Value {
    json!({
        "type": "object",
        "required": ["decision"],
        "properties": { "decision": { "type": "string", "enum": ["approved", "denied"] } },
    })
}

static APPROVAL: LazyLock<Schema> =
    LazyLock::new(|| Schema::compile(&approval_response_schema()).expect("the default schema compiles"));

/// A compiled JSON Schema: draft 2020-12, or what its `$schema` names.
#[derive(Debug)]
pub struct Schema(Validator);

impl Schema {
    /// # Errors
    /// What is wrong with the schema, in words.
    pub fn compile(schema: &Value) -> Result<Self, String> {
        if !schema.is_object() && !schema.is_boolean() {
            return Err("it is not an object".to_owned());
        }
        let mut options = jsonschema::options();
        if schema.get("$schema").is_none() {
            options = options.with_draft(Draft::Draft202012);
        }
        check_cost(schema)?;
        let built = options.offline().build(schema);
        built.map(Self).map_err(|error| {
            let path = error.instance_path().to_string();
            if path.is_empty() { error.to_string() } else { format!("at {path}: {error}") }
        })
    }

    /// Every way in which the value breaks the schema; paths start with `root`.
    pub fn issues(&self, value: &Value, root: &str) -> Vec<Issue> {
        self.0
            .iter_errors(value)
            .map(|error| Issue {
                path: join(root, error.instance_path().as_str()),
                message: error.to_string(),
            })
            .collect()
    }
}

impl Schema {
    /// The issues of an answer. A pattern is told as its producer wrote it, not as the validator reads it.
    fn issues_in_terms_of(&self, shown: &Value, payload: &Value) -> Vec<Issue> {
        let told = |error: &ValidationError<'_>| {
            let own = shown.pointer(error.schema_path().as_str()).and_then(Value::as_str);
            match (error.kind(), own) {
                (ValidationErrorKind::Pattern { .. }, Some(own)) => {
                    format!("{} does not match the pattern {own}", error.instance())
                }
                _ => error.to_string(),
            }
        };
        let errors = self.0.iter_errors(payload);
        let issue = |error: ValidationError<'_>| Issue {
            path: join("payload", error.instance_path().as_str()),
            message: told(&error),
        };
        errors.map(issue).collect()
    }
}

/// How many problems a model is told of one call.
const MOST_PROBLEMS: usize = 20;

impl Schema {
    /// What a model is told of arguments that do not fit: each place, the kind of what stands there and what is wrong
    /// with it, never the value itself. `None` where they fit.
    pub fn refusal_for_model(&self, tool_name: &str, arguments: &Value) -> Option<String> {
        let mut lines: Vec<String> = self
            .0
            .iter_errors(arguments)
            .map(|error| {
                let place = join("", error.instance_path().as_str());
                let place = if place == "input" { "the arguments" } else { &place };
                format!("- {place} ({}): {}", kind_of(error.instance()), error.masked())
            })
            .collect();
        if lines.is_empty() {
            return None;
        }
        let more = lines.len().saturating_sub(MOST_PROBLEMS);
        lines.truncate(MOST_PROBLEMS);
        if more > 0 {
            lines.push(format!("- and {more} more"));
        }
        let problems = lines.join("\n");
        Some(format!(
            "The arguments of {tool_name:?} do not fit its schema. Correct them and call it again:\n{problems}"
        ))
    }
}

/// Checks an answer's payload against the Interaction's schema, or against what the validator reads in its place; the
/// default one is compiled once.
pub fn response_issues(shown: &Value, native: Option<&Value>, payload: &Value) -> Vec<Issue> {
    let schema = native.unwrap_or(shown);
    if *schema == approval_response_schema() {
        return APPROVAL.issues(payload, "payload");
    }
    match Schema::compile(schema) {
        Ok(schema) => schema.issues_in_terms_of(shown, payload),
        Err(problem) => vec![Issue {
            path: "response_schema".to_owned(),
            message: format!("the Interaction's own schema cannot be used: {problem}"),
        }],
    }
}

/// `payload` and `/answers/1/value` are `payload.answers[1].value`.
fn join(root: &str, pointer: &str) -> String {
    let mut path = root.to_owned();
    for step in pointer.split('/').skip(1) {
        let step = step.replace("~1", "/").replace("~0", "~");
        if !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit()) {
            path.push_str(&format!("[{step}]"));
        } else if path.is_empty() {
            path.push_str(&step);
        } else {
            path.push('.');
            path.push_str(&step);
        }
    }
    if path.is_empty() { "input".to_owned() } else { path }
}

/// The kind of a value, for messages: `a string`, `an array`.
pub fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null or missing",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issues_name_the_field_as_a_programmer_would_write_it() {
        let schema = Schema::compile(&json!({
            "type": "object",
            "properties": { "items": { "type": "array", "items": { "type": "object", "required": ["id"] } } },
        }))
        .unwrap();
        let issues = schema.issues(&json!({ "items": [{ "id": 1 }, 7] }), "payload");
        assert_eq!(issues[0].path, "payload.items[1]");
    }

    #[test]
    fn a_model_is_told_the_place_and_the_kind_and_never_the_value() {
        let schema = Schema::compile(&json!({ "properties": { "city": { "type": "string" } } })).unwrap();
        let refusal = schema.refusal_for_model("weather", &json!({ "city": 4711 })).unwrap();
        assert!(refusal.contains("\"weather\"") && refusal.contains("- city (a number): "), "{refusal}");
        assert!(!refusal.contains("4711"));
    }

    #[test]
    fn a_remote_reference_is_refused_and_never_fetched() {
        assert!(Schema::compile(&json!({ "$ref": "http://127.0.0.1:1/schema.json" })).is_err());
    }

    #[test]
    fn a_local_reference_and_an_older_draft_work() {
        let schema = Schema::compile(&json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "definitions": { "n": { "type": "integer" } },
            "properties": { "n": { "$ref": "#/definitions/n" } },
        }))
        .unwrap();
        assert_eq!(schema.issues(&json!({ "n": "x" }), "").len(), 1);
    }
}
