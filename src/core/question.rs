//! Questions: what may be asked, and what counts as an answer.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::{
    error::{Issue, Refusal},
    fields::Fields,
    schema::kind_of,
    stamp::Stamp,
};

const TYPES: [&str; 3] = ["text", "single_select", "multi_select"];

/// Checks a question payload `{ questions: [...] }` and gives each question an id where it has none.
///
/// # Errors
/// `INVALID_INPUT` names the question and the field, so that a model can mend it.
pub(super) fn normalise(payload: &Value, stamp: &mut Stamp) -> Result<Value, Refusal> {
    let fields = Fields::of("payload", payload, &["questions"])?;
    let questions = match fields.get("questions") {
        Some(Value::Array(questions)) if !questions.is_empty() => questions,
        _ => return Err(Refusal::invalid("payload.questions must be an array with at least one question.")),
    };
    let mut ids = HashSet::new();
    let mut out = Vec::with_capacity(questions.len());
    for (index, question) in questions.iter().enumerate() {
        let name = format!("questions[{index}]");
        let (id, question) = normalise_question(&name, question, stamp)?;
        if !ids.insert(id.clone()) {
            return Err(Refusal::invalid(format!(
                "{name}.question_id {id:?} is used twice; each question needs its own."
            )));
        }
        out.push(question);
    }
    Ok(json!({ "questions": out }))
}

fn normalise_question(name: &str, value: &Value, stamp: &mut Stamp) -> Result<(String, Value), Refusal> {
    let fields = Fields::of(name, value, &["question_id", "question", "type", "options"])?;
    let id = match fields.text("question_id")? {
        Some("") => {
            return Err(Refusal::invalid(format!("{name}.question_id must not be empty; leave it out.")));
        }
        Some(id) => id.to_owned(),
        None => stamp.id("question"),
    };
    let text = fields.required_text("question")?;
    let kind = fields.text("type")?.unwrap_or_default();
    if !TYPES.contains(&kind) {
        return Err(Refusal::invalid(format!(
            "{name}.type must be one of {}; it is {kind:?}.",
            TYPES.join(", ")
        )));
    }
    let mut out = Map::new();
    out.insert("question_id".into(), json!(id));
    out.insert("question".into(), json!(text));
    out.insert("type".into(), json!(kind));
    match (kind, fields.get("options")) {
        ("text", None) => {}
        ("text", Some(Value::Array(options))) if options.is_empty() => {}
        ("text", Some(_)) => {
            return Err(Refusal::invalid(format!(
                "{name}.options is not for a text question; leave it out or use single_select or multi_select."
            )));
        }
        (_, Some(Value::Array(options))) if !options.is_empty() => {
            out.insert("options".into(), normalise_options(name, options)?);
        }
        _ => {
            return Err(Refusal::invalid(format!(
                "{name}.options must have at least one {{ value, label }} for a {kind} question."
            )));
        }
    }
    Ok((id, Value::Object(out)))
}

fn normalise_options(question: &str, options: &[Value]) -> Result<Value, Refusal> {
    let mut values = HashSet::new();
    let mut out = Vec::with_capacity(options.len());
    for (index, option) in options.iter().enumerate() {
        let name = format!("{question}.options[{index}]");
        let fields = Fields::of(&name, option, &["value", "label", "description"])?;
        let value = fields.required_text("value")?;
        let label = fields.required_text("label")?;
        if !values.insert(value) {
            return Err(Refusal::invalid(format!(
                "{name}.value {value:?} is used twice; values must be unique."
            )));
        }
        let mut entry = Map::new();
        entry.insert("value".into(), json!(value));
        entry.insert("label".into(), json!(label));
        if let Some(description) = fields.text("description")? {
            entry.insert("description".into(), json!(description));
        }
        out.push(Value::Object(entry));
    }
    Ok(Value::Array(out))
}

/// Every way in which `{ answers: [{ question_id, value }] }` does not answer the questions.
pub(super) fn answer_issues(questions: &Value, payload: &Value) -> Vec<Issue> {
    let questions = questions.get("questions").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let mut issues = Vec::new();
    let answers = match payload {
        Value::Object(map) if map.len() == 1 => map.get("answers").and_then(Value::as_array),
        _ => None,
    };
    let Some(answers) = answers else {
        issues.push(issue("payload", "must be { answers: [{ question_id, value }] } and nothing else"));
        return issues;
    };
    let by_id: HashMap<&str, &Value> =
        questions.iter().filter_map(|question| Some((question["question_id"].as_str()?, question))).collect();
    let mut answered = HashSet::new();
    for (index, answer) in answers.iter().enumerate() {
        let path = format!("payload.answers[{index}]");
        let Some(map) = answer.as_object() else {
            issues
                .push(issue(&path, &format!("must be {{ question_id, value }}; it is {}", kind_of(answer))));
            continue;
        };
        if let Some(unknown) = map.keys().find(|key| !["question_id", "value"].contains(&key.as_str())) {
            issues
                .push(issue(&format!("{path}.{unknown}"), "is unknown; an answer is { question_id, value }"));
        }
        let id = map.get("question_id").and_then(Value::as_str).unwrap_or_default();
        let Some(question) = by_id.get(id) else {
            issues.push(issue(&format!("{path}.question_id"), "names no question of this Interaction"));
            continue;
        };
        if !answered.insert(id) {
            issues.push(issue(&format!("{path}.question_id"), "answers a question that is answered already"));
            continue;
        }
        if let Some(problem) = value_problem(question, map.get("value").unwrap_or(&Value::Null)) {
            issues.push(issue(&format!("{path}.value"), &problem));
        }
    }
    for question in questions {
        let id = question["question_id"].as_str().unwrap_or_default();
        if !answered.contains(id) {
            issues.push(issue("payload.answers", &format!("lacks an answer to {id}")));
        }
    }
    issues
}

fn value_problem(question: &Value, value: &Value) -> Option<String> {
    let listed: Vec<&str> = question["options"]
        .as_array()
        .map_or(&[][..], Vec::as_slice)
        .iter()
        .filter_map(|option| option["value"].as_str())
        .collect();
    let values: HashSet<&str> = listed.iter().copied().collect();
    let is_option = |value: &Value| value.as_str().is_some_and(|value| values.contains(value));
    match (question["type"].as_str().unwrap_or_default(), value) {
        ("text", Value::String(_)) => None,
        ("text", other) => Some(format!("must be a string; it is {}", kind_of(other))),
        ("single_select", value) if is_option(value) => None,
        ("single_select", _) => Some(format!("must be one of the option values {}", shown(&listed))),
        ("multi_select", Value::Array(chosen)) => {
            let distinct: HashSet<&str> = chosen.iter().filter_map(Value::as_str).collect();
            if !chosen.iter().all(is_option) {
                Some(format!("must hold only option values: {}", shown(&listed)))
            } else if distinct.len() != chosen.len() {
                Some("holds a value twice".to_owned())
            } else {
                None
            }
        }
        (_, other) => Some(format!("must be an array of option values; it is {}", kind_of(other))),
    }
}

fn shown(values: &[&str]) -> String {
    let shown: Vec<String> = values.iter().take(10).map(|value| format!("{value:?}")).collect();
    let more = if values.len() > shown.len() { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}

fn issue(path: &str, message: &str) -> Issue {
    Issue { path: path.to_owned(), message: message.to_owned() }
}
