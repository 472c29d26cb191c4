//! What of a report changes from second to second, for `top`: the head, and the tables that say who did it.

use views::Report;
use views::report::MOST_FINDINGS;

use super::{ENTRIES, OWN, head, sections, tables};
use crate::style::Style;

/// The tables, in their order.
const TABLES: [&str; 2] = [OWN, ENTRIES];

/// `limit` rows a table, 0 for all.
pub(crate) fn render(report: &Report, limit: usize, style: &Style) -> String {
    let limit = if limit == 0 { usize::MAX } else { limit };
    let mut sections = sections(report);
    sections.retain(|section| TABLES.contains(&section.title));
    // A small screen has no room for both.
    sections.sort_by_key(|section| TABLES.iter().position(|title| *title == section.title));
    head(report, MOST_FINDINGS, style) + &tables(report, sections, limit, style)
}
