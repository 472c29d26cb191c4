//! Recording on Linux: the processes are found, and the way to them is chosen.

pub(crate) mod choose;
pub(crate) mod perf;
pub(crate) mod target;
mod via;

use std::collections::BTreeSet;
use std::time::Duration;

use ::live::{container_name, proc};
use ::target::{InspectorWay, Places, Role};

use self::target::Target;
use super::Showing;
use super::inspect::{self, Process};
use super::spool::MOST_IN_MEMORY;
use super::words::name_for;
use crate::cli::{self, Via};
use crate::failure::Failure;
use crate::invoked;

pub(crate) use self::target::stand_in;

/// Records what was meant.
pub(super) fn run(arguments: &cli::Record, showing: &Showing) -> Result<(), Failure> {
    let target = Target::find(arguments)?;
    let mut printed = Vec::new();
    match via::choose(arguments, &target, &mut printed)? {
        Via::Inspector => by_inspector(arguments, &target, showing),
        Via::Auto | Via::Perf => perf::run(arguments, target, printed, showing),
    }
}

/// Makes sure that the kernel does not kill a target for our memory where both share a limit. Returns how many bytes of
/// the recording may stay in memory.
pub(crate) fn leave_room(pids: &[u32]) -> Result<u64, Failure> {
    let room = ::live::leave_room(pids).map_err(|room| {
        Failure::failed(format!(
            "only {} MB are left before the target's memory limit, which counts for nodescope, too",
            room.left_bytes >> 20
        ))
        .hint("record it from outside of its container")
    })?;
    Ok(room.map_or(MOST_IN_MEMORY, |room| room.min(MOST_IN_MEMORY)))
}

fn by_inspector(
    arguments: &cli::Record,
    target: &Target,
    showing: &Showing,
) -> Result<(), Failure> {
    let processes = nodes(target)?;
    let most_in_memory = leave_room(target.pids())?;
    let name = name_for(target.name(), processes[0].pid);
    inspect::run(arguments, processes, &name, most_in_memory, showing)
}

/// The Node processes that were meant, the busiest first. A cluster's primary makes its workers open their inspectors
/// when its own is opened, and nothing would close those: it is left out, unless its port is open already.
fn nodes(target: &Target) -> Result<Vec<Process>, Failure> {
    let list = ::target::list(&Places::default(), Duration::from_millis(100))
        .map_err(|error| Failure::failed(format!("cannot read /proc: {error}")))?;
    let is_worker = |process: &&::target::Process| matches!(process.role, Role::Worker { .. });
    let parents: BTreeSet<u32> =
        list.processes.iter().filter(is_worker).map(|one| one.parent_pid).collect();
    let is_closed =
        |process: &::target::Process| !matches!(process.ways.inspector, InspectorWay::Open { .. });
    let pids = target.all_pids();
    let found: Vec<::target::Process> =
        list.processes.into_iter().filter(|process| pids.contains(&process.pid)).collect();
    let (primaries, mut others): (Vec<::target::Process>, Vec<::target::Process>) =
        found.into_iter().partition(|process| parents.contains(&process.pid) && is_closed(process));
    others.sort_by(|one, two| two.cpu_cores.total_cmp(&one.cpu_cores));
    if let (Some(primary), false) = (primaries.first(), others.is_empty()) {
        let is_own =
            |process: &&::target::Process| process.parent_pid == primary.pid && is_worker(process);
        inspect::print_primary(primary.pid, others.iter().filter(is_own).count());
    }
    match primaries.first() {
        _ if !others.is_empty() => Ok(others.into_iter().map(outside_of).collect()),
        Some(primary) => Err(Failure::failed(format!(
            "process {} is the primary of a cluster: opening its inspector would open those of its workers, too",
            primary.pid
        ))
        .hint("record its workers: leave out --no-children, or name one of them")),
        None => Err(Failure::failed(format!("{} is not Node, and has no inspector", target.describe()))
            .hint(format!("{} ps lists the Node processes", invoked::name()))),
    }
}

fn outside_of(process: ::target::Process) -> Process {
    Process {
        pid: process.pid,
        inner_pid: process.inner_pid,
        command: Some(process.short_command()),
        app: process.app,
        folder: process.folder,
        ports: process.ports,
        container: process.container.as_ref().map(container_name),
        root: proc::root(process.pid).map(|(root, _)| root),
    }
}
