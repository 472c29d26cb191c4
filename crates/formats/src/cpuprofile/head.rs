//! The older form: nodes inside nodes, from `head` down, and lines counted from 1. A tree can be deeper than
//! serde_json recurses, so each node's children are taken as text and wait for their turn.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::parse::{CallFrame, Tick};
use super::raw::RawProfile;
use crate::json::{Number, Text};

/// V8 shows 255 frames. Every level is read again for the levels above it, so a hostile tree must end.
const DEEPEST: u32 = 1024;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HeadNode<'a> {
    #[serde(default)]
    id: Number,
    #[serde(default)]
    hit_count: Number,
    #[serde(borrow, default)]
    call_frame: Option<CallFrame<'a>>,
    #[serde(borrow, default)]
    function_name: Option<Text<'a>>,
    #[serde(borrow, default)]
    url: Option<Text<'a>>,
    #[serde(default)]
    line_number: Number,
    #[serde(default)]
    column_number: Number,
    #[serde(default)]
    position_ticks: Option<Vec<Tick>>,
    #[serde(borrow, default)]
    children: Option<Vec<&'a RawValue>>,
}

/// Adds the nodes of a tree; returns what is wrong with it.
pub(super) fn read<'a>(head: &'a str, raw: &mut RawProfile<'a>) -> Option<String> {
    let mut damage = None;
    let mut waiting = vec![(head, None, 0)];
    // Nodes without ids get numbers that no sample can name.
    while let Some((text, parent, depth)) = waiting.pop() {
        let node: HeadNode<'a> = match serde_json::from_str(text) {
            Ok(node) => node,
            Err(error) => {
                damage.get_or_insert(format!("a node of the tree was not understood: {error}"));
                continue;
            }
        };
        let made_up = u32::MAX - 1 - u32::try_from(raw.nodes.len()).unwrap_or(0);
        let id = node.id.as_u32().unwrap_or(made_up);
        let call = match node.call_frame {
            Some(frame) => raw.call(frame.call(0)),
            None => raw.call(
                CallFrame {
                    function_name: node.function_name,
                    url: node.url,
                    line_number: node.line_number,
                    column_number: node.column_number,
                }
                .call(1),
            ),
        };
        raw.ticks.extend(node.position_ticks.iter().flatten().map(Tick::row));
        raw.node(Some(id), parent, call, node.hit_count);
        let children = node.children.unwrap_or_default();
        if depth >= DEEPEST && !children.is_empty() {
            damage
                .get_or_insert(format!("the tree is deeper than {DEEPEST} calls: what is below is left out"));
            continue;
        }
        waiting.extend(children.into_iter().rev().map(|child| (child.get(), Some(id), depth + 1)));
    }
    damage
}
