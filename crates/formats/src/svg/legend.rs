//! The legend of the category colours: a swatch, the label and the share of self time, for each category in
//! the picture. What does not fit on three lines is folded into "other", the smallest first.

use std::cmp::Reverse;

use profile::{Category, Profile};
use views::{Selection, Weights, palette};

use super::facts::percent;
use super::head::{flow, lines_of, text_width};
use super::hex;
use super::measure::Measure;
use super::xml::escape;

const LINES: usize = 3;
/// Behind the swatch.
const TEXT_X: f64 = 15.0;

/// The categories in the picture.
pub(super) struct Legend {
    rows: Vec<Row>,
    total: u64,
}

struct Row {
    category: Category,
    self_weight: u64,
}

/// A swatch and its text.
#[derive(Debug, PartialEq)]
pub(super) struct Item {
    /// `None` for the rest.
    category: Option<Category>,
    text: String,
}

impl Legend {
    pub(super) fn of(
        profile: &Profile,
        weights: &Weights,
        selection: &Selection,
        drawn: &[bool],
        measure: &Measure,
    ) -> Self {
        let mut sums = vec![0u64; Category::ALL.len()];
        for entry in &weights.entries {
            let mut visible =
                profile.ancestry(entry.stack).filter(|stack| !selection.hides(profile, *stack));
            let category = visible
                .next()
                .map_or(Category::Unknown, |stack| profile.stacks().category[stack.index()]);
            let sum = &mut sums[category as usize];
            *sum = sum.saturating_add(measure.choose(entry.weight, entry.samples));
        }
        let row = |category: &Category| Row {
            category: *category,
            self_weight: sums[*category as usize],
        };
        let is_present = |row: &Row| row.self_weight > 0 || drawn[row.category as usize];
        let rows = Category::ALL.iter().map(row).filter(is_present).collect();
        Self { rows, total: measure.choose(weights.total, weights.samples) }
    }

    /// The items that fit on the lines, in the order of categories.
    pub(super) fn items(&self, width: f64) -> Vec<Item> {
        let mut by_rank: Vec<usize> = (0..self.rows.len()).collect();
        by_rank.sort_by_key(|row| Reverse(self.rows[*row].rank()));
        let mut kept = self.rows.len();
        loop {
            let items = self.items_of(&by_rank[..kept]);
            let widths: Vec<f64> = items.iter().map(Item::width).collect();
            if lines_of(&flow(&widths, width)) <= LINES || kept == 0 {
                return items;
            }
            kept -= 1;
        }
    }

    fn items_of(&self, kept: &[usize]) -> Vec<Item> {
        let mut rest = 0u64;
        let mut items = Vec::new();
        for (index, row) in self.rows.iter().enumerate() {
            if kept.contains(&index) {
                let text =
                    format!("{} {}", row.category.label(), percent(row.self_weight, self.total));
                items.push(Item { category: Some(row.category), text });
            } else {
                rest = rest.saturating_add(row.self_weight);
            }
        }
        if kept.len() < self.rows.len() {
            items.push(Item {
                category: None,
                text: format!("other {}", percent(rest, self.total)),
            });
        }
        items
    }
}

impl Row {
    /// What readers look for first, their own code and GC, is folded last.
    fn rank(&self) -> u64 {
        if matches!(self.category, Category::App | Category::Gc) {
            u64::MAX
        } else {
            self.self_weight
        }
    }
}

impl Item {
    pub(super) fn width(&self) -> f64 {
        TEXT_X + text_width(&self.text)
    }

    pub(super) fn draw(&self) -> String {
        let fill = self.category.map_or_else(|| "none".into(), |it| hex(palette::color(it)));
        format!(
            r#"<rect y="-9" width="10" height="10" fill="{fill}"/><text x="{TEXT_X}">{}</text>"#,
            escape(&self.text)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn legend() -> Legend {
        let row = |(index, category): (usize, &Category)| Row {
            category: *category,
            self_weight: 1 << index,
        };
        let rows = Category::ALL.iter().enumerate().map(row).collect();
        Legend { rows, total: (1 << Category::ALL.len()) - 1 }
    }

    #[test]
    fn a_legend_never_exceeds_its_lines() {
        for width in [300.0, 580.0, 1180.0] {
            let items = legend().items(width);
            let widths: Vec<f64> = items.iter().map(Item::width).collect();
            for (item, (line, x)) in items.iter().zip(flow(&widths, width)) {
                assert!(
                    line < LINES && x + item.width() <= width,
                    "{item:?} stands on line {line} at {x}"
                );
            }
        }
        assert_eq!(legend().items(1180.0).len(), Category::ALL.len());
    }

    #[test]
    fn the_smallest_are_folded_and_the_order_stays() {
        let items = legend().items(300.0);
        let texts: Vec<&str> = items.iter().map(|item| item.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "app <0.1 %",
                "garbage collection 0.1 %",
                "kernel 12.5 %",
                "idle 25.0 %",
                "unknown 50.0 %",
                "other 12.4 %"
            ]
        );
    }
}
