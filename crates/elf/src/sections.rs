//! What stands in the sections of a file, for callers that only ask whether a name, a text or a table occurs.

use std::ops::Range;

use object::elf::{
    PT_INTERP, SHF_ALLOC, SHF_EXECINSTR, SHF_WRITE, SHT_DYNSYM, SHT_PROGBITS, SHT_SYMTAB,
};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};
use object::{Endianness, ReadRef};

/// Node has 8 MB of names; a table that is much larger is made up.
const MOST_NAMES: u64 = 1 << 26;

/// Real files have fewer than fifty sections.
const MOST_SECTIONS: usize = 256;

/// The longest path that Linux knows.
const MOST_PATH: u64 = 4096;

/// The byte order of a file, and its sections.
fn sections<'a, H, R>(data: R) -> Option<(Endianness, &'a [H::SectionHeader])>
where
    H: FileHeader<Endian = Endianness>,
    R: ReadRef<'a>,
{
    let header = H::parse(data).ok()?;
    let endian = header.endian().ok()?;
    Some((endian, header.section_headers(endian, data).ok()?))
}

/// The names that belong to the dynamic symbols, or to all symbols in a file without dynamic ones.
pub(crate) fn names<'a, H, R>(data: R) -> Option<&'a [u8]>
where
    H: FileHeader<Endian = Endianness>,
    R: ReadRef<'a>,
{
    let (endian, sections) = sections::<H, R>(data)?;
    let table =
        |kind| sections.iter().take(MOST_SECTIONS).find(|section| section.sh_type(endian) == kind);
    let symbols = table(SHT_DYNSYM).or_else(|| table(SHT_SYMTAB))?;
    let names = sections.get(symbols.sh_link(endian) as usize)?;
    if names.sh_size(endian).into() > MOST_NAMES {
        return None;
    }
    names.data(endian, data).ok()
}

/// Where the file keeps constants: parts that are mapped, and neither written to nor run.
pub(crate) fn constants<'a, H, R>(data: R) -> Option<Vec<Range<u64>>>
where
    H: FileHeader<Endian = Endianness>,
    R: ReadRef<'a>,
{
    let (endian, sections) = sections::<H, R>(data)?;
    let is_constant = |section: &&H::SectionHeader| {
        let flags = section.sh_flags(endian).0;
        let kept_out = SHF_WRITE.0 | SHF_EXECINSTR.0;
        section.sh_type(endian) == SHT_PROGBITS && flags & SHF_ALLOC.0 != 0 && flags & kept_out == 0
    };
    let range = |section: &H::SectionHeader| {
        let start: u64 = section.sh_offset(endian).into();
        start..start.saturating_add(section.sh_size(endian).into())
    };
    Some(sections.iter().take(MOST_SECTIONS).filter(is_constant).map(range).collect())
}

/// Whether the file kept its full table of symbols.
pub(crate) fn has_symbols<'a, H, R>(data: R) -> Option<bool>
where
    H: FileHeader<Endian = Endianness>,
    R: ReadRef<'a>,
{
    let (endian, sections) = sections::<H, R>(data)?;
    Some(sections.iter().take(MOST_SECTIONS).any(|section| section.sh_type(endian) == SHT_SYMTAB))
}

/// The program that loads the file: the first bytes of the segment that names it.
pub(crate) fn interpreter<'a, H, R>(data: R) -> Option<&'a [u8]>
where
    H: FileHeader<Endian = Endianness>,
    R: ReadRef<'a>,
{
    let header = H::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, data).ok()?;
    let is_named = |segment: &&H::ProgramHeader| segment.p_type(endian) == PT_INTERP;
    let segment = segments.iter().take(MOST_SECTIONS).find(is_named)?;
    if segment.p_filesz(endian).into() > MOST_PATH {
        return None;
    }
    segment
        .data(endian, data)
        .ok()
        .map(|bytes| bytes.split(|byte| *byte == 0).next().unwrap_or_default())
}
