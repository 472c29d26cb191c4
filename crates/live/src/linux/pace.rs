//! How often to sample, by what sampling costs. The cost is per sample, and only threads that run are sampled: a target
//! that is mostly idle can be sampled ten times as often for the price of one busy thread.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::rate::BASE_RATE;

/// The samples a second, of all threads together, that the higher rate may take: those of one busy thread at the lower.
const BUDGET: f64 = BASE_RATE as f64;
/// A target is idle that used so little of a CPU in the last second. At the higher rate this is less than the budget
/// (0.08 × 999 = 80): a steady target does not change back and forth.
const IDLE_SAMPLES: u64 = 8;
const LOOK_BACK: Duration = Duration::from_secs(1);

/// Whether a sample that stands for so much was taken at the higher rate.
pub(super) fn is_fast(period_ns: u64) -> bool {
    period_ns.saturating_mul(u64::from(BASE_RATE) * 2) < 1_000_000_000
}

/// Decides which rate to take.
pub(super) struct Pace {
    is_fast: bool,
    /// What the higher rate may still take. More than that is paid back before it is taken again, so that bursts cost
    /// no more than a steady load does.
    left: f64,
    /// The samples so far, at the times of the last second.
    seen: VecDeque<(Instant, u64)>,
}

impl Pace {
    /// Begins at the higher rate: a quiet target has few moments to be seen, and a busy one is known at once.
    pub(super) fn new(now: Instant) -> Self {
        Self { is_fast: true, left: BUDGET, seen: VecDeque::from([(now, 0)]) }
    }

    /// Takes the number of all samples so far; whether to change to the higher rate, or from it.
    pub(super) fn look(&mut self, now: Instant, samples: u64) -> Option<bool> {
        let (last, before) = self.seen.back().copied().unwrap_or((now, samples));
        let budget = now.saturating_duration_since(last).as_secs_f64() * BUDGET;
        let left = self.left + budget - samples.saturating_sub(before) as f64;
        // The lower rate may take what it wants, but what the higher one took may arrive after its end.
        let least = if self.is_fast { f64::NEG_INFINITY } else { self.left.min(-BUDGET) };
        self.left = left.clamp(least, BUDGET);
        self.seen.push_back((now, samples));
        let wanted = match self.is_fast {
            true => self.left >= 0.0,
            false => self.left >= BUDGET && self.is_idle(now, samples),
        };
        if wanted == self.is_fast {
            return None;
        }
        self.is_fast = wanted;
        // The samples of the other rate do not show the use by this one.
        self.seen.clear();
        self.seen.push_back((now, samples));
        Some(wanted)
    }

    /// Whether the last second had few samples.
    fn is_idle(&mut self, now: Instant, samples: u64) -> bool {
        let is_old = |time: &Instant| now.saturating_duration_since(*time) >= LOOK_BACK;
        while self.seen.get(1).is_some_and(|(time, _)| is_old(time)) {
            self.seen.pop_front();
        }
        self.seen.front().is_some_and(|(time, before)| {
            is_old(time) && samples.saturating_sub(*before) <= IDLE_SAMPLES
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate::FAST_RATE;

    const ROUND: Duration = Duration::from_millis(100);

    /// A target that uses so much of a CPU in each tenth of a second: its samples, and in how many rounds the rate was
    /// the higher one.
    fn run(used: impl Iterator<Item = f64>) -> (f64, usize, usize) {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        let (mut samples, mut fast, mut changes) = (0.0, 0, 0);
        for (round, used) in used.enumerate() {
            let rate = if pace.is_fast { FAST_RATE } else { BASE_RATE };
            fast += usize::from(pace.is_fast);
            samples += used * f64::from(rate) * ROUND.as_secs_f64();
            let now = start + ROUND * (round as u32 + 1);
            changes += usize::from(pace.look(now, samples as u64).is_some());
        }
        (samples, fast, changes)
    }

    fn steady(used: f64) -> impl Iterator<Item = f64> {
        std::iter::repeat_n(used, 300)
    }

    #[test]
    fn a_quiet_target_keeps_the_higher_rate() {
        for used in [0.0, 0.01, 0.03, 0.07, 0.09] {
            let (samples, fast, changes) = run(steady(used));
            assert_eq!((fast, changes), (300, 0), "{used}");
            assert!(samples <= 30.0 * BUDGET, "{samples}");
        }
    }

    #[test]
    fn a_busy_target_is_sampled_as_ever_after_a_moment() {
        for (used, rounds) in [(0.3, 6), (0.6, 3), (1.0, 2), (4.0, 1)] {
            let (samples, fast, changes) = run(steady(used));
            assert!(fast <= rounds && changes == 1, "{used}: {fast}, {changes}");
            let at_first = used * f64::from(FAST_RATE) * 0.1 * rounds as f64;
            assert!(samples <= used * 30.0 * BUDGET + at_first, "{samples}");
        }
    }

    /// One round at the higher rate, on however many CPUs, and it is over.
    #[test]
    fn a_burst_ends_the_higher_rate_at_once() {
        for cores in [1.0, 8.0] {
            let used = steady(0.02).take(50).chain(steady(cores).take(50));
            let (_, fast, changes) = run(used);
            assert!((51..=53).contains(&fast) && changes == 1, "{cores}: {fast}, {changes}");
        }
    }

    /// Whatever the rhythm, the higher rate takes no more samples than its budget and that of one burst.
    #[test]
    fn bursts_cost_no_more_than_their_budget() {
        for (idle, busy) in [(10, 2), (12, 1), (15, 3), (20, 2), (40, 2)] {
            let rhythm = (0..3000).map(|round| f64::from(u8::from(round % (idle + busy) >= idle)));
            let (samples, ..) = run(rhythm);
            let share = f64::from(busy) / f64::from(idle + busy);
            let most = (BUDGET + share * BUDGET) * 300.0 + 2.0 * 200.0;
            assert!(samples <= most, "{idle}, {busy}: {samples} of {most}");
        }
    }

    /// Between what counts as idle and the budget nothing changes back and forth.
    #[test]
    fn no_steady_use_makes_the_rate_swing() {
        for percent in 0..200 {
            let (_, _, changes) = run(steady(f64::from(percent) / 100.0));
            assert!(changes <= 1, "{percent} %: {changes} changes");
        }
    }
}
