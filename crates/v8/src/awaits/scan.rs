//! The generators of async functions in a piece of memory, wherever they stand. A generator is recognised in three
//! steps: its words have the shape of a suspended one, its map shows what it is, and it does not stand in what V8 has
//! freed. Freed memory keeps what was in it until it is used again.

use std::ops::Range;

use super::Chain;
use crate::heap::{Heap, Object, small_integer, untagged};
use crate::memory::Memory;

/// V8's pages begin at multiples of this, and no generator stands on two.
pub(super) const PAGE: u64 = 256 << 10;

/// The maps of V8's own kinds of objects stand together: so far apart at most.
const MAPS_APART: u64 = 256 << 10;

/// The bytes of one piece of a page.
pub(super) struct Piece {
    start: u64,
    words: Vec<u64>,
}

impl Piece {
    /// What stands in a range, unless it cannot be read.
    pub(super) fn read(
        memory: &dyn Memory,
        range: &Range<u64>,
        bytes: &mut Vec<u8>,
    ) -> Option<Self> {
        bytes.resize(usize::try_from(range.end.checked_sub(range.start)?).ok()?, 0);
        memory.read(range.start, bytes).ok()?;
        let words = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
        Some(Self { start: range.start, words: words.collect() })
    }

    fn address(&self, at: usize) -> u64 {
        self.start + 8 * at as u64
    }
}

/// The part of each page that a range of memory has.
pub(super) fn pages(range: Range<u64>) -> impl Iterator<Item = Range<u64>> {
    let first = range.start / PAGE;
    let last = range.end.div_ceil(PAGE);
    (first..last).filter_map(move |page| {
        let (start, end) = (page.checked_mul(PAGE)?, page.checked_add(1)?.checked_mul(PAGE)?);
        let (start, end) = (start.max(range.start).next_multiple_of(8), end.min(range.end));
        (start < end).then_some(start..end)
    })
}

impl Chain<'_> {
    /// The generators in a piece that may be suspended.
    pub(super) fn generators(&mut self, piece: &Piece) -> Vec<Object> {
        let mut found = Vec::new();
        for at in self.with_shape(piece) {
            let is_generator = piece.words.get(at).and_then(|map| self.heap().kind_of_map(*map));
            let kinds = [self.layout.async_function, self.layout.async_generator];
            if let Some(kind) = is_generator.filter(|kind| kinds.contains(kind)) {
                found.push(Object { address: piece.address(at), kind });
            }
        }
        if let Some(first) = found.first() {
            let freed = self.freed(piece, *first);
            found.retain(|object| !freed.iter().any(|range| range.contains(&object.address)));
        }
        found
    }

    /// Where words stand as in a suspended generator: references and small integers in the right places.
    fn with_shape(&self, piece: &Piece) -> Vec<usize> {
        let at = &self.layout.at;
        let row = |offset: u64| (offset / 8) as usize;
        let (function, promise) = (row(at.generator_function), row(at.async_function_promise));
        let (position, continuation) = (row(at.generator_position), row(at.generator_continuation));
        let is_reference = |word: u64| word & 3 == 1 && untagged(word).is_some();
        let is_count = |word: u64| small_integer(word).is_some_and(|number| number >= 0);
        let fits = |words: &[u64]| {
            is_count(words[continuation])
                && is_count(words[position])
                && [0, function, promise].iter().all(|row| is_reference(words[*row]))
        };
        let windows = piece.words.windows(promise + 1).enumerate();
        windows.filter(|(_, words)| fits(words)).map(|(at, _)| at).collect()
    }

    /// The parts of a piece that V8 has freed. V8's own kinds of maps are recognised by one of them, that of the code
    /// of a generator's function.
    fn freed(&mut self, piece: &Piece, generator: Object) -> Vec<Range<u64>> {
        let offset = self.layout.at.generator_function;
        let kind = self.layout.free_space;
        let mut heap = self.heap();
        let function = heap.word(generator.address + offset);
        let shared = function.and_then(|function| heap.shared_of_function(function));
        let Ok(near) = shared.and_then(|shared| heap.word(shared.address)) else {
            return Vec::new();
        };
        let size_at = |at: usize| {
            let [map, size, ..] = piece.words[at..] else { return None };
            let size = small_integer(size).and_then(|size| usize::try_from(size).ok())?;
            let is_free = map.abs_diff(near) < MAPS_APART && heap.kind_of_map(map) == Some(kind);
            is_free.then_some((at, size))
        };
        let parts: Vec<(usize, usize)> = (0..piece.words.len()).filter_map(size_at).collect();
        let mut ends = |bytes_a_unit: usize| -> Vec<Range<u64>> {
            let end = |part: &(usize, usize)| end_of_free(&mut heap, piece, *part, bytes_a_unit);
            parts.iter().filter_map(end).collect()
        };
        let (by_bytes, by_words) = (ends(1), ends(8));
        // In the right unit all of them lead to an object; in the other some do, by chance. No function is better than
        // a dead one, so the larger parts win where both do.
        if by_bytes.len() > by_words.len() { by_bytes } else { by_words }
    }
}

/// A free part whose size is given in bytes or, since some version of Node 24, in words: behind it stands an object, or
/// the page ends.
fn end_of_free(
    heap: &mut Heap<'_>,
    piece: &Piece,
    (at, size): (usize, usize),
    bytes_a_unit: usize,
) -> Option<Range<u64>> {
    let end = at.checked_add(size.checked_mul(bytes_a_unit)? / 8).filter(|end| *end > at)?;
    let is_end = match piece.words.get(end) {
        Some(map) => heap.kind_of_map(*map).is_some(),
        None => end == piece.words.len(),
    };
    is_end.then(|| piece.address(at)..piece.address(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cut_at_pages() {
        let parts: Vec<Range<u64>> = pages(PAGE - 16..2 * PAGE + 8).collect();
        assert_eq!(parts, [PAGE - 16..PAGE, PAGE..2 * PAGE, 2 * PAGE..2 * PAGE + 8]);
        assert_eq!(pages(5..5).count(), 0);
        assert_eq!(pages(u64::MAX - 7..u64::MAX).count(), 0);
    }
}
