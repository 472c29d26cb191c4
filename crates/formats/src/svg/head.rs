//! The two lines under the title: facts, and the legend. inferno leaves room for one subtitle; they take its
//! place in the finished picture. A picture that follows the width of its window carries them twice, for
//! wide and for narrow windows.

use std::io::{self, Write};

use memchr::memmem;

use super::FLUID_WIDTH;
use super::legend::{CHARACTER, Legend};
use super::names::legal;

/// What inferno is asked to write where the head belongs.
pub(super) const PLACE: &str = "nodescope";

const MARGIN: f64 = 10.0;
const FACTS_Y: f64 = 38.0;
const LEGEND_Y: f64 = 51.0;
/// For windows narrower than [`FLUID_WIDTH`].
const NARROW_WIDTH: usize = 600;

/// Besides the head's own look: a Search button that can be seen (inferno's is nearly transparent), and thin
/// gaps between neighbours of one colour.
const STYLE: &str = "
#head text { font-size:11px; fill:#333; }
#head .facts { text-anchor:middle; fill:#666; }
#head .narrow { display:none; }
@media (max-width:1199px) { #head .wide { display:none; } #head .narrow { display:inline; } }
#search { opacity:0.6; }
";
const GAPS: &str = "#frames > * > rect { stroke:#fafaf8; stroke-width:0.6; }
#frames > *:hover > rect { stroke:black; }
";

/// What stands in the two lines.
pub(super) struct Head {
    pub(super) facts: Vec<String>,
    pub(super) legend: Option<Legend>,
    /// The picture's; none when it follows its window.
    pub(super) width: Option<usize>,
}

impl Head {
    /// Writes the picture with the head in its place.
    pub(super) fn put_into(&self, picture: &[u8], out: &mut impl Write) -> io::Result<()> {
        let place = place_of(picture).ok_or_else(|| io::Error::other("inferno wrote no subtitle"))?;
        out.write_all(&picture[..place.start])?;
        out.write_all(self.draw().as_bytes())?;
        out.write_all(&picture[place.end..])
    }

    fn draw(&self) -> String {
        let gaps = if self.legend.is_some() { GAPS } else { "" };
        let lines = match self.width {
            Some(width) => self.lines("fixed", width),
            None => self.lines("wide", FLUID_WIDTH) + &self.lines("narrow", NARROW_WIDTH),
        };
        format!(r#"<g id="head"><style type="text/css">{STYLE}{}</style>{lines}</g>"#, escape(gaps))
    }

    fn lines(&self, class: &str, width: usize) -> String {
        let room = width as f64 - 2.0 * MARGIN;
        let facts = escape(&fitting(&self.facts, room));
        let legend =
            self.legend.as_ref().map(|legend| legend.draw(MARGIN, LEGEND_Y, room)).unwrap_or_default();
        format!(r#"<g class="{class}"><text class="facts" x="50%" y="{FACTS_Y}">{facts}</text>{legend}</g>"#)
    }
}

/// Where inferno wrote the subtitle. It escapes every `<` of a text, so no name can look like one.
fn place_of(picture: &[u8]) -> Option<std::ops::Range<usize>> {
    let start = memmem::find(picture, br#"<text id="subtitle""#)?;
    let length = memmem::find(&picture[start..], b"</text>")? + "</text>".len();
    Some(start..start + length)
}

/// As many facts as fit, the first ones first.
fn fitting(facts: &[String], room: f64) -> String {
    let mut line = String::new();
    for fact in facts {
        let separator = if line.is_empty() { "" } else { " · " };
        let longer = format!("{line}{separator}{}", legal(fact));
        if longer.chars().count() as f64 * CHARACTER <= room {
            line = longer;
        }
    }
    line
}

/// The text as XML.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_that_do_not_fit_are_left_out() {
        let facts = ["cpu-clock".to_owned(), "x".repeat(100), "0 lost".to_owned()];
        assert_eq!(fitting(&facts, 580.0), "cpu-clock · 0 lost");
        assert_eq!(fitting(&facts, 30.0), "");
    }
}
