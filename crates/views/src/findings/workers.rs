//! One of several processes of the same program whose loop is much busier than those of the others: load is spread
//! evenly, so the process is the difference, not the code.

use std::collections::BTreeMap;

use profile::{Process, ProcessId, Role, StringId, ThreadId};

use super::busy::{Busy, causes};
use super::{Facts, Finding, Found, found, part};
use crate::identity;
use crate::stalls::EventLoop;

/// Two can differ by chance of what they were given; three or more have a usual one.
const LEAST_PROCESSES: usize = 3;
/// It is busy for at least this part more of the time than the usual one of the others: a quarter of a CPU is worth
/// looking for, and the rounds of a balancer differ by less …
const BUSIER: f64 = 0.25;
/// … and for so many times as long: workers with 50 and 80 % are the same program with uneven load. One that has twice the
/// connections is no bad one.
const TIMES: f64 = 3.0;

/// Who started so many of the others is their primary: one may be a helper.
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
    /// What it does, where that is a finding: it is reported here, and not once more.
    pub cause: Option<Box<Found>>,
    /// What its loop is busy with: it may be busy with work that is no finding by itself.
    pub busy_with: Busy,
}

/// What processes of the same program have in common: name, command, and who started them. A supervisor starts other
/// programs, too, and two copies of a program that different ones started may serve different things.
type Program = (StringId, StringId, Option<u32>);

pub(super) fn find(facts: &Facts<'_>, _: &[Found]) -> Vec<Found> {
    let launchers = identity::launchers(facts.profile);
    let id = |row: &EventLoop| facts.profile.thread(row.thread).process;
    let process = |row: &EventLoop| facts.profile.process(id(row));
    let loops: Vec<(&EventLoop, f64)> = facts
        .turns
        .watched()
        .filter(|row| facts.profile.thread(row.thread).role != Role::Worker && row.watched_ns > 0)
        .filter(|row| !launchers.contains(&id(row)))
        .filter_map(|row| Some((row, busy(facts, row)?)))
        .collect();
    let all: Vec<&Process> = loops.iter().map(|(row, _)| process(row)).collect();
    let mut programs: BTreeMap<Program, Vec<(&EventLoop, f64)>> = BTreeMap::new();
    for (row, busy) in loops.iter().filter(|(row, _)| !is_primary(process(row), &all)) {
        let Process { app, command, parent_pid, .. } = process(row);
        programs.entry((*app, *command, *parent_pid)).or_default().push((row, *busy));
    }
    programs.into_values().filter_map(|loops| worst_of(facts, loops)).collect()
}

/// The part of its time in which a loop was in turns and did not wait for a CPU.
fn busy(facts: &Facts<'_>, row: &EventLoop) -> Option<f64> {
    let busy_ns = row.watched_ns.saturating_sub(row.polled_ns?);
    Some(part(busy_ns.saturating_sub(facts.waited_ns(row.thread)), row.watched_ns))
}

/// The busiest of the loops of one program, where it is much busier than the others.
fn worst_of(facts: &Facts<'_>, mut loops: Vec<(&EventLoop, f64)>) -> Option<Found> {
    loops.sort_by(|a, b| b.1.total_cmp(&a.1));
    let ((worst, busy), others) = loops.split_first()?;
    if others.len() + 1 < LEAST_PROCESSES {
        return None;
    }
    let usual = others.get(others.len() / 2).map_or(0.0, |(_, busy)| *busy);
    if *busy < usual + BUSIER || *busy < usual * TIMES {
        return None;
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
    Some(found(lost_ns, Finding::BadWorker(worker)))
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
pub(super) fn take_causes(list: &mut Vec<Found>) {
    let without_cause = |found: &Found| match &found.finding {
        Finding::BadWorker(worker) => worker.cause.is_none().then_some(worker.thread),
        _ => None,
    };
    let threads: Vec<ThreadId> = list.iter().filter_map(without_cause).collect();
    for thread in threads {
        let is_its = |found: &Found| without_cause(found) == Some(thread);
        if let Some(place) = list.iter().position(is_its) {
            take_cause(list, place);
        }
    }
}

fn take_cause(list: &mut Vec<Found>, place: usize) {
    let mut found = list.remove(place);
    let mut first = place;
    if let Finding::BadWorker(worker) = &mut found.finding {
        let is_its = |found: &Found| {
            !matches!(found.finding, Finding::BadWorker(_))
                && found.finding.threads() == [worker.thread]
        };
        if let Some(row) = list.iter().position(is_its) {
            let cause = list.remove(row);
            found.lost_ns = found.lost_ns.max(cause.lost_ns);
            worker.cause = Some(Box::new(cause));
            first = first.min(row);
        }
    }
    list.insert(first, found);
}
