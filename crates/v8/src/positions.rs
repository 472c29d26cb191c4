//! V8's compressed tables of positions: which source position belongs to which offset in bytecode or machine code, and
//! which bytecode to which offset in baseline code.

/// From offsets to positions, by offset.
#[derive(Clone, Debug, Default)]
pub(crate) struct Positions(Vec<(u32, Position)>);

/// A position in a source text, as V8 packs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position(u64);

impl Position {
    pub(crate) fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// A line of V8's own sources, in builtins.
    fn is_external(self) -> bool {
        self.0 & 1 == 1
    }

    /// The character in the script; `None` when it is not known.
    pub(crate) fn offset(self) -> Option<u32> {
        (self.0 >> 1 & 0x3fff_ffff)
            .checked_sub(1)
            .map(|offset| offset as u32)
            .filter(|_| !self.is_external())
    }

    /// Which inlined function it belongs to; `None` for the function itself.
    pub(crate) fn inlining(self) -> Option<u32> {
        (self.0 >> 31 & 0xffff).checked_sub(1).map(|id| id as u32)
    }
}

impl Positions {
    /// Takes a table apart. What follows a damaged entry is left out.
    pub(crate) fn decode(bytes: &[u8], unsigned: bool) -> Self {
        let mut bytes = Bytes(bytes);
        let mut rows = Vec::new();
        let (mut code, mut position) = (-1i64, 0i64);
        while let (Some(step), Some(distance)) = (bytes.code_step(unsigned), bytes.signed()) {
            code = code.wrapping_add(step);
            position = position.wrapping_add(distance);
            let entry = Position(position as u64);
            if let Ok(code) = u32::try_from(code)
                && !entry.is_external()
            {
                rows.push((code, entry));
            }
        }
        // V8 writes them in this order; a search needs it.
        if !rows.is_sorted_by_key(|row| row.0) {
            rows.sort_by_key(|row| row.0);
        }
        Self(rows)
    }

    /// The position of the last entry at or before an offset.
    pub(crate) fn find(&self, offset: u32) -> Option<Position> {
        let behind = self.0.partition_point(|row| row.0 <= offset);
        Some(self.0[behind.checked_sub(1)?].1)
    }
}

/// How long the prologue of baseline code is.
pub(crate) fn prologue_length(table: &[u8]) -> Option<u32> {
    Bytes(table).unsigned()
}

/// The offset of the bytecode to which an offset in baseline code belongs. `table` has the length of each bytecode's
/// machine code, the prologue first; `sizes` is V8's table of bytecode sizes for three operand widths.
pub(crate) fn bytecode_offset(
    table: &[u8],
    bytecode: &[u8],
    sizes: &[u8],
    pc_offset: u64,
) -> Option<u32> {
    let mut table = Bytes(table);
    let mut end = u64::from(table.unsigned()?);
    if pc_offset < end {
        return None; // the prologue
    }
    let mut offset = 0;
    loop {
        end += u64::from(table.unsigned()?);
        if pc_offset < end {
            return u32::try_from(offset).ok();
        }
        offset += bytecode_size(bytecode.get(offset..)?, sizes)?;
    }
}

/// How long the first bytecode is, prefix included.
fn bytecode_size(bytecode: &[u8], sizes: &[u8]) -> Option<usize> {
    let count = sizes.len() / 3;
    // Wide, ExtraWide, and their forms with a breakpoint, come before what they widen.
    let (width, prefix) = match *bytecode.first()? {
        0 | 2 => (1, 1),
        1 | 3 => (2, 1),
        _ => (0, 0),
    };
    let code = usize::from(*bytecode.get(prefix)?);
    if code >= count {
        return None;
    }
    Some(prefix + usize::from(*sizes.get(width * count + code)?))
}

/// Numbers of seven bits a byte.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn long(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn unsigned(&mut self) -> Option<u32> {
        u32::try_from(self.long()?).ok()
    }

    /// Zig-zag: 0, -1, 1, -2, 2.
    fn signed(&mut self) -> Option<i64> {
        let value = self.long()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// How far the code goes on. The old form hides a flag in the sign, the new one two flags in the low bits.
    fn code_step(&mut self, unsigned: bool) -> Option<i64> {
        if unsigned {
            return Some(i64::from(self.unsigned()? >> 2));
        }
        let value = self.signed()?;
        Some(if value < 0 { -(value + 1) } else { value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(offset: u64) -> u64 {
        (offset + 1) << 1
    }

    #[test]
    fn both_encodings_give_the_same() {
        // Entries (0, 10, statement), (5, 30, expression): steps 1 and 5 from -1.
        let old = [2, (at(10) << 1) as u8, 11, ((at(30) - at(10)) << 1) as u8];
        let new = [1 << 2 | 1, (at(10) << 1) as u8, 5 << 2, ((at(30) - at(10)) << 1) as u8];
        for (bytes, unsigned) in [(&old, false), (&new, true)] {
            let positions = Positions::decode(bytes, unsigned);
            let find = |offset| positions.find(offset).and_then(Position::offset);
            assert_eq!(
                (find(0), find(4), find(5), find(99)),
                (Some(10), Some(10), Some(30), Some(30))
            );
        }
    }

    #[test]
    fn positions_know_their_inlining() {
        let position = Position::from_bits(at(7) | 3 << 31);
        assert_eq!((position.offset(), position.inlining()), (Some(7), Some(2)));
        assert_eq!(Position::from_bits(0).offset(), None);
        assert_eq!(Position::from_bits(at(7)).inlining(), None);
        assert_eq!(Position::from_bits(at(7) | 1).offset(), None);
    }

    #[test]
    fn damaged_tables_end_early() {
        assert!(Positions::decode(&[0xff; 40], false).0.is_empty());
        assert!(Positions::decode(&[0x80], true).find(0).is_none());
        assert!(Positions::decode(&[], true).find(0).is_none());
    }

    #[test]
    fn baseline_code_knows_its_bytecode() {
        // Six bytecodes; 4 has one operand, 5 none. Wide 4 is prefix + 3.
        let sizes = [1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 3, 1, 1, 1, 1, 1, 5, 1];
        let bytecode = [4, 9, 0, 4, 9, 9, 5];
        let table = [10, 3, 200, 1, 2];
        let find = |pc| bytecode_offset(&table, &bytecode, &sizes, pc);
        assert_eq!([find(0), find(9), find(10), find(12)], [None, None, Some(0), Some(0)]);
        assert_eq!(
            [find(13), find(212), find(213), find(214), find(215)],
            [Some(2), Some(2), Some(6), Some(6), None]
        );
        assert_eq!(bytecode_offset(&[0, 0, 0], &[99], &sizes, 5), None);
        assert_eq!(bytecode_offset(&[0, 1], &[4], &[], 0), Some(0));
    }
}
