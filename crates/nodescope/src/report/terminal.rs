//! The report for people: a few plain sentences first, then tables.

use std::fmt::Write;

use profile::{Category, Cost, Role};

use super::calls::CallsRow;
use super::{FunctionRow, LineRow, LossesRow, NamedRow, Report, StallRow, ThreadRow, Times};
use crate::style::Style;
use crate::table::{Cell, Column, render as render_table};
use crate::text::{duration, percent, plural, printable, thousands, wrap};

/// The longest bar, in characters.
const BAR: usize = 24;

/// The whole report; `limit` rows a table, 0 for all.
pub(super) fn render(report: &Report, limit: usize, style: &Style) -> String {
    let limit = if limit == 0 { usize::MAX } else { limit };
    let fitting = |text: &str| wrap(&printable(text), style.width);
    let mut text = render_head(report, style);
    for section in sections(report) {
        let rows = section.rows.len();
        if rows == 0 {
            continue;
        }
        let limit = if section.title == ALWAYS_WHOLE { usize::MAX } else { limit };
        let shown = &section.rows[..rows.min(limit)];
        let _ = write!(
            text,
            "\n{}\n{}",
            style.bold(&fitting(section.title)),
            render_table(section.columns, shown, style)
        );
        if rows > limit {
            let more = format!("  … {} more; -n 0 shows all", thousands((rows - limit) as u64));
            let _ = writeln!(text, "{}", style.dim(&more));
        }
    }
    text
}

/// The sentences alone.
pub(super) fn render_head(report: &Report, style: &Style) -> String {
    let fitting = |text: &str| wrap(&printable(text), style.width);
    let mut text = format!("{}\n", style.bold(&fitting(&headline(report))));
    for sentence in sentences(report) {
        let _ = writeln!(text, "{}", fitting(&sentence));
    }
    text
}

/// The table that adds up to everything.
const ALWAYS_WHOLE: &str = "Where the time went";

/// A table under its title.
struct Section<'a> {
    title: &'a str,
    columns: &'a [Column],
    rows: Vec<Vec<Cell>>,
}

fn sections(report: &Report) -> Vec<Section<'static>> {
    vec![
        Section { title: ALWAYS_WHOLE, columns: CATEGORY_COLUMNS, rows: categories(report) },
        Section {
            title: "Your code, by the time it caused (with the packages, engine and kernel that it called)",
            columns: OWN_COLUMNS,
            rows: report.own_functions.iter().map(own_function).collect(),
        },
        Section {
            title: "npm packages, by the time they caused (with the engine and kernel)",
            columns: PACKAGE_COLUMNS,
            rows: report.packages.iter().map(package).collect(),
        },
        Section {
            title: "Functions, by their own time",
            columns: FUNCTION_COLUMNS,
            rows: report.functions.iter().map(function).collect(),
        },
        Section {
            title: "Calls, by their number",
            columns: CALLS_COLUMNS,
            rows: report.calls.iter().map(calls).collect(),
        },
        Section { title: "Lines", columns: LINE_COLUMNS, rows: report.lines.iter().map(line).collect() },
        Section {
            title: "Threads",
            columns: if has_pids(report) { THREAD_COLUMNS } else { WITHOUT_PIDS },
            rows: report.threads.iter().map(thread).collect(),
        },
    ]
}

/// `perf script · 29.6 s · 2,970 samples of cpu-clock · 0.94 cores busy`
fn headline(report: &Report) -> String {
    let mut parts = vec![report.format.clone()];
    parts.extend(report.host.clone());
    parts.extend(report.node_version.as_ref().map(|version| format!("Node {version}")));
    if let [container] = &report.containers[..] {
        parts.push(format!("container {container}"));
    }
    if report.timed {
        parts.push(duration((report.duration_s * 1e9) as u64));
    }
    parts.push(extent(report));
    if report.unit == "ns" && report.duration_s > 0.1 {
        let busy_ns = report.weight as f64 * (1.0 - idle_share(report));
        parts.push(format!("{:.2} cores busy", busy_ns / 1e9 / report.duration_s));
    }
    if report.processes > 1 {
        parts.push(plural(report.processes as u64, "process").replace("processs", "processes"));
    }
    parts.join(" · ")
}

/// Perf sees only threads that run; V8's profiler also those that wait.
fn idle_share(report: &Report) -> f64 {
    let idle = report.categories.iter().find(|row| row.category == Category::Idle);
    idle.map_or(0.0, |row| row.times.self_share)
}

/// How much was recorded. Folded stacks hold samples, nanoseconds or anything else.
fn extent(report: &Report) -> String {
    match report.event.as_str() {
        _ if !report.counted => format!("counts add up to {}", thousands(report.samples)),
        "" | "samples" => plural(report.samples, "sample"),
        event => format!("{} of {event}", plural(report.samples, "sample")),
    }
}

/// What a person would say who has read the tables.
fn sentences(report: &Report) -> Vec<String> {
    let mut sentences = vec![quality(report)];
    if report.events.len() > 1 {
        let others = report.events.iter().filter(|event| event.name != report.event);
        let others: Vec<String> =
            others.map(|event| format!("{} ({})", event.name, thousands(event.samples))).collect();
        sentences.push(format!("Other events: {}; --event shows them.", others.join(", ")));
    }
    sentences.extend(hidden_kernel(report));
    sentences.extend(unsampled(report));
    sentences.extend(crashes(report));
    sentences.extend(deep_stacks(report));
    sentences.extend(missing_map(report));
    if report.samples < 100 && report.counted {
        sentences.push(format!("Only {}: the shares below are rough.", plural(report.samples, "sample")));
    }
    sentences.extend(report.cost.as_ref().map(cost_sentence));
    sentences.extend(stall_sentence(report));
    sentences.extend(gc_sentence(report));
    sentences.extend(report.own_functions.first().map(own_sentence));
    sentences.extend(report.packages.first().map(package_sentence));
    sentences
}

/// What the recorder did to the recorded.
fn cost_sentence(cost: &Cost) -> String {
    let (start, window) = (duration(cost.start_ns), duration(cost.window_ns));
    let windows = plural(cost.windows, "window");
    let moments = match cost.end_ns {
        0 => format!("for {start} when it began, and for at most {window} at each of {windows}"),
        end_ns => {
            let end = duration(end_ns);
            format!(
                "for {start} when it began, at most {window} at each of {windows}, and {end} when it ended"
            )
        }
    };
    let memory = match cost.memory_bytes {
        0..100_000 => String::new(),
        bytes => format!("; a thread's samples took up to {:.1} MB of its memory", bytes as f64 / 1e6),
    };
    format!("Recording stopped it {moments}{memory}.")
}

/// Time that is in no table below.
fn hidden_kernel(report: &Report) -> Option<String> {
    let seconds = report.losses.hidden_kernel_s;
    let time = duration((seconds * 1e9) as u64);
    let share = report.losses.cpu_s.filter(|cpu_s| *cpu_s > seconds).map(|cpu_s| percent(seconds / cpu_s));
    let share = share.map(|share| format!(" ({share} of all)")).unwrap_or_default();
    (seconds >= 0.01).then(|| {
        format!("{time} of CPU time in the kernel{share} is not in these numbers: sudo would show it.")
    })
}

/// Time that should have been sampled and was not.
fn unsampled(report: &Report) -> Option<String> {
    let LossesRow { unsampled_s, cpu_s, .. } = report.losses;
    let share = percent(unsampled_s / cpu_s.filter(|_| unsampled_s > 0.0)?);
    let time = duration((unsampled_s * 1e9) as u64);
    Some(format!("{time} of the CPU time that was used, {share}, has no sample: what it did is not known."))
}

fn quality(report: &Report) -> String {
    let losses = &report.losses;
    let named = 1.0 - losses.unnamed_frames as f64 / losses.frames.max(1) as f64;
    // Rounded down: one frame without a name is enough not to be 100 %.
    let mut text = format!("{} of the frames have a name", percent((named * 1000.0).floor() / 1000.0));
    let worst = losses.unnamed.iter().max_by_key(|(_, count)| **count);
    if let Some((reason, _)) = worst.filter(|_| named < 0.995) {
        let _ = write!(text, " (missing mostly: {reason})");
    }
    match (losses.lost, losses.throttled) {
        (0, 0) => text.push_str("; no samples are known to be lost."),
        (lost, 0) => {
            let _ = write!(text, "; {} lost.", plural(lost, "sample"));
        }
        (lost, throttled) => {
            let _ =
                write!(text, "; {} lost, throttled {} times.", plural(lost, "sample"), thousands(throttled));
        }
    }
    text
}

/// What is our own fault.
fn crashes(report: &Report) -> Option<String> {
    let times = match report.losses.helper_crashes {
        0 => return None,
        1 => "once".to_owned(),
        count => format!("{} times", thousands(count)),
    };
    Some(format!(
        "The part of nodescope that reads names crashed {times} while it recorded: some samples have no callers, and no names."
    ))
}

/// Stacks of which only a part was copied.
fn deep_stacks(report: &Report) -> Option<String> {
    let LossesRow { stacks_read_later, stacks_cut, .. } = report.losses;
    let all = stacks_read_later.saturating_add(stacks_cut);
    (all > 0).then(|| {
        let (stacks, share) = (plural(stacks_cut, "stack"), percent(stacks_read_later as f64 / all as f64));
        format!(
            "{stacks} went deeper than the copy taken with the sample and end in “… deeper than the copy”; {share} of such stacks were completed by reading later."
        )
    })
}

/// The most common reason for nameless JavaScript has a remedy.
fn missing_map(report: &Report) -> Option<String> {
    let count = *report.losses.unnamed.get(formats::WITHOUT_MAP)?;
    let share = count as f64 / report.losses.frames.max(1) as f64;
    (share >= 0.01).then(|| {
        let flags = "--perf-basic-prof --interpreted-frames-native-stack";
        let or_give = if report.format == "perf.data" { ", or give its map: --perf-map FILE" } else { "" };
        format!("[JIT] is JavaScript without names: start Node with {flags} to see them{or_give}.")
    })
}

/// `The event loop was blocked 3 times: 0.31 s at 2.00 s in stalled, …`
fn stall_sentence(report: &Report) -> Option<String> {
    if !report.loops_watched {
        return None;
    }
    let one = |row: &StallRow| {
        let (time, start) = (duration((row.duration_s * 1e9) as u64), duration((row.start_s * 1e9) as u64));
        let cause = row.function.as_ref().map(|name| format!(" in {name}")).unwrap_or_default();
        format!("{time} at {start}{cause}")
    };
    let longest: Vec<String> = report.stalls.iter().take(3).map(one).collect();
    Some(match report.stalls.len() {
        0 => "The event loop was never blocked for 50 ms or more.".to_owned(),
        1 => format!("The event loop was blocked once: {}.", longest[0]),
        count => {
            let more = if count > longest.len() { ", …" } else { "" };
            format!("The event loop was blocked {count} times: {}{more}.", longest.join(", "))
        }
    })
}

fn gc_sentence(report: &Report) -> Option<String> {
    let gc = report.categories.iter().find(|row| row.category == Category::Gc)?;
    let share = gc.times.self_share;
    let judgement = if share > 0.1 { ": more than most services need" } else { "" };
    (share >= 0.001).then(|| format!("Garbage collection took {}{judgement}.", percent(share)))
}

fn own_sentence(row: &FunctionRow) -> String {
    let place = place(row);
    let at = if place.is_empty() { String::new() } else { format!(" at {place}") };
    format!("Of your own code, {}{at} caused most: {}.", row.name, caused(&row.times))
}

fn package_sentence(row: &NamedRow) -> String {
    format!("Of the npm packages, {} caused most: {}.", row.name, caused(&row.times))
}

const CATEGORY_COLUMNS: &[Column] =
    &[Column::Figure("self"), Column::Figure("samples"), Column::Word("category"), Column::Word("")];

fn categories(report: &Report) -> Vec<Vec<Cell>> {
    let most = report.categories.iter().map(|row| row.times.self_share).fold(f64::MIN_POSITIVE, f64::max);
    let ran = report.categories.iter().filter(|row| row.times.self_share > 0.0);
    ran.map(|row| {
        let length = (row.times.self_share / most * BAR as f64).ceil() as usize;
        vec![
            Cell::new(&percent(row.times.self_share)),
            Cell::new(&thousands(row.times.self_samples)),
            Cell::category(row.category.label(), row.category),
            Cell::category(&"█".repeat(length.min(BAR)), row.category),
        ]
    })
    .collect()
}

const OWN_COLUMNS: &[Column] = &[
    Column::Figure("caused"),
    Column::Figure("self"),
    Column::Figure("total"),
    Column::Name("function"),
    Column::Path("where"),
];

fn own_function(row: &FunctionRow) -> Vec<Cell> {
    let mut cells = vec![Cell::new(&caused(&row.times))];
    cells.extend(shares(&row.times));
    cells.extend([Cell::new(&row.name), Cell::dim(&place(row))]);
    cells
}

const PACKAGE_COLUMNS: &[Column] =
    &[Column::Figure("caused"), Column::Figure("self"), Column::Figure("total"), Column::Name("package")];

fn package(row: &NamedRow) -> Vec<Cell> {
    let mut cells = vec![Cell::new(&caused(&row.times))];
    cells.extend(shares(&row.times));
    cells.push(Cell::new(&row.name));
    cells
}

const FUNCTION_COLUMNS: &[Column] = &[
    Column::Figure("self"),
    Column::Figure("total"),
    Column::Figure("samples"),
    Column::Name("function"),
    Column::Word("category"),
    Column::Path("where"),
];

fn function(row: &FunctionRow) -> Vec<Cell> {
    let mut cells = figures(&row.times);
    let category = Cell::category(row.category.label(), row.category);
    cells.extend([Cell::new(&row.name), category, Cell::dim(&place(row))]);
    cells
}

const CALLS_COLUMNS: &[Column] =
    &[Column::Figure("calls"), Column::Figure("each"), Column::Name("function"), Column::Path("where")];

fn calls(row: &CallsRow) -> Vec<Cell> {
    let each = row.mean_s.map(|seconds| duration((seconds * 1e9) as u64)).unwrap_or_default();
    let place = place_of(row.file.as_deref(), row.line);
    vec![Cell::new(&thousands(row.calls)), Cell::new(&each), Cell::new(&row.name), Cell::dim(&place)]
}

fn place(row: &FunctionRow) -> String {
    place_of(row.file.as_deref(), row.line)
}

fn place_of(file: Option<&str>, line: Option<u32>) -> String {
    match (file, line) {
        (Some(file), Some(line)) => format!("{file}:{line}"),
        (Some(file), None) => file.to_owned(),
        (None, Some(line)) => format!("(eval):{line}"),
        (None, None) => String::new(),
    }
}

const LINE_COLUMNS: &[Column] =
    &[Column::Figure("self"), Column::Figure("total"), Column::Figure("samples"), Column::Path("line")];

fn line(row: &LineRow) -> Vec<Cell> {
    let mut cells = figures(&row.times);
    cells.push(Cell::new(&format!("{}:{}", row.file, row.line)));
    cells
}

const THREAD_COLUMNS: &[Column] = &[
    Column::Figure("time"),
    Column::Figure("samples"),
    Column::Name("thread"),
    Column::Word("role"),
    Column::Figure("tid"),
    Column::Figure("pid"),
];

/// Plain `perf script` prints no pids; the last column stays away.
const WITHOUT_PIDS: &[Column] = THREAD_COLUMNS.split_at(THREAD_COLUMNS.len() - 1).0;

fn has_pids(report: &Report) -> bool {
    report.threads.iter().any(|row| row.pid.is_some())
}

fn thread(row: &ThreadRow) -> Vec<Cell> {
    let id = |id: Option<u32>| Cell::dim(&id.map(|id| id.to_string()).unwrap_or_default());
    let role = if row.role == Role::Other { "" } else { row.role.label() };
    let name = if row.name.is_empty() { "(not recorded)" } else { &row.name };
    vec![
        Cell::new(&percent(row.share)),
        Cell::new(&thousands(row.samples)),
        Cell::new(name),
        Cell::new(role),
        id(row.tid),
        id(row.pid),
    ]
}

fn shares(times: &Times) -> [Cell; 2] {
    [Cell::new(&percent(times.self_share)), Cell::new(&percent(times.total_share))]
}

fn figures(times: &Times) -> Vec<Cell> {
    let mut cells = shares(times).to_vec();
    cells.push(Cell::new(&thousands(times.self_samples)));
    cells
}

fn caused(times: &Times) -> String {
    percent(times.caused_share.unwrap_or_default())
}
