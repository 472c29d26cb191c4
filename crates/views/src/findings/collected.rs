//! Garbage collection that an event loop stood still for, or that it lost much to.

use std::collections::BTreeMap;

use profile::{FunctionId, ThreadId};

use super::loop_work::WorkRow;
use super::{
    FEW_SAMPLES, Facts, Finding, Found, Rhythm, found, is_worth_reporting, sum_ns, surely,
};
use crate::gc::{Collection, Gc, LoopGc, Pause};
use crate::stalls::{SHORTEST_STALL_NS, Span};
use crate::work::Work;

/// A loop that loses more than this to garbage collection: what Datadog calls much, and what Clinic does (100 ms in a
/// second).
const GC_LOST: f64 = 0.1;

/// Garbage collection on loops.
#[derive(Clone, Debug, PartialEq)]
pub struct Collected {
    /// The loop that it cost most.
    pub worst: LoopGc,
    /// All loops that it cost much.
    pub threads: Vec<ThreadId>,
    /// The pauses of 50 ms or more, where they stand out.
    pub rhythm: Option<Rhythm>,
    /// When these were, the longest first.
    pub spans: Vec<Span>,
    /// The time of these pauses.
    pub paused_ns: u64,
    /// What all of them were, where that is known and the same.
    pub kind: Option<Collection>,
    /// The function that allocated when half of the pauses or more began, and how many of them.
    pub began: Option<(FunctionId, usize)>,
    /// The function that surely allocated in most of the short collections, as far as they show one.
    pub allocator: FunctionId,
    /// The time of what is not in these pauses.
    pub short_ns: u64,
}

pub(super) fn find(facts: &Facts<'_>, _: &[Found]) -> Vec<Found> {
    let is_much = |row: &&LoopGc| {
        let surely_ns = surely(row.weight, row.gc_samples) as f64 / row.weight.max(1) as f64;
        let lost = row.of_time.unwrap_or(row.of_cpu);
        lost * surely_ns > GC_LOST && row.samples >= FEW_SAMPLES
    };
    let pauses_of = |thread: ThreadId| -> Vec<Pause> {
        let is_long =
            |pause: &&Pause| pause.thread == thread && pause.length_ns >= SHORTEST_STALL_NS;
        facts.gc.pauses.iter().filter(is_long).copied().collect()
    };
    let stands_out = |row: &&LoopGc| {
        let lengths: Vec<u64> = pauses_of(row.thread).iter().map(|its| its.length_ns).collect();
        is_much(row) || is_worth_reporting(&lengths, facts.duration_ns)
    };
    let rows = with_waiting(&facts.gc);
    let loops: Vec<&LoopGc> = rows.iter().filter(stands_out).collect();
    let Some(worst) = loops.first() else { return Vec::new() };
    let threads: Vec<ThreadId> = loops.iter().map(|row| row.thread).collect();
    let pauses: Vec<Pause> = threads.iter().flat_map(|thread| pauses_of(*thread)).collect();
    let lengths: Vec<u64> = pauses.iter().map(|pause| pause.length_ns).collect();
    let paused_ns = sum_ns(lengths.iter().copied());
    let lost_ns = |row: &&LoopGc| match row.of_time {
        Some(_) => row.weight.saturating_add(row.waited_ns),
        None => (row.of_cpu * facts.duration_ns as f64) as u64,
    };
    let lost_ns = sum_ns(loops.iter().map(lost_ns)).max(paused_ns);
    let short_ns = short_ns(facts, &threads);
    let spans = spans_of(&pauses);
    let are_long = is_worth_reporting(&lengths, facts.duration_ns);
    let collected = Collected {
        worst: **worst,
        rhythm: are_long.then(|| Rhythm::new(&spans)),
        spans: if are_long { spans } else { Vec::new() },
        paused_ns,
        kind: common_kind(&pauses),
        began: if are_long { began(&pauses) } else { None },
        allocator: allocator(facts, &threads),
        short_ns,
        threads,
    };
    vec![found(lost_ns, Finding::Gc(collected))]
}

/// The time of what was sampled outside of long turns. A long pause is often mostly waiting, for helper threads or a
/// CPU: its length shows little about the samples in it.
fn short_ns(facts: &Facts<'_>, threads: &[ThreadId]) -> u64 {
    let is_its = |row: &&WorkRow| row.work == Work::Gc && threads.contains(&row.thread);
    sum_ns(facts.work.rows.iter().filter(is_its).map(|row| row.sum.short_weight))
}

/// A loop that only waited for its helper threads has pauses and no samples.
fn with_waiting(gc: &Gc) -> Vec<LoopGc> {
    let mut rows = gc.loops.clone();
    for pause in &gc.pauses {
        if rows.iter().all(|row| row.thread != pause.thread) {
            rows.push(LoopGc::waiting(pause.thread));
        }
    }
    rows
}

fn spans_of(pauses: &[Pause]) -> Vec<Span> {
    let span = |pause: &Pause| Span {
        thread: pause.thread,
        start_ns: pause.start_ns,
        end_ns: pause.start_ns.saturating_add(pause.length_ns),
    };
    let mut spans: Vec<Span> = pauses.iter().map(span).collect();
    Span::sort(&mut spans);
    spans
}

fn common_kind(pauses: &[Pause]) -> Option<Collection> {
    let first = pauses.first()?.kind?;
    pauses.iter().all(|pause| pause.kind == Some(first)).then_some(first)
}

/// The function of the application that surely ran in more than half of the short collections on these loops that show
/// one. Less accuses none: what is freed and when V8 collects depends on all who allocate. The samples of a long pause are
/// of one collection, and `began` asks these.
fn allocator(facts: &Facts<'_>, threads: &[ThreadId]) -> FunctionId {
    let mut counts: BTreeMap<FunctionId, u64> = BTreeMap::new();
    let is_its =
        |row: &&WorkRow| row.work == Work::Gc && row.is_app && threads.contains(&row.thread);
    for row in facts.work.rows.iter().filter(is_its) {
        let count = counts.entry(row.function).or_default();
        *count = count.saturating_add(row.sum.short_samples);
    }
    let all = sum_ns(counts.values().copied());
    let most = counts.into_iter().max_by_key(|(id, count)| (*count, std::cmp::Reverse(*id)));
    most.filter(|(_, count)| is_surely_most(*count, all))
        .map_or(FunctionId::NONE, |(function, _)| function)
}

/// Whether so many of all samples are surely more than half: with a chance of 95 %, and of five, which must then agree.
fn is_surely_most(count: u64, all: u64) -> bool {
    const LEAST: u64 = 5;
    const DEVIATIONS: f64 = 1.645;
    all >= LEAST && count as f64 - all as f64 / 2.0 >= DEVIATIONS * (all as f64).sqrt() / 2.0
}

/// The function under which half of them or more began. V8 begins a collection where memory happens to run out: one of ten
/// accuses nothing.
fn began(pauses: &[Pause]) -> Option<(FunctionId, usize)> {
    let mut counts: BTreeMap<FunctionId, usize> = BTreeMap::new();
    for function in pauses.iter().filter_map(|pause| pause.function.some()) {
        *counts.entry(function).or_default() += 1;
    }
    let most =
        counts.into_iter().max_by_key(|(function, count)| (*count, std::cmp::Reverse(*function)));
    most.filter(|(_, count)| *count >= pauses.len().div_ceil(2))
}
