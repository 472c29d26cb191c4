//! How long a window of samples lasts. A short one costs little at once, loses little when the target dies, and takes
//! little of its memory; but each change costs something, so windows grow where that is much.

use std::time::Duration;

use crate::threads::{Moment, Stall};

const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(10);
/// A list of functions is this old before another one is asked for; twice as old each time, because some code is in no
/// list.
const LIST_AGE: Duration = Duration::from_secs(3);
/// A change of windows may take this share of the time.
const SHARE: f64 = 0.004;
/// And no longer than this, of which half is a reserve.
const WORST_END_MS: f64 = 12.0;
/// What the samples of a window may take in the target.
const MOST_MEMORY: f64 = (64 << 20) as f64;
/// V8 holds a node or a sample in a few times what it takes as text.
const MEMORY_PER_BYTE: usize = 4;

/// What the samples of a window take in the target, estimated from their text.
pub(crate) fn memory_of(profile: &str) -> usize {
    profile.len().saturating_mul(MEMORY_PER_BYTE)
}

/// The length of one thread's windows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    length: Duration,
    memory: usize,
    list_ms: f64,
    lists: u32,
}

impl Pace {
    pub(crate) fn new() -> Self {
        Self { length: SHORTEST, memory: 0, list_ms: 0.0, lists: 0 }
    }

    pub(crate) fn length(&self) -> Duration {
        self.length
    }

    /// The time between two lists of functions.
    pub(crate) fn between_lists(&self) -> Duration {
        let age = LIST_AGE.saturating_mul(1 << self.lists.min(6));
        Duration::try_from_secs_f64(self.list_ms / 1e3 / SHARE).unwrap_or(Duration::MAX).max(age)
    }

    /// What the last list of functions took.
    pub(crate) fn listed(&mut self, stall: &Stall) {
        self.list_ms = stall.begin_ms;
        self.lists = self.lists.saturating_add(1);
    }

    /// What the last window's samples took in the target.
    pub(crate) fn saw(&mut self, memory: usize) {
        self.memory = memory;
    }

    /// What the last change of windows took.
    pub(crate) fn took(&mut self, stall: &Stall) {
        if stall.moment != Moment::Change || stall.end_cpu_ms <= 0.0 {
            return;
        }
        let length_s = self.length.as_secs_f64();
        let wanted = (stall.begin_cpu_ms + stall.end_cpu_ms) / 1e3 / SHARE;
        let bearable = length_s * WORST_END_MS / stall.end_cpu_ms;
        let memory = length_s * MOST_MEMORY / (self.memory as f64).max(1.0);
        // Not much longer at once: the next one may be busier.
        let seconds = wanted.min(bearable).min(memory).min(2.0 * length_s);
        self.length =
            Duration::from_secs_f64(seconds.clamp(SHORTEST.as_secs_f64(), LONGEST.as_secs_f64()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(end_cpu_ms: f64, memory: usize, times: usize) -> f64 {
        let mut pace = Pace::new();
        for _ in 0..times {
            pace.saw(memory);
            pace.took(&Stall { end_cpu_ms, begin_cpu_ms: 0.2, ..Stall::default() });
        }
        pace.length().as_secs_f64()
    }

    #[test]
    fn cheap_windows_stay_short_and_dear_ones_grow() {
        assert_eq!(after(0.3, 3000, 9), 1.0);
        assert_eq!(after(5.8, 100_000, 1), 1.5);
        assert_eq!(after(8.0, 100_000, 1), 1.5);
    }

    #[test]
    fn lists_that_take_long_are_rare() {
        let mut pace = Pace::new();
        assert_eq!(pace.between_lists(), LIST_AGE);
        pace.listed(&Stall { begin_ms: 100.0, ..Stall::default() });
        assert_eq!(pace.between_lists(), Duration::from_secs(25));
    }

    #[test]
    fn no_window_becomes_too_dear() {
        assert_eq!(after(30.0, 1_000_000, 9), 1.0, "it cannot be shorter");
        assert_eq!(after(5.0, 64 << 20, 9), 1.0, "it would take too much memory");
        assert_eq!(after(0.0, 1, 3), 1.0, "nothing is known");
    }
}
