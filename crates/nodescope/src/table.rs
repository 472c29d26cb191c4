//! A table that fits the width: figures keep their columns, names give way.

use crate::style::Style;
use crate::text::{fit_end, fit_start, printable, width};

/// A cell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    text: String,
    paint: Option<profile::Category>,
    dim: bool,
}

impl Cell {
    /// A text, made safe for terminals.
    pub(crate) fn new(text: &str) -> Self {
        Self { text: printable(text), ..Self::default() }
    }

    pub(crate) fn category(text: &str, category: profile::Category) -> Self {
        Self { paint: Some(category), ..Self::new(text) }
    }

    pub(crate) fn dim(text: &str) -> Self {
        Self { dim: true, ..Self::new(text) }
    }
}

/// How a column takes part in fitting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Column {
    /// Figures, to the right, never cut.
    Figure(&'static str),
    /// A text that is never cut.
    Word(&'static str),
    /// A name, cut at its end when there is no room.
    Name(&'static str),
    /// A path, cut at its start.
    Path(&'static str),
}

impl Column {
    fn title(self) -> &'static str {
        match self {
            Self::Figure(title) | Self::Word(title) | Self::Name(title) | Self::Path(title) => {
                title
            }
        }
    }

    fn is_flexible(self) -> bool {
        matches!(self, Self::Name(_) | Self::Path(_))
    }
}

const GAP: usize = 2;
/// A column that gives way keeps at least this much.
const LEAST: usize = 12;

/// Renders rows under their titles.
pub(crate) fn render(columns: &[Column], rows: &[Vec<Cell>], style: &Style) -> String {
    let fitting = fit(columns, rows, style.width);
    let mut text = String::new();
    let titles: Vec<Cell> = columns.iter().map(|column| Cell::dim(column.title())).collect();
    for row in std::iter::once(&titles).chain(rows) {
        let cells = fitting.iter().map(|(index, width)| (columns[*index], &row[*index], *width));
        let line: Vec<String> =
            cells.map(|(column, cell, width)| render_cell(column, cell, width, style)).collect();
        text.push_str("  ");
        text.push_str(line.join(&" ".repeat(GAP)).trim_end());
        text.push('\n');
    }
    text
}

fn render_cell(column: Column, cell: &Cell, columns: usize, style: &Style) -> String {
    let text = match column {
        Column::Path(_) => fit_end(&cell.text, columns),
        Column::Name(_) => fit_start(&cell.text, columns),
        Column::Figure(_) | Column::Word(_) => cell.text.clone(),
    };
    let room = " ".repeat(columns.saturating_sub(width(&text)));
    let painted = match (cell.paint, cell.dim) {
        (Some(category), _) => style.category(category, &text),
        (None, true) => style.dim(&text),
        (None, false) => text,
    };
    if matches!(column, Column::Figure(_)) { room + &painted } else { painted + &room }
}

/// The columns that are shown, and their widths. Where names cannot give way far enough, the last column of words
/// goes: figures and names matter more.
fn fit(columns: &[Column], rows: &[Vec<Cell>], total: usize) -> Vec<(usize, usize)> {
    let mut shown: Vec<usize> = (0..columns.len()).collect();
    loop {
        let fitting = squeeze(columns, rows, &shown, total);
        let last_word = shown.iter().rposition(|index| matches!(columns[*index], Column::Word(_)));
        match last_word.filter(|_| row_width(&fitting) > total) {
            Some(word) => shown.remove(word),
            None => return fitting,
        };
    }
}

/// What is missing is taken from the widest flexible column, again and again.
fn squeeze(
    columns: &[Column],
    rows: &[Vec<Cell>],
    shown: &[usize],
    total: usize,
) -> Vec<(usize, usize)> {
    let wanted = |index: &usize| {
        let cells = rows.iter().map(|row| width(&row[*index].text)).max().unwrap_or(0);
        (*index, cells.max(width(columns[*index].title())))
    };
    let mut fitting: Vec<(usize, usize)> = shown.iter().map(wanted).collect();
    while row_width(&fitting) > total {
        let flexible = fitting.iter_mut().filter(|(index, _)| columns[*index].is_flexible());
        match flexible.max_by_key(|(_, width)| *width).filter(|(_, width)| *width > LEAST) {
            Some((_, widest)) => *widest -= 1,
            None => break,
        }
    }
    fitting
}

fn row_width(fitting: &[(usize, usize)]) -> usize {
    let cells: usize = fitting.iter().map(|(_, width)| width).sum();
    2 + cells + GAP * fitting.len().saturating_sub(1)
}
