//! The sleeping stacks of one thread, each with the time that it stands for: from the start of the turn, or from the
//! stack before, until the next stack or the end of the turn.

/// How often a stack is read while a turn goes on, and after how long first.
const FIRST_NS: u64 = super::turns::LONG_NS;
const NEXT_NS: u64 = 250_000_000;
/// Shorter waits do not count.
const SHORTEST_NS: u64 = 1_000_000;

/// A stack, and the time that it stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wait {
    pub(super) time_ns: u64,
    pub(super) weight_ns: u64,
    pub(super) number: u64,
}

/// The stacks of the turn that goes on.
#[derive(Debug, Default)]
pub(super) struct Waits {
    /// The turn's start, and how much of its time off the CPU was reported already.
    turn_ns: u64,
    reported_ns: u64,
    /// When the last one was read, and its number.
    last: Option<(u64, u64)>,
}

impl Waits {
    /// Whether a stack is wanted now, in a turn that began then.
    pub(super) fn is_wanted(&self, start_ns: u64, now_ns: u64) -> bool {
        let is_due = match &self.last {
            Some((time_ns, _)) if self.turn_ns == start_ns => {
                now_ns.saturating_sub(*time_ns) >= NEXT_NS
            }
            _ => true,
        };
        is_due && now_ns.saturating_sub(start_ns) >= FIRST_NS
    }

    /// Keeps a stack of a turn that began then and was off the CPU for so long by now; gives the one before.
    pub(super) fn keep(
        &mut self,
        (start_ns, off_ns): (u64, u64),
        time_ns: u64,
        number: u64,
    ) -> Option<Wait> {
        let before = if self.turn_ns == start_ns { self.take(off_ns) } else { None };
        if self.turn_ns != start_ns {
            (self.turn_ns, self.reported_ns) = (start_ns, 0);
        }
        self.last = Some((time_ns, number));
        before
    }

    /// The turn that began then has ended, after it was off the CPU for so long: gives its last stack.
    pub(super) fn end(&mut self, start_ns: u64, off_ns: u64) -> Option<Wait> {
        if self.turn_ns == start_ns { self.take(off_ns) } else { None }
    }

    fn take(&mut self, off_ns: u64) -> Option<Wait> {
        let (time_ns, number) = self.last.take()?;
        let weight_ns = off_ns.saturating_sub(self.reported_ns);
        self.reported_ns = self.reported_ns.max(off_ns);
        (weight_ns >= SHORTEST_NS).then_some(Wait { time_ns, weight_ns, number })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn stacks_share_the_time_of_their_turn() {
        let mut waits = Waits::default();
        assert!(!waits.is_wanted(100 * MS, 149 * MS) && waits.is_wanted(100 * MS, 150 * MS));
        assert_eq!(waits.keep((100 * MS, 45 * MS), 150 * MS, 7), None);
        assert!(!waits.is_wanted(100 * MS, 399 * MS) && waits.is_wanted(100 * MS, 400 * MS));
        let first = waits.keep((100 * MS, 290 * MS), 400 * MS, 7).expect("it has a weight");
        assert_eq!((first.time_ns, first.weight_ns), (150 * MS, 290 * MS));
        let last = waits.end(100 * MS, 380 * MS).expect("it has a weight");
        assert_eq!((last.time_ns, last.weight_ns), (400 * MS, 90 * MS));
        assert_eq!(waits.end(100 * MS, 380 * MS), None);
    }

    #[test]
    fn another_turn_begins_anew() {
        let mut waits = Waits::default();
        assert_eq!(waits.keep((100 * MS, 45 * MS), 150 * MS, 7), None);
        assert!(waits.is_wanted(200 * MS, 260 * MS));
        assert_eq!(waits.end(200 * MS, 10 * MS), None, "nothing was seen in it");
        assert_eq!(waits.keep((200 * MS, 50 * MS), 260 * MS, 7), None);
        assert_eq!(waits.end(200 * MS, MS / 2), None, "too short");
    }
}
