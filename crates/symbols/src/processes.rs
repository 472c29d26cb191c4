//! The processes of a recording: what each has mapped, and which frames its addresses are at the moment.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::maps::Maps;
use crate::places::PlaceId;
use crate::timeline::Timeline;

/// All mappings of all processes. More would be the work of a made-up recording.
const MOST_MAPPINGS: usize = 1 << 22;

/// One process, as it is at the moment.
#[derive(Default)]
pub(crate) struct Process {
    pub(crate) pid: Option<u32>,
    /// Shared with the parent until one of them changes: most children run another program at once.
    maps: Arc<Maps>,
    /// Another number whenever an address may mean something else than before, or than in another process.
    pub(crate) generation: u32,
    /// The frames of user addresses, as long as the generation lasts.
    pub(crate) frames: FxHashMap<u64, u32>,
    /// Another number whenever something else is mapped than before.
    pub(crate) layout: u32,
    /// Where the process writes its generated code to, where it does and until it is read.
    pub(crate) dump: Option<Vec<u8>>,
    /// Whether that was looked for.
    pub(crate) dump_is_known: bool,
    /// Which generated code stood where when.
    pub(crate) timeline: Option<Timeline>,
}

impl Process {
    pub(crate) fn find(&self, address: u64) -> Option<PlaceId> {
        self.maps.find(address)
    }

    /// Everything that is mapped, by its start: the start, the end and the place.
    pub(crate) fn mappings(&self) -> impl Iterator<Item = (u64, u64, PlaceId)> + '_ {
        self.maps.iter()
    }

    /// Addresses may mean something else from now on.
    fn forget_frames(&mut self, generations: &mut u32) {
        *generations = generations.wrapping_add(1);
        self.generation = *generations;
        self.frames.clear();
    }
}

/// All processes, in the order in which they were first mentioned.
#[derive(Default)]
pub(crate) struct Processes {
    pub(crate) rows: Vec<Process>,
    by_pid: FxHashMap<Option<u32>, u32>,
    mappings: usize,
    /// How many generations there were, of all processes.
    generations: u32,
    /// Whether mappings were left out, because there were too many.
    pub(crate) overflowed: bool,
}

impl Processes {
    pub(crate) fn row(&mut self, pid: Option<u32>) -> u32 {
        let (rows, generations) = (&mut self.rows, &mut self.generations);
        *self.by_pid.entry(pid).or_insert_with(|| {
            let mut process = Process { pid, ..Process::default() };
            process.forget_frames(generations);
            rows.push(process);
            (rows.len() - 1) as u32
        })
    }

    /// Addresses of a process may mean something else from now on.
    pub(crate) fn forget_frames(&mut self, row: u32) {
        self.rows[row as usize].forget_frames(&mut self.generations);
    }

    pub(crate) fn get(&mut self, row: u32) -> &mut Process {
        &mut self.rows[row as usize]
    }

    pub(crate) fn map(&mut self, row: u32, start: u64, end: u64, place: PlaceId) {
        let process = &mut self.rows[row as usize];
        if process.maps.covers(start, end, place) {
            return;
        }
        let is_shared = Arc::strong_count(&process.maps) > 1;
        let copied = if is_shared { process.maps.len() } else { 0 };
        // An insertion cuts one mapping in two at most, and adds one.
        if self.mappings + copied + 2 > MOST_MAPPINGS {
            self.overflowed = true;
            return;
        }
        let before = if is_shared { 0 } else { process.maps.len() };
        let maps = Arc::make_mut(&mut process.maps);
        maps.insert(start, end, place);
        self.mappings = (self.mappings + maps.len()).saturating_sub(before);
        process.layout = process.layout.wrapping_add(1);
        process.forget_frames(&mut self.generations);
    }

    /// A child sees what its parent saw.
    pub(crate) fn fork(&mut self, pid: u32, parent: u32) {
        let parent = self.row(Some(parent));
        let maps = Arc::clone(&self.rows[parent as usize].maps);
        let child = self.row(Some(pid));
        self.set_maps(child, maps);
    }

    /// Another program takes over: nothing is mapped any more.
    pub(crate) fn exec(&mut self, pid: u32) {
        let row = self.row(Some(pid));
        self.set_maps(row, Arc::default());
        let process = self.get(row);
        (process.dump, process.dump_is_known) = (None, false);
        // What is reported while it happens comes earlier than the record of a new program: it may be the new one's.
        process.timeline = process.timeline.take().filter(|timeline| timeline.is_live);
    }

    fn set_maps(&mut self, row: u32, maps: Arc<Maps>) {
        let process = &mut self.rows[row as usize];
        if Arc::strong_count(&process.maps) == 1 {
            self.mappings = self.mappings.saturating_sub(process.maps.len());
        }
        process.maps = maps;
        process.layout = process.layout.wrapping_add(1);
        process.forget_frames(&mut self.generations);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(processes: &mut Processes, pid: u32, address: u64) -> Option<u32> {
        let row = processes.row(Some(pid));
        processes.get(row).find(address).map(|place| place.0)
    }

    #[test]
    fn a_child_has_what_its_parent_had() {
        let mut processes = Processes::default();
        let parent = processes.row(Some(1));
        processes.map(parent, 100, 200, PlaceId(7));
        processes.fork(2, 1);
        processes.map(parent, 300, 400, PlaceId(8));
        assert_eq!((find(&mut processes, 2, 150), find(&mut processes, 2, 350)), (Some(7), None));
        let child = processes.row(Some(2));
        processes.map(child, 100, 200, PlaceId(9));
        assert_eq!(
            (find(&mut processes, 1, 150), find(&mut processes, 2, 150)),
            (Some(7), Some(9))
        );
    }

    #[test]
    fn another_program_has_nothing_of_the_one_before() {
        let mut processes = Processes::default();
        let row = processes.row(Some(1));
        processes.map(row, 100, 200, PlaceId(7));
        let before = processes.get(row).generation;
        processes.exec(1);
        assert_eq!(find(&mut processes, 1, 150), None);
        assert!(processes.get(row).generation > before);
    }

    #[test]
    fn what_changes_nothing_keeps_the_frames() {
        let mut processes = Processes::default();
        let row = processes.row(Some(1));
        processes.map(row, 100, 200, PlaceId(7));
        let before = processes.get(row).generation;
        processes.map(row, 120, 140, PlaceId(7));
        assert_eq!(processes.get(row).generation, before);
    }

    #[test]
    fn made_up_forks_end_somewhere() {
        let mut processes = Processes::default();
        let parent = processes.row(Some(1));
        for start in 0..50_000 {
            processes.map(parent, start * 10, start * 10 + 5, PlaceId(0));
        }
        for pid in 2..200 {
            processes.fork(pid, 1);
            let child = processes.row(Some(pid));
            processes.map(child, 3, 4, PlaceId(1));
        }
        assert!(processes.overflowed && processes.mappings <= MOST_MAPPINGS);
    }
}
