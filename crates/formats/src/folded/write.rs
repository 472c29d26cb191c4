//! Profile → folded stacks, sorted as bytes, line for line what stackcollapse-perf.pl gives for the same
//! recording.

use std::io::{self, Write};

use profile::{FrameId, LaneId, NO_ADDRESS, Profile, StackId, ThreadId, Unclosed};
use rustc_hash::FxHashMap;
use views::{Entry, Selection, Weights};

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
    let mut tree = Tree::new();
    let mut speller = Speller::new(profile, selection, options);
    for entry in &weights.entries {
        if let Some(node) = speller.node(entry, &mut tree) {
            let weight = entry.weight.saturating_sub(unclosed_weight(profile, selection, entry));
            tree.nodes[node as usize].weight = tree.nodes[node as usize].weight.saturating_add(weight);
        }
    }
    tree.write(&mut out)?;
    out.flush()
}

/// stackcollapse-perf.pl leaves out a last sample that no blank line closes.
fn unclosed_weight(profile: &Profile, selection: &Selection, entry: &Entry) -> u64 {
    let is_here = |unclosed: &Unclosed| unclosed.thread == entry.thread && unclosed.stack == entry.stack;
    let whole = selection.range_ns.is_none() && selection.lane.is_none_or(|lane| lane == LaneId(0));
    let unclosed = profile.meta().losses.unclosed.filter(|unclosed| whole && is_here(unclosed));
    unclosed.map_or(0, |unclosed| unclosed.weight)
}

/// Finds the node of a sample's folded stack.
struct Speller<'a> {
    profile: &'a Profile,
    selection: &'a Selection,
    options: &'a Options,
    roots: FxHashMap<ThreadId, (u32, bool)>,
    frames: FxHashMap<(FrameId, bool), Vec<u32>>,
    stacks: FxHashMap<(u32, StackId), u32>,
}

impl<'a> Speller<'a> {
    fn new(profile: &'a Profile, selection: &'a Selection, options: &'a Options) -> Self {
        let (roots, frames, stacks) = (FxHashMap::default(), FxHashMap::default(), FxHashMap::default());
        Self { profile, selection, options, roots, frames, stacks }
    }

    /// `None` for a sample with neither a thread name nor a stack.
    fn node(&mut self, entry: &Entry, tree: &mut Tree) -> Option<u32> {
        let (root, java) = match self.roots.get(&entry.thread) {
            Some(found) => *found,
            None => {
                let name = self.thread_name(entry.thread);
                let root = if name.is_empty() { ROOT } else { tree.child_named(ROOT, &name) };
                *self.roots.entry(entry.thread).or_insert((root, name.starts_with("java")))
            }
        };
        let mut missing = Vec::new();
        let mut node = root;
        for stack in self.profile.ancestry(entry.stack) {
            if let Some(&known) = self.stacks.get(&(root, stack)) {
                node = known;
                break;
            }
            missing.push(stack);
        }
        for stack in missing.into_iter().rev() {
            if !self.selection.hides(self.profile, stack) {
                let frame = self.profile.stacks().frame[stack.index()];
                for name in self.spell(frame, java, tree) {
                    node = tree.child(node, *name);
                }
            }
            self.stacks.insert((root, stack), node);
        }
        (node != ROOT).then_some(node)
    }

    fn thread_name(&self, id: ThreadId) -> String {
        let thread = self.profile.thread(id);
        let number = |id: Option<u32>| id.map_or_else(|| "?".to_owned(), |id| id.to_string());
        let comm = without_control(self.profile.text(thread.name)).replace(' ', "_").replace(';', ":");
        let pid = number(self.profile.process(thread.process).pid);
        match (self.options.tid, self.options.pid) {
            _ if comm.is_empty() => comm,
            (true, _) => format!("{comm}-{pid}/{}", number(thread.tid)),
            (false, true) => format!("{comm}-{pid}"),
            (false, false) => comm,
        }
    }

    fn spell(&mut self, id: FrameId, java: bool, tree: &mut Tree) -> &[u32] {
        let Self { profile, options, frames, .. } = self;
        frames.entry((id, java)).or_insert_with(|| {
            let frame = profile.frames().row(id);
            let symbol = profile.text(frame.symbol);
            if frame.address == NO_ADDRESS {
                // Not from perf: the text is already as people want it.
                return vec![tree.name(&without_control(&symbol.replace(';', ":")))];
            }
            let module =
                profile.module_name(profile.functions().module[frame.function.index()]).unwrap_or_default();
            let spelling = Spelling { symbol, module, address: frame.address, java };
            names(&spelling, options).iter().map(|name| tree.name(name)).collect()
        })
    }
}

const ROOT: u32 = 0;

/// The folded stacks as a tree of names.
struct Tree {
    nodes: Vec<Node>,
    children: FxHashMap<(u32, u32), u32>,
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
    fn new() -> Self {
        let root = Node { parent: ROOT, name: 0, weight: 0, is_caller: true };
        Self {
            nodes: vec![root],
            children: FxHashMap::default(),
            names: Vec::new(),
            name_index: FxHashMap::default(),
        }
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
        *self.children.entry((parent, name)).or_insert_with(|| {
            nodes[parent as usize].is_caller = true;
            nodes.push(Node { parent, name, weight: 0, is_caller: false });
            row(nodes.len() - 1)
        })
    }

    /// Writes the lines in the order of their bytes without sorting whole lines: among the children of a
    /// node, `name` (a stack that ends there) and `name;` (stacks that go on) sort as they are spelt.
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let lists = self.sorted_lists();
        let mut line = String::new();
        let mut pending: Vec<(Step, usize)> =
            lists[ROOT as usize].iter().rev().map(|step| (*step, 0)).collect();
        while let Some((step, prefix)) = pending.pop() {
            line.truncate(prefix);
            match step {
                Step::End(node) => {
                    let node = &self.nodes[node as usize];
                    let name = &self.names[node.name as usize];
                    writeln!(out, "{line}{} {}", &name[..name.len() - 1], node.weight)?;
                }
                Step::GoOn(node) => {
                    line.push_str(&self.names[self.nodes[node as usize].name as usize]);
                    pending.extend(lists[node as usize].iter().rev().map(|step| (*step, line.len())));
                }
            }
        }
        Ok(())
    }

    fn sorted_lists(&self) -> Vec<Vec<Step>> {
        let ranks = self.ranks();
        let mut lists: Vec<Vec<Step>> = vec![Vec::new(); self.nodes.len()];
        for (id, node) in self.nodes.iter().enumerate().skip(1) {
            let list = &mut lists[node.parent as usize];
            if node.weight > 0 {
                list.push(Step::End(row(id)));
            }
            if node.is_caller {
                list.push(Step::GoOn(row(id)));
            }
        }
        for list in &mut lists {
            list.sort_unstable_by_key(|step| match *step {
                Step::End(node) => ranks[self.nodes[node as usize].name as usize].0,
                Step::GoOn(node) => ranks[self.nodes[node as usize].name as usize].1,
            });
        }
        lists
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

#[derive(Clone, Copy)]
enum Step {
    End(u32),
    GoOn(u32),
}

fn row(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
