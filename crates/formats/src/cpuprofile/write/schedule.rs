//! Which sample stands when. The form has only when samples were taken: each stands until the next. So a gap
//! gets a sample of its own, and samples that have no times, or that overlap, are laid end to end.

use profile::{Lane, LaneId, Profile, Unit};
use views::Selection;

use super::super::times::median;

/// The samples of a profile, in the order of time.
pub(super) struct Schedule {
    pub(super) slots: Vec<Slot>,
    pub(super) start_us: u64,
    pub(super) end_us: u64,
    /// Whether nothing ran in a gap, or only nothing that was selected.
    pub(super) gaps_are_idle: bool,
    /// Whether every sample of the lane is there.
    pub(super) is_whole: bool,
}

/// A sample and its time; a gap has no row.
pub(super) struct Slot {
    pub(super) time_us: u64,
    pub(super) row: Option<usize>,
}

/// What a sample stands for where nothing else is known: V8's own interval.
const DEFAULT_INTERVAL_NS: u64 = 1_000_000;

pub(super) fn schedule(
    profile: &Profile,
    lane: LaneId,
    selection: &Selection,
    rows: &[usize],
    notes: &mut Vec<String>,
) -> Schedule {
    let lane = profile.lane(lane);
    let several_threads =
        rows.windows(2).any(|pair| lane.samples.thread[pair[0]] != lane.samples.thread[pair[1]]);
    let mut schedule = if lane.timed && !several_threads {
        as_it_was(profile, lane, selection, rows)
    } else {
        if several_threads {
            notes.push(
                "samples of several threads are laid end to end: their times are not the recording's".into(),
            );
        } else {
            notes.push("the recording has no times: samples are laid end to end".into());
        }
        end_to_end(profile, lane, rows)
    };
    schedule.gaps_are_idle = selection.search.is_none() && selection.categories.is_none();
    schedule.is_whole = rows.len() == lane.samples.len();
    schedule
}

/// One thread with times.
fn as_it_was(profile: &Profile, lane: &Lane, selection: &Selection, rows: &[usize]) -> Schedule {
    let clock_us =
        profile.meta().start_clock_s.map_or(0.0, |seconds| (seconds * 1e6).round()) as u64;
    let us = |ns: u64| clock_us.saturating_add(ns.saturating_add(500) / 1000);
    let times = &lane.samples.time_ns;
    let gaps: Vec<u64> = rows.windows(2).map(|pair| times[pair[1]] - times[pair[0]]).collect();
    let interval_ns =
        profile.meta().interval_ns.or_else(|| median(&gaps)).unwrap_or(DEFAULT_INTERVAL_NS);
    let duration_ns = |row: usize| match lane.unit {
        Unit::Ns => lane.samples.weight[row],
        Unit::Count | Unit::Bytes | Unit::Event => interval_ns,
    };
    let mut slots = Vec::with_capacity(rows.len());
    for (index, &row) in rows.iter().enumerate() {
        slots.push(Slot { time_us: us(times[row]), row: Some(row) });
        let (end_ns, slack_ns) =
            (times[row].saturating_add(duration_ns(row)), duration_ns(row) / 2);
        let is_gap =
            rows.get(index + 1).is_some_and(|next| times[*next] > end_ns.saturating_add(slack_ns));
        if is_gap {
            slots.push(Slot { time_us: us(end_ns), row: None });
        }
    }
    let start_ns = selection.range_ns.as_ref().map_or(0, |range| range.start);
    let end_ns = rows.last().map_or(0, |row| times[*row].saturating_add(duration_ns(*row)));
    Schedule {
        slots,
        start_us: us(start_ns),
        end_us: us(end_ns),
        gaps_are_idle: true,
        is_whole: true,
    }
}

/// Each sample as long as it weighs: a millisecond a sample, a microsecond a byte or event.
fn end_to_end(profile: &Profile, lane: &Lane, rows: &[usize]) -> Schedule {
    let interval_ns = profile.meta().interval_ns.unwrap_or(DEFAULT_INTERVAL_NS);
    let ns_per_unit = match lane.unit {
        Unit::Ns => 1,
        Unit::Count => interval_ns,
        Unit::Bytes | Unit::Event => 1000,
    };
    let mut now_ns = 0u64;
    let mut slots = Vec::with_capacity(rows.len());
    for &row in rows {
        slots.push(Slot { time_us: now_ns / 1000, row: Some(row) });
        now_ns = now_ns.saturating_add(lane.samples.weight[row].saturating_mul(ns_per_unit));
    }
    Schedule { slots, start_us: 0, end_us: now_ns / 1000, gaps_are_idle: true, is_whole: true }
}
