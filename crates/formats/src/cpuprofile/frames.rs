//! Calls that V8 reports while a process is recorded, as frames of the recording. Each call becomes a frame once, and
//! all that are new in a window together: what generated code was made from takes its place there.

use std::cell::RefCell;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use hashbrown::HashTable;
use naming::alone;
use profile::{Builder, FrameId, Profile};
use rustc_hash::{FxHashSet, FxHasher};

use super::add;
use super::join::FORMAT;
use super::raw::Call;

/// A call, as a frame has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct FrameOf<'a> {
    pub(super) call: &'a Call<'a>,
    /// Whether it was compiled into its caller.
    pub(super) inlined: bool,
}

/// Gives a profile of new frames with what they were made from.
pub type Original = Rc<RefCell<dyn FnMut(Profile) -> Profile>>;

/// The frames of a process so far.
#[derive(Default)]
pub(super) struct Frames {
    known: HashTable<Known>,
    pid: Option<u32>,
    original: Option<Original>,
}

impl fmt::Debug for Frames {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Frames").field("known", &self.known.len()).finish_non_exhaustive()
    }
}

#[derive(Debug)]
struct Known {
    call: Call<'static>,
    inlined: bool,
    frame: FrameId,
}

impl Known {
    fn key(&self) -> FrameOf<'_> {
        FrameOf { call: &self.call, inlined: self.inlined }
    }
}

impl Frames {
    /// Those of a process.
    pub(super) fn new(pid: Option<u32>, original: Option<Original>) -> Self {
        Self { pid, original, ..Self::default() }
    }

    /// The frame of each call.
    pub(super) fn of(&mut self, calls: &[FrameOf<'_>], builder: &mut Builder) -> Vec<FrameId> {
        let mut seen = FxHashSet::default();
        let all = calls.iter().copied();
        let new: Vec<FrameOf<'_>> =
            all.filter(|one| self.find(one).is_none() && seen.insert(*one)).collect();
        for (one, frame) in new.iter().zip(self.add(&new, builder)) {
            let known = Known { call: one.call.owned(), inlined: one.inlined, frame };
            self.known.insert_unique(hash_of(one), known, |known| hash_of(&known.key()));
        }
        calls.iter().map(|one| self.find(one).unwrap_or_default()).collect()
    }

    /// Adds the frames of calls that are new; one for each.
    fn add(&self, new: &[FrameOf<'_>], builder: &mut Builder) -> Vec<FrameId> {
        let Some(original) = self.original.as_ref().filter(|_| !new.is_empty()) else {
            return add_all(new, builder);
        };
        let mut piece = Builder::new();
        let frames = add_all(new, &mut piece).into_iter().map(|frame| (frame, self.pid));
        let frames: Vec<_> = frames.collect();
        let piece = alone::one_by_one(piece, FORMAT, frames);
        alone::append(builder, &original.borrow_mut()(piece))
    }

    fn find(&self, one: &FrameOf<'_>) -> Option<FrameId> {
        self.known.find(hash_of(one), |known| known.key() == *one).map(|known| known.frame)
    }
}

fn add_all(new: &[FrameOf<'_>], builder: &mut Builder) -> Vec<FrameId> {
    new.iter().map(|one| add::add_live_frame(one.call, one.inlined, builder)).collect()
}

fn hash_of(one: &FrameOf<'_>) -> u64 {
    let mut hasher = FxHasher::default();
    one.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::json::Text;

    fn call(name: &'static str, url: &'static str, line: u32) -> Call<'static> {
        Call { name: Text(Cow::Borrowed(name)), url: Text(Cow::Borrowed(url)), line, column: 1 }
    }

    #[test]
    fn each_call_becomes_a_frame_once() {
        let (mut frames, mut builder) = (Frames::default(), Builder::new());
        let calls = [
            call("a", "file:///a.js", 1),
            call("a", "file:///a.js", 2),
            call("a", "file:///b.js", 1),
        ];
        let of = |inlined| calls.iter().map(move |call| FrameOf { call, inlined });
        let both: Vec<FrameOf<'_>> = of(false).chain(of(true)).collect();
        let first = frames.of(&both, &mut builder);
        let again: Vec<FrameId> =
            both.iter().flat_map(|one| frames.of(&[*one], &mut builder)).collect();
        assert_eq!(first, again);
        // One window may have a call twice, as where a function was inlined in two others.
        let late = call("late", "file:///a.js", 9);
        let found = frames.of(&[FrameOf { call: &late, inlined: true }; 2], &mut builder);
        assert_eq!((found.len(), found[0]), (2, found[1]));
        assert_eq!(builder.finish().frames().len(), 7);
    }
}
