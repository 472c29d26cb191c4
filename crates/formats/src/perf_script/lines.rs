//! Every distinct line of a call chain, stored once with what it means. The same lines come again and again:
//! a caller's line nearly always follows its callee's, so each line remembers which one came next, and a
//! comparison with that guess replaces both the search for the line's end and the look-up.

use std::hash::Hasher;

use hashbrown::HashTable;
use rustc_hash::FxHasher;

/// What a line stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// A row of the reader's frames.
    Frame(u32),
    /// A row of the reader's source lines: where the frame above it stands.
    SourceLine(u32),
    /// A line that is known to say nothing.
    Nothing,
    /// Not understood.
    Unknown,
}

/// A row of [`Lines`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LineId(u32);

struct Line {
    start: usize,
    length: u32,
    follower: Option<LineId>,
    meaning: Meaning,
}

#[derive(Default)]
pub(super) struct Lines {
    text: Vec<u8>,
    lines: Vec<Line>,
    index: HashTable<u32>,
}

impl Lines {
    /// The line that followed `line` the last time, if `text` starts with it again, and its length.
    #[inline]
    pub(super) fn guess(&self, line: LineId, text: &[u8]) -> Option<(LineId, usize)> {
        let guess = self.lines[line.0 as usize].follower?;
        let known = self.text_of(guess.0);
        text.starts_with(known).then_some((guess, known.len()))
    }

    /// Remembers which line came after another.
    pub(super) fn set_follower(&mut self, line: LineId, follower: LineId) {
        self.lines[line.0 as usize].follower = Some(follower);
    }

    pub(super) fn meaning(&self, line: LineId) -> Meaning {
        self.lines[line.0 as usize].meaning
    }

    /// The row of a line with its line end; a new one gets its meaning from `read`.
    pub(super) fn find_or_insert(&mut self, text: &[u8], read: impl FnOnce(&[u8]) -> Meaning) -> LineId {
        let hash_of = hash(text);
        if let Some(&id) = self.index.find(hash_of, |&id| self.text_of(id) == text) {
            return LineId(id);
        }
        let (Ok(id), Ok(length)) = (u32::try_from(self.lines.len()), u32::try_from(text.len())) else {
            return LineId(0);
        };
        let start = self.text.len();
        self.text.extend_from_slice(text);
        self.lines.push(Line { start, length, follower: None, meaning: read(text) });
        let (all, lines) = (&self.text, &self.lines);
        self.index.insert_unique(hash_of, id, |&id| hash(slice(all, &lines[id as usize])));
        LineId(id)
    }

    fn text_of(&self, id: u32) -> &[u8] {
        slice(&self.text, &self.lines[id as usize])
    }
}

fn slice<'a>(text: &'a [u8], line: &Line) -> &'a [u8] {
    &text[line.start..line.start + line.length as usize]
}

fn hash(text: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(text);
    hasher.finish()
}
