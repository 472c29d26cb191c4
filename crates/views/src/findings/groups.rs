//! Similar stalls, the same function and the same kind, are one finding. Those that waited for a CPU are told with the
//! CPU limit or with what used the CPUs.

use profile::{FunctionId, ThreadId};
use rustc_hash::FxHashMap;

use crate::stalls::{Stall, StallKind, Wait, function_of};

/// Stalls of one kind with one cause.
#[derive(Clone, Debug, PartialEq)]
pub struct StallGroup {
    /// What most of each was.
    pub kind: StallKind,
    /// The function; none where none is known.
    pub function: FunctionId,
    /// The function at the root of most of its stacks, where that is another one.
    pub entry: FunctionId,
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
    /// The shortest.
    pub shortest_ns: u64,
    /// The one in the middle.
    pub median_ns: u64,
    /// The longest.
    pub longest_ns: u64,
    /// How many took about as long as that in the middle.
    pub alike: usize,
    /// The time from one to the next, where that is regular.
    pub every_ns: Option<u64>,
    /// The time that they waited for a CPU.
    pub ready_ns: u64,
    /// The samples in them that the function caused.
    pub samples: u64,
    /// All samples in them.
    pub of_samples: u64,
}

type Key<'a> = (StallKind, FunctionId, Option<&'a Wait>);

/// The groups, in the order of their time.
pub(super) fn groups(stalls: &[Stall]) -> Vec<StallGroup> {
    let mut by_key: FxHashMap<Key<'_>, Vec<&Stall>> = FxHashMap::default();
    let told_elsewhere = |kind| matches!(kind, StallKind::Throttled | StallKind::Starved);
    for stall in stalls.iter().filter(|stall| !told_elsewhere(stall.kind)) {
        by_key
            .entry((stall.kind, function_of(stall), stall.wait.as_ref()))
            .or_default()
            .push(stall);
    }
    let mut groups: Vec<StallGroup> = by_key.into_values().filter_map(|its| group(&its)).collect();
    groups.sort_by_key(|group| (std::cmp::Reverse(group.total_ns), group.start_ns));
    groups
}

fn group(stalls: &[&Stall]) -> Option<StallGroup> {
    let first = *stalls.first()?;
    let sum = |value: &dyn Fn(&Stall) -> u64| {
        stalls.iter().fold(0u64, |sum, stall| sum.saturating_add(value(stall)))
    };
    let mut lengths: Vec<u64> = stalls.iter().map(|stall| stall.duration_ns()).collect();
    lengths.sort_unstable();
    let mut threads: Vec<ThreadId> = stalls.iter().map(|stall| stall.thread).collect();
    threads.sort_unstable();
    threads.dedup();
    let median_ns = lengths.get(lengths.len() / 2).copied().unwrap_or(0);
    let longest = stalls.iter().max_by_key(|stall| stall.duration_ns());
    Some(StallGroup {
        kind: first.kind,
        function: function_of(first),
        entry: longest
            .and_then(|stall| stall.culprit)
            .map_or(FunctionId::NONE, |culprit| culprit.entry),
        wait: first.wait.clone(),
        count: stalls.len(),
        every_ns: every_ns(stalls).filter(|_| threads.len() == 1),
        threads,
        start_ns: stalls.iter().map(|stall| stall.start_ns).min().unwrap_or(0),
        total_ns: sum(&Stall::duration_ns),
        shortest_ns: lengths.first().copied().unwrap_or(0),
        median_ns,
        alike: lengths.iter().filter(|length| is_about(**length, median_ns)).count(),
        longest_ns: lengths.last().copied().unwrap_or(0),
        ready_ns: sum(&|stall| stall.spent.map_or(0, |spent| spent.ready_ns)),
        samples: sum(&|stall| stall.culprit.map_or(0, |culprit| culprit.samples)),
        of_samples: sum(&|stall| stall.culprit.map_or(0, |culprit| culprit.of_samples)),
    })
}

/// Fewer stalls have no rhythm.
const LEAST_STALLS: usize = 4;

/// The usual time from one start to the next, where four of five are about that.
fn every_ns(stalls: &[&Stall]) -> Option<u64> {
    let mut starts: Vec<u64> = stalls.iter().map(|stall| stall.start_ns).collect();
    starts.sort_unstable();
    let mut gaps: Vec<u64> =
        starts.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
    gaps.sort_unstable();
    let usual = *gaps.get(gaps.len() / 2)?;
    let regular = gaps.iter().filter(|gap| is_about(**gap, usual)).count();
    (starts.len() >= LEAST_STALLS && regular * 5 >= gaps.len() * 4).then_some(usual)
}

/// Whether a time differs from the usual one by less than a seventh.
fn is_about(time_ns: u64, usual_ns: u64) -> bool {
    time_ns.abs_diff(usual_ns) < usual_ns / 7
}
