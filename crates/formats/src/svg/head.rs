//! What stands above the frames: title, facts and legend. inferno leaves room for a title and a subtitle; the
//! head takes their place in the finished picture, in smaller type. A picture that follows the width of its
//! window carries the head twice, for wide and for narrow windows.

use std::io::{self, Write};
use std::ops::Range;

use memchr::memmem;

use super::FLUID_WIDTH;
use super::legend::Legend;
use super::names::legal;

/// A text for inferno, so that it writes a subtitle and leaves room for it.
pub(super) const PLACE: &str = "head";

/// The width of a character of facts and legend, generously.
pub(super) const CHARACTER: f64 = 6.4;
const TITLE_CHARACTER: f64 = 9.1;
const MARGIN: f64 = 10.0;
/// For "Reset Zoom" on the left and "Reset Search" on the right.
const BUTTON: f64 = 110.0;

const TITLE_Y: f64 = 16.0;
const FACTS_Y: f64 = 30.0;
/// With the root on top, inferno writes the details of a frame right below.
const LEGEND_Y: f64 = 42.0;

/// For windows narrower than [`FLUID_WIDTH`].
const NARROW_WIDTH: usize = 600;

/// The head's look, and a Search button that can be seen: inferno's is nearly transparent.
const STYLE: &str = "
#head text { font-family:monospace; font-size:10.5px; fill:#333; }
#head .title { text-anchor:middle; font-size:15px; fill:black; }
#head .facts { text-anchor:middle; fill:#595959; }
#head .narrow { display:none; }
@media (max-width:1199px) { #head .wide { display:none; } #head .narrow { display:inline; } }
#search { opacity:0.6; }
";
/// Neighbours of one category have one colour: thin lines keep them apart.
const GAPS: &str = "#frames > * > rect { stroke:#fafaf8; stroke-width:0.3; }
#frames > *:hover > rect { stroke:black; }
";

/// inferno's script cuts texts to size when the window changes; a picture of fixed width needs to be told once.
const CUT_TEXTS: &str = r#"<script type="text/ecmascript">
window.addEventListener("load", function() { update_text_for_elements(frames.children); });
</script>"#;

/// What the head says.
pub(super) struct Head {
    pub(super) title: String,
    pub(super) facts: Vec<String>,
    pub(super) legend: Option<Legend>,
    /// The picture's; none when it follows its window.
    pub(super) width: Option<usize>,
}

impl Head {
    /// Writes the picture with the head in its place.
    pub(super) fn put_into(&self, picture: &[u8], out: &mut impl Write) -> io::Result<()> {
        let place =
            place_in(picture).ok_or_else(|| io::Error::other("inferno wrote no subtitle"))?;
        out.write_all(&picture[..place.start])?;
        out.write_all(self.draw().as_bytes())?;
        out.write_all(&picture[place.end..])
    }

    fn draw(&self) -> String {
        let gaps = if self.legend.is_some() { GAPS } else { "" };
        let lines = match self.width {
            Some(width) => self.lines("fixed", width) + CUT_TEXTS,
            None => self.lines("wide", FLUID_WIDTH) + &self.lines("narrow", NARROW_WIDTH),
        };
        format!(r#"<g id="head"><style type="text/css">{STYLE}{}</style>{lines}</g>"#, escape(gaps))
    }

    fn lines(&self, class: &str, width: usize) -> String {
        let width = width as f64;
        let between_buttons = width - 2.0 * BUTTON;
        let title = escape(&shortened(&legal(&self.title), between_buttons / TITLE_CHARACTER));
        let facts = escape(&fitting(&self.facts, between_buttons / CHARACTER));
        let legend =
            self.legend.as_ref().map(|legend| legend.draw(MARGIN, LEGEND_Y, width - 2.0 * MARGIN));
        format!(
            r#"<g class="{class}"><text class="title" x="50%" y="{TITLE_Y}">{title}</text><text class="facts" x="50%" y="{FACTS_Y}">{facts}</text>{}</g>"#,
            legend.unwrap_or_default()
        )
    }
}

/// From inferno's title to the end of its subtitle. No name can look like them: inferno escapes every `<`.
fn place_in(picture: &[u8]) -> Option<Range<usize>> {
    let start = memmem::find(picture, br#"<text id="title""#)?;
    let subtitle = start + memmem::find(&picture[start..], br#"<text id="subtitle""#)?;
    let length = memmem::find(&picture[subtitle..], b"</text>")? + "</text>".len();
    Some(start..subtitle + length)
}

/// At most that many characters.
fn shortened(text: &str, characters: f64) -> String {
    let most = characters as usize;
    match text.char_indices().nth(most) {
        Some(_) => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
        None => text.to_owned(),
    }
}

/// As many facts as fit into that many characters, the first ones first.
fn fitting(facts: &[String], characters: f64) -> String {
    let mut line = String::new();
    for fact in facts {
        let separator = if line.is_empty() { "" } else { " · " };
        let longer = format!("{line}{separator}{}", legal(fact));
        if longer.chars().count() as f64 <= characters {
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
        assert_eq!(fitting(&facts, 80.0), "cpu-clock · 0 lost");
        assert_eq!(fitting(&facts, 3.0), "");
    }

    #[test]
    fn a_long_title_is_cut() {
        assert_eq!(shortened("処理する", 4.9), "処理する");
        assert_eq!(shortened("処理する!", 4.9), "処理す…");
        assert_eq!(shortened("title", 0.0), "…");
    }
}
