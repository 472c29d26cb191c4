//! What changed in a JSON object, as another one: a merge patch (RFC 7396). `null` takes a key away.

use serde_json::{Map, Value};

/// What turns one object into the other; `Value::Null` where they are equal.
pub(super) fn difference(from: &Value, to: &Value) -> Value {
    let (Value::Object(from), Value::Object(to)) = (from, to) else {
        return if from == to { Value::Null } else { to.clone() };
    };
    let mut patch = Map::new();
    for (key, value) in to {
        match from.get(key) {
            Some(old) if old == value => {}
            Some(old @ Value::Object(_)) if value.is_object() => {
                patch.insert(key.clone(), difference(old, value));
            }
            _ => {
                patch.insert(key.clone(), value.clone());
            }
        }
    }
    for key in from.keys().filter(|key| !to.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    if patch.is_empty() { Value::Null } else { Value::Object(patch) }
}

/// Applies a patch. It is not deeper than the 128 levels that the JSON parser allows.
pub(super) fn apply(target: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *target = patch;
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(target) = target else { return };
    for (key, value) in patch {
        if value.is_null() {
            target.remove(&key);
        } else {
            apply(target.entry(key).or_insert(Value::Null), value);
        }
    }
}

/// The patch without what it takes away.
pub(super) fn without_nulls(patch: &Value) -> Value {
    match patch {
        Value::Object(map) => {
            let kept = map.iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(key, value)| (key.clone(), without_nulls(value))).collect())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_difference_leads_there() {
        let states = [
            json!({}),
            json!({"a": 1, "b": {"c": 2, "d": [1]}}),
            json!({"a": 1, "b": {"c": 3, "d": [1]}}),
            json!({"b": {"d": [1, 2]}}),
            json!({"b": 5, "e": {"f": {}}}),
            json!({"b": {"x": "y"}, "e": {"f": {"g": 1}}}),
        ];
        for from in &states {
            for to in &states {
                let mut value = from.clone();
                let patch = difference(from, to);
                assert_eq!(patch.is_null(), from == to);
                if !patch.is_null() {
                    apply(&mut value, patch);
                }
                assert_eq!(&value, to);
            }
        }
        assert_eq!(difference(&states[1], &states[2]), json!({"b": {"c": 3}}));
        assert_eq!(without_nulls(&difference(&states[2], &states[3])), json!({"b": {"d": [1, 2]}}));
    }
}
