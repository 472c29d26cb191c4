//! Puts records into the order of their times. perf empties one CPU's buffer after the other, so times go
//! back and forth within a round; at the end of a round nothing older than the round before can still come.

use std::collections::VecDeque;

/// Records wait in memory: a file without rounds is let through in pieces of this size.
const MOST_WAITING_BYTES: usize = 128 << 20;

/// A record that waits.
#[derive(Clone, Copy)]
struct Waiting {
    time_ns: u64,
    start: usize,
    length: usize,
}

/// The end of a round, as it was seen.
struct RoundEnd {
    /// How much had come before it.
    seen_bytes: u64,
    /// The latest time before it.
    latest_ns: u64,
}

#[derive(Default)]
pub(super) struct Rounds {
    bytes: Vec<u8>,
    /// Memory for what stays when the others go.
    spare: Vec<u8>,
    waiting: Vec<Waiting>,
    ends: VecDeque<RoundEnd>,
    seen_bytes: u64,
    latest_ns: u64,
    /// How much of the records may come later than the ends of their rounds: a decompressor holds back.
    lag_bytes: u64,
}

impl Rounds {
    pub(super) fn set_lag(&mut self, bytes: u64) {
        self.lag_bytes = bytes;
    }

    /// Keeps a record until it is its turn.
    pub(super) fn add(&mut self, time_ns: u64, record: &[u8], deliver: impl FnMut(&[u8])) {
        if self.bytes.len() + record.len() > MOST_WAITING_BYTES {
            self.flush(self.latest_ns, deliver);
        }
        self.waiting.push(Waiting { time_ns, start: self.bytes.len(), length: record.len() });
        self.bytes.extend_from_slice(record);
        self.seen_bytes += record.len() as u64;
        self.latest_ns = self.latest_ns.max(time_ns);
    }

    /// A round is over. What is older than the end of the round before is let through, once the end of the
    /// round after that has really been reached.
    pub(super) fn end_round(&mut self, deliver: impl FnMut(&[u8])) {
        self.ends.push_back(RoundEnd { seen_bytes: self.seen_bytes, latest_ns: self.latest_ns });
        let mut limit_ns = None;
        while let Some(after) = self.ends.get(1)
            && after.seen_bytes.saturating_add(self.lag_bytes) <= self.seen_bytes
        {
            limit_ns = self.ends.pop_front().map(|end| end.latest_ns);
        }
        if let Some(limit_ns) = limit_ns {
            self.flush(limit_ns, deliver);
        }
    }

    /// Nothing will come any more.
    pub(super) fn flush_all(&mut self, deliver: impl FnMut(&[u8])) {
        self.flush(u64::MAX, deliver);
    }

    /// Nothing older than that will come any more.
    pub(super) fn flush_until(&mut self, limit_ns: u64, deliver: impl FnMut(&[u8])) {
        self.flush(limit_ns, deliver);
    }

    fn flush(&mut self, limit_ns: u64, mut deliver: impl FnMut(&[u8])) {
        self.waiting.sort_by_key(|waiting| waiting.time_ns);
        let count = self.waiting.partition_point(|waiting| waiting.time_ns <= limit_ns);
        for &Waiting { start, length, .. } in &self.waiting[..count] {
            deliver(&self.bytes[start..start + length]);
        }
        self.forget(count);
    }

    /// Drops the first records and moves the others together.
    fn forget(&mut self, count: usize) {
        self.waiting.drain(..count);
        self.spare.clear();
        for waiting in &mut self.waiting {
            let start = self.spare.len();
            self.spare
                .extend_from_slice(&self.bytes[waiting.start..waiting.start + waiting.length]);
            waiting.start = start;
        }
        std::mem::swap(&mut self.bytes, &mut self.spare);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds records of one byte, `(time, name)`; `|` ends a round.
    fn order(records: &[(u64, u8)], lag: u64) -> String {
        let (mut rounds, mut out) = (Rounds::default(), Vec::new());
        rounds.set_lag(lag);
        for (time_ns, name) in records {
            if *name == b'|' {
                rounds.end_round(|record| out.extend_from_slice(record));
                out.push(b'|');
            } else {
                rounds.add(*time_ns, &[*name], |_| unreachable!("nothing is full"));
            }
        }
        rounds.flush_all(|record| out.extend_from_slice(record));
        String::from_utf8(out).expect("the names are ASCII")
    }

    #[test]
    fn a_round_waits_for_the_next() {
        let records = [
            (1, b'a'),
            (5, b'c'),
            (2, b'b'),
            (0, b'|'),
            (4, b'd'),
            (7, b'e'),
            (0, b'|'),
            (6, b'f'),
        ];
        assert_eq!(order(&records, 0), "|abdc|fe");
    }

    #[test]
    fn equal_times_keep_their_order() {
        assert_eq!(order(&[(3, b'x'), (3, b'y'), (1, b'z'), (3, b'w')], 0), "zxyw");
    }

    #[test]
    fn a_decompressor_that_holds_back_delays_the_rounds() {
        let records = [
            (1, b'a'),
            (0, b'|'),
            (0, b'|'),
            (3, b'b'),
            (2, b'c'),
            (0, b'|'),
            (4, b'd'),
            (0, b'|'),
        ];
        assert_eq!(order(&records, 0), "|a||cb|d");
        assert_eq!(order(&records, 2), "||a||cbd");
    }
}
