//! Sessions by Node's own profiler, through the inspector: of one process, of several one after another or in turn, or
//! of a target at an address. [`record`] takes [`Place`]s and [`Options`] and works until the time is over or the
//! [`Recipient`] wants an end. It reports everything to the recipient as [`News`]: above all chunks of our own file,
//! which follow [`profile::file::file_header`] and make a recording of which every prefix of chunks opens.
//!
//! ```text
//! places, options ──► record ──► News::Chunk …   a window of one thread each, named, written when it arrives
//!                          ├───► News::Samples   how many there are by now, in each round of 50 ms
//!                          ├───► News::Opening, Starting, Ended, …   what the user has to know
//!                          └───► Result<(), Error>   why places could not be recorded; the chunks are sound either way
//! ```
//!
//! A chunk is a window of V8's profiler, or what is known at the end. A window lasts a second, and longer, up to ten,
//! where a change of windows would cost the target more than 0.4 % of its time (`crates/inspector/src/pace.rs`):
//! shorter chunks would make the target pay for more windows. Nothing is printed here, and an inspector that was opened
//! for a session is closed again, whatever happens.

mod closing;
mod collect;
mod cost;
mod error;
mod news;
mod plan;
mod process;
mod scripts;
mod visit;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

pub use closing::close_inspector;
pub use error::Error;
pub use news::{News, Recipient, Start};
pub use process::{Place, Process};

use collect::Collector;
use plan::Plan;
use profile::OwnNames;
use visit::Visit;

/// How places are recorded.
#[derive(Clone, Debug)]
pub struct Options {
    /// The time between two samples.
    pub interval: Duration,
    /// For how long: each place, or all of them together where `each` is set. `None` means until the end.
    pub limit: Option<Duration>,
    /// Several places are visited in turn, for so long at a time.
    pub each: Option<Duration>,
    /// Whether calls are counted.
    pub calls: bool,
    /// Whether source maps are left alone.
    pub leaves_maps: bool,
    /// Packages that count as the application, beside those that its package.json names.
    pub own: OwnNames,
    /// The user knows that the programs have no SIGUSR1 listener of their own.
    pub has_no_listener: bool,
    /// Whether a process is recorded that Node profiles already, and which would log all that we ask for.
    pub profiled_too: bool,
}

impl Options {
    /// How long `places` places take in all.
    pub fn whole(&self, places: usize) -> Option<Duration> {
        Plan::new(places, self).whole()
    }
}

/// Where the files of each process are, if not where ours are.
pub fn roots(places: &[Place]) -> BTreeMap<u32, PathBuf> {
    let processes = places.iter().filter_map(Place::process);
    processes.filter_map(|process| Some((process.pid, process.root.clone()?))).collect()
}

/// Records places. What was recorded before an error is in the chunks.
pub fn record(
    places: &[Place],
    options: &Options,
    recipient: &mut dyn Recipient,
) -> Result<(), Error> {
    let mut collector = Collector::new(recipient, options, roots(places));
    let visited = visit_all(places, options, &mut collector);
    let finished = collector.finish();
    visited.and(finished)
}

/// Visits each place in its turn. One that cannot be recorded is no reason to leave out the others.
fn visit_all(
    places: &[Place],
    options: &Options,
    collector: &mut Collector<'_>,
) -> Result<(), Error> {
    let mut is_lost = vec![false; places.len()];
    let mut first_error = None;
    for stay in Plan::new(places.len(), options) {
        let Some(place) = places.get(stay.place) else { break };
        if collector.wants_end() || is_lost.iter().all(|is_lost| *is_lost) {
            break;
        }
        if is_lost[stay.place] {
            continue;
        }
        let visit = Visit { place, options, stay: stay.length, is_only: places.len() == 1 };
        match visit.run(collector) {
            Ok(goes_on) => is_lost[stay.place] = !goes_on,
            Err(error) if places.len() == 1 => return Err(error),
            Err(error) => {
                is_lost[stay.place] = true;
                collector.report(News::Failed(&error));
                first_error.get_or_insert(error);
            }
        }
    }
    match first_error {
        Some(error) if is_lost.iter().all(|is_lost| *is_lost) && collector.is_empty() => Err(error),
        _ => Ok(()),
    }
}
