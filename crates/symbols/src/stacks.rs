//! Distinct frames and distinct stacks of them, still without names: rows that refer to each other.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use profile::CallKind;
use rustc_hash::FxBuildHasher;
use trace::{Address, Context};

use crate::places::PlaceId;

/// No stack.
pub(crate) const NONE: u32 = u32::MAX;

/// An address, and where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RawFrame {
    pub(crate) place: PlaceId,
    pub(crate) address: u64,
}

/// A frame and the stack that called it, which always comes before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RawStack {
    pub(crate) parent: u32,
    pub(crate) frame: u32,
    pub(crate) call: CallKind,
    /// The same as the program means it, or none.
    pub(crate) logical: u32,
}

/// All frames, each once.
#[derive(Default)]
pub(crate) struct Frames {
    pub(crate) rows: Vec<RawFrame>,
    /// In which process (its row) each one was seen first.
    pub(crate) processes: Vec<u32>,
    index: HashTable<u32>,
}

impl Frames {
    pub(crate) fn id(&mut self, frame: RawFrame, process: u32) -> u32 {
        let id = find_or_push(&mut self.rows, &mut self.index, frame);
        if self.processes.len() < self.rows.len() {
            self.processes.push(process);
        }
        id
    }
}

/// All stacks, each once.
#[derive(Default)]
pub(crate) struct Stacks {
    pub(crate) rows: Vec<RawStack>,
    /// Rows with their keys, because each look at another table is a wait for memory.
    index: HashTable<(RawStack, u32)>,
    /// For no stack and then each stack what was called last from it: the best guess for the next time.
    last_called: Vec<Call>,
}

/// A call, and the stack that it led to. Sixteen bytes: there is one for each stack.
#[derive(Clone, Copy)]
struct Call {
    to: u64,
    /// Whose address it is, and in which generation.
    kind: u32,
    stack: u32,
}

impl Call {
    const NONE: Self = Self { to: 0, kind: u32::MAX, stack: NONE };

    fn kind_of(to: Address, generation: u32) -> u32 {
        let context = match to.context {
            Context::User => 0,
            Context::Kernel => 1,
            Context::Elsewhere => 2,
            Context::JavaScript => 3,
            Context::Cut => 4,
        };
        generation << 3 | context
    }
}

impl Stacks {
    /// The stack of a call to an address. Most calls repeat the one before, and cost one comparison.
    fn call(
        &mut self,
        parent: u32,
        to: Address,
        generation: u32,
        frame: impl FnOnce(Address) -> u32,
    ) -> u32 {
        let slot = parent.wrapping_add(1) as usize;
        let kind = Call::kind_of(to, generation);
        if let Some(guess) = self.last_called.get(slot)
            && guess.to == to.value
            && guess.kind == kind
        {
            return guess.stack;
        }
        let (call, logical) = (CallKind::Call, NONE);
        let stack = self.id(RawStack { parent, frame: frame(to), call, logical });
        self.last_called.resize(self.rows.len() + 1, Call::NONE);
        self.last_called[slot] = Call { to: to.value, kind, stack };
        stack
    }

    pub(crate) fn id(&mut self, row: RawStack) -> u32 {
        let hash = FxBuildHasher.hash_one(row);
        if let Some((_, id)) = self.index.find(hash, |(known, _)| *known == row) {
            return *id;
        }
        let id = self.rows.len() as u32;
        self.rows.push(row);
        self.index.insert_unique(hash, (row, id), |(row, _)| FxBuildHasher.hash_one(row));
        id
    }
}

fn find_or_push<Row>(rows: &mut Vec<Row>, index: &mut HashTable<u32>, row: Row) -> u32
where
    Row: Copy + Eq + std::hash::Hash,
{
    let hash = FxBuildHasher.hash_one(row);
    if let Some(&id) = index.find(hash, |&id| rows[id as usize] == row) {
        return id;
    }
    rows.push(row);
    let id = (rows.len() - 1) as u32;
    index.insert_unique(hash, id, |&id| FxBuildHasher.hash_one(rows[id as usize]));
    id
}

/// A thread's last call chain, and the stack at each depth from the root. Neighbouring samples share their
/// callers, so the search starts where a chain leaves the one before.
#[derive(Default)]
pub(crate) struct LastChain {
    addresses: Vec<Address>,
    stacks: Vec<u32>,
    generation: u32,
}

impl LastChain {
    /// The stack of a chain, its leaf first. Within one generation equal addresses are equal frames.
    pub(crate) fn stack(
        &mut self,
        chain: &[Address],
        generation: u32,
        stacks: &mut Stacks,
        mut frame: impl FnMut(Address) -> u32,
    ) -> u32 {
        let pairs = chain.iter().rev().zip(self.addresses.iter().rev());
        let same = self.generation == generation;
        let shared = if same { pairs.take_while(|(a, b)| a == b).count() } else { 0 };
        self.stacks.truncate(shared);
        let mut stack = self.stacks.last().copied().unwrap_or(NONE);
        for address in chain[..chain.len() - shared].iter().rev() {
            stack = stacks.call(stack, *address, generation, &mut frame);
            self.stacks.push(stack);
        }
        self.generation = generation;
        self.addresses.clear();
        self.addresses.extend_from_slice(chain);
        stack
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_share_their_roots() {
        let (mut stacks, mut last) = (Stacks::default(), LastChain::default());
        let mut stack = |values: &[u64], generation| {
            let chain: Vec<Address> = values
                .iter()
                .map(|value| Address { value: *value, context: Context::User })
                .collect();
            last.stack(&chain, generation, &mut stacks, |address| {
                address.value as u32 + generation * 100
            })
        };
        assert_eq!(stack(&[3, 2, 1], 0), 2);
        assert_eq!(stack(&[4, 2, 1], 0), 3);
        assert_eq!(stack(&[3, 2, 1], 0), 2);
        assert_eq!(stack(&[2, 1], 0), 1);
        assert_eq!(stack(&[], 0), NONE);
        assert_eq!(stack(&[2, 1], 0), 1);
        assert_eq!(stack(&[2, 1], 1), 5); // other frames now
        assert_eq!(stacks.rows.len(), 6);
    }
}
