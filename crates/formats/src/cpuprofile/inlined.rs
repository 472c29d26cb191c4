//! Shares out the samples of a node among the node itself and the functions that V8 had inlined in it. V8 counts the
//! lines of a node for a whole window, and does not record which sample was on which. So samples are given to lines in
//! turn, each to the one that lacks most: the numbers are right at every time, within one sample. Who called an inlined
//! function is not known where several were inlined in each other: it stands right under the node.

use profile::{Builder, Inlined, LineTick, StackId};

use super::frames::FrameOf;
use super::functions::{Owner, TextOf};
use super::join::Code;
use super::raw::RawProfile;

/// A line with less than a twentieth of a window's samples, or with fewer than this, hides nothing that matters.
const MUCH: u64 = 20;
const FEW: u32 = 5;

/// The parts of all nodes of a window.
pub(super) struct Shares {
    nodes: Vec<Vec<Part>>,
    /// What the samples that were given so far are.
    pub(super) counts: Inlined,
}

/// A part of a node's samples.
struct Part {
    owner: Owner,
    stack: StackId,
    ticks: u64,
    given: u64,
}

impl Shares {
    /// Finds out whose lines the nodes of a window have, and adds these lines.
    pub(super) fn new(
        raw: &RawProfile<'_>,
        stacks: &[StackId],
        code: &mut Code,
        text_of: &mut TextOf<'_>,
        builder: &mut Builder,
    ) -> Self {
        let busy = raw.nodes.iter().filter(|node| raw.calls[node.call as usize].name.0 != "(idle)");
        let busy = busy.fold(0u64, |sum, node| sum.saturating_add(node.hits.into()));
        let is_much = |ticks: u32| ticks >= FEW && u64::from(ticks).saturating_mul(MUCH) >= busy;
        let mut start = 0;
        let mut nodes = Vec::with_capacity(raw.nodes.len());
        for (node, stack) in raw.nodes.iter().zip(stacks) {
            let end = node.ticks_end as usize;
            let call = &raw.calls[node.call as usize];
            let mut parts = Vec::new();
            let mut counted = 0u64;
            for &(line, ticks) in raw.ticks.get(start..end).unwrap_or_default() {
                let mut owner = code.functions.owner(call, line, text_of);
                if owner == Owner::Itself
                    && is_much(ticks)
                    && code.functions.may_hide(call, line, text_of)
                {
                    owner = Owner::Uncertain;
                }
                let part = part_of(&mut parts, owner, *stack, (code, builder));
                part.ticks = part.ticks.saturating_add(ticks.into());
                counted = counted.saturating_add(ticks.into());
                add_line(part.stack, line, ticks, builder);
            }
            // A sample without a line is the node's own.
            let rest = u64::from(node.hits).saturating_sub(counted);
            if rest > 0 || parts.is_empty() {
                part_of(&mut parts, Owner::Itself, *stack, (code, builder)).ticks += rest;
            }
            nodes.push(parts);
            start = end.max(start);
        }
        Self { nodes, counts: Inlined::default() }
    }

    /// The stack of the next sample of a node.
    pub(super) fn next(&mut self, row: usize) -> StackId {
        let Some(parts) = self.nodes.get_mut(row) else { return StackId::NONE };
        let ticks = parts.iter().fold(0u64, |sum, part| sum.saturating_add(part.ticks));
        let given = parts.iter().fold(1u64, |sum, part| sum.saturating_add(part.given));
        let lack = |part: &Part| {
            i128::from(part.ticks) * i128::from(given) - i128::from(part.given) * i128::from(ticks)
        };
        // Of equals the first one.
        let Some(part) = parts.iter_mut().rev().max_by_key(|part| lack(part)) else {
            return StackId::NONE;
        };
        part.given = part.given.saturating_add(1);
        match &part.owner {
            Owner::Itself => {}
            Owner::Uncertain => self.counts.uncertain += 1,
            Owner::Unchecked => self.counts.unchecked += 1,
            Owner::Inlined(_) => self.counts.found += 1,
        }
        part.stack
    }
}

fn part_of<'a>(
    parts: &'a mut Vec<Part>,
    owner: Owner,
    stack: StackId,
    (code, builder): (&mut Code, &mut Builder),
) -> &'a mut Part {
    let known = parts.iter().position(|part| part.owner == owner);
    let row = known.unwrap_or_else(|| {
        let stack = match &owner {
            Owner::Inlined(call) => {
                let frames = code.frames.of(&[FrameOf { call, inlined: true }], builder);
                frames.into_iter().fold(stack, |stack, frame| builder.stack(stack, frame))
            }
            _ => stack,
        };
        parts.push(Part { owner, stack, ticks: 0, given: 0 });
        parts.len() - 1
    });
    &mut parts[row]
}

fn add_line(stack: StackId, line: u32, ticks: u32, builder: &mut Builder) {
    if stack.some().is_some() && line > 0 && ticks > 0 {
        builder.line_tick(LineTick { stack, line, ticks });
    }
}
