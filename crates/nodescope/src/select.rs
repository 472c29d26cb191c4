//! The narrowing options as a selection: what was typed is matched against what the recording has, and a
//! word that matches nothing is answered with what would.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use profile::{Category, ProcessId, Profile, Role, ThreadId};
use regex::RegexBuilder;
use views::{ChosenEntries, EntryKind, Selection, Weights, weigh};

use crate::cli::Narrow;
use crate::failure::{Failure, warn};
use crate::text::duration;

/// The selection, and the weight it selects: never nothing, unless event loops are shown and known.
pub(crate) fn select(
    profile: &Profile,
    narrow: &Narrow,
    pids: &[u32],
    shows_loops: bool,
) -> Result<(Selection, Weights), Failure> {
    let (processes, main_threads) = processes(profile, pids)?;
    let selection = Selection {
        lane: narrow.event.as_deref().map(|event| lane(profile, event)).transpose()?,
        range_ns: narrow.range.as_deref().map(parse_range).transpose()?,
        threads: both(threads(profile, &narrow.thread)?, main_threads),
        processes,
        categories: Some(categories(&narrow.category)?).filter(|list| !list.is_empty()),
        search: narrow.search.as_deref().map(|text| pattern("--search", text)).transpose()?,
        entry: narrow.entry.as_deref().map(|text| entry(profile, text)).transpose()?,
        hidden: categories(&narrow.hide)?,
        busy_only: false,
        logical: !narrow.physical,
    };
    let untimed = selection.lane_in(profile).is_some_and(|lane| !profile.lane(lane).timed);
    if selection.range_ns.is_some() && untimed {
        return Err(Failure::failed("this recording has no times, so --range cannot narrow it")
            .hint("leave out --range, or record with times: perf script prints them by default"));
    }
    let weights = weigh(profile, &selection);
    if weights.samples == 0
        && weights.total == 0
        && !(shows_loops && has_loops(profile, &selection))
    {
        return Err(nothing_left(profile, &selection));
    }
    Ok((selection, weights))
}

/// Whether event loops are known there, with their stalls: a process that mostly waits may have no sample.
fn has_loops(profile: &Profile, selection: &Selection) -> bool {
    let of_samples =
        selection.search.is_some() || selection.categories.is_some() || selection.lane.is_some();
    let of_samples = of_samples || selection.entry.is_some();
    !of_samples && !views::turns(profile, selection).loops.is_empty()
}

fn nothing_left(profile: &Profile, selection: &Selection) -> Failure {
    let failure = Failure::failed("no sample is left with these options");
    if selection.range_ns.is_some() {
        return failure.hint(format!(
            "the recording lasts {}: --range 0s..{}s",
            duration(profile.duration_ns()),
            profile.duration_ns().div_ceil(1_000_000_000)
        ));
    }
    if selection.search.is_some() {
        return failure.hint(
            "--search looks at function names, files and packages; with a capital letter it minds case",
        );
    }
    if selection.entry.is_some() {
        return failure.hint(format!("this recording has the entries {}", entry_words(profile)));
    }
    failure.hint("leave out one of the narrowing options")
}

fn lane(profile: &Profile, event: &str) -> Result<profile::LaneId, Failure> {
    let base = |name: &str| name.split(':').next().map(str::to_owned);
    let names: Vec<&str> = profile.lanes().iter().map(|lane| profile.text(lane.name)).collect();
    let found = profile.lane_named(event).or_else(|| {
        let index = names.iter().position(|name| base(name).as_deref() == Some(event))?;
        Some(profile::LaneId::from_index(index))
    });
    found.ok_or_else(|| {
        Failure::failed(format!("this recording has no event {event}"))
            .hint(format!("it has {}", names.join(", ")))
    })
}

/// Reads `12.5s..14s`; either end may be missing.
fn parse_range(text: &str) -> Result<Range<u64>, Failure> {
    let wrong = || {
        Failure::usage(format!("--range {text} is not a range"))
            .hint("--range 12.5s..14s, 500ms..2s, 1m.. or ..90s")
    };
    let (from, to) = text.split_once("..").ok_or_else(wrong)?;
    let from = if from.trim().is_empty() { 0 } else { parse_time(from).ok_or_else(wrong)? };
    let to = if to.trim().is_empty() { u64::MAX } else { parse_time(to).ok_or_else(wrong)? };
    if from >= to {
        return Err(Failure::usage(format!("--range {text} ends before it starts"))
            .hint("--range 12.5s..14s"));
    }
    Ok(from..to)
}

/// What was typed behind --duration.
pub(crate) fn parse_duration(flag: &str, text: &str) -> Result<Duration, Failure> {
    let ns = parse_time(text).filter(|ns| *ns > 0);
    let ns = ns.ok_or_else(|| match parse_time(text) {
        Some(_) => Failure::usage(format!("{flag} {text}: the time must be longer than 0"))
            .hint(format!("{flag} 30s, {flag} 500ms, {flag} 2m; Ctrl-C ends it earlier")),
        None => Failure::usage(format!("{flag} {text} is not a time"))
            .hint(format!("{flag} 30s, {flag} 500ms, {flag} 2m")),
    })?;
    Ok(Duration::from_nanos(ns))
}

/// Reads `1.5`, `1.5s`, `500ms`, `20us`, `2m` or `1h` as nanoseconds.
pub(crate) fn parse_time(text: &str) -> Option<u64> {
    const UNITS: &[(&str, f64)] = &[
        ("ns", 1.0),
        ("us", 1e3),
        ("µs", 1e3),
        ("ms", 1e6),
        ("s", 1e9),
        ("m", 60e9),
        ("h", 3600e9),
    ];
    let text = text.trim();
    let unit = UNITS.iter().find(|(unit, _)| {
        text.strip_suffix(unit).is_some_and(|number| {
            number.trim_end().ends_with(|last: char| last.is_ascii_digit() || last == '.')
        })
    });
    let (number, scale) = unit
        .map_or((text, 1e9), |(unit, scale)| (text[..text.len() - unit.len()].trim_end(), *scale));
    let number: f64 =
        number.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)?;
    Some((number * scale).round() as u64)
}

fn threads(profile: &Profile, words: &[String]) -> Result<Option<Vec<ThreadId>>, Failure> {
    if words.is_empty() {
        return Ok(None);
    }
    let mut ids = Vec::new();
    for word in words {
        let before = ids.len();
        let role = Role::from_word(word);
        ids.extend(profile.threads().iter().enumerate().filter_map(|(row, thread)| {
            let by_id = thread.tid.is_some_and(|tid| tid.to_string() == *word);
            let fits = by_id || role == Some(thread.role) || profile.text(thread.name) == word;
            fits.then_some(ThreadId::from_index(row))
        }));
        if ids.len() == before {
            return Err(Failure::failed(format!(
                "no thread is called {word}, has that id or that role"
            ))
            .hint(format!(
                "the threads are {}; the roles main, worker, pool, v8",
                thread_names(profile)
            )));
        }
    }
    Ok(Some(ids))
}

fn thread_names(profile: &Profile) -> String {
    let mut names: Vec<&str> =
        profile.threads().iter().map(|thread| profile.text(thread.name)).collect();
    names.sort_unstable();
    names.dedup();
    names.truncate(20);
    names.join(", ")
}

/// What is in both lists; no list stands for all.
fn both(some: Option<Vec<ThreadId>>, others: Option<Vec<ThreadId>>) -> Option<Vec<ThreadId>> {
    match (some, others) {
        (Some(some), Some(others)) => {
            Some(some.into_iter().filter(|id| others.contains(id)).collect())
        }
        (some, others) => some.or(others),
    }
}

/// The processes of these pids. Plain `perf script` prints thread ids only; there a pid still finds the
/// main thread, which has the same number.
fn processes(profile: &Profile, pids: &[u32]) -> Result<ByPid, Failure> {
    if pids.is_empty() {
        return Ok((None, None));
    }
    let has_pid = |process: &profile::Process| process.pid.is_some_and(|pid| pids.contains(&pid));
    let rows = 0..profile.processes().len();
    let ids: Vec<ProcessId> =
        rows.map(ProcessId::from_index).filter(|id| has_pid(profile.process(*id))).collect();
    if !ids.is_empty() {
        return Ok((Some(ids), None));
    }
    let mut known: Vec<String> =
        profile.processes().iter().filter_map(|process| Some(process.pid?.to_string())).collect();
    known.truncate(20);
    let failure = Failure::failed(format!("no process {} in this recording", list(pids)));
    if !known.is_empty() {
        return Err(failure.hint(format!("its pids are {}", known.join(", "))));
    }
    let words: Vec<String> = pids.iter().map(u32::to_string).collect();
    match threads(profile, &words) {
        Ok(main_threads) => {
            warn(
                "this recording has no pids: showing the main threads; perf script -F +pid prints pids",
            );
            Ok((None, main_threads))
        }
        Err(_) => Err(failure
            .hint("it has no pids; record them with perf script -F +pid, or narrow with --thread")),
    }
}

/// The processes, or the threads that stand for them.
type ByPid = (Option<Vec<ProcessId>>, Option<Vec<ThreadId>>);

fn list(pids: &[u32]) -> String {
    pids.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

fn categories(words: &[String]) -> Result<Vec<Category>, Failure> {
    let category = |word: &String| {
        Category::from_word(word).ok_or_else(|| {
            let words: Vec<&str> = Category::ALL.iter().map(|category| category.word()).collect();
            Failure::usage(format!("there is no category {word}"))
                .hint(format!("the categories are {}", words.join(", ")))
        })
    };
    words.iter().map(category).collect()
}

/// What was typed behind --entry: a kind, or a pattern for all that is known of an entry.
fn entry(profile: &Profile, text: &str) -> Result<Arc<ChosenEntries>, Failure> {
    let entries = views::entries(profile);
    let chosen = match EntryKind::from_word(text) {
        Some(kind) => entries.choose(kind.many(), |entry| entry.kind == kind),
        None => {
            let pattern = pattern("--entry", text)?;
            entries.choose(text, |entry| pattern.is_match(&entry.text(profile)))
        }
    };
    Ok(Arc::new(chosen))
}

/// The kinds of a recording, as they are typed.
fn entry_words(profile: &Profile) -> String {
    let entries = views::entries(profile);
    let is_there = |kind: &&EntryKind| entries.list.iter().any(|entry| entry.kind == **kind);
    let words: Vec<&str> = EntryKind::ALL.iter().filter(is_there).map(|kind| kind.word()).collect();
    words.join(", ")
}

/// An expression that was typed behind an option. Without a capital letter it ignores case, as the page's search does
/// (page/src/compute/smart-case.ts); `(?i)` and `(?-i)` in front decide it either way.
pub(crate) fn pattern(option: &str, text: &str) -> Result<regex::Regex, Failure> {
    let mut builder = RegexBuilder::new(text);
    builder.size_limit(1 << 20).case_insensitive(!has_capital(text));
    builder.build().map_err(|error| {
        let reason = error.to_string();
        let reason =
            reason.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
        Failure::usage(format!("{option} {text} is not a regular expression: {reason}"))
            .hint("put \\ before a character that is meant as it is: \\( \\. \\*")
    })
}

/// Whether a letter of an expression is a capital one; that of `\S` is none.
fn has_capital(text: &str) -> bool {
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter == '\\' {
            letters.next();
        } else if letter.is_uppercase() {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_with_units() {
        let rows = [
            ("12.5s", 12_500_000_000),
            ("500ms", 500_000_000),
            ("2m", 120_000_000_000),
            ("3", 3_000_000_000),
            ("1 s", 1_000_000_000),
            ("7us", 7_000),
            ("1h", 3_600_000_000_000),
        ];
        for (text, ns) in rows {
            assert_eq!(parse_time(text), Some(ns), "{text}");
        }
        for text in ["", "s", "-1", "1x", "inf", "nan", "1e400"] {
            assert_eq!(parse_time(text), None, "{text}");
        }
    }

    #[test]
    fn without_a_capital_letter_case_does_not_matter() {
        let rows = [
            ("parser", "HTTPParser", true),
            ("Parser", "HTTPParser", true),
            ("Parser", "parser", false),
            (r"^\S+\Wb", "A B", true),
            (r"\\Px", r"\px", false),
            ("(?i)PARSER", "parser", true),
            ("(?-i)parser", "Parser", false),
            ("größe", "GRÖSSE GRÖßE", true),
        ];
        for (typed, text, is_match) in rows {
            let found = pattern("--search", typed).unwrap().is_match(text);
            assert_eq!(found, is_match, "{typed} in {text}");
        }
    }

    #[test]
    fn ranges_are_half_open_and_may_lack_an_end() {
        assert_eq!(parse_range("1s..2s").unwrap(), 1_000_000_000..2_000_000_000);
        assert_eq!(parse_range("..2").unwrap(), 0..2_000_000_000);
        assert_eq!(parse_range("1m..").unwrap(), 60_000_000_000..u64::MAX);
        for text in ["", "1s", "2s..1s", "1s..1s", "a..b"] {
            assert!(parse_range(text).is_err(), "{text}");
        }
    }
}
