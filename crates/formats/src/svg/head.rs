//! What stands above the boxes: title, facts and legend. Facts and legend are lists of items that flow like words; in a
//! browser the script lets them flow again, so that they fit the window.

use std::fmt::Write;

use super::legend::{Item, Legend};
use super::names::{columns_of, shortened};
use super::xml::{escape, number};

/// Left and right of everything.
pub(super) const MARGIN: f64 = 10.0;
/// Of a character of facts and legend, and of the title; generous, because fonts differ.
const CHARACTER: f64 = 6.9;
const TITLE_CHARACTER: f64 = 10.0;

const TITLE_Y: f64 = 25.0;
const FACTS_Y: f64 = 46.0;
const LINE: f64 = 17.0;
const BETWEEN_ITEMS: f64 = 14.0;
/// Facts that would need more lines are left out.
const MOST_LINES: usize = 3;

/// The content of the head.
pub(super) struct Head {
    pub(super) title: String,
    pub(super) facts: Vec<String>,
    pub(super) legend: Option<Legend>,
}

impl Head {
    /// The head as SVG, and where it ends.
    pub(super) fn draw(&self, width: f64) -> (String, f64) {
        let room = width - 2.0 * MARGIN;
        let title = escape(&shortened(&self.title, (room / TITLE_CHARACTER) as usize));
        let mut svg = format!(r#"<text id="title" x="{MARGIN}" y="{TITLE_Y}">{title}</text>"#);
        let mut y = FACTS_Y;
        let facts: Vec<(f64, String)> =
            self.facts.iter().map(|fact| drawn_fact(fact, room)).collect();
        y += put(&mut svg, "facts", &facts, y, room);
        if let Some(legend) = &self.legend {
            let items = legend.items(room);
            let items: Vec<(f64, String)> =
                items.iter().map(|item: &Item| (item.width(), item.draw())).collect();
            y += put(&mut svg, "legend", &items, y + 2.0, room) + 2.0;
        }
        (svg, y - LINE + 8.0)
    }
}

fn drawn_fact(fact: &str, room: f64) -> (f64, String) {
    let fact = shortened(fact, (room / CHARACTER) as usize);
    (text_width(&fact), format!("<text>{}</text>", escape(&fact)))
}

/// Adds a list of items, each with its width; how high it is.
fn put(svg: &mut String, id: &str, items: &[(f64, String)], y: f64, room: f64) -> f64 {
    let widths: Vec<f64> = items.iter().map(|item| item.0).collect();
    let places = flow(&widths, room);
    let fits = |place: &&(usize, f64)| place.0 < MOST_LINES;
    // Writing to a String cannot fail.
    let _ = write!(svg, r#"<g id="{id}">"#);
    for ((_, item), (line, x)) in items.iter().zip(places.iter().take_while(fits)) {
        let (x, y) = (number(MARGIN + x, 1), number(y + *line as f64 * LINE, 1));
        let _ = write!(svg, r#"<g transform="translate({x},{y})">{item}</g>"#);
    }
    svg.push_str("</g>");
    lines_of(&places).min(MOST_LINES) as f64 * LINE
}

/// How wide a text of facts or legend is at most.
pub(super) fn text_width(text: &str) -> f64 {
    columns_of(text) as f64 * CHARACTER
}

/// The line of each item, and where on it.
pub(super) fn flow(widths: &[f64], room: f64) -> Vec<(usize, f64)> {
    let (mut line, mut x) = (0, 0.0);
    let mut places = Vec::with_capacity(widths.len());
    for width in widths {
        if x > 0.0 && x + width > room {
            (line, x) = (line + 1, 0.0);
        }
        places.push((line, x));
        x += width + BETWEEN_ITEMS;
    }
    places
}

/// How many lines that are.
pub(super) fn lines_of(places: &[(usize, f64)]) -> usize {
    places.last().map_or(0, |(line, _)| line + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_flow_and_facts_end() {
        assert_eq!(flow(&[50.0, 50.0, 20.0], 100.0), [(0, 0.0), (1, 0.0), (1, 64.0)]);
        let facts = vec!["x".repeat(200); 9];
        let (svg, end) = Head { title: "t".repeat(900), facts, legend: None }.draw(600.0);
        assert_eq!(svg.matches("…").count(), 1 + MOST_LINES);
        assert!(end < 120.0);
    }
}
