//! The lines of one function, each with what ended there and what it called. Texts come from outside: nothing is read
//! here.

use profile::{FunctionId, Profile, SourceId};
use regex::Regex;
use serde::Serialize;

use super::rows::{FunctionRow, Times};
use super::{function_row, times};
use crate::selection::Selection;
use crate::top::{TopBy, TopKey, TopRow, lines_of, top};
use crate::weights::{Weights, share};

/// A function, and what each of its lines took.
#[derive(Debug, Serialize)]
pub struct SourceReport {
    /// The hottest function that was meant.
    pub function: FunctionRow,
    /// The others, the hottest first.
    pub other_matches: Vec<FunctionRow>,
    /// The script that it is in.
    #[serde(skip)]
    pub source: SourceId,
    /// Lines with samples, in the order of the script.
    pub lines: Vec<SourceLine>,
    /// The part of all samples that ended in the function at no known line.
    pub without_line: f64,
    /// Where the text of the lines is from: `recording`, or `disk`.
    pub text_from: Option<&'static str>,
}

/// A line.
#[derive(Debug, Serialize)]
pub struct SourceLine {
    /// Its number.
    pub line: u32,
    /// Its shares of the selection.
    #[serde(flatten)]
    pub times: Times,
    /// What it says, where that is known.
    pub text: Option<String>,
}

impl SourceReport {
    /// The function that was meant: by its whole name, by `file:line`, or by an expression that its name or its file
    /// matches. The first of these that finds any counts, and of several the hottest. None of native code.
    pub fn new(
        profile: &Profile,
        weights: &Weights,
        selection: &Selection,
        typed: &str,
        pattern: Option<&Regex>,
    ) -> Option<Self> {
        let functions = top(profile, weights, selection, TopBy::Function);
        let mut found = matching(profile, &functions, typed, pattern).into_iter();
        let row = |row: &TopRow| function_row(profile, row, times(row, weights.total));
        let first = found.next()?;
        let TopKey::Function(id) = first.key else { return None };
        let lines = lines_of(profile, weights, selection, id);
        let known = lines.iter().fold(0u64, |sum, row| sum.saturating_add(row.self_weight));
        let mut lines: Vec<SourceLine> = lines
            .iter()
            .filter_map(|row| {
                let TopKey::Line(_, line) = row.key else { return None };
                Some(SourceLine { line, times: times(row, weights.total), text: None })
            })
            .collect();
        lines.sort_by_key(|row| row.line);
        Some(Self {
            function: row(first),
            other_matches: found.map(row).collect(),
            source: profile.functions().source[id.index()],
            lines,
            without_line: share(first.self_weight.saturating_sub(known), weights.total),
            text_from: None,
        })
    }

    /// Takes the text of the script; `from` says where it was found.
    pub fn add_text(&mut self, text: &str, from: &'static str) {
        let lines = script_lines(text);
        for row in &mut self.lines {
            let line = (row.line as usize).checked_sub(1).and_then(|at| lines.get(at));
            row.text = line.map(|line| (*line).to_owned());
        }
        self.text_from = Some(from);
    }

    /// Whether a text may be another version of the script: it is too short, or the function is not where it was.
    pub fn differs(&self, text: &str) -> bool {
        /// A name may stand before the function itself: `const total =`, then `async (rows) =>`.
        const BEFORE: usize = 3;
        let lines = script_lines(text);
        let last = self.lines.last().map_or(0, |row| row.line as usize);
        let start = self.function.line.map_or(0, |line| line as usize);
        let near = lines.get(start.saturating_sub(BEFORE + 1)..start).unwrap_or_default();
        let name = self.function.name.rsplit(['.', ' ', '#']).next().unwrap_or_default();
        let is_word = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '$';
        let has_name = !name.is_empty() && name.chars().all(is_word);
        last > lines.len()
            || (start > 0 && has_name && !near.iter().any(|line| line.contains(name)))
    }
}

/// The lines as V8 counts them.
pub fn script_lines(text: &str) -> Vec<&str> {
    let is_end = |letter: char| matches!(letter, '\n' | '\r' | '\u{2028}' | '\u{2029}');
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(is_end) {
        lines.push(&rest[..at]);
        let end = if rest[at..].starts_with("\r\n") { 2 } else { 0 };
        let length = rest[at..].chars().next().map_or(1, char::len_utf8);
        rest = &rest[at + length.max(end)..];
    }
    lines.push(rest);
    lines
}

/// The functions of scripts that were meant, the hottest first.
fn matching<'a>(
    profile: &Profile,
    functions: &'a [TopRow],
    typed: &str,
    pattern: Option<&Regex>,
) -> Vec<&'a TopRow> {
    let place = typed.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?)));
    let name = |id: FunctionId| profile.text(profile.functions().name[id.index()]);
    let path = |id: FunctionId| {
        profile.source_path(profile.functions().source[id.index()]).unwrap_or_default()
    };
    let rules: [&dyn Fn(FunctionId) -> bool; 3] = [
        &|id| name(id) == typed,
        &|id| {
            place.is_some_and(|(file, line)| is_file(path(id), file) && has_line(profile, id, line))
        },
        &|id| {
            pattern.is_some_and(|pattern| pattern.is_match(name(id)) || pattern.is_match(path(id)))
        },
    ];
    for rule in rules {
        let is_meant = |row: &&TopRow| match row.key {
            TopKey::Function(id) => !path(id).is_empty() && rule(id),
            _ => false,
        };
        let mut found: Vec<&TopRow> = functions.iter().filter(is_meant).collect();
        found.sort_by_key(|row| std::cmp::Reverse((row.self_weight, row.total_weight)));
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

/// Whether a path is, or ends with, what was typed.
fn is_file(path: &str, typed: &str) -> bool {
    path.strip_suffix(typed).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
}

/// Whether the function begins at a line, or was seen there.
fn has_line(profile: &Profile, id: FunctionId, line: u32) -> bool {
    let frames = profile.frames();
    let seen = || frames.function.iter().zip(&frames.line).any(|row| row == (&id, &line));
    profile.functions().line[id.index()] == line || seen()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_as_in_javascript() {
        assert_eq!(script_lines("a\nb\r\nc\rd\u{2028}e\u{2029}"), ["a", "b", "c", "d", "e", ""]);
        assert_eq!(script_lines(""), [""]);
    }

    #[test]
    fn a_file_is_meant_by_its_end() {
        assert!(is_file("/app/src/server.js", "server.js"));
        assert!(is_file("/app/src/server.js", "src/server.js"));
        assert!(!is_file("/app/src/server.js", "erver.js"));
    }
}
