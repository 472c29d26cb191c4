//! The names that a WebAssembly module gives its functions, in the section `name` of its own bytes. Sections are
//! skipped without being read; everything is bounded.

use std::sync::Arc;

use crate::heap::Heap;
use crate::reason::Reason;

/// The names of a module's functions.
#[derive(Debug, Default)]
pub(super) struct FunctionNames {
    /// Sorted by index.
    names: Vec<(u32, Arc<str>)>,
}

/// What every module begins with: its magic number, and version 1.
const MAGIC: [u8; 8] = *b"\0asm\x01\0\0\0";

const CUSTOM_SECTION: u8 = 0;
const NAME_SECTION: &[u8] = b"name";
const FUNCTION_NAMES: u8 = 1;

const LONGEST_MODULE: u64 = 1 << 30;
const MOST_SECTIONS: usize = 1 << 12;
const LONGEST_NAMES: u64 = 32 << 20;

impl FunctionNames {
    /// Reads them from a module's bytes. A module without names has none; bytes that are no module are an error.
    pub(super) fn read(heap: &mut Heap<'_>, start: u64, length: u64) -> Result<Self, Reason> {
        let end = start
            .checked_add(length)
            .filter(|_| length <= LONGEST_MODULE)
            .ok_or(Reason::TooLarge)?;
        let mut magic = [0; MAGIC.len()];
        heap.read(start, &mut magic)?;
        if magic != MAGIC {
            return Err(Reason::Mismatch);
        }
        let mut at = start + MAGIC.len() as u64;
        for _ in 0..MOST_SECTIONS {
            if at >= end {
                break;
            }
            let section = Section::read(heap, at, end)?;
            if let Some(names) = section.names(heap)? {
                return Ok(Self::parse(&names));
            }
            at = section.end;
        }
        Ok(Self::default())
    }

    /// The name of a function; `None` where it has none.
    pub(super) fn get(&self, index: u32) -> Option<Arc<str>> {
        let row = self.names.binary_search_by_key(&index, |(index, _)| *index).ok()?;
        self.names.get(row).map(|(_, name)| name.clone())
    }

    /// From what stands in the section behind its own name. What is damaged ends it; what came before counts.
    fn parse(mut bytes: &[u8]) -> Self {
        let mut names = Vec::new();
        while let Some((kind, content, rest)) = subsection(bytes) {
            if kind == FUNCTION_NAMES {
                read_names(content, &mut names);
                break;
            }
            bytes = rest;
        }
        names.sort_by_key(|(index, _)| *index);
        names.dedup_by_key(|(index, _)| *index);
        Self { names }
    }
}

/// A section of a module.
struct Section {
    kind: u8,
    content: u64,
    end: u64,
}

impl Section {
    fn read(heap: &mut Heap<'_>, at: u64, end: u64) -> Result<Self, Reason> {
        // The kind, and a length of five bytes at most.
        let mut head = [0; 6];
        let head = head.get_mut(..(end - at).min(6) as usize).ok_or(Reason::TooLarge)?;
        heap.read(at, head)?;
        let (kind, rest) = head.split_first().ok_or(Reason::Mismatch)?;
        let (length, rest) = number(rest).ok_or(Reason::Mismatch)?;
        let content = at + (head.len() - rest.len()) as u64;
        let section_end = content.checked_add(u64::from(length)).filter(|reached| *reached <= end);
        Ok(Self { kind: *kind, content, end: section_end.ok_or(Reason::Mismatch)? })
    }

    /// What stands behind the section's own name, if that is `name`.
    fn names(&self, heap: &mut Heap<'_>) -> Result<Option<Vec<u8>>, Reason> {
        let head = 1 + NAME_SECTION.len();
        let length = self.end - self.content;
        if self.kind != CUSTOM_SECTION || length < head as u64 || length > LONGEST_NAMES {
            return Ok(None);
        }
        let mut title = [0; 1 + NAME_SECTION.len()];
        heap.read(self.content, &mut title)?;
        if usize::from(title[0]) != NAME_SECTION.len() || &title[1..] != NAME_SECTION {
            return Ok(None);
        }
        let mut bytes = vec![0; length as usize - head];
        if !bytes.is_empty() {
            heap.read(self.content + head as u64, &mut bytes)?;
        }
        Ok(Some(bytes))
    }
}

/// Kind and content of the first subsection, and what follows it.
fn subsection(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (kind, rest) = bytes.split_first()?;
    let (length, rest) = number(rest)?;
    let (content, rest) = rest.split_at_checked(length as usize)?;
    Some((*kind, content, rest))
}

/// A count, then an index and a text for each.
fn read_names(bytes: &[u8], names: &mut Vec<(u32, Arc<str>)>) -> Option<()> {
    let (count, mut bytes) = number(bytes)?;
    for _ in 0..count {
        let (index, rest) = number(bytes)?;
        let (length, rest) = number(rest)?;
        let (name, rest) = rest.split_at_checked(length as usize)?;
        bytes = rest;
        if let Some(name) = std::str::from_utf8(name).ok().filter(|name| !name.is_empty()) {
            names.push((index, name.into()));
        }
    }
    Some(())
}

/// An unsigned number of seven bits a byte, and what follows it.
fn number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let mut value = 0u64;
    for (at, byte) in bytes.iter().enumerate().take(5) {
        value |= u64::from(byte & 127) << (7 * at);
        if byte & 128 == 0 {
            return Some((u32::try_from(value).ok()?, bytes.get(at + 1..)?));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(number(&[5, 9]), Some((5, &[9][..])));
        assert_eq!(number(&[0xe5, 0x8e, 0x26]), Some((624_485, &[][..])));
        assert_eq!(number(&[0xff, 0xff, 0xff, 0xff, 0x0f]), Some((u32::MAX, &[][..])));
        for bytes in [&[][..], &[0x80], &[0xff, 0xff, 0xff, 0xff, 0x1f], &[0x80; 9]] {
            assert_eq!(number(bytes), None, "{bytes:?}");
        }
    }

    #[test]
    fn names_of_functions() {
        let bytes = [&[0, 3, 2, b'h', b'i'][..], &[1, 10, 2, 7, 3], "été".as_bytes()].concat();
        assert!(FunctionNames::parse(&bytes).get(7).is_none(), "cut");
        let functions = [&[3, 7, 5][..], "été".as_bytes(), &[2, 1, b'x', 3, 1, 0xff]].concat();
        let bytes = [&[0, 3, 2, b'h', b'i'][..], &[1, functions.len() as u8], &functions].concat();
        let names = FunctionNames::parse(&bytes);
        assert_eq!(names.get(7).as_deref(), Some("été"));
        assert_eq!(names.get(2).as_deref(), Some("x"));
        assert_eq!((names.get(3), names.get(0)), (None, None));
        for end in 0..bytes.len() {
            FunctionNames::parse(&bytes[..end]);
        }
    }
}
