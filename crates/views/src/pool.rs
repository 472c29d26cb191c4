//! How busy libuv's thread pools were, and what waited for a thread: file system calls, lookups of names, crypto, zlib
//! and work of addons share a few threads, so one kind can hold up all others while the event loop is idle.

use profile::{Pool, ProcessId, Profile, RowId};

use crate::host::selected_processes;
use crate::selection::Selection;

/// What a request to a thread pool is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolWork {
    /// A file system call.
    Fs,
    /// A lookup of a name or address.
    Dns,
    /// node:crypto.
    Crypto,
    /// node:zlib.
    Zlib,
    /// A native addon.
    Addon,
    /// Anything else.
    Other,
}

impl PoolWork {
    /// The word for programs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Fs => "fs",
            Self::Dns => "dns",
            Self::Crypto => "crypto",
            Self::Zlib => "zlib",
            Self::Addon => "addon",
            Self::Other => "other",
        }
    }
}

/// How the thread pool of a process was used.
#[derive(Clone, Debug, PartialEq)]
pub struct PoolUse {
    /// The process.
    pub process: ProcessId,
    /// The threads of the pool; 0 where nothing has used it.
    pub threads: u32,
    /// How often it was looked at.
    pub looks: u64,
    /// The threads that had a request, on average.
    pub busy: f64,
    /// The part of the time in which a request waited because no thread was free for it.
    pub full: f64,
    /// Requests that waited, on average.
    pub queued: f64,
    /// The most that waited at once.
    pub most_queued: u32,
    /// What waited, on average, most first.
    pub work: Vec<(PoolWork, f64)>,
}

/// How the pools of the selected processes were used; of a process without a row it is not known.
pub fn pools(profile: &Profile, selection: &Selection) -> Vec<PoolUse> {
    let range = selection.range_ns.clone().unwrap_or(0..u64::MAX);
    let is_selected = selected_processes(profile, selection);
    let mut sums: Vec<Option<Sums>> = vec![None; profile.processes().len()];
    let table = profile.pools();
    for row in table.ids().map(|id: RowId| table.row(id)) {
        let middle_ns = row.start_ns + row.end_ns.saturating_sub(row.start_ns) / 2;
        if range.contains(&middle_ns) && is_selected[row.process.index()] {
            sums[row.process.index()].get_or_insert_default().add(&row);
        }
    }
    let rows = sums.into_iter().enumerate();
    rows.filter_map(|(id, sums)| Some(sums?.pool(ProcessId::from_index(id)))).collect()
}

#[derive(Clone, Default)]
struct Sums {
    threads: u32,
    looks: u64,
    busy: u64,
    full: u64,
    most_queued: u32,
    queued: [u64; 6],
}

impl Sums {
    fn add(&mut self, row: &Pool) {
        self.threads = self.threads.max(row.threads);
        self.looks += u64::from(row.looks);
        self.busy += u64::from(row.busy);
        self.full += u64::from(row.full);
        self.most_queued = self.most_queued.max(row.most_queued);
        let queued = [
            row.queued_fs,
            row.queued_dns,
            row.queued_crypto,
            row.queued_zlib,
            row.queued_addon,
            row.queued_other,
        ];
        self.queued.iter_mut().zip(queued).for_each(|(sum, count)| *sum += u64::from(count));
    }

    fn pool(&self, process: ProcessId) -> PoolUse {
        let average = |sum: u64| sum as f64 / self.looks.max(1) as f64;
        let kinds = [
            PoolWork::Fs,
            PoolWork::Dns,
            PoolWork::Crypto,
            PoolWork::Zlib,
            PoolWork::Addon,
            PoolWork::Other,
        ];
        let work = kinds.into_iter().zip(self.queued.map(average));
        let mut work: Vec<(PoolWork, f64)> = work.filter(|(_, queued)| *queued > 0.0).collect();
        work.sort_by(|a, b| b.1.total_cmp(&a.1));
        PoolUse {
            process,
            threads: self.threads,
            looks: self.looks,
            busy: average(self.busy),
            full: average(self.full),
            queued: average(self.queued.iter().sum()),
            most_queued: self.most_queued,
            work,
        }
    }
}
