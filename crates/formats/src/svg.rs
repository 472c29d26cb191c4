//! Profile → the well-known interactive SVG flame graph: hover, zoom, search, a link that keeps
//! both. The drawing and its script are inferno's; this module prepares what inferno is given (names that it
//! cannot misread, colours that never change, weights that it can add up) and puts a head with facts and a
//! legend into what it gives back.

mod colors;
mod facts;
mod head;
mod legend;
mod lines;
mod measure;
mod names;
#[cfg(test)]
mod tests;

use std::io::{self, Write};

use inferno::flamegraph::{self, Direction as Growth, TextTruncateDirection};
use profile::Profile;
use thiserror::Error;
use views::{Direction, Grouping, Selection, Weights, call_tree};

pub use colors::Colors;
use head::Head;
use legend::Legend;
use lines::{Cut, Lines};
use measure::Measure;
use names::Names;

/// A narrower picture has no room for its own buttons.
const NARROWEST: usize = 200;
/// What a picture without a width is drawn for, until a browser stretches it.
const FLUID_WIDTH: usize = 1200;
/// Of a character, in its height, with the padding of a frame shared out: until a script runs, texts are cut by
/// counting.
const CHARACTER_WIDTH: f64 = 0.65;
const WIDE_CHARACTER_WIDTH: f64 = 1.0;
/// Above this share of the whole, in percent, rounding could leave out even the root.
const WIDEST_OMITTED: f64 = 99.0;

/// What the picture looks like.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The title; by default the process, the time and the number of samples.
    pub title: Option<String>,
    /// In pixels, at least 200; by default as wide as the window.
    pub width: Option<usize>,
    /// Frames narrower than this share of the whole, in percent, are left out.
    pub min_width: f64,
    /// Whether the root stands on top.
    pub inverted: bool,
    /// Whether stacks are merged from their leaves.
    pub reverse: bool,
    /// How frames are coloured.
    pub colors: Colors,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            title: None,
            width: None,
            min_width: flamegraph::defaults::MIN_WIDTH,
            inverted: false,
            reverse: false,
            colors: Colors::Category,
        }
    }
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
    let direction = if options.reverse { Direction::FromLeaves } else { Direction::FromRoots };
    let tree = call_tree(profile, weights, selection, direction, Grouping::ThreadName);
    let measure = Measure::of(profile, weights);
    let mut names = Names::of(profile, &tree, options.colors);
    let cut = Cut::of(&tree, &measure, options.min_width);
    let lines = Lines::of(&tree, &cut, &names);
    if lines.is_empty() {
        return Err(SvgError::Empty);
    }
    let head = Head {
        title: options.title.clone().unwrap_or_else(|| facts::title(profile, weights, selection)),
        facts: facts::facts(profile, weights, selection, options, lines.depth()),
        legend: (options.colors == Colors::Category).then(|| {
            Legend::of(profile, weights, selection, &cut.drawn_categories(&tree), &measure)
        }),
        width: options.width.map(|width| width.max(NARROWEST)),
    };
    let mut drawing = drawing(options, &measure, &names, lines.scale());
    drawing.palette_map = (options.colors == Colors::Category).then_some(&mut names.palette);
    let mut picture = Vec::new();
    flamegraph::from_lines(&mut drawing, lines.last_first(), &mut picture)?;
    head.put_into(&picture, &mut out)?;
    Ok(out.flush()?)
}

/// The part of inferno's options that does not borrow.
fn drawing<'a>(
    options: &Options,
    measure: &Measure,
    names: &Names,
    scale: f64,
) -> flamegraph::Options<'a> {
    let mut drawing = flamegraph::Options::default();
    drawing.colors = options.colors.palette();
    drawing.bgcolors = Some(options.colors.background());
    drawing.deterministic = true;
    drawing.direction = if options.inverted { Growth::Inverted } else { Growth::Straight };
    drawing.subtitle = Some(head::PLACE.into());
    drawing.image_width = options.width.map(|width| width.max(NARROWEST));
    drawing.min_width = drawn_width(options.min_width);
    drawing.text_truncate_direction = TextTruncateDirection::Right;
    drawing.count_name = names::legal(&measure.name).replace(['(', ')'], "");
    drawing.factor = scale / measure.size as f64;
    // The only mode in which inferno accepts lines in an order of our own; it draws the last line first.
    drawing.flame_chart = true;
    drawing.font_width = CHARACTER_WIDTH;
    if names.has_wide_characters {
        // With a proportional font the script measures texts instead of counting characters.
        drawing.font_type = "sans-serif".into();
        drawing.font_width = WIDE_CHARACTER_WIDTH;
    }
    drawing
}

/// A width that always leaves the root.
fn drawn_width(percent: f64) -> f64 {
    if percent.is_nan() {
        flamegraph::defaults::MIN_WIDTH
    } else {
        percent.clamp(0.0, WIDEST_OMITTED)
    }
}
