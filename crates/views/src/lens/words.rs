//! What the boxes of a picture are called.

use profile::{Category, FunctionId, Profile, StringId};

use super::Beside;
use crate::entries::{EntryPoint, entry_words};
use crate::tree::{Label, Node};

/// What a box is called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BoxName {
    /// `list`, `HTTP request ▸ list`, `express ▸ 18 frames`
    pub name: String,
    /// Where its function is: `/srv/shop.js:12:3`; empty where that is not known.
    pub place: String,
}

/// The name of a node's box.
pub fn box_name(profile: &Profile, node: &Node) -> BoxName {
    let nowhere = |name: &str| BoxName { name: name.to_owned(), place: String::new() };
    match node.label {
        Label::Root => nowhere("all"),
        Label::Thread(name) => nowhere(profile.text(name)),
        Label::Function(id) | Label::Awaited(id, _) => {
            let name = profile.text(profile.functions().row(id).name).to_owned();
            BoxName { name, place: place(profile, id) }
        }
        Label::Entry(kind, function, package) => {
            let point = EntryPoint { kind, function, package, is_inferred: false };
            let place = function.some().map(|id| place(profile, id)).unwrap_or_default();
            BoxName { name: entry_words(profile, &point), place }
        }
        Label::Beside(beside) => nowhere(beside_words(beside)),
        Label::Packages(package) => nowhere(&run_words(profile, package, node.frames)),
        Label::Engine(category) => nowhere(category_words(category)),
    }
}

fn place(profile: &Profile, id: FunctionId) -> String {
    let function = profile.functions().row(id);
    let Some(path) = profile.source_path(function.source) else { return String::new() };
    match (function.line, function.column) {
        (0, _) => path.to_owned(),
        (line, 0) => format!("{path}:{line}"),
        (line, column) => format!("{path}:{line}:{column}"),
    }
}

fn beside_words(beside: Beside) -> &'static str {
    match beside {
        Beside::ThreadPool => "thread pool",
        Beside::V8Threads => "V8's threads",
        Beside::Category(category) => category_words(category),
        Beside::Node => "Node.js",
    }
}

fn category_words(category: Category) -> &'static str {
    match category {
        Category::Gc => "garbage collection",
        other => other.label(),
    }
}

/// `express ▸ 18 frames`
fn run_words(profile: &Profile, package: StringId, frames: u32) -> String {
    let name = package.some().map_or("packages", |id| profile.text(id));
    let noun = if frames == 1 { "frame" } else { "frames" };
    format!("{name} ▸ {frames} {noun}")
}
