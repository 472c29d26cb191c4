//! `nodescope diff`: what changed from one recording to another, and whether that is more than noise, as text or JSON.
//! The page of `nodescope view BEFORE AFTER` shows the same.

use std::fmt::Write;
use std::path::Path;

use profile::Profile;
use serde::Serialize;
use views::{Change, Compared, Comparison, Figure, Gist, Measure, compare, gist};

use crate::cli;
use crate::failure::{Failure, warn};
use crate::style::Style;
use crate::table::{Cell, Column, render as render_table};
use crate::text::{printable, thousands, wrap};
use crate::{input, output};

/// The version of what `--json` prints.
const SCHEMA_VERSION: u32 = 1;

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Diff {
    schema_version: u32,
    before: Gist,
    after: Gist,
    /// What is compared of them.
    threads: &'static str,
    #[serde(flatten)]
    comparison: Comparison,
}

/// Runs the command.
pub(crate) fn run(arguments: &cli::Diff) -> Result<(), Failure> {
    let files = [&arguments.before, &arguments.after];
    input::refuse_two_stdins(&files.map(Clone::clone))?;
    let before = read(&arguments.before, &arguments.reading)?;
    let after = read(&arguments.after, &arguments.reading)?;
    let compared = if arguments.all_threads { Compared::Threads } else { Compared::Loops };
    let measure = if arguments.shares { Measure::Share } else { Measure::Rate };
    let comparison = compare(&before, &after, compared, measure);
    let diff = Diff {
        schema_version: SCHEMA_VERSION,
        before: gist(&before),
        after: gist(&after),
        threads: if comparison.are_loops { "main loop" } else { "all" },
        comparison,
    };
    if arguments.json {
        let text = serde_json::to_string_pretty(&diff)
            .map_err(|error| Failure::failed(error.to_string()))?;
        return output::print(&format!("{text}\n"));
    }
    let names = files.map(|file| file_name(file));
    output::print(&render(&diff, &names, arguments.rows, &Style::new(arguments.color)))
}

fn read(file: &Path, reading: &cli::Reading) -> Result<Profile, Failure> {
    let profile = input::read(file, reading)?;
    for sentence in views::report::warnings(&profile) {
        warn(&format!("{}: {sentence}", file.display()));
    }
    Ok(profile)
}

fn file_name(file: &Path) -> String {
    file.file_name().map_or_else(|| file.display(), |name| Path::new(name).display()).to_string()
}

/// Both recordings, then how all of it changed, then the functions; `limit` of them, 0 for all.
fn render(diff: &Diff, names: &[String; 2], limit: usize, style: &Style) -> String {
    let fitting = |text: &str| wrap(&printable(text), style.width);
    let mut text = recordings(diff, names, style);
    for (side, gist) in [("before", &diff.before), ("after", &diff.after)] {
        let _ = writeln!(text, "{}", fitting(&format!("{side}: {}", gist.finding)));
    }
    let Comparison { text: whole, intro, changes, .. } = &diff.comparison;
    let _ = write!(text, "\n{}\n{}\n", style.bold(&fitting(whole)), fitting(intro));
    if changes.is_empty() {
        return text;
    }
    let limit = if limit == 0 { usize::MAX } else { limit };
    let shown = &changes[..changes.len().min(limit)];
    text.push_str(&render_table(CHANGES, &shown.iter().map(row).collect::<Vec<_>>(), style));
    if changes.len() > shown.len() {
        let more = thousands((changes.len() - shown.len()) as u64);
        let _ = writeln!(text, "{}", style.dim(&format!("  … {more} more; -n 0 shows all")));
    }
    text
}

const CHANGES: &[Column] =
    &[Column::Word("change"), Column::Name("function"), Column::Path("place")];

fn row(change: &Change) -> Vec<Cell> {
    [&change.text, &change.name, &change.place].map(|text| Cell::new(text)).to_vec()
}

/// A row for each recording: what it is, and the figures that a fix should change.
fn recordings(diff: &Diff, names: &[String; 2], style: &Style) -> String {
    let columns = [
        Column::Word(""),
        Column::Name("recording"),
        Column::Name("service"),
        Column::Figure("length"),
        Column::Figure("cores"),
        Column::Figure("worst stall"),
        Column::Figure("GC"),
    ];
    let figure = |figure: &Option<Figure>| {
        Cell::new(figure.as_ref().map_or("–", |figure| figure.text.as_str()))
    };
    let row = |side: &str, name: &str, gist: &Gist| {
        let service = [Some(&gist.service), gist.processes.as_ref(), gist.container.as_ref()];
        let service: Vec<&str> = service.into_iter().flatten().map(String::as_str).collect();
        vec![
            Cell::new(side),
            Cell::new(name),
            Cell::new(&service.join(" · ")),
            figure(&gist.length),
            figure(&gist.cores),
            figure(&gist.worst_stall),
            figure(&gist.gc),
        ]
    };
    let rows = [row("before", &names[0], &diff.before), row("after", &names[1], &diff.after)];
    format!("{}\n", render_table(&columns, &rows, style))
}
