//! The frames of a stack, from registers and a copy of the stack: V8's code and official builds of Node keep frame
//! pointers, so each frame has where its caller's is. Only the innermost frame is special: its code may not have made
//! a frame yet, may have taken it down, or may never make one.
//!
//! ```text
//!        before push rbp         after push rbp          after mov rbp, rsp
//!        after pop rbp
//! rsp →  caller's pc      rsp →  caller's rbp     rsp →  …
//!                                caller's pc      rbp →  caller's rbp
//!                                                        caller's pc
//! ```

use crate::machine::MACHINE;
use crate::memory::Stack;

/// What stands at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Code that V8 made at run time.
    Generated,
    /// V8's builtins inside of the binary (or their copy near the generated code). Where a stripped binary does not
    /// distinguish them from other code, all of its code may be called so.
    Builtin,
    /// Other code.
    Native,
    /// No code.
    Unmapped,
}

/// One frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The instruction that runs, or to which the callee will return.
    pub pc: u64,
    /// The frame pointer; `None` while the function has no frame.
    pub fp: Option<u64>,
    /// Whether `pc` is behind a call.
    pub is_return_address: bool,
    /// What stands at `pc`.
    pub kind: Kind,
}

impl Frame {
    /// An address inside of the instruction that runs or calls.
    pub fn instruction(&self) -> u64 {
        self.pc - u64::from(self.is_return_address && self.pc > 0)
    }
}

/// Where to begin: the registers of a thread, or a caller that another unwinder has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// The instruction.
    pub pc: u64,
    /// The stack pointer.
    pub sp: u64,
    /// The frame pointer.
    pub fp: u64,
    /// Whether `pc` is behind a call, as it is when another unwinder hands over.
    pub is_return_address: bool,
}

/// More frames than a stack of the usual size has.
const MOST_FRAMES: usize = 1 << 12;

/// How far the innermost function is with its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaf {
    /// The frame pointer is its own.
    Framed,
    /// The frame pointer is still or again the caller's, and the stack pointer leads to the caller's pc.
    Called,
    /// The frame pointer is the caller's, and was just pushed.
    Pushed,
    /// Neither the function nor its caller has a frame: the first thing that baseline code does is to call a builtin
    /// that makes its frame.
    CalledTwice,
    /// The function has no frame, and its caller's pc is nowhere to be seen.
    Lost,
}

/// The frames of a stack, the innermost first. A stale word may look like a caller's pc, so only
/// [`crate::Reader::walk`] can find out what the innermost frame is; this function believes what it gets.
pub fn walk(
    start: Start,
    leaf: Leaf,
    stack: &Stack<'_>,
    kind_at: &dyn Fn(u64) -> Kind,
) -> Vec<Frame> {
    let mut frames = Vec::new();
    let mut frame = start.frame(kind_at);
    let word = |distance: i64| stack.word_near(start.sp, distance);
    let callers = match leaf {
        Leaf::Framed => [None, None],
        Leaf::Called => [word(0), None],
        Leaf::Pushed => [word(MACHINE.word as i64), None],
        Leaf::CalledTwice => [word(0), word(MACHINE.word as i64)],
        Leaf::Lost => {
            frames.push(Frame { fp: None, ..frame });
            let Some(caller) = caller(frame, stack, kind_at) else { return frames };
            frame = caller;
            [None, None]
        }
    };
    for pc in callers.into_iter().flatten() {
        frames.push(Frame { fp: None, ..frame });
        let kind = kind_at(pc.saturating_sub(1));
        frame = Frame { pc, fp: Some(start.fp), is_return_address: true, kind };
    }
    while frames.len() < MOST_FRAMES {
        frames.push(frame);
        let Some(caller) = caller(frame, stack, kind_at) else { break };
        frame = caller;
    }
    frames
}

impl Start {
    /// The innermost frame, as if it had one.
    pub(crate) fn frame(self, kind_at: &dyn Fn(u64) -> Kind) -> Frame {
        let Self { pc, fp, is_return_address, .. } = self;
        let kind = kind_at(pc - u64::from(is_return_address && pc > 0));
        Frame { pc, fp: Some(fp), is_return_address, kind }
    }
}

fn caller(frame: Frame, stack: &Stack<'_>, kind_at: &dyn Fn(u64) -> Kind) -> Option<Frame> {
    let fp = frame.fp?;
    if !fp.is_multiple_of(MACHINE.word) {
        return None;
    }
    let (above, pc) = (stack.word(fp)?, stack.word_near(fp, MACHINE.caller_pc)?);
    let kind = kind_at(pc.checked_sub(1)?);
    if kind == Kind::Unmapped {
        return None;
    }
    // Stacks grow down: a caller's frame lies above, or the chain ends with this caller.
    let fp = Some(above).filter(|above| *above > fp);
    Some(Frame { pc, fp, is_return_address: true, kind })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: u64 = 0x7000;

    fn stack(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn kind_at(address: u64) -> Kind {
        match address {
            0x100..0x200 => Kind::Generated,
            0x200..0x300 => Kind::Builtin,
            0x300..0x400 => Kind::Native,
            _ => Kind::Unmapped,
        }
    }

    fn pcs(start: Start, leaf: Leaf, words: &[u64]) -> Vec<(u64, Option<u64>)> {
        let bytes = stack(words);
        let frames = walk(start, leaf, &Stack::new(BASE, &bytes), &kind_at);
        frames.iter().map(|frame| (frame.pc, frame.fp)).collect()
    }

    fn start(pc: u64, fp: u64) -> Start {
        Start { pc, sp: BASE, fp, is_return_address: false }
    }

    #[test]
    fn frame_pointers_are_followed_to_the_end() {
        let words = [5, 6, BASE + 40, 0x210, 7, 0, 0x310];
        let found = pcs(start(0x110, BASE + 16), Leaf::Framed, &words);
        assert_eq!(found, [(0x110, Some(BASE + 16)), (0x210, Some(BASE + 40)), (0x310, None)]);
    }

    #[test]
    fn a_function_without_a_frame_is_a_frame_of_its_own() {
        let begin = start(0x110, BASE + 16);
        let expected = [(0x110, None), (0x111, Some(BASE + 16)), (0x310, None)];
        assert_eq!(pcs(begin, Leaf::Called, &[0x111, 6, 0, 0x310]), expected);
        assert_eq!(pcs(begin, Leaf::Pushed, &[BASE + 16, 0x111, 0, 0x310]), expected);
        let twice = pcs(begin, Leaf::CalledTwice, &[0x111, 0x121, 0, 0x310]);
        assert_eq!(twice, [(0x110, None), (0x111, None), (0x121, Some(BASE + 16)), (0x310, None)]);
        assert_eq!(pcs(begin, Leaf::Lost, &[5, 6, 0, 0x310]), [(0x110, None), (0x310, None)]);
    }

    #[test]
    fn cycles_and_holes_end_the_walk() {
        let count = |fp, words: &[u64]| pcs(start(0x110, fp), Leaf::Framed, words).len();
        assert_eq!(count(BASE + 8, &[0, BASE + 8, 0x210]), 2);
        assert_eq!(count(BASE + 8, &[0, BASE + 4, 0x210]), 2);
        assert_eq!(count(BASE + 8, &[0, BASE + 16, 0x510]), 1);
        assert_eq!(count(BASE + 1, &[0, BASE + 16, 0x510]), 1);
        assert_eq!(count(u64::MAX, &[]), 1);
        for leaf in [Leaf::Called, Leaf::Pushed, Leaf::CalledTwice, Leaf::Lost] {
            assert_eq!(pcs(start(0, 0), leaf, &[]).len(), 1, "{leaf:?}");
        }
    }

    #[test]
    fn what_another_unwinder_found_is_taken_as_it_is() {
        let handed = Start { is_return_address: true, ..start(0x111, BASE + 16) };
        let frames = pcs(handed, Leaf::Framed, &[0x120, 0, 0, 0x310]);
        assert_eq!(frames, [(0x111, Some(BASE + 16)), (0x310, None)]);
    }
}
