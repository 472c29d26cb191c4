//! What can go together when a process is recorded, by perf events or by Node's own profiler.

use crate::cli::{self, Via};
use crate::failure::Failure;
use crate::invoked;

/// Refuses what cannot go together.
pub(super) fn check(arguments: &cli::Record) -> Result<(), Failure> {
    let way = &arguments.way;
    let by_inspector = way.via == Via::Inspector || way.connect.is_some();
    let is_named = arguments.processes.target.is_some()
        || !arguments.processes.pid.is_empty()
        || arguments.processes.all;
    let inspector = |what: &str| {
        Err(Failure::usage(format!("{what} needs the inspector"))
            .hint(format!("{} record TARGET --via inspector", invoked::name())))
    };
    let perf =
        |what: &str| Err(Failure::usage(format!("{what} needs perf events")).hint("--via perf"));
    if way.connect.is_some()
        && (way.via == Via::Perf || is_named || arguments.processes.container.is_some())
    {
        return Err(Failure::usage("--connect already names the process and the way in")
            .hint(format!("{} record --connect localhost:9229", invoked::name())));
    }
    match way.via {
        Via::Auto | Via::Perf if !by_inspector && way.calls => inspector("--calls"),
        Via::Perf | Via::Auto if !by_inspector && way.each.is_some() => inspector("--each"),
        _ if !by_inspector => Ok(()),
        _ if !arguments.command.is_empty() => perf("recording a command from its start"),
        _ if arguments.system => perf("recording the whole machine"),
        _ if !arguments.event.is_empty() => perf("--event"),
        _ if arguments.no_heap => perf("--no-heap"),
        _ => Ok(()),
    }
}
