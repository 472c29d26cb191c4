//! Frames that open and close, as stacks: what is open between two events is a sample. Events of real tools
//! are not always balanced; what was meant is guessed, and how often is counted.

use profile::{Builder, FrameId, StackId};
use rustc_hash::FxHashMap;
use serde::Deserialize;

/// A frame opens (`O`) or closes (`C`).
#[derive(Deserialize)]
pub(super) struct Event<'a> {
    #[serde(rename = "type", borrow, default)]
    pub(super) kind: &'a str,
    #[serde(default)]
    pub(super) at: f64,
    #[serde(default)]
    pub(super) frame: f64,
}

/// The stack that is open.
#[derive(Default)]
pub(super) struct OpenStack {
    open: Vec<(FrameId, StackId)>,
    /// How often each frame is open: one that is not needs no search.
    counts: FxHashMap<FrameId, u32>,
    /// Events that do not fit the ones before them.
    pub(super) misfits: u64,
}

impl OpenStack {
    /// The stack that is open now.
    pub(super) fn top(&self) -> StackId {
        self.open.last().map_or(StackId::NONE, |(_, stack)| *stack)
    }

    pub(super) fn open(&mut self, builder: &mut Builder, frame: FrameId) {
        let stack = builder.stack(self.top(), frame);
        self.open.push((frame, stack));
        *self.counts.entry(frame).or_default() += 1;
    }

    /// Closes a frame. One that is not on top takes along what it called; one that is not open is passed over.
    pub(super) fn close(&mut self, frame: FrameId) {
        if self.counts.get(&frame).is_none_or(|count| *count == 0) {
            self.misfits += 1;
            return;
        }
        while let Some((top, _)) = self.open.pop() {
            self.counts.entry(top).and_modify(|count| *count -= 1);
            if top == frame {
                return;
            }
            self.misfits += 1;
        }
    }

    /// How many frames were not closed.
    pub(super) fn left_open(&self) -> usize {
        self.open.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code_place::{CodePlace, frame};

    #[test]
    fn events_that_do_not_fit_are_counted() {
        let mut builder = Builder::new();
        let mut named = |name| {
            let (symbol, module, file, address) = ("", "", "", profile::NO_ADDRESS);
            let (definition, ran) = ((0, 0), (0, 0));
            let place =
                CodePlace { name, symbol, file, module, definition, ran, address, inlined: false };
            frame(&mut builder, &place)
        };
        let (a, b, c) = (named("a"), named("b"), named("c"));
        let mut stack = OpenStack::default();
        stack.close(a);
        assert_eq!((stack.misfits, stack.top()), (1, StackId::NONE));
        for frame in [a, b, c, b] {
            stack.open(&mut builder, frame);
        }
        stack.close(b);
        assert_eq!((stack.misfits, stack.left_open()), (1, 3));
        stack.close(a);
        assert_eq!((stack.misfits, stack.left_open()), (3, 0));
    }
}
