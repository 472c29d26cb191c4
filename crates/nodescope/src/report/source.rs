//! `nodescope report --source FUNCTION`: the lines of one function, with what each took beside the text.

use std::collections::BTreeMap;
use std::fmt::Write;

use profile::Profile;
use views::report::{FunctionRow, SourceLine, SourceReport, place_of, script_lines};
use views::{Selection, TopBy, TopKey, Weights};

use crate::cli;
use crate::failure::{Failure, warn};
use crate::style::Style;
use crate::table::{Cell, Column, render as render_table};
use crate::text::{percent, plural, printable, thousands};
use crate::texts::ScriptTexts;
use crate::{output, select};

/// Lines without samples that are shown around those with.
const CONTEXT: u32 = 3;
/// Other functions that are named.
const MOST_OTHERS: usize = 8;

/// Prints the lines of the function that was meant.
pub(super) fn run(
    profile: &Profile,
    weights: &Weights,
    selection: &Selection,
    arguments: &cli::Report,
    typed: &str,
) -> Result<(), Failure> {
    let texts = ScriptTexts::new(&arguments.folders, &arguments.input.reading)?;
    // A name may hold what an expression may not.
    let pattern = select::pattern("--source", typed);
    let report = SourceReport::new(profile, weights, selection, typed, pattern.as_ref().ok());
    let Some(mut report) = report else {
        return Err(pattern.err().unwrap_or_else(|| unknown(profile, weights, selection, typed)));
    };
    let text = add_text(&mut report, profile, &texts);
    if arguments.json {
        let mut text = serde_json::to_string_pretty(&report)
            .map_err(|error| Failure::failed(error.to_string()))?;
        text.push('\n');
        return output::print(&text);
    }
    let style = Style::new(arguments.color);
    output::print(&render(&report, text.as_deref(), arguments.rows, &style))
}

fn unknown(profile: &Profile, weights: &Weights, selection: &Selection, typed: &str) -> Failure {
    let functions = views::top(profile, weights, selection, TopBy::Function);
    let name = |row: &views::TopRow| match row.key {
        TopKey::Function(id) => {
            let function = profile.functions().row(id);
            function.source.some()?;
            Some(profile.text(function.name)).filter(|name| !name.is_empty())
        }
        _ => None,
    };
    let known: Vec<&str> = functions.iter().filter_map(name).take(5).collect();
    let failure =
        Failure::failed(format!("no function of a script with samples is called {typed}"));
    match known.is_empty() {
        true => failure.hint("this recording has no functions of scripts"),
        false => failure.hint(format!("the hottest are {}", printable(&known.join(", ")))),
    }
}

/// The text from the recording, else from this machine. Warns where it may be another one.
fn add_text(report: &mut SourceReport, profile: &Profile, texts: &ScriptTexts) -> Option<String> {
    let path = profile.source_path(report.source)?;
    if let Some(text) = profile.source_text(report.source) {
        report.add_text(text, "recording");
        return Some(text.to_owned());
    }
    let generated = profile.source_path(profile.sources()[report.source.index()].generated);
    let Some(text) = texts.find(path, generated) else {
        warn(&format!(
            "the text of {} is neither in the recording nor on this machine: --sources /app=. finds what was below \
             /app here, and record --with-source takes it along",
            printable(path)
        ));
        return None;
    };
    if report.differs(&text) {
        warn(&format!(
            "{} on this machine is another version than the one that ran: its lines may be others",
            printable(path)
        ));
    }
    report.add_text(&text, "disk");
    Some(text)
}

const COLUMNS: &[Column] = &[
    Column::Figure("self"),
    Column::Figure("total"),
    Column::Figure("samples"),
    Column::Figure("line"),
    Column::Name(""),
];

fn render(report: &SourceReport, text: Option<&str>, limit: usize, style: &Style) -> String {
    let mut out = format!("{}\n", style.bold(&printable(&headline(&report.function))));
    if report.without_line > 0.0 {
        let _ = writeln!(out, "{} ended at no known line.", percent(report.without_line));
    }
    if let Some(others) = others(&report.other_matches) {
        let _ = writeln!(out, "{}", style.dim(&printable(&others)));
    }
    let shown = hottest(&report.lines, limit);
    if shown.is_empty() {
        out.push_str("\nThis recording does not show which of its lines ran.\n");
        return out;
    }
    let rows = rows(&shown, &text.map(script_lines).unwrap_or_default());
    let _ = write!(out, "\n{}", render_table(COLUMNS, &rows, style));
    if let Some(more) = report.lines.len().checked_sub(shown.len()).filter(|more| *more > 0) {
        let more = format!("  … {} more; -n 0 shows all", plural(more as u64, "line"));
        let _ = writeln!(out, "{}", style.dim(&more));
    }
    out
}

/// `summarise · /app/report.js:10 · self 41.2 % (412 samples) · total 55.0 % (550 samples)`
fn headline(function: &FunctionRow) -> String {
    let figure = |word: &str, share: f64, samples: u64| {
        format!("{word} {} ({})", percent(share), plural(samples, "sample"))
    };
    let times = &function.times;
    [
        function.name.clone(),
        place_of(function.file.as_deref(), function.line),
        figure("self", times.self_share, times.self_samples),
        figure("total", times.total_share, times.total_samples),
    ]
    .join(" · ")
}

fn others(matches: &[FunctionRow]) -> Option<String> {
    let name = |row: &FunctionRow| {
        let place = place_of(row.file.as_deref(), row.line);
        format!("{} ({place}) {}", row.name, percent(row.times.self_share))
    };
    let named: Vec<String> = matches.iter().take(MOST_OTHERS).map(name).collect();
    let more = matches.len().saturating_sub(named.len());
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    (!named.is_empty()).then(|| format!("Also meant by that: {}{more}.", named.join(", ")))
}

/// The hottest lines, in the order of the script.
fn hottest(lines: &[SourceLine], limit: usize) -> BTreeMap<u32, &SourceLine> {
    let mut rows: Vec<&SourceLine> = lines.iter().collect();
    rows.sort_by(|a, b| {
        let heat = |row: &SourceLine| (row.times.self_share, row.times.total_share);
        heat(b).0.total_cmp(&heat(a).0).then(heat(b).1.total_cmp(&heat(a).1))
    });
    let limit = if limit == 0 { usize::MAX } else { limit };
    rows.into_iter().take(limit).map(|row| (row.line, row)).collect()
}

/// Lines with samples, and where there is a text those around them.
fn rows(shown: &BTreeMap<u32, &SourceLine>, texts: &[&str]) -> Vec<Vec<Cell>> {
    let text_of = |line: u32| {
        let text = texts.get((line as usize).saturating_sub(1)).copied().unwrap_or_default();
        text.replace('\t', "    ")
    };
    let context = if texts.is_empty() { 0 } else { CONTEXT };
    let mut rows = Vec::new();
    let mut next = 0;
    for (line, row) in shown {
        let before = line.saturating_sub(context).max(next).max(1);
        if next > 0 && before > next {
            rows.push(vec![
                Cell::default(),
                Cell::default(),
                Cell::default(),
                Cell::dim("…"),
                Cell::default(),
            ]);
        }
        rows.extend((before..*line).map(|line| quiet(line, &text_of(line))));
        rows.push(loud(row, &text_of(*line)));
        // Those behind it, up to the next one.
        let following = shown.range(line + 1..).next().map_or(u32::MAX, |(line, _)| *line);
        let end = line.saturating_add(context).min(texts.len() as u32).min(following - 1);
        rows.extend((line + 1..=end).map(|line| quiet(line, &text_of(line))));
        next = end.max(*line) + 1;
    }
    rows
}

/// A line without samples.
fn quiet(line: u32, text: &str) -> Vec<Cell> {
    let nothing = || Cell::default();
    vec![nothing(), nothing(), nothing(), Cell::dim(&line.to_string()), Cell::dim(text)]
}

fn loud(row: &SourceLine, text: &str) -> Vec<Cell> {
    vec![
        Cell::new(&percent(row.times.self_share)),
        Cell::new(&percent(row.times.total_share)),
        Cell::new(&thousands(row.times.self_samples)),
        Cell::new(&row.line.to_string()),
        Cell::new(text),
    ]
}
