//! The legend of the category colours: a swatch, the label and the share of self time, for each category in
//! the picture. What does not fit on two lines is folded into "other", the smallest first.

use std::cmp::Reverse;
use std::fmt::Write;

use profile::{Category, Profile};
use views::{Selection, Weights, palette};

use super::facts::percent;
use super::head::{CHARACTER, escape};
use super::measure::Measure;

const LINES: usize = 2;
const LINE_HEIGHT: f64 = 11.0;
const SWATCH: f64 = 8.0;
const AFTER_SWATCH: f64 = 4.0;
const BETWEEN_ITEMS: f64 = 11.0;

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
struct Item {
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

    /// The legend as SVG, at most `width` wide; `y` is the first line's.
    pub(super) fn draw(&self, left: f64, y: f64, width: f64) -> String {
        let items = self.items(width);
        let mut svg = String::new();
        for (item, (line, offset)) in items.iter().zip(placed(&items, width)) {
            let (x, y) = (left + offset, y + line as f64 * LINE_HEIGHT);
            let (top, text_x) = (y - SWATCH + 1.0, x + SWATCH + AFTER_SWATCH);
            let (fill, text) = (item.fill(), escape(&item.text));
            // Writing to a String cannot fail.
            let _ = write!(
                svg,
                r#"<rect x="{x:.1}" y="{top:.1}" width="{SWATCH}" height="{SWATCH}" fill="{fill}" stroke="gray" stroke-width="0.5"/><text x="{text_x:.1}" y="{y:.1}">{text}</text>"#
            );
        }
        svg
    }

    /// The items that fit on the lines, in the order of categories.
    fn items(&self, width: f64) -> Vec<Item> {
        let mut by_rank: Vec<usize> = (0..self.rows.len()).collect();
        by_rank.sort_by_key(|row| Reverse(self.rows[*row].rank()));
        let mut kept = self.rows.len();
        loop {
            let items = self.items_of(&by_rank[..kept]);
            let lines = placed(&items, width).last().map_or(0, |(line, _)| line + 1);
            if lines <= LINES || kept == 0 {
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
    fn width(&self) -> f64 {
        SWATCH + AFTER_SWATCH + self.text.chars().count() as f64 * CHARACTER
    }

    fn fill(&self) -> String {
        let Some(category) = self.category else { return "none".into() };
        let [red, green, blue] = palette::color(category);
        format!("rgb({red},{green},{blue})")
    }
}

/// The line of each item, and where on it.
fn placed(items: &[Item], width: f64) -> Vec<(usize, f64)> {
    let (mut line, mut x) = (0, 0.0);
    let mut places = Vec::with_capacity(items.len());
    for item in items {
        if x > 0.0 && x + item.width() > width {
            (line, x) = (line + 1, 0.0);
        }
        places.push((line, x));
        x += item.width() + BETWEEN_ITEMS;
    }
    places
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
            for (item, (line, x)) in items.iter().zip(placed(&items, width)) {
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
                "GC 0.1 %",
                "kernel 12.5 %",
                "idle 25.0 %",
                "unknown 50.0 %",
                "other 12.4 %"
            ]
        );
    }
}
