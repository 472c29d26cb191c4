//! `nodescope report`: the answer as text or JSON. [`Report`] is what both show: gathered once, without
//! knowing how it will look.

mod calls;
mod terminal;

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};

use profile::{Category, FunctionId, Profile, Unit};
use serde::Serialize;
use views::{Selection, Stall, TopBy, TopKey, TopRow, Weights, share, top, turns, weigh};

use crate::cli::{self, Sort};
use crate::failure::Failure;
use crate::identity::{self, ProcessRow};
use crate::style::Style;
use crate::{input, output, select};
use calls::CallsRow;

/// How many rows the tables of a short report have.
const SHORT_ROWS: usize = 5;

/// Runs the command.
pub(crate) fn run(arguments: &cli::Report) -> Result<(), Failure> {
    let profile = input::open(&arguments.input)?;
    let (selection, weights) = select::select(&profile, &arguments.narrow, &arguments.pid)?;
    let mut report = Report::new(&profile, &weights, &selection);
    if arguments.sort == Sort::Total {
        report.sort_by_total();
    }
    if arguments.json {
        let mut text =
            serde_json::to_string_pretty(&report).map_err(|error| Failure::failed(error.to_string()))?;
        text.push('\n');
        return output::print(&text);
    }
    output::print(&terminal::render(&report, arguments.rows, &Style::new(arguments.color)))
}

/// Prints the first lines of a report.
pub(crate) fn print_head(profile: &Profile) -> Result<(), Failure> {
    let selection = Selection::default();
    let report = Report::new(profile, &weigh(profile, &selection), &selection);
    output::print(&terminal::render_head(&report, &Style::new(cli::Color::Auto)))
}

/// Prints a report of short tables.
pub(crate) fn print_short(profile: &Profile) -> Result<(), Failure> {
    let selection = Selection::default();
    let report = Report::new(profile, &weigh(profile, &selection), &selection);
    output::print(&terminal::render(&report, SHORT_ROWS, &Style::new(cli::Color::Auto)))
}

/// Everything that a report says. Shares are from 0 to 1.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) format: String,
    /// Selected samples.
    pub(crate) samples: u64,
    /// The time that the recording covers, or the selected range.
    pub(crate) duration_s: f64,
    /// The selected weight, in `unit`.
    pub(crate) weight: u64,
    pub(crate) unit: &'static str,
    pub(crate) event: String,
    pub(crate) events: Vec<EventRow>,
    pub(crate) interval_s: Option<f64>,
    pub(crate) start_clock_s: Option<f64>,
    pub(crate) host: Option<String>,
    pub(crate) command: Option<String>,
    /// The processes: what the recording is about first, launchers such as npm last.
    #[serde(rename = "processes")]
    pub(crate) process_rows: Vec<ProcessRow>,
    pub(crate) node_version: Option<String>,
    /// The containers and pods of the processes.
    pub(crate) containers: Vec<String>,
    pub(crate) losses: LossesRow,
    /// What recording cost the recorded processes, where that was measured.
    pub(crate) cost: Option<profile::Cost>,
    pub(crate) functions: Vec<FunctionRow>,
    /// The application's functions by what they caused: see [`caused`].
    pub(crate) own_functions: Vec<FunctionRow>,
    pub(crate) packages: Vec<NamedRow>,
    pub(crate) categories: Vec<NamedRow>,
    pub(crate) files: Vec<NamedRow>,
    pub(crate) lines: Vec<LineRow>,
    pub(crate) threads: Vec<ThreadRow>,
    /// Whether the turns of an event loop were counted: without that, no stall means nothing.
    pub(crate) loops_watched: bool,
    pub(crate) stalls: Vec<StallRow>,
    /// Exact counts, where calls were counted.
    pub(crate) calls: Vec<CallsRow>,
    #[serde(skip)]
    pub(crate) timed: bool,
    /// Whether samples were really counted; folded stacks may hold anything.
    #[serde(skip)]
    pub(crate) counted: bool,
    #[serde(skip)]
    pub(crate) processes: usize,
}

#[derive(Debug, Serialize)]
pub(crate) struct EventRow {
    pub(crate) name: String,
    pub(crate) samples: u64,
}

#[derive(Debug, Serialize)]
pub(crate) struct LossesRow {
    pub(crate) lost: u64,
    pub(crate) throttled: u64,
    /// The CPU time that was used, by the kernel's own account.
    pub(crate) cpu_s: Option<f64>,
    /// The part of it that no sample stands for, though it could have been sampled.
    pub(crate) unsampled_s: f64,
    pub(crate) hidden_kernel_s: f64,
    pub(crate) frames: u64,
    pub(crate) unnamed_frames: u64,
    pub(crate) unnamed: std::collections::BTreeMap<String, u64>,
    pub(crate) skipped_lines: u64,
    pub(crate) ambiguous_addresses: u64,
    pub(crate) damage: Vec<String>,
    pub(crate) notes: Vec<String>,
}

/// Self and total, as shares and as numbers of samples.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Times {
    #[serde(rename = "self")]
    pub(crate) self_share: f64,
    #[serde(rename = "total")]
    pub(crate) total_share: f64,
    #[serde(rename = "caused", skip_serializing_if = "Option::is_none")]
    pub(crate) caused_share: Option<f64>,
    pub(crate) self_samples: u64,
    pub(crate) total_samples: u64,
}

#[derive(Debug, Serialize)]
pub(crate) struct FunctionRow {
    pub(crate) name: String,
    /// The script or, for native code, the binary.
    pub(crate) file: Option<String>,
    pub(crate) line: Option<u32>,
    pub(crate) column: Option<u32>,
    pub(crate) package: Option<String>,
    pub(crate) category: Category,
    #[serde(flatten)]
    pub(crate) times: Times,
}

#[derive(Debug, Serialize)]
pub(crate) struct NamedRow {
    pub(crate) name: String,
    pub(crate) category: Category,
    #[serde(flatten)]
    pub(crate) times: Times,
}

#[derive(Debug, Serialize)]
pub(crate) struct LineRow {
    pub(crate) file: String,
    pub(crate) line: u32,
    #[serde(flatten)]
    pub(crate) times: Times,
}

#[derive(Debug, Serialize)]
pub(crate) struct ThreadRow {
    pub(crate) name: String,
    pub(crate) pid: Option<u32>,
    pub(crate) tid: Option<u32>,
    pub(crate) role: profile::Role,
    #[serde(rename = "self")]
    pub(crate) share: f64,
    pub(crate) samples: u64,
}

/// One long turn of an event loop.
#[derive(Debug, Serialize)]
pub(crate) struct StallRow {
    pub(crate) start_s: f64,
    pub(crate) duration_s: f64,
    pub(crate) pid: Option<u32>,
    pub(crate) thread: String,
    /// The function of the application that caused most of it.
    pub(crate) function: Option<String>,
    /// How much of it: from 0 to 1.
    pub(crate) share: Option<f64>,
}

/// So many stalls are looked at more closely.
const MOST_STALLS: usize = 20;

impl Report {
    /// Gathers what the selection shows.
    pub(crate) fn new(profile: &Profile, weights: &Weights, selection: &Selection) -> Self {
        let lane = weights.lane.map(|id| profile.lane(id));
        let meta = profile.meta();
        let times = |row: &TopRow| times(row, weights.total);
        let rows = |by| top(profile, weights, selection, by);
        let named = |row: TopRow| NamedRow {
            name: key_name(profile, row.key),
            category: row.category,
            times: times(&row),
        };
        let duration_ns = selected_duration_ns(profile, selection);
        let turns = turns(profile, selection);
        let longest = turns.stalls.iter().take(MOST_STALLS);
        Self {
            format: meta.format.clone(),
            samples: weights.samples,
            duration_s: duration_ns as f64 / 1e9,
            weight: weights.total,
            unit: lane.map_or("samples", |lane| unit_word(lane.unit)),
            event: lane.map(|lane| profile.text(lane.name).to_owned()).unwrap_or_default(),
            events: events(profile),
            interval_s: meta.interval_ns.map(|ns| ns as f64 / 1e9),
            start_clock_s: meta.start_clock_s,
            host: meta.host.clone(),
            command: meta.command.clone(),
            process_rows: identity::processes(profile),
            node_version: meta.node_version.clone(),
            containers: containers(profile),
            losses: losses(profile),
            cost: meta.cost,
            functions: rows(TopBy::Function)
                .iter()
                .map(|row| function_row(profile, row, times(row)))
                .collect(),
            own_functions: own_functions(profile, weights, selection),
            packages: packages(profile, weights, selection),
            categories: rows(TopBy::Category).into_iter().map(named).collect(),
            files: rows(TopBy::File).into_iter().map(named).collect(),
            lines: rows(TopBy::Line).iter().filter_map(|row| line_row(profile, row, times(row))).collect(),
            threads: rows(TopBy::Thread)
                .iter()
                .filter_map(|row| thread_row(profile, row, weights.total))
                .collect(),
            loops_watched: turns.watched,
            stalls: longest.map(|stall| stall_row(profile, selection, stall)).collect(),
            calls: calls::rows(profile, weights, selection),
            timed: lane.is_some_and(|lane| lane.timed),
            counted: lane.is_some_and(|lane| lane.counted),
            processes: rows(TopBy::Process).len(),
        }
    }

    fn sort_by_total(&mut self) {
        let by_total = |a: &Times, b: &Times| b.total_share.total_cmp(&a.total_share);
        self.functions.sort_by(|a, b| by_total(&a.times, &b.times));
        self.packages.sort_by(|a, b| by_total(&a.times, &b.times));
        self.categories.sort_by(|a, b| by_total(&a.times, &b.times));
        self.files.sort_by(|a, b| by_total(&a.times, &b.times));
        self.lines.sort_by(|a, b| by_total(&a.times, &b.times));
    }
}

/// What each function, package … caused: its own time and that of all it called, up to the next frame of
/// the shown categories. Engine, libraries and kernel work for whoever called them.
fn caused(
    profile: &Profile,
    weights: &Weights,
    selection: &Selection,
    shown: &[Category],
    by: TopBy,
) -> HashMap<TopKey, u64> {
    let hidden = Category::ALL.iter().copied().filter(|category| !shown.contains(category)).collect();
    let only_shown = Selection { hidden, ..selection.clone() };
    top(profile, weights, &only_shown, by).iter().map(|row| (row.key, row.self_weight)).collect()
}

fn own_functions(profile: &Profile, weights: &Weights, selection: &Selection) -> Vec<FunctionRow> {
    let caused = caused(profile, weights, selection, &[Category::App], TopBy::Function);
    let mut rows: Vec<FunctionRow> = top(profile, weights, selection, TopBy::Function)
        .iter()
        .filter_map(|row| {
            let weight = *caused.get(&row.key).filter(|weight| **weight > 0)?;
            let times =
                Times { caused_share: Some(share(weight, weights.total)), ..times(row, weights.total) };
            Some(function_row(profile, row, times))
        })
        .collect();
    rows.sort_by(|a, b| by_caused(&a.times, &b.times));
    rows
}

/// Packages that launchers such as npx ran are left out; shares stay shares of everything.
fn packages(profile: &Profile, weights: &Weights, selection: &Selection) -> Vec<NamedRow> {
    let launchers = identity::launchers(profile);
    let mut weights = weights.clone();
    weights.entries.retain(|entry| !launchers.contains(&profile.thread(entry.thread).process));
    let weights = &weights;
    let shown = [Category::App, Category::Dependency, Category::Addon];
    let caused = caused(profile, weights, selection, &shown, TopBy::Package);
    let mut rows: Vec<NamedRow> = top(profile, weights, selection, TopBy::Package)
        .iter()
        .map(|row| {
            let weight = caused.get(&row.key).copied().unwrap_or(0);
            let times =
                Times { caused_share: Some(share(weight, weights.total)), ..times(row, weights.total) };
            NamedRow { name: key_name(profile, row.key), category: row.category, times }
        })
        .collect();
    rows.sort_by(|a, b| by_caused(&a.times, &b.times));
    rows
}

fn containers(profile: &Profile) -> Vec<String> {
    let names = profile.processes().iter().filter_map(|process| process.container.some());
    let names: BTreeSet<&str> = names.map(|name| profile.text(name)).collect();
    names.into_iter().map(str::to_owned).collect()
}

fn stall_row(profile: &Profile, selection: &Selection, stall: &Stall) -> StallRow {
    let Stall { thread, start_ns, end_ns } = *stall;
    let within = Selection {
        range_ns: Some(start_ns..end_ns),
        threads: Some(vec![thread]),
        categories: None,
        search: None,
        ..selection.clone()
    };
    let weights = weigh(profile, &within);
    let caused = caused(profile, &weights, &within, &[Category::App, Category::Dependency], TopBy::Function);
    let most = caused.into_iter().max_by_key(|(_, weight)| *weight);
    let row = &profile.threads()[thread.index()];
    StallRow {
        start_s: start_ns as f64 / 1e9,
        duration_s: (end_ns - start_ns) as f64 / 1e9,
        pid: profile.processes()[row.process.index()].pid,
        thread: profile.text(row.name).to_owned(),
        function: most.map(|(key, _)| key_name(profile, key)),
        share: most.map(|(_, weight)| share(weight, weights.total)),
    }
}

fn by_caused(a: &Times, b: &Times) -> Ordering {
    let key = |times: &Times| times.caused_share.unwrap_or_default();
    key(b).total_cmp(&key(a)).then(b.self_share.total_cmp(&a.self_share))
}

fn selected_duration_ns(profile: &Profile, selection: &Selection) -> u64 {
    let whole = profile.duration_ns();
    selection.range_ns.as_ref().map_or(whole, |range| range.end.min(whole).saturating_sub(range.start))
}

fn unit_word(unit: Unit) -> &'static str {
    match unit {
        Unit::Ns => "ns",
        Unit::Count => "samples",
        Unit::Bytes => "bytes",
        Unit::Event => "events",
    }
}

fn events(profile: &Profile) -> Vec<EventRow> {
    let event = |lane: &profile::Lane| {
        let samples =
            (0..lane.samples.len()).fold(0u64, |sum, row| sum.saturating_add(lane.samples_in_row(row)));
        EventRow { name: profile.text(lane.name).to_owned(), samples }
    };
    profile.lanes().iter().map(event).collect()
}

/// A share of the CPU time that is missing by chance, and what the ends of a recording may lack.
const CHANCE: u64 = 100;
const EDGES_NS: u64 = 100_000_000;

/// The CPU time that no sample stands for, though it could have been sampled; 0 where it may be chance.
fn unsampled_ns(profile: &Profile) -> u64 {
    let losses = &profile.meta().losses;
    let clock = profile.lanes().first().filter(|lane| lane.unit == Unit::Ns);
    let (Some(used_ns), Some(clock)) = (losses.cpu_ns, clock) else { return 0 };
    let sampled_ns = clock.samples.weight.iter().fold(0u64, |sum, weight| sum.saturating_add(*weight));
    let missing_ns = used_ns.saturating_sub(losses.hidden_kernel_ns).saturating_sub(sampled_ns);
    if missing_ns > used_ns / CHANCE + EDGES_NS { missing_ns } else { 0 }
}

fn losses(profile: &Profile) -> LossesRow {
    let losses = &profile.meta().losses;
    LossesRow {
        lost: losses.lost,
        throttled: losses.throttled,
        cpu_s: losses.cpu_ns.map(|ns| ns as f64 / 1e9),
        unsampled_s: unsampled_ns(profile) as f64 / 1e9,
        hidden_kernel_s: losses.hidden_kernel_ns as f64 / 1e9,
        frames: losses.frames,
        unnamed_frames: losses.unnamed_total(),
        unnamed: losses.unnamed.clone(),
        skipped_lines: losses.skipped,
        ambiguous_addresses: losses.ambiguous,
        damage: losses.damage.clone(),
        notes: losses.notes.clone(),
    }
}

fn times(row: &TopRow, total: u64) -> Times {
    Times {
        self_share: share(row.self_weight, total),
        total_share: share(row.total_weight, total),
        caused_share: None,
        self_samples: row.self_samples,
        total_samples: row.total_samples,
    }
}

fn function_row(profile: &Profile, row: &TopRow, times: Times) -> FunctionRow {
    let TopKey::Function(id) = row.key else { return unnamed_function(times) };
    let function = profile.functions().row(id);
    let known = |number: u32| Some(number).filter(|number| *number > 0);
    FunctionRow {
        name: profile.text(function.name).to_owned(),
        file: file_of(profile, id).map(str::to_owned),
        line: known(function.line),
        column: known(function.column),
        package: function.package.some().map(|id| profile.text(id).to_owned()),
        category: row.category,
        times,
    }
}

fn unnamed_function(times: Times) -> FunctionRow {
    let (name, file, line, column, package, category) =
        (String::new(), None, None, None, None, Category::Unknown);
    FunctionRow { name, file, line, column, package, category, times }
}

fn file_of(profile: &Profile, id: FunctionId) -> Option<&str> {
    let function = profile.functions().row(id);
    // Code of an eval has a position but no script: "[JIT]:1" would say nothing.
    let module = profile.module_name(function.module).filter(|_| function.line == 0);
    profile.source_path(function.source).or(module)
}

fn key_name(profile: &Profile, key: TopKey) -> String {
    match key {
        TopKey::Function(id) => profile.text(profile.functions().name[id.index()]).to_owned(),
        TopKey::Source(id) | TopKey::Line(id, _) => profile.source_path(id).unwrap_or_default().to_owned(),
        TopKey::Module(id) => profile.module_name(id).unwrap_or_default().to_owned(),
        TopKey::Package(id) => profile.text(id).to_owned(),
        TopKey::Category(category) => category.word().to_owned(),
        TopKey::Thread(id) => profile.text(profile.thread(id).name).to_owned(),
        TopKey::Process(id) => profile.text(profile.process(id).name).to_owned(),
    }
}

fn line_row(profile: &Profile, row: &TopRow, times: Times) -> Option<LineRow> {
    let TopKey::Line(source, line) = row.key else { return None };
    Some(LineRow { file: profile.source_path(source)?.to_owned(), line, times })
}

fn thread_row(profile: &Profile, row: &TopRow, total: u64) -> Option<ThreadRow> {
    let TopKey::Thread(id) = row.key else { return None };
    let thread = profile.thread(id);
    Some(ThreadRow {
        name: profile.text(thread.name).to_owned(),
        pid: profile.process(thread.process).pid,
        tid: thread.tid,
        role: thread.role,
        share: share(row.self_weight, total),
        samples: row.self_samples,
    })
}
