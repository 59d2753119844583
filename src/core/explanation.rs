//! What a model says of a call beside its arguments.

use super::json::Json;

const EXPLANATION: &str = "model_explanation";

/// The model's explanation, and how many arguments came before it where it was not the last.
pub(super) type Explanation = (String, Option<u32>);

/// Takes the model's explanation out of the arguments; the tool's schema never sees it.
pub(super) fn take_explanation(input: &Json) -> (Option<Json>, Option<Explanation>) {
    let mut value = input.as_value().clone();
    let Some(map) = value.as_object_mut() else { return (Some(input.clone()), None) };
    let index = map.keys().position(|key| key == EXPLANATION);
    let taken = map.shift_remove(EXPLANATION);
    let index = index.filter(|index| *index < map.len()).and_then(|index| u32::try_from(index).ok());
    let explanation = taken.and_then(|value| value.as_str().map(str::to_owned));
    (Some(Json::new(value)), explanation.map(|text| (text, index)))
}
