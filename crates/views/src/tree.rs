//! The call tree, from the roots or (inverted) from the leaves, merged by function.

use profile::{CallKind, Category, FunctionId, Profile, StackId, StringId};
use rustc_hash::FxHashMap;

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
}

impl Label {
    /// The function, if it stands for one.
    pub fn function(self) -> Option<FunctionId> {
        match self {
            Label::Root | Label::Thread(_) => None,
            Label::Function(id) | Label::Awaited(id, _) => Some(id),
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
        let node = &mut grower.nodes[node.index()];
        node.self_weight = node.self_weight.saturating_add(entry.weight);
        node.self_samples = node.self_samples.saturating_add(entry.samples);
    }
    let mut nodes = grower.nodes;
    sum_up(&mut nodes);
    if direction == Direction::FromLeaves {
        move_self_to_leaves(&mut nodes);
    }
    CallTree { nodes }
}

struct Grower<'a> {
    profile: &'a Profile,
    selection: &'a Selection,
    grouping: Grouping,
    nodes: Vec<Node>,
    children: FxHashMap<(NodeId, Label), NodeId>,
    stacks: FxHashMap<(StringId, StackId), NodeId>,
}

impl<'a> Grower<'a> {
    fn new(profile: &'a Profile, selection: &'a Selection, grouping: Grouping) -> Self {
        let root = Node {
            parent: NodeId::ROOT,
            label: Label::Root,
            category: Category::Unknown,
            self_weight: 0,
            total_weight: 0,
            self_samples: 0,
            total_samples: 0,
        };
        let (children, stacks) = (FxHashMap::default(), FxHashMap::default());
        Self { profile, selection, grouping, nodes: vec![root], children, stacks }
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
            Grouping::ThreadName => self.child(parent, Label::Thread(group), Category::Unknown),
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
        let label = match stack.call {
            CallKind::Call => Label::Function(function),
            call => Label::Awaited(function, call),
        };
        self.child(parent, label, stack.category)
    }

    fn function_child(&mut self, parent: NodeId, stack: StackId) -> NodeId {
        let stack = self.profile.stacks().row(stack);
        let function = self.profile.frames().function[stack.frame.index()];
        self.child(parent, Label::Function(function), stack.category)
    }

    fn child(&mut self, parent: NodeId, label: Label, category: Category) -> NodeId {
        let nodes = &mut self.nodes;
        *self.children.entry((parent, label)).or_insert_with(|| {
            let (self_weight, total_weight, self_samples, total_samples) = (0, 0, 0, 0);
            nodes.push(Node {
                parent,
                label,
                category,
                self_weight,
                total_weight,
                self_samples,
                total_samples,
            });
            node_id(nodes.len() - 1)
        })
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
