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
    /// A line that is known to have no content.
    Nothing,
    /// Not understood.
    Unknown,
}

/// A row of [`Lines`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LineId(u32);

/// Sixteen bytes: the rows of a recording must stay in a core's cache.
struct Line {
    start: u32,
    length: u32,
    /// The line that came next the last time, or [`NONE`].
    follower: u32,
    meaning: PackedMeaning,
}

const NONE: u32 = u32::MAX;
/// What a line of a Node's call chain takes, as a rule.
const LINE_BYTES: usize = 128;

/// A [`Meaning`] in four bytes: what it is in the highest two bits, the row in the others.
#[derive(Clone, Copy)]
struct PackedMeaning(u32);

impl PackedMeaning {
    const ROW_BITS: u32 = 30;
    const LARGEST_ROW: u32 = (1 << Self::ROW_BITS) - 1;

    fn new(meaning: Meaning) -> Self {
        let (kind, row) = match meaning {
            Meaning::Frame(row) => (0, row),
            Meaning::SourceLine(row) => (1, row),
            Meaning::Nothing => (2, 0),
            Meaning::Unknown => (3, 0),
        };
        Self(kind << Self::ROW_BITS | row.min(Self::LARGEST_ROW))
    }

    #[inline]
    fn get(self) -> Meaning {
        let row = self.0 & Self::LARGEST_ROW;
        match self.0 >> Self::ROW_BITS {
            0 => Meaning::Frame(row),
            1 => Meaning::SourceLine(row),
            2 => Meaning::Nothing,
            _ => Meaning::Unknown,
        }
    }
}

#[derive(Default)]
pub(super) struct Lines {
    text: Vec<u8>,
    lines: Vec<Line>,
    index: HashTable<u32>,
}

impl Lines {
    pub(super) fn with_capacity(lines: usize) -> Self {
        Self {
            text: Vec::with_capacity(lines * LINE_BYTES),
            lines: Vec::with_capacity(lines),
            index: HashTable::with_capacity(lines),
        }
    }

    /// The line that followed `line` the last time, if `text` starts with it again, and its length.
    #[inline]
    pub(super) fn guess(&self, line: LineId, text: &[u8]) -> Option<(LineId, usize)> {
        let guess = self.lines[line.0 as usize].follower;
        let known = slice(&self.text, self.lines.get(guess as usize)?);
        let start = text.get(..known.len())?;
        is_equal(start, known).then_some((LineId(guess), known.len()))
    }

    /// Remembers which line came after another.
    pub(super) fn set_follower(&mut self, line: LineId, follower: LineId) {
        self.lines[line.0 as usize].follower = follower.0;
    }

    #[inline]
    pub(super) fn meaning(&self, line: LineId) -> Meaning {
        self.lines[line.0 as usize].meaning.get()
    }

    /// The row of a line with its line end; a new one gets its meaning from `read`.
    pub(super) fn find_or_insert(
        &mut self,
        text: &[u8],
        read: impl FnOnce(&[u8]) -> Meaning,
    ) -> LineId {
        let hash_of = hash(text);
        if let Some(&id) = self.index.find(hash_of, |&id| is_equal(self.text_of(id), text)) {
            return LineId(id);
        }
        let row = |count: usize| u32::try_from(count).ok();
        let place =
            row(self.text.len() + text.len()).and(row(self.text.len())).zip(row(text.len()));
        let (Some(id), Some((start, length))) = (row(self.lines.len()), place) else {
            // More than 4 GB of distinct lines is no recording; what comes then counts as the first line.
            return LineId(0);
        };
        self.text.extend_from_slice(text);
        let meaning = PackedMeaning::new(read(text));
        self.lines.push(Line { start, length, follower: NONE, meaning });
        let (all, lines) = (&self.text, &self.lines);
        self.index.insert_unique(hash_of, id, |&id| hash(slice(all, &lines[id as usize])));
        LineId(id)
    }

    fn text_of(&self, id: u32) -> &[u8] {
        slice(&self.text, &self.lines[id as usize])
    }
}

fn slice<'a>(text: &'a [u8], line: &Line) -> &'a [u8] {
    let start = line.start as usize;
    &text[start..start + line.length as usize]
}

/// Half of the time goes into comparing lines where `==` calls musl's memcmp, which takes byte after byte. Arrays are
/// compared without a call.
fn is_equal(a: &[u8], b: &[u8]) -> bool {
    const STEP: usize = 32;
    let (Some(a_end), Some(b_end)) = (a.last_chunk::<STEP>(), b.last_chunk()) else {
        return a == b;
    };
    let steps = || a.as_chunks::<STEP>().0.iter().zip(b.as_chunks().0);
    a.len() == b.len() && steps().all(|(a, b)| a == b) && a_end == b_end
}

fn hash(text: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(text);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every length around one and two steps, and a difference at every place.
    #[test]
    fn lines_are_equal_to_the_last_byte() {
        let text: Vec<u8> = (0..100).collect();
        let again = text.clone();
        for length in 0..text.len() {
            let line = &text[..length];
            assert!(is_equal(line, &again[..length]) && !is_equal(line, &text), "{length}");
            for place in 0..length {
                let mut other = line.to_vec();
                other[place] ^= 1;
                assert!(!is_equal(line, &other), "{length}, {place}");
            }
        }
    }
}
