//! Recording where there are no perf events: a Node process by its pid or by words of its command line, through its
//! inspector. One that is closed is opened when the user has asked for it, by `--via inspector` or at the terminal.

mod choose;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(windows)]
mod windows;

use ::target::InspectorPort;

use super::Showing;
use super::consent::{ask_to_open, can_ask};
use super::inspect::{self, Process};
use super::spool::MOST_IN_MEMORY;
use super::words::name_for;
use crate::cli::{self, Via};
use crate::failure::{Failure, warn};
use crate::invoked;
use choose::Chosen;
#[cfg(target_os = "macos")]
use macos as here;
#[cfg(windows)]
use windows as here;

/// Why the inspector is the way.
const NO_PERF: &str = "perf events are of Linux";

/// Records the processes that were named.
pub(super) fn run(arguments: &cli::Record, showing: &Showing) -> Result<(), Failure> {
    refuse_linux(arguments)?;
    let Chosen { name, processes } = choose::processes(arguments)?;
    consent(arguments, &processes)?;
    let default = name_for(&name, processes[0].pid);
    inspect::run(arguments, processes, &default, MOST_IN_MEMORY, showing)
}

/// What only perf events, or only Linux, can do.
fn refuse_linux(arguments: &cli::Record) -> Result<(), Failure> {
    let on_linux = |what: &str| Failure::failed(format!("nodescope {what} on Linux only"));
    if !arguments.command.is_empty() {
        return Err(on_linux("starts and records a command")
            .hint(format!("start it, then {}", command("PID"))));
    }
    let asks_for_perf = arguments.way.via == Via::Perf
        || arguments.system
        || arguments.no_heap
        || !arguments.event.is_empty();
    if asks_for_perf {
        return Err(on_linux("records by perf events").hint(again("PID")));
    }
    match arguments.processes.container {
        Some(_) => Err(on_linux("finds containers").hint(format!(
            "publish the port of its inspector: {} record --connect localhost:9229",
            invoked::name()
        ))),
        None => Ok(()),
    }
}

/// An inspector that is open may be used; opening one needs the user's consent.
fn consent(arguments: &cli::Record, processes: &[Process]) -> Result<(), Failure> {
    if arguments.way.via == Via::Inspector {
        return Ok(());
    }
    for process in processes {
        let pid = process.pid;
        match InspectorPort::find(pid) {
            Ok(Some(port)) => warn(&format!(
                "{NO_PERF}; the inspector of process {pid} is open on port {}, and is used",
                port.port()
            )),
            _ if can_ask() && here::may_be_asked(&arguments.way) => {
                if !ask_to_open(NO_PERF, pid)? {
                    return Err(Failure::failed("nothing was opened, and nothing recorded"));
                }
            }
            _ => {
                return Err(Failure::failed(format!(
                    "{NO_PERF}, and the inspector of process {pid} is closed"
                ))
                .hint(again(&pid.to_string())));
            }
        }
    }
    Ok(())
}

fn again(target: &str) -> String {
    format!("Node's own profiler works here: {}", command(target))
}

/// The command that opens the inspector, and what the user has to know for it.
fn command(target: &str) -> String {
    format!("{} record {target} {}{}", invoked::name(), here::OPTIONS, here::CONDITION)
}
