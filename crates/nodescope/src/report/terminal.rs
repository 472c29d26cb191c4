//! The report for people: a few plain sentences first, then tables.

#[cfg(target_os = "linux")]
pub(crate) mod live;

use std::fmt::Write;

use profile::Role;
use views::report::{
    CallsRow, FunctionRow, LineRow, MOST_FINDINGS, PackageRow, StallRow, ThreadRow, Times,
    more_findings, place_of,
};
use views::{EntryGroup, EntryKind, EntryRow, Report, package_words};

use crate::style::Style;
use crate::table::{Cell, Column, render as render_table};
use crate::text::{about, duration, percent, printable, thousands, wrap};

/// The longest bar, in characters.
const BAR: usize = 24;

/// The whole report; `limit` rows a table, 0 for all.
pub(super) fn render(report: &Report, limit: usize, style: &Style) -> String {
    let limit = if limit == 0 { usize::MAX } else { limit };
    let shown = if limit == usize::MAX { usize::MAX } else { MOST_FINDINGS };
    head(report, shown, style) + &tables(report, sections(report), limit, style)
}

fn tables(report: &Report, sections: Vec<Section<'_>>, limit: usize, style: &Style) -> String {
    let fitting = |text: &str| wrap(&printable(text), style.width);
    let mut text = String::new();
    for section in sections {
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
        if let Some(note) = report.awaits().filter(|_| section.title == ENTRIES) {
            let _ = writeln!(text, "{}", style.dim(&fitting(&note)));
        }
    }
    text
}

/// What stands before a finding.
const INDENT: usize = 3;

/// The sentences alone.
pub(super) fn render_head(report: &Report, style: &Style) -> String {
    head(report, MOST_FINDINGS, style)
}

/// Which process, how good the recording is, what stands out, and what else there is to know.
fn head(report: &Report, limit: usize, style: &Style) -> String {
    let fitting = |text: &str| wrap(&printable(text), style.width);
    let mut text = format!("{}\n", style.bold(&fitting(&report.headline.join(" · "))));
    for sentence in report.sentences() {
        let _ = writeln!(text, "{}", fitting(&sentence.text));
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
        let _ = writeln!(text, "{}", style.dim(&format!("{:INDENT$}{}", "", more_findings(more))));
    }
    if !report.closing.is_empty() {
        text.push('\n');
    }
    text
}

/// The table that adds up to everything.
const ALWAYS_WHOLE: &str = "Where the time went";
/// The table under which a sentence states how well entries are known.
const ENTRIES: &str = "What asked for the work";
const OWN: &str =
    "Your code, by the time it caused (with the packages, engine and kernel that it called)";

/// A table under its title.
struct Section<'a> {
    title: &'a str,
    columns: &'a [Column],
    rows: Vec<Vec<Cell>>,
}

fn sections(report: &Report) -> Vec<Section<'static>> {
    vec![
        Section { title: ALWAYS_WHOLE, columns: CATEGORY_COLUMNS, rows: categories(report) },
        Section { title: ENTRIES, columns: ENTRY_COLUMNS, rows: entries(report) },
        Section {
            title: OWN,
            columns: OWN_COLUMNS,
            rows: report.own_functions.iter().map(|row| own_function(report, row)).collect(),
        },
        Section {
            title: "npm packages, by the time they caused (with the engine and kernel)",
            columns: package_columns(report),
            rows: report.packages.iter().map(package).collect(),
        },
        Section {
            title: "Functions, by their own time",
            columns: FUNCTION_COLUMNS,
            rows: report.functions.iter().map(|row| function(report, row)).collect(),
        },
        Section {
            title: "Calls, by their number",
            columns: CALLS_COLUMNS,
            rows: report.calls.iter().map(|row| calls(report, row)).collect(),
        },
        Section {
            title: match report.loops.len() {
                1 => "The event loop, and what a request to it waited",
                _ => "Event loops, and what a request to them waited",
            },
            columns: if report.loops.len() > 1 { LOOP_COLUMNS } else { LOOP_ALONE },
            rows: loops(report),
        },
        Section {
            title: "Stalls of the event loop, the longest first",
            columns: if report.loops.len() > 1 { STALL_COLUMNS } else { STALLS_OF_ONE },
            rows: report.stalls.iter().map(|row| stall(report, row)).collect(),
        },
        Section {
            title: "Lines",
            columns: LINE_COLUMNS,
            rows: report.lines.iter().map(|row| line(report, row)).collect(),
        },
        Section {
            title: "Threads",
            columns: if has_pids(report) { THREAD_COLUMNS } else { WITHOUT_PIDS },
            rows: report.threads.iter().map(thread).collect(),
        },
    ]
}

const LOOP_COLUMNS: &[Column] = &[
    Column::Figure("busy"),
    Column::Figure("median"),
    Column::Figure("p99"),
    Column::Figure("worst"),
    Column::Name("thread"),
    Column::Figure("tid"),
    Column::Figure("pid"),
];

/// The columns for a single loop, whose thread is known without a column.
const LOOP_ALONE: &[Column] = LOOP_COLUMNS.split_at(4).0;

/// Where one loop is known and was not watched, the head states that.
fn loops(report: &Report) -> Vec<Vec<Cell>> {
    let several = report.loops.len() > 1;
    let rows = report.loops.iter().filter(|row| several || row.watched && row.watched_s > 0.0);
    let number = |id: Option<u32>| Cell::dim(&id.map(|id| id.to_string()).unwrap_or_default());
    rows.map(|row| {
        let mut cells = vec![Cell::new(&row.utilisation.map(percent).unwrap_or_default())];
        cells.extend(row.delays().iter().map(|words| Cell::new(words)));
        if several {
            cells.push(Cell::new(&row.whose.thread));
            cells.extend([number(row.whose.tid), number(row.whose.pid)]);
        }
        cells
    })
    .collect()
}

const STALL_COLUMNS: &[Column] = &[
    Column::Figure("at"),
    Column::Figure("length"),
    Column::Word("mostly"),
    Column::Name("function"),
    Column::Path("where"),
    Column::Figure("tid"),
];

/// Without the thread.
const STALLS_OF_ONE: &[Column] = STALL_COLUMNS.split_at(STALL_COLUMNS.len() - 1).0;

fn stall(report: &Report, row: &StallRow) -> Vec<Cell> {
    let time = |seconds: f64| (seconds * 1e9) as u64;
    vec![
        Cell::new(&format!("{:.3} s", row.start_s)),
        Cell::new(&about(time(row.duration_s))),
        Cell::new(row.mostly()),
        Cell::new(row.function.as_deref().unwrap_or_default()),
        Cell::dim(&short_place(report, row.file.as_deref(), row.line)),
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

const ENTRY_COLUMNS: &[Column] = &[
    Column::Figure("share"),
    Column::Figure("inferred"),
    Column::Figure("samples"),
    Column::Name("entry"),
    Column::Path("where"),
];

/// One row for each function; without JavaScript there is nothing to list.
fn entries(report: &Report) -> Vec<Vec<Cell>> {
    let is_javascript = |group: &EntryGroup| group.kind != EntryKind::NotJavaScript;
    if !report.entries.iter().any(is_javascript) {
        return Vec::new();
    }
    let mut rows: Vec<(EntryKind, &EntryRow)> = Vec::new();
    for group in &report.entries {
        rows.extend(group.functions.iter().map(|row| (group.kind, row)));
    }
    rows.sort_by(|a, b| {
        let is_last = |kind: EntryKind| kind == EntryKind::NotJavaScript;
        is_last(a.0).cmp(&is_last(b.0)).then(b.1.share.total_cmp(&a.1.share))
    });
    rows.into_iter().map(|(kind, row)| entry(report, kind, row)).collect()
}

fn entry(report: &Report, kind: EntryKind, row: &EntryRow) -> Vec<Cell> {
    let name = match kind {
        EntryKind::NotJavaScript => kind.one().to_owned(),
        _ => format!("{} ▸ {}", kind.one(), row.words()),
    };
    let inferred = if row.inferred > 0.0 { percent(row.inferred) } else { String::new() };
    vec![
        Cell::new(&percent(row.share)),
        Cell::dim(&inferred),
        Cell::new(&thousands(row.samples)),
        Cell::new(&name),
        Cell::dim(&short_place(report, row.file.as_deref(), row.line)),
    ]
}

const OWN_COLUMNS: &[Column] = &[
    Column::Figure("caused"),
    Column::Figure("self"),
    Column::Figure("total"),
    Column::Name("function"),
    Column::Path("where"),
];

fn own_function(report: &Report, row: &FunctionRow) -> Vec<Cell> {
    let mut cells = vec![Cell::new(&caused(&row.times))];
    cells.extend(shares(&row.times));
    cells.extend([Cell::new(&row.name), Cell::dim(&place(report, row))]);
    cells
}

const PACKAGE_COLUMNS: &[Column] = &[
    Column::Figure("caused"),
    Column::Figure("self"),
    Column::Figure("total"),
    Column::Name("package"),
    Column::Name("pulled in by"),
];
/// Where it is known of none what pulled it in.
const PACKAGES_ALONE: usize = PACKAGE_COLUMNS.len() - 1;

fn package_columns(report: &Report) -> &'static [Column] {
    let is_known = report.packages.iter().any(|row| !pulled_in_by(row).is_empty());
    if is_known { PACKAGE_COLUMNS } else { &PACKAGE_COLUMNS[..PACKAGES_ALONE] }
}

/// The first packages that depend on it, and how many more there are. Of the user's own it does not matter.
fn pulled_in_by(row: &PackageRow) -> String {
    if row.own {
        return "(your own)".into();
    }
    let first =
        row.pulled_in_by.iter().take(MOST_DEPENDENTS).cloned().collect::<Vec<_>>().join(", ");
    match row.pulled_in_by.len().saturating_sub(MOST_DEPENDENTS) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

const MOST_DEPENDENTS: usize = 2;

fn package(row: &PackageRow) -> Vec<Cell> {
    let mut cells = vec![Cell::new(&caused(&row.times))];
    cells.extend(shares(&row.times));
    cells.push(Cell::new(&package_words(&row.name, row.version.as_deref())));
    cells.push(Cell::dim(&pulled_in_by(row)));
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

fn function(report: &Report, row: &FunctionRow) -> Vec<Cell> {
    let mut cells = figures(&row.times);
    let category = Cell::category(row.category.label(), row.category);
    cells.extend([Cell::new(row.short_name()), category, Cell::dim(&place(report, row))]);
    cells
}

const CALLS_COLUMNS: &[Column] = &[
    Column::Figure("calls"),
    Column::Figure("each"),
    Column::Name("function"),
    Column::Path("where"),
];

fn calls(report: &Report, row: &CallsRow) -> Vec<Cell> {
    let each = row.mean_s.map(|seconds| duration((seconds * 1e9) as u64)).unwrap_or_default();
    let place = short_place(report, row.file.as_deref(), row.line);
    vec![
        Cell::new(&thousands(row.calls)),
        Cell::new(&each),
        Cell::new(&row.name),
        Cell::dim(&place),
    ]
}

fn place(report: &Report, row: &FunctionRow) -> String {
    short_place(report, row.file.as_deref(), row.line)
}

/// `lib/orders.js:12`, from the folder of the application on.
fn short_place(report: &Report, file: Option<&str>, line: Option<u32>) -> String {
    place_of(file.map(|file| report.folders.short(file)), line)
}

const LINE_COLUMNS: &[Column] = &[
    Column::Figure("self"),
    Column::Figure("total"),
    Column::Figure("samples"),
    Column::Path("line"),
];

fn line(report: &Report, row: &LineRow) -> Vec<Cell> {
    let mut cells = figures(&row.times);
    cells.push(Cell::new(&short_place(report, Some(&row.file), Some(row.line))));
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
