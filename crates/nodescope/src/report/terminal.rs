//! The report for people: a few plain sentences first, then tables.

use std::fmt::Write;

use profile::{Category, Role};

use super::style::Style;
use super::table::{Cell, Column, render as render_table};
use super::{FunctionRow, NamedRow, Report, Times};
use crate::text::{duration, percent, plural, printable, thousands};

/// The longest bar, in characters.
const BAR: usize = 24;

/// The whole report; `limit` rows a table, 0 for all.
pub(super) fn render(report: &Report, limit: usize, style: &Style) -> String {
    let limit = if limit == 0 { usize::MAX } else { limit };
    let mut text = String::new();
    let _ = writeln!(text, "{}", style.bold(&printable(&headline(report))));
    for sentence in sentences(report) {
        let _ = writeln!(text, "{}", printable(&sentence));
    }
    section(
        &mut text,
        style,
        "Where the time went",
        &categories(report, style),
        report.categories.len(),
        usize::MAX,
    );
    section(&mut text, style, "Functions", &functions(report, limit, style), report.functions.len(), limit);
    section(
        &mut text,
        style,
        "npm packages",
        &named(&report.packages, limit, style),
        report.packages.len(),
        limit,
    );
    section(&mut text, style, "Lines", &lines(report, limit, style), report.lines.len(), limit);
    section(&mut text, style, "Threads", &threads(report, limit, style), report.threads.len(), limit);
    text
}

fn section(text: &mut String, style: &Style, title: &str, table: &str, rows: usize, limit: usize) {
    if rows == 0 {
        return;
    }
    let _ = write!(text, "\n{}\n{table}", style.bold(title));
    if rows > limit {
        let _ = writeln!(
            text,
            "  {}",
            style.dim(&format!("… {} more; -n 0 shows all", thousands((rows - limit) as u64)))
        );
    }
}

/// `perf script · 29.6 s · 2,970 samples of cpu-clock · 0.94 cores busy`
fn headline(report: &Report) -> String {
    let mut parts = vec![report.format.clone()];
    parts.extend(report.host.clone());
    if report.timed {
        parts.push(duration((report.duration_s * 1e9) as u64));
    }
    parts
        .push(format!("{} of {}", plural(report.samples, "sample"), report.event).replace(" of samples", ""));
    if report.unit == "ns" && report.duration_s > 0.1 {
        parts.push(format!("{:.2} cores busy", report.weight as f64 / 1e9 / report.duration_s));
    }
    if report.processes > 1 {
        parts.push(plural(report.processes as u64, "process").replace("processs", "processes"));
    }
    parts.join(" · ")
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
    if report.samples < 100 {
        sentences.push(format!("Only {}: the shares below are rough.", plural(report.samples, "sample")));
    }
    sentences.extend(gc_sentence(report));
    sentences.extend(hottest(report, "your own code", |row| row.category == Category::App));
    if let Some(package) =
        report.packages.iter().max_by(|a, b| a.times.self_share.total_cmp(&b.times.self_share))
    {
        sentences.push(format!(
            "The hottest npm package is {} ({} self, {} with what it calls).",
            package.name,
            percent(package.times.self_share),
            percent(package.times.total_share)
        ));
    }
    sentences
}

fn quality(report: &Report) -> String {
    let losses = &report.losses;
    let named = 1.0 - losses.unnamed_frames as f64 / losses.frames.max(1) as f64;
    let mut text = format!("{} of the frames have a name", percent(named));
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

fn gc_sentence(report: &Report) -> Option<String> {
    let gc = report.categories.iter().find(|row| row.category == Category::Gc)?;
    let share = gc.times.self_share;
    let judgement = if share > 0.1 { ": more than most services need" } else { "" };
    (share >= 0.001).then(|| format!("Garbage collection took {}{judgement}.", percent(share)))
}

fn hottest(report: &Report, whose: &str, is_theirs: impl Fn(&FunctionRow) -> bool) -> Option<String> {
    let mine = report.functions.iter().filter(|row| is_theirs(row));
    let row = mine
        .max_by(|a, b| a.times.self_share.total_cmp(&b.times.self_share))
        .filter(|row| row.times.self_share > 0.0)?;
    let place = place(row);
    let at = if place.is_empty() { String::new() } else { format!(" at {place}") };
    Some(format!(
        "The hottest function of {whose} is {}{at} ({} self, {} with what it calls).",
        row.name,
        percent(row.times.self_share),
        percent(row.times.total_share)
    ))
}

fn categories(report: &Report, style: &Style) -> String {
    let columns =
        [Column::Word("category"), Column::Figure("self"), Column::Figure("samples"), Column::Word("")];
    let most = report.categories.iter().map(|row| row.times.self_share).fold(0.0, f64::max);
    let rows: Vec<Vec<Cell>> = report
        .categories
        .iter()
        .filter(|row| row.times.self_samples > 0)
        .map(|row| {
            let length = (row.times.self_share / most.max(f64::MIN_POSITIVE) * BAR as f64).ceil() as usize;
            vec![
                Cell::category(row.category.label(), row.category),
                Cell::new(&percent(row.times.self_share)),
                Cell::new(&thousands(row.times.self_samples)),
                Cell::category(&"█".repeat(length.min(BAR)), row.category),
            ]
        })
        .collect();
    render_table(&columns, &rows, style)
}

fn functions(report: &Report, limit: usize, style: &Style) -> String {
    let columns = [
        Column::Figure("self"),
        Column::Figure("total"),
        Column::Figure("samples"),
        Column::Name("function"),
        Column::Word("category"),
        Column::Path("where"),
    ];
    let row = |row: &FunctionRow| {
        let mut cells = figures(&row.times);
        cells.extend([
            Cell::new(&row.name),
            Cell::category(row.category.label(), row.category),
            Cell::dim(&place(row)),
        ]);
        cells
    };
    let rows: Vec<Vec<Cell>> = report.functions.iter().take(limit).map(row).collect();
    render_table(&columns, &rows, style)
}

fn place(row: &FunctionRow) -> String {
    match (&row.file, row.line) {
        (Some(file), Some(line)) => format!("{file}:{line}"),
        (Some(file), None) => file.clone(),
        (None, _) => String::new(),
    }
}

fn named(rows: &[NamedRow], limit: usize, style: &Style) -> String {
    let columns =
        [Column::Figure("self"), Column::Figure("total"), Column::Figure("samples"), Column::Name("package")];
    let row = |row: &NamedRow| {
        let mut cells = figures(&row.times);
        cells.push(Cell::new(&row.name));
        cells
    };
    let rows: Vec<Vec<Cell>> = rows.iter().take(limit).map(row).collect();
    render_table(&columns, &rows, style)
}

fn lines(report: &Report, limit: usize, style: &Style) -> String {
    let columns =
        [Column::Figure("self"), Column::Figure("total"), Column::Figure("samples"), Column::Path("line")];
    let rows: Vec<Vec<Cell>> = report
        .lines
        .iter()
        .take(limit)
        .map(|row| {
            let mut cells = figures(&row.times);
            cells.push(Cell::new(&format!("{}:{}", row.file, row.line)));
            cells
        })
        .collect();
    render_table(&columns, &rows, style)
}

fn threads(report: &Report, limit: usize, style: &Style) -> String {
    let columns = [
        Column::Figure("time"),
        Column::Figure("samples"),
        Column::Name("thread"),
        Column::Word("role"),
        Column::Figure("pid"),
        Column::Figure("tid"),
    ];
    let id = |id: Option<u32>| Cell::dim(&id.map(|id| id.to_string()).unwrap_or_default());
    let rows: Vec<Vec<Cell>> = report
        .threads
        .iter()
        .take(limit)
        .map(|row| {
            let role = if row.role == Role::Other { "" } else { row.role.label() };
            let name = if row.name.is_empty() { "(not recorded)" } else { &row.name };
            vec![
                Cell::new(&percent(row.share)),
                Cell::new(&thousands(row.samples)),
                Cell::new(name),
                Cell::new(role),
                id(row.pid),
                id(row.tid),
            ]
        })
        .collect();
    render_table(&columns, &rows, style)
}

fn figures(times: &Times) -> Vec<Cell> {
    vec![
        Cell::new(&percent(times.self_share)),
        Cell::new(&percent(times.total_share)),
        Cell::new(&thousands(times.self_samples)),
    ]
}
