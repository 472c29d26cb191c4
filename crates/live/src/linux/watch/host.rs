//! What the kernel counts for a process, a second at a time: CPU time and waiting for a CPU of all its threads, and
//! what its control groups did to it.

use std::collections::BTreeMap;
use std::fs;

use super::groups::{Groups, Throttling};
use super::thread;

/// More threads than are counted.
const MOST_THREADS: usize = 512;

/// What was counted in a piece of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Second {
    pub(crate) pid: u32,
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) run_ns: u64,
    pub(crate) ready_ns: u64,
    /// Of the group that was held back most; none where there are no groups.
    pub(crate) throttling: Option<Throttling>,
    pub(crate) cpu_pressure_ns: Option<u64>,
    pub(crate) memory_pressure_ns: Option<u64>,
    pub(crate) cpu_limit_millis: Option<u32>,
}

/// The counters of a process at the end of the last piece.
#[derive(Debug)]
pub(super) struct Counted {
    pid: u32,
    end_ns: u64,
    threads: BTreeMap<u32, (u64, u64)>,
    throttling: Vec<Throttling>,
    cpu_pressure_ns: Option<u64>,
    memory_pressure_ns: Option<u64>,
}

impl Counted {
    /// Begins to count. A process that began while it was watched counts from its beginning.
    pub(super) fn begin(pid: u32, groups: &Groups, start_ns: u64, is_new: bool) -> Self {
        Self {
            pid,
            end_ns: start_ns,
            threads: if is_new { BTreeMap::new() } else { threads(pid) },
            throttling: groups.throttling(),
            cpu_pressure_ns: groups.cpu_pressure_ns(),
            memory_pressure_ns: groups.memory_pressure_ns(),
        }
    }

    /// When the last piece ended.
    pub(super) fn end_ns(&self) -> u64 {
        self.end_ns
    }

    /// What was added since the last time; none where the process has ended.
    pub(super) fn next(&mut self, groups: &Groups, now_ns: u64) -> Option<Second> {
        let threads = threads(self.pid);
        if threads.is_empty() {
            return None;
        }
        let throttling = groups.throttling();
        let (cpu, memory) = (groups.cpu_pressure_ns(), groups.memory_pressure_ns());
        let mut second = Second {
            pid: self.pid,
            start_ns: self.end_ns,
            end_ns: now_ns,
            throttling: most_throttled(&self.throttling, &throttling),
            cpu_pressure_ns: difference(self.cpu_pressure_ns, cpu),
            memory_pressure_ns: difference(self.memory_pressure_ns, memory),
            cpu_limit_millis: groups.limit_millis(),
            ..Second::default()
        };
        for (tid, (run_ns, ready_ns)) in &threads {
            let (run_before, ready_before) = self.threads.get(tid).copied().unwrap_or_default();
            second.run_ns = second.run_ns.saturating_add(run_ns.saturating_sub(run_before));
            second.ready_ns = second.ready_ns.saturating_add(ready_ns.saturating_sub(ready_before));
        }
        self.end_ns = now_ns;
        self.threads = threads;
        self.throttling = throttling;
        (self.cpu_pressure_ns, self.memory_pressure_ns) = (cpu, memory);
        Some(second)
    }
}

fn difference(before: Option<u64>, now: Option<u64>) -> Option<u64> {
    Some(now?.saturating_sub(before?))
}

/// What the group was held back that was held back most; where none was, the one with most periods.
pub(super) fn most_throttled(before: &[Throttling], now: &[Throttling]) -> Option<Throttling> {
    let added = now.iter().zip(before).map(|(now, before)| now.since(before));
    added.max_by_key(|added| (added.throttled_ns, added.throttled_periods, added.periods))
}

/// What each thread has run and waited so far.
fn threads(pid: u32) -> BTreeMap<u32, (u64, u64)> {
    let folder = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten();
    let tids = folder.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let counters = |tid: u32| {
        thread::scheduled(pid, tid).map(|scheduled| (tid, (scheduled.run_ns, scheduled.ready_ns)))
    };
    tids.take(MOST_THREADS).filter_map(counters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_process_is_counted() {
        let (pid, groups) = (std::process::id(), Groups::default());
        let mut counted = Counted::begin(pid, &groups, 10, true);
        let first = counted.next(&groups, 20).expect("we are here");
        assert_eq!((first.start_ns, first.end_ns, first.throttling), (10, 20, None));
        assert!(first.run_ns > 0);
        let second = counted.next(&groups, 30).expect("we are here");
        assert!(second.start_ns == 20 && second.run_ns < first.run_ns + 1_000_000_000);
        assert_eq!(Counted::begin(u32::MAX, &groups, 0, true).next(&groups, 1), None);
    }

    #[test]
    fn the_group_counts_that_was_held_back_most() {
        let one =
            |throttled_ns: u64| Throttling { periods: 10, throttled_periods: 1, throttled_ns };
        assert_eq!(
            most_throttled(&[one(5), one(5)], &[one(7), one(9)]).map(|most| most.throttled_ns),
            Some(4)
        );
        assert_eq!(most_throttled(&[], &[]), None);
    }
}
