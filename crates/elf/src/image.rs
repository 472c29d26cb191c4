//! The file as a whole: whether it is one, which build it is, and which of its bytes are mapped where.

use std::ops::Range;
use std::sync::Arc;

use object::elf::{FileHeader32, FileHeader64, PF_X, PT_LOAD, PT_NOTE, SHT_NOTE};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};
use object::{Endianness, FileKind, ReadRef};

use crate::notes::build_id_of_notes_in;
use crate::sections;
use crate::symbols::{self, SymbolIndex, Symbols};
use crate::unwind::{self, UnwindTables};
use crate::variables::{self, Variables};

/// An ELF file.
#[derive(Clone, Debug)]
pub struct Elf<'a, R = &'a [u8]> {
    data: R,
    is_64: bool,
    build_id: Option<&'a [u8]>,
    segments: Segments,
}

/// The parts of a file that are mapped into memory.
#[derive(Clone, Debug)]
pub struct Segments(Vec<Segment>);

/// Why bytes are not an ELF file that can be read.
#[derive(Debug, thiserror::Error)]
pub enum ElfError {
    /// Another format, or nothing.
    #[error("this is not an ELF file")]
    NotElf,
    /// The headers lead nowhere.
    #[error("the ELF file is damaged: {0}")]
    Damaged(#[from] object::read::Error),
}

/// A part of the file that is mapped into memory.
#[derive(Clone, Copy, Debug)]
struct Segment {
    offset: u64,
    size: u64,
    address: u64,
    executable: bool,
}

/// The sizes that pages of memory have.
const PAGES: [u64; 3] = [4 << 10, 16 << 10, 64 << 10];

/// Real files have fewer than ten; a made-up one must not make each lookup slow.
const MOST_SEGMENTS: usize = 256;

/// The build id is among the first notes, and notes are short.
const MOST_NOTE_PARTS: usize = 8;
const MOST_NOTES: u64 = 1 << 20;

impl<'a, R: ReadRef<'a>> Elf<'a, R> {
    /// Looks at the headers.
    pub fn parse(data: R) -> Result<Self, ElfError> {
        match FileKind::parse(data) {
            Ok(FileKind::Elf32) => read::<FileHeader32<Endianness>, R>(data, false),
            Ok(FileKind::Elf64) => read::<FileHeader64<Endianness>, R>(data, true),
            _ => Err(ElfError::NotElf),
        }
    }

    /// Which build this is.
    pub fn build_id(&self) -> Option<&'a [u8]> {
        self.build_id
    }

    /// The address that the file's own tables use for a byte of the file: what was seen at `ip` in a mapping is
    /// at the offset `ip - start + page offset`.
    pub fn address_of(&self, offset: u64) -> Option<u64> {
        self.segments.address_of(offset)
    }

    /// What [`Self::address_of`] needs, to be kept without the file.
    pub fn segments(&self) -> &Segments {
        &self.segments
    }

    /// The byte of the file at the start of a range of addresses, which ends where an executable part ends. The
    /// range starts where the file would, were it mapped as a whole, or with that part. `None` where no part
    /// fits: that was another file.
    pub fn start_of_range(&self, length: u64) -> Option<u64> {
        let fits = |size: u64| {
            PAGES.iter().any(|page| size.checked_next_multiple_of(*page) == Some(length))
        };
        let mut parts = self.segments.0.iter().filter(|segment| segment.executable);
        parts.find_map(|segment| {
            let end = segment.offset.checked_add(segment.size)?;
            let starts = [0, segment.offset - segment.offset % PAGES[0]];
            starts.into_iter().find(|start| fits(end - start))
        })
    }

    /// The functions. Empty where the file has none or where its tables are damaged.
    pub fn symbols(&self) -> Symbols<'a> {
        let symbols = if self.is_64 {
            symbols::read::<FileHeader64<Endianness>, R>(self.data)
        } else {
            symbols::read::<FileHeader32<Endianness>, R>(self.data)
        };
        symbols.unwrap_or_default()
    }

    /// The same without looking through the tables once more: `index` is from [`Symbols::index`] of the same file.
    pub fn symbols_of(&self, index: &Arc<SymbolIndex>) -> Symbols<'a> {
        let symbols = if self.is_64 {
            symbols::attach::<FileHeader64<Endianness>, R>(self.data, index)
        } else {
            symbols::attach::<FileHeader32<Endianness>, R>(self.data, index)
        };
        symbols.unwrap_or_default()
    }

    /// Where a variable of this name is, one that only its own file knows among them.
    pub fn address_of_variable(&self, name: &[u8]) -> Option<u64> {
        self.address_of_variable_like(|known| known == name)
    }

    /// Where the first variable is whose name is `wanted`: a compiler may write a number behind a local one.
    pub fn address_of_variable_like(&self, wanted: impl Fn(&[u8]) -> bool) -> Option<u64> {
        if self.is_64 {
            symbols::address_of_variable::<FileHeader64<Endianness>, R>(self.data, &wanted)
        } else {
            symbols::address_of_variable::<FileHeader32<Endianness>, R>(self.data, &wanted)
        }
    }

    /// Where functions of some names are, in the order of the file's table; a stripped file has none.
    pub fn ranges_of_functions(&self, names: &[&str]) -> Vec<Range<u64>> {
        let found = if self.is_64 {
            symbols::ranges_of_functions::<FileHeader64<Endianness>, R>(self.data, names)
        } else {
            symbols::ranges_of_functions::<FileHeader32<Endianness>, R>(self.data, names)
        };
        found.unwrap_or_default()
    }

    /// Where the variables and functions of some names are, in the order of the names: none where a name is missing or
    /// occurs more than once, as in a stripped file.
    pub fn places_of(&self, names: &[&str]) -> Vec<Option<Range<u64>>> {
        let found = if self.is_64 {
            symbols::places_of::<FileHeader64<Endianness>, R>(self.data, names)
        } else {
            symbols::places_of::<FileHeader32<Endianness>, R>(self.data, names)
        };
        found.unwrap_or_else(|| vec![None; names.len()])
    }

    /// Where a function is that other files may call; a stripped file keeps it.
    pub fn address_of_exported(&self, name: &[u8]) -> Option<u64> {
        if self.is_64 {
            symbols::address_of_exported::<FileHeader64<Endianness>, R>(self.data, name)
        } else {
            symbols::address_of_exported::<FileHeader32<Endianness>, R>(self.data, name)
        }
    }

    /// The names of the dynamic symbols, or of all symbols in a file without dynamic ones, and of the libraries
    /// that the file needs: a zero behind each.
    pub fn names(&self) -> Option<&'a [u8]> {
        if self.is_64 {
            sections::names::<FileHeader64<Endianness>, R>(self.data)
        } else {
            sections::names::<FileHeader32<Endianness>, R>(self.data)
        }
    }

    /// Whether the full table of symbols is there: a stripped file has only the names that others may call.
    pub fn has_symbols(&self) -> bool {
        let found = if self.is_64 {
            sections::has_symbols::<FileHeader64<Endianness>, R>(self.data)
        } else {
            sections::has_symbols::<FileHeader32<Endianness>, R>(self.data)
        };
        found.unwrap_or_default()
    }

    /// The program that loads this one, such as `/lib/ld-musl-x86_64.so.1`; a static program has none.
    pub fn interpreter(&self) -> Option<&'a [u8]> {
        if self.is_64 {
            sections::interpreter::<FileHeader64<Endianness>, R>(self.data)
        } else {
            sections::interpreter::<FileHeader32<Endianness>, R>(self.data)
        }
    }

    /// The parts of the file that hold constants. They may be large, so nothing of them is read.
    pub fn constants(&self) -> Vec<Range<u64>> {
        let ranges = if self.is_64 {
            sections::constants::<FileHeader64<Endianness>, R>(self.data)
        } else {
            sections::constants::<FileHeader32<Endianness>, R>(self.data)
        };
        ranges.unwrap_or_default()
    }

    /// The variables among the dynamic symbols whose names are `wanted`. A stripped file keeps them.
    pub fn variables(&self, wanted: impl Fn(&[u8]) -> bool) -> Variables<'a> {
        let found = if self.is_64 {
            variables::dynamic::<FileHeader64<Endianness>, R>(self.data, &wanted)
        } else {
            variables::dynamic::<FileHeader32<Endianness>, R>(self.data, &wanted)
        };
        found.unwrap_or_default()
    }

    /// One variable among all symbols, which a stripped file lacks; empty when it is absent.
    pub fn variable(&self, name: &str) -> Variables<'a> {
        let found = if self.is_64 {
            variables::full::<FileHeader64<Endianness>, R>(self.data, name)
        } else {
            variables::full::<FileHeader32<Endianness>, R>(self.data, name)
        };
        found.unwrap_or_default()
    }

    /// How to find callers, in a file of 64 bits that describes it.
    pub fn unwind_tables(&self) -> Option<UnwindTables<'a>> {
        if self.is_64 { unwind::read::<FileHeader64<Endianness>, R>(self.data) } else { None }
    }
}

impl Segments {
    /// From the first address to the last, as the file's own tables have them.
    pub fn span(&self) -> Range<u64> {
        let start = self.0.iter().map(|segment| segment.address).min().unwrap_or(0);
        let ends = self.0.iter().map(|segment| segment.address.saturating_add(segment.size));
        start..ends.max().unwrap_or(0)
    }

    /// The address that the file's own tables use for a byte of the file.
    pub fn address_of(&self, offset: u64) -> Option<u64> {
        let holds = |segment: &&Segment| offset.wrapping_sub(segment.offset) < segment.size;
        let mut holding = self.0.iter().filter(holds);
        let first = holding.clone().next()?;
        let segment = holding.find(|segment| segment.executable).unwrap_or(first);
        Some(segment.address.wrapping_add(offset.wrapping_sub(segment.offset)))
    }
}

fn read<'a, H, R>(data: R, is_64: bool) -> Result<Elf<'a, R>, ElfError>
where
    H: FileHeader<Endian = Endianness>,
    R: ReadRef<'a>,
{
    let header = H::parse(data)?;
    let endian = header.endian()?;
    let headers = header.program_headers(endian, data).unwrap_or_default();
    let loads = headers.iter().filter(|header| header.p_type(endian) == PT_LOAD);
    let segment = |header: &H::ProgramHeader| Segment {
        offset: header.p_offset(endian).into(),
        size: header.p_filesz(endian).into(),
        address: header.p_vaddr(endian).into(),
        executable: header.p_flags(endian).0 & PF_X.0 != 0,
    };
    let segments = Segments(loads.take(MOST_SEGMENTS).map(segment).collect());
    Ok(Elf { data, is_64, build_id: build_id(header, endian, data), segments })
}

/// From the segments, which a stripped file keeps, else from the sections, which an object file has.
fn build_id<'a, H, R>(header: &'a H, endian: Endianness, data: R) -> Option<&'a [u8]>
where
    H: FileHeader<Endian = Endianness>,
    R: ReadRef<'a>,
{
    let segments = header.program_headers(endian, data).unwrap_or_default().iter();
    let mut in_segments = segments
        .filter(|header| {
            header.p_type(endian) == PT_NOTE && header.p_filesz(endian).into() <= MOST_NOTES
        })
        .take(MOST_NOTE_PARTS)
        .filter_map(|header| {
            Some((header.data(endian, data).ok()?, header.p_align(endian).into()))
        });
    let found = in_segments.find_map(|(notes, align)| build_id_of_notes_in(notes, align, endian));
    found.or_else(|| {
        let sections = header.section_headers(endian, data).ok()?.iter();
        let mut notes = sections
            .filter(|section| section.sh_type(endian) == SHT_NOTE)
            .take(MOST_SEGMENTS)
            .filter_map(|section| {
                Some((section.data(endian, data).ok()?, section.sh_addralign(endian).into()))
            });
        notes.find_map(|(notes, align)| build_id_of_notes_in(notes, align, endian))
    })
}
