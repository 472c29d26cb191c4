//! Functions that call themselves: which stacks are the outermost of their kind, so that a total counts each
//! sample once.

use profile::{StackId, Stacks};

/// A stack that counts for nothing.
pub(crate) const NO_KIND: u32 = u32::MAX;

/// Calls `each` for every stack whose kind no caller has, with its kind. One walk over the tree of stacks with
/// a count of what is open: looking up all callers of each stack would cost its depth.
pub(crate) fn outermost(
    stacks: &Stacks,
    kinds: &[u32],
    kind_count: usize,
    mut each: impl FnMut(StackId, u32),
) {
    let (mut child, mut sibling) =
        (vec![StackId::NONE; stacks.len()], vec![StackId::NONE; stacks.len()]);
    let mut root = StackId::NONE;
    for id in stacks.ids().rev() {
        let first = match stacks.parent[id.index()].some() {
            Some(parent) => &mut child[parent.index()],
            None => &mut root,
        };
        sibling[id.index()] = std::mem::replace(first, id);
    }
    let mut open = vec![0u32; kind_count];
    let mut at = root;
    while at != StackId::NONE {
        if let Some(count) = open.get_mut(kinds[at.index()] as usize) {
            if *count == 0 {
                each(at, kinds[at.index()]);
            }
            *count += 1;
        }
        at = match child[at.index()].some() {
            Some(child) => child,
            None => next_behind(at, stacks, kinds, &sibling, &mut open),
        };
    }
}

/// Leaves stacks until one has a sibling; that is next.
fn next_behind(
    mut at: StackId,
    stacks: &Stacks,
    kinds: &[u32],
    sibling: &[StackId],
    open: &mut [u32],
) -> StackId {
    while at != StackId::NONE {
        if let Some(count) = open.get_mut(kinds[at.index()] as usize) {
            *count -= 1;
        }
        if let Some(sibling) = sibling[at.index()].some() {
            return sibling;
        }
        at = stacks.parent[at.index()];
    }
    at
}
