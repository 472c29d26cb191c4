//! The older form: nodes inside nodes, from `head` down, and lines counted from 1. A tree can be deeper than
//! serde_json recurses, so one pass over the text takes the children out of each node, and what is left of a
//! node is read by itself.

use profile::Budget;
use serde::Deserialize;

use super::parse::{CallFrame, Tick};
use super::raw::RawProfile;
use crate::json::{Number, Text, string_end};

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct HeadNode<'a> {
    id: Number,
    hit_count: Number,
    #[serde(borrow)]
    call_frame: Option<CallFrame<'a>>,
    #[serde(borrow)]
    function_name: Option<Text<'a>>,
    #[serde(borrow)]
    url: Option<Text<'a>>,
    line_number: Number,
    column_number: Number,
    position_ticks: Option<Vec<Tick>>,
}

/// A node, read or still open, without its children.
#[derive(Default)]
struct NodeText {
    parent: Option<usize>,
    text: Vec<u8>,
}

/// Adds the nodes of a tree, which must be sound JSON; returns what is wrong with it.
pub(super) fn read(head: &str, raw: &mut RawProfile<'_>) -> Option<String> {
    let mut damage = None;
    let mut ids: Vec<u32> = Vec::new();
    for (row, node) in (0u32..).zip(split(head.as_bytes(), &raw.budget)) {
        if raw.budget.is_full() {
            damage.get_or_insert_with(|| raw.budget.sentence());
            break;
        }
        let read = serde_json::from_slice(&node.text);
        let HeadNode {
            id,
            hit_count,
            call_frame,
            function_name,
            url,
            line_number,
            column_number,
            position_ticks,
        } = read.unwrap_or_else(|error| {
            damage.get_or_insert(format!("a node of the tree was not understood: {error}"));
            HeadNode::default()
        });
        // A node without an id gets one that no sample names.
        ids.push(id.as_u32().unwrap_or(u32::MAX - 1 - row));
        let call = match call_frame {
            Some(frame) => frame.call(0),
            None => CallFrame { function_name, url, line_number, column_number }.call(1),
        };
        let call = raw.call(call.owned());
        raw.ticks.extend(position_ticks.iter().flatten().map(Tick::row));
        raw.node(ids.last().copied(), node.parent.map(|parent| ids[parent]), call, hit_count);
    }
    damage
}

/// What a node takes beside its text.
const NODE_TEXT_COST: usize = 128;

/// Every node's own text, parents first.
fn split(text: &[u8], budget: &Budget) -> Vec<NodeText> {
    let mut nodes: Vec<NodeText> = Vec::new();
    // The open nodes: their row, and how deep the text is inside what is not their children.
    let mut open: Vec<(usize, u32)> = Vec::new();
    let mut among_children = true;
    let mut at = 0;
    while at < text.len() && !budget.is_full() {
        let start = at;
        at = if text[at] == b'"' { (string_end(text, at + 1) + 1).min(text.len()) } else { at + 1 };
        if among_children {
            if text[start] == b'{' {
                nodes.push(NodeText { parent: open.last().map(|(row, _)| *row), text: vec![b'{'] });
                budget.take(NODE_TEXT_COST);
                open.push((nodes.len() - 1, 0));
            }
            // The list ends, and its node goes on.
            among_children = !matches!(text[start], b'{' | b']');
            continue;
        }
        let Some((row, depth)) = open.last_mut() else { break };
        if *depth == 0
            && &text[start..at] == b"\"children\""
            && let Some(length) = list_start(&text[at..])
        {
            nodes[*row].text.extend_from_slice(b"\"children\":0");
            at += length;
            among_children = true;
            continue;
        }
        nodes[*row].text.extend_from_slice(&text[start..at]);
        match text[start] {
            b'{' | b'[' => *depth += 1,
            b'}' if *depth == 0 => {
                open.pop();
                among_children = true;
            }
            b'}' | b']' => *depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    nodes
}

/// How far the text is from a key's end to behind the `[` of its list, if it has one.
fn list_start(text: &[u8]) -> Option<usize> {
    let value =
        text.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start().strip_prefix(b"[")?;
    Some(text.len() - value.len())
}
