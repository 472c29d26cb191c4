//! Profile → folded stacks, sorted as bytes, line for line what stackcollapse-perf.pl gives for the same
//! recording.

use std::fmt::Write as _;
use std::hash::BuildHasher;
use std::io::{self, Write};

use hashbrown::HashTable;
use profile::{
    FrameId, LaneId, ModuleId, NO_ADDRESS, Profile, StackId, StringId, ThreadId, Unclosed,
};
use rustc_hash::{FxBuildHasher, FxHashMap};
use views::{BoxName, CallTree, Entry, Selection, Weights, box_name};

pub use super::rules::Options;
use super::rules::{Spelling, names, without_control};

/// Writes the selected samples.
pub fn write(
    profile: &Profile,
    weights: &Weights,
    selection: &Selection,
    options: &Options,
    mut out: impl Write,
) -> io::Result<()> {
    let mut speller = Speller::new(profile, selection, options);
    speller.add(&weights.entries);
    speller.tree.write(&mut out)?;
    out.flush()
}

/// Writes the boxes of a tree, such as one that a lens left.
pub fn write_tree(profile: &Profile, tree: &CallTree, mut out: impl Write) -> io::Result<()> {
    let mut lines = Tree::with_capacity(tree.nodes.len());
    let mut rows = vec![ROOT];
    for node in tree.nodes.iter().skip(1) {
        let BoxName { name, place } = box_name(profile, node);
        let is_placed = node.label.function().is_some() && !place.is_empty();
        let name = if is_placed { format!("{name} {place}") } else { name };
        let name = without_control(name.replace(';', ":"));
        let line = lines.child_named(rows[node.parent.index()], &name);
        let sum = &mut lines.nodes[line as usize].weight;
        *sum = sum.saturating_add(node.self_weight);
        rows.push(line);
    }
    lines.write(&mut out)?;
    out.flush()
}

/// stackcollapse-perf.pl leaves out a last sample that no blank line closes.
fn unclosed_weight(profile: &Profile, selection: &Selection, entry: &Entry) -> u64 {
    let is_here =
        |unclosed: &Unclosed| unclosed.thread == entry.thread && unclosed.stack == entry.stack;
    let whole = selection.range_ns.is_none() && selection.lane.is_none_or(|lane| lane == LaneId(0));
    let unclosed = profile.meta().losses.unclosed.filter(|unclosed| whole && is_here(unclosed));
    unclosed.map_or(0, |unclosed| unclosed.weight)
}

/// Finds the node of each sample's folded stack.
struct Speller<'a> {
    profile: &'a Profile,
    selection: &'a Selection,
    options: &'a Options,
    tree: Tree,
    /// The names of frames that share symbol and module; addresses stand beside them when they are shown.
    spellings: FxHashMap<FrameKey, Spelt>,
    /// The names of frames that stand for several.
    lists: Vec<Vec<u32>>,
    /// The names of each frame, of threads that are not Java's and of those that are.
    frames: [Vec<Option<Spelt>>; 2],
    /// For each stack, the root that it was last looked up for, and its node there.
    stacks: Vec<(u32, u32)>,
    missing: Vec<StackId>,
}

/// The names of a frame: nearly always one.
#[derive(Clone, Copy)]
enum Spelt {
    Name(u32),
    /// A row of the lists: `a->b` is two.
    Names(u32),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct FrameKey {
    symbol: StringId,
    module: ModuleId,
    address: u64,
    java: bool,
}

impl<'a> Speller<'a> {
    fn new(profile: &'a Profile, selection: &'a Selection, options: &'a Options) -> Self {
        let stacks = vec![(u32::MAX, ROOT); profile.stacks().len()];
        let tree = Tree::with_capacity(stacks.len());
        let (spellings, lists, missing) = (FxHashMap::default(), Vec::new(), Vec::new());
        let frames = [vec![None; profile.frames().len()], Vec::new()];
        Self { profile, selection, options, tree, spellings, lists, frames, stacks, missing }
    }

    /// Adds all entries, root after root, so that one memory of stacks serves all of them.
    fn add(&mut self, entries: &[Entry]) {
        let mut roots: FxHashMap<ThreadId, (u32, bool)> = FxHashMap::default();
        let mut sorted: Vec<(u32, u32)> = Vec::with_capacity(entries.len());
        for (entry_row, entry) in entries.iter().enumerate() {
            let (root, _) = *roots.entry(entry.thread).or_insert_with(|| {
                let name = self.thread_name(entry.thread);
                let root = if name.is_empty() { ROOT } else { self.tree.child_named(ROOT, &name) };
                (root, name.starts_with("java"))
            });
            sorted.push((root, row(entry_row)));
        }
        sorted.sort_unstable();
        for (root, entry) in sorted {
            let entry = &entries[entry as usize];
            let (_, java) = roots[&entry.thread];
            let node = self.node(entry.stack, root, java);
            if node != ROOT {
                let weight = entry.weight.saturating_sub(unclosed_weight(
                    self.profile,
                    self.selection,
                    entry,
                ));
                let sum = &mut self.tree.nodes[node as usize].weight;
                *sum = sum.saturating_add(weight);
            }
        }
    }

    fn node(&mut self, stack: StackId, root: u32, java: bool) -> u32 {
        let profile = self.profile;
        let mut missing = std::mem::take(&mut self.missing);
        let mut node = root;
        for stack in profile.ancestry(stack) {
            let (known_root, known) = self.stacks[stack.index()];
            if known_root == root {
                node = known;
                break;
            }
            missing.push(stack);
        }
        for stack in missing.drain(..).rev() {
            if !self.selection.hides(profile, stack) {
                node = match self.spell(profile.stacks().frame[stack.index()], java) {
                    Spelt::Name(name) => self.tree.child(node, name),
                    Spelt::Names(list) => {
                        let names = &self.lists[list as usize];
                        names.iter().fold(node, |node, name| self.tree.child(node, *name))
                    }
                };
            }
            self.stacks[stack.index()] = (root, node);
        }
        self.missing = missing;
        node
    }

    fn thread_name(&self, id: ThreadId) -> String {
        let thread = self.profile.thread(id);
        let number = |id: Option<u32>| id.map_or_else(|| "?".to_owned(), |id| id.to_string());
        let comm =
            without_control(self.profile.text(thread.name).replace(' ', "_").replace(';', ":"));
        let pid = number(self.profile.process(thread.process).pid);
        match (self.options.tid, self.options.pid) {
            _ if comm.is_empty() => comm,
            (true, _) => format!("{comm}-{pid}/{}", number(thread.tid)),
            (false, true) => format!("{comm}-{pid}"),
            (false, false) => comm,
        }
    }

    fn spell(&mut self, id: FrameId, java: bool) -> Spelt {
        let known = &mut self.frames[usize::from(java)];
        if let Some(Some(spelt)) = known.get(id.index()) {
            return *spelt;
        }
        known.resize(self.profile.frames().len(), None);
        let Self { profile, options, tree, spellings, lists, .. } = self;
        let (symbol, address) =
            (profile.frames().symbol[id.index()], profile.frames().address[id.index()]);
        let module = profile.functions().module[profile.frames().function[id.index()].index()];
        let shown_address = if options.addresses || address == NO_ADDRESS { address } else { 0 };
        let key = FrameKey { symbol, module, address: shown_address, java };
        let found = *spellings.entry(key).or_insert_with(|| {
            let symbol = profile.text(symbol);
            let spelt = if address == NO_ADDRESS {
                // Not from perf: the text is already as people want it.
                vec![without_control(symbol.replace(';', ":"))]
            } else {
                let module = profile.module_name(module).unwrap_or_default();
                names(&Spelling { symbol, module, address, java }, options)
            };
            let names: Vec<u32> = spelt.iter().map(|name| tree.name(name)).collect();
            if let [name] = names[..] {
                return Spelt::Name(name);
            }
            lists.push(names);
            Spelt::Names(row(lists.len() - 1))
        });
        known[id.index()] = Some(found);
        found
    }
}

const ROOT: u32 = 0;

/// The folded stacks as a tree of names.
struct Tree {
    nodes: Vec<Node>,
    /// The row of each node, by its parent and name.
    children: HashTable<u32>,
    /// Each name with a `;` behind it.
    names: Vec<String>,
    name_index: FxHashMap<String, u32>,
}

struct Node {
    parent: u32,
    name: u32,
    weight: u64,
    is_caller: bool,
}

impl Tree {
    fn with_capacity(nodes: usize) -> Self {
        let children = HashTable::with_capacity(nodes);
        let mut rows = Vec::with_capacity(nodes + 1);
        rows.push(Node { parent: ROOT, name: 0, weight: 0, is_caller: true });
        Self { nodes: rows, children, names: Vec::new(), name_index: FxHashMap::default() }
    }

    fn name(&mut self, name: &str) -> u32 {
        if let Some(&id) = self.name_index.get(name) {
            return id;
        }
        let id = row(self.names.len());
        self.names.push(format!("{name};"));
        self.name_index.insert(name.to_owned(), id);
        id
    }

    fn child_named(&mut self, parent: u32, name: &str) -> u32 {
        let name = self.name(name);
        self.child(parent, name)
    }

    fn child(&mut self, parent: u32, name: u32) -> u32 {
        let nodes = &mut self.nodes;
        let key_of = |node: &Node| (node.parent, node.name);
        let hash = |key: (u32, u32)| FxBuildHasher.hash_one(key);
        let key = (parent, name);
        if let Some(&found) =
            self.children.find(hash(key), |&id| key_of(&nodes[id as usize]) == key)
        {
            return found;
        }
        nodes[parent as usize].is_caller = true;
        nodes.push(Node { parent, name, weight: 0, is_caller: false });
        let id = row(nodes.len() - 1);
        self.children.insert_unique(hash(key), id, |&id| hash(key_of(&nodes[id as usize])));
        id
    }

    /// Writes the lines in the order of their bytes without sorting whole lines: among the children of a
    /// node, `name` (a stack that ends there) and `name;` (stacks that go on) sort as they are spelt.
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let steps = self.sorted_steps();
        let starts = self.step_starts(&steps);
        let mut line = String::new();
        let mut pending: Vec<(Step, usize)> = Vec::new();
        let follow = |parent: u32, prefix: usize, pending: &mut Vec<(Step, usize)>| {
            let list = &steps[starts[parent as usize]..starts[parent as usize + 1]];
            pending.extend(list.iter().rev().map(|step| (*step, prefix)));
        };
        follow(ROOT, 0, &mut pending);
        while let Some((step, prefix)) = pending.pop() {
            line.truncate(prefix);
            let node = &self.nodes[step.node as usize];
            line.push_str(&self.names[node.name as usize]);
            if step.goes_on {
                follow(step.node, line.len(), &mut pending);
            } else {
                line.pop();
                // Writing into a string cannot fail.
                let _ = writeln!(line, " {}", node.weight);
                out.write_all(line.as_bytes())?;
            }
        }
        Ok(())
    }

    /// Every way to go on from every node, by node and then by spelling.
    fn sorted_steps(&self) -> Vec<Step> {
        let ranks = self.ranks();
        let mut steps = Vec::with_capacity(self.nodes.len() * 2);
        for (row_of, node) in self.nodes.iter().enumerate().skip(1) {
            let (end, go_on) = ranks[node.name as usize];
            let step = |rank: u32, goes_on| {
                let order = u64::from(node.parent) << 32 | u64::from(rank);
                Step { order, node: row(row_of), goes_on }
            };
            if node.weight > 0 {
                steps.push(step(end, false));
            }
            if node.is_caller {
                steps.push(step(go_on, true));
            }
        }
        steps.sort_unstable_by_key(|step| step.order);
        steps
    }

    /// Where each node's steps start, and where the last one's end.
    fn step_starts(&self, steps: &[Step]) -> Vec<usize> {
        let mut starts = vec![0; self.nodes.len() + 1];
        for step in steps {
            starts[step.parent() as usize + 1] += 1;
        }
        for row in 1..starts.len() {
            starts[row] += starts[row - 1];
        }
        starts
    }

    /// The place of each name among all of them, without and with its `;`.
    fn ranks(&self) -> Vec<(u32, u32)> {
        let mut keys: Vec<(&str, usize, bool)> = Vec::with_capacity(self.names.len() * 2);
        for (id, name) in self.names.iter().enumerate() {
            keys.push((&name[..name.len() - 1], id, false));
            keys.push((name, id, true));
        }
        keys.sort_unstable();
        let mut ranks = vec![(0, 0); self.names.len()];
        for (place, (_, id, goes_on)) in keys.into_iter().enumerate() {
            *(if goes_on { &mut ranks[id].1 } else { &mut ranks[id].0 }) = row(place);
        }
        ranks
    }
}

/// From a node to one of its children: to its end, or through it.
#[derive(Clone, Copy)]
struct Step {
    /// The node that it leaves in the higher half, the rank of the name in the lower.
    order: u64,
    node: u32,
    goes_on: bool,
}

impl Step {
    fn parent(self) -> u32 {
        (self.order >> 32) as u32
    }
}

fn row(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
