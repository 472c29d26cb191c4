//! Strings of every shape that V8 has: flat, concatenated, sliced, external, thin; of one or two bytes a character.
//! Lengths and depths are bounded, because a string that moved may look like anything.

use crate::heap::{Heap, Object, small_integer, untagged};
use crate::reason::Reason;

/// The characters of a string, in V8's own two forms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Text {
    /// Latin-1.
    One(Vec<u8>),
    /// UTF-16.
    Two(Vec<u16>),
}

/// The characters that a name may have: longer ones are cut.
pub(crate) const LONGEST_NAME: usize = 1 << 16;

/// Concatenated strings are trees: at most this many nodes are read. The longest name has as many when it was made by
/// `repeat`, whose leaves have 7 characters or more.
const MOST_NODES: usize = 1 << 15;

const LENGTH: u64 = 12;
/// Characters of a flat string; the first part, the parent, the actual string.
const FIRST: u64 = 16;
/// The second part; the offset; the data of an external string.
const SECOND: u64 = 24;

/// Bits of a string's instance type.
const SHAPE: u16 = 7;
const ONE_BYTE: u16 = 8;
const UNCACHED: u16 = 16;

/// A part of a string that is still to be read.
struct Part {
    reference: u64,
    start: usize,
    end: usize,
}

impl Text {
    fn push_one(&mut self, bytes: &[u8]) {
        match self {
            Self::One(text) => text.extend_from_slice(bytes),
            Self::Two(text) => text.extend(bytes.iter().map(|byte| u16::from(*byte))),
        }
    }

    fn push_two(&mut self, bytes: &[u8]) {
        if let Self::One(text) = self {
            *self = Self::Two(text.iter().map(|byte| u16::from(*byte)).collect());
        }
        if let Self::Two(text) = self {
            text.extend(bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])));
        }
    }
}

impl std::fmt::Display for Text {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        use std::fmt::Write;
        match self {
            Self::One(text) => text.iter().try_for_each(|byte| out.write_char(char::from(*byte))),
            Self::Two(text) => out.write_str(&String::from_utf16_lossy(text)),
        }
    }
}

impl Heap<'_> {
    /// Whether an object is a string.
    pub(crate) fn is_string(&self, object: Object) -> bool {
        object.kind < self.layout.types.first_nonstring
    }

    /// A name, cut at a sensible length.
    pub(crate) fn name(&mut self, reference: u64) -> Result<String, Reason> {
        Ok(self.text(reference, LONGEST_NAME)?.to_string())
    }

    /// The first `most` characters of a string.
    pub(crate) fn text(&mut self, reference: u64, most: usize) -> Result<Text, Reason> {
        let mut text = Text::One(Vec::new());
        let mut rest = vec![Part { reference, start: 0, end: most }];
        for _ in 0..MOST_NODES {
            let Some(part) = rest.pop() else { return Ok(text) };
            self.visit(&part, &mut rest, &mut text)?;
        }
        Err(Reason::TooLarge)
    }

    /// The text of a script, unless it is longer than `most`.
    pub(crate) fn source_text(&mut self, reference: u64, most: usize) -> Result<Text, Reason> {
        let address = untagged(reference).ok_or(Reason::WrongType)?;
        let is_promoted_now = self.word(address)? == address;
        if !is_promoted_now {
            let string = self.object(reference)?;
            if !self.is_string(string) {
                return Err(Reason::WrongType);
            }
        }
        let length = self.half(address + LENGTH)? as usize;
        if length > most {
            return Err(Reason::TooLarge);
        }
        if is_promoted_now {
            self.promoted_text(address, length)
        } else {
            self.text(reference, most)
        }
    }

    /// A large young object does not move when V8 collects: until that is over, its map's place has its own address.
    /// The source of a script is a string all the same, and only flat ones are large. Which of the two forms it has
    /// shows in its bytes: every text of two bytes a character has spaces or line ends, which have a zero byte.
    fn promoted_text(&mut self, address: u64, length: usize) -> Result<Text, Reason> {
        let mut text = Text::One(Vec::new());
        self.copy(ONE_BYTE, address + FIRST, (0, length), &mut text)?;
        if matches!(&text, Text::One(bytes) if bytes.contains(&0)) {
            text = Text::One(Vec::new());
            self.copy(0, address + FIRST, (0, length), &mut text)?;
        }
        Ok(text)
    }

    /// How long a string is.
    pub(crate) fn string_length(&mut self, string: Object) -> Result<usize, Reason> {
        Ok(self.half(string.address + LENGTH)? as usize)
    }

    fn visit(&mut self, part: &Part, rest: &mut Vec<Part>, text: &mut Text) -> Result<(), Reason> {
        let string = self.object(part.reference)?;
        if !self.is_string(string) {
            return Err(Reason::WrongType);
        }
        let length = self.string_length(string)?;
        let (start, end) = (part.start.min(length), part.end.min(length));
        if start >= end {
            return Ok(());
        }
        let first = string.address + FIRST;
        match string.kind & SHAPE {
            0 => self.copy(string.kind, first, (start, end), text),
            1 => {
                let (reference, second) = (self.word(first)?, self.word(string.address + SECOND)?);
                let left = untagged(reference).ok_or(Reason::WrongType)? | 1;
                let left = self.object(left)?;
                let middle = self.string_length(left)?;
                if middle > length {
                    return Err(Reason::WrongType);
                }
                let (from, to) = (start.saturating_sub(middle), end.saturating_sub(middle));
                rest.push(Part { reference: second, start: from, end: to });
                rest.push(Part { reference, start, end: end.min(middle) });
                Ok(())
            }
            2 if string.kind & UNCACHED == 0 => {
                let data = self.word(string.address + SECOND)?;
                self.copy(string.kind, data, (start, end), text)
            }
            3 => {
                let offset =
                    small_integer(self.word(string.address + SECOND)?).ok_or(Reason::WrongType)?;
                let offset = usize::try_from(offset).map_err(|_| Reason::WrongType)?;
                let reference = self.word(first)?;
                rest.push(Part { reference, start: start + offset, end: end + offset });
                Ok(())
            }
            5 => {
                rest.push(Part { reference: self.word(first)?, start, end });
                Ok(())
            }
            _ => Err(Reason::WrongType),
        }
    }

    /// Appends characters that stand one after the other.
    fn copy(
        &mut self,
        kind: u16,
        data: u64,
        range: (usize, usize),
        text: &mut Text,
    ) -> Result<(), Reason> {
        let width = if kind & ONE_BYTE != 0 { 1 } else { 2 };
        let address = data.checked_add((range.0 * width) as u64).ok_or(Reason::Unreadable)?;
        let mut left = (range.1 - range.0) * width;
        let mut chunk = vec![0; left.min(CHUNK)];
        let mut at = address;
        // Piece by piece: a length that is made up fails before much memory is taken.
        while left > 0 {
            let count = left.min(CHUNK);
            self.read(at, &mut chunk[..count])?;
            if width == 1 {
                text.push_one(&chunk[..count]);
            } else {
                text.push_two(&chunk[..count]);
            }
            at = at.checked_add(count as u64).ok_or(Reason::Unreadable)?;
            left -= count;
        }
        Ok(())
    }
}

const CHUNK: usize = 1 << 18;

#[cfg(test)]
mod tests;
