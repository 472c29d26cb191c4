//! The words of `--colors`: our own colours by category, and flamegraph.pl's palettes as inferno has them.

use inferno::flamegraph::color::{BackgroundColor, BasicPalette, Color, MultiPalette, Palette};

/// How frames are coloured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Colors {
    /// By category, with a legend; see [`views::palette`].
    #[default]
    Category,
    /// JavaScript green, builtins aqua, C++ yellow, kernel orange, else red.
    Js,
    /// Red to yellow, by name.
    Hot,
    /// Green to blue, by name.
    Mem,
    /// Blues, by name.
    Io,
    /// As [`Colors::Js`], with inlined functions apart.
    Java,
    /// Aqua on blue.
    Wakeup,
    /// Blue on blue.
    Chain,
    /// Reds.
    Red,
    /// Greens.
    Green,
    /// Blues.
    Blue,
    /// Aquas.
    Aqua,
    /// Yellows.
    Yellow,
    /// Purples.
    Purple,
    /// Oranges.
    Orange,
}

struct Row {
    colors: Colors,
    word: &'static str,
    palette: Palette,
    background: BackgroundColor,
}

const fn row(
    colors: Colors,
    word: &'static str,
    palette: Palette,
    background: BackgroundColor,
) -> Row {
    Row { colors, word, palette, background }
}

const PAPER: BackgroundColor = BackgroundColor::Flat(Color { r: 250, g: 250, b: 248 });

/// Words, palettes and backgrounds as in flamegraph.pl.
#[rustfmt::skip]
const ROWS: &[Row] = &[
    row(Colors::Category, "category", Palette::Basic(BasicPalette::Red),    PAPER),
    row(Colors::Js,       "js",       Palette::Multi(MultiPalette::Js),     BackgroundColor::Yellow),
    row(Colors::Hot,      "hot",      Palette::Basic(BasicPalette::Hot),    BackgroundColor::Yellow),
    row(Colors::Mem,      "mem",      Palette::Basic(BasicPalette::Mem),    BackgroundColor::Green),
    row(Colors::Io,       "io",       Palette::Basic(BasicPalette::Io),     BackgroundColor::Blue),
    row(Colors::Java,     "java",     Palette::Multi(MultiPalette::Java),   BackgroundColor::Yellow),
    row(Colors::Wakeup,   "wakeup",   Palette::Multi(MultiPalette::Wakeup), BackgroundColor::Blue),
    row(Colors::Chain,    "chain",    Palette::Basic(BasicPalette::Blue),   BackgroundColor::Blue),
    row(Colors::Red,      "red",      Palette::Basic(BasicPalette::Red),    BackgroundColor::Grey),
    row(Colors::Green,    "green",    Palette::Basic(BasicPalette::Green),  BackgroundColor::Grey),
    row(Colors::Blue,     "blue",     Palette::Basic(BasicPalette::Blue),   BackgroundColor::Grey),
    row(Colors::Aqua,     "aqua",     Palette::Basic(BasicPalette::Aqua),   BackgroundColor::Grey),
    row(Colors::Yellow,   "yellow",   Palette::Basic(BasicPalette::Yellow), BackgroundColor::Grey),
    row(Colors::Purple,   "purple",   Palette::Basic(BasicPalette::Purple), BackgroundColor::Grey),
    row(Colors::Orange,   "orange",   Palette::Basic(BasicPalette::Orange), BackgroundColor::Grey),
];

impl Colors {
    /// The words that [`Colors::from_word`] knows, the default first.
    pub fn words() -> impl Iterator<Item = &'static str> {
        ROWS.iter().map(|row| row.word)
    }

    /// The value of a word, as typed.
    pub fn from_word(word: &str) -> Option<Self> {
        ROWS.iter().find(|row| row.word == word).map(|row| row.colors)
    }

    /// The word for it.
    pub fn word(self) -> &'static str {
        self.row().word
    }

    pub(super) fn palette(self) -> Palette {
        self.row().palette
    }

    pub(super) fn background(self) -> BackgroundColor {
        self.row().background
    }

    fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_in_the_order_of_the_enum() {
        for (index, row) in ROWS.iter().enumerate() {
            assert_eq!(row.colors as usize, index);
            assert_eq!(Colors::from_word(row.word), Some(row.colors));
            assert_eq!(row.colors.word(), row.word);
        }
        assert_eq!(Colors::words().next(), Some(Colors::default().word()));
        assert_eq!(Colors::from_word("Hot"), None);
    }
}
