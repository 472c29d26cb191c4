//! What a list of recordings shows of one: a row of the report's figures, and the first thing that stands out, in the
//! report's own words.

use profile::Profile;
use serde::Serialize;

use crate::findings::FEW_SAMPLES;
use crate::report::{LoopGcRow, Report, too_few};
use crate::selection::Selection;
use crate::text::{about, length, plural, rough_percent};
use crate::weights::weigh_busy;

/// A row of a list of recordings.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Gist {
    /// What was recorded: the name of the service, or its command.
    pub service: String,
    /// Its process, or how many there are.
    pub processes: Option<String>,
    /// Its container or pod, or how many there are.
    pub container: Option<String>,
    /// When it began, in milliseconds since 1970.
    pub start_ms: Option<u64>,
    /// How long it is, in seconds; none where nothing has a time.
    pub length: Option<Figure>,
    /// How many CPUs were busy on average.
    pub cores: Option<Figure>,
    /// The longest turn of a loop, in seconds; none where no loop was watched.
    pub worst_stall: Option<Figure>,
    /// What garbage collection took of the loop that it took most of, from 0 to 1; none where the samples are too few.
    pub gc: Option<Figure>,
    /// What stands out first, or that nothing does.
    pub finding: String,
    /// Whether that is a finding.
    pub stands_out: bool,
    /// How many more there are.
    pub more_findings: usize,
    /// What is wrong with the file.
    pub damage: Option<String>,
}

/// A number, as it is compared and as it is written.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// The number.
    pub value: f64,
    /// As the report writes it.
    pub text: String,
}

impl Figure {
    fn new(value: f64, text: String) -> Self {
        Self { value, text }
    }
}

/// What a list shows of a recording.
pub fn gist(profile: &Profile) -> Gist {
    let (selection, weights) = weigh_busy(profile, &Selection::of_logical());
    let report = Report::without_lists(profile, &weights, &selection);
    let is_timed = weights.lane.is_some_and(|lane| profile.lane(lane).timed);
    let duration_ns = crate::selected_duration_ns(profile, &selection);
    let start_ns = profile.meta().start_unix_ns.as_ref();
    Gist {
        service: report.headline.first().cloned().unwrap_or_default(),
        processes: report.which_processes.clone(),
        container: container(&report),
        start_ms: start_ns.and_then(|text| text.parse().ok()).map(|ns: u64| ns / 1_000_000),
        length: is_timed.then(|| Figure::new(duration_ns as f64 / 1e9, length(duration_ns))),
        cores: report.cores_busy.map(|cores| Figure::new(cores, format!("{cores:.2}"))),
        worst_stall: worst_stall(&report),
        gc: report.gc.loops.first().and_then(gc_figure),
        finding: finding(&report),
        stands_out: !report.findings.is_empty(),
        more_findings: report.findings.len().saturating_sub(1),
        damage: report.losses.damage.first().cloned(),
    }
}

fn container(report: &Report) -> Option<String> {
    match &report.containers[..] {
        [] => None,
        [one] => Some(one.clone()),
        several => Some(plural(several.len() as u64, "container")),
    }
}

fn worst_stall(report: &Report) -> Option<Figure> {
    let longest = report.turns.stalls.first().map(crate::Stall::duration_ns);
    let none = || report.loops_watched.then(|| Figure::new(0.0, "none".to_owned()));
    longest.map(|ns| Figure::new(ns as f64 / 1e9, about(ns))).or_else(none)
}

fn gc_figure(row: &LoopGcRow) -> Option<Figure> {
    let share = row.of_time.unwrap_or(row.of_cpu);
    let has_enough = row.samples >= FEW_SAMPLES;
    has_enough.then(|| Figure::new(share, rough_percent(share, row.samples)))
}

/// The headline of the first finding; without one, what the report says instead.
fn finding(report: &Report) -> String {
    let headline = report.findings.first().and_then(|finding| finding.text.first());
    let too_few = too_few(report);
    let instead = || too_few.or_else(|| report.closing.first().cloned());
    let quality = || report.sentences().into_iter().next().map(|sentence| sentence.text);
    headline.cloned().or_else(instead).or_else(quality).unwrap_or_default()
}
