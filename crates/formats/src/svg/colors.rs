//! The words of `--colors`: our own colours by category, and palettes with the names that flame graphs are known by.
//! The shades are our own; black text can be read on each of them.

use profile::Category;

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
    /// Aquas.
    Wakeup,
    /// Blues.
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

/// Two colours; a name is somewhere between them.
type Shades = [[u8; 3]; 2];

const HOT: Shades = [[230, 84, 50], [250, 214, 96]];
const MEM: Shades = [[96, 200, 112], [104, 190, 214]];
const RED: Shades = [[228, 100, 92], [250, 164, 152]];
const GREEN: Shades = [[98, 190, 92], [176, 226, 150]];
const BLUE: Shades = [[118, 156, 230], [174, 206, 244]];
const AQUA: Shades = [[84, 190, 186], [164, 228, 222]];
const YELLOW: Shades = [[220, 190, 74], [246, 230, 136]];
const PURPLE: Shades = [[180, 126, 228], [218, 184, 246]];
const ORANGE: Shades = [[238, 144, 60], [252, 194, 116]];

/// How a palette chooses its shades.
#[derive(Clone, Copy)]
enum Palette {
    One(Shades),
    ByCode,
}

/// The rows that [`Colors`] reads, the default first.
#[rustfmt::skip]
const ROWS: &[(Colors, &str, Palette)] = &[
    (Colors::Category, "category", Palette::ByCode),
    (Colors::Js,       "js",       Palette::ByCode),
    (Colors::Hot,      "hot",      Palette::One(HOT)),
    (Colors::Mem,      "mem",      Palette::One(MEM)),
    (Colors::Io,       "io",       Palette::One(BLUE)),
    (Colors::Java,     "java",     Palette::ByCode),
    (Colors::Wakeup,   "wakeup",   Palette::One(AQUA)),
    (Colors::Chain,    "chain",    Palette::One(BLUE)),
    (Colors::Red,      "red",      Palette::One(RED)),
    (Colors::Green,    "green",    Palette::One(GREEN)),
    (Colors::Blue,     "blue",     Palette::One(BLUE)),
    (Colors::Aqua,     "aqua",     Palette::One(AQUA)),
    (Colors::Yellow,   "yellow",   Palette::One(YELLOW)),
    (Colors::Purple,   "purple",   Palette::One(PURPLE)),
    (Colors::Orange,   "orange",   Palette::One(ORANGE)),
];

impl Colors {
    /// The words that [`Colors::from_word`] knows, the default first.
    pub fn words() -> impl Iterator<Item = &'static str> {
        ROWS.iter().map(|row| row.1)
    }

    /// The value of a word, as typed.
    pub fn from_word(word: &str) -> Option<Self> {
        ROWS.iter().find(|row| row.1 == word).map(|row| row.0)
    }

    /// The word for it.
    pub fn word(self) -> &'static str {
        ROWS[self as usize].1
    }

    /// The colour of a box, where it is not simply that of its category.
    pub(super) fn fill(self, category: Category, name: &str, is_inlined: bool) -> [u8; 3] {
        let shades = match ROWS[self as usize].2 {
            Palette::One(shades) => shades,
            Palette::ByCode if is_inlined => AQUA,
            Palette::ByCode => shades_of_code(category, name),
        };
        shade(shades, name)
    }
}

fn shades_of_code(category: Category, name: &str) -> Shades {
    match category {
        Category::Kernel => ORANGE,
        Category::Builtin => AQUA,
        _ if name.contains("::") => YELLOW,
        Category::App | Category::Dependency | Category::NodeCore | Category::Wasm => GREEN,
        _ => RED,
    }
}

/// The same name has the same shade in every picture.
fn shade([from, to]: Shades, name: &str) -> [u8; 3] {
    let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    let hash = name.bytes().fold(0x811c_9dc5_u32, step);
    // Names that differ in their last letter alone should not look the same.
    let place = hash.wrapping_mul(0x9e37_79b9) >> 24;
    let mix = |row: usize| {
        let (from, to) = (u32::from(from[row]), u32::from(to[row]));
        u8::try_from((from * (255 - place) + to * place) / 255).unwrap_or(u8::MAX)
    };
    [mix(0), mix(1), mix(2)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_in_the_order_of_the_enum() {
        for (index, row) in ROWS.iter().enumerate() {
            assert_eq!(row.0 as usize, index);
            assert_eq!(Colors::from_word(row.1), Some(row.0));
            assert_eq!(row.0.word(), row.1);
        }
        assert_eq!(Colors::words().next(), Some(Colors::default().word()));
        assert_eq!(Colors::from_word("Hot"), None);
    }

    #[test]
    fn colours_show_whose_code_it_is() {
        let fill = |category, name| Colors::Js.fill(category, name, false);
        let is_between = |color: [u8; 3], [from, to]: Shades| {
            (0..3)
                .all(|row| (from[row].min(to[row])..=from[row].max(to[row])).contains(&color[row]))
        };
        assert!(is_between(fill(Category::Kernel, "tcp_sendmsg"), ORANGE));
        assert!(is_between(fill(Category::Runtime, "v8::internal::Heap"), YELLOW));
        assert!(is_between(fill(Category::App, "list"), GREEN));
        assert!(is_between(fill(Category::System, "memset"), RED));
        assert!(is_between(Colors::Java.fill(Category::App, "list", true), AQUA));
        assert_ne!(
            Colors::Hot.fill(Category::App, "a", false),
            Colors::Hot.fill(Category::App, "b", false)
        );
    }
}
