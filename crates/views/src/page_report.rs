//! What the report says of a whole recording, prepared for the page: the same sentences, with the rows that a click
//! leads to. The page prints them; it computes only what follows the mouse.

use profile::{FunctionId, ProcessId, Profile, RowId, Second, ThreadId, UNKNOWN};
use serde::Serialize;

use crate::entries::{Entries, EntryKind, entry_words};
use crate::lens::opening_lens;
use crate::report::{FindingRow, Mention, Report, Sentence, Whereabouts, function_words, warnings};
use crate::selection::Selection;
use crate::stalls::{Span, Stall, StallKind, Wait, busy_stretches, function_of};
use crate::text::about;
use crate::weights::{share, weigh_busy};

/// What the report contains, prepared for the page.
#[derive(Debug, Serialize)]
pub struct PageReport {
    /// Which process it is about, and when, in parts.
    pub headline: Vec<String>,
    /// What is wrong with the file.
    pub warnings: Vec<String>,
    /// How good the recording is.
    pub sentences: Vec<Sentence>,
    /// What else is known of it, which the report says beside its tables.
    pub notes: Vec<String>,
    /// What stands out, the most costly first.
    pub findings: Vec<PageFinding>,
    /// The sentences after them.
    pub closing: Vec<String>,
    /// The functions that the sentences name, and how.
    pub mentions: Vec<Mention>,
    /// The threads whose event loops were watched.
    pub watched: Vec<ThreadId>,
    /// Their long turns, the longest first.
    pub stalls: Vec<PageStall>,
    /// Of loops that were not watched: for how long they were busy without a pause, the longest first.
    pub busy: Vec<PageStall>,
    /// Gaps: the times for which a process was stopped, with one of its threads.
    pub stops: Vec<Span>,
    /// About a second each, in which the CPU limit held a process back.
    pub throttled: Vec<PageThrottled>,
    /// What asked for the work.
    pub entries: PageEntries,
    /// How much of a stack the page opens with: the word of the lens.
    pub lens: &'static str,
}

/// Something that stands out, and where the page finds it.
#[derive(Debug, Serialize)]
pub struct PageFinding {
    /// The kind of finding.
    pub id: &'static str,
    /// A headline, and what to look at.
    pub text: Vec<String>,
    /// The threads that it is about; none where it is about all.
    pub threads: Vec<ThreadId>,
    /// When loops stood still for it, the longest first; empty where no single time stands out.
    pub spans: Vec<Span>,
    /// The function that caused most of it.
    pub function: Option<FunctionId>,
}

/// A piece of time in which the CPU limit held a process back.
#[derive(Debug, Serialize)]
pub struct PageThrottled {
    /// The process.
    pub process: ProcessId,
    /// When the piece began.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// For how long of it the process was held back.
    pub throttled_ns: u64,
}

/// The entry of each stack. The page sums them up for what is selected.
#[derive(Debug, Serialize)]
pub struct PageEntries {
    /// The entries.
    pub list: Vec<PageEntry>,
    /// For the stacks in their order: a row of `list`, how many stacks have it, the next row, and so on.
    pub runs: Vec<u32>,
}

/// What asked for work.
#[derive(Debug, Serialize)]
pub struct PageEntry {
    /// The word for its kind.
    pub kind: EntryKind,
    /// `HTTP requests`
    pub many: &'static str,
    /// The function that it called.
    pub function: Option<FunctionId>,
    /// `HTTP request ▸ list`
    pub text: String,
    /// Whether it was inferred from other samples.
    pub is_inferred: bool,
}

/// A stretch of time on a loop's thread.
#[derive(Debug, Serialize)]
pub struct PageStall {
    /// The thread.
    pub thread: ThreadId,
    /// When it began.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// What most of it was: `ran`, `blocked` …
    pub kind: &'static str,
    /// The function that caused most of it.
    pub function: Option<FunctionId>,
    /// `304 ms at 1.204 s, waiting for a child process: execSync, in deployStatus`
    pub text: String,
}

/// The report of the whole recording, as the page gets it.
pub fn page_report(profile: &Profile) -> PageReport {
    let (selection, weights) = weigh_busy(profile, &Selection::of_logical());
    let report = Report::without_lists(profile, &weights, &selection);
    let turns = &report.turns;
    let words = |stalls: &[Stall]| stalls.iter().map(|stall| page_stall(profile, stall)).collect();
    PageReport {
        watched: turns.watched().map(|row| row.thread).collect(),
        stalls: words(&turns.stalls),
        busy: words(&busy_stretches(profile, turns, &report.doings)),
        stops: turns.stops.clone(),
        warnings: warnings(profile),
        sentences: report.sentences(),
        notes: report.awaits().into_iter().collect(),
        findings: report.findings.into_iter().map(page_finding).collect(),
        throttled: throttled(profile),
        entries: page_entries(profile, report.doings.entries(profile)),
        lens: opening_lens(profile, report.doings.entries(profile)).word(),
        headline: report.headline,
        closing: report.closing,
        mentions: report.mentions,
    }
}

/// All of them: the page shows the first, and the others when it is asked to.
fn page_finding(FindingRow { id, text, whereabouts, .. }: FindingRow) -> PageFinding {
    let Whereabouts { threads, spans, function } = whereabouts;
    PageFinding { id, text, threads, spans, function }
}

/// A process that is held back for less of a second is not worth a mark.
const THROTTLED_TIME: f64 = 0.02;

fn throttled(profile: &Profile) -> Vec<PageThrottled> {
    let table = profile.seconds();
    let rows = table.ids().map(|id: RowId| table.row(id));
    let is_much = |row: &Second| {
        let is_known = row.throttled_ns != UNKNOWN;
        let length_ns = row.end_ns.saturating_sub(row.start_ns);
        is_known && length_ns > 0 && share(row.throttled_ns, length_ns) >= THROTTLED_TIME
    };
    let to_piece = |row: Second| PageThrottled {
        process: row.process,
        start_ns: row.start_ns,
        end_ns: row.end_ns,
        throttled_ns: row.throttled_ns.min(row.end_ns - row.start_ns),
    };
    rows.filter(is_much).map(to_piece).collect()
}

fn page_entries(profile: &Profile, entries: &Entries) -> PageEntries {
    let list = entries.list.iter().map(|entry| PageEntry {
        kind: entry.kind,
        many: entry.kind.many(),
        function: entry.function.some(),
        text: entry_words(profile, entry),
        is_inferred: entry.is_inferred,
    });
    let mut runs: Vec<u32> = Vec::new();
    let mut last = None;
    // A stack that no sample ends in counts for nothing: it joins the run before.
    for (row, is_used) in entries.of_stack.iter().zip(used(profile)) {
        match (last, runs.last_mut()) {
            (Some(its), Some(length)) if its == *row || !is_used => *length += 1,
            _ => {
                runs.extend([*row, 1]);
                last = Some(*row);
            }
        }
    }
    PageEntries { list: list.collect(), runs }
}

/// For each stack, whether a sample ends in it, with or without the functions that await it.
fn used(profile: &Profile) -> Vec<bool> {
    let mut used = vec![false; profile.stacks().len()];
    for stack in profile.lanes().iter().flat_map(|lane| &lane.samples.stack) {
        for id in [*stack, profile.logical(*stack)] {
            if let Some(used) = used.get_mut(id.index()) {
                *used = true;
            }
        }
    }
    used
}

fn page_stall(profile: &Profile, stall: &Stall) -> PageStall {
    let function = function_of(stall).some();
    let place = function.map(|id| format!(" in {}", function_words(profile, id)));
    let kind = kind_words(stall);
    let comma = if kind.is_empty() { "" } else { ", " };
    let (length, start) = (about(stall.duration_ns()), stall.start_ns as f64 / 1e9);
    PageStall {
        thread: stall.thread,
        start_ns: stall.start_ns,
        end_ns: stall.end_ns,
        kind: stall.kind.word(),
        function,
        text: format!("{length} at {start:.3} s{comma}{kind}{}", place.unwrap_or_default()),
    }
}

/// What most of it was, where it did not simply run.
fn kind_words(stall: &Stall) -> String {
    match (stall.kind, &stall.wait) {
        (StallKind::Ran | StallKind::Unknown, _) => String::new(),
        (StallKind::Collected, _) => "garbage collection".to_owned(),
        (StallKind::Blocked, Some(Wait { what: Some(what), call })) => match call {
            Some(call) => format!("waiting for {what}: {call}"),
            None => format!("waiting for {what}"),
        },
        (StallKind::Blocked, Some(Wait { what: None, call: Some(call) })) => {
            format!("waiting: {call}")
        }
        (StallKind::Blocked, _) => "waiting".to_owned(),
        (StallKind::Throttled, _) => "held back by the CPU limit".to_owned(),
        (StallKind::Starved, _) => "waiting for a CPU".to_owned(),
    }
}
