//! One of several processes of the same program whose loop is much busier than those of the others: load is spread
//! evenly, so the process is the difference, not the code.

use profile::{ProcessId, Profile, Role, ThreadId};

use super::{Facts, Finding, Found, found, part};
use crate::stalls::EventLoop;

/// Two can differ by chance of what they were given; three or more have a usual one.
const LEAST_PROCESSES: usize = 3;
/// It is busy for at least this part more of the time than the usual one of the others …
const BUSIER: f64 = 0.25;
/// … and for so many times as long.
const TIMES: f64 = 3.0;

/// One of several processes.
#[derive(Clone, Debug, PartialEq)]
pub struct BadWorker {
    /// Its process.
    pub process: ProcessId,
    /// Its loop.
    pub thread: ThreadId,
    /// How many others there are.
    pub others: usize,
    /// The busy part of its time.
    pub busy: f64,
    /// The usual busy part of the others.
    pub usual: f64,
    /// What it does, where that is a finding: it is told here, and not once more.
    pub cause: Option<Box<Found>>,
}

pub(super) fn find(facts: &Facts<'_>, _: &[Found]) -> Vec<Found> {
    let mut loops: Vec<(&EventLoop, f64)> = facts
        .turns
        .watched()
        .filter(|row| facts.profile.thread(row.thread).role != Role::Worker && row.watched_ns > 0)
        .filter_map(|row| Some((row, 1.0 - part(row.polled_ns?, row.watched_ns))))
        .collect();
    loops.retain(|(row, _)| !is_primary(facts, row.thread));
    loops.sort_by(|a, b| b.1.total_cmp(&a.1));
    let Some(((worst, busy), others)) = loops.split_first() else { return Vec::new() };
    if others.len() + 1 < LEAST_PROCESSES {
        return Vec::new();
    }
    let usual = others.get(others.len() / 2).map_or(0.0, |(_, busy)| *busy);
    if *busy < usual + BUSIER || *busy < usual * TIMES {
        return Vec::new();
    }
    let worker = BadWorker {
        process: facts.profile.thread(worst.thread).process,
        thread: worst.thread,
        others: others.len(),
        busy: *busy,
        usual,
        cause: None,
    };
    let lost_ns = ((busy - usual) * worst.watched_ns as f64) as u64;
    vec![found(lost_ns, Finding::BadWorker(worker))]
}

/// The process that started the others has other things to do. Pids grow, so it has the lowest.
fn is_primary(facts: &Facts<'_>, thread: ThreadId) -> bool {
    let pid =
        |profile: &Profile, thread: ThreadId| profile.process(profile.thread(thread).process).pid;
    let lowest = facts.turns.watched().filter_map(|row| pid(facts.profile, row.thread)).min();
    pid(facts.profile, thread) == lowest
}

/// The first finding about the loop of a bad worker alone becomes its cause. It stands where the more costly of the two
/// stood.
pub(super) fn take_cause(list: &mut Vec<Found>) {
    let Some(place) = list.iter().position(|found| matches!(found.finding, Finding::BadWorker(_)))
    else {
        return;
    };
    let mut found = list.remove(place);
    let mut first = place;
    if let Finding::BadWorker(worker) = &mut found.finding {
        let is_its = |found: &Found| found.finding.threads() == [worker.thread];
        if let Some(row) = list.iter().position(is_its) {
            let cause = list.remove(row);
            found.lost_ns = found.lost_ns.max(cause.lost_ns);
            worker.cause = Some(Box::new(cause));
            first = first.min(row);
        }
    }
    list.insert(first, found);
}
