//! By which way a process is recorded. Perf events come first, because they see everything and the process does not
//! notice; Node's own profiler where they are not permitted. A port is never opened unasked.

use std::io;
use std::time::Duration;

use target::{InspectorWay, Places, Process};

use super::target::Target;
use crate::cli::{self, Via};
use crate::failure::{Failure, warn};
use crate::record::consent::{ask_to_open, can_ask};
use crate::{advice, invoked};

/// Settles the way to a target; `printed` gets what was printed about its names, so that it is not printed again.
pub(super) fn choose(
    arguments: &cli::Record,
    target: &Target,
    printed: &mut Vec<String>,
) -> Result<Via, Failure> {
    let asks_for_perf = !arguments.event.is_empty() || arguments.no_heap;
    if arguments.way.via != Via::Auto || target.is_command() || target.is_system() || asks_for_perf
    {
        return Ok(arguments.way.via);
    }
    if lacking(target, &Places::without_ports()).is_none() {
        return Ok(Via::Perf);
    }
    let Some(process) = lacking(target, &Places::default()) else { return Ok(Via::Perf) };
    let ways = &process.ways;
    let why = match ways.perf.open {
        false => format!("perf events are not permitted: {}", ways.perf.why),
        true => format!("perf events would show JavaScript without names: {}", ways.names.why),
    };
    match &ways.inspector {
        InspectorWay::Open { port } => {
            warn(&format!("{why}; its inspector is open on port {port}, and is used"));
            Ok(Via::Inspector)
        }
        InspectorWay::CanBeOpened if can_ask() => match ask_to_open(&why, process.pid)? {
            true => Ok(Via::Inspector),
            false => Ok(Via::Perf),
        },
        InspectorWay::CanBeOpened if !ways.perf.open => Err(Failure::failed(why).hint(format!(
            "Node's own profiler works here: {}; for perf events: {}",
            again(arguments, &process),
            perf_advice(target)
        ))),
        InspectorWay::CanBeOpened => {
            warn(&format!("{why}; with names: {}", again(arguments, &process)));
            printed.push(ways.names.why.clone());
            Ok(Via::Perf)
        }
        // The error of perf events is the better advice.
        InspectorWay::Closed { .. } => Ok(Via::Perf),
    }
}

/// The first process for which perf events do not show everything.
fn lacking(target: &Target, places: &Places) -> Option<Process> {
    let lacks = |process: &Process| !process.ways.perf.open || !process.ways.names.open;
    let is_meant = |process: &Process| target.pids().contains(&process.pid) && process.is_certain;
    let list = target::list(places, Duration::ZERO).ok()?;
    list.processes.into_iter().find(|process| is_meant(process) && lacks(process))
}

/// What would permit perf events.
fn perf_advice(target: &Target) -> String {
    let (limits, subject) = (advice::limits(), target.subject());
    let obstacle = advice::refusal(&limits, subject.is_anothers);
    advice::advise(obstacle, &io::ErrorKind::PermissionDenied.into(), &limits, &subject).fix
}

/// What the exact command is.
fn again(arguments: &cli::Record, process: &Process) -> String {
    let time = arguments.duration.as_ref().map(|time| format!(" -d {time}")).unwrap_or_default();
    format!("{} record {} --via inspector{time}", invoked::name(), process.pid)
}
