//! The CPU time that the recorded processes used, as the kernel counts it: what samples should add up to. perf itself
//! does not report what it did not see.

use std::collections::BTreeMap;

use trace::CpuTime;

use super::proc::{self, Times};

/// What each process had used when it was first seen, and what it has used by now.
pub(super) struct Account {
    sees_kernel: bool,
    processes: BTreeMap<u32, (Times, Times)>,
}

impl Account {
    /// For processes that run already.
    pub(super) fn new(sees_kernel: bool, pids: &[u32]) -> Self {
        let times = |pid: &u32| proc::times(*pid).map(|times| (*pid, (times, times)));
        Self { sees_kernel, processes: pids.iter().filter_map(times).collect() }
    }

    /// Looks at a process. One that was not there before has begun meanwhile.
    pub(super) fn look(&mut self, pid: u32) {
        // A process that has ended has no times any more: the last ones count.
        let Some(now) = proc::times(pid) else { return };
        let (start, last) = self.processes.entry(pid).or_default();
        if now.born == start.born || start.born == 0 {
            *last = now;
        }
    }

    pub(super) fn total(&self) -> CpuTime {
        let mut total = CpuTime::default();
        for (start, last) in self.processes.values() {
            let kernel_ns = last.kernel_ns.saturating_sub(start.kernel_ns);
            total.used_ns += last.user_ns.saturating_sub(start.user_ns) + kernel_ns;
            total.hidden_kernel_ns += if self.sees_kernel { 0 } else { kernel_ns };
        }
        total
    }
}
