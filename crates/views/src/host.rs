//! What the kernel counted: CPU time, waiting for a CPU, and throttling by the CPU limit, for the selected part of a
//! recording. Throttled time is a part of the waiting and never added to it.

use profile::{Category, ProcessId, Profile, RowId, Second, UNKNOWN, Unit};

use crate::selection::Selection;
use crate::stalls::tables::part_of;
use crate::weights::Weights;

/// What the kernel counted for one process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostTimes {
    /// The CPU time of all threads.
    pub run_ns: u64,
    /// The time that threads were ready and waited for a CPU, added up.
    pub ready_ns: u64,
    /// Periods of the CPU limit.
    pub periods: Option<u64>,
    /// Those that were throttled.
    pub throttled_periods: Option<u64>,
    /// For how long the limit held the cgroup back.
    pub throttled_ns: Option<u64>,
    /// For how long some task waited for a CPU.
    pub cpu_pressure_ns: Option<u64>,
    /// For how long some task waited for memory.
    pub memory_pressure_ns: Option<u64>,
}

impl HostTimes {
    /// The part of the periods that were throttled, from 0 to 1, where there is a limit.
    pub fn throttled_share(&self) -> Option<f64> {
        let periods = self.periods.filter(|periods| *periods > 0)?;
        Some(self.throttled_periods? as f64 / periods as f64)
    }

    fn add(&mut self, row: &Second, part_ns: u64, whole_ns: u64) {
        let part = |value: u64| part_of(value, part_ns, whole_ns);
        let add = |sum: &mut Option<u64>, value: u64| {
            if value != UNKNOWN {
                *sum = Some(sum.unwrap_or(0).saturating_add(part(value)));
            }
        };
        self.run_ns = self.run_ns.saturating_add(part(row.run_ns));
        self.ready_ns = self.ready_ns.saturating_add(part(row.ready_ns));
        add(&mut self.periods, row.periods);
        add(&mut self.throttled_periods, row.throttled_periods);
        add(&mut self.throttled_ns, row.throttled_ns);
        add(&mut self.cpu_pressure_ns, row.cpu_pressure_ns);
        add(&mut self.memory_pressure_ns, row.memory_pressure_ns);
    }
}

/// For each selected process that has counters, their sums in the selected range. A selection of threads selects
/// their processes.
pub fn host_times(profile: &Profile, selection: &Selection) -> Vec<(ProcessId, HostTimes)> {
    let range = selection.range_ns.clone().unwrap_or(0..u64::MAX);
    let is_selected = selected_processes(profile, selection);
    let mut sums: Vec<Option<HostTimes>> = vec![None; profile.processes().len()];
    let table = profile.seconds();
    for row in table.ids().map(|id: RowId| table.row(id)) {
        let (start, end) = (row.start_ns.max(range.start), row.end_ns.min(range.end));
        if start < end && is_selected[row.process.index()] {
            let whole_ns = row.end_ns.saturating_sub(row.start_ns);
            sums[row.process.index()].get_or_insert_default().add(&row, end - start, whole_ns);
        }
    }
    let rows = sums.into_iter().enumerate();
    rows.filter_map(|(id, sum)| Some((ProcessId::from_index(id), sum?))).collect()
}

/// For how long threads of a process waited for a CPU in a stretch of time, added up.
pub(crate) fn ready_between(
    profile: &Profile,
    process: ProcessId,
    start_ns: u64,
    end_ns: u64,
) -> u64 {
    let table = profile.seconds();
    let rows = table.ids().map(|id: RowId| table.row(id)).filter(|row| row.process == process);
    let part = |row: Second| {
        let (start, end) = (row.start_ns.max(start_ns), row.end_ns.min(end_ns));
        let whole_ns = row.end_ns.saturating_sub(row.start_ns);
        part_of(row.ready_ns, end.saturating_sub(start), whole_ns)
    };
    rows.map(part).fold(0, u64::saturating_add)
}

pub(crate) fn selected_processes(profile: &Profile, selection: &Selection) -> Vec<bool> {
    let mut is_selected = vec![false; profile.processes().len()];
    let threads = selection.selected_threads(profile);
    for (thread, _) in profile.threads().iter().zip(threads).filter(|(_, selected)| *selected) {
        is_selected[thread.process.index()] = true;
    }
    is_selected
}

/// How many CPUs were busy on average.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoresBusy {
    /// The number.
    pub cores: f64,
    /// Whether the kernel counted it; otherwise it is what the samples stand for.
    pub is_counted: bool,
}

/// How many CPUs the selection kept busy: by the kernel's count where that covers exactly what is selected, or else
/// by its samples. None where times are not known.
pub fn cores_busy(
    profile: &Profile,
    selection: &Selection,
    weights: &Weights,
) -> Option<CoresBusy> {
    let duration_ns = selected_duration_ns(profile, selection);
    if duration_ns < SHORTEST_NS {
        return None;
    }
    let lane = weights.lane.map(|id| profile.lane(id)).filter(|lane| lane.unit == Unit::Ns);
    let counted = counted_ns(profile, selection);
    let busy_ns = counted.or_else(|| lane.map(|_| busy(profile, weights).0))?;
    Some(CoresBusy { cores: busy_ns as f64 / duration_ns as f64, is_counted: counted.is_some() })
}

/// Below this, edges weigh more than what is between them.
const SHORTEST_NS: u64 = 100_000_000;

fn counted_ns(profile: &Profile, selection: &Selection) -> Option<u64> {
    let is_part = selection.threads.is_some()
        || selection.categories.is_some()
        || selection.search.is_some()
        || selection.entry.is_some()
        || selection.lane.is_some_and(|lane| Some(lane) != Selection::default().lane_in(profile));
    if is_part {
        return None;
    }
    let is_all = selection.range_ns.is_none() && selection.processes.is_none();
    let whole = profile.meta().losses.cpu_ns.filter(|_| is_all);
    whole.or_else(|| {
        let sums = host_times(profile, selection);
        (!sums.is_empty())
            .then(|| sums.iter().fold(0, |sum: u64, (_, row)| sum.saturating_add(row.run_ns)))
    })
}

/// The selected weight and samples without those of waiting: V8's profiler samples threads that wait, too.
pub fn busy(profile: &Profile, weights: &Weights) -> (u64, u64) {
    let is_idle =
        |stack: profile::StackId| profile.stacks().category[stack.index()] == Category::Idle;
    let idle = weights.entries.iter().filter(|entry| entry.stack.some().is_some_and(is_idle));
    let (weight, samples) = idle.fold((0u64, 0u64), |(weight, samples), entry| {
        (weight.saturating_add(entry.weight), samples.saturating_add(entry.samples))
    });
    (weights.total.saturating_sub(weight), weights.samples.saturating_sub(samples))
}

/// The least time that a sample stands for: a recorder that chooses its rate itself takes more samples while a target
/// is idle. None where times are not known.
pub fn shortest_interval_ns(profile: &Profile) -> Option<u64> {
    let whole = profile.meta().interval_ns?;
    // V8's profiler wakes up when it can.
    let clock = profile.lanes().first().filter(|_| profile.meta().way_in == "perf events");
    let clock = clock.filter(|lane| lane.unit == Unit::Ns);
    let least = clock.and_then(|lane| lane.samples.weight.iter().copied().min());
    Some(least.map_or(whole, |least| least.min(whole)))
}

/// Whether it was sampled at a high rate, if only for a while: then more samples need more time.
pub fn is_fast(profile: &Profile) -> bool {
    shortest_interval_ns(profile).is_some_and(|ns| ns <= FAST_NS)
}

/// Samples that are closer than this cost the target much.
const FAST_NS: u64 = 2_000_000;

/// The time that the selection covers.
pub fn selected_duration_ns(profile: &Profile, selection: &Selection) -> u64 {
    let whole = profile.duration_ns();
    selection
        .range_ns
        .as_ref()
        .map_or(whole, |range| range.end.min(whole).saturating_sub(range.start))
}
