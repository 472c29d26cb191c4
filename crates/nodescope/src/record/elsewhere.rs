//! Recording where there are no perf events: a process by its pid, through its inspector.

use super::Showing;
use super::inspect::{self, Process};
use super::spool::MOST_IN_MEMORY;
use super::words::name_for;
use crate::cli::{self, Via};
use crate::failure::Failure;

/// Records the processes that were named.
pub(super) fn run(arguments: &cli::Record, showing: &Showing) -> Result<(), Failure> {
    let not_here = |what: &str| {
        Failure::failed(format!("{what} on Linux only")).hint(
            "nodescope record PID --via inspector, or nodescope record --connect localhost:9229",
        )
    };
    if arguments.way.via != Via::Inspector {
        return Err(not_here("nodescope records by perf events"));
    }
    let typed = arguments.target.as_deref().map(str::parse).transpose();
    let typed =
        typed.map_err(|_| not_here("nodescope finds processes by words of their command lines"))?;
    let pids: Vec<u32> = typed.into_iter().chain(arguments.pid.iter().copied()).collect();
    let Some(first) = pids.first() else { return Err(not_here("nodescope finds processes")) };
    let name = name_for("node", *first);
    let process = |pid| Process { pid, inner_pid: pid, ..Process::default() };
    inspect::run(arguments, pids.into_iter().map(process).collect(), &name, MOST_IN_MEMORY, showing)
}
