//! How wide a terminal is and whether it shows colours.

use std::io::{self, IsTerminal};

use profile::Category;

use crate::cli::Color;

/// What a report may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    pub(crate) width: usize,
    colors: bool,
}

/// A report that does not go to a terminal is read in an editor or a ticket.
const WIDTH_WITHOUT_TERMINAL: usize = 100;
/// Below this, tables overflow rather than lose their meaning.
const NARROWEST: usize = 40;

impl Style {
    pub(crate) fn new(color: Color) -> Self {
        let is_terminal = io::stdout().is_terminal();
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let plain = set("NO_COLOR") || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let colors = match color {
            Color::Auto => is_terminal && !plain,
            Color::Always => true,
            Color::Never => false,
        };
        Self { width: width(is_terminal).max(NARROWEST), colors }
    }

    pub(crate) fn bold(&self, text: &str) -> String {
        self.paint("1", text)
    }

    pub(crate) fn dim(&self, text: &str) -> String {
        self.paint("2", text)
    }

    /// A text in a category's colour: the colours of the flame graph, as near as 256 come.
    pub(crate) fn category(&self, category: Category, text: &str) -> String {
        let code = match category {
            Category::App => "38;5;71",
            Category::Dependency => "38;5;107",
            Category::NodeCore => "38;5;73",
            Category::Builtin => "38;5;38",
            Category::Runtime => "38;5;179",
            Category::Gc => "38;5;134",
            Category::Compiler => "38;5;143",
            Category::Regexp => "38;5;174",
            Category::Wasm => "38;5;104",
            Category::Addon | Category::Libuv | Category::System => "38;5;167",
            Category::Kernel => "38;5;208",
            Category::Idle | Category::Unknown => "38;5;245",
        };
        self.paint(code, text)
    }

    fn paint(&self, code: &str, text: &str) -> String {
        if self.colors { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// The columns of the terminal that stderr is; `None` where it is none: a log's lines are not broken.
pub(crate) fn stderr_width() -> Option<usize> {
    let stderr = io::stderr();
    let measured = || terminal_size::terminal_size_of(&stderr).map(|(columns, _)| columns.0.into());
    // A terminal that does not know its width reports 0.
    let columns: Option<usize> =
        if stderr.is_terminal() { typed_width().or_else(measured) } else { None };
    columns.filter(|columns| *columns > 0).map(|columns| columns.max(NARROWEST))
}

fn typed_width() -> Option<usize> {
    std::env::var("COLUMNS")
        .ok()
        .and_then(|columns| columns.parse().ok())
        .filter(|columns| *columns > 0)
}

fn width(is_terminal: bool) -> usize {
    typed_width().unwrap_or_else(|| {
        let measured = terminal_size::terminal_size().filter(|_| is_terminal);
        measured.map_or(WIDTH_WITHOUT_TERMINAL, |(columns, _)| columns.0.into())
    })
}
