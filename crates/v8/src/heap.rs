//! Objects of V8's heap, read through [`Memory`] and checked: an object is believed only after its map shows what it
//! is, and that map's own map shows that it is one. Small reads go through lines that are kept for one batch, so that
//! neighbours cost one system call together.

use rustc_hash::FxHashMap;

use crate::layout::Layout;
use crate::machine::MACHINE;
use crate::memory::{Memory, Piece};
use crate::reason::Reason;

/// What one read brings: a system call costs the same for 8 bytes and for this many.
const LINE: usize = 256;

/// Larger reads are not kept.
const LARGEST_KEPT: usize = 1 << 10;

/// When this many are kept, all are dropped.
const MOST_LINES: usize = 1 << 14;
const MOST_MAPS: usize = 1 << 14;

/// An address in user space, beyond the first page.
const ADDRESSES: std::ops::Range<u64> = MACHINE.addresses;

/// Bytes and types that were read before.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    lines: FxHashMap<u64, Box<[u8; LINE]>>,
    /// The instance type that a map gives; `None` for what is no map.
    types: FxHashMap<u64, Option<u16>>,
    /// Lines that had to be read after the first call of a batch, and how many batches ago: a program that does what
    /// it did before needs them again, and gets them with the first call.
    habits: FxHashMap<u64, u32>,
    /// Whether this batch has brought them.
    has_begun: bool,
}

/// A line is kept for at most this many batches, and at most this many lines are kept.
const LONGEST_HABIT: u32 = 32;
const MOST_HABITS: usize = 48;

impl Kept {
    /// Bytes may have changed.
    pub(crate) fn forget_lines(&mut self) {
        self.lines.clear();
        self.has_begun = false;
        self.habits.retain(|_, age| {
            *age += 1;
            *age <= LONGEST_HABIT
        });
    }

    fn note_habit(&mut self, start: u64) {
        if self.has_begun && self.habits.len() < MOST_HABITS {
            self.habits.insert(start, 0);
        }
    }

    /// Maps may have died.
    pub(crate) fn forget_types(&mut self) {
        self.types.clear();
    }
}

/// The heap of a process.
pub(crate) struct Heap<'a> {
    pub(crate) memory: &'a dyn Memory,
    pub(crate) layout: &'a Layout,
    pub(crate) kept: &'a mut Kept,
}

/// An object whose type is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Object {
    /// Its first byte.
    pub(crate) address: u64,
    /// Its instance type.
    pub(crate) kind: u16,
}

impl Heap<'_> {
    /// Fills `out` as a whole, or fails.
    pub(crate) fn read(&mut self, address: u64, out: &mut [u8]) -> Result<(), Reason> {
        if !ADDRESSES.contains(&address) {
            return Err(Reason::Unreadable);
        }
        if out.len() > LARGEST_KEPT {
            return self.memory.read(address, out).map_err(|_| Reason::Unreadable);
        }
        let mut done = 0;
        while done < out.len() {
            let at = address + done as u64;
            let inside = (at % LINE as u64) as usize;
            let count = (LINE - inside).min(out.len() - done);
            let line = self.line(at - inside as u64)?;
            out[done..done + count].copy_from_slice(&line[inside..inside + count]);
            done += count;
        }
        Ok(())
    }

    /// Brings what will be read soon with one call. What cannot be read is left for [`Self::read`] to report.
    pub(crate) fn expect(&mut self, addresses: impl Iterator<Item = u64>) {
        let lines = addresses.filter(|address| ADDRESSES.contains(address));
        let mut wanted: Vec<u64> = lines.map(|address| address - address % LINE as u64).collect();
        if !self.kept.has_begun {
            wanted.extend(self.kept.habits.keys());
        }
        wanted.sort_unstable();
        wanted.dedup();
        wanted.retain(|start| !self.kept.lines.contains_key(start));
        if wanted.len() < 2 {
            return;
        }
        let mut lines: Vec<Box<[u8; LINE]>> = wanted.iter().map(|_| Box::new([0; LINE])).collect();
        let pieces = wanted.iter().zip(&mut lines);
        let mut pieces: Vec<Piece<'_>> =
            pieces.map(|(address, out)| Piece { address: *address, out: &mut out[..] }).collect();
        let done = self.memory.read_many(&mut pieces);
        self.make_room();
        for ((start, line), done) in wanted.into_iter().zip(lines).zip(done) {
            if done {
                self.kept.note_habit(start);
                self.kept.lines.insert(start, line);
            } else {
                self.kept.habits.remove(&start);
            }
        }
        self.kept.has_begun = true;
    }

    fn line(&mut self, start: u64) -> Result<&[u8; LINE], Reason> {
        if !self.kept.lines.contains_key(&start) {
            let mut line = Box::new([0; LINE]);
            self.memory.read(start, &mut line[..]).map_err(|_| Reason::Unreadable)?;
            self.make_room();
            self.kept.note_habit(start);
            self.kept.lines.insert(start, line);
        }
        self.kept.lines.get(&start).map(|line| &**line).ok_or(Reason::Unreadable)
    }

    fn make_room(&mut self) {
        if self.kept.lines.len() >= MOST_LINES {
            self.kept.lines.clear();
        }
    }

    pub(crate) fn word(&mut self, address: u64) -> Result<u64, Reason> {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// A word that was read before in this batch.
    pub(crate) fn kept_word(&self, address: u64) -> Option<u64> {
        let inside = (address % LINE as u64) as usize;
        let line = self.kept.lines.get(&(address - inside as u64))?;
        Some(u64::from_le_bytes(*line.get(inside..)?.first_chunk()?))
    }

    pub(crate) fn half(&mut self, address: u64) -> Result<u32, Reason> {
        let mut bytes = [0; 4];
        self.read(address, &mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    /// A word of an object.
    pub(crate) fn field(&mut self, object: Object, offset: usize) -> Result<u64, Reason> {
        self.word(object.address + offset as u64)
    }

    /// The object that a strong or weak reference leads to, also when it has just been moved.
    pub(crate) fn object(&mut self, reference: u64) -> Result<Object, Reason> {
        let mut address = untagged(reference).ok_or(Reason::WrongType)?;
        let mut map = self.word(address)?;
        if map & 1 == 0 {
            // While objects are moved, an even word is the new address.
            address = map;
            map = self.word(address)?;
        }
        let kind = self.kind_of_map(map).ok_or(Reason::WrongType)?;
        Ok(Object { address, kind })
    }

    /// An object that must be of a type.
    pub(crate) fn object_of(&mut self, reference: u64, kind: u16) -> Result<Object, Reason> {
        let object = self.object(reference)?;
        if object.kind == kind { Ok(object) } else { Err(Reason::WrongType) }
    }

    /// The instance type that a map stands for, if it is a map.
    pub(crate) fn kind_of_map(&mut self, map: u64) -> Option<u16> {
        if let Some(kind) = self.kept.types.get(&map) {
            return *kind;
        }
        let kind = self.read_kind(map);
        if self.kept.types.len() >= MOST_MAPS {
            self.kept.types.clear();
        }
        self.kept.types.insert(map, kind);
        kind
    }

    fn read_kind(&mut self, map: u64) -> Option<u16> {
        let kind = self.raw_kind(map)?;
        let address = untagged(map)?;
        let meta = self.word(address).ok()?;
        (self.raw_kind(meta)? == self.layout.types.map).then_some(kind)
    }

    fn raw_kind(&mut self, map: u64) -> Option<u16> {
        let mut bytes = [0; 2];
        self.read(untagged(map)? + self.layout.at.map_type, &mut bytes).ok()?;
        Some(u16::from_le_bytes(bytes))
    }

    /// The number of elements of an array or of bytes, at most `most`.
    pub(crate) fn length(&mut self, array: Object, most: u64) -> Result<u64, Reason> {
        let length = small_integer(self.field(array, LENGTH)?).ok_or(Reason::WrongType)?;
        u64::try_from(length).ok().filter(|length| *length <= most).ok_or(Reason::TooLarge)
    }

    /// One element of an array of references.
    pub(crate) fn element(&mut self, array: Object, index: u64) -> Result<u64, Reason> {
        if !self.layout.types.arrays.contains(&array.kind) {
            return Err(Reason::WrongType);
        }
        if index >= self.length(array, LONGEST_ARRAY)? {
            return Err(Reason::Mismatch);
        }
        self.word(array.address + self.layout.at.array_data + index * 8)
    }

    /// All bytes of an array of bytes.
    pub(crate) fn bytes(&mut self, reference: u64) -> Result<Vec<u8>, Reason> {
        let array = self.object(reference)?;
        if !self.layout.types.bytes.contains(&array.kind) {
            return Err(Reason::WrongType);
        }
        let length = self.length(array, LONGEST_BYTES)?;
        let mut bytes = vec![0; length as usize];
        self.read(array.address + self.layout.at.array_data, &mut bytes)?;
        Ok(bytes)
    }
}

/// The length of arrays, as a small integer.
const LENGTH: usize = 8;

const LONGEST_ARRAY: u64 = 1 << 24;
const LONGEST_BYTES: u64 = 1 << 22;

/// The address behind a reference, strong (01) or weak (11).
pub(crate) fn untagged(reference: u64) -> Option<u64> {
    (reference & 1 == 1).then_some(reference & !3).filter(|address| ADDRESSES.contains(address))
}

/// The value of a small integer.
pub(crate) fn small_integer(word: u64) -> Option<i32> {
    (word as u32 == 0).then_some((word >> 32) as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags() {
        assert_eq!(untagged(0x2001), Some(0x2000));
        assert_eq!(untagged(0x2003), Some(0x2000));
        assert_eq!(untagged(0x2000), None);
        assert_eq!(untagged(1), None);
        assert_eq!(untagged(u64::MAX), None);
        assert_eq!(small_integer(7 << 32), Some(7));
        assert_eq!(small_integer((-7i32 as u32 as u64) << 32), Some(-7));
        assert_eq!(small_integer(7), None);
    }
}
