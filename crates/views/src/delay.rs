//! What a request pays: how long it waits for an event loop when it arrives at any moment. A loop that polls takes it
//! at once. One that is in a turn takes it when the turn ends, so P(delay > d) is the sum of max(0, length − d) over
//! all turns, divided by the time. Turns of 50 ms or more are known exactly. For shorter ones the recorder looked at
//! the loop at moments of its own choice ([`profile::Delays`]). What neither of the two shows stays unknown.

use std::collections::BTreeMap;

use profile::{Profile, RowId, ThreadId};

use crate::selection::Selection;
use crate::stalls::tables::is_same;
use crate::stalls::{EventLoop, SHORTEST_STALL_NS, Turns};

/// So many moments must be beyond a figure, or it is one of chance.
const MOMENTS_BEYOND: f64 = 2.0;
/// Figures are as exact as that.
const EXACT_NS: u64 = 1_000;

/// What a request to one loop pays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoopDelay {
    /// The loop's thread.
    pub thread: ThreadId,
    /// The part of the time in which it did not poll, from 0 to 1, where that was counted.
    pub utilisation: Option<f64>,
    /// Half of all requests waited no longer; unknown, but below 50 ms, where there is none.
    pub median_ns: Option<u64>,
    /// 99 of 100 requests waited no longer; unknown, but below 50 ms, where there is none.
    pub p99_ns: Option<u64>,
    /// The longest turn; below 50 ms where there is none.
    pub worst_ns: Option<u64>,
}

/// What requests pay at each loop that was watched, the loop where they waited longest first.
pub fn delays(profile: &Profile, selection: &Selection, turns: &Turns) -> Vec<LoopDelay> {
    let loops = turns.watched().filter(|row| row.watched_ns > 0 && !row.waits_in_turns);
    let mut all: Vec<LoopDelay> =
        loops.map(|row| Waits::new(profile, selection, turns, row).delay(row)).collect();
    all.sort_by_key(|row| {
        (std::cmp::Reverse((row.p99_ns, row.median_ns, row.worst_ns)), row.thread)
    });
    all
}

/// All that is known of the turns of one loop.
struct Waits {
    /// The time in which requests may have arrived, and the part of it in which the loop did not poll.
    served_ns: f64,
    busy: Option<f64>,
    /// The long turns.
    stalls_ns: Vec<u64>,
    /// What moments outside of long turns have met.
    moments: BTreeMap<u64, u64>,
}

impl Waits {
    fn new(profile: &Profile, selection: &Selection, turns: &Turns, row: &EventLoop) -> Self {
        let is_its = |thread: ThreadId| is_same(profile, thread, row.thread);
        let stalls = turns.stalls.iter().filter(|stall| is_its(stall.thread));
        let runs = turns.runs.iter().filter(|run| is_its(run.thread));
        let process = profile.thread(row.thread).process;
        let stops =
            turns.stops.iter().filter(|stop| profile.thread(stop.thread).process == process);
        // Nothing is served before the loop has begun, or while the process is stopped.
        let sum = |spans: Vec<(u64, u64)>| {
            spans.iter().fold(0u64, |sum, (from, to)| sum.saturating_add(to.saturating_sub(*from)))
        };
        let runs_ns = sum(runs.map(|run| (run.start_ns, run.end_ns)).collect());
        let stops_ns = sum(stops.map(|stop| (stop.start_ns, stop.end_ns)).collect());
        let served_ns = row.watched_ns.saturating_sub(runs_ns).saturating_sub(stops_ns);
        // A loop that was stopped in its poll counts that as polled.
        let polled = row.polled_ns.filter(|_| served_ns > 0 && stops_ns == 0);
        Self {
            served_ns: served_ns as f64,
            busy: polled.map(|polled_ns| 1.0 - crate::share(polled_ns, served_ns).min(1.0)),
            stalls_ns: stalls.map(crate::Stall::duration_ns).collect(),
            moments: moments(profile, selection, is_its),
        }
    }

    fn delay(&self, row: &EventLoop) -> LoopDelay {
        let polled = row.polled_ns.map(|polled_ns| crate::share(polled_ns, row.watched_ns));
        LoopDelay {
            thread: row.thread,
            utilisation: polled.map(|polled| 1.0 - polled.min(1.0)),
            median_ns: self.quantile(0.5),
            p99_ns: self.quantile(0.01),
            worst_ns: self.stalls_ns.iter().max().copied(),
        }
    }

    /// The delay that only this part of all requests exceeds, where that is known.
    fn quantile(&self, part: f64) -> Option<u64> {
        if self.busy.is_some_and(|busy| busy <= part) {
            return Some(0);
        }
        let moments: u64 = self.moments.values().sum();
        let is_among_stalls = self.in_stalls(SHORTEST_STALL_NS) > part;
        if !is_among_stalls && moments as f64 * part < MOMENTS_BEYOND {
            return None;
        }
        if self.beyond(0) <= part {
            return Some(0);
        }
        let longest_ns = self.stalls_ns.iter().max().copied().unwrap_or(0);
        let (mut low_ns, mut high_ns) = (0, longest_ns.max(SHORTEST_STALL_NS));
        while high_ns - low_ns > EXACT_NS {
            let middle_ns = low_ns + (high_ns - low_ns) / 2;
            match self.beyond(middle_ns) > part {
                true => low_ns = middle_ns,
                false => high_ns = middle_ns,
            }
        }
        Some(high_ns)
    }

    /// The part of all requests that wait longer.
    fn beyond(&self, delay_ns: u64) -> f64 {
        let rest = 1.0 - self.in_stalls(0);
        let sum = |from_ns: u64| self.moments.range(from_ns..).map(|(_, count)| count).sum::<u64>();
        let (all, busy, longer) = (sum(0), sum(1), sum(delay_ns + 1));
        // The loop itself counted for how long it polled: moments show the rest.
        let in_turns = self.busy.map(|busy| (busy - self.in_stalls(0)).clamp(0.0, rest));
        let in_turns = in_turns.filter(|_| busy > 0);
        let (part, of) = in_turns.map_or((rest, all), |in_turns| (in_turns, busy));
        self.in_stalls(delay_ns) + part * crate::share(longer, of)
    }

    /// The part of all requests that wait longer because of a long turn.
    fn in_stalls(&self, delay_ns: u64) -> f64 {
        let sum: f64 =
            self.stalls_ns.iter().map(|length_ns| length_ns.saturating_sub(delay_ns) as f64).sum();
        (sum / self.served_ns.max(1.0)).min(1.0)
    }
}

/// The selected moments: the delay in nanoseconds, and how many met it.
fn moments(
    profile: &Profile,
    selection: &Selection,
    is_its: impl Fn(ThreadId) -> bool,
) -> BTreeMap<u64, u64> {
    let range = selection.range_ns.clone().unwrap_or(0..u64::MAX);
    let table = profile.delays();
    let mut moments: BTreeMap<u64, u64> = BTreeMap::new();
    for row in table.ids().map(|id: RowId| table.row(id)).filter(|row| is_its(row.thread)) {
        let middle_ns = row.start_ns + row.end_ns.saturating_sub(row.start_ns) / 2;
        if range.contains(&middle_ns) {
            let count = moments.entry(row.delay_us.saturating_mul(1000)).or_default();
            *count = count.saturating_add(u64::from(row.moments));
        }
    }
    moments
}
