//! The variables of a file, by name: what stands in them when the program starts. Only those that a caller asks for
//! are looked at, and their bytes are read in as few pieces as possible. A variable without bytes in the file
//! (.bss) is zero, which differs from one that is absent.

use std::collections::HashMap;
use std::ops::Range;

use memchr::memmem;
use object::elf::{SHT_DYNSYM, SHT_NOBITS, SHT_SYMTAB, STT_OBJECT};
use object::read::elf::{FileHeader, SectionHeader, Sym, SymbolTable};
use object::{Endianness, ReadRef, SymbolIndex};

use crate::symbols::{Sections, name_at};

/// Variables and their first values.
#[derive(Clone, Debug, Default)]
pub struct Variables<'a> {
    rows: HashMap<&'a [u8], Value<'a>>,
    big_endian: bool,
}

#[derive(Clone, Copy, Debug)]
enum Value<'a> {
    Bytes(&'a [u8]),
    Zeros(usize),
}

/// Where a variable stands in the file, before its bytes are read.
struct Place<'a> {
    name: &'a [u8],
    /// `None` for .bss.
    offset: Option<u64>,
    size: u64,
}

/// No caller asks for larger variables.
const LARGEST: u64 = 64 << 10;

/// Node has 500 constants; many more are made up.
const MOST: usize = 1 << 14;

/// Variables that are so near to each other are read together.
const NEAR: u64 = 64 << 10;

/// How often a name may occur in a table of names before the search ends: suffixes share their text.
const MOST_PLACES_OF_A_NAME: usize = 16;

impl<'a> Variables<'a> {
    /// How many were found.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether none was found.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// A variable of 32 bits, with its sign.
    pub fn number(&self, name: &str) -> Option<i32> {
        let bytes = match self.rows.get(name.as_bytes())? {
            Value::Zeros(size) => return (*size >= 4).then_some(0),
            Value::Bytes(bytes) => *bytes.first_chunk::<4>()?,
        };
        Some(if self.big_endian { i32::from_be_bytes(bytes) } else { i32::from_le_bytes(bytes) })
    }

    /// All bytes of a variable that has some.
    pub fn bytes(&self, name: &str) -> Option<&'a [u8]> {
        match self.rows.get(name.as_bytes())? {
            Value::Bytes(bytes) => Some(bytes),
            Value::Zeros(_) => None,
        }
    }

    /// The names, in no order.
    pub fn names(&self) -> impl Iterator<Item = &'a str> {
        self.rows.keys().filter_map(|name| std::str::from_utf8(name).ok())
    }
}

/// The dynamic variables that `wanted` takes by name.
pub(crate) fn dynamic<'a, H, R>(data: R, wanted: &dyn Fn(&[u8]) -> bool) -> Option<Variables<'a>>
where
    H: FileHeader<Endian = Endianness>,
    R: ReadRef<'a>,
{
    let sections = Sections::<H, R>::read(H::parse(data).ok()?, data).ok()?;
    let table = sections.table.symbols(sections.endian, data, SHT_DYNSYM).ok()?;
    let names = sections.names_of(&table);
    let found = table.enumerate().filter_map(|(index, symbol)| {
        if symbol.st_type() != STT_OBJECT {
            return None;
        }
        let name = name_at(names, symbol.st_name(sections.endian));
        wanted(name).then(|| place(&sections, &table, index, name))?
    });
    Some(values(&sections, found.take(MOST).collect()))
}

/// One variable of the full table, by its whole name. The names are searched as one text: no symbol is looked at
/// before it is known that the name occurs.
pub(crate) fn full<'a, H, R>(data: R, name: &str) -> Option<Variables<'a>>
where
    H: FileHeader<Endian = Endianness>,
    R: ReadRef<'a>,
{
    let sections = Sections::<H, R>::read(H::parse(data).ok()?, data).ok()?;
    let table = sections.table.symbols(sections.endian, data, SHT_SYMTAB).ok()?;
    let names = sections.names_of(&table);
    let whole = [name.as_bytes(), b"\0"].concat();
    let starts: Vec<u32> = memmem::find_iter(names, &whole)
        .take(MOST_PLACES_OF_A_NAME)
        .filter_map(|start| u32::try_from(start).ok())
        .collect();
    if starts.is_empty() {
        return None;
    }
    let (index, symbol) = table.enumerate().find(|(_, symbol)| {
        symbol.st_type() == STT_OBJECT && starts.contains(&symbol.st_name(sections.endian))
    })?;
    let name = name_at(names, symbol.st_name(sections.endian));
    Some(values(&sections, vec![place(&sections, &table, index, name)?]))
}

fn place<'a, H, R>(
    sections: &Sections<'a, H, R>,
    table: &SymbolTable<'a, H, R>,
    index: SymbolIndex,
    name: &'a [u8],
) -> Option<Place<'a>>
where
    H: FileHeader<Endian = Endianness>,
    R: ReadRef<'a>,
{
    let endian = sections.endian;
    let symbol = table.symbol(index).ok()?;
    let section = table.symbol_section(endian, symbol, index).ok()??;
    let section = sections.table.section(section).ok()?;
    let size: u64 = symbol.st_size(endian).into();
    let address: u64 = symbol.st_value(endian).into();
    let inside = address.checked_sub(section.sh_addr(endian).into())?;
    let fits = inside.checked_add(size)? <= section.sh_size(endian).into();
    if size == 0 || size > LARGEST || !fits {
        return None;
    }
    if section.sh_type(endian) == SHT_NOBITS {
        return Some(Place { name, offset: None, size });
    }
    let start: u64 = section.sh_offset(endian).into();
    Some(Place { name, offset: Some(start.checked_add(inside)?), size })
}

fn values<'a, H, R>(sections: &Sections<'a, H, R>, mut places: Vec<Place<'a>>) -> Variables<'a>
where
    H: FileHeader<Endian = Endianness>,
    R: ReadRef<'a>,
{
    places.sort_by_key(|place| place.offset);
    let mut rows = HashMap::with_capacity(places.len());
    for group in places.chunk_by(|a, b| are_near(a, b)) {
        let piece = range_of(group).and_then(|range| {
            sections.data.read_bytes_at(range.start, range.end - range.start).ok()
        });
        let first = group.first().and_then(|place| place.offset);
        for place in group {
            let value = match (place.offset, first) {
                (Some(offset), Some(first)) => {
                    let start = (offset - first) as usize;
                    piece
                        .and_then(|piece| piece.get(start..start + place.size as usize))
                        .map(Value::Bytes)
                }
                _ => Some(Value::Zeros(place.size as usize)),
            };
            rows.extend(value.map(|value| (place.name, value)));
        }
    }
    Variables { rows, big_endian: sections.endian == Endianness::Big }
}

fn are_near(a: &Place<'_>, b: &Place<'_>) -> bool {
    match (a.offset, b.offset) {
        (Some(a), Some(b)) => b - a < NEAR,
        (None, None) => true,
        _ => false,
    }
}

/// What a group of places, sorted by offset, covers.
fn range_of(group: &[Place<'_>]) -> Option<Range<u64>> {
    let start = group.first()?.offset?;
    let end = group.iter().filter_map(|place| place.offset?.checked_add(place.size)).max()?;
    Some(start..end)
}
