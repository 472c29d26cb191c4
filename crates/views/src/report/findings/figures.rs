//! The numbers in the words of a finding, for programs.

use super::groups;
use crate::{Finding, StallGroup};

/// The numbers in the words of a finding; none where they have none.
#[derive(Default)]
pub(super) struct Figures {
    pub(super) share: Option<f64>,
    pub(super) samples: Option<u64>,
    pub(super) worst_ns: Option<u64>,
    pub(super) every_ns: Option<u64>,
}

/// docs/report.md says of each kind what the share is of.
pub(super) fn figures(finding: &Finding) -> Figures {
    let sampled = |share: f64, samples: u64| Figures {
        share: Some(share),
        samples: Some(samples),
        ..of_stalls(&groups(finding))
    };
    let stalled = |share: Option<f64>, worst_ns: u64| {
        let worst_ns = Some(worst_ns).filter(|ns| *ns > 0);
        Figures { share, worst_ns, ..Figures::default() }
    };
    match finding {
        Finding::CpuLimit(limit) => stalled(limit.throttled_share, limit.longest_ns),
        Finding::CpuWait(wait) => stalled(None, wait.longest_ns),
        Finding::MemoryPressure(_) => Figures::default(),
        Finding::Gc(gc) => Figures {
            share: Some(gc.worst.of_time.unwrap_or(gc.worst.of_cpu)),
            samples: Some(gc.worst.gc_samples),
            worst_ns: gc.rhythm.map(|rhythm| rhythm.longest_ns),
            every_ns: gc.rhythm.and_then(|rhythm| rhythm.every_ns),
        },
        Finding::Called(called) => sampled(called.share, called.samples),
        Finding::Stalls(group) => sampled(group.share, group.of_samples),
        Finding::Package(package) => sampled(package.share, package.samples),
        Finding::Busy(busy) => sampled(part_in_turns(&busy.row), busy.sampled.1),
        Finding::Pool(pool) => stalled(Some(pool.full), 0),
        Finding::BadWorker(worker) => sampled(worker.busy, worker.busy_with.sampled.1),
    }
}

/// The part of the time in which a loop was in a turn.
pub(super) fn part_in_turns(row: &crate::EventLoop) -> f64 {
    1.0 - crate::share(row.polled_ns.unwrap_or(0), row.watched_ns.max(1))
}

/// The longest of all groups; the rhythm is that of the first, which the words give.
fn of_stalls(groups: &[&StallGroup]) -> Figures {
    Figures {
        worst_ns: groups.iter().map(|group| group.rhythm.longest_ns).max(),
        every_ns: groups.first().and_then(|group| group.rhythm.every_ns),
        ..Figures::default()
    }
}
