//! Garbage collection, by the threads that it ran on: what a loop's thread spends on it the loop loses, what V8's
//! helper threads do beside it costs CPU time alone. A pause is a run of samples without a gap, or a long turn; one
//! that is shorter than two intervals is only in the sums.

mod pauses;

use profile::{Category, Profile, Role, ThreadId, Unit};

use crate::host::selected_duration_ns;
use crate::selection::Selection;
use crate::stalls::Turns;
use crate::weights::{Weights, share, weigh};
use crate::work::Doings;
pub use pauses::{Collection, Pause};

/// Garbage collection on the thread of an event loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoopGc {
    /// The thread.
    pub thread: ThreadId,
    /// The weight of garbage collection on it, in the lane's unit.
    pub weight: u64,
    /// The part of that which was full collections.
    pub full_weight: u64,
    /// The time of long pauses in which it waited, for helper threads or for a CPU.
    pub waited_ns: u64,
    /// The samples of garbage collection.
    pub gc_samples: u64,
    /// The part of the thread's CPU time.
    pub of_cpu: f64,
    /// The part of the time that went by, where the lane counts time: what the loop lost, on the CPU or waiting.
    pub of_time: Option<f64>,
    /// All samples of the thread, waiting apart.
    pub samples: u64,
}

impl LoopGc {
    /// A loop without any sample.
    pub(crate) fn waiting(thread: ThreadId) -> Self {
        let (weight, full_weight, gc_samples, samples) = (0, 0, 0, 0);
        let (waited_ns, of_cpu, of_time) = (0, 0.0, None);
        Self { thread, weight, full_weight, waited_ns, gc_samples, of_cpu, of_time, samples }
    }
}

/// Garbage collection of the selection.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gc {
    /// On each loop's thread that ran, the most affected first; empty where the recording does not distinguish loops.
    pub loops: Vec<LoopGc>,
    /// The pauses of these loops, in the order of time.
    pub pauses: Vec<Pause>,
    /// The part of all CPU time that garbage collection took on other threads.
    pub helpers: f64,
    /// The part of all CPU time that it took anywhere.
    pub all: f64,
}

/// What garbage collection took. A search or chosen categories do not narrow it: the shares would be of what was
/// searched.
pub fn gc(profile: &Profile, selection: &Selection, turns: &Turns) -> Gc {
    gc_of(profile, selection, turns, &Doings::new(profile))
}

/// The same, where it is known what each stack does.
pub(crate) fn gc_of(
    profile: &Profile,
    selection: &Selection,
    turns: &Turns,
    doings: &Doings,
) -> Gc {
    let selection = &Selection { categories: None, search: None, ..selection.clone() };
    let weights = &weigh(profile, selection);
    let kinds = pauses::kinds(profile);
    let threads = by_thread(profile, weights, &kinds);
    let total = threads.iter().fold(0u64, |sum, row| sum.saturating_add(row.busy));
    let is_loop =
        |row: &ThreadSum| matches!(profile.thread(row.thread).role, Role::MainLoop | Role::Worker);
    let of_all = |rows: &mut dyn Iterator<Item = &ThreadSum>| {
        share(rows.fold(0u64, |sum, row| sum.saturating_add(row.gc)), total)
    };
    let whole_ns = selected_duration_ns(profile, selection);
    let in_ns =
        weights.lane.is_some_and(|id| profile.lane(id).unit == Unit::Ns && profile.lane(id).timed);
    let pauses = match in_ns {
        true => pauses::pauses(profile, selection, turns, doings, &kinds),
        false => Vec::new(),
    };
    let loop_gc = |row: &ThreadSum| {
        let watched =
            turns.watched().find(|its| its.thread == row.thread).map(|its| its.watched_ns);
        let time_ns = watched.filter(|ns| *ns > 0).unwrap_or(whole_ns).max(1);
        let its = pauses.iter().filter(|pause| pause.thread == row.thread);
        let waited_ns = its.fold(0u64, |sum, pause| sum.saturating_add(pause.waited_ns));
        let lost_ns = row.gc.saturating_add(waited_ns);
        LoopGc {
            thread: row.thread,
            weight: row.gc,
            full_weight: row.full,
            waited_ns,
            gc_samples: row.gc_samples,
            of_cpu: share(row.gc, row.busy),
            of_time: in_ns.then(|| share(lost_ns, time_ns).min(1.0)),
            samples: row.samples,
        }
    };
    let mut loops: Vec<LoopGc> = threads.iter().filter(|row| is_loop(row)).map(loop_gc).collect();
    loops.sort_by(|a, b| lost(b).total_cmp(&lost(a)).then(a.thread.cmp(&b.thread)));
    Gc {
        loops,
        pauses,
        helpers: of_all(&mut threads.iter().filter(|row| !is_loop(row))),
        all: of_all(&mut threads.iter()),
    }
}

fn lost(row: &LoopGc) -> f64 {
    row.of_time.unwrap_or(row.of_cpu)
}

struct ThreadSum {
    thread: ThreadId,
    busy: u64,
    gc: u64,
    full: u64,
    gc_samples: u64,
    samples: u64,
}

fn by_thread(profile: &Profile, weights: &Weights, kinds: &[Option<Collection>]) -> Vec<ThreadSum> {
    let new = |row| ThreadSum {
        thread: ThreadId::from_index(row),
        busy: 0,
        gc: 0,
        full: 0,
        gc_samples: 0,
        samples: 0,
    };
    let mut sums: Vec<ThreadSum> = (0..profile.threads().len()).map(new).collect();
    for entry in &weights.entries {
        let category = entry.stack.some().map(|stack| profile.stacks().category[stack.index()]);
        let sum = &mut sums[entry.thread.index()];
        if category != Some(Category::Idle) {
            sum.busy = sum.busy.saturating_add(entry.weight);
            sum.samples = sum.samples.saturating_add(entry.samples);
        }
        if category == Some(Category::Gc) {
            sum.gc = sum.gc.saturating_add(entry.weight);
            sum.gc_samples = sum.gc_samples.saturating_add(entry.samples);
            let kind = entry.stack.some().and_then(|stack| kinds[stack.index()]);
            if kind == Some(Collection::Full) {
                sum.full = sum.full.saturating_add(entry.weight);
            }
        }
    }
    sums.retain(|sum| sum.samples > 0);
    sums
}
