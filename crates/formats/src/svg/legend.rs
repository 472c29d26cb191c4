//! The legend of the category colours: a swatch, the label and the share of self time, for each category in
//! the picture. What does not fit on one line is folded into "other", the smallest first.

use std::fmt::Write;

use profile::{Category, Profile};
use views::{Selection, Weights, palette};

use super::facts::percent;
use super::measure::Measure;

/// The width of a character of the head's font, generously.
pub(super) const CHARACTER: f64 = 6.65;
const SWATCH: f64 = 9.0;
const AFTER_SWATCH: f64 = 4.0;
const BETWEEN_ITEMS: f64 = 14.0;

/// Each category in the picture with its self weight.
pub(super) struct Legend {
    rows: Vec<(Category, u64)>,
    total: u64,
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
        drawn: Vec<Category>,
        measure: &Measure,
    ) -> Self {
        let mut sums = vec![0u64; Category::ALL.len()];
        for entry in &weights.entries {
            let mut visible = profile.ancestry(entry.stack).filter(|stack| !selection.hides(profile, *stack));
            let category =
                visible.next().map_or(Category::Unknown, |stack| profile.stacks().category[stack.index()]);
            let sum = &mut sums[category as usize];
            *sum = sum.saturating_add(measure.choose(entry.weight, entry.samples));
        }
        let rows = Category::ALL.iter().map(|category| (*category, sums[*category as usize]));
        let rows = rows.filter(|(category, sum)| *sum > 0 || drawn.contains(category)).collect();
        Self { rows, total: measure.choose(weights.total, weights.samples) }
    }

    /// The legend as SVG, at most `width` wide, on the baseline `y`.
    pub(super) fn draw(&self, left: f64, y: f64, width: f64) -> String {
        let items = self.items(width);
        let mut svg = String::new();
        let mut x = left;
        for item in &items {
            let fill = item.category.map(|category| {
                let [red, green, blue] = palette::color(category);
                format!("rgb({red},{green},{blue})")
            });
            let (fill, top, text_x) =
                (fill.as_deref().unwrap_or("none"), y - SWATCH + 1.0, x + SWATCH + AFTER_SWATCH);
            // Writing to a String cannot fail.
            let _ = write!(
                svg,
                r#"<rect x="{x:.1}" y="{top:.1}" width="{SWATCH}" height="{SWATCH}" fill="{fill}" stroke="gray" stroke-width="0.5"/><text x="{text_x:.1}" y="{y:.1}">{}</text>"#,
                super::head::escape(&item.text)
            );
            x += item.width();
        }
        svg
    }

    /// The items that fit into a width, in the order of categories.
    fn items(&self, width: f64) -> Vec<Item> {
        let mut by_weight: Vec<usize> = (0..self.rows.len()).collect();
        by_weight.sort_by_key(|row| std::cmp::Reverse(self.rows[*row].1));
        let mut kept = self.rows.len();
        loop {
            let items = self.items_of(&by_weight[..kept]);
            let needed: f64 = items.iter().map(Item::width).sum::<f64>() - BETWEEN_ITEMS;
            if needed <= width || kept == 0 {
                return items;
            }
            kept -= 1;
        }
    }

    fn items_of(&self, kept: &[usize]) -> Vec<Item> {
        let mut rest = 0u64;
        let mut items = Vec::new();
        for (row, (category, weight)) in self.rows.iter().enumerate() {
            if kept.contains(&row) {
                let text = format!("{} {}", category.label(), percent(*weight, self.total));
                items.push(Item { category: Some(*category), text });
            } else {
                rest = rest.saturating_add(*weight);
            }
        }
        if kept.len() < self.rows.len() {
            items.push(Item { category: None, text: format!("other {}", percent(rest, self.total)) });
        }
        items
    }
}

impl Item {
    fn width(&self) -> f64 {
        SWATCH + AFTER_SWATCH + self.text.chars().count() as f64 * CHARACTER + BETWEEN_ITEMS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn legend() -> Legend {
        let rows = Category::ALL.iter().enumerate().map(|(row, category)| (*category, 1 << row)).collect();
        Legend { rows, total: (1 << Category::ALL.len()) - 1 }
    }

    #[test]
    fn a_legend_never_exceeds_its_width() {
        for width in [300.0, 580.0, 1180.0, 5000.0] {
            let items = legend().items(width);
            let needed: f64 = items.iter().map(Item::width).sum::<f64>() - BETWEEN_ITEMS;
            assert!(needed <= width, "{needed} on {width}");
        }
        assert_eq!(legend().items(5000.0).len(), Category::ALL.len());
    }

    #[test]
    fn the_smallest_are_folded_and_the_order_stays() {
        let items = legend().items(580.0);
        let texts: Vec<&str> = items.iter().map(|item| item.text.as_str()).collect();
        assert_eq!(
            texts,
            ["system library 6.3 %", "kernel 12.5 %", "idle 25.0 %", "unknown 50.0 %", "other 6.2 %"]
        );
    }
}
