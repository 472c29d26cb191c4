//! Stacks that are deeper than the copy that came with a sample: their outer part is read from the thread's memory, a
//! moment later. It belongs to the sample only as long as the thread has not returned that far, so it is believed only
//! where the outer half of the copy is still what stands there, before and after, and only soon after the sample. How
//! much is read is bounded, for a stack and for a second.

use rustc_hash::FxHashMap;

/// Fills the first of the bytes that are wanted from an address on, as far as there is memory, and says how many.
pub(crate) type ReadMemory<'a> = dyn Fn(u64, &mut [u8]) -> usize + 'a;

/// The copy of a stack, and when it was made.
#[derive(Clone, Copy)]
pub(crate) struct Copied<'a> {
    pub(crate) tid: u32,
    pub(crate) sp: u64,
    pub(crate) bytes: &'a [u8],
    pub(crate) time_ns: u64,
}

/// How much is read of a stack, which ends where its memory ends: V8 lets its own grow to about as much.
const MOST_OF_A_STACK: usize = 1 << 20;

/// How much is read in a second: about 25,000 frames.
const MOST_BYTES: usize = 2 << 20;
const SECOND_NS: u64 = 1_000_000_000;

/// For how long a stack that is too deep is remembered, and of how many threads.
const WHILE_SECONDS: u64 = 10;
const MOST_THREADS: usize = 1000;

/// How old a copy may be. A recursion may end and begin again meanwhile, called by another function, and look the same.
const MOST_AGE_NS: u64 = 5_000_000;

/// What must be unchanged at least.
const LEAST_EQUAL: usize = 512;

/// What was read in this second, and where reading more leads nowhere.
#[derive(Default)]
pub(crate) struct Deeper {
    second: u64,
    bytes: usize,
    /// By thread: whatever ends here or further in is too far from its root.
    too_far: FxHashMap<u32, u64>,
}

impl Deeper {
    /// The copy and what stands behind it; none where that would not be one stack.
    pub(crate) fn read(&mut self, copy: Copied<'_>, now_ns: u64, read: &ReadMemory<'_>) -> Option<Vec<u8>> {
        let tail = copy.tail()?;
        let is_spent = self.spent(now_ns) >= MOST_BYTES;
        if is_spent
            || !copy.is_fresh(now_ns)
            || self.too_far.get(&copy.tid).is_some_and(|far| copy.end() <= *far)
        {
            return None;
        }
        let start = copy.sp.checked_add((copy.bytes.len() - tail.len()) as u64)?;
        let mut now = vec![0; tail.len() + MOST_OF_A_STACK];
        let length = read(start, &mut now);
        now.truncate(length);
        self.bytes = self.bytes.saturating_add(length.saturating_sub(tail.len()));
        let behind = now.strip_prefix(tail).filter(|behind| !behind.is_empty())?;
        Some([copy.bytes, behind].concat())
    }

    /// What was read of this stack does not reach its root, so it is not tried again for a while.
    pub(crate) fn give_up(&mut self, copy: Copied<'_>) {
        let far = self.too_far.entry(copy.tid).or_default();
        *far = copy.end().max(*far);
    }

    /// What was read in this second.
    fn spent(&mut self, now_ns: u64) -> usize {
        let second = now_ns / SECOND_NS;
        if second != self.second {
            (self.second, self.bytes) = (second, 0);
            if second.is_multiple_of(WHILE_SECONDS) || self.too_far.len() > MOST_THREADS {
                self.too_far.clear();
            }
        }
        self.bytes
    }
}

impl<'a> Copied<'a> {
    /// Whether the copy is still what stands there, and it is soon enough to say so.
    pub(crate) fn holds(self, now_ns: u64, read: &ReadMemory<'_>) -> bool {
        let Some(tail) = self.tail() else { return false };
        let start = self.sp.saturating_add((self.bytes.len() - tail.len()) as u64);
        let mut now = vec![0; tail.len()];
        self.is_fresh(now_ns) && read(start, &mut now) == tail.len() && now == tail
    }

    fn end(self) -> u64 {
        self.sp.saturating_add(self.bytes.len() as u64)
    }

    fn is_fresh(self, now_ns: u64) -> bool {
        now_ns.checked_sub(self.time_ns).is_some_and(|age_ns| age_ns <= MOST_AGE_NS)
    }

    /// The outer half.
    fn tail(self) -> Option<&'a [u8]> {
        self.bytes.get(self.bytes.len() / 2..).filter(|tail| tail.len() >= LEAST_EQUAL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SP: u64 = 0x7000;
    const COPY: Copied<'static> = Copied { tid: 7, sp: SP, bytes: &[], time_ns: 1000 };

    /// Memory from [`SP`] on.
    fn memory(bytes: &[u8]) -> impl Fn(u64, &mut [u8]) -> usize {
        move |address, out| {
            let there = address.checked_sub(SP).and_then(|at| bytes.get(at as usize..)).unwrap_or_default();
            let count = there.len().min(out.len());
            out[..count].copy_from_slice(&there[..count]);
            count
        }
    }

    fn stack() -> Vec<u8> {
        (0..6000u32).map(|at| (at % 251) as u8).collect()
    }

    #[test]
    fn a_stack_goes_on_where_the_copy_is_still_there() {
        let stack = stack();
        let copy = Copied { bytes: &stack[..2048], ..COPY };
        let mut deeper = Deeper::default();
        assert_eq!(deeper.read(copy, 2000, &memory(&stack)).as_deref(), Some(&stack[..]), "to its end");
        assert!(copy.holds(2000, &memory(&stack)));
        // What the thread does further in has nothing to do with it.
        let mut changed = stack.clone();
        changed[1000] ^= 1;
        assert!(deeper.read(copy, 2000, &memory(&changed)).is_some() && copy.holds(2000, &memory(&changed)));
    }

    #[test]
    fn what_has_changed_is_another_stack() {
        let stack = stack();
        let copy = Copied { bytes: &stack[..2048], ..COPY };
        for at in [1024, 1536, 2047] {
            let mut changed = stack.clone();
            changed[at] ^= 1;
            assert_eq!(Deeper::default().read(copy, 2000, &memory(&changed)), None, "byte {at}");
            assert!(!copy.holds(2000, &memory(&changed)), "byte {at}");
        }
        assert_eq!(Deeper::default().read(copy, 2000, &memory(&stack[..2048])), None, "nothing is behind it");
        assert_eq!(Deeper::default().read(copy, 2000, &memory(&[])), None);
        let small = Copied { bytes: &stack[..1000], ..copy };
        assert_eq!(Deeper::default().read(small, 2000, &memory(&stack)), None, "512 bytes at least");
    }

    #[test]
    fn a_stack_that_is_too_deep_is_not_tried_again() {
        let stack = stack();
        let copy = Copied { bytes: &stack[..2048], ..COPY };
        let mut deeper = Deeper::default();
        deeper.give_up(copy);
        let mut is_read = |copy| deeper.read(copy, 2000, &memory(&stack)).is_some();
        assert!(!is_read(copy), "nor one that is as deep");
        assert!(is_read(Copied { tid: 8, ..copy }), "another thread");
        assert!(is_read(Copied { bytes: &stack[..4096], ..copy }), "one that is nearer to the root");
    }

    #[test]
    fn it_is_read_soon_and_not_too_much() {
        let stack = stack();
        let copy = Copied { bytes: &stack[..2048], time_ns: SECOND_NS, ..COPY };
        let read = |now_ns| Deeper::default().read(copy, now_ns, &memory(&stack)).is_some();
        assert!(read(SECOND_NS) && read(SECOND_NS + MOST_AGE_NS));
        assert!(
            !read(SECOND_NS + MOST_AGE_NS + 1) && !read(SECOND_NS - 1),
            "too late, or from another clock"
        );
        assert!(!copy.holds(SECOND_NS + MOST_AGE_NS + 1, &memory(&stack)));
        let mut deeper = Deeper::default();
        let mut more = || deeper.read(copy, SECOND_NS, &memory(&stack)).is_some();
        let times = (0..1000).filter(|_| more()).count();
        assert_eq!(times, MOST_BYTES.div_ceil(stack.len() - 2048));
        let next = Copied { time_ns: 2 * SECOND_NS, ..copy };
        assert!(deeper.read(next, 2 * SECOND_NS, &memory(&stack)).is_some(), "the next second");
    }
}
