//! The call tree of the samples that are written, merged by function, with ids from 1 and `(root)` first.

use std::borrow::Cow;
use std::collections::BTreeMap;

use profile::address::file_url;
use profile::{FunctionId, Profile, StackId, Tier};
use rustc_hash::FxHashMap;
use serde::Serialize;
use views::Selection;

use naming::{ANONYMOUS, EVAL, GENERATED_MARK, TOP_LEVEL, name_call_frame, pattern_of};

/// V8's name for a thread that waits.
pub(super) const IDLE: &str = "(idle)";
const ROOT: u32 = 0;

/// A node as it is written.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WrittenNode<'a> {
    id: u32,
    call_frame: CallFrame<'a>,
    hit_count: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    children: Vec<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    position_ticks: Vec<PositionTick>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CallFrame<'a> {
    function_name: Cow<'a, str>,
    script_id: String,
    url: Cow<'a, str>,
    line_number: i64,
    column_number: i64,
}

#[derive(Serialize)]
struct PositionTick {
    line: u32,
    ticks: u32,
}

/// Grows with the samples.
pub(super) struct Tree<'a> {
    profile: &'a Profile,
    selection: Selection,
    nodes: Vec<WrittenNode<'a>>,
    lines: Vec<BTreeMap<u32, u32>>,
    by_function: FxHashMap<(u32, FunctionId), u32>,
    meta: FxHashMap<&'static str, u32>,
    by_stack: Vec<Option<u32>>,
}

impl<'a> Tree<'a> {
    pub(super) fn new(profile: &'a Profile, selection: &Selection) -> Self {
        let mut tree = Self {
            profile,
            selection: selection.clone(),
            nodes: Vec::new(),
            lines: Vec::new(),
            by_function: FxHashMap::default(),
            meta: FxHashMap::default(),
            by_stack: vec![None; profile.stacks().len()],
        };
        tree.push(CallFrame::named("(root)"));
        tree
    }

    /// Counts a sample; returns the id of its node.
    pub(super) fn sample(&mut self, stack: StackId) -> u32 {
        let node = self.node(stack);
        let line = stack.some().map_or(0, |stack| {
            self.profile.frames().line[self.profile.stacks().frame[stack.index()].index()]
        });
        if line > 0 {
            *self.lines[node as usize].entry(line).or_default() += 1;
        }
        self.hit(node)
    }

    /// Counts a sample of no function, under one of V8's own names.
    pub(super) fn meta_sample(&mut self, name: &'static str) -> u32 {
        let node = match self.meta.get(name) {
            Some(node) => *node,
            None => self.child(ROOT, CallFrame::named(name)),
        };
        self.meta.insert(name, node);
        self.hit(node)
    }

    /// Counts a sample of nothing at all.
    pub(super) fn root_sample(&mut self) -> u32 {
        self.hit(ROOT)
    }

    /// Adds the lines that the recording counted by stack, for the stacks that are here.
    pub(super) fn add_line_ticks(&mut self) {
        let ticks = self.profile.line_ticks();
        for id in ticks.ids() {
            let tick = ticks.row(id);
            if let Some(node) = self.by_stack[tick.stack.index()] {
                let sum = self.lines[node as usize].entry(tick.line).or_default();
                *sum = sum.saturating_add(tick.ticks);
            }
        }
    }

    pub(super) fn finish(mut self) -> Vec<WrittenNode<'a>> {
        for (node, lines) in self.nodes.iter_mut().zip(self.lines) {
            node.position_ticks =
                lines.into_iter().map(|(line, ticks)| PositionTick { line, ticks }).collect();
        }
        self.nodes
    }

    fn hit(&mut self, node: u32) -> u32 {
        let node = &mut self.nodes[node as usize];
        node.hit_count = node.hit_count.saturating_add(1);
        node.id
    }

    /// The node of a stack: down to the first caller that is known, then up again.
    fn node(&mut self, stack: StackId) -> u32 {
        let profile = self.profile;
        let mut missing = Vec::new();
        let mut node = ROOT;
        for stack in profile.ancestry(stack) {
            if let Some(known) = self.by_stack[stack.index()] {
                node = known;
                break;
            }
            missing.push(stack);
        }
        for stack in missing.into_iter().rev() {
            if !self.selection.hides(profile, stack) {
                let function =
                    profile.frames().function[profile.stacks().frame[stack.index()].index()];
                node = match self.by_function.get(&(node, function)) {
                    Some(known) => *known,
                    None => {
                        let new = self.child(node, CallFrame::of(profile, function));
                        self.by_function.insert((node, function), new);
                        new
                    }
                };
            }
            self.by_stack[stack.index()] = Some(node);
        }
        node
    }

    fn child(&mut self, parent: u32, call_frame: CallFrame<'a>) -> u32 {
        let node = self.push(call_frame);
        self.nodes[parent as usize].children.push(node + 1);
        node
    }

    fn push(&mut self, call_frame: CallFrame<'a>) -> u32 {
        let row = self.nodes.len() as u32;
        let (children, position_ticks) = (Vec::new(), Vec::new());
        self.nodes.push(WrittenNode {
            id: row + 1,
            call_frame,
            hit_count: 0,
            children,
            position_ticks,
        });
        self.lines.push(BTreeMap::new());
        row
    }
}

/// Node writes files as URLs. What stands for a text that is no file's has none.
fn url_of(path: &str) -> Cow<'_, str> {
    let url = Some(path).filter(|path| !path.ends_with(GENERATED_MARK)).and_then(file_url);
    url.map_or(Cow::Borrowed(path), Cow::Owned)
}

impl<'a> CallFrame<'a> {
    fn named(name: &'a str) -> Self {
        let (function_name, script_id) = (Cow::Borrowed(name), "0".into());
        Self {
            function_name,
            script_id,
            url: Cow::Borrowed(""),
            line_number: -1,
            column_number: -1,
        }
    }

    fn of(profile: &'a Profile, id: FunctionId) -> Self {
        let function = profile.functions().row(id);
        let name = profile.text(function.name);
        let url = profile.source_path(function.source).unwrap_or_default();
        // V8 writes no name where we write words; its readers have words of their own.
        let is_ours = [ANONYMOUS, TOP_LEVEL, EVAL].contains(&name)
            && name_call_frame("", url, function.line, function.column, Tier::Unmarked).function
                == name;
        let pattern = pattern_of(name).filter(|_| url.is_empty());
        let function_name = match pattern {
            Some(pattern) => Cow::Owned(format!("RegExp: {pattern}")),
            None => Cow::Borrowed(if is_ours { "" } else { name }),
        };
        Self {
            function_name,
            script_id: function.source.some().map_or(0, |source| source.index() + 1).to_string(),
            url: url_of(url),
            line_number: i64::from(function.line) - 1,
            column_number: i64::from(function.column) - 1,
        }
    }
}
