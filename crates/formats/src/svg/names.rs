//! What is written in the boxes: the name, and where the function is. Each distinct box of a tree is named once.

use profile::{CallKind, Category, FunctionId, Profile};
use rustc_hash::{FxHashMap, FxHashSet};
use unicode_width::UnicodeWidthChar;
use views::{BoxName, Label, Node, box_name, palette};

use super::colors::Colors;

/// More characters than this are cut off: some programs put a whole script into a function's name.
const LONGEST: usize = 2000;
const NO_NAME: &str = "(no name)";

type Key = (Label, Category, u32);

/// The names of the nodes that are drawn, and their colours.
pub(super) struct Names {
    looks: FxHashMap<Key, Look>,
}

/// A name and its colour.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Look {
    pub(super) text: BoxName,
    pub(super) fill: [u8; 3],
}

impl Names {
    pub(super) fn of<'a>(
        profile: &Profile,
        nodes: impl Iterator<Item = &'a Node>,
        colors: Colors,
    ) -> Self {
        let inlined = inlined(profile, colors);
        let mut looks = FxHashMap::default();
        for node in nodes {
            looks.entry(key(node)).or_insert_with(|| {
                let text = text_of(profile, node);
                let is_inlined = node.label.function().is_some_and(|id| inlined.contains(&id));
                let fill = match (colors, node.label) {
                    (Colors::Category, _) if !is_code(node.label) => palette::GROUP,
                    (Colors::Category, _) => palette::color(node.category),
                    _ => colors.fill(node.category, &text.name, is_inlined),
                };
                Look { text, fill }
            });
        }
        Self { looks }
    }

    /// The name of a node; each one that is drawn has one.
    pub(super) fn get(&self, node: &Node) -> &Look {
        &self.looks[&key(node)]
    }
}

fn key(node: &Node) -> Key {
    (node.label, node.category, node.frames)
}

/// Whether a box stands for code, and has the colour of its category.
pub(super) fn is_code(label: Label) -> bool {
    !matches!(label, Label::Root | Label::Thread(_) | Label::Entry(..))
}

/// Only one palette shows which functions were put inside their callers.
fn inlined(profile: &Profile, colors: Colors) -> FxHashSet<FunctionId> {
    let frames = profile.frames();
    let rows = frames.ids().filter(|id| colors == Colors::Java && frames.inlined[id.index()]);
    rows.map(|id| frames.function[id.index()]).collect()
}

fn text_of(profile: &Profile, node: &Node) -> BoxName {
    let BoxName { name, place } = box_name(profile, node);
    let mark = match node.label {
        Label::Awaited(_, call) => await_mark(call),
        _ => "",
    };
    let name = name.trim();
    let name = if name.is_empty() { NO_NAME } else { name };
    BoxName {
        name: shortened(&format!("{mark}{name}"), LONGEST),
        place: shortened(&place, LONGEST),
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

/// At most that many columns of a font in which all letters are equally wide: Chinese, Japanese and emoji take two.
pub(super) fn shortened(text: &str, columns: usize) -> String {
    if columns_of(text) <= columns {
        return text.to_owned();
    }
    let mut room = columns.saturating_sub(1);
    let fits = |character: &char| {
        let width = character.width().unwrap_or(1);
        let fits = width <= room;
        room = room.saturating_sub(width);
        fits
    };
    text.chars().take_while(fits).chain(['…']).collect()
}

/// How many columns a text takes.
pub(super) fn columns_of(text: &str) -> usize {
    text.chars().map(|character| character.width().unwrap_or(1)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_by_the_room_that_they_take() {
        assert_eq!(shortened("処理する", 8), "処理する");
        assert_eq!(shortened("処理する!", 8), "処理す…");
        assert_eq!(shortened("title", 5), "title");
        assert_eq!(shortened("title", 4), "tit…");
        assert_eq!(shortened("title", 0), "…");
        assert_eq!(columns_of(&shortened(&"é".repeat(5000), LONGEST)), LONGEST);
    }
}
