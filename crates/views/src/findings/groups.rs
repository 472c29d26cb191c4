//! Similar stalls, the same function and the same kind, are one finding. Those that waited for a CPU are reported
//! with the CPU limit or with what used the CPUs; those that were mostly one kind of work, or garbage collection, are
//! reported with that.

use std::collections::BTreeMap;

use profile::{FunctionId, Profile, StackId, ThreadId};
use rustc_hash::FxHashMap;

use super::{Facts, Finding, Found, found, is_worth_reporting};
use crate::entries::EntryKind;
use crate::stalls::{SHORTEST_STALL_NS, Span, Stall, StallKind, Wait, function_of};
use crate::work::Work;

/// Stalls of one kind with one cause.
#[derive(Clone, Debug, PartialEq)]
pub struct StallGroup {
    /// What most of each was.
    pub kind: StallKind,
    /// The kind of work that most of each was.
    pub work: Work,
    /// The function; none where none is known.
    pub function: FunctionId,
    /// The function at the root of most of its stacks, where that is another one.
    pub entry: FunctionId,
    /// A stack of the function, in the longest one.
    pub stack: StackId,
    /// What called that.
    pub asked_by: EntryKind,
    /// What they waited for.
    pub wait: Option<Wait>,
    /// How many there are.
    pub count: usize,
    /// Their threads.
    pub threads: Vec<ThreadId>,
    /// When the first one began.
    pub start_ns: u64,
    /// The time of all of them.
    pub total_ns: u64,
    /// When each was, the longest first.
    pub spans: Vec<Span>,
    /// How long and how often.
    pub rhythm: Rhythm,
    /// The time that they waited for a CPU.
    pub ready_ns: u64,
    /// The samples in them that the function caused.
    pub samples: u64,
    /// All samples in them.
    pub of_samples: u64,
    /// The part of their time that the function caused, from 0 to 1.
    pub share: f64,
    /// The samples that show the kind of work, and all of those that were asked.
    pub work_samples: (u64, u64),
}

impl StallGroup {
    /// How long each was, the longest first.
    fn lengths_ns(&self) -> Vec<u64> {
        self.spans.iter().map(Span::duration_ns).collect()
    }
}

/// How long and how often a loop stood still.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rhythm {
    /// How often.
    pub count: usize,
    /// The shortest.
    pub shortest_ns: u64,
    /// The one in the middle.
    pub median_ns: u64,
    /// The longest.
    pub longest_ns: u64,
    /// How many took about as long as that in the middle.
    pub alike: usize,
    /// How many loops they are of.
    pub loops: usize,
    /// The time from one to the next, where that is regular; of several loops, on each of them.
    pub every_ns: Option<u64>,
}

impl Rhythm {
    /// The rhythm of stops, on each loop by itself.
    pub(crate) fn new(stops: &[Span]) -> Self {
        let mut lengths: Vec<u64> = stops.iter().map(Span::duration_ns).collect();
        lengths.sort_unstable();
        let median_ns = lengths.get(lengths.len() / 2).copied().unwrap_or(0);
        let mut starts: BTreeMap<ThreadId, Vec<u64>> = BTreeMap::new();
        for stop in stops {
            starts.entry(stop.thread).or_default().push(stop.start_ns);
        }
        Self {
            count: stops.len(),
            loops: starts.len(),
            shortest_ns: lengths.first().copied().unwrap_or(0),
            median_ns,
            longest_ns: lengths.last().copied().unwrap_or(0),
            alike: lengths.iter().filter(|length| is_about(**length, median_ns)).count(),
            every_ns: every_ns(starts.into_values().collect()),
        }
    }
}

/// Stalls that are no kind of work that has a rule of its own.
pub(super) fn find(facts: &Facts<'_>, _: &[Found]) -> Vec<Found> {
    let is_plain = |group: &&StallGroup| group.work == Work::Own;
    let is_much = |group: &&StallGroup| is_worth_reporting(&group.lengths_ns(), facts.duration_ns);
    let groups = facts.groups.iter().filter(is_plain).filter(is_much);
    groups.map(|group| found(group.total_ns, Finding::Stalls(group.clone()))).collect()
}

type Key<'a> = (StallKind, Work, FunctionId, Option<&'a Wait>);

/// The groups, in the order of their time.
pub(super) fn groups(profile: &Profile, stalls: &[Stall]) -> Vec<StallGroup> {
    let mut by_key: FxHashMap<Key<'_>, Vec<&Stall>> = FxHashMap::default();
    let is_reported_elsewhere = |kind| matches!(kind, StallKind::Throttled | StallKind::Starved);
    // What is left of a turn at the edge of the selection may be short.
    let is_stall = |stall: &&Stall| {
        !is_reported_elsewhere(stall.kind) && stall.duration_ns() >= SHORTEST_STALL_NS
    };
    for stall in stalls.iter().filter(is_stall) {
        let key = (stall.kind, stall.work, function_of(stall), stall.wait.as_ref());
        by_key.entry(key).or_default().push(stall);
    }
    let mut keyed: Vec<(Key<'_>, Vec<&Stall>)> = by_key.into_iter().collect();
    keyed.sort_by_key(|(_, its)| its.iter().map(|stall| stall.start_ns).min());
    join_callees(profile, &mut keyed);
    let mut groups: Vec<StallGroup> = keyed.iter().filter_map(|(_, its)| group(its)).collect();
    groups.sort_by_key(|group| (std::cmp::Reverse(group.total_ns), group.start_ns));
    groups
}

/// A path sometimes ends some functions further: such stalls belong to those of the caller, if that is no exception.
fn join_callees<'a>(profile: &Profile, keyed: &mut Vec<(Key<'a>, Vec<&'a Stall>)>) {
    let total = |stalls: &[&Stall]| super::sum_ns(stalls.iter().map(|stall| stall.duration_ns()));
    for row in (0..keyed.len()).rev() {
        let (kind, work, function, wait) = keyed[row].0;
        let stack = keyed[row].1.first().and_then(|stall| stall.culprit).map(|its| its.stack);
        let callers = stack.map(|stack| callers_of(profile, stack, function)).unwrap_or_default();
        let is_caller = |(key, stalls): &(Key<'_>, Vec<&Stall>)| {
            (key.0, key.1, key.3) == (kind, work, wait)
                && callers.contains(&key.2)
                && total(stalls) >= total(&keyed[row].1) / EXCEPTION
        };
        let into = keyed.iter().position(is_caller).filter(|_| kind == StallKind::Ran);
        if let Some(into) = into {
            let (_, stalls) = keyed.remove(row);
            keyed[if into > row { into - 1 } else { into }].1.extend(stalls);
        }
    }
}

/// A caller whose own stalls have less than this part of the time is an exception: the path ends at its callee nearly
/// always, and that is the one to look at.
const EXCEPTION: u64 = 4;

/// The functions of the same category that called a function on a stack.
fn callers_of(profile: &Profile, stack: StackId, function: FunctionId) -> Vec<FunctionId> {
    let rows = stack.some().into_iter().flat_map(|stack| profile.ancestry(stack));
    let named = |row: profile::Stack| (profile.frames().function[row.frame.index()], row.category);
    let mut rows = rows.map(|id| named(profile.stacks().row(id)));
    let Some((_, category)) = rows.find(|(its, _)| *its == function) else { return Vec::new() };
    let callers = rows.filter(|(its, its_category)| *its_category == category && *its != function);
    callers.map(|(its, _)| its).collect()
}

fn group(stalls: &[&Stall]) -> Option<StallGroup> {
    let sum = |value: &dyn Fn(&Stall) -> u64| {
        stalls.iter().fold(0u64, |sum, stall| sum.saturating_add(value(stall)))
    };
    let mut spans: Vec<Span> = stalls.iter().map(|stall| stall.span()).collect();
    Span::sort(&mut spans);
    let mut threads: Vec<ThreadId> = stalls.iter().map(|stall| stall.thread).collect();
    threads.sort_unstable();
    threads.dedup();
    // The first one has the function of the group; of those, the longest has the best stack.
    let first = *stalls.first()?;
    let its = stalls.iter().filter(|stall| function_of(stall) == function_of(first));
    let longest = its.max_by_key(|stall| stall.duration_ns()).and_then(|stall| stall.culprit);
    Some(StallGroup {
        kind: first.kind,
        work: first.work,
        function: function_of(first),
        entry: longest.map_or(FunctionId::NONE, |culprit| culprit.entry),
        stack: longest.map_or(StackId::NONE, |culprit| culprit.stack),
        asked_by: longest.map_or(EntryKind::Other, |culprit| culprit.asked_by),
        wait: first.wait.clone(),
        count: stalls.len(),
        rhythm: Rhythm::new(&spans),
        threads,
        start_ns: stalls.iter().map(|stall| stall.start_ns).min().unwrap_or(0),
        total_ns: sum(&Stall::duration_ns),
        spans,
        ready_ns: sum(&|stall| stall.spent.map_or(0, |spent| spent.ready_ns)),
        samples: sum(&|stall| stall.culprit.map_or(0, |culprit| culprit.samples)),
        of_samples: sum(&|stall| stall.culprit.map_or(0, |culprit| culprit.of_samples)),
        share: share(stalls),
        work_samples: (sum(&|stall| stall.work_samples.0), sum(&|stall| stall.work_samples.1)),
    })
}

/// By the time of each stall: its samples may be of another rate than those of the next.
fn share(stalls: &[&Stall]) -> f64 {
    let known =
        stalls.iter().filter_map(|stall| Some((stall.duration_ns() as f64, stall.culprit?)));
    let (part, whole) = known.fold((0.0, 0.0), |(part, whole), (time, culprit)| {
        (part + time * culprit.share, whole + time)
    });
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// Fewer times from one to the next, of all loops together, are no rhythm.
const LEAST_GAPS: usize = 3;

/// The usual time from one start to the next on the same loop, where four of five are about that, and on each loop the
/// usual one is.
fn every_ns(starts: Vec<Vec<u64>>) -> Option<u64> {
    let gaps: Vec<Vec<u64>> = starts.into_iter().map(gaps).collect();
    let mut all: Vec<u64> = gaps.concat();
    all.sort_unstable();
    let usual = *all.get(all.len() / 2)?;
    let regular = all.iter().filter(|gap| is_about(**gap, usual)).count();
    let agrees = |own: &Vec<u64>| own.get(own.len() / 2).is_some_and(|gap| is_about(*gap, usual));
    let is_regular = all.len() >= LEAST_GAPS && regular * 5 >= all.len() * 4;
    (is_regular && gaps.iter().all(agrees)).then_some(usual)
}

/// The times from one start to the next, the shortest first.
fn gaps(mut starts: Vec<u64>) -> Vec<u64> {
    starts.sort_unstable();
    let mut gaps: Vec<u64> =
        starts.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
    gaps.sort_unstable();
    gaps
}

/// Whether a time differs from the usual one by less than a seventh.
fn is_about(time_ns: u64, usual_ns: u64) -> bool {
    time_ns.abs_diff(usual_ns) < usual_ns / 7
}
