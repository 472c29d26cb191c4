//! The tables that lead from a function to its caller: .eh_frame, and the index to it, .eh_frame_hdr. They are
//! read through the index alone, and handed out only if following them always ends.

use std::ops::Range;

use gimli::{
    BaseAddresses, CallFrameInstruction, CallFrameInstructionIter, CommonInformationEntry, EhFrame,
    EhFrameHdr, EndianSlice, LittleEndian, Operation, UnwindExpression, UnwindSection,
};
use object::read::elf::{FileHeader, SectionHeader};
use object::{Endianness, ReadRef};

use crate::symbols::Sections;

/// How to find callers in a file. Addresses are those of the file's own tables.
#[derive(Clone, Debug)]
pub struct UnwindTables<'a> {
    /// .eh_frame_hdr.
    pub index: Table<'a>,
    /// .eh_frame.
    pub frames: Table<'a>,
    /// Where .text begins.
    pub text: u64,
    /// What the tables cover, ascending. In between, Node has megabytes of code that they do not cover: V8's
    /// builtins, which keep a frame pointer instead.
    pub covered: Vec<Range<u64>>,
    /// How many bytes they cover, without the gaps: a C library may have tables for its first functions only.
    pub covered_bytes: u64,
    /// The functions, ascending, somewhere in which only an expression gives where the caller's frame is.
    pub expressions: Vec<Range<u64>>,
}

/// A section.
#[derive(Clone, Copy, Debug)]
pub struct Table<'a> {
    /// Where it is.
    pub address: u64,
    /// What it holds.
    pub bytes: &'a [u8],
}

type Bytes<'a> = EndianSlice<'a, LittleEndian>;
type Cie<'a> = CommonInformationEntry<Bytes<'a>>;

/// The largest browsers have 30 MB.
const MOST_BYTES: u64 = 64 << 20;

/// Gaps up to here are alignment, or a few functions in assembler.
const SMALL_GAP: u64 = 64 << 10;

/// Only a made-up file has more.
const MOST_RANGES: usize = 1024;

/// The instructions of one function, and those of all functions as a multiple of the section.
const MOST_INSTRUCTIONS: usize = 64 << 10;
const MOST_REPEATS: usize = 4;

/// The tables of a file that has them.
pub(crate) fn read<'a, H, R>(data: R) -> Option<UnwindTables<'a>>
where
    H: FileHeader<Endian = Endianness>,
    R: ReadRef<'a>,
{
    let sections = Sections::read(H::parse(data).ok()?, data).ok()?;
    let endian = sections.endian;
    if endian == Endianness::Big {
        return None;
    }
    let table = |name: &[u8]| {
        let section = sections
            .by_name(name)
            .filter(|section| section.sh_size(endian).into() <= MOST_BYTES)?;
        Some(Table {
            address: section.sh_addr(endian).into(),
            bytes: section.data(endian, data).ok()?,
        })
    };
    let (index, frames) = (table(b".eh_frame_hdr")?, table(b".eh_frame")?);
    let text = sections.by_name(b".text").map_or(0, |text| text.sh_addr(endian).into());
    let Functions { all, expressions } = Walk::new(index, frames, text).functions()?;
    let covered_bytes = all
        .iter()
        .map(|function| function.end.saturating_sub(function.start))
        .fold(0, u64::saturating_add);
    let (covered, expressions) = (join(all)?, ascending(expressions));
    Some(UnwindTables { index, frames, text, covered, covered_bytes, expressions })
}

/// What the tables cover.
#[derive(Default)]
struct Functions {
    all: Vec<Range<u64>>,
    expressions: Vec<Range<u64>>,
}

/// Looks at every function that the index names.
struct Walk<'a> {
    index: EhFrameHdr<Bytes<'a>>,
    frames: EhFrame<Bytes<'a>>,
    bases: BaseAddresses,
    /// How many bytes of instructions may still be read.
    left: usize,
    /// The common part that was looked at last.
    common: Option<Cie<'a>>,
}

impl<'a> Walk<'a> {
    fn new(index: Table<'a>, frames: Table<'a>, text: u64) -> Self {
        let bases = BaseAddresses::default();
        let bases =
            bases.set_eh_frame_hdr(index.address).set_eh_frame(frames.address).set_text(text);
        let left = frames.bytes.len().saturating_mul(MOST_REPEATS);
        let mut section = EhFrame::new(frames.bytes, LittleEndian);
        section.set_address_size(8);
        Self {
            index: EhFrameHdr::new(index.bytes, LittleEndian),
            frames: section,
            bases,
            left,
            common: None,
        }
    }

    /// What the tables cover; `None` where following them may never end.
    fn functions(mut self) -> Option<Functions> {
        let index = self.index.parse(&self.bases, 8).ok()?;
        let table = index.table()?;
        let bases = self.bases.clone();
        let mut rows = table.iter(&bases);
        let mut functions = Functions::default();
        while let Some((_, pointer)) = rows.next().ok()? {
            // What cannot be read now cannot be followed later.
            let Ok(offset) = table.pointer_to_offset(pointer) else { continue };
            let known = self.common.as_ref().map(Cie::offset);
            let function = self.frames.fde_from_offset(&bases, offset, |section, bases, at| {
                let same = self.common.as_ref().filter(|common| common.offset() == at.0);
                same.map_or_else(|| section.cie_from_offset(bases, at), |common| Ok(common.clone()))
            });
            let Ok(function) = function else { continue };
            let common = function.cie();
            if known != Some(common.offset()) {
                self.spend(common.entry_len())?;
                self.ends(common, common.instructions(&self.frames, &bases))?;
            }
            self.spend(function.entry_len())?;
            let has_expression = self.ends(common, function.instructions(&self.frames, &bases))?;
            self.common = Some(common.clone());
            let range = function.initial_address()..function.end_address();
            if has_expression {
                functions.expressions.push(range.clone());
            }
            functions.all.push(range);
        }
        Some(functions)
    }

    fn spend(&mut self, bytes: usize) -> Option<()> {
        self.left = self.left.checked_sub(bytes).filter(|_| bytes <= MOST_INSTRUCTIONS)?;
        Some(())
    }

    /// Whether one of them is an expression for the caller's frame; `None` where they do not only go forwards.
    fn ends(
        &self,
        common: &Cie<'a>,
        mut instructions: CallFrameInstructionIter<'_, Bytes<'a>>,
    ) -> Option<bool> {
        let mut has_expression = false;
        while let Ok(Some(instruction)) = instructions.next() {
            has_expression |= matches!(instruction, CallFrameInstruction::DefCfaExpression { .. });
            let (CallFrameInstruction::DefCfaExpression { expression }
            | CallFrameInstruction::Expression { expression, .. }
            | CallFrameInstruction::ValExpression { expression, .. }) = instruction
            else {
                continue;
            };
            if self.jumps(common, expression) {
                return None;
            }
        }
        Some(has_expression)
    }

    /// Whether an expression may run twice over the same bytes. No compiler writes such a one.
    fn jumps(&self, common: &Cie<'a>, expression: UnwindExpression<usize>) -> bool {
        let Ok(expression) = expression.get(&self.frames) else { return false };
        let mut operations = expression.operations(common.encoding());
        while let Ok(Some(operation)) = operations.next() {
            if matches!(operation, Operation::Skip { .. } | Operation::Bra { .. }) {
                return true;
            }
        }
        false
    }
}

fn ascending(mut functions: Vec<Range<u64>>) -> Vec<Range<u64>> {
    functions.sort_unstable_by_key(|function| function.start);
    functions
}

/// The functions, with the small gaps between them.
fn join(functions: Vec<Range<u64>>) -> Option<Vec<Range<u64>>> {
    let functions = ascending(functions);
    let mut all: Vec<Range<u64>> = Vec::new();
    for function in functions.into_iter().filter(|function| function.start < function.end) {
        match all.last_mut() {
            Some(last) if function.start <= last.end.saturating_add(SMALL_GAP) => {
                last.end = last.end.max(function.end);
            }
            _ => all.push(function),
        }
    }
    (all.len() <= MOST_RANGES).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_kept_where_they_are_wide() {
        let function = |start: u64, size: u64| start..start + size;
        let functions =
            vec![function(0x5000, 16), function(0x1000, 64), function(0x0020_0000, 1), 9..9];
        assert_eq!(join(functions), Some(vec![0x1000..0x5010, 0x0020_0000..0x0020_0001]));
        let many = (0..2000).map(|row| function(row * 0x0010_0000, 1)).collect();
        assert_eq!(join(many), None);
    }
}
