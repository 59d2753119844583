//! What may be said to the Session: text, files, data.

use serde_json::Value;

use super::{
    error::Refusal,
    fields::Fields,
    json::{Json, check_limits},
    message::{FilePart, PartBody, PartState, TextPart},
    schema::kind_of,
};

/// The Parts of a prompt. It must not be empty.
pub(super) fn prompt_parts(value: &Value) -> Result<Vec<PartBody>, Refusal> {
    let Value::Array(parts) = value else {
        return Err(Refusal::invalid(format!(
            "query must be a string or an array of parts; it is {}.",
            kind_of(value)
        )));
    };
    let parts = parts.iter().enumerate().map(|(index, part)| prompt_part(&format!("query[{index}]"), part));
    let parts: Vec<PartBody> = parts.collect::<Result<_, _>>()?;
    let says_something =
        |part: &PartBody| !matches!(part, PartBody::Text(text) if text.text.trim().is_empty());
    if !parts.iter().any(says_something) {
        return Err(Refusal::invalid("query is empty; pass the text, or the parts, of the prompt."));
    }
    Ok(parts)
}

fn prompt_part(name: &str, value: &Value) -> Result<PartBody, Refusal> {
    check_limits(value).map_err(|problem| Refusal::invalid(format!("{name} is refused: {problem}.")))?;
    let known = ["type", "text", "media_type", "url", "data", "filename", "name"];
    let fields = Fields::of(name, value, &known)?;
    match fields.text("type")? {
        Some("text") => {
            Fields::of(name, value, &["type", "text"])?;
            let text = fields.text("text")?;
            let text = text.ok_or_else(|| Refusal::invalid(format!("{name}.text must be a string.")))?;
            let text = TextPart { text: text.to_owned(), state: PartState::Done, provider_metadata: None };
            Ok(PartBody::Text(text))
        }
        Some("file") => {
            Fields::of(name, value, &["type", "media_type", "url", "data", "filename"])?;
            let (url, data) = (fields.text("url")?, fields.text("data")?);
            if url.is_some() == data.is_some() {
                return Err(Refusal::invalid(format!("{name} needs either url or data (base64).")));
            }
            Ok(PartBody::File(FilePart {
                media_type: fields.required_text("media_type")?.to_owned(),
                url: url.map(str::to_owned),
                data: data.map(str::to_owned),
                filename: fields.text("filename")?.map(str::to_owned),
                reasoning: false,
                provider_metadata: None,
            }))
        }
        Some("data") => {
            Fields::of(name, value, &["type", "data", "name"])?;
            let data = value.get("data");
            let data = data.ok_or_else(|| Refusal::invalid(format!("{name}.data must be given.")))?;
            let name = fields.text("name")?.map(str::to_owned);
            Ok(PartBody::Data { name, data: Json::new(data.clone()) })
        }
        other => Err(Refusal::invalid(format!(
            "{name}.type must be text, file or data; it is {}.",
            other.map_or_else(|| "missing".to_owned(), |kind| format!("{kind:?}"))
        ))),
    }
}
