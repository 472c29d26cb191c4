//! `nodescope top`: the report of the last seconds of a running process, again and again. It samples as `record` does,
//! and keeps what it needs in memory. Nothing is written.

mod screen;

use std::time::{Duration, Instant};

use capture::Options;
use live::{BASE_RATE, FAST_RATE, Session};
use profile::{Profile, file};
use views::{Report, Selection, weigh_busy};

use crate::cli;
use crate::failure::Failure;
use crate::record::{Target, leave_room, perf};
use crate::select::parse_duration;
use screen::Screen;

/// A session that has recorded so much ends, and the next one begins, which takes a tenth of a second: every report reads
/// all of it. That is a quarter of an hour of a busy process.
const MOST_BYTES: u64 = 2 << 20;
/// Looking at a second of samples takes milliseconds.
const SHORTEST: Duration = Duration::from_millis(200);
/// The first report of a session comes when there is enough to show: samples are named within a second.
const FIRST: Duration = Duration::from_millis(1500);

/// What is shown, and until when.
struct Watch<'a> {
    arguments: &'a cli::Top,
    target: Target,
    screen: Screen<'a>,
    every: Duration,
    last: Duration,
    end: Option<Instant>,
    most_bytes: u64,
}

/// Runs the command.
pub(crate) fn run(arguments: &cli::Top) -> Result<(), Failure> {
    let every = parse_duration("--every", &arguments.every)?.max(SHORTEST);
    let last = parse_duration("--last", &arguments.last)?;
    let limit = arguments.duration.as_deref().map(|text| parse_duration("-d", text)).transpose()?;
    let target =
        Target::running((&arguments.processes).into(), !arguments.processes.no_children, "top")?;
    let most_bytes = leave_room(target.pids())?.min(most_bytes());
    sys::signals::catch_end().map_err(|error| Failure::failed(error.to_string()))?;
    perf::warn_if_not_node(&target);
    let mut watch = Watch {
        arguments,
        target,
        screen: Screen::new(arguments, every, last),
        every,
        last,
        end: limit.map(|limit| Instant::now() + limit),
        most_bytes,
    };
    while !watch.session()? {}
    watch.screen.close()
}

/// For tests of what happens then, fewer. Programs that are released do not look at the variable.
fn most_bytes() -> u64 {
    let typed = || std::env::var("NODESCOPE_TOP_BYTES").ok()?.parse().ok();
    if cfg!(debug_assertions) { typed().unwrap_or(MOST_BYTES) } else { MOST_BYTES }
}

impl Watch<'_> {
    /// One session: until it has recorded enough, or all is over; whether it was that.
    fn session(&mut self) -> Result<bool, Failure> {
        let mut session = self.begin()?;
        let mut recording = file::file_header().to_vec();
        let failed = |error: std::io::Error| Failure::failed(error.to_string());
        let mut due = Instant::now() + FIRST;
        loop {
            let now = Instant::now();
            let is_over = sys::signals::ended()
                || self.end.is_some_and(|end| now >= end)
                || self.target.has_ended();
            let is_full = recording.len() as u64 >= self.most_bytes || session.is_full();
            let is_last = is_over || is_full;
            recording.extend(session.round(is_last).map_err(failed)?);
            if is_last || now >= due {
                due = now + self.every;
                self.show(&recording)?;
            }
            if is_last {
                return Ok(is_over);
            }
            let next = self.end.map_or(due, |end| end.min(due));
            session.wait(next.saturating_duration_since(now)).map_err(failed)?;
        }
    }

    fn begin(&self) -> Result<Session, Failure> {
        let options = Options {
            frequency: BASE_RATE,
            fast_frequency: Some(FAST_RATE),
            on_exec: false,
            children: !self.arguments.processes.no_children,
            events: Vec::new(),
            stack_bytes: perf::stack_bytes(FAST_RATE),
        };
        let (leaves_maps, own) = (self.arguments.maps.no_source_maps, self.arguments.own.names());
        let mut session = perf::attach(&self.target, &options, leaves_maps, own)?;
        session
            .begin(perf::targets(&self.target), || self.target.all_pids())
            .map_err(|error| perf::explain(error, &self.target))?;
        Ok(session)
    }

    /// Shows the last seconds of what was recorded so far.
    fn show(&mut self, recording: &[u8]) -> Result<(), Failure> {
        let is_empty = recording.len() == file::file_header().len();
        if is_empty {
            return Ok(());
        }
        let profile = file::read(recording).map_err(|error| Failure::failed(error.to_string()))?;
        self.screen.show(&report_of(&profile, self.last, self.arguments.json))
    }
}

/// The report of the last seconds; lists of functions, files and lines are for JSON.
fn report_of(profile: &Profile, last: Duration, has_lists: bool) -> Report {
    let end = profile.meta().duration_ns;
    let last_ns = u64::try_from(last.as_nanos()).unwrap_or(u64::MAX);
    let range_ns = (end > last_ns).then(|| end - last_ns..end);
    let selection = Selection { range_ns, ..Selection::of_logical() };
    let (selection, weights) = weigh_busy(profile, &selection);
    match has_lists {
        true => Report::new(profile, &weights, &selection),
        false => Report::without_lists(profile, &weights, &selection),
    }
}
