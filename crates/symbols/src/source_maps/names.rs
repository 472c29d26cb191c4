//! Better names for minified functions. A map names identifiers, not functions, and the place of `e=>e+1` is that of
//! its parameter: so the place where V8 took the name from is looked for in the script, and the map is asked for its
//! name.

use super::map::Map;
use super::text::ScriptText;

/// How far before a function its name may be written: `name=wrap(function(`.
const NEAR: usize = 200;
/// How far before its constructor the name of a class may be written.
const CLASS: usize = 64 << 10;

/// What is further away is apart, whatever stands between.
const FAR: usize = 4096;

/// The name of a function before it was minified, where the map has one.
pub(super) fn better_name(
    name: &str,
    map: &Map,
    text: &ScriptText,
    (line, column): (u32, u32),
) -> Option<String> {
    let (before, after) = text.around(line, column)?;
    let (kind, path) = ["get ", "set "]
        .iter()
        .find_map(|kind| Some((*kind, name.strip_prefix(kind)?)))
        .unwrap_or(("", name));
    let part = |part: &str| {
        let distance = written_at(part, before, after)?;
        let column = column.checked_add_signed(distance)?;
        map.origin(line, column).filter(|origin| origin.starts == column)?.name.map(str::to_owned)
    };
    let parts: Vec<Option<String>> = path.split('.').map(part).collect();
    if parts.iter().all(Option::is_none) {
        return None;
    }
    let parts: Vec<String> = parts
        .into_iter()
        .zip(path.split('.'))
        .map(|(better, part)| better.unwrap_or(part.to_owned()))
        .collect();
    let better = format!("{kind}{}", parts.join("."));
    (better != name).then_some(better)
}

/// Whether a function with this name, or without any, can start at a place. Without a column it may be anywhere in the
/// line.
pub(super) fn is_written_at(name: Option<&str>, before: &str, after: &str, column: u32) -> bool {
    let after = after.trim_start();
    let Some(name) = name else {
        let is_parameter = after.split("=>").next().is_some_and(|name| is_identifier(name.trim()));
        return column == 0 || is_parameter || STARTS.iter().any(|start| after.starts_with(start));
    };
    let name = name.rsplit(['.', ' ']).next().unwrap_or(name);
    if column == 0 { after.contains(name) } else { written_at(name, before, after).is_some() }
}

/// What a nameless function starts with.
const STARTS: [&str; 5] = ["(", "async", "function", "class", "{"];

/// Where a name is written, in columns from the function's start.
fn written_at(name: &str, before: &str, after: &str) -> Option<i32> {
    if !is_identifier(name) {
        return None;
    }
    if let Some(rest) = after.strip_prefix("class ").filter(|rest| starts_with_word(rest, name)) {
        return i32::try_from(after.len() - rest.len()).ok();
    }
    let is_constructor = before.trim_end().ends_with("constructor");
    let reach = before.len().saturating_sub(if is_constructor { CLASS } else { NEAR });
    let start = (reach..=before.len()).find(|place| before.is_char_boundary(*place))?;
    let window = &before[start..];
    let mut places = window.rmatch_indices(name).map(|(place, _)| place).filter(|place| {
        let is_start = !window[..*place].ends_with(is_letter);
        is_start && starts_with_word(&window[*place..], name)
    });
    let place = places.find(|place| {
        !is_constructor || is_class(&window[..*place], &window[place + name.len()..])
    })?;
    let units: usize = window[place..].chars().map(char::len_utf16).sum();
    Some(-i32::try_from(units).ok()?)
}

/// Whether a name between these is that of a class: `class a{`, `a=class{`.
fn is_class(before: &str, after: &str) -> bool {
    before.ends_with("class ")
        || after.trim_start().trim_start_matches(['=', ':']).trim_start().starts_with("class")
}

fn starts_with_word(text: &str, word: &str) -> bool {
    text.strip_prefix(word).is_some_and(|rest| !rest.starts_with(is_letter))
}

fn is_identifier(name: &str) -> bool {
    !name.is_empty()
        && name.chars().all(is_letter)
        && !name.starts_with(|letter: char| letter.is_ascii_digit())
}

fn is_letter(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || letter == '$'
}

/// Whether a function starts too far behind a place to belong to it: other statements stand between.
pub(super) fn is_apart(text: &ScriptText, line: u32, place: u32, function: u32) -> bool {
    let Some((before, _)) = text.around(line, function) else { return true };
    let mut units = function.saturating_sub(place) as usize;
    if units > FAR {
        return true;
    }
    for letter in before.chars().rev() {
        if units == 0 {
            return false;
        }
        if matches!(letter, ';' | '{' | '}') {
            return true;
        }
        units = units.saturating_sub(letter.len_utf16());
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_where_they_are_written() {
        let rows: &[(&str, &str, &str, Option<i32>)] = &[
            ("l", "function P(){}function l", "(r){", Some(-1)),
            ("v", "var a=w(m()),v=", "r=>{", Some(-2)),
            ("v", "v=keep(", "r=>{", Some(-7)),
            ("u", "u.hash=function", "(e){", Some(-15)),
            ("s", "var s=class{x;constructor", "(e){", Some(-21)),
            ("s", "class s{x=s.y;constructor", "(e){", Some(-19)),
            ("s", "var x=1;", "class s{}", Some(6)),
            ("v", "av=", "r=>{", None),
            ("v", "v2=", "r=>{", None),
            ("v", "", "r=>{", None),
            ("(anonymous)", "(anonymous)=", "r=>{", None),
            ("v", "v=\"𝒳\",", "r=>{", Some(-7)),
        ];
        for (name, before, after, expected) in rows {
            assert_eq!(written_at(name, before, after), *expected, "{name}: {before}|{after}");
        }
    }

    #[test]
    fn statements_keep_places_apart() {
        let text = ScriptText::new("a();var q=d((e,t)=>{}function f(x){}".into());
        assert!(is_apart(&text, 1, 1, 13));
        assert!(!is_apart(&text, 1, 31, 32));
        assert!(!is_apart(&text, 1, 22, 32));
        assert!(is_apart(&text, 1, 1, 400));
    }
}
