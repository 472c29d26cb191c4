//! What `top` shows: on a terminal one report in the place of the one before, and the last one when it is over;
//! elsewhere one below the other.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use views::Report;

use crate::cli;
use crate::failure::Failure;
use crate::output;
use crate::report::terminal::live;
use crate::style::Style;
use crate::text::duration;

/// The rows of a table where there is no screen to fill.
const ROWS: usize = 10;
/// A table with fewer rows shows too little.
const FEWEST_ROWS: usize = 3;
/// The tables that share the screen, and what each has beside its rows.
const TABLES: usize = 2;
const BESIDE_ROWS: usize = 4;

/// The other screen of a terminal, which leaves what was there before as it was; without a cursor.
const ENTER: &str = "\u{1b}[?1049h\u{1b}[?25l";
const LEAVE: &str = "\u{1b}[?25h\u{1b}[?1049l";
const HOME: &str = "\u{1b}[H";
const CLEAR_LINE: &str = "\u{1b}[K";
const CLEAR_REST: &str = "\u{1b}[J";

pub(super) struct Screen<'a> {
    arguments: &'a cli::Top,
    /// The line on top.
    title: String,
    is_terminal: bool,
    /// Whether the other screen is shown.
    is_open: bool,
    is_first: bool,
    /// The last report, whole.
    latest: String,
}

impl<'a> Screen<'a> {
    pub(super) fn new(arguments: &'a cli::Top, every: Duration, last: Duration) -> Self {
        let words = |time: Duration| duration(time.as_nanos() as u64);
        let title = format!(
            "nodescope top · the last {}, every {} · Ctrl-C ends",
            words(last),
            words(every)
        );
        let is_terminal = io::stdout().is_terminal() && !arguments.json;
        Self {
            arguments,
            title,
            is_terminal,
            is_open: false,
            is_first: true,
            latest: String::new(),
        }
    }

    pub(super) fn show(&mut self, report: &Report) -> Result<(), Failure> {
        if self.arguments.json {
            let text = serde_json::to_string(report)
                .map_err(|error| Failure::failed(error.to_string()))?;
            return output::print(&format!("{text}\n"));
        }
        let style = Style::new(self.arguments.color);
        self.latest = live::render(report, self.arguments.rows.unwrap_or(ROWS), &style);
        if self.is_terminal {
            let text = self.fitting(report, &style);
            return self.draw(&text);
        }
        let gap = if std::mem::take(&mut self.is_first) { "" } else { "\n" };
        output::print(&format!("{gap}{}", self.latest))
    }

    /// The report with as many rows as the screen has room for.
    fn fitting(&self, report: &Report, style: &Style) -> String {
        let height = screen_rows();
        let head = live::render(report, 1, style).lines().count();
        let room = height.saturating_sub(head + TABLES * BESIDE_ROWS) / TABLES;
        let rows = self.arguments.rows.unwrap_or_else(|| room.max(FEWEST_ROWS));
        let text = live::render(report, rows, style);
        let lines = std::iter::once(style.dim(&self.title))
            .chain(text.lines().map(str::to_owned))
            .take(height.saturating_sub(1).max(1));
        lines.map(|line| format!("{line}{CLEAR_LINE}\r\n")).collect()
    }

    fn draw(&mut self, text: &str) -> Result<(), Failure> {
        let enter = if std::mem::replace(&mut self.is_open, true) { "" } else { ENTER };
        output::print(&format!("{enter}{HOME}{text}{CLEAR_REST}"))
    }

    /// Leaves the last report where the user's next command is typed.
    pub(super) fn close(&mut self) -> Result<(), Failure> {
        if !self.leave() {
            return Ok(());
        }
        output::print(&self.latest)
    }

    /// Whether there was anything to leave.
    fn leave(&mut self) -> bool {
        let was_open = std::mem::take(&mut self.is_open);
        if was_open {
            // A terminal that has gone needs nothing.
            let mut out = io::stdout().lock();
            let _ = out.write_all(LEAVE.as_bytes()).and_then(|()| out.flush());
        }
        was_open
    }
}

impl Drop for Screen<'_> {
    /// Also where something failed: its message belongs on the user's own screen.
    fn drop(&mut self) {
        self.leave();
    }
}

fn screen_rows() -> usize {
    const USUAL: usize = 24;
    terminal_size::terminal_size().map_or(USUAL, |(_, rows)| usize::from(rows.0))
}
