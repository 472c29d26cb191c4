//! What stands out, in words. Which findings there are and in which order is decided in `views`; here each becomes a
//! headline and the sentences that say what to look at.

mod closing;
mod stalls;

use crate::text::{about, fit_end, fit_start, rough_percent};
use crate::{
    CpuLimit, CpuWait, EventLoop, FEW_SAMPLES, Finding, Findings, Found, LoopGc, Selection, TopKey,
};
use profile::{Category, FunctionId, Profile, Role, ThreadId};
use serde::Serialize;

use super::loops::{PlaceRow, place, seconds};
use super::{FunctionRow, Mention, caused};

/// The columns that a function and its place may take in a sentence.
const LONGEST_NAME: usize = 80;
const LONGEST_PLACE: usize = 120;
pub(super) use closing::{closing, loop_notes, most_cpu};

/// Something that stands out.
#[derive(Debug, Serialize)]
pub struct FindingRow {
    /// stalls, cpu-limit, cpu-wait, gc or busy-loop.
    pub kind: &'static str,
    /// The time that was lost.
    pub lost_s: f64,
    /// How often, of stalls.
    pub count: Option<usize>,
    /// The function that caused it.
    #[serde(flatten)]
    pub place: Option<PlaceRow>,
    /// What the stalls waited for.
    pub waited_for: Option<String>,
    /// Whether it has fewer samples than a share needs.
    pub too_few_samples: bool,
    /// A headline, and what to look at.
    pub text: Vec<String>,
}

/// What the words need beside the finding.
pub(super) struct Telling<'a> {
    pub(super) profile: &'a Profile,
    pub(super) selection: &'a Selection,
    pub(super) findings: &'a Findings,
    pub(super) duration_ns: u64,
    /// The samples behind the shares of `own`.
    pub(super) samples: u64,
    pub(super) own: &'a [FunctionRow],
    /// Whether samples were really counted; folded stacks may hold anything, and nothing is known of their error.
    pub(super) counted: bool,
}

pub(super) fn rows(telling: &Telling<'_>) -> Vec<FindingRow> {
    telling.findings.list.iter().map(|found| telling.row(found)).collect()
}

/// The functions that sentences may name: those with the most time, and those of stalls with their callers.
pub(super) fn mentions(telling: &Telling<'_>) -> Vec<Mention> {
    let of_stalls = telling.findings.list.iter().flat_map(|found| match &found.finding {
        Finding::Stalls(group) => vec![group.function, group.entry],
        _ => Vec::new(),
    });
    let own = telling.own.iter().take(LARGEST_USERS).map(|row| row.id);
    let mention =
        |function: FunctionId| Some(Mention { words: telling.named(function)?, function });
    own.chain(of_stalls).filter_map(mention).collect()
}

/// So many functions are named as the largest users.
const LARGEST_USERS: usize = 3;

impl Telling<'_> {
    fn row(&self, found: &Found) -> FindingRow {
        let mut row = FindingRow {
            kind: "",
            lost_s: seconds(found.lost_ns),
            count: None,
            place: None,
            waited_for: None,
            too_few_samples: false,
            text: Vec::new(),
        };
        match &found.finding {
            Finding::CpuLimit(limit) => {
                (row.kind, row.text) = ("cpu-limit", self.cpu_limit(limit, found.lost_ns));
            }
            Finding::CpuWait(wait) => {
                (row.kind, row.text) = ("cpu-wait", self.cpu_wait(wait, found.lost_ns));
            }
            Finding::Gc(gc) => (row.kind, row.text) = ("gc", self.gc(gc)),
            Finding::Busy(busy) => (row.kind, row.text) = ("busy-loop", self.busy(busy)),
            Finding::Stalls(group) => {
                (row.kind, row.text) = ("stalls", self.stalls(group));
                row.count = Some(group.count);
                row.place = place(self.profile, group.function);
                row.waited_for =
                    group.wait.as_ref().map(crate::Wait::text).filter(|text| !text.is_empty());
                row.too_few_samples = group.of_samples < FEW_SAMPLES;
            }
        }
        row
    }

    /// `Held back by the CPU limit, not by slow code: throttled in 92 % of periods, 19.3 s of 30 s.`
    fn cpu_limit(&self, limit: &CpuLimit, lost_ns: u64) -> Vec<String> {
        let whose = limit.process.and_then(|id| self.profile.process(id).pid);
        let whose = whose.map_or("Held back".to_owned(), |pid| format!("Pid {pid} was held back"));
        let periods = limit
            .throttled_share
            .map(|share| format!("throttled in {:.0} % of periods, ", share * 100.0));
        let mut text = vec![format!(
            "{whose} by the CPU limit, not by slow code: {}{} of {}.",
            periods.unwrap_or_default(),
            about(lost_ns),
            about(self.duration_ns)
        )];
        text.extend(self.part_of_stalls(
            limit.stalls,
            limit.all_stalls,
            limit.longest_ns,
            "throttling",
        ));
        let cpus = limit.limit_millis.map(|millis| format!(" ({} CPU)", f64::from(millis) / 1e3));
        let users = self.largest_users();
        let users = users.map(|users| format!(" Largest users: {users}.")).unwrap_or_default();
        text.push(format!("Raise the limit{}, or use less CPU.{users}", cpus.unwrap_or_default()));
        text
    }

    fn cpu_wait(&self, wait: &CpuWait, lost_ns: u64) -> Vec<String> {
        let whose = wait.process.and_then(|id| self.profile.process(id).pid);
        let whose =
            whose.map_or("Its threads".to_owned(), |pid| format!("The threads of pid {pid}"));
        let why = match wait.by_others {
            true => "other programs used them",
            false => "more threads were ready than there were CPUs",
        };
        let (lost, duration) = (about(lost_ns), about(self.duration_ns));
        let mut text =
            vec![format!("{whose} together waited {lost} for a CPU in {duration}: {why}.")];
        text.extend(self.part_of_stalls(
            wait.stalls,
            wait.all_stalls,
            wait.longest_ns,
            "that, not slow code",
        ));
        text
    }

    /// `38 of the loop's 41 stalls (worst 431 ms) were throttling.`
    fn part_of_stalls(
        &self,
        count: usize,
        all: usize,
        longest_ns: u64,
        what: &str,
    ) -> Option<String> {
        let longest = about(longest_ns);
        match (count, all) {
            (0, _) => None,
            (1, 1) => Some(format!("The loop's only stall ({longest}) was {what}.")),
            _ => {
                let were = if count == 1 { "was" } else { "were" };
                Some(format!("{count} of {all} stalls (worst {longest}) {were} {what}."))
            }
        }
    }

    fn gc(&self, gc: &LoopGc) -> Vec<String> {
        let helpers = self.findings.gc.helpers;
        let beside = (helpers >= 0.01).then(|| {
            let share = rough_percent(helpers, self.samples);
            format!("Beside it, helper threads collected for {share} of all CPU time; that does not stop the loop.")
        });
        let mut text = vec![format!("Garbage collection took {}.", self.gc_share(gc))];
        text.extend(
            self.allocator(gc)
                .map(|words| format!("{words} CPU samples do not show what stays alive.")),
        );
        text.extend(beside);
        text
    }

    /// `18 % of the time of the main loop (36 % of its CPU time)`
    fn gc_share(&self, gc: &LoopGc) -> String {
        let of_cpu = rough_percent(gc.of_cpu, gc.samples);
        let whose = self.loop_name(gc.thread);
        match gc.of_time {
            Some(of_time) => {
                let of_time = rough_percent(of_time, gc.samples);
                let cpu = if of_time == of_cpu {
                    String::new()
                } else {
                    format!(" ({of_cpu} of its CPU time)")
                };
                format!("{of_time} of the time of {whose}{cpu}")
            }
            None => format!("{of_cpu} of the samples of {whose}"),
        }
    }

    /// The function that ran when most of it happened.
    fn allocator(&self, gc: &LoopGc) -> Option<String> {
        let (categories, threads) = (Some(vec![Category::Gc]), Some(vec![gc.thread]));
        let selection = Selection { categories, threads, search: None, ..self.selection.clone() };
        let weights = crate::weigh(self.profile, &selection);
        let caused =
            caused(self.profile, &weights, &selection, &[Category::App], crate::TopBy::Function);
        let most =
            caused.into_iter().max_by_key(|(key, weight)| (*weight, std::cmp::Reverse(*key)));
        let (TopKey::Function(function), weight) = most? else { return None };
        let share = rough_percent(crate::share(weight, weights.total), weights.samples);
        Some(format!("{} allocated during {share} of it.", self.named(function)?))
            .filter(|_| weights.samples >= FEW_SAMPLES)
    }

    fn busy(&self, row: &EventLoop) -> Vec<String> {
        let busy = 1.0 - crate::share(row.polled_ns.unwrap_or(0), row.watched_ns.max(1));
        let mut text = vec![format!(
            "{} was busy {:.0} % of the time, mostly with short turns: what arrives has to queue.",
            capital(&self.loop_name(row.thread)),
            busy * 100.0
        )];
        text.extend(self.largest_users().map(|users| format!("Largest users of CPU: {users}.")));
        text
    }

    /// `render (views.js:12) 41 %, load (api.js:7) 22 %`, where there are samples enough.
    fn largest_users(&self) -> Option<String> {
        if self.samples < FEW_SAMPLES || self.own.is_empty() {
            return None;
        }
        let one = |row: &FunctionRow| {
            let place = self.place_words(&row.name, row.file.as_deref(), row.line);
            format!(
                "{place} {}",
                rough_percent(row.times.caused_share.unwrap_or_default(), self.samples)
            )
        };
        Some(self.own.iter().take(LARGEST_USERS).map(one).collect::<Vec<_>>().join(", "))
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

    fn short<'a>(&self, path: &'a str) -> &'a str {
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
        let loops = self.findings.turns.loops.iter().map(|its| its.thread);
        let mut loops: Vec<ThreadId> =
            loops.chain(self.findings.gc.loops.iter().map(|its| its.thread)).collect();
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
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
