//! What a report says of a selection, gathered once: the numbers, and the sentences about them. Text, JSON and the page
//! show the same one; how it looks is their part.

mod calls;
mod entries;
mod findings;
mod headline;
mod inlined;
mod loops;
mod rows;
mod sentences;
mod source;

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};

use profile::classify::{Home, home_of};
use profile::{Category, FunctionId, Profile, Unit, WAITS_LANE};

use crate::findings::FEW_SAMPLES;
use crate::identity;
use crate::packages::{is_own, pulled_in_by};
use crate::selection::Selection;
use crate::shorten::{Folders, native_name};
use crate::top::{TopBy, TopKey, TopRow, top};
use crate::weights::{Weights, selected_rows, share};
pub use calls::CallsRow;
use findings::Context;
pub use findings::{FindingRow, Whereabouts};
pub use inlined::InlinedRow;
pub use loops::{
    HostRow, LoopRow, PlaceRow, PoolRow, PoolWorkRow, RunRow, StallRow, StopRow, Whose,
};
pub use rows::{
    EventRow, FunctionRow, GcRow, LineRow, LoopGcRow, LossesRow, Mention, NamedRow, PackageRow,
    Report, Sentence, ThreadRow, Times,
};
pub(crate) use sentences::too_few;
pub use sentences::{MOST_FINDINGS, more_findings, warnings};
pub use source::{SourceLine, SourceReport, script_lines};

/// The version of docs/report.schema.json: it grows when a field goes or means something else.
const SCHEMA_VERSION: u32 = 1;

impl Report {
    /// Gathers what the selection shows.
    pub fn new(profile: &Profile, weights: &Weights, selection: &Selection) -> Self {
        let functions = top(profile, weights, selection, TopBy::Function);
        // Each takes about half of the time, and neither needs the other.
        let (lists, sentences) = std::thread::scope(|scope| {
            let lists = scope.spawn(|| Self::with_lists(profile, weights, selection, &functions));
            let sentences = Self::with_sentences(profile, weights, selection, &functions);
            (lists.join(), sentences)
        });
        let Self { functions, categories, files, lines, threads, calls, .. } =
            lists.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Self { functions, categories, files, lines, threads, calls, ..sentences }
    }

    /// The same with the sentences and what they need, but without lists of functions, files, lines …: these take most
    /// of the time.
    pub fn without_lists(profile: &Profile, weights: &Weights, selection: &Selection) -> Self {
        let functions = top(profile, weights, selection, TopBy::Function);
        Self::with_sentences(profile, weights, selection, &functions)
    }

    fn with_sentences(
        profile: &Profile,
        weights: &Weights,
        selection: &Selection,
        functions: &[TopRow],
    ) -> Self {
        let lane = weights.lane.map(|id| profile.lane(id));
        let meta = profile.meta();
        let headline = headline::headline(profile, selection, weights);
        let mut report = Self {
            schema_version: SCHEMA_VERSION,
            format: meta.format.clone(),
            samples: weights.samples,
            weight: weights.total,
            unit: lane.map_or("samples", |lane| unit_word(lane.unit)),
            event: lane.map(|lane| profile.text(lane.name).to_owned()).unwrap_or_default(),
            events: events(profile),
            interval_s: meta.interval_ns.map(|ns| ns as f64 / 1e9),
            shortest_interval_s: crate::shortest_interval_ns(profile).map(|ns| ns as f64 / 1e9),
            start_clock_s: meta.start_clock_s,
            host: meta.host.clone(),
            command: meta.command.clone(),
            processes: identity::processes(profile),
            node_version: meta.node_version.clone(),
            containers: containers(profile),
            losses: losses(profile),
            cost: meta.cost,
            own_functions: own_functions(profile, weights, selection, functions),
            packages: packages(profile, weights, selection),
            counted: lane.is_some_and(|lane| lane.counted),
            headline: headline.parts,
            which_processes: headline.processes,
            folders: Folders::new(profile),
            is_ours: !meta.way_in.is_empty(),
            is_fast: crate::is_fast(profile),
            is_part: is_part(selection),
            ..Self::default()
        };
        report.add_findings(profile, weights, selection);
        report
    }

    fn with_lists(
        profile: &Profile,
        weights: &Weights,
        selection: &Selection,
        functions: &[TopRow],
    ) -> Self {
        let times = |row: &TopRow| times(row, weights.total);
        let rows = |by| top(profile, weights, selection, by);
        let named = |row: TopRow| NamedRow {
            name: key_name(profile, row.key),
            category: row.category,
            times: times(&row),
        };
        let lines = rows(TopBy::Line);
        let threads = rows(TopBy::Thread);
        Self {
            functions: functions.iter().map(|row| function_row(profile, row, times(row))).collect(),
            categories: rows(TopBy::Category).into_iter().map(named).collect(),
            files: rows(TopBy::File).into_iter().map(named).collect(),
            lines: lines.iter().filter_map(|row| line_row(profile, row, times(row))).collect(),
            threads: threads
                .iter()
                .filter_map(|row| thread_row(profile, row, weights.total))
                .collect(),
            calls: calls::rows(profile, weights, selection),
            ..Self::default()
        }
    }

    /// Loops, stalls, host and garbage collection, and what of them stands out.
    fn add_findings(&mut self, profile: &Profile, weights: &Weights, selection: &Selection) {
        let duration_ns = crate::selected_duration_ns(profile, selection);
        let cores = crate::cores_busy(profile, selection, weights);
        let (_, samples) = crate::busy(profile, weights);
        let doings = crate::work::Doings::new(profile);
        let found = crate::findings::findings_of(profile, selection, &doings);
        let context = Context {
            profile,
            selection,
            doings: &doings,
            findings: &found,
            duration_ns,
            samples,
            own: &self.own_functions,
            folders: &self.folders,
            counted: self.counted,
        };
        (self.loop_notes, self.closing) =
            (findings::loop_notes(&context), findings::closing(&context));
        self.findings = findings::rows(&context);
        self.mentions = findings::mentions(&context);
        let mut whole = Some(self.whole());
        let package = self.packages.iter().find(|row| !row.own);
        let most_cpu = findings::most_cpu(&context, package, &mut whole);
        self.duration_s = duration_ns as f64 / 1e9;
        self.too_few_samples = self.counted && samples < FEW_SAMPLES;
        self.entries = crate::entry_rows(profile, weights, doings.entries(profile));
        let did = entries::did(&context, &self.entries, &mut whole);
        let sentences = most_cpu.into_iter().chain(did.text);
        self.mentions.extend(did.mentions);
        self.closing.extend(sentences.filter(|_| !self.too_few_samples));
        self.cores_busy = cores.map(|cores| cores.cores);
        self.cores_busy_counted = cores.is_some_and(|cores| cores.is_counted);
        self.gc = gc_row(profile, &found.gc);
        self.host_times =
            found.host.iter().map(|(id, times)| loops::host_row(profile, *id, times)).collect();
        let turns = &found.turns;
        self.loops_watched = turns.watched().next().is_some();
        let delay_of =
            |row: &crate::EventLoop| found.delays.iter().find(|its| its.thread == row.thread);
        let loop_row = |row| loops::loop_row(profile, row, delay_of(row));
        self.loops = turns.loops.iter().map(loop_row).collect();
        self.pools = found.pools.iter().map(|pool| loops::pool_row(profile, pool)).collect();
        self.stalls = turns.stalls.iter().map(|stall| loops::stall_row(profile, stall)).collect();
        self.sync_runs = turns.runs.iter().map(|run| loops::run_row(profile, run)).collect();
        self.stops = turns.stops.iter().map(|stop| loops::stop_row(profile, stop)).collect();
        self.turns = found.turns;
        self.doings = doings;
    }

    /// What shares are shares of.
    fn whole(&self) -> &'static str {
        match self.unit {
            "ns" if self.event == WAITS_LANE => "waiting",
            "ns" => "CPU time",
            "bytes" => "bytes",
            _ if self.counted => "samples",
            _ => "counts",
        }
    }

    /// Orders the lists by total instead of self.
    pub fn sort_by_total(&mut self) {
        let by_total = |a: &Times, b: &Times| b.total_share.total_cmp(&a.total_share);
        self.functions.sort_by(|a, b| by_total(&a.times, &b.times));
        self.packages.sort_by(|a, b| by_total(&a.times, &b.times));
        self.categories.sort_by(|a, b| by_total(&a.times, &b.times));
        self.files.sort_by(|a, b| by_total(&a.times, &b.times));
        self.lines.sort_by(|a, b| by_total(&a.times, &b.times));
    }
}

/// What each function, package … caused: its own time and that of all it called, up to the next frame of
/// the shown categories. Engine, libraries and kernel work for their callers.
fn caused(
    profile: &Profile,
    weights: &Weights,
    selection: &Selection,
    shown: &[Category],
    by: TopBy,
) -> HashMap<TopKey, u64> {
    let hidden =
        Category::ALL.iter().copied().filter(|category| !shown.contains(category)).collect();
    let only_shown = Selection { hidden, ..selection.clone() };
    top(profile, weights, &only_shown, by).iter().map(|row| (row.key, row.self_weight)).collect()
}

fn own_functions(
    profile: &Profile,
    weights: &Weights,
    selection: &Selection,
    functions: &[TopRow],
) -> Vec<FunctionRow> {
    let caused = caused(profile, weights, selection, &[Category::App], TopBy::Function);
    let mut rows: Vec<FunctionRow> = functions
        .iter()
        .filter_map(|row| {
            let weight = *caused.get(&row.key).filter(|weight| **weight > 0)?;
            let times = Times {
                caused_share: Some(share(weight, weights.total)),
                ..times(row, weights.total)
            };
            Some(function_row(profile, row, times))
        })
        .collect();
    rows.sort_by(|a, b| by_caused(&a.times, &b.times));
    rows
}

/// Packages that launchers such as npx ran are left out; shares stay shares of everything.
fn packages(profile: &Profile, weights: &Weights, selection: &Selection) -> Vec<PackageRow> {
    let launchers = identity::launchers(profile);
    let mut weights = weights.clone();
    weights.entries.retain(|entry| !launchers.contains(&profile.thread(entry.thread).process));
    let weights = &weights;
    let shown = [Category::App, Category::Dependency, Category::Addon];
    let caused = caused(profile, weights, selection, &shown, TopBy::Package);
    let mut rows: Vec<PackageRow> = top(profile, weights, selection, TopBy::Package)
        .iter()
        .filter_map(|row| {
            let weight = caused.get(&row.key).copied().unwrap_or(0);
            let times = Times {
                caused_share: Some(share(weight, weights.total)),
                ..times(row, weights.total)
            };
            package_row(profile, row, times)
        })
        .collect();
    rows.sort_by(|a, b| by_caused(&a.times, &b.times));
    rows
}

fn package_row(profile: &Profile, row: &TopRow, times: Times) -> Option<PackageRow> {
    let TopKey::Package(name, version) = row.key else { return None };
    Some(PackageRow {
        name: profile.text(name).to_owned(),
        version: version.some().map(|version| profile.text(version).to_owned()),
        own: is_own(profile, name, version),
        pulled_in_by: pulled_in_by(profile, name, version),
        category: row.category,
        times,
    })
}

fn is_part(selection: &Selection) -> bool {
    let Selection {
        lane,
        range_ns,
        threads,
        processes,
        categories,
        search,
        entry,
        hidden: _,
        busy_only: _,
        logical: _,
    } = selection;
    let has_ids = threads.is_some() || processes.is_some();
    let of_stacks = categories.is_some() || search.is_some() || entry.is_some();
    has_ids || of_stacks || lane.is_some() || range_ns.is_some()
}

fn gc_row(profile: &Profile, gc: &crate::Gc) -> GcRow {
    let row = |row: &crate::LoopGc| LoopGcRow {
        whose: loops::whose(profile, row.thread),
        of_time: row.of_time,
        of_cpu: row.of_cpu,
        samples: row.samples,
    };
    GcRow { loops: gc.loops.iter().map(row).collect(), helpers: gc.helpers, all: gc.all }
}

fn containers(profile: &Profile) -> Vec<String> {
    let names = profile.processes().iter().filter_map(|process| process.container.some());
    let names: BTreeSet<&str> = names.map(|name| profile.text(name)).collect();
    names.into_iter().map(str::to_owned).collect()
}

fn by_caused(a: &Times, b: &Times) -> Ordering {
    let key = |times: &Times| times.caused_share.unwrap_or_default();
    key(b).total_cmp(&key(a)).then(b.self_share.total_cmp(&a.self_share))
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
        let samples = (0..lane.samples.len())
            .fold(0u64, |sum, row| sum.saturating_add(lane.samples_in_row(row)));
        EventRow { name: profile.text(lane.name).to_owned(), samples }
    };
    // Sleeping stacks are reported with the stalls.
    let is_event = |lane: &&profile::Lane| profile.text(lane.name) != WAITS_LANE;
    profile.lanes().iter().filter(is_event).map(event).collect()
}

/// A share of the CPU time that is missing by chance, and what the ends of a recording may lack.
const CHANCE: u64 = 100;
const EDGES_NS: u64 = 100_000_000;

/// The CPU time that no sample stands for, though it could have been sampled; 0 where it may be chance.
fn unsampled_ns(profile: &Profile) -> u64 {
    let losses = &profile.meta().losses;
    let clock = profile.lanes().first().filter(|lane| lane.unit == Unit::Ns);
    let (Some(used_ns), Some(clock)) = (losses.cpu_ns, clock) else { return 0 };
    let busy = Selection { busy_only: true, ..Selection::default() };
    let sampled_ns = selected_rows(profile, &busy)
        .fold(0u64, |sum, row| sum.saturating_add(clock.samples.weight[row]));
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
        helper_crashes: losses.helper_crashes,
        stacks_cut: losses.stacks_cut,
        awaits: losses.awaits,
        inlined: inlined::row(profile),
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
        id,
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
    let id = FunctionId::NONE;
    FunctionRow { id, name, file, line, column, package, category, times }
}

pub(crate) fn file_of(profile: &Profile, id: FunctionId) -> Option<&str> {
    let function = profile.functions().row(id);
    // Generated code is in no file, and a perf map that it is not in may not even exist.
    let is_file = |module: &&str| function.line == 0 && home_of(module) != Home::Generated;
    let module = profile.module_name(function.module).filter(is_file);
    profile.source_path(function.source).or(module)
}

fn key_name(profile: &Profile, key: TopKey) -> String {
    match key {
        TopKey::Function(id) => profile.text(profile.functions().name[id.index()]).to_owned(),
        TopKey::Source(id) | TopKey::Line(id, _) => {
            profile.source_path(id).unwrap_or_default().to_owned()
        }
        TopKey::Module(id) => profile.module_name(id).unwrap_or_default().to_owned(),
        TopKey::Package(name, _) => profile.text(name).to_owned(),
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

impl FunctionRow {
    /// The name as tables have it: of native code without its parameters.
    pub fn short_name(&self) -> &str {
        let is_native = self.line.is_none() && self.file.is_some();
        if is_native { native_name(&self.name) } else { &self.name }
    }
}

/// `server.js:4`, or what of it is known.
pub fn place_of(file: Option<&str>, line: Option<u32>) -> String {
    match (file, line) {
        (Some(file), Some(line)) => format!("{file}:{line}"),
        (Some(file), None) => file.to_owned(),
        (None, Some(line)) => format!("(eval):{line}"),
        (None, None) => String::new(),
    }
}

/// What a function is called in a list: where many have no name, the place distinguishes them.
pub fn function_words(profile: &Profile, id: FunctionId) -> String {
    match profile.text(profile.functions().name[id.index()]) {
        "" | "(anonymous)" => {
            format!("(anonymous) {}", short_place(profile, id)).trim_end().to_owned()
        }
        name => name.to_owned(),
    }
}

/// `server.js:4`
pub(crate) fn short_place(profile: &Profile, id: FunctionId) -> String {
    let function = profile.functions().row(id);
    let path = profile
        .source_path(function.source)
        .or_else(|| profile.module_name(function.module).filter(|_| function.line == 0));
    let Some(path) = path else { return String::new() };
    let name = path.rsplit('/').next().unwrap_or_default();
    if function.line > 0 { format!("{name}:{}", function.line) } else { name.to_owned() }
}
