//! V8's precise coverage: how often each function was called. It names functions by where they stand in their script's
//! text, in UTF-16 units, and a profile by line and column: the text leads from one to the other. Coverage counts from
//! the word `function` on, a profile from the parameters; so a function is the one whose text holds the profile's
//! place.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Deserialize;

use super::lines::Lines;
use super::raw::Call;
use crate::json::Text;

/// What our own scripts are called: they are not the application's.
const OURS: &str = "nodescope:";

/// The functions that samples have shown, by script.
#[derive(Debug, Default)]
pub(super) struct SeenFunctions(HashMap<String, Vec<Place>>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    name: String,
    line: u32,
    column: u32,
}

/// Functions and how often they were called.
#[derive(Debug, Default)]
pub(super) struct Counted {
    pub(super) calls: Vec<(Call<'static>, u64)>,
    pub(super) damage: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Script {
    pub(super) url: String,
    pub(super) functions: Vec<Function>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Function {
    pub(super) function_name: String,
    pub(super) ranges: Vec<Range>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Range {
    pub(super) start_offset: u64,
    pub(super) end_offset: u64,
    pub(super) count: u64,
}

impl SeenFunctions {
    pub(super) fn note(&mut self, calls: &[Call<'_>]) {
        for call in calls.iter().filter(|call| call.line > 0 && !call.url.0.is_empty()) {
            let place =
                Place { name: call.name.0.to_string(), line: call.line, column: call.column };
            let known = self.0.entry(call.url.0.to_string()).or_default();
            if !known.contains(&place) {
                known.push(place);
            }
        }
    }
}

/// Reads coverage: the list of scripts.
pub(super) fn read(
    text: &str,
    seen: &SeenFunctions,
    mut text_of: impl FnMut(&str) -> Option<String>,
) -> Counted {
    let scripts: Vec<Script> = match serde_json::from_str(text) {
        Ok(scripts) => scripts,
        Err(error) => {
            let damage = Some(format!("the counts of calls could not be read: {error}"));
            return Counted { damage, ..Counted::default() };
        }
    };
    let mut counted = Counted::default();
    for script in scripts.iter().filter(|script| !script.url.starts_with(OURS)) {
        let is_called =
            |function: &&Function| function.ranges.first().is_some_and(|range| range.count > 0);
        if script.functions.iter().any(|function| is_called(&function)) {
            let lines = text_of(&script.url).map(|text| Lines::new(&text));
            let places = seen.0.get(&script.url).map_or(&[][..], Vec::as_slice);
            let functions = script.functions.iter().filter(is_called);
            counted
                .calls
                .extend(functions.map(|function| count(script, function, lines.as_ref(), places)));
        }
    }
    counted
}

fn count(
    script: &Script,
    function: &Function,
    lines: Option<&Lines>,
    places: &[Place],
) -> (Call<'static>, u64) {
    let range = function.ranges[0];
    let namesakes = || places.iter().filter(|place| place.name == function.function_name);
    let found = match lines {
        Some(lines) => namesakes().find(|place| {
            let offset = lines.offset(place.line, place.column);
            offset.is_some_and(|offset| {
                innermost(script, &place.name, offset) == Some(range.start_offset)
            })
        }),
        // Without the text, only a name that there is once can be meant.
        None => namesakes().next().filter(|_| {
            let same = |other: &&Function| other.function_name == function.function_name;
            namesakes().count() == 1 && script.functions.iter().filter(same).count() == 1
        }),
    };
    let here = lines.and_then(|lines| lines.place(range.start_offset));
    let (line, column) = found.map(|place| (place.line, place.column)).or(here).unwrap_or((0, 0));
    let owned = |text: &str| Text(Cow::Owned(text.to_owned()));
    let call = Call { name: owned(&function.function_name), url: owned(&script.url), line, column };
    (call, range.count)
}

/// Where the function of that name begins that holds the offset, and no smaller one does.
fn innermost(script: &Script, name: &str, offset: u64) -> Option<u64> {
    let ranges = script.functions.iter().filter(|function| function.function_name == name);
    let ranges = ranges.filter_map(|function| function.ranges.first());
    ranges
        .filter(|range| range.start_offset <= offset && offset < range.end_offset)
        .map(|range| range.start_offset)
        .max()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "'é🦀';\r\nfunction a() { return () => 1; }\nfunction a2() {}\n";

    fn call(name: &'static str, line: u32, column: u32) -> Call<'static> {
        Call {
            name: Text(Cow::Borrowed(name)),
            url: Text(Cow::Borrowed("file:///a.js")),
            line,
            column,
        }
    }

    fn function(name: &str, part: &str, count: u64) -> String {
        let units = |text: &str| text.encode_utf16().count();
        let start = TEXT.find(part).map_or(0, |at| units(&TEXT[..at]));
        let end = start + units(part);
        format!(
            r#"{{"functionName":"{name}","isBlockCoverage":false,"ranges":[{{"startOffset":{start},"endOffset":{end},"count":{count}}}]}}"#
        )
    }

    fn coverage() -> String {
        let functions = [
            function("", TEXT, 1),
            function("a", "function a() { return () => 1; }", 7),
            function("", "() => 1", 9),
            function("a2", "function a2() {}", 0),
        ];
        format!(
            r#"[{{"scriptId":"9","url":"file:///a.js","functions":[{}]}}]"#,
            functions.join(",")
        )
    }

    #[test]
    fn functions_are_found_by_their_text() {
        let mut seen = SeenFunctions::default();
        seen.note(&[call("a", 2, 11), call("", 2, 23), call("a2", 3, 12), call("", 0, 0)]);
        let found = read(&coverage(), &seen, |_| Some(TEXT.to_owned()));
        assert_eq!(found.calls, [(call("", 1, 1), 1), (call("a", 2, 11), 7), (call("", 2, 23), 9)]);
    }

    #[test]
    fn without_the_text_only_single_names_count() {
        let mut seen = SeenFunctions::default();
        seen.note(&[call("a", 2, 11), call("", 2, 23)]);
        let found = read(&coverage(), &seen, |_| None);
        assert_eq!(found.calls, [(call("", 0, 0), 1), (call("a", 2, 11), 7), (call("", 0, 0), 9)]);
    }

    #[test]
    fn nonsense_is_reported() {
        let found = read("[{]", &SeenFunctions::default(), |_| None);
        assert!(found.calls.is_empty() && found.damage.is_some());
        let ours = coverage().replace("file:///a.js", "nodescope:window");
        assert!(read(&ours, &SeenFunctions::default(), |_| None).calls.is_empty());
    }
}
