//! A file of which only the parts that matter are read: the names of a node of 100 MB are a sixth of it.

use std::cell::{OnceCell, RefCell};
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;

use object::read::ReadRef;

/// Reads parts of a file when they are asked for, and keeps them.
pub struct Parts<F> {
    file: RefCell<F>,
    length: u64,
    parts: [OnceCell<Part>; MOST_PARTS],
}

struct Part {
    range: Range<u64>,
    bytes: Box<[u8]>,
}

/// Headers, names of sections, two tables with their names, notes, relocations: real files need a dozen.
const MOST_PARTS: usize = 64;

/// All parts together: more than the largest browser needs.
const MOST_BYTES: u64 = 1 << 29;

impl<F: Read + Seek> Parts<F> {
    /// Asks only for the length.
    pub fn new(mut file: F) -> std::io::Result<Self> {
        let length = file.seek(SeekFrom::End(0))?;
        Ok(Self {
            file: RefCell::new(file),
            length,
            parts: [const { OnceCell::new() }; MOST_PARTS],
        })
    }

    /// Fills `out` with what stands somewhere, and keeps nothing.
    pub fn peek(&self, at: u64, out: &mut [u8]) -> bool {
        let bytes = self.read(at, out.len() as u64);
        bytes.map(|bytes| out.copy_from_slice(&bytes)).is_some()
    }

    /// How much of the file is kept in memory.
    pub fn kept_bytes(&self) -> u64 {
        self.parts.iter().filter_map(OnceCell::get).map(|part| part.bytes.len() as u64).sum()
    }

    fn part(&self, range: Range<u64>) -> Option<&[u8]> {
        let mut bytes_so_far = 0u64;
        for slot in &self.parts {
            let Some(part) = slot.get() else {
                let size = range.end.checked_sub(range.start)?;
                let fits =
                    range.end <= self.length && size <= MOST_BYTES.checked_sub(bytes_so_far)?;
                let bytes = if fits { self.read(range.start, size)? } else { return None };
                return Some(&slot.get_or_init(|| Part { range, bytes }).bytes);
            };
            if part.range.start <= range.start && range.end <= part.range.end {
                let start = usize::try_from(range.start - part.range.start).ok()?;
                let end = usize::try_from(range.end - part.range.start).ok()?;
                return part.bytes.get(start..end);
            }
            bytes_so_far += part.range.end - part.range.start;
        }
        None
    }

    fn read(&self, at: u64, size: u64) -> Option<Box<[u8]>> {
        let mut file = self.file.try_borrow_mut().ok()?;
        file.seek(SeekFrom::Start(at)).ok()?;
        let mut bytes = Vec::with_capacity(usize::try_from(size).ok()?);
        file.by_ref().take(size).read_to_end(&mut bytes).ok()?;
        (bytes.len() as u64 == size).then(|| bytes.into_boxed_slice())
    }
}

impl<'a, F: Read + Seek> ReadRef<'a> for &'a Parts<F> {
    fn len(self) -> Result<u64, ()> {
        Ok(self.length)
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'a [u8], ()> {
        if size == 0 {
            return Ok(&[]);
        }
        self.part(offset..offset.checked_add(size).ok_or(())?).ok_or(())
    }

    fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'a [u8], ()> {
        let bytes = self.part(range).ok_or(())?;
        memchr::memchr(delimiter, bytes).map(|end| &bytes[..end]).ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    #[test]
    fn parts_are_kept_and_bounded() {
        let parts = Parts::new(Cursor::new((0..200u8).collect::<Vec<u8>>())).unwrap();
        assert_eq!((&parts).read_bytes_at(10, 4), Ok(&[10, 11, 12, 13][..]));
        assert_eq!((&parts).read_bytes_at(11, 2), Ok(&[11, 12][..]));
        assert_eq!((&parts).read_bytes_at_until(10..14, 12), Ok(&[10, 11][..]));
        assert_eq!((&parts).read_bytes_at(200, 0), Ok(&[][..]));
        for (offset, size) in [(199, 2), (u64::MAX, 1), (u64::MAX, u64::MAX), (0, 201)] {
            assert!((&parts).read_bytes_at(offset, size).is_err(), "{offset} {size}");
        }
        let many = (0..150).filter(|at| (&parts).read_bytes_at(*at, 50).is_ok()).count();
        assert!(many < MOST_PARTS);
    }
}
