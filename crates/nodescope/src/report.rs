//! `nodescope report`: what `views` has gathered, as text or JSON.

mod markdown;
mod source;
pub(crate) mod terminal;

use profile::Profile;
use views::{Report, Selection};

use crate::cli::{self, Sort};
use crate::failure::Failure;
use crate::style::Style;
use crate::{input, output, select};

/// Runs the command.
pub(crate) fn run(arguments: &cli::Report) -> Result<(), Failure> {
    let profile = input::open(&arguments.input)?;
    let (selection, _) = select::select(&profile, &arguments.narrow, &arguments.pid, true)?;
    let (selection, weights) = views::weigh_busy(&profile, &selection);
    if let Some(typed) = &arguments.source {
        return source::run(&profile, &weights, &selection, arguments, typed);
    }
    let mut report = Report::new(&profile, &weights, &selection);
    if arguments.sort == Sort::Total {
        report.sort_by_total();
    }
    if arguments.json {
        let mut text = serde_json::to_string_pretty(&report)
            .map_err(|error| Failure::failed(error.to_string()))?;
        text.push('\n');
        return output::print(&text);
    }
    if arguments.markdown {
        return output::print(&markdown::render(&report));
    }
    output::print(&terminal::render(&report, arguments.rows, &Style::new(arguments.color)))
}

/// Prints the first lines of a report.
pub(crate) fn print_head(profile: &Profile) -> Result<(), Failure> {
    let (selection, weights) = views::weigh_busy(profile, &Selection::of_logical());
    let report = Report::without_lists(profile, &weights, &selection);
    output::print(&terminal::render_head(&report, &Style::new(cli::Color::Auto)))
}
