//! How long a request waits that arrives at any moment: until the loop polls again. The watcher chooses moments without
//! looking at the loop first. At each one a loop either polls, and takes a request at once, or it is in a turn, and
//! later looks show when that ends. So the moments are a fair sample of what requests meet.

use std::collections::BTreeMap;
use std::time::Duration;

/// Binary digits that are kept of a delay, in microseconds: it is known no better than looks follow each other.
const DIGITS: u32 = 3;
/// At most this many moments wait for the end of one turn; a turn with more is long, and long turns are known exactly.
const MOST_OPEN: usize = 64;

/// Pauses between moments differ by this part, by chance: a program may do something every 30 ms, too.
const SPREAD: u64 = 3;
/// When a loop is looked at again that was in a turn at a moment, after that.
const FOLLOW_UPS_NS: [u64; 6] =
    [1_000_000, 2_000_000, 4_000_000, 8_000_000, 16_000_000, 24_000_000];

/// When requests may arrive, and when to look again at the loops that were in a turn.
#[derive(Debug)]
pub(super) struct Schedule {
    last_ns: u64,
    next_ns: u64,
    /// How many of the [`FOLLOW_UPS_NS`] after the last moment are over.
    follow_ups: usize,
    chance: u64,
}

impl Schedule {
    /// The first moment is now.
    pub(super) fn new(now_ns: u64) -> Self {
        let follow_ups = FOLLOW_UPS_NS.len();
        Self { last_ns: now_ns, next_ns: now_ns, follow_ups, chance: now_ns | 1 }
    }

    /// The next moment.
    pub(super) fn moment_ns(&self) -> u64 {
        self.next_ns
    }

    pub(super) fn is_moment(&self, now_ns: u64) -> bool {
        now_ns >= self.next_ns
    }

    /// A moment is over: the next one follows after about a pause.
    pub(super) fn next(&mut self, now_ns: u64, pause: Duration) {
        // Marsaglia's xorshift.
        self.chance ^= self.chance << 13;
        self.chance ^= self.chance >> 7;
        self.chance ^= self.chance << 17;
        let pause_ns = pause.as_nanos() as u64;
        let spread_ns = pause_ns / SPREAD;
        let by_chance_ns = pause_ns - spread_ns / 2 + self.chance % spread_ns.max(1);
        (self.last_ns, self.follow_ups) = (now_ns, 0);
        self.next_ns = now_ns.saturating_add(by_chance_ns);
    }

    /// When to look again.
    pub(super) fn follow_up_ns(&self) -> Option<u64> {
        Some(self.last_ns.saturating_add(*FOLLOW_UPS_NS.get(self.follow_ups)?))
    }

    /// Whether it is time for that.
    pub(super) fn is_follow_up(&mut self, now_ns: u64) -> bool {
        let is_due = self.follow_up_ns().is_some_and(|time_ns| now_ns >= time_ns);
        while self.follow_up_ns().is_some_and(|time_ns| now_ns >= time_ns) {
            self.follow_ups += 1;
        }
        is_due
    }
}

/// What the moments of a piece of time have met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Met {
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    /// Microseconds, and how many moments met that delay.
    pub(crate) delays: BTreeMap<u64, u32>,
}

/// The moments of one loop.
#[derive(Debug, Default)]
pub(super) struct Moments {
    /// Those inside of the turn that goes on.
    open: Vec<u64>,
    met: Met,
}

/// How a turn ended between two looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TurnEnd {
    /// At about this time.
    At(u64),
    /// It is one that is reported by itself, or its process was stopped.
    Apart,
}

impl Moments {
    /// A turn has ended.
    pub(super) fn end(&mut self, end: TurnEnd) {
        for moment_ns in std::mem::take(&mut self.open) {
            if let TurnEnd::At(end_ns) = end {
                // Not 0: that stands for a loop that polls.
                self.count(rounded(end_ns.saturating_sub(moment_ns) / 1000).max(1));
            }
        }
    }

    /// A moment at which the loop polled, or was in a turn.
    pub(super) fn add(&mut self, now_ns: u64, is_polling: bool) {
        if is_polling {
            self.count(0);
        } else if self.open.len() < MOST_OPEN {
            self.open.push(now_ns);
        }
    }

    /// Whether some moment waits for the end of a turn.
    pub(super) fn are_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// What was met since the last time; none where no moment has an answer yet.
    pub(super) fn take(&mut self, now_ns: u64) -> Option<Met> {
        let met = std::mem::take(&mut self.met);
        self.met.start_ns = now_ns;
        let start_ns = if met.start_ns == 0 { now_ns } else { met.start_ns };
        (!met.delays.is_empty()).then_some(Met { start_ns, end_ns: now_ns.max(start_ns), ..met })
    }

    fn count(&mut self, delay_us: u64) {
        *self.met.delays.entry(delay_us).or_default() += 1;
    }
}

/// A number with its first binary digits.
fn rounded(number: u64) -> u64 {
    let surplus = (u64::BITS - number.leading_zeros()).saturating_sub(DIGITS);
    let half = if surplus == 0 { 0 } else { 1 << (surplus - 1) };
    number.saturating_add(half) >> surplus << surplus
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_moment_inside_of_a_turn_waits_for_its_end() {
        let mut moments = Moments::default();
        assert_eq!(moments.take(5 * MS), None);
        moments.add(10 * MS, true);
        moments.add(40 * MS, false);
        moments.add(70 * MS, false);
        assert!(moments.are_open());
        let met = moments.take(80 * MS).expect("one has an answer");
        assert_eq!((met.start_ns, met.end_ns), (5 * MS, 80 * MS));
        assert_eq!(met.delays, BTreeMap::from([(0, 1)]));
        moments.end(TurnEnd::At(72 * MS));
        assert!(!moments.are_open());
        let met = moments.take(90 * MS).expect("they have answers");
        assert_eq!(met.delays, BTreeMap::from([(2048, 1), (32_768, 1)]));
    }

    #[test]
    fn long_turns_are_kept_apart() {
        let mut moments = Moments::default();
        moments.add(10 * MS, false);
        moments.end(TurnEnd::Apart);
        moments.end(TurnEnd::At(20 * MS));
        assert_eq!(moments.take(30 * MS), None);
        (0..1000).for_each(|at| moments.add(at, false));
        moments.end(TurnEnd::At(1000));
        let met = moments.take(40 * MS).expect("they have answers");
        assert_eq!(met.delays, BTreeMap::from([(1, MOST_OPEN as u32)]), "never as if it polled");
    }

    #[test]
    fn moments_come_by_chance_and_follow_ups_after_them() {
        let mut schedule = Schedule::new(100 * MS);
        assert!(schedule.is_moment(100 * MS) && !schedule.is_follow_up(100 * MS));
        let mut pauses = Vec::new();
        for _ in 0..200 {
            let now_ns = schedule.moment_ns();
            schedule.next(now_ns, Duration::from_millis(30));
            pauses.push(schedule.moment_ns() - now_ns);
            assert!(!schedule.is_moment(now_ns) && schedule.is_moment(schedule.moment_ns()));
        }
        assert!(pauses.iter().all(|pause| (25 * MS..=35 * MS).contains(pause)), "{pauses:?}");
        pauses.sort_unstable();
        pauses.dedup();
        assert!(pauses.len() > 150, "they differ: {pauses:?}");
        let now_ns = schedule.moment_ns();
        schedule.next(now_ns, Duration::from_millis(30));
        assert_eq!(schedule.follow_up_ns(), Some(now_ns + MS));
        assert!(schedule.is_follow_up(now_ns + 5 * MS), "a late one stands for those before it");
        assert!(!schedule.is_follow_up(now_ns + 6 * MS));
        assert_eq!(schedule.follow_up_ns(), Some(now_ns + 8 * MS));
        assert!(schedule.is_follow_up(now_ns + 40 * MS));
        assert_eq!(schedule.follow_up_ns(), None);
    }

    #[test]
    fn delays_keep_their_first_digits() {
        let rows = [(0, 0), (1, 1), (7, 7), (8, 8), (9, 10), (1000, 1024), (u64::MAX, 0)];
        for (number, expected) in &rows[..6] {
            assert_eq!(rounded(*number), *expected, "{number}");
        }
        assert!(rounded(u64::MAX) >= u64::MAX / 2);
    }
}
