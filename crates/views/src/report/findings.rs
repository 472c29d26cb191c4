//! What stands out, in words. Which findings there are and in which order is decided in `findings`; here each becomes a
//! headline and the sentences that say what to look at.

mod called;
mod closing;
mod collected;
pub(super) mod delay;
mod limits;
mod loops;
mod pool;
mod stalls;

use profile::{FunctionId, Profile, Role, Thread, ThreadId};
use serde::Serialize;

use super::loops::{PlaceRow, place, seconds};
use super::{FunctionRow, Mention};
use crate::stalls::Span;
use crate::text::{fit_end, fit_start};
use crate::work::Doings;
use crate::{Busy, FEW_SAMPLES, Finding, Findings, Found, Selection, StallGroup};

/// The columns that a function and its place may take in a sentence.
const LONGEST_NAME: usize = 80;
const LONGEST_PLACE: usize = 120;
pub(super) use closing::{closing, loop_notes, most_cpu};
use stalls::stops;

/// Something that stands out.
#[derive(Debug, Serialize)]
pub struct FindingRow {
    /// The kind of finding: docs/report.md lists them.
    pub id: &'static str,
    /// The time that was lost.
    pub lost_s: f64,
    /// How often the loop stood still for it, where it did.
    pub count: Option<usize>,
    /// The function that caused it.
    #[serde(flatten)]
    pub place: Option<PlaceRow>,
    /// The line of the call, of work that a function asked for.
    pub call_line: Option<u32>,
    /// What the stalls waited for.
    pub waited_for: Option<String>,
    /// Whether it has fewer samples than a share needs.
    pub too_few_samples: bool,
    /// A headline, and what to look at.
    pub text: Vec<String>,
    /// Where in the recording it is.
    #[serde(skip)]
    pub whereabouts: Whereabouts,
}

/// Where in a recording a finding is.
#[derive(Debug, Default)]
pub struct Whereabouts {
    /// The threads that it is about; none where it is about all.
    pub threads: Vec<ThreadId>,
    /// When loops stood still for it, the longest first; empty where no single time stands out.
    pub spans: Vec<Span>,
    /// The function that caused most of it.
    pub function: Option<FunctionId>,
}

/// What the words need beside the finding.
pub(super) struct Telling<'a> {
    pub(super) profile: &'a Profile,
    pub(super) selection: &'a Selection,
    pub(super) findings: &'a Findings,
    /// What each stack does.
    pub(super) doings: &'a Doings,
    pub(super) duration_ns: u64,
    /// The samples behind the shares of `own`.
    pub(super) samples: u64,
    pub(super) own: &'a [FunctionRow],
    /// Whether samples were really counted; folded stacks may hold anything, and nothing is known of their error.
    pub(super) counted: bool,
}

pub(super) fn rows(telling: &Telling<'_>) -> Vec<FindingRow> {
    let mut rows = telling.findings.list.iter().map(|found| telling.row(found)).collect::<Vec<_>>();
    delay::add(telling, &mut rows);
    rows
}

/// The functions that sentences may name: those with the most time, and those of findings with their callers.
pub(super) fn mentions(telling: &Telling<'_>) -> Vec<Mention> {
    let own = telling.own.iter().take(LARGEST_USERS).map(|row| row.id);
    let found = telling.findings.list.iter().flat_map(|found| functions(&found.finding));
    let mention =
        |function: FunctionId| Some(Mention { words: telling.named(function)?, function });
    let mut seen = std::collections::BTreeSet::new();
    let functions = own.chain(found).filter(|function| seen.insert(*function));
    functions.filter_map(mention).collect()
}

/// The functions that the words for a finding may name with their places.
fn functions(finding: &Finding) -> Vec<FunctionId> {
    let of_group = |group: &StallGroup| [group.function, group.entry];
    let of_loop =
        |busy: &Busy| busy.functions.iter().take(LARGEST_USERS).map(|row| row.0).collect();
    match finding {
        Finding::Stalls(group) => of_group(group).to_vec(),
        Finding::Called(called) => {
            let callers = called.callers.iter().map(|caller| caller.function);
            callers.chain(called.stalls.iter().flat_map(of_group)).collect()
        }
        Finding::Busy(busy) => of_loop(busy),
        Finding::BadWorker(worker) => worker
            .cause
            .as_ref()
            .map_or_else(|| of_loop(&worker.busy_with), |cause| functions(&cause.finding)),
        other => vec![other.function()],
    }
}

/// So many functions are named as the largest users.
const LARGEST_USERS: usize = 3;

impl Telling<'_> {
    fn row(&self, found: &Found) -> FindingRow {
        let groups = groups(&found.finding);
        let first = groups.first().copied();
        let wait = first.and_then(|group| group.wait.as_ref());
        let call_line = match &found.finding {
            Finding::Called(called) => called.callers.first().map(|caller| caller.line),
            _ => None,
        };
        let count = match &found.finding {
            Finding::Gc(gc) => gc.rhythm.map_or(0, |rhythm| rhythm.count),
            _ => groups.iter().map(|group| group.count).sum(),
        };
        FindingRow {
            id: found.id,
            lost_s: seconds(found.lost_ns),
            count: Some(count).filter(|count| *count > 0),
            place: place(self.profile, found.finding.function()),
            call_line: call_line.filter(|line| *line > 0),
            waited_for: wait.map(crate::Wait::text).filter(|text| !text.is_empty()),
            too_few_samples: has_few_samples(&found.finding),
            text: self.words(found),
            whereabouts: self.whereabouts(&found.finding),
        }
    }

    fn whereabouts(&self, finding: &Finding) -> Whereabouts {
        let is_its = |row: &Thread| {
            let is_pool = matches!(finding, Finding::Pool(_));
            Some(row.process) == finding.process() && (!is_pool || row.role == Role::LibuvPool)
        };
        let mut threads = finding.threads();
        if threads.is_empty() {
            let rows = self.profile.threads().iter().enumerate();
            threads.extend(
                rows.filter(|(_, row)| is_its(row)).map(|(id, _)| ThreadId::from_index(id)),
            );
        }
        let spans = finding.spans(&self.findings.turns);
        Whereabouts { threads, spans, function: finding.function().some() }
    }

    /// A headline, and what to look at.
    fn words(&self, found: &Found) -> Vec<String> {
        match &found.finding {
            Finding::CpuLimit(limit) => self.cpu_limit(limit, found.lost_ns),
            Finding::CpuWait(wait) => self.cpu_wait(wait, found.lost_ns),
            Finding::MemoryPressure(process) => self.memory_pressure(*process, found.lost_ns),
            Finding::Gc(gc) => self.collected(gc),
            Finding::Called(called) => self.called(called),
            Finding::Stalls(group) => self.stalls(group),
            Finding::Package(package) => self.package(package),
            Finding::Busy(busy) => self.busy(busy),
            Finding::Pool(pool) => self.pool(pool),
            Finding::BadWorker(worker) => self.bad_worker(worker),
        }
    }

    /// `deployStatus (server.js:2)`
    fn named(&self, function: FunctionId) -> Option<String> {
        let place = place(self.profile, function)?;
        Some(self.place_words(&place.function, place.file.as_deref(), place.line))
    }

    /// A function and its place, from the folder of the process on.
    pub(super) fn place_words(&self, name: &str, file: Option<&str>, line: Option<u32>) -> String {
        let name = fit_start(name, LONGEST_NAME);
        match super::place_of(file.map(|file| self.short(file)), line).as_str() {
            "" => name,
            place => format!("{name} ({})", fit_end(place, LONGEST_PLACE)),
        }
    }

    pub(super) fn short<'a>(&self, path: &'a str) -> &'a str {
        let folders = self.profile.processes().iter().filter_map(|process| process.folder.some());
        let inside = |folder: &str| path.strip_prefix(folder)?.strip_prefix('/');
        folders
            .filter_map(|folder| inside(self.profile.text(folder)))
            .min_by_key(|rest| rest.len())
            .unwrap_or(path)
    }

    /// Whose loop it is, where there are several.
    fn loop_name(&self, thread: ThreadId) -> String {
        let row = self.profile.thread(thread);
        // Where loops are known, other programs that Node has started have none.
        let known = self.findings.turns.loops.iter().map(|its| its.thread);
        let mut loops: Vec<ThreadId> = known.collect();
        if loops.is_empty() {
            loops.extend(self.findings.gc.loops.iter().map(|its| its.thread));
        }
        loops.sort_unstable();
        loops.dedup();
        let processes = loops.iter().any(|its| self.profile.thread(*its).process != row.process);
        let tid = row.tid.map(|tid| format!(" {tid}")).unwrap_or_default();
        let pid =
            self.profile.process(row.process).pid.map(|pid| format!(" {pid}")).unwrap_or_default();
        match (loops.len() > 1, processes, row.role == Role::Worker) {
            (false, ..) => "the event loop".to_owned(),
            (_, false, false) => "the main loop".to_owned(),
            (_, false, true) => format!("the loop of worker{tid}"),
            (_, true, false) => format!("the loop of pid{pid}"),
            (_, true, true) => format!("the loop of worker{tid} in pid{pid}"),
        }
    }

    /// Whose loops they are.
    fn loops_name(&self, threads: &[ThreadId]) -> String {
        match threads {
            [thread] => self.loop_name(*thread),
            several => format!("{} event loops", several.len()),
        }
    }
}

/// Whether what a finding says of stalls rests on fewer samples than a share needs.
fn has_few_samples(finding: &Finding) -> bool {
    match finding {
        Finding::Stalls(group) => group.of_samples < FEW_SAMPLES,
        Finding::Called(called) => {
            called.samples_of_stalls().is_some_and(|(_, all)| all < FEW_SAMPLES)
        }
        _ => false,
    }
}

/// The stalls that a finding tells of.
fn groups(finding: &Finding) -> Vec<&StallGroup> {
    match finding {
        Finding::Stalls(group) => vec![group],
        Finding::Called(called) => called.stalls.iter().collect(),
        Finding::BadWorker(worker) => {
            worker.cause.iter().flat_map(|cause| groups(&cause.finding)).collect()
        }
        _ => Vec::new(),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
