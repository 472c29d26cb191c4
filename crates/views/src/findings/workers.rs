//! One of several processes of the same program whose loop is much busier than those of the others: load is spread
//! evenly, so the process is the difference, not the code.

use profile::{Process, ProcessId, Role, ThreadId};

use super::busy::{Busy, causes};
use super::{Facts, Finding, Found, found, part};
use crate::stalls::EventLoop;

/// Two can differ by chance of what they were given; three or more have a usual one.
const LEAST_PROCESSES: usize = 3;
/// It is busy for at least this part more of the time than the usual one of the others …
const BUSIER: f64 = 0.25;
/// … and for so many times as long.
const TIMES: f64 = 3.0;

/// Who started so many of the others is their primary.
const SEVERAL_STARTED: usize = 2;

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
    /// What its loop is busy with: it may be busy with work that is no finding by itself.
    pub busy_with: Busy,
}

pub(super) fn find(facts: &Facts<'_>, _: &[Found]) -> Vec<Found> {
    let mut loops: Vec<(&EventLoop, f64)> = facts
        .turns
        .watched()
        .filter(|row| facts.profile.thread(row.thread).role != Role::Worker && row.watched_ns > 0)
        .filter_map(|row| Some((row, 1.0 - part(row.polled_ns?, row.watched_ns))))
        .collect();
    let process = |row: &EventLoop| facts.profile.process(facts.profile.thread(row.thread).process);
    let all: Vec<&Process> = loops.iter().map(|(row, _)| process(row)).collect();
    loops.retain(|(row, _)| !is_primary(process(row), &all));
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
        busy_with: causes(facts, worst),
    };
    let lost_ns = ((busy - usual) * worst.watched_ns as f64) as u64;
    vec![found(lost_ns, Finding::BadWorker(worker))]
}

/// The process that started the others has other things to do. A worker may have started one helper; who started several
/// of them is what they have in common. Recordings that do not know who started a process have grown with their pids: the
/// lowest is taken for the primary there.
fn is_primary(process: &Process, all: &[&Process]) -> bool {
    match process.parent_pid {
        Some(_) => {
            let started = all.iter().filter(|other| other.parent_pid == process.pid);
            started.count() >= SEVERAL_STARTED
        }
        None => process.pid == all.iter().filter_map(|other| other.pid).min(),
    }
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
