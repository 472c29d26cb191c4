//! Scripts: their names, and the lines of their source texts. V8 knows where lines end only after code has asked;
//! before that the source text is read once.

use std::sync::Arc;

use crate::heap::{Heap, Object, small_integer};
use crate::reason::Reason;
use crate::strings::Text;

/// A script. What was read may be out of date when one of its words has changed.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    words: [u64; 4],
    /// Path or URL; `None` for code from `eval`.
    pub(crate) name: Option<Arc<str>>,
    lines: Option<Arc<Lines>>,
}

/// Where lines end, and what is added to the first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lines {
    ends: Vec<u32>,
    line_offset: u32,
    /// Negative where a tool put a wrapper in front of the text.
    column_offset: i32,
}

/// Line and column, from 1.
pub(crate) type Place = (u32, u32);

/// Longer sources are not read for their lines.
const LONGEST_SOURCE: usize = 64 << 20;

const MOST_LINES: u64 = 1 << 22;

impl Script {
    /// Reads its name.
    pub(crate) fn read(heap: &mut Heap<'_>, script: Object) -> Result<Self, Reason> {
        let words = words(heap, script)?;
        let name = heap.object(words[1]);
        // `undefined` is an object, too.
        let name = match name {
            Ok(object) if heap.is_string(object) => Some(Arc::from(heap.name(words[1])?)),
            Ok(_) => None,
            Err(reason) => return Err(reason),
        };
        Ok(Self { words, name, lines: None })
    }

    /// The number that no other script has.
    pub(crate) fn id(&self) -> u64 {
        self.words[3]
    }

    /// Whether it is still what was read.
    pub(crate) fn is_fresh(&self, heap: &mut Heap<'_>, script: Object) -> bool {
        words(heap, script).is_ok_and(|words| words == self.words)
    }

    /// Where its lines end. Absent when its source cannot be read.
    pub(crate) fn lines(&mut self, heap: &mut Heap<'_>, script: Object) -> Option<Arc<Lines>> {
        if self.lines.is_none() {
            self.lines = Lines::read(heap, script).ok().map(Arc::new);
        }
        self.lines.clone()
    }
}

/// Map, name, source, and the number that no other script has: memory is used again, and often for the same.
fn words(heap: &mut Heap<'_>, script: Object) -> Result<[u64; 4], Reason> {
    let at = &heap.layout.at;
    let (name, source, id) = (at.script_name, at.script_source, at.script_id);
    Ok([
        heap.field(script, 0)?,
        heap.field(script, name)?,
        heap.field(script, source)?,
        heap.word(script.address + id)?,
    ])
}

impl Heap<'_> {
    /// The script of the function that called `eval` or `new Function`. `None` for a script that no function made:
    /// in the same place V8 keeps the parameters of CommonJS modules.
    pub(crate) fn script_that_evaluates(
        &mut self,
        script: Object,
    ) -> Result<Option<Object>, Reason> {
        let caller = self.word(script.address + self.layout.at.script_eval_from)?;
        if small_integer(caller).is_some() {
            return Ok(None);
        }
        let caller = self.object(caller)?;
        if caller.kind != self.layout.types.shared {
            return Ok(None);
        }
        self.script_of_shared(caller)
    }
}

impl Lines {
    fn read(heap: &mut Heap<'_>, script: Object) -> Result<Self, Reason> {
        let at = &heap.layout.at;
        let (lines, columns) = (at.script_line_offset, at.script_column_offset);
        let number = |word: u64| small_integer(word).unwrap_or(0);
        let line_offset = u32::try_from(number(heap.field(script, lines)?)).unwrap_or(0);
        let column_offset = number(heap.field(script, columns)?);
        let ends = match Self::known_ends(heap, script) {
            Ok(ends) => ends,
            Err(_) => Self::ends_of_source(heap, script)?,
        };
        Ok(Self { ends, line_offset, column_offset })
    }

    /// What V8 has found out, if it has.
    fn known_ends(heap: &mut Heap<'_>, script: Object) -> Result<Vec<u32>, Reason> {
        let array = heap.field(script, heap.layout.at.script_line_ends)?;
        let array = heap.object(array)?;
        if !heap.layout.types.arrays.contains(&array.kind) {
            return Err(Reason::WrongType);
        }
        let length = heap.length(array, MOST_LINES)?;
        if length == 0 {
            return Err(Reason::WrongType);
        }
        let mut bytes = vec![0; length as usize * 8];
        heap.read(array.address + heap.layout.at.array_data, &mut bytes)?;
        let end = |word: &[u8]| {
            let word = u64::from_le_bytes(*word.first_chunk()?);
            small_integer(word).and_then(|end| u32::try_from(end).ok())
        };
        let ends: Option<Vec<u32>> = bytes.chunks_exact(8).map(end).collect();
        ends.filter(|ends| ends.is_sorted()).ok_or(Reason::WrongType)
    }

    fn ends_of_source(heap: &mut Heap<'_>, script: Object) -> Result<Vec<u32>, Reason> {
        let source = heap.field(script, heap.layout.at.script_source)?;
        Ok(match &heap.source_text(source, LONGEST_SOURCE)? {
            Text::One(text) => line_ends(text.iter().map(|byte| u16::from(*byte))),
            Text::Two(text) => line_ends(text.iter().copied()),
        })
    }

    /// The line and column of a character; `None` behind the end.
    pub(crate) fn place(&self, offset: u32) -> Option<Place> {
        let line = self.ends.partition_point(|end| *end < offset);
        if line >= self.ends.len() {
            return None;
        }
        let start = line.checked_sub(1).map_or(0, |before| self.ends[before] + 1);
        // What stands in the wrapper is where the text starts.
        let shift = if line == 0 { self.column_offset } else { 0 };
        let column = (offset - start).saturating_add_signed(shift);
        let line = u32::try_from(line).ok()?.checked_add(self.line_offset)?;
        Some((line.checked_add(1)?, column.checked_add(1)?))
    }
}

/// Where lines end, as V8 counts: a carriage return before a line feed is none, and the text's end is one.
fn line_ends(text: impl Iterator<Item = u16>) -> Vec<u32> {
    let mut ends = Vec::new();
    let mut after_return = false;
    let mut length = 0u32;
    for (at, letter) in (0u32..).zip(text) {
        if after_return && letter != LINE_FEED {
            ends.push(at - 1);
        }
        after_return = letter == CARRIAGE_RETURN;
        if matches!(letter, LINE_FEED | 0x2028 | 0x2029) {
            ends.push(at);
        }
        length = at + 1;
    }
    if after_return {
        ends.push(length - 1);
    }
    ends.push(length);
    ends
}

const LINE_FEED: u16 = 10;
const CARRIAGE_RETURN: u16 = 13;

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(text: &str) -> Vec<u32> {
        line_ends(text.encode_utf16())
    }

    #[test]
    fn lines_end_where_v8_ends_them() {
        assert_eq!(ends("a\nb\r\nc\rd\u{2028}e\u{2029}"), [1, 4, 6, 8, 10, 11]);
        assert_eq!(ends(""), [0]);
        assert_eq!(ends("a\r"), [1, 2]);
        assert_eq!(ends("a\r\r\n"), [1, 3, 4]);
    }

    #[test]
    fn places_count_from_one() {
        let mut lines = Lines { ends: ends("ab\ncd\n"), line_offset: 0, column_offset: 0 };
        assert_eq!(lines.place(0), Some((1, 1)));
        assert_eq!(lines.place(2), Some((1, 3)));
        assert_eq!(lines.place(4), Some((2, 2)));
        assert_eq!(lines.place(6), Some((3, 1)));
        assert_eq!(lines.place(7), None);
        (lines.line_offset, lines.column_offset) = (10, 5);
        assert_eq!(lines.place(0), Some((11, 6)));
        assert_eq!(lines.place(3), Some((12, 1)));
        (lines.line_offset, lines.column_offset) = (0, -2);
        assert_eq!(lines.place(0), Some((1, 1)));
        assert_eq!(lines.place(2), Some((1, 1)));
        assert_eq!(lines.place(3), Some((2, 1)));
    }
}
