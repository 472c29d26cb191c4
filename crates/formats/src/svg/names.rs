//! The name under which inferno knows each node of the tree. inferno reads text lines, colours by name and
//! takes some names for signs of its own, so each name is made harmless here, once, and the same text in
//! two categories becomes two names that look alike.

use inferno::flamegraph::color::{Color, PaletteMap};
use profile::{CallKind, Category, FunctionId, Profile};
use rustc_hash::{FxHashMap, FxHashSet};
use unicode_width::UnicodeWidthChar;
use views::{CallTree, Label, Node, palette};

use super::colors::Colors;

/// More characters than this are cut off: some programs put a whole script into a function's name.
const LONGEST: usize = 2000;
/// Stands where inferno would take the end of a name for a sign; it is invisible.
const GUARD: char = '\u{200b}';
/// Looks like a blank and is not one to inferno.
const NO_BREAK_BLANK: &str = "\u{a0}";
/// Endings that inferno hides. The palettes of flamegraph.pl know what they mean.
const HIDDEN_ENDINGS: [&str; 5] = ["", "_[k]", "_[j]", "_[i]", "_[w]"];
/// Weight right under the root: of no stack and no thread, or of frames too narrow to be drawn.
const OTHER: &str = "(other)";
const NO_NAME: &str = "(no name)";

/// The names of a tree's nodes and their colours.
pub(super) struct Names {
    texts: FxHashMap<(Label, Category), String>,
    /// A colour for each name, when coloured by category.
    pub(super) palette: PaletteMap,
    /// Whether some character takes the room of two: Chinese, Japanese, emoji.
    pub(super) has_wide_characters: bool,
}

impl Names {
    pub(super) fn of(profile: &Profile, tree: &CallTree, colors: Colors) -> Self {
        let mut maker = Maker::new(profile, colors);
        let mut texts = FxHashMap::default();
        for node in &tree.nodes {
            texts.entry((node.label, node.category)).or_insert_with(|| maker.name(node));
        }
        maker.palette.insert("", rgb(palette::GROUP));
        let has_wide_characters =
            texts.values().any(|text| text.chars().any(|character| character.width() == Some(2)));
        Self { texts, palette: maker.palette, has_wide_characters }
    }

    /// The name of a node.
    pub(super) fn get(&self, node: &Node) -> &str {
        self.texts.get(&(node.label, node.category)).map_or(NO_NAME, String::as_str)
    }
}

struct Maker<'a> {
    profile: &'a Profile,
    colors: Colors,
    endings: Endings,
    palette: PaletteMap,
    /// The colours that a text has been given so far.
    looks: FxHashMap<String, Vec<[u8; 3]>>,
}

impl<'a> Maker<'a> {
    fn new(profile: &'a Profile, colors: Colors) -> Self {
        let (palette, looks) = (PaletteMap::default(), FxHashMap::default());
        Self { profile, colors, endings: Endings::of(profile), palette, looks }
    }

    fn name(&mut self, node: &Node) -> String {
        let text = harmless(&text_of(self.profile, node.label));
        if self.colors != Colors::Category {
            return text + self.endings.of_label(node.label);
        }
        let color = color_of(node);
        let looks = self.looks.entry(text.clone()).or_default();
        let look = looks.iter().position(|known| *known == color).unwrap_or_else(|| {
            looks.push(color);
            looks.len() - 1
        });
        let name = look_alike(text, look);
        self.palette.insert(&name, rgb(color));
        name
    }
}

/// The same text again, as a name of its own.
fn look_alike(mut text: String, number: usize) -> String {
    text.extend(std::iter::repeat_n(GUARD, number / HIDDEN_ENDINGS.len()));
    text + HIDDEN_ENDINGS[number % HIDDEN_ENDINGS.len()]
}

fn color_of(node: &Node) -> [u8; 3] {
    match node.label {
        Label::Function(_) | Label::Awaited(..) => palette::color(node.category),
        Label::Root | Label::Thread(_) => palette::GROUP,
    }
}

fn rgb([r, g, b]: [u8; 3]) -> Color {
    Color { r, g, b }
}

/// What people read. The path follows the name in full: the script searches it and cuts it off first.
fn text_of(profile: &Profile, label: Label) -> String {
    let (id, mark) = match label {
        Label::Root => return OTHER.into(),
        Label::Thread(name) => return profile.text(name).into(),
        Label::Function(id) => (id, ""),
        Label::Awaited(id, call) => (id, await_mark(call)),
    };
    let function = profile.functions().row(id);
    let name = format!("{mark}{}", profile.text(function.name));
    let Some(path) = profile.source_path(function.source) else { return name };
    match (function.line, function.column) {
        (0, _) => format!("{name} {path}"),
        (line, 0) => format!("{name} {path}:{line}"),
        (line, column) => format!("{name} {path}:{line}:{column}"),
    }
}

/// What stands before a function that its caller awaits.
fn await_mark(call: CallKind) -> &'static str {
    match call {
        CallKind::Call => "",
        CallKind::Await => "▸ await ",
        CallKind::InferredAwait => "▸ await (inferred) ",
        CallKind::UnknownAwait => "after await: ",
    }
}

/// What flamegraph.pl's palettes expect behind the names of kernel and generated code.
struct Endings {
    kernel: FxHashSet<FunctionId>,
    generated: FxHashSet<FunctionId>,
    inlined: FxHashSet<FunctionId>,
}

impl Endings {
    /// From the frames, because a node's category may be its caller's: memset under GC is GC.
    fn of(profile: &Profile) -> Self {
        let (kernel, generated, inlined) = Default::default();
        let mut endings = Self { kernel, generated, inlined };
        let frames = profile.frames();
        for frame in frames.ids().map(|id| frames.row(id)) {
            let generated = matches!(frame.category, Category::Builtin | Category::Wasm);
            if frame.category == Category::Kernel {
                endings.kernel.insert(frame.function);
            } else if frame.tier.is_javascript() && frame.inlined {
                endings.inlined.insert(frame.function);
            } else if frame.tier.is_javascript() || generated {
                endings.generated.insert(frame.function);
            }
        }
        endings
    }

    fn of_label(&self, label: Label) -> &'static str {
        match label.function() {
            Some(id) if self.kernel.contains(&id) => "_[k]",
            Some(id) if self.generated.contains(&id) => "_[j]",
            Some(id) if self.inlined.contains(&id) => "_[i]",
            _ => "",
        }
    }
}

/// A name that inferno's line format, its signs and XML leave as it is.
fn harmless(name: &str) -> String {
    let text = legal(&name.replace(';', ":"));
    let text = text.trim();
    let mut text = match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None if text.is_empty() => NO_NAME.into(),
        None => text.to_owned(),
    };
    for blank in blanks_that_mislead(&text).into_iter().flatten() {
        text.replace_range(blank..=blank, NO_BREAK_BLANK);
    }
    let is_sign = matches!(text.as_str(), "-" | "--");
    if is_sign || HIDDEN_ENDINGS[1..].iter().any(|ending| text.ends_with(ending)) {
        text.push(GUARD);
    }
    text
}

/// Where a blank makes inferno see a count (`name 12`) or a comment (`# name`), from the end.
fn blanks_that_mislead(text: &str) -> [Option<usize>; 2] {
    let is_count = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let count = text.rfind(' ').filter(|blank| is_count(&text[blank + 1..]));
    let comment = text.starts_with("# ").then_some(1).filter(|blank| Some(*blank) != count);
    [count, comment]
}

/// The text with U+FFFD for each character that XML forbids or that moves a cursor.
pub(super) fn legal(text: &str) -> String {
    let is_legal =
        |character: char| !character.is_control() && !matches!(character, '\u{fffe}' | '\u{ffff}');
    text.chars()
        .map(|character| if is_legal(character) { character } else { char::REPLACEMENT_CHARACTER })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_harmless() {
        let rows = [
            ("parse /app/a.js:12", "parse /app/a.js:12"),
            ("a;b", "a:b"),
            ("a\nb\u{1b}[31m\0", "a\u{fffd}b\u{fffd}[31m\u{fffd}"),
            ("\u{fffe}\u{ffff}\u{9b}", "\u{fffd}\u{fffd}\u{fffd}"),
            ("  a  ", "a"),
            ("\u{3000}", "(no name)"),
            ("", "(no name)"),
            ("name 12", "name\u{a0}12"),
            ("name 1.5", "name\u{a0}1.5"),
            ("name 1.", "name\u{a0}1."),
            ("12", "12"),
            ("a 1 b", "a 1 b"),
            ("# a", "#\u{a0}a"),
            ("# 1", "#\u{a0}1"),
            ("# a 1", "#\u{a0}a\u{a0}1"),
            ("#a", "#a"),
            ("-", "-\u{200b}"),
            ("--", "--\u{200b}"),
            ("---", "---"),
            ("f_[k]", "f_[k]\u{200b}"),
            ("f_[x]", "f_[x]"),
            ("<script>&]]>--", "<script>&]]>--"),
            ("処理 👍", "処理 👍"),
        ];
        for (name, expected) in rows {
            assert_eq!(harmless(name), expected);
        }
        assert_eq!(harmless(&"é".repeat(5000)).chars().count(), LONGEST + 1);
    }

    #[test]
    fn look_alikes_differ() {
        let names: FxHashSet<String> =
            (0..12).map(|number| look_alike("memset".into(), number)).collect();
        assert_eq!(names.len(), 12);
        assert!(
            names.contains("memset")
                && names.contains("memset_[w]")
                && names.contains("memset\u{200b}_[k]")
        );
    }
}
