//! Taking rows out of a builder while the recording goes on. Tables that others refer to stay, so that equal rows are
//! found again; samples and what happened at some time go out, so that a long recording takes no more memory than a
//! short one. Ids count over the whole recording.

use std::collections::BTreeSet;

use super::{Builder, shift_times, sort_by_time, too_deep};
use crate::check::Counts;
use crate::ids::{LaneId, ProcessId, RowId, ThreadId};
use crate::meta::Meta;
use crate::model::Profile;
use crate::tables::{Lane, LongTurn, Loop, Process, Thread};

/// How many rows went out before, of the tables that do not stay.
#[derive(Default)]
pub(super) struct Gone {
    lanes: Vec<usize>,
    line_ticks: usize,
    markers: usize,
    loops: usize,
    long_turns: usize,
    seconds: usize,
    delays: usize,
    pools: usize,
    off_cpu: usize,
}

/// Rows that changed after they had gone out. Each list of ids belongs to the table of the same name in `rows`.
#[derive(Default)]
pub(crate) struct Again {
    pub(crate) rows: Profile,
    pub(crate) processes: Vec<ProcessId>,
    pub(crate) threads: Vec<ThreadId>,
    pub(crate) loops: Vec<RowId>,
    pub(crate) long_turns: Vec<RowId>,
}

/// What changed since the last time.
#[derive(Default)]
pub(super) struct Changes {
    processes: BTreeSet<ProcessId>,
    threads: BTreeSet<ThreadId>,
    again: Again,
}

/// What is new in a recording: the rows that were added, and those that changed. Its lanes are all that there are, also
/// those without a new sample.
pub(crate) struct News {
    pub(crate) rows: Profile,
    pub(crate) again: Again,
}

impl Gone {
    pub(super) fn sample(&self, lane: LaneId, row: RowId) -> RowId {
        behind(self.lanes.get(lane.index()).copied().unwrap_or(0), row)
    }

    pub(super) fn line_tick(&self, row: RowId) -> RowId {
        behind(self.line_ticks, row)
    }

    pub(super) fn marker(&self, row: RowId) -> RowId {
        behind(self.markers, row)
    }

    pub(super) fn event_loop(&self, row: RowId) -> RowId {
        behind(self.loops, row)
    }

    pub(super) fn long_turn(&self, row: RowId) -> RowId {
        behind(self.long_turns, row)
    }

    pub(super) fn second(&self, row: RowId) -> RowId {
        behind(self.seconds, row)
    }

    pub(super) fn delay(&self, row: RowId) -> RowId {
        behind(self.delays, row)
    }

    pub(super) fn pool(&self, row: RowId) -> RowId {
        behind(self.pools, row)
    }

    pub(super) fn off_cpu_time(&self, row: RowId) -> RowId {
        behind(self.off_cpu, row)
    }

    fn count(&mut self, rows: &Profile) {
        self.lanes.resize(rows.lanes.len(), 0);
        for (gone, lane) in self.lanes.iter_mut().zip(&rows.lanes) {
            *gone += lane.samples.len();
        }
        self.line_ticks += rows.line_ticks.len();
        self.markers += rows.markers.len();
        self.loops += rows.loops.len();
        self.long_turns += rows.long_turns.len();
        self.seconds += rows.seconds.len();
        self.delays += rows.delays.len();
        self.pools += rows.pools.len();
        self.off_cpu += rows.off_cpu.len();
    }
}

fn behind(gone: usize, row: RowId) -> RowId {
    RowId::from_index(gone + row.index())
}

/// The row among those that are still here.
fn still_here(gone: usize, row: RowId) -> Option<RowId> {
    row.index().checked_sub(gone).map(RowId::from_index)
}

impl Builder {
    /// Replaces what is known of a process.
    pub fn change_process(&mut self, id: ProcessId, row: Process) {
        if let Some(old) = self.profile.processes.get_mut(id.index()).filter(|old| **old != row) {
            *old = row;
            self.changes.processes.insert(id);
        }
    }

    /// Replaces what is known of a thread.
    pub fn change_thread(&mut self, id: ThreadId, row: Thread) {
        if let Some(old) = self.profile.threads.get_mut(id.index()).filter(|old| **old != row) {
            *old = row;
            self.changes.threads.insert(id);
        }
    }

    /// Replaces an event loop, for instance because it was watched for longer.
    pub fn change_event_loop(&mut self, id: RowId, row: Loop) {
        match still_here(self.gone.loops, id) {
            Some(id) => self.profile.loops.set(id, row),
            None => {
                self.changes.again.loops.push(id);
                self.changes.again.rows.loops.push(row);
            }
        }
    }

    /// Replaces a long turn, for instance because it had not ended.
    pub fn change_long_turn(&mut self, id: RowId, row: LongTurn) {
        match still_here(self.gone.long_turns, id) {
            Some(id) => self.profile.long_turns.set(id, row),
            None => {
                self.changes.again.long_turns.push(id);
                self.changes.again.rows.long_turns.push(row);
            }
        }
    }

    /// Takes out what is new, where that many rows were taken before. Times count from the origin; samples are sorted.
    pub(crate) fn take_news(&mut self, taken: &Counts) -> News {
        let origin_ns = self.origin_ns.unwrap_or(0);
        let mut rows = self.take_rows(taken);
        self.gone.count(&rows);
        shift_times(&mut rows, origin_ns);
        rows.lanes.iter_mut().for_each(|lane| sort_by_time(&mut lane.samples));
        let mut again = self.take_changes(taken);
        shift_times(&mut again.rows, origin_ns);
        News { rows, again }
    }

    fn take_rows(&mut self, taken: &Counts) -> Profile {
        let profile = &mut self.profile;
        let mut rows = Profile {
            sources: profile.sources.get(taken.sources..).unwrap_or_default().to_vec(),
            modules: profile.modules.get(taken.modules..).unwrap_or_default().to_vec(),
            packages: profile.packages.get(taken.packages..).unwrap_or_default().to_vec(),
            package_uses: profile
                .package_uses
                .get(taken.package_uses..)
                .unwrap_or_default()
                .to_vec(),
            functions: profile.functions.tail(taken.functions),
            frames: profile.frames.tail(taken.frames),
            stacks: profile.stacks.tail(taken.stacks),
            processes: profile.processes.get(taken.processes..).unwrap_or_default().to_vec(),
            threads: profile.threads.get(taken.threads..).unwrap_or_default().to_vec(),
            line_ticks: std::mem::take(&mut profile.line_ticks),
            markers: std::mem::take(&mut profile.markers),
            loops: std::mem::take(&mut profile.loops),
            long_turns: std::mem::take(&mut profile.long_turns),
            seconds: std::mem::take(&mut profile.seconds),
            delays: std::mem::take(&mut profile.delays),
            pools: std::mem::take(&mut profile.pools),
            off_cpu: std::mem::take(&mut profile.off_cpu),
            ..Profile::default()
        };
        for text in self.strings.strings.tail(taken.strings) {
            rows.strings.push(text);
        }
        for lane in &mut profile.lanes {
            let samples = std::mem::take(&mut lane.samples);
            rows.lanes.push(Lane { samples, ..lane.clone() });
        }
        rows
    }

    fn take_changes(&mut self, taken: &Counts) -> Again {
        let Changes { processes, threads, mut again } = std::mem::take(&mut self.changes);
        // Rows that were not taken before are taken as they are now.
        again.processes = processes.into_iter().filter(|id| id.index() < taken.processes).collect();
        again.threads = threads.into_iter().filter(|id| id.index() < taken.threads).collect();
        let profile = &self.profile;
        again.rows.processes =
            again.processes.iter().map(|id| profile.processes[id.index()].clone()).collect();
        again.rows.threads = again.threads.iter().map(|id| profile.threads[id.index()]).collect();
        again
    }

    /// How many rows the tables have that stay.
    pub(crate) fn counts(&self) -> Counts {
        Counts { strings: self.strings.strings.len(), ..Counts::of(&self.profile) }
    }

    /// What is known of the recording by now.
    pub(crate) fn meta_so_far(&self) -> Meta {
        let mut meta = self.profile.meta.clone();
        meta.losses.damage.extend(too_deep(self.too_deep));
        meta
    }
}
