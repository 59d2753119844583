//! What a JSON Schema may cost. `allOf` and its kin with `$ref`s in them multiply: thirty short definitions, each naming
//! the next one twice, are a billion evaluations of a single value, and nothing else would go on meanwhile.

use std::collections::HashMap;

use serde_json::{Map, Value};

/// How often one place of a value may be looked at.
const MOST: u64 = 10_000;

/// Keywords with subschemas for the same place of the value.
const SAME_PLACE: [&str; 9] =
    ["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"];
/// Keywords of which at most one subschema is for any place below.
const ONE_BELOW: [&str; 2] = ["properties", "prefixItems"];
/// Keywords of which every subschema may be for the same place below.
const ALL_BELOW: [&str; 9] = [
    "patternProperties",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "items",
    "additionalItems",
    "unevaluatedItems",
    "contains",
    "contentSchema",
];

/// # Errors
/// In words, where the schema could keep a validator busy for ever, or for what would seem so.
pub(super) fn check_cost(schema: &Value) -> Result<(), String> {
    let mut costs = Costs { root: schema, anchors: HashMap::new(), known: HashMap::new(), open: Vec::new() };
    costs.note_anchors(schema);
    let cost = costs.of(schema, true)?;
    if cost > MOST {
        return Err(format!(
            "it looks at one value more than {MOST} times over, as allOf, anyOf, oneOf and $ref multiply; let fewer \
             of them name the same definition"
        ));
    }
    Ok(())
}

struct Costs<'a> {
    root: &'a Value,
    anchors: HashMap<&'a str, &'a Value>,
    /// By address: the schema does not move meanwhile.
    known: HashMap<*const Value, u64>,
    /// The schemas that are being looked at, outermost first, and whether each is for the same place as the one before.
    open: Vec<(*const Value, bool)>,
}

impl<'a> Costs<'a> {
    fn note_anchors(&mut self, value: &'a Value) {
        match value {
            Value::Object(map) => {
                for keyword in ["$anchor", "$dynamicAnchor"] {
                    if let Some(name) = map.get(keyword).and_then(Value::as_str) {
                        self.anchors.insert(name, value);
                    }
                }
                map.values().for_each(|value| self.note_anchors(value));
            }
            Value::Array(items) => items.iter().for_each(|value| self.note_anchors(value)),
            _ => {}
        }
    }

    /// How often the schema has one place looked at: that of the value, or any one below it.
    fn of(&mut self, schema: &'a Value, same_place: bool) -> Result<u64, String> {
        let Value::Object(map) = schema else { return Ok(1) };
        let address = std::ptr::from_ref(schema);
        if let Some(cost) = self.known.get(&address) {
            return Ok(*cost);
        }
        if let Some(at) = self.open.iter().position(|(open, _)| *open == address) {
            let goes_below = !same_place || self.open[at + 1..].iter().any(|(_, same_place)| !same_place);
            // Each round goes deeper into a value that has an end.
            return if goes_below { Ok(1) } else { Err("it refers to itself without end".to_owned()) };
        }
        self.open.push((address, same_place));
        let cost = self.of_keywords(map)?;
        self.open.pop();
        self.known.insert(address, cost);
        Ok(cost)
    }

    fn of_keywords(&mut self, map: &'a Map<String, Value>) -> Result<u64, String> {
        let mut cost: u64 = 1;
        for keyword in SAME_PLACE {
            for schema in subschemas(map, keyword) {
                cost = cost.saturating_add(self.of(schema, true)?);
            }
        }
        for keyword in ["$ref", "$dynamicRef"] {
            if let Some(target) = map.get(keyword).and_then(Value::as_str).and_then(|to| self.target(to)) {
                cost = cost.saturating_add(self.of(target, true)?);
            }
        }
        for keyword in ONE_BELOW {
            let mut most = 0;
            for schema in subschemas(map, keyword) {
                most = most.max(self.of(schema, false)?);
            }
            cost = cost.saturating_add(most);
        }
        for keyword in ALL_BELOW {
            for schema in subschemas(map, keyword) {
                cost = cost.saturating_add(self.of(schema, false)?);
            }
        }
        Ok(cost)
    }

    /// What a reference within the schema names; the validator refuses those that name nothing.
    fn target(&self, to: &str) -> Option<&'a Value> {
        let fragment = to.strip_prefix('#')?;
        if fragment.is_empty() || fragment.starts_with('/') {
            return self.root.pointer(fragment);
        }
        self.anchors.get(fragment).copied()
    }
}

/// Keywords whose subschemas have names.
const NAMED: [&str; 4] = ["properties", "patternProperties", "dependentSchemas", "dependencies"];

/// The schemas of a keyword: one, a list of them, or some by name.
fn subschemas<'a>(map: &'a Map<String, Value>, keyword: &str) -> Vec<&'a Value> {
    match map.get(keyword) {
        Some(Value::Array(items)) => items.iter().collect(),
        Some(Value::Object(members)) if NAMED.contains(&keyword) => members.values().collect(),
        Some(schema) => vec![schema],
        None => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// `levels` definitions, each of which names the next one twice by `keyword`.
    fn doubling(levels: usize, below: bool) -> Value {
        let mut definitions = Map::new();
        for level in 0..levels {
            let next = json!({ "$ref": format!("#/$defs/n{}", level + 1) });
            let next = if below { json!({ "properties": { "x": next } }) } else { next };
            definitions.insert(format!("n{level}"), json!({ "allOf": [next.clone(), next] }));
        }
        definitions.insert(format!("n{levels}"), json!({ "type": "object" }));
        json!({ "$ref": "#/$defs/n0", "$defs": definitions })
    }

    #[test]
    fn what_multiplies_is_refused_in_one_place_and_on_the_way_down() {
        for below in [false, true] {
            assert_eq!(check_cost(&doubling(8, below)), Ok(()));
            let problem = check_cost(&doubling(40, below)).unwrap_err();
            assert!(problem.contains("more than 10000 times over"), "{problem}");
        }
    }

    #[test]
    fn what_refers_to_itself_for_the_same_value_is_refused() {
        for schema in [
            json!({ "$ref": "#" }),
            json!({ "allOf": [{ "$ref": "#/$defs/a" }], "$defs": { "a": { "anyOf": [{ "$ref": "#" }] } } }),
            json!({ "$anchor": "me", "not": { "$ref": "#me" } }),
        ] {
            assert_eq!(check_cost(&schema), Err("it refers to itself without end".to_owned()), "{schema}");
        }
    }

    #[test]
    fn trees_and_wide_schemas_are_not() {
        let expression = json!({
            "$defs": { "expression": { "anyOf": [
                { "type": "number" },
                { "properties": { "left": { "$ref": "#/$defs/expression" }, "right": { "$ref": "#/$defs/expression" } } },
                { "items": { "$ref": "#/$defs/expression" } },
            ] } },
            "properties": { "value": { "$ref": "#/$defs/expression" } },
        });
        assert_eq!(check_cost(&expression), Ok(()));
        // Ten thousand leaves, but each place is looked at once.
        let mut wide = json!({ "type": "string" });
        for _ in 0..4 {
            let members: Map<_, _> = (0..10).map(|n| (format!("p{n}"), wide.clone())).collect();
            wide = json!({ "properties": members });
        }
        assert_eq!(check_cost(&wide), Ok(()));
    }
}
