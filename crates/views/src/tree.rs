//! The call tree, from the roots or (inverted) from the leaves, merged by function.

use profile::{CallKind, Category, FunctionId, Profile, StackId, StringId};
use rustc_hash::FxHashMap;

use crate::entries::EntryKind;
use crate::lens::Beside;
use crate::selection::Selection;
use crate::weights::{Entry, Weights};

/// From where a tree grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Callers are parents.
    FromRoots,
    /// Callees are parents: the functions that ran stand at the root.
    FromLeaves,
}

/// What stands between the root and the first functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// Nothing.
    None,
    /// A node for each thread name.
    ThreadName,
}

/// A row of [`CallTree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(u32);

impl NodeId {
    /// All that is selected.
    pub const ROOT: NodeId = NodeId(0);

    /// The row as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a node stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Label {
    /// All that is selected.
    Root,
    /// A thread name.
    Thread(StringId),
    /// A function.
    Function(FunctionId),
    /// A function that the one above it awaits, or may await.
    Awaited(FunctionId, CallKind),
    /// What asked for the work, with the function that it called, or else the package.
    Entry(EntryKind, FunctionId, StringId),
    /// Work that no JavaScript of the user asked for.
    Beside(Beside),
    /// Frames of packages that follow each other; the outermost one's package.
    Packages(StringId),
    /// Garbage collection or the kernel, with what it calls.
    Engine(Category),
}

impl Label {
    /// A function, with a mark where its caller waits.
    pub(crate) fn of_call(function: FunctionId, call: CallKind) -> Self {
        match call {
            CallKind::Call => Label::Function(function),
            call => Label::Awaited(function, call),
        }
    }

    /// The function, if it stands for one.
    pub fn function(self) -> Option<FunctionId> {
        match self {
            Label::Function(id) | Label::Awaited(id, _) => Some(id),
            _ => None,
        }
    }
}

/// A node with its weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// The node above it; the root is its own.
    pub parent: NodeId,
    /// What it stands for.
    pub label: Label,
    /// The category of the time spent here.
    pub category: Category,
    /// The weight that ended here.
    pub self_weight: u64,
    /// The weight here and below.
    pub total_weight: u64,
    /// The samples that ended here.
    pub self_samples: u64,
    /// The samples here and below.
    pub total_samples: u64,
    /// The most frames that it stands for in one stack: more than one for packages alone.
    pub frames: u32,
}

/// Nodes, a parent always before its children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallTree {
    /// The nodes; the first is the root.
    pub nodes: Vec<Node>,
}

impl CallTree {
    /// The children of each node, in the order that `compare` gives.
    pub fn children(
        &self,
        mut compare: impl FnMut(&Node, &Node) -> std::cmp::Ordering,
    ) -> Vec<Vec<NodeId>> {
        let mut children: Vec<Vec<NodeId>> = vec![Vec::new(); self.nodes.len()];
        for (row, node) in self.nodes.iter().enumerate().skip(1) {
            children[node.parent.index()].push(node_id(row));
        }
        for list in &mut children {
            list.sort_by(|a, b| compare(&self.nodes[a.index()], &self.nodes[b.index()]));
        }
        children
    }

    /// One node.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }
}

/// Builds the tree of the selected samples.
pub fn call_tree(
    profile: &Profile,
    weights: &Weights,
    selection: &Selection,
    direction: Direction,
    grouping: Grouping,
) -> CallTree {
    let mut grower = Grower::new(profile, selection, grouping);
    for entry in &weights.entries {
        let node = match direction {
            Direction::FromRoots => grower.node_of_stack(entry),
            Direction::FromLeaves => grower.node_from_leaf(entry),
        };
        grower.nodes.add(node, entry);
    }
    grower.nodes.finish(direction)
}

/// The nodes of a tree that grows.
pub(crate) struct Nodes {
    list: Vec<Node>,
    children: FxHashMap<(NodeId, Label), NodeId>,
}

impl Nodes {
    pub(crate) fn new() -> Self {
        let root = empty_node(NodeId::ROOT, Label::Root, Category::Unknown);
        Self { list: vec![root], children: FxHashMap::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// The node of that label under another, found or made.
    pub(crate) fn child(&mut self, parent: NodeId, label: Label, category: Category) -> NodeId {
        let list = &mut self.list;
        *self.children.entry((parent, label)).or_insert_with(|| {
            list.push(empty_node(parent, label, category));
            node_id(list.len() - 1)
        })
    }

    /// Counts samples that ended in a node.
    pub(crate) fn add(&mut self, node: NodeId, entry: &Entry) {
        let node = &mut self.list[node.index()];
        node.self_weight = node.self_weight.saturating_add(entry.weight);
        node.self_samples = node.self_samples.saturating_add(entry.samples);
    }

    /// Notes how many frames a node stands for in some stack.
    pub(crate) fn stands_for(&mut self, node: NodeId, frames: u32) {
        let most = &mut self.list[node.index()].frames;
        *most = frames.max(*most);
    }

    pub(crate) fn finish(mut self, direction: Direction) -> CallTree {
        sum_up(&mut self.list);
        if direction == Direction::FromLeaves {
            move_self_to_leaves(&mut self.list);
        }
        CallTree { nodes: self.list }
    }
}

fn empty_node(parent: NodeId, label: Label, category: Category) -> Node {
    let (self_weight, total_weight, self_samples, total_samples) = (0, 0, 0, 0);
    Node {
        parent,
        label,
        category,
        self_weight,
        total_weight,
        self_samples,
        total_samples,
        frames: 1,
    }
}

struct Grower<'a> {
    profile: &'a Profile,
    selection: &'a Selection,
    grouping: Grouping,
    nodes: Nodes,
    stacks: FxHashMap<(StringId, StackId), NodeId>,
}

impl<'a> Grower<'a> {
    fn new(profile: &'a Profile, selection: &'a Selection, grouping: Grouping) -> Self {
        Self { profile, selection, grouping, nodes: Nodes::new(), stacks: FxHashMap::default() }
    }

    fn group(&self, entry: &Entry) -> StringId {
        match self.grouping {
            Grouping::None => StringId::NONE,
            Grouping::ThreadName => self.profile.thread(entry.thread).name,
        }
    }

    fn group_node(&mut self, parent: NodeId, group: StringId) -> NodeId {
        match self.grouping {
            Grouping::None => parent,
            Grouping::ThreadName if self.profile.text(group).is_empty() => parent,
            Grouping::ThreadName => {
                self.nodes.child(parent, Label::Thread(group), Category::Unknown)
            }
        }
    }

    /// The node of a stack, callers first; stacks share their callers' nodes.
    fn node_of_stack(&mut self, entry: &Entry) -> NodeId {
        let group = self.group(entry);
        let mut missing = Vec::new();
        let mut known = None;
        for stack in self.profile.ancestry(entry.stack) {
            known = self.stacks.get(&(group, stack)).copied();
            if known.is_some() {
                break;
            }
            missing.push(stack);
        }
        let mut node = known.unwrap_or_else(|| self.group_node(NodeId::ROOT, group));
        for stack in missing.into_iter().rev() {
            if !self.selection.hides(self.profile, stack) {
                node = self.called_child(node, stack);
            }
            self.stacks.insert((group, stack), node);
        }
        node
    }

    /// The node at the end of a path that starts with the function that ran.
    fn node_from_leaf(&mut self, entry: &Entry) -> NodeId {
        let profile = self.profile;
        let mut node = NodeId::ROOT;
        for stack in profile.ancestry(entry.stack) {
            if !self.selection.hides(profile, stack) {
                node = self.function_child(node, stack);
            }
        }
        self.group_node(node, self.group(entry))
    }

    /// The same with a mark where the caller waits.
    fn called_child(&mut self, parent: NodeId, stack: StackId) -> NodeId {
        let stack = self.profile.stacks().row(stack);
        let function = self.profile.frames().function[stack.frame.index()];
        self.nodes.child(parent, Label::of_call(function, stack.call), stack.category)
    }

    fn function_child(&mut self, parent: NodeId, stack: StackId) -> NodeId {
        let stack = self.profile.stacks().row(stack);
        let function = self.profile.frames().function[stack.frame.index()];
        self.nodes.child(parent, Label::Function(function), stack.category)
    }
}

fn sum_up(nodes: &mut [Node]) {
    for row in (0..nodes.len()).rev() {
        nodes[row].total_weight = nodes[row].total_weight.saturating_add(nodes[row].self_weight);
        nodes[row].total_samples = nodes[row].total_samples.saturating_add(nodes[row].self_samples);
        if row > 0 {
            let Node { parent, total_weight, total_samples, .. } = nodes[row];
            let parent = &mut nodes[parent.index()];
            parent.total_weight = parent.total_weight.saturating_add(total_weight);
            parent.total_samples = parent.total_samples.saturating_add(total_samples);
        }
    }
}

/// In an inverted tree the functions under the root are those that ran: all of their weight is their own.
fn move_self_to_leaves(nodes: &mut [Node]) {
    for node in nodes.iter_mut().skip(1) {
        let ran = node.parent == NodeId::ROOT;
        node.self_weight = if ran { node.total_weight } else { 0 };
        node.self_samples = if ran { node.total_samples } else { 0 };
    }
}

fn node_id(row: usize) -> NodeId {
    NodeId(u32::try_from(row).unwrap_or(u32::MAX))
}
