//! How much of a stack a picture shows: the lens. The rules are in docs/page.md. A lens changes stacks and never
//! samples: every selected sample has its place in the tree, with its weight. Categories are those of stacks, so what
//! garbage collection calls is garbage collection here, too.

mod parts;
mod words;

use profile::{Category, FunctionId, Profile, Role, StackId, StringId};
use rustc_hash::FxHashMap;

use crate::entries::{Entries, EntryKind};
use crate::selection::Selection;
use crate::tree::{CallTree, Direction, Grouping, Label, NodeId, Nodes, call_tree};
use crate::weights::{Entry, Weights, weigh};
use parts::{Part, Parts};
pub use words::{BoxName, box_name};

/// Which frames have a box of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lens {
    /// The user's own functions; packages are one box for each run of frames.
    Code,
    /// And the functions of packages.
    Packages,
    /// And those of Node and libuv.
    Node,
    /// All frames, as they were sampled.
    Everything,
}

impl Lens {
    /// From little to all.
    pub const ALL: [Lens; 4] = [Lens::Code, Lens::Packages, Lens::Node, Lens::Everything];

    /// What users type.
    pub fn word(self) -> &'static str {
        match self {
            Lens::Code => "code",
            Lens::Packages => "packages",
            Lens::Node => "node",
            Lens::Everything => "everything",
        }
    }

    /// What people read.
    pub fn label(self) -> &'static str {
        match self {
            Lens::Code => "my code",
            Lens::Packages => "my code + packages",
            Lens::Node => "my code + packages + Node",
            Lens::Everything => "everything",
        }
    }

    /// The lens of a word, as typed.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|lens| lens.word() == word)
    }
}

/// Where a sample stands that no JavaScript of the user asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Beside {
    /// A thread of libuv's pool.
    ThreadPool,
    /// A helper of V8.
    V8Threads,
    /// The category of its stack: garbage collection, the kernel, the compiler, idle, unknown.
    Category(Category),
    /// All the rest.
    Node,
}

impl Beside {
    fn of(role: Role, category: Category) -> Self {
        match (role, category) {
            (Role::LibuvPool, _) => Self::ThreadPool,
            (Role::V8Platform, _) => Self::V8Threads,
            (
                _,
                Category::Gc
                | Category::Kernel
                | Category::Compiler
                | Category::Idle
                | Category::Unknown,
            ) => Self::Category(category),
            _ => Self::Node,
        }
    }

    fn category(self) -> Category {
        match self {
            Self::ThreadPool => Category::Libuv,
            Self::V8Threads => Category::Runtime,
            Self::Category(category) => category,
            Self::Node => Category::NodeCore,
        }
    }
}

/// Of the JavaScript samples of a program that opens with the user's code, at least one in so many has some of it.
const LEAST_PART_OF_OWN: u64 = 100;

/// The lens that a recording opens with, for the page and for pictures. Without JavaScript of a user or of a package, all
/// other lenses would leave roots alone.
pub fn opening_lens(profile: &Profile, entries: &Entries) -> Lens {
    let parts = Parts::of(profile, &Selection::default());
    let (mut javascript, mut users, mut own) = (0u64, 0u64, 0u64);
    for entry in weigh(profile, &Selection::of_logical()).entries {
        if entries.of(entry.stack).kind == EntryKind::NotJavaScript {
            continue;
        }
        let counted = |is_counted| if is_counted { entry.samples } else { 0 };
        javascript = javascript.saturating_add(entry.samples);
        users = users.saturating_add(counted(parts.has_users(entry.stack)));
        own = own.saturating_add(counted(parts.has_own(entry.stack)));
    }
    match () {
        () if users == 0 => Lens::Everything,
        () if own.saturating_mul(LEAST_PART_OF_OWN) < javascript => Lens::Packages,
        () => Lens::Code,
    }
}

/// Builds the tree of the selected samples under a lens.
pub fn lens_tree(
    profile: &Profile,
    weights: &Weights,
    selection: &Selection,
    entries: &Entries,
    lens: Lens,
    direction: Direction,
) -> CallTree {
    if lens == Lens::Everything {
        return call_tree(profile, weights, selection, direction, Grouping::ThreadName);
    }
    let parts = Parts::of(profile, selection);
    let rules = Rules { profile, entries, lens, parts };
    let mut grower = Grower { rules, nodes: Nodes::new(), known: FxHashMap::default() };
    for entry in &weights.entries {
        let node = match direction {
            Direction::FromRoots => grower.node_of_stack(entry),
            Direction::FromLeaves => grower.node_from_leaf(entry),
        };
        grower.nodes.add(node, entry);
    }
    grower.nodes.finish(direction)
}

/// What the frames outside of one have left behind.
#[derive(Clone, Copy)]
struct Outside {
    /// Frames of the packages' box that is open; none is open at 0.
    run: u32,
    /// Whether garbage collection or the kernel has begun: what they call is in their box.
    is_claimed: bool,
    /// Whether the root is all that there is so far.
    is_bare: bool,
}

/// What becomes of a frame.
enum Step {
    /// No box: its time belongs to the box outside of it.
    Nothing,
    /// The open box of packages has one frame more.
    More,
    Box(Label, Category),
}

struct Rules<'a> {
    profile: &'a Profile,
    entries: &'a Entries,
    lens: Lens,
    parts: Parts,
}

impl Rules<'_> {
    /// What asked for the work, or what it stands beside.
    fn root(&self, entry: &Entry) -> (Label, Category) {
        let point = self.entries.of(entry.stack);
        if self.parts.has_users(entry.stack) && point.kind != EntryKind::NotJavaScript {
            let label = Label::Entry(point.kind, point.function, point.package);
            return (label, Category::Unknown);
        }
        let categories = &self.profile.stacks().category;
        let category = categories.get(entry.stack.index()).copied().unwrap_or(Category::Unknown);
        let beside = Beside::of(self.profile.thread(entry.thread).role, category);
        (Label::Beside(beside), beside.category())
    }

    /// One frame further inside.
    fn step(&self, root: Label, outside: &mut Outside, id: StackId) -> Step {
        if outside.is_claimed {
            return Step::Nothing;
        }
        let row = self.profile.stacks().row(id);
        let function = self.profile.frames().function[row.frame.index()];
        let part = self.parts.of_stack(id);
        let in_pool = root == Label::Beside(Beside::ThreadPool);
        if part == Part::Engine {
            outside.is_claimed = true;
            if outside.is_bare && root == Label::Beside(Beside::Category(row.category)) {
                return Step::Nothing;
            }
            return self.open(outside, Label::Engine(row.category), row.category);
        }
        let has_box = match part {
            Part::Own => true,
            Part::Package => {
                self.lens >= Lens::Packages || in_pool && row.category == Category::Addon
            }
            // What only leads to the user's code adds nothing under what asked for it.
            Part::Core if outside.is_bare && matches!(root, Label::Entry(..)) => false,
            Part::Core => self.lens >= Lens::Node || in_pool,
            Part::Engine | Part::Other => false,
        };
        if has_box {
            let is_root = is_entry_function(root, function);
            if std::mem::take(&mut outside.is_bare) && is_root {
                return Step::Nothing;
            }
            return self.open(outside, Label::of_call(function, row.call), row.category);
        }
        if part != Part::Package {
            return Step::Nothing;
        }
        outside.run += 1;
        if outside.run > 1 {
            return Step::More;
        }
        outside.is_bare = false;
        let package = self.profile.functions().package[function.index()];
        Step::Box(Label::Packages(package), row.category)
    }

    fn open(&self, outside: &mut Outside, label: Label, category: Category) -> Step {
        (outside.run, outside.is_bare) = (0, false);
        Step::Box(label, category)
    }
}

/// Whether the root stands for that function.
fn is_entry_function(root: Label, function: FunctionId) -> bool {
    matches!(root, Label::Entry(_, called, StringId::NONE) if called == function)
}

/// Before the first frame.
const START: Outside = Outside { run: 0, is_claimed: false, is_bare: true };

/// Stacks may be thousands of frames deep, and each could have another root: a tree stops growing here.
const MOST_NODES: usize = 4 << 20;

struct Grower<'a> {
    rules: Rules<'a>,
    nodes: Nodes,
    /// Stacks under one root share their callers' nodes.
    known: FxHashMap<(NodeId, StackId), (NodeId, Outside)>,
}

impl Grower<'_> {
    fn node_of_stack(&mut self, entry: &Entry) -> NodeId {
        let (label, category) = self.rules.root(entry);
        let root = self.nodes.child(NodeId::ROOT, label, category);
        let (mut node, mut outside) = (root, START);
        let mut missing = Vec::new();
        for id in self.rules.parts.chain(entry.stack) {
            if let Some(known) = self.known.get(&(root, id)) {
                (node, outside) = *known;
                break;
            }
            missing.push(id);
        }
        for id in missing.into_iter().rev() {
            let is_full = self.nodes.len() >= MOST_NODES;
            match self.rules.step(label, &mut outside, id) {
                Step::Box(label, category) if !is_full => {
                    node = self.nodes.child(node, label, category);
                }
                Step::More => self.nodes.stands_for(node, outside.run),
                Step::Box(..) | Step::Nothing => {}
            }
            if !is_full {
                self.known.insert((root, id), (node, outside));
            }
        }
        node
    }

    /// The node at the end of a path that starts with the box in which it ran.
    fn node_from_leaf(&mut self, entry: &Entry) -> NodeId {
        let (root, category) = self.rules.root(entry);
        let mut path = vec![(root, category, 1)];
        let mut outside = START;
        let inwards: Vec<StackId> = self.rules.parts.chain(entry.stack).collect();
        for id in inwards.into_iter().rev() {
            match self.rules.step(root, &mut outside, id) {
                Step::Box(label, category) => path.push((label, category, 1)),
                Step::More => path.last_mut().into_iter().for_each(|last| last.2 = outside.run),
                Step::Nothing => {}
            }
        }
        let mut node = NodeId::ROOT;
        for (label, category, frames) in path.into_iter().rev() {
            if self.nodes.len() < MOST_NODES {
                node = self.nodes.child(node, label, category);
                self.nodes.stands_for(node, frames);
            }
        }
        node
    }
}
