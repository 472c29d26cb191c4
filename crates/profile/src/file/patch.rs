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

/// Drops keys that the template does not have; one without keys stands for any. False where the patch has another kind
/// of value in the place of an object.
pub(super) fn keep_known(patch: &mut Value, template: &Value) -> bool {
    let Value::Object(known) = template else { return true };
    let Value::Object(patch) = patch else { return patch.is_null() };
    patch.retain(|key, _| known.is_empty() || known.contains_key(key));
    patch
        .iter_mut()
        .all(|(key, value)| known.get(key).is_none_or(|template| keep_known(value, template)))
}

/// What a value or a key takes in a tree of JSON, without its text.
const NODE_BYTES: usize = 96;

/// What a value takes in memory.
pub(super) fn memory_bytes(value: &Value) -> usize {
    let inside: usize = match value {
        Value::Object(map) => {
            map.iter().map(|(key, value)| key_bytes(key) + memory_bytes(value)).sum()
        }
        Value::Array(list) => list.iter().map(memory_bytes).sum(),
        Value::String(text) => text.len(),
        _ => 0,
    };
    inside + NODE_BYTES
}

fn key_bytes(key: &str) -> usize {
    key.len() + NODE_BYTES
}

/// What of [`memory_bytes`] of the patch is not new: what it replaces, merges with or takes away.
pub(super) fn freed_bytes(target: &Value, patch: &Value) -> usize {
    let (Value::Object(old), Value::Object(patch)) = (target, patch) else {
        return memory_bytes(target);
    };
    let of_key = |(key, value): (&String, &Value)| {
        let old = old.get(key)?;
        Some(
            key_bytes(key)
                + if value.is_null() { memory_bytes(old) } else { freed_bytes(old, value) },
        )
    };
    patch.iter().filter_map(of_key).sum::<usize>() + NODE_BYTES
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
                    let new = memory_bytes(&without_nulls(&patch));
                    let all = memory_bytes(from) + new - freed_bytes(from, &patch);
                    assert_eq!(all, memory_bytes(to), "only what grows counts");
                    apply(&mut value, patch);
                }
                assert_eq!(&value, to);
            }
        }
        let mut patch = json!({"a": [2], "b": {"c": 1, "x": 2}, "e": {"any": 1}, "x": 3});
        let template = json!({"a": 0, "b": {"c": 0}, "e": {}});
        assert!(keep_known(&mut patch, &template));
        assert_eq!(patch, json!({"a": [2], "b": {"c": 1}, "e": {"any": 1}}));
        assert!(keep_known(&mut json!({"b": null}), &template));
        assert!(
            !keep_known(&mut json!({"b": [1]}), &template)
                && !keep_known(&mut json!([]), &template)
        );
        assert_eq!(difference(&states[1], &states[2]), json!({"b": {"c": 3}}));
        assert_eq!(without_nulls(&difference(&states[2], &states[3])), json!({"b": {"d": [1, 2]}}));
    }
}
