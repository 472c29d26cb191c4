//! Recording by Node's own profiler, through its inspector: of one process, of several one after another or in turn, or
//! of whatever listens at an address. What comes is written at once, as chunks of our own file.

mod closing;
mod collect;
mod plan;
mod process;
mod say;
mod visit;

use std::path::{Path, PathBuf};

use super::spool::{MOST_IN_MEMORY, Spool};
use super::words::name_for;
use super::{Output, Recorded, Showing, complete, limit, read_back};
use crate::cli;
use crate::failure::{Failure, warn};
use crate::{input, select};
use collect::Collector;
use plan::Plan;
use visit::{Place, Visit};

pub(crate) use closing::close_inspector;
pub(super) use process::Process;
#[cfg(target_os = "linux")]
pub(super) use say::{WHO_CAN_ATTACH, primary as say_primary};

/// More samples a second than this are felt.
const MOST_SAMPLES: u32 = 1000;

/// Records processes.
pub(super) fn run(
    arguments: &cli::Record,
    processes: Vec<Process>,
    default: &Path,
    most_in_memory: u64,
    showing: &Showing,
) -> Result<(), Failure> {
    let places: Vec<Place> = processes.into_iter().map(Place::Process).collect();
    record(arguments, &places, default, most_in_memory, showing)
}

/// Records whatever listens at an address.
pub(super) fn run_at_address(arguments: &cli::Record, showing: &Showing) -> Result<(), Failure> {
    let typed = arguments.way.connect.as_deref().unwrap_or_default();
    let address: inspector::Address = typed.parse().map_err(|error: inspector::AddressError| {
        Failure::usage(format!("--connect {typed}: {error}")).hint("--connect localhost:9229")
    })?;
    let name = name_for(&address.host, u32::from(address.port));
    record(arguments, &[Place::Address(address)], &name, MOST_IN_MEMORY, showing)
}

fn record(
    arguments: &cli::Record,
    places: &[Place],
    default: &Path,
    most_in_memory: u64,
    showing: &Showing,
) -> Result<(), Failure> {
    if arguments.frequency > MOST_SAMPLES && !arguments.way.force {
        return Err(Failure::usage(format!(
            "{} samples a second slow a process down by a fifth and more",
            arguments.frequency
        ))
        .hint("-F 1000, or --force"));
    }
    let each = arguments.way.each.as_deref().map(select::parse_duration).transpose()?;
    let plan = Plan::new(places.len(), limit(arguments)?, each)?;
    let out = Output::new(arguments, || PathBuf::from(default))?;
    let spool = Spool::create(&out.path, &profile::file::file_header(), most_in_memory)?;
    sys::signals::catch_end().map_err(|error| Failure::failed(error.to_string()))?;
    sys::signals::ignore_stop();
    let mut collector = Collector::new(spool, arguments.frequency, plan.whole());
    let visited = visit_all(arguments, places, plan, &mut collector);
    let (profile, mut spool) = match collector.finish() {
        Ok(found) => found,
        // Why there is nothing is told by what went wrong first.
        Err(failure) => return Err(visited.err().unwrap_or(failure)),
    };
    let roots = visit::roots(places);
    let profile = input::with_originals(profile, arguments.maps, None, &roots);
    let profile = input::with_texts(profile, arguments.texts.with_source, None, &roots);
    complete(&Recorded { profile, is_in_spool: false }, arguments, &out, &mut spool, showing)?;
    visited
}

/// Visits each process in its turn. One that cannot be recorded is no reason to leave out the others.
fn visit_all(
    arguments: &cli::Record,
    places: &[Place],
    plan: Plan,
    collector: &mut Collector,
) -> Result<(), Failure> {
    let mut is_lost = vec![false; places.len()];
    let mut first_failure = None;
    for stay in plan {
        if sys::signals::ended() || collector.is_full() || is_lost.iter().all(|is_lost| *is_lost) {
            break;
        }
        if is_lost[stay.place] {
            continue;
        }
        let visit =
            Visit { place: &places[stay.place], arguments, stay: stay.length, is_only: places.len() == 1 };
        match visit.run(collector) {
            Ok(goes_on) => is_lost[stay.place] = !goes_on,
            Err(failure) if places.len() == 1 => return Err(failure),
            Err(failure) => {
                is_lost[stay.place] = true;
                if let Failure::Said { what, .. } = &failure {
                    warn(what);
                }
                first_failure.get_or_insert(failure);
            }
        }
    }
    match first_failure {
        Some(failure) if is_lost.iter().all(|is_lost| *is_lost) && collector.is_empty() => Err(failure),
        _ => Ok(()),
    }
}
