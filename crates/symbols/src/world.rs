//! What is known of processes and files while a recording arrives: what each process has mapped where.

use rustc_hash::FxHashMap;
use trace::{Comm, Fork, Mmap};

use crate::places::{Modules, Place, Places, is_generated, is_jitdump};
use crate::processes::Processes;
use crate::sources::{Sources, given_for};
use crate::unwind::Moment;

/// All processes and files, as they are at the moment.
pub(crate) struct World {
    pub(crate) sources: Sources,
    pub(crate) places: Places,
    pub(crate) modules: Modules,
    pub(crate) processes: Processes,
    /// What is known of files apart from their mappings, by path.
    pub(crate) build_ids: FxHashMap<Vec<u8>, Vec<u8>>,
}

impl World {
    pub(crate) fn new(sources: Sources) -> Self {
        Self {
            sources,
            places: Places::default(),
            modules: Modules::default(),
            processes: Processes::default(),
            build_ids: FxHashMap::default(),
        }
    }

    /// A process mapped something.
    pub(crate) fn mmap(&mut self, mmap: &Mmap<'_>) {
        let end = mmap.start.saturating_add(mmap.length);
        let row = self.processes.row(mmap.pid);
        let place = if is_generated(mmap.path) && mmap.executable {
            Place::Generated(row)
        } else {
            let root = self.sources.root_of(mmap.pid);
            let module = self.modules.id(mmap.path, root, mmap.build_id.map(|id| id.0));
            let bias = mmap.offset.wrapping_sub(mmap.start);
            Place::File { module, bias, executable: mmap.executable }
        };
        let place = self.places.id(place);
        self.processes.map(row, mmap.start, end, place);
        let process = self.processes.get(row);
        let is_given = || given_for(&self.sources.jitdumps, mmap.pid).next().is_some();
        if !process.dump_is_known && (is_jitdump(mmap.path) || mmap.executable && is_given()) {
            process.dump = Some(mmap.path.to_vec());
            process.dump_is_known = true;
        }
    }

    /// Another program may have taken over a process.
    pub(crate) fn comm(&mut self, comm: &Comm<'_>) {
        if comm.exec {
            self.processes.exec(comm.pid);
        }
    }

    /// A process may have begun.
    pub(crate) fn fork(&mut self, fork: &Fork) {
        if fork.pid != fork.parent_pid {
            self.processes.fork(fork.pid, fork.parent_pid);
        }
    }

    /// What is known of a process now.
    pub(crate) fn moment<'a>(&'a self, row: u32, arch: Option<&'a str>) -> Moment<'a> {
        Moment {
            sources: &self.sources,
            modules: &self.modules,
            places: &self.places,
            build_ids: &self.build_ids,
            process: &self.processes.rows[row as usize],
            row,
            arch,
        }
    }
}
