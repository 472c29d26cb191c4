//! What a profile contains, before it is understood: nodes with ids, samples that name them, and times. Chunks of
//! a trace are collected here one after the other.

use std::hash::{Hash, Hasher};

use hashbrown::HashTable;
use profile::Budget;
use rustc_hash::FxHasher;

use crate::json::{Number, Text};

/// Stands for an id that is missing or cannot be one.
pub(crate) const NO_ID: u32 = u32::MAX;

/// A profile as it is written.
#[derive(Debug, Default)]
pub(crate) struct RawProfile<'a> {
    pub(crate) nodes: Vec<RawNode>,
    /// The distinct functions; nodes refer to them by row.
    pub(crate) calls: Vec<Call<'a>>,
    call_rows: HashTable<u32>,
    /// The ids of all nodes' children, node after node.
    pub(crate) children: Vec<u32>,
    /// Line and ticks of all nodes, node after node.
    pub(crate) ticks: Vec<(u32, u32)>,
    /// The id of each sample's node.
    pub(crate) samples: Vec<u32>,
    /// The line of each sample; only traces have it.
    pub(crate) lines: Vec<u32>,
    pub(crate) time_deltas: Vec<f64>,
    pub(crate) timestamps: Vec<f64>,
    pub(crate) start: Option<f64>,
    pub(crate) end: Option<f64>,
    /// The memory that all of it takes, and what will be made of it.
    pub(crate) budget: Budget,
}

/// What a number of a list will take, a node, and a function beside its texts.
pub(crate) const NUMBER_COST: usize = 32;
const NODE_COST: usize = 144;
const CALL_COST: usize = 768;

/// A node of the call tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawNode {
    pub(crate) id: u32,
    /// The id of its parent, where the node has it.
    pub(crate) parent: u32,
    /// The row of its function.
    pub(crate) call: u32,
    pub(crate) hits: u32,
    /// Where its children and ticks end; they start where the node before ends.
    pub(crate) children_end: u32,
    pub(crate) ticks_end: u32,
}

/// A function: name, script and position from 1, 0 where not known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Call<'a> {
    pub(crate) name: Text<'a>,
    pub(crate) url: Text<'a>,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

impl Call<'_> {
    /// The same with texts of its own.
    pub(crate) fn owned(&self) -> Call<'static> {
        let text = |text: &Text<'_>| Text(text.0.to_string().into());
        Call { name: text(&self.name), url: text(&self.url), line: self.line, column: self.column }
    }
}

impl<'a> RawProfile<'a> {
    /// An empty one that counts what it takes.
    pub(crate) fn within(budget: &Budget) -> Self {
        Self { budget: budget.clone(), ..Self::default() }
    }

    /// The row of a function.
    pub(crate) fn call(&mut self, call: Call<'a>) -> u32 {
        let calls = &mut self.calls;
        let hash = hash_of(&call);
        if let Some(&row) = self.call_rows.find(hash, |&row| calls[row as usize] == call) {
            return row;
        }
        self.budget.take(CALL_COST + 2 * (call.name.0.len() + call.url.0.len()));
        let row = u32::try_from(calls.len()).unwrap_or(NO_ID);
        calls.push(call);
        self.call_rows.insert_unique(hash, row, |&row| hash_of(&calls[row as usize]));
        row
    }

    /// Closes a node whose children and ticks have been added.
    pub(crate) fn node(&mut self, id: Option<u32>, parent: Option<u32>, call: u32, hits: Number) {
        self.budget.take(NODE_COST);
        let end = |length: usize| u32::try_from(length).unwrap_or(NO_ID);
        self.nodes.push(RawNode {
            id: id.unwrap_or(NO_ID),
            parent: parent.unwrap_or(NO_ID),
            call,
            hits: hits.as_u32().unwrap_or(0),
            children_end: end(self.children.len()),
            ticks_end: end(self.ticks.len()),
        });
    }
}

fn hash_of(call: &Call<'_>) -> u64 {
    let mut hasher = FxHasher::default();
    // Functions of one script differ in their names or positions: the script needs no hashing.
    (&call.name, call.line, call.column, call.url.0.len()).hash(&mut hasher);
    hasher.finish()
}
