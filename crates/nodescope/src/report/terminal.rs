//! The report for people: a few plain sentences first, then tables.

use std::fmt::Write;

use profile::{Cost, Role};

use super::calls::CallsRow;

use super::loops::StallRow;
use super::{FunctionRow, LineRow, LossesRow, NamedRow, Report, ThreadRow, Times, inlined};
use crate::style::Style;
use crate::table::{Cell, Column, render as render_table};
use crate::text::{about, duration, percent, plural, printable, thousands, wrap};

/// The longest bar, in characters.
const BAR: usize = 24;

/// The whole report; `limit` rows a table, 0 for all.
pub(super) fn render(report: &Report, limit: usize, style: &Style) -> String {
    let limit = if limit == 0 { usize::MAX } else { limit };
    let fitting = |text: &str| wrap(&printable(text), style.width);
    let shown = if limit == usize::MAX { usize::MAX } else { MOST_FINDINGS };
    let mut text = head(report, shown, style);
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

/// So many findings are shown, unless all rows are asked for.
const MOST_FINDINGS: usize = 5;
/// What stands before a finding.
const INDENT: usize = 3;

/// The sentences alone.
pub(super) fn render_head(report: &Report, style: &Style) -> String {
    head(report, MOST_FINDINGS, style)
}

/// Which process, how good the recording is, what stands out, and what else there is to say.
fn head(report: &Report, limit: usize, style: &Style) -> String {
    let fitting = |text: &str| wrap(&printable(text), style.width);
    let mut text = format!("{}\n", style.bold(&fitting(&report.headline)));
    for sentence in sentences(report) {
        let _ = writeln!(text, "{}", fitting(&sentence));
    }
    text.push_str(&findings(report, limit, style));
    for sentence in &report.closing {
        let _ = writeln!(text, "{}", fitting(sentence));
    }
    text
}

/// The findings, numbered; nothing where there is none.
fn findings(report: &Report, limit: usize, style: &Style) -> String {
    let mut text = String::new();
    let indented = |sentence: &str| {
        let lines = wrap(&printable(sentence), style.width.saturating_sub(INDENT));
        lines.replace('\n', &format!("\n{}", " ".repeat(INDENT)))
    };
    for (row, finding) in report.findings.iter().take(limit).enumerate() {
        let (headline, details) = finding
            .text
            .split_first()
            .map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
        let _ = write!(text, "\n{:<INDENT$}{}\n", row + 1, style.bold(&indented(headline)));
        for sentence in details {
            let _ = writeln!(text, "{:INDENT$}{}", "", indented(sentence));
        }
    }
    if let Some(more) = report.findings.len().checked_sub(limit).filter(|more| *more > 0) {
        let _ = writeln!(
            text,
            "{}",
            style.dim(&format!("   … and {more} more; report -n 0 shows all"))
        );
    }
    if !report.closing.is_empty() {
        text.push('\n');
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
        Section {
            title: "Stalls of the event loop, the longest first",
            columns: if report.loops.len() > 1 { STALL_COLUMNS } else { OF_ONE_LOOP },
            rows: report.stalls.iter().map(stall).collect(),
        },
        Section {
            title: "Lines",
            columns: LINE_COLUMNS,
            rows: report.lines.iter().map(line).collect(),
        },
        Section {
            title: "Threads",
            columns: if has_pids(report) { THREAD_COLUMNS } else { WITHOUT_PIDS },
            rows: report.threads.iter().map(thread).collect(),
        },
    ]
}

/// How much was recorded. Folded stacks hold samples, nanoseconds or anything else.
fn extent(report: &Report) -> String {
    match report.event.as_str() {
        _ if !report.counted => format!("counts add up to {}", thousands(report.samples)),
        "cpu-clock" if report.is_ours => plural(report.samples, "sample"),
        "" | "samples" => plural(report.samples, "sample"),
        event => format!("{} of {event}", plural(report.samples, "sample")),
    }
}

/// How good the recording is, and what people should know before they read on.
fn sentences(report: &Report) -> Vec<String> {
    let mut sentences: Vec<String> = inlined::doubt(&report.losses.inlined).into_iter().collect();
    sentences.push(quality(report));
    sentences.extend(inlined::estimate(&report.losses.inlined));
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
    sentences.extend(awaits(report));
    sentences.extend(missing_map(report));
    sentences.extend(too_few(report));
    sentences.extend(report.cost.as_ref().map(cost_sentence));
    sentences.extend(report.loop_notes.iter().cloned());
    sentences
}

/// For how long the recorder stopped the target, and how much of its memory it took.
fn cost_sentence(cost: &Cost) -> String {
    let (start, window) =
        (duration(cost.start_ns.saturating_add(cost.list_ns)), duration(cost.window_ns));
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
        bytes => {
            format!("; a thread's samples took up to {:.1} MB of its memory", bytes as f64 / 1e6)
        }
    };
    format!("Recording stopped it {moments}{memory}.")
}

/// Time that is in no table below.
fn hidden_kernel(report: &Report) -> Option<String> {
    let seconds = report.losses.hidden_kernel_s;
    let time = duration((seconds * 1e9) as u64);
    let share =
        report.losses.cpu_s.filter(|cpu_s| *cpu_s > seconds).map(|cpu_s| percent(seconds / cpu_s));
    let share = share.map(|share| format!(" ({share} of all)")).unwrap_or_default();
    (seconds >= 0.01).then(|| {
        format!(
            "{time} of CPU time in the kernel{share} is not in these numbers: sudo would show it."
        )
    })
}

/// Time that should have been sampled and was not.
fn unsampled(report: &Report) -> Option<String> {
    let LossesRow { unsampled_s, cpu_s, .. } = report.losses;
    let share = percent(unsampled_s / cpu_s.filter(|_| unsampled_s > 0.0)?);
    let time = duration((unsampled_s * 1e9) as u64);
    Some(format!(
        "{time} of the CPU time that was used, {share}, has no sample: what it did is not known."
    ))
}

/// `0.03 cores busy · 89 samples, all frames named, none lost`
fn quality(report: &Report) -> String {
    let losses = &report.losses;
    let mut parts = vec![extent(report)];
    parts.extend(named(losses).filter(|_| report.samples > 0));
    parts.push(match (losses.lost, report.is_ours) {
        (0, true) => "none lost".to_owned(),
        (0, false) => "none known to be lost".to_owned(),
        (lost, _) => format!("{} lost", thousands(lost)),
    });
    if losses.throttled > 0 {
        parts.push(format!("the kernel held sampling back {} times", thousands(losses.throttled)));
    }
    let cores =
        report.cores_busy.map(|cores| format!("{cores:.2} cores busy · ")).unwrap_or_default();
    cores + &parts.join(", ")
}

/// How many frames have a name, and why not all.
fn named(losses: &LossesRow) -> Option<String> {
    let named = 1.0 - losses.unnamed_frames as f64 / losses.frames as f64;
    if losses.frames == 0 {
        return None;
    }
    if losses.unnamed_frames == 0 {
        return Some("all frames named".to_owned());
    }
    // Rounded down: one frame without a name is enough not to be 100 %.
    let mut text = format!("{} of frames named", percent((named * 1000.0).floor() / 1000.0));
    let worst = losses.unnamed.iter().max_by_key(|(_, count)| **count);
    if let Some((reason, _)) = worst.filter(|_| named < 0.995) {
        let _ = write!(text, " (missing mostly: {reason})");
    }
    Some(text)
}

/// With so few samples no share is a headline.
fn too_few(report: &Report) -> Option<String> {
    let samples = match report.samples {
        0 => "No sample".to_owned(),
        count => format!("Only {}", plural(count, "sample")),
    };
    let how = if report.is_ours {
        ["longer (-d 2m)", "at a higher rate (-F 999)"]
    } else {
        ["longer", "at a higher rate"]
    };
    let [longer, faster] = how;
    report.too_few_samples.then(|| match report.is_part {
        true => format!("{samples} selected: too few to name shares."),
        false => {
            format!(
                "{samples}: too few to name shares; record {longer}, {faster}, or while it is busy."
            )
        }
    })
}

/// Crashes of nodescope itself.
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
    let cut = report.losses.stacks_cut;
    (cut > 0).then(|| {
        let stacks = plural(cut, "stack");
        format!("{stacks} went deeper than the copy taken with the sample: the outer callers are “… deeper than the copy”.")
    })
}

/// How well it is known what awaits the functions that run after an await.
fn awaits(report: &Report) -> Option<String> {
    let counts = report.losses.awaits;
    let total = counts.total();
    let percent = |count: u64| (count as f64 * 100.0 / total.max(1) as f64).round();
    let known = counts.read.saturating_add(counts.cut);
    let unknown = counts.late.saturating_add(counts.unread);
    (total > 0).then(|| {
        format!(
            "{} after an await: their callers were read for {} %, inferred from others for {} %, unknown for {} %.",
            plural(total, "sample"),
            percent(known),
            percent(counts.inferred),
            percent(unknown)
        )
    })
}

/// The most common reason for nameless JavaScript has a remedy.
fn missing_map(report: &Report) -> Option<String> {
    let count = *report.losses.unnamed.get(naming::finish::WITHOUT_MAP)?;
    let share = count as f64 / report.losses.frames.max(1) as f64;
    (share >= 0.01).then(|| {
        let flags = "--perf-basic-prof --interpreted-frames-native-stack";
        let or_give =
            if report.format == "perf.data" { ", or give its map: --perf-map FILE" } else { "" };
        format!("[JIT] is JavaScript without names: start Node with {flags} to see them{or_give}.")
    })
}

const STALL_COLUMNS: &[Column] = &[
    Column::Figure("at"),
    Column::Figure("length"),
    Column::Word("mostly"),
    Column::Name("function"),
    Column::Path("where"),
    Column::Figure("tid"),
];

/// Of one loop, its thread says nothing.
const OF_ONE_LOOP: &[Column] = STALL_COLUMNS.split_at(STALL_COLUMNS.len() - 1).0;

fn stall(row: &StallRow) -> Vec<Cell> {
    let time = |seconds: f64| (seconds * 1e9) as u64;
    let mostly = match (row.kind, &row.waited_for) {
        ("ran", _) => "on the CPU",
        ("gc", _) => "garbage collection",
        ("blocked", Some(call)) => call,
        ("blocked", None) => "blocked",
        ("throttled", _) => "held back by the CPU limit",
        ("cpu-wait", _) => "waiting for a CPU",
        _ => "",
    };
    vec![
        Cell::new(&format!("{:.3} s", row.start_s)),
        Cell::new(&about(time(row.duration_s))),
        Cell::new(mostly),
        Cell::new(row.function.as_deref().unwrap_or_default()),
        Cell::dim(&place_of(row.file.as_deref(), row.line)),
        Cell::dim(&row.whose.tid.map(|tid| tid.to_string()).unwrap_or_default()),
    ]
}

const CATEGORY_COLUMNS: &[Column] = &[
    Column::Figure("self"),
    Column::Figure("samples"),
    Column::Word("category"),
    Column::Word(""),
];

fn categories(report: &Report) -> Vec<Vec<Cell>> {
    let most =
        report.categories.iter().map(|row| row.times.self_share).fold(f64::MIN_POSITIVE, f64::max);
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

const PACKAGE_COLUMNS: &[Column] = &[
    Column::Figure("caused"),
    Column::Figure("self"),
    Column::Figure("total"),
    Column::Name("package"),
];

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

const CALLS_COLUMNS: &[Column] = &[
    Column::Figure("calls"),
    Column::Figure("each"),
    Column::Name("function"),
    Column::Path("where"),
];

fn calls(row: &CallsRow) -> Vec<Cell> {
    let each = row.mean_s.map(|seconds| duration((seconds * 1e9) as u64)).unwrap_or_default();
    let place = place_of(row.file.as_deref(), row.line);
    vec![
        Cell::new(&thousands(row.calls)),
        Cell::new(&each),
        Cell::new(&row.name),
        Cell::dim(&place),
    ]
}

fn place(row: &FunctionRow) -> String {
    place_of(row.file.as_deref(), row.line)
}

pub(super) fn place_of(file: Option<&str>, line: Option<u32>) -> String {
    match (file, line) {
        (Some(file), Some(line)) => format!("{file}:{line}"),
        (Some(file), None) => file.to_owned(),
        (None, Some(line)) => format!("(eval):{line}"),
        (None, None) => String::new(),
    }
}

const LINE_COLUMNS: &[Column] = &[
    Column::Figure("self"),
    Column::Figure("total"),
    Column::Figure("samples"),
    Column::Path("line"),
];

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
