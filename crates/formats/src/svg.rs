//! Profile → a flame graph as SVG. As a still it can be read by itself: title, facts, legend, and names that end where
//! their boxes do. In a browser a small script adds zoom, search and the keyboard. Positions are shares of the width,
//! and a box is an `<svg>` of its own, which cuts off its text without any script.

mod colors;
mod facts;
mod head;
mod layout;
mod legend;
mod measure;
mod names;
#[cfg(test)]
mod tests;
mod xml;

use std::io::{self, Write};

use profile::Profile;
use thiserror::Error;
use views::{
    CallTree, Direction, Lens, Selection, Weights, entries, lens_tree, opening_lens, palette,
};

pub use colors::Colors;
use head::{Head, MARGIN};
use layout::{Cut, Layout, Placed};
use legend::Legend;
use measure::Measure;
use names::{Look, Names, columns_of, shortened};
use xml::{escape, number};

const STYLE: &str = include_str!("svg/style.css");
const SCRIPT: &str = include_str!("svg/script.js");

/// A narrower picture has no room for its own words.
const NARROWEST: usize = 200;
/// Of a picture that follows its window, where the width of that is unknown: a comment or a document scales it down,
/// and must leave the text readable.
const STILL_WIDTH: usize = 1000;
/// Boxes narrower than one of these cannot be seen.
const NARROWEST_SHARE: f64 = 0.001;
const NARROWEST_PIXELS: f64 = 0.3;
/// Above this share of the whole, rounding could leave out even the root.
const WIDEST_OMITTED: f64 = 0.99;

/// From one level to the next; the script knows it, too.
const LEVEL: usize = 18;
/// What a character takes in the font of the boxes, and what stands left and right of it.
const CHARACTER: f64 = 7.25;
const PADDING: f64 = 3.0;
/// With fewer characters a text means nothing.
const FEWEST_CHARACTERS: usize = 3;
/// For the details of a box.
const FOOT: f64 = 28.0;
/// For viewers without CSS.
const PAPER: &str = "#fafaf8";
const WITHOUT_SCRIPT: &str = "nodescope · open this file in a browser to zoom and search";

/// What the picture looks like.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// The title; by default the process, the time and the number of samples.
    pub title: Option<String>,
    /// In pixels, at least 200; by default as wide as the window.
    pub width: Option<usize>,
    /// Boxes narrower than this share of the whole, in percent, are left out; by default those that cannot be seen.
    pub min_width: Option<f64>,
    /// Whether the root stands on top.
    pub inverted: bool,
    /// Whether stacks are merged from their leaves.
    pub reverse: bool,
    /// How frames are coloured.
    pub colors: Colors,
    /// How much of a stack is shown; by default what the recording should open with.
    pub lens: Option<Lens>,
}

/// Why there is no picture.
#[derive(Debug, Error)]
pub enum SvgError {
    /// The selection holds no weight.
    #[error("no sample is selected, so there is nothing to draw")]
    Empty,
    /// The output cannot be written.
    #[error("cannot write the SVG: {0}")]
    Write(#[from] io::Error),
}

/// Draws the selected samples.
pub fn write(
    profile: &Profile,
    weights: &Weights,
    selection: &Selection,
    options: &Options,
    mut out: impl Write,
) -> Result<(), SvgError> {
    let entries = entries(profile);
    let lens = options.lens.unwrap_or_else(|| opening_lens(profile, &entries));
    let direction = if options.reverse { Direction::FromLeaves } else { Direction::FromRoots };
    let tree = lens_tree(profile, weights, selection, &entries, lens, direction);
    let measure = Measure::of(profile, weights);
    let width = options.width.unwrap_or(STILL_WIDTH).max(NARROWEST) as f64;
    let cut = Cut::of(&tree, &measure, narrowest(options, width));
    let names = Names::of(profile, cut.nodes(&tree), options.colors);
    let layout = Layout::of(&tree, &cut, &names, &measure);
    if layout.boxes.iter().all(|placed| placed.total == 0) {
        return Err(SvgError::Empty);
    }
    let mut facts = facts::facts(profile, weights, selection, options, lens);
    if cut.leaves_out() {
        let share = number(narrowest(options, width) * 100.0, 2);
        facts.push(format!("boxes below {share} % are left out"));
    }
    let head = Head {
        title: options.title.clone().unwrap_or_else(|| facts::title(profile, weights, selection)),
        facts,
        legend: (options.colors == Colors::Category).then(|| {
            let drawn = layout.drawn_categories(&tree);
            Legend::of(profile, weights, selection, &drawn, &measure)
        }),
    };
    let picture = Picture { tree: &tree, names: &names, measure: &measure, options, width };
    picture.write(&head, &layout, &mut io::BufWriter::new(&mut out))?;
    Ok(out.flush()?)
}

/// The part of the whole below which a box is left out; the root always stays.
fn narrowest(options: &Options, width: f64) -> f64 {
    let visible = NARROWEST_SHARE.max(NARROWEST_PIXELS / (width - 2.0 * MARGIN));
    let typed = options.min_width.filter(|percent| !percent.is_nan());
    typed.map_or(visible, |percent| (percent / 100.0).clamp(0.0, WIDEST_OMITTED))
}

/// What the boxes are drawn from.
struct Picture<'a> {
    tree: &'a CallTree,
    names: &'a Names,
    measure: &'a Measure,
    options: &'a Options,
    width: f64,
}

impl Picture<'_> {
    fn write(&self, head: &Head, layout: &Layout, out: &mut impl Write) -> io::Result<()> {
        let (words, top) = head.draw(self.width);
        let boxes_height = layout.levels * LEVEL;
        let height = number(top + boxes_height as f64 + FOOT, 1);
        let (width, title) = (number(self.width, 0), escape(&head.title));
        let fluid = if self.options.width.is_none() { r#" data-fluid="""# } else { "" };
        write!(
            out,
            r#"<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"{fluid}>
<title>{title}</title>
<style>
{STYLE}</style>
<rect id="paper" width="100%" height="100%" fill="{PAPER}"/>
<g id="head">{words}</g>
"#
        )?;
        let inner = number(self.width - 2.0 * MARGIN, 0);
        writeln!(
            out,
            r#"<svg id="boxes" x="{MARGIN}" y="{}" width="{inner}" height="{boxes_height}">"#,
            number(top, 1)
        )?;
        for placed in &layout.boxes {
            self.write_box(placed, layout.levels, out)?;
        }
        let foot = number(top + boxes_height as f64 + FOOT - 9.0, 1);
        write!(
            out,
            r#"</svg>
<text id="details" x="{MARGIN}" y="{foot}">{WITHOUT_SCRIPT}</text>
<script><![CDATA[
{SCRIPT}]]></script>
</svg>
"#
        )?;
        out.flush()
    }

    fn write_box(&self, placed: &Placed, levels: usize, out: &mut impl Write) -> io::Result<()> {
        let other = other();
        let look = placed.node.map_or(&other, |row| self.names.get(&self.tree.nodes[row]));
        let level = if self.options.inverted { placed.level } else { levels - 1 - placed.level };
        let name = &look.text.name;
        let (whole, split) = match look.text.place.as_str() {
            "" => (name.clone(), String::new()),
            place => {
                let split = format!(r#" data-name="{}""#, name.encode_utf16().count());
                (format!("{name} {place}"), split)
            }
        };
        let share = match placed.level {
            0 => "100%".into(),
            _ => format!("{:.2}%", placed.width * 100.0),
        };
        let group = if look.fill == palette::GROUP { r#" class="group""# } else { "" };
        let pixels = placed.width * (self.width - 2.0 * MARGIN) - 2.0 * PADDING;
        let text = escape(&text_in(&whole, name, (pixels / CHARACTER).max(0.0) as usize));
        writeln!(
            out,
            r#"<svg x="{}%" y="{}" width="{}%" height="{}"{split}><title>{} ({}, {share})</title><rect width="100%" height="100%" fill="{}"{group}/><text x="{PADDING}" y="12.5">{text}</text></svg>"#,
            number(placed.x * 100.0, 5),
            level * LEVEL,
            number(placed.width * 100.0, 5),
            LEVEL - 1,
            escape(&whole),
            escape(&self.measure.words(placed.total)),
            hex(look.fill),
        )
    }
}

/// Weight right above the root: of no stack and no thread.
fn other() -> Look {
    let text = views::BoxName { name: "(other)".into(), place: String::new() };
    Look { text, fill: palette::GROUP }
}

/// As much as fits: the name with its place, the name, what it ends with, or a part of that.
fn text_in(whole: &str, name: &str, columns: usize) -> String {
    match () {
        () if columns < FEWEST_CHARACTERS => String::new(),
        () if columns_of(whole) <= columns => whole.to_owned(),
        () if columns_of(name) <= columns => name.to_owned(),
        () => shortened(&least(name).unwrap_or_else(|| name.to_owned()), columns),
    }
}

/// The function alone of `HTTP request ▸ list` and `after await: list`: all roots of a picture begin in the same way.
fn least(name: &str) -> Option<String> {
    let awaited = name.strip_prefix("after await: ");
    let function = awaited.or_else(|| Some(name.rsplit_once("▸ ")?.1))?;
    let function = function.trim_start_matches("await ").trim_start_matches("(inferred) ");
    (!function.ends_with(" frames")).then(|| format!("▸ {function}"))
}

/// `#62c454`
fn hex([red, green, blue]: [u8; 3]) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}
