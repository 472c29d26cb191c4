//! Stacks as their program means them: a function that runs after an `await` stands under what awaits it, not under
//! V8's queue of microtasks. Where that was read too late, it stands under what awaited the same function in other
//! samples of the recording, in the same proportions, and the row is marked as inferred.

use profile::{AwaitCounts, CallKind};
use rustc_hash::FxHashMap;
use trace::{AwaitEnd, Awaits};

use crate::javascript::NameOfFrame;
use crate::namer::Namer;
use crate::places::Place;
use crate::stacks::{NONE, RawFrame, RawStack, Stacks};

/// What was seen of awaits so far.
#[derive(Default)]
pub(crate) struct SeenAwaits {
    /// For each function what awaited it.
    functions: FxHashMap<u32, Awaited>,
    pub(crate) counts: AwaitCounts,
}

/// What awaited a function.
#[derive(Default)]
struct Awaited {
    chains: Vec<Chain>,
    /// How often one was read, and how often one was inferred.
    read: u64,
    inferred: u64,
    /// How often one that was read was looked at again, and how often it was gone.
    checked: u64,
    gone: u64,
}

/// A chain of callers.
struct Chain {
    /// The stack of the caller, or none where nothing awaits the function.
    parent: u32,
    read: u64,
    inferred: u64,
    /// The samples without callers that those of this chain stand for, in thousandths.
    stands_for: u64,
}

/// Callers are inferred from at least this many chains; in proportion to what they stand for, where as many show that.
const FEWEST_CHAINS: u64 = 5;

/// What was looked at again so often shows how many may be inferred: so many times what it stands for, because those
/// that were lost are mostly the ones that waited longer to be read, and so many more. The rest has callers of which
/// not one was read.
const ENOUGH_CHECKED: u64 = 20;
const AT_MOST_TIMES: u64 = 4;
const MORE: u64 = 20;

/// More functions that await, and more chains of one, than programs have.
const MOST_FUNCTIONS: usize = 1 << 16;
const MOST_CHAINS: usize = 1 << 8;

/// A stack whose outermost frames V8's queue of microtasks has begun.
pub(crate) struct Resumed<'a> {
    /// The frames that run since the `await`, the innermost first.
    pub(crate) frames: &'a [u32],
    /// The function of the outermost of them, where it is known.
    pub(crate) function: Option<u32>,
    /// The frames of what awaits them, the innermost first.
    pub(crate) awaiters: &'a [u32],
    pub(crate) end: AwaitEnd,
    /// How many samples without callers it stands for, in thousandths, where that is known.
    pub(crate) stands_for: Option<u32>,
}

impl SeenAwaits {
    /// The stack as the program means it; none where nothing was resumed.
    pub(crate) fn logical(&mut self, resumed: &Resumed<'_>, stacks: &mut Stacks) -> u32 {
        let (parent, call) = self.parent(resumed, stacks);
        let mut stack = parent;
        for (at, frame) in resumed.frames.iter().rev().enumerate() {
            let call = if at == 0 { call } else { CallKind::Call };
            stack = stacks.id(RawStack { parent: stack, frame: *frame, call, logical: NONE });
        }
        stack
    }

    /// What awaits the resumed frames, and how that is known.
    fn parent(&mut self, resumed: &Resumed<'_>, stacks: &mut Stacks) -> (u32, CallKind) {
        if resumed.end.is_loss() && resumed.awaiters.is_empty() {
            let inferred = resumed.function.and_then(|function| self.infer(function));
            self.count(resumed.end, inferred.is_some());
            return match inferred {
                Some(NONE) => (NONE, CallKind::Call),
                Some(parent) => (parent, CallKind::InferredAwait),
                None => (NONE, CallKind::UnknownAwait),
            };
        }
        match resumed.end.is_loss() {
            true => self.counts.cut += 1,
            false => self.counts.read += 1,
        }
        let mut call = if resumed.end.is_loss() { CallKind::UnknownAwait } else { CallKind::Call };
        let mut parent = NONE;
        for frame in resumed.awaiters.iter().rev() {
            parent = stacks.id(RawStack { parent, frame: *frame, call, logical: NONE });
            call = CallKind::Await;
        }
        if let Some(function) = resumed.function {
            self.learn(function, parent, resumed.stands_for);
        }
        (parent, call)
    }

    fn count(&mut self, end: AwaitEnd, is_inferred: bool) {
        let counts = &mut self.counts;
        let sum = match end {
            _ if is_inferred => &mut counts.inferred,
            AwaitEnd::Late => &mut counts.late,
            _ => &mut counts.unread,
        };
        *sum += 1;
    }

    fn learn(&mut self, function: u32, parent: u32, stands_for: Option<u32>) {
        if self.functions.len() >= MOST_FUNCTIONS && !self.functions.contains_key(&function) {
            return;
        }
        let awaited = self.functions.entry(function).or_default();
        awaited.read += 1;
        awaited.checked += u64::from(stands_for.is_some());
        let stands_for = u64::from(stands_for.unwrap_or(0));
        awaited.gone += u64::from(stands_for > 0);
        if let Some(chain) = awaited.chains.iter_mut().find(|chain| chain.parent == parent) {
            chain.read += 1;
            chain.stands_for += stands_for;
        } else if awaited.chains.len() < MOST_CHAINS {
            awaited.chains.push(Chain { parent, read: 1, inferred: 0, stands_for });
        }
    }

    /// The chain that lacks most of its share: in the end each has its share of what was lost, as far as that is known,
    /// else of what was read.
    fn infer(&mut self, function: u32) -> Option<u32> {
        let awaited = self.functions.get_mut(&function)?;
        if awaited.read < FEWEST_CHAINS || awaited.has_inferred_enough() {
            return None;
        }
        let shows_losses = awaited.gone >= FEWEST_CHAINS;
        let part =
            |chain: &Chain| i128::from(if shows_losses { chain.stands_for } else { chain.read });
        let all: i128 = awaited.chains.iter().map(part).sum();
        let next = i128::from(awaited.inferred) + 1;
        let lacks = |chain: &&mut Chain| part(chain) * next - i128::from(chain.inferred) * all;
        let chain = awaited.chains.iter_mut().max_by_key(lacks)?;
        chain.inferred += 1;
        awaited.inferred += 1;
        Some(chain.parent)
    }
}

impl Awaited {
    /// Whether more was lost than the chains that are known can have lost.
    fn has_inferred_enough(&self) -> bool {
        let thousandths: u64 = self.chains.iter().map(|chain| chain.stands_for).sum();
        let most = (AT_MOST_TIMES * thousandths / 1000).saturating_add(MORE);
        // Runs that are nearly all gone at the second look may be so short that any number was lost.
        let is_enough = self.checked >= ENOUGH_CHECKED && self.gone * 5 < self.checked * 4;
        is_enough && self.inferred >= most
    }
}

impl Namer {
    /// A stack that knows what awaits it.
    pub(crate) fn with_awaits(
        &mut self,
        stack: u32,
        awaits: Option<Awaits<'_>>,
        process: u32,
    ) -> u32 {
        let Self { world, frames, stacks, javascript, .. } = self;
        let Some((awaits, row)) = awaits.zip(stacks.rows.get(stack as usize).copied()) else {
            return stack;
        };
        let place = world.places.id(Place::JavaScript);
        let awaiters = awaits.awaiters.iter();
        let mut frame = |row: &u32| frames.id(RawFrame { place, address: (*row).into() }, process);
        let awaiters: Vec<u32> = awaiters.map(&mut frame).collect();
        let rows =
            std::iter::successors(Some(row), |row| stacks.rows.get(row.parent as usize).copied());
        let resumed: Vec<u32> =
            rows.take(awaits.resumed as usize).map(|row: RawStack| row.frame).collect();
        let Some(outermost) = resumed.last().and_then(|frame| frames.rows.get(*frame as usize))
        else {
            return stack;
        };
        let function = match javascript.frame(outermost.address).map(|frame| &frame.name) {
            Some(NameOfFrame::Function(row, _)) if outermost.place == place => Some(*row),
            _ => None,
        };
        let resumed = Resumed {
            frames: &resumed,
            function,
            awaiters: &awaiters,
            end: awaits.end,
            stands_for: awaits.stands_for,
        };
        let logical = self.awaits.logical(&resumed, &mut self.stacks);
        self.stacks.id(RawStack { logical, ..row })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resumed(awaiters: &[u32], end: AwaitEnd) -> Resumed<'_> {
        Resumed { frames: &[1, 2], function: Some(7), awaiters, end, stands_for: None }
    }

    /// The frames of a stack, the innermost first, and how each came to be under the next.
    fn frames(stacks: &Stacks, mut stack: u32) -> Vec<(u32, CallKind)> {
        let mut frames = Vec::new();
        while let Some(row) = stacks.rows.get(stack as usize) {
            frames.push((row.frame, row.call));
            stack = row.parent;
        }
        frames
    }

    #[test]
    fn callers_stand_above_what_they_await() {
        use CallKind::{Await, Call};
        let (mut seen, mut stacks) = (SeenAwaits::default(), Stacks::default());
        let stack = seen.logical(&resumed(&[3, 4], AwaitEnd::Root), &mut stacks);
        assert_eq!(frames(&stacks, stack), [(1, Call), (2, Await), (3, Await), (4, Call)]);
        let alone = seen.logical(&resumed(&[], AwaitEnd::Root), &mut stacks);
        assert_eq!(frames(&stacks, alone), [(1, Call), (2, Call)]);
        let cut = seen.logical(&resumed(&[3], AwaitEnd::TooLong), &mut stacks);
        let unknown = CallKind::UnknownAwait;
        assert_eq!(frames(&stacks, cut), [(1, Call), (2, Await), (3, unknown)]);
        assert_eq!((seen.counts.read, seen.counts.cut), (2, 1));
    }

    #[test]
    fn what_was_lost_is_shared_out_as_what_was_read() {
        let (mut seen, mut stacks) = (SeenAwaits::default(), Stacks::default());
        let lost = seen.logical(&resumed(&[], AwaitEnd::Late), &mut stacks);
        assert_eq!(frames(&stacks, lost).last(), Some(&(2, CallKind::UnknownAwait)));
        for caller in [3, 3, 3, 4] {
            seen.logical(&resumed(&[caller], AwaitEnd::Root), &mut stacks);
        }
        let few = seen.logical(&resumed(&[], AwaitEnd::Late), &mut stacks);
        assert_eq!(few, lost, "four chains are too few");
        seen.logical(&resumed(&[4], AwaitEnd::Root), &mut stacks);
        let mut callers = Vec::new();
        for _ in 0..10 {
            let stack = seen.logical(&resumed(&[], AwaitEnd::Late), &mut stacks);
            let frames = frames(&stacks, stack);
            assert_eq!(frames[1], (2, CallKind::InferredAwait));
            callers.push(frames[2].0);
        }
        let count = |caller: u32| callers.iter().filter(|found| **found == caller).count();
        assert_eq!((count(3), count(4)), (6, 4));
        assert_eq!((seen.counts.inferred, seen.counts.late, seen.counts.read), (10, 2, 5));
        let other = Resumed { function: Some(8), ..resumed(&[], AwaitEnd::Unread) };
        seen.logical(&other, &mut stacks);
        assert_eq!(seen.counts.unread, 1, "another function");
    }

    #[test]
    fn what_was_lost_goes_to_those_that_stand_for_it() {
        let (mut seen, mut stacks) = (SeenAwaits::default(), Stacks::default());
        // Caller 3 has long runs and is read nearly always, caller 4 short ones that end soon after they were read.
        for _ in 0..20 {
            let there = Resumed { stands_for: Some(0), ..resumed(&[3], AwaitEnd::Root) };
            seen.logical(&there, &mut stacks);
        }
        for caller in [4, 4, 4, 4, 3] {
            let callers = [caller];
            let gone = Resumed { stands_for: Some(1000), ..resumed(&callers, AwaitEnd::Root) };
            seen.logical(&gone, &mut stacks);
        }
        let mut callers = Vec::new();
        for _ in 0..10 {
            let stack = seen.logical(&resumed(&[], AwaitEnd::Late), &mut stacks);
            callers.push(frames(&stacks, stack)[2].0);
        }
        let count = |caller: u32| callers.iter().filter(|found| **found == caller).count();
        assert_eq!((count(3), count(4)), (2, 8));
        for _ in 0..100 {
            seen.logical(&resumed(&[], AwaitEnd::Late), &mut stacks);
        }
        // The others were lost of callers that are not known.
        assert_eq!((seen.counts.inferred, seen.counts.late), (5 * 4 + 20, 70));
    }
}
