//! What a session costs its targets, and the CPU time that they used meanwhile, as they report it.

use inspector::{Moment, Stall};
use profile::Cost;

/// What a thread lost because of us.
pub(super) fn cost_of(stall: &Stall) -> Cost {
    let ns = |ms: f64| (ms * 1e6).clamp(0.0, 1e15) as u64;
    let (time_ns, cpu_ns) =
        (ns(stall.begin_ms + stall.end_ms), ns(stall.begin_cpu_ms + stall.end_cpu_ms));
    let cost = Cost { total_cpu_ns: cpu_ns, ..Cost::default() };
    match stall.moment {
        Moment::Start => Cost { start_ns: time_ns, start_cpu_ns: cpu_ns, ..cost },
        Moment::List => Cost { list_ns: time_ns, list_cpu_ns: cpu_ns, ..cost },
        Moment::Change => Cost { windows: 1, window_ns: time_ns, window_cpu_ns: cpu_ns, ..cost },
        Moment::End => Cost { end_ns: time_ns, end_cpu_ns: cpu_ns, ..cost },
    }
}

/// What V8 needs when profiling begins: it looks through its whole heap for code. Measured with small programs, 20,000
/// functions and TypeScript's compiler: 12 ms at 4 MB, 50 ms at 29 MB, 110 ms at 80 MB. Then it looks for functions:
/// 3 ms at 4 MB, 8 ms at 30 MB, 24 to 36 ms at 120 MB.
const START_MS: f64 = 12.0;
const START_MS_PER_MB: f64 = 1.6;

/// For how long a process stands still when profiling begins, at most.
pub(super) fn start_ms(heap_bytes: f64) -> f64 {
    START_MS + START_MS_PER_MB * heap_bytes / 1e6
}

/// The CPU time that processes used while they were visited, one visit after another.
#[derive(Debug, Default)]
pub(super) struct CpuTime {
    /// Of the visits that are over.
    before_ms: f64,
    /// Of this visit: what the process had used when it was met, and what it has used by now.
    visit_ms: Option<(f64, f64)>,
}

impl CpuTime {
    /// Notes what a process has used so far. All of its threads report the same clock.
    pub(super) fn note(&mut self, now_ms: f64) {
        let (_, last_ms) = self.visit_ms.get_or_insert((now_ms, now_ms));
        *last_ms = last_ms.max(now_ms);
    }

    /// A visit is over.
    pub(super) fn end_visit(&mut self) {
        self.before_ms += self.this_visit_ms();
        self.visit_ms = None;
    }

    /// Of all visits, as far as it is known by now.
    pub(super) fn total_ns(&self) -> u64 {
        ((self.before_ms + self.this_visit_ms()) * 1e6).clamp(0.0, 1e18) as u64
    }

    fn this_visit_ms(&self) -> f64 {
        self.visit_ms.map_or(0.0, |(met_ms, last_ms)| (last_ms - met_ms).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_visit_counts_what_was_used_during_it() {
        let mut cpu = CpuTime::default();
        // Answers of several threads come in any order; nothing is known of the third visit.
        for visit in [&[100.0, 150.0, 149.0][..], &[9000.0, 9001.5], &[]] {
            visit.iter().for_each(|now_ms| cpu.note(*now_ms));
            let so_far_ns = cpu.total_ns();
            cpu.end_visit();
            assert_eq!(cpu.total_ns(), so_far_ns);
        }
        assert_eq!(cpu.total_ns(), 51_500_000);
        cpu.note(f64::NAN);
        cpu.end_visit();
        assert!(cpu.total_ns() <= 51_500_000, "what is no number adds nothing");
    }

    #[test]
    fn stalls_are_distinguished_by_their_moments() {
        let stall = |moment| Stall {
            moment,
            begin_ms: 2.0,
            end_ms: 1.0,
            begin_cpu_ms: 1.0,
            ..Stall::default()
        };
        let mut cost = Cost::default();
        for moment in [Moment::Start, Moment::List, Moment::Change, Moment::Change, Moment::End] {
            cost.add(&cost_of(&stall(moment)));
        }
        assert_eq!(
            (cost.start_ns, cost.list_ns, cost.window_ns),
            (3_000_000, 3_000_000, 3_000_000)
        );
        assert_eq!((cost.windows, cost.total_cpu_ns), (2, 5_000_000));
    }
}
