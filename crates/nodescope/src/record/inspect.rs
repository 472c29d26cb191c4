//! Recording by Node's own profiler: arguments become options, what the session reports becomes messages, and its
//! chunks become OUT.part, and in the end OUT.

mod messages;
mod recipient;

use std::path::{Path, PathBuf};
use std::time::Duration;

use live::inspected::{self, Options, Place};

use super::spool::MOST_IN_MEMORY;
use super::words::name_for;
use super::{Output, Showing, complete, create_spool, is_plain, limit, read_back};
use crate::cli;
use crate::failure::Failure;
use crate::{input, select};
use recipient::Writing;

pub(super) use live::inspected::Process;
pub(super) use messages::WHO_CAN_ATTACH;
#[cfg(target_os = "linux")]
pub(super) use messages::print_primary;

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

/// Records the target at an address.
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
    let options = options(arguments)?;
    let out = Output::new(arguments, || PathBuf::from(default))?;
    let spool = create_spool(arguments, &out, most_in_memory)?;
    sys::signals::catch_end().map_err(|error| Failure::failed(error.to_string()))?;
    sys::signals::ignore_stop();
    let mut writing = Writing::new(arguments, spool, options.whole(places.len()));
    let visited = inspected::record(places, &options, &mut writing)
        .map_err(|error| messages::failure(&error));
    let mut spool = writing.finish();
    let profile = match read_back(&mut spool) {
        Ok(profile) => profile,
        Err(failure) => return Err(visited.err().unwrap_or(failure)),
    };
    if profile.lanes().iter().all(|lane| lane.samples.is_empty()) {
        spool.remove();
        // What went wrong is the reason why there is nothing.
        visited?;
        return Err(Failure::failed("nothing was recorded").hint("record it for longer: -d 10s"));
    }
    let profile = match arguments.texts.with_source {
        true => input::with_texts(profile, true, None, &inspected::roots(places)),
        false => profile,
    };
    if is_plain(arguments, &out) {
        spool.become_file(&out.path);
    }
    complete(&profile, arguments, &out, &mut spool, showing)?;
    visited
}

fn options(arguments: &cli::Record) -> Result<Options, Failure> {
    let (frequency, way) = (arguments.frequency.base(), &arguments.way);
    if frequency > MOST_SAMPLES && !way.force {
        return Err(Failure::usage(format!(
            "{frequency} samples a second slow a process down by a fifth and more"
        ))
        .hint("-F 1000, or --force"));
    }
    let each =
        way.each.as_deref().map(|text| select::parse_duration("--each", text)).transpose()?;
    if each.is_some_and(|each| each.is_zero()) {
        return Err(Failure::usage("--each needs some time").hint("--each 10s"));
    }
    Ok(Options {
        interval: Duration::from_nanos(1_000_000_000 / u64::from(frequency.max(1))),
        limit: limit(arguments)?,
        each,
        calls: way.calls,
        leaves_maps: arguments.maps.no_source_maps,
        own: arguments.own.names(),
        has_no_listener: way.no_sigusr1_listener,
        profiled_too: way.force,
    })
}
