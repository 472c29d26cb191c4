//! libuv's thread pool of a process, a second at a time: how many of its threads had a request, and what waited.

use trace::PoolUse;
use v8::Memory;
use v8::libuv::{Pool, PoolState, WorkNames};

/// Between two looks: a long queue takes 256 reads.
const PAUSE_NS: u64 = 90_000_000;
const SECOND_NS: u64 = 1_000_000_000;

/// A pool that is watched.
#[derive(Debug)]
pub(super) struct PoolWatch {
    pool: Pool,
    names: WorkNames,
    next_ns: u64,
    sums: PoolUse,
}

impl PoolWatch {
    pub(super) fn new(pid: u32, pool: Pool, now_ns: u64) -> Self {
        let sums = PoolUse { pid, start_ns: now_ns, ..PoolUse::default() };
        Self { pool, names: WorkNames::new(), next_ns: 0, sums }
    }

    /// Looks at the pool, if it is time; gives what a second has come to.
    pub(super) fn look(&mut self, memory: &dyn Memory, now_ns: u64) -> Option<PoolUse> {
        if now_ns < self.next_ns {
            return None;
        }
        self.next_ns = now_ns.saturating_add(PAUSE_NS);
        // A queue that changes while it is read is read again.
        let mut states = (0..2).filter_map(|_| self.pool.look(memory, &mut self.names).ok());
        if let Some(state) = states.next() {
            add(&mut self.sums, &state);
        }
        let is_over = now_ns.saturating_sub(self.sums.start_ns) >= SECOND_NS;
        if is_over { self.take(now_ns) } else { None }
    }

    /// What was seen since the last time.
    pub(super) fn take(&mut self, now_ns: u64) -> Option<PoolUse> {
        let next = PoolUse { pid: self.sums.pid, start_ns: now_ns, ..PoolUse::default() };
        let sums = std::mem::replace(&mut self.sums, next);
        (sums.looks > 0).then_some(PoolUse { end_ns: now_ns.max(sums.start_ns), ..sums })
    }
}

fn add(sums: &mut PoolUse, state: &PoolState) {
    sums.threads = sums.threads.max(state.threads);
    sums.looks += 1;
    sums.busy += state.busy;
    sums.full += u32::from(state.is_full);
    sums.most_queued = sums.most_queued.max(state.queued.iter().sum());
    for (sum, count) in sums.queued.iter_mut().zip(state.queued) {
        *sum += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_add_up() {
        let mut sums = PoolUse::default();
        let queued = [0, 3, 0, 2, 0, 0];
        add(&mut sums, &PoolState { threads: 4, busy: 4, queued, is_full: true });
        add(&mut sums, &PoolState { threads: 4, busy: 1, ..PoolState::default() });
        let expected = PoolUse {
            threads: 4,
            looks: 2,
            busy: 5,
            full: 1,
            most_queued: 5,
            queued,
            ..PoolUse::default()
        };
        assert_eq!(sums, expected);
    }
}
