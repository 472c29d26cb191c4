//! For how long a loop was busy without a pause, where its turns were not watched: every interval has a sample. That is
//! no stall, because many turns may follow one another.

use profile::{Category, Profile, Role, ThreadId, Unit};
use rustc_hash::FxHashMap;

use super::culprit::Culprits;
use super::{SHORTEST_STALL_NS, Stall, Turns};
use crate::selection::Selection;
use crate::weights::selected_rows;
use crate::work::Doings;

/// The busy stretches of 50 ms or more of loops that were not watched, the longest first.
pub(crate) fn busy_stretches(profile: &Profile, turns: &Turns, doings: &Doings) -> Vec<Stall> {
    let lane = Selection::default().lane_in(profile).map(|id| profile.lane(id));
    let (Some(lane), Some(interval_ns)) =
        (lane.filter(|lane| lane.timed), profile.meta().interval_ns)
    else {
        return Vec::new();
    };
    let is_watched = |id: ThreadId| turns.watched().any(|row| row.thread == id);
    let is_loop = |id: ThreadId| {
        matches!(profile.thread(id).role, Role::MainLoop | Role::Worker) && !is_watched(id)
    };
    let threads = (0..profile.threads().len()).map(ThreadId::from_index);
    let selection = Selection {
        threads: Some(threads.filter(|id| is_loop(*id)).collect()),
        busy_only: profile.stacks().category.contains(&Category::Idle),
        ..Selection::default()
    };
    let mut stretches = Stretches::default();
    for row in selected_rows(profile, &selection) {
        let weight = Some(lane.samples.weight[row]).filter(|_| lane.unit == Unit::Ns);
        // A sample at a higher rate stands for less.
        let length_ns = weight.map_or(interval_ns, |weight| weight.min(interval_ns));
        stretches.add(lane.samples.thread[row], lane.samples.time_ns[row], length_ns);
    }
    let culprits = Culprits::new(profile, doings, true);
    let stall = |(thread, start, end)| culprits.stall(thread, start, end, None);
    let mut found: Vec<Stall> = stretches.done().into_iter().filter_map(stall).collect();
    found.sort_by_key(|stall| (std::cmp::Reverse(stall.duration_ns()), stall.start_ns));
    found
}

/// Stretches by thread, as samples come in the order of time.
#[derive(Default)]
struct Stretches {
    open: FxHashMap<ThreadId, (u64, u64)>,
    found: Vec<(ThreadId, u64, u64)>,
}

impl Stretches {
    /// A sample that stands for so long.
    fn add(&mut self, thread: ThreadId, time_ns: u64, length_ns: u64) {
        let end_ns = time_ns.saturating_add(length_ns);
        match self.open.get_mut(&thread) {
            Some((_, end)) if time_ns < end.saturating_add(length_ns) => *end = end_ns,
            _ => {
                if let Some(last) = self.open.insert(thread, (time_ns, end_ns)) {
                    self.keep(thread, last);
                }
            }
        }
    }

    fn keep(&mut self, thread: ThreadId, (start_ns, end_ns): (u64, u64)) {
        if end_ns.saturating_sub(start_ns) >= SHORTEST_STALL_NS {
            self.found.push((thread, start_ns, end_ns));
        }
    }

    fn done(mut self) -> Vec<(ThreadId, u64, u64)> {
        for (thread, span) in std::mem::take(&mut self.open) {
            self.keep(thread, span);
        }
        self.found
    }
}
