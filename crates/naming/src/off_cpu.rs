//! When threads were off the CPU, from context switches. A busy server switches thousands of times a second, so only
//! the longest times are kept one by one; the others are summed up by thread and second, so that idle time adds up.

use std::collections::BTreeMap;

use profile::{Builder, OffCpuTime, ThreadId};
use rustc_hash::FxHashMap;

/// A shorter time is no row of its own.
const SHORTEST_NS: u64 = 100_000;
/// A longer time is always one: there are few of them.
const LONG_NS: u64 = 100_000_000;
/// The most rows that stand for one time each, for every sample, and in a recording of few samples.
const MOST_PER_SAMPLE: usize = 8;
const MOST_AT_LEAST: usize = 1000;
/// Sums are taken over so long. Where that makes too many rows, ten times as long, and so on.
const SUM_NS: u64 = 1_000_000_000;

/// A thread left a CPU or came back.
#[derive(Clone, Copy, Debug)]
pub struct CpuSwitch {
    /// The thread.
    pub thread: ThreadId,
    /// When, on the clock of the samples.
    pub time_ns: u64,
    /// Whether it left.
    pub out: bool,
}

/// Pairs each thread's leaving of a CPU with its return, and adds what comes of it, together with times that were
/// summed up before.
pub fn add_off_cpu_times(
    builder: &mut Builder,
    switches: impl IntoIterator<Item = CpuSwitch>,
    sums: impl IntoIterator<Item = OffCpuTime>,
) {
    OffCpu::default().add(builder, switches, sums, true);
}

/// The times off the CPU of a recording, which may still grow.
#[derive(Default)]
pub struct OffCpu {
    left_at: FxHashMap<ThreadId, u64>,
    /// Sums of a second that may not be over.
    sums: Vec<OffCpuTime>,
    samples: usize,
    /// How many rows stand for one time each.
    single: usize,
}

impl OffCpu {
    /// Adds what came since the last time. The samples that the builder has are the new ones: they limit how many rows
    /// there may be. In the end nothing waits any more for the rest of its second.
    pub fn add(
        &mut self,
        builder: &mut Builder,
        switches: impl IntoIterator<Item = CpuSwitch>,
        sums: impl IntoIterator<Item = OffCpuTime>,
        is_last: bool,
    ) {
        self.samples +=
            builder.so_far().lanes().iter().map(|lane| lane.samples.len()).sum::<usize>();
        let most = self.samples.saturating_mul(MOST_PER_SAMPLE).max(MOST_AT_LEAST);
        let rows = self.paired(switches);
        self.sums.extend(sums);
        let (single, sums) =
            reduced(rows, std::mem::take(&mut self.sums), most.saturating_sub(self.single));
        let latest_ns = single.iter().chain(&sums).map(|row| row.start_ns).max().unwrap_or(0);
        let is_over = |row: &OffCpuTime| is_last || row.start_ns / SUM_NS < latest_ns / SUM_NS;
        let (over, open): (Vec<_>, Vec<_>) = sums.into_iter().partition(is_over);
        self.sums = open;
        self.single += single.len();
        for row in single.into_iter().chain(over) {
            builder.off_cpu_time(row);
        }
    }

    fn paired(&mut self, switches: impl IntoIterator<Item = CpuSwitch>) -> Vec<OffCpuTime> {
        let mut rows = Vec::new();
        for CpuSwitch { thread, time_ns, out } in switches {
            if out {
                self.left_at.insert(thread, time_ns);
            } else if let Some(start_ns) = self.left_at.remove(&thread)
                && let Some(length_ns) = time_ns.checked_sub(start_ns)
            {
                rows.push(OffCpuTime { thread, start_ns, length_ns, times: 1 });
            }
        }
        rows
    }
}

/// The longest times, at most `most` of them, and sums of the others, at most as many again.
fn reduced(
    rows: Vec<OffCpuTime>,
    mut sums: Vec<OffCpuTime>,
    most: usize,
) -> (Vec<OffCpuTime>, Vec<OffCpuTime>) {
    let mut lengths: Vec<u64> = rows.iter().map(|row| row.length_ns).collect();
    let limit_ns = match lengths.len().checked_sub(most + 1) {
        Some(at) => *lengths.select_nth_unstable(at).1,
        None => 0,
    };
    let is_kept = |row: &OffCpuTime| {
        let is_among_longest =
            row.length_ns >= SHORTEST_NS && (limit_ns == 0 || row.length_ns > limit_ns);
        is_among_longest || row.length_ns >= LONG_NS
    };
    let (kept, short): (Vec<_>, Vec<_>) = rows.into_iter().partition(is_kept);
    sums.extend(short);
    let mut period_ns = SUM_NS;
    let mut rows = summed(&sums, period_ns);
    while rows.len() > most.max(MOST_AT_LEAST) && period_ns < u64::MAX {
        period_ns = period_ns.saturating_mul(10);
        rows = summed(&rows, period_ns);
    }
    (kept, rows)
}

/// One row for each thread and period.
fn summed(rows: &[OffCpuTime], period_ns: u64) -> Vec<OffCpuTime> {
    let mut sums: BTreeMap<(ThreadId, u64), OffCpuTime> = BTreeMap::new();
    for row in rows {
        let none = OffCpuTime { start_ns: u64::MAX, length_ns: 0, times: 0, ..*row };
        let sum = sums.entry((row.thread, row.start_ns / period_ns)).or_insert(none);
        sum.start_ns = sum.start_ns.min(row.start_ns);
        sum.length_ns = sum.length_ns.saturating_add(row.length_ns);
        sum.times = sum.times.saturating_add(row.times);
    }
    sums.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn row(thread: u32, start_ns: u64, length_ns: u64) -> OffCpuTime {
        OffCpuTime { thread: ThreadId(thread), start_ns, length_ns, times: 1 }
    }

    #[test]
    fn short_times_are_summed_up_by_thread_and_second() {
        let second = SUM_NS;
        let rows = vec![
            row(0, 5, 99_999),
            row(0, 9, 100_000),
            row(0, MS, 30),
            row(1, 2 * MS, 40),
            row(0, second + 1, 50),
        ];
        let before = vec![OffCpuTime { times: 7, ..row(1, 3 * MS, 700) }];
        let (kept, sums) = reduced(rows, before, 1000);
        let all = [kept, sums].concat();
        let expected = [
            row(0, 9, 100_000),
            OffCpuTime { times: 2, ..row(0, 5, 100_029) },
            row(0, second + 1, 50),
            OffCpuTime { times: 8, ..row(1, 2 * MS, 740) },
        ];
        assert_eq!(all, expected);
    }

    #[test]
    fn of_many_the_longest_are_kept() {
        let rows: Vec<OffCpuTime> = (0..5000).map(|at| row(0, at * MS, MS + at % 1000)).collect();
        let total = |rows: &[OffCpuTime]| rows.iter().map(|row| row.length_ns).sum::<u64>();
        let (kept, sums) = reduced(rows.clone(), Vec::new(), 100);
        let all = [kept, sums].concat();
        let single = all.iter().filter(|row| row.times == 1).count();
        assert!((50..=100).contains(&single) && all.len() <= 105, "{single} of {}", all.len());
        assert_eq!(total(&all), total(&rows), "idle time adds up");
        let equal: Vec<OffCpuTime> = (0..5000).map(|at| row(0, at * MS, MS)).collect();
        assert_eq!(
            reduced(equal, Vec::new(), 100).1.len(),
            5,
            "none of them is longer than the others"
        );
    }

    #[test]
    fn a_day_has_no_more_rows_than_that() {
        let sums: Vec<OffCpuTime> = (0..86_400).map(|at| row(0, at * SUM_NS, 10)).collect();
        let (_, all) = reduced(Vec::new(), sums, 1000);
        assert!(
            all.len() <= 1000 && all.iter().map(|row| row.times).sum::<u32>() == 86_400,
            "{}",
            all.len()
        );
    }
}
