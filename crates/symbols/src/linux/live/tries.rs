//! When to try again to find the V8 of a process. A try may fail for a moment: while a process becomes another
//! program, its memory and files cannot be read. So no failure is remembered for ever.

use rustc_hash::FxHashMap;

/// How long a failure counts, by the times of samples, while nothing else is mapped.
const PAUSE_NS: u64 = 1_000_000_000;

/// The processes of which no V8 could be read so far.
#[derive(Debug, Default)]
pub(super) struct Tries {
    failed: FxHashMap<u32, Failed>,
}

/// The last try of a process.
#[derive(Clone, Copy, Debug)]
struct Failed {
    /// The number of the process's mappings then.
    layout: u32,
    time_ns: u64,
    was_reported: bool,
}

impl Tries {
    /// Whether it is time for a try: at first, after the next mapping, and once a second. The try counts as failed
    /// until the process is forgotten.
    pub(super) fn begin(&mut self, pid: u32, layout: u32, time_ns: u64) -> bool {
        let before = self.failed.get(&pid).copied();
        let is_due = before.is_none_or(|before| {
            before.layout != layout || time_ns.saturating_sub(before.time_ns) >= PAUSE_NS
        });
        if is_due {
            let was_reported = before.is_some_and(|before| before.was_reported);
            self.failed.insert(pid, Failed { layout, time_ns, was_reported });
        }
        is_due
    }

    /// Whether it is news that the memory of a process may not be read.
    pub(super) fn is_news(&mut self, pid: u32) -> bool {
        self.failed
            .get_mut(&pid)
            .is_some_and(|failed| !std::mem::replace(&mut failed.was_reported, true))
    }

    /// The process has ended, or is another program now.
    pub(super) fn forget(&mut self, pid: u32) {
        self.failed.remove(&pid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_counts_until_the_next_mapping_or_for_a_second() {
        let mut tries = Tries::default();
        assert!(tries.begin(7, 1, 100), "the first try");
        assert!(
            !tries.begin(7, 1, 200) && !tries.begin(7, 1, 100 + PAUSE_NS - 1),
            "it has just failed"
        );
        assert!(tries.begin(8, 1, 200), "another process");
        assert!(tries.begin(7, 2, 300), "something was mapped");
        assert!(!tries.begin(7, 2, 300 + PAUSE_NS - 1));
        assert!(tries.begin(7, 2, 300 + PAUSE_NS), "a second has passed");
        assert!(!tries.begin(7, 2, 300 + PAUSE_NS), "and the next one begins");
        tries.forget(7);
        assert!(tries.begin(7, 2, 301 + PAUSE_NS), "another program");
        assert!(!tries.begin(7, 2, 0), "samples of different CPUs come out of order");
    }

    #[test]
    fn a_refusal_is_reported_once() {
        let mut tries = Tries::default();
        assert!(!tries.is_news(7), "there was no try");
        assert!(tries.begin(7, 1, 0) && tries.is_news(7) && !tries.is_news(7));
        assert!(tries.begin(7, 2, 0) && !tries.is_news(7));
        tries.forget(7);
        assert!(tries.begin(7, 2, 0) && tries.is_news(7));
    }
}
