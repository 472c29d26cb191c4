//! What stands out, in words. Which findings there are and in which order is decided in `findings`; here each becomes a
//! headline and the sentences that say what to look at.

mod called;
mod closing;
mod collected;
pub(super) mod delay;
mod figures;
mod limits;
mod loops;
mod pool;
mod stalls;

use profile::{FunctionId, Profile, Role, Thread, ThreadId};
use serde::Serialize;

use super::loops::{PlaceRow, place, seconds};
use super::{FunctionRow, Mention};
use crate::shorten::Folders;
use crate::stalls::{Span, path_of};
use crate::text::{fit_end, fit_start, lower_bound};
use crate::work::Doings;
use crate::{Busy, EntryKind, FEW_SAMPLES, Finding, Findings, Found, Selection, StallGroup};

/// The columns that a function and its place may take in a sentence.
const LONGEST_NAME: usize = 80;
const LONGEST_PLACE: usize = 120;
pub(super) use closing::{closing, loop_notes, most_cpu};

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
    /// The outermost function of the application on the way there, where that is another one.
    pub entry: Option<PlaceRow>,
    /// What called that, where the loop stood still for it: the kind of its entry.
    pub asked_by: Option<EntryKind>,
    /// What the stalls waited for.
    pub waited_for: Option<String>,
    /// The share that the text gives, from 0 to 1: docs/report.md says what it is of.
    pub share: Option<f64>,
    /// The samples of it.
    pub samples: Option<u64>,
    /// The longest time for which a loop stood still for it.
    pub worst_s: Option<f64>,
    /// The time from one such stop to the next on the same loop, where that is regular.
    pub every_s: Option<f64>,
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

/// What all sentences of a report are made from, beside the finding.
pub(super) struct Context<'a> {
    pub(super) profile: &'a Profile,
    pub(super) selection: &'a Selection,
    pub(super) findings: &'a Findings,
    /// What each stack does.
    pub(super) doings: &'a Doings,
    pub(super) duration_ns: u64,
    /// The samples behind the shares of `own`.
    pub(super) samples: u64,
    pub(super) own: &'a [FunctionRow],
    /// The folders whose paths are shortened to start there.
    pub(super) folders: &'a Folders,
    /// Whether samples were really counted; folded stacks may hold anything, and nothing is known of their error.
    pub(super) counted: bool,
}

pub(super) fn rows(context: &Context<'_>) -> Vec<FindingRow> {
    let mut rows = context.findings.list.iter().map(|found| context.row(found)).collect::<Vec<_>>();
    delay::add(context, &mut rows);
    rows
}

/// The functions that sentences may name: those with the most time, and those of findings with their callers.
pub(super) fn mentions(context: &Context<'_>) -> Vec<Mention> {
    let own = context.own.iter().take(LARGEST_USERS).map(|row| row.id);
    let found = context.findings.list.iter().flat_map(|found| functions(&found.finding));
    let mention =
        |function: FunctionId| Some(Mention { words: context.named(function)?, function });
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

/// A share that is not surely above this is not reported: a sample or two of anything are in most recordings.
const LEAST_SHARE: f64 = 0.01;
/// So many functions are named as the largest users.
const LARGEST_USERS: usize = 3;

impl Context<'_> {
    /// Whether a share is more than noise; of weights that are no samples, nothing is known of their error.
    pub(super) fn is_sure(&self, share: f64, samples: u64) -> bool {
        let least = if self.counted { lower_bound(share, samples) } else { share };
        least >= LEAST_SHARE
    }

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
        let figures::Figures { share, samples, worst_ns, every_ns } =
            figures::figures(&found.finding);
        FindingRow {
            id: found.id,
            lost_s: seconds(found.lost_ns),
            count: Some(count).filter(|count| *count > 0),
            place: place(self.profile, found.finding.function()),
            call_line: call_line.filter(|line| *line > 0),
            entry: place(self.profile, self.entry(&found.finding)),
            asked_by: first.map(|group| group.asked_by),
            waited_for: wait.map(crate::Wait::text).filter(|text| !text.is_empty()),
            share,
            samples,
            worst_s: worst_ns.map(seconds),
            every_s: every_ns.map(seconds),
            too_few_samples: has_few_samples(&found.finding),
            text: self.words(found),
            whereabouts: self.whereabouts(&found.finding),
        }
    }

    /// The function where the path of a finding begins; none where that is the one that it names.
    fn entry(&self, finding: &Finding) -> FunctionId {
        let stack = match finding {
            Finding::Called(called) => called.callers.first().map(|caller| caller.stack),
            Finding::Package(package) => Some(package.stack),
            _ => None,
        };
        let group = groups(finding).first().map(|group| group.entry);
        let from_stack = || path_of(self.profile, self.doings, stack?).first().copied();
        let entry = group.filter(|entry| entry.some().is_some()).or_else(from_stack);
        entry.filter(|entry| *entry != finding.function()).unwrap_or(FunctionId::NONE)
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

    /// A function and its place, as short as in tables.
    pub(super) fn place_words(&self, name: &str, file: Option<&str>, line: Option<u32>) -> String {
        let name = fit_start(name, LONGEST_NAME);
        match super::place_of(file.map(|file| self.folders.short(file)), line).as_str() {
            "" => name,
            place => format!("{name} ({})", fit_end(place, LONGEST_PLACE)),
        }
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

/// The stalls of a finding.
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
