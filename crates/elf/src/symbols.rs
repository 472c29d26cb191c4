//! The functions of a file, by address. Which names count, which of several aliases wins and how far a function
//! without a size reaches follows perf, so that two tools give one address one name.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use object::elf::{
    EM_AARCH64, EM_ARM, SHF_EXECINSTR, SHN_UNDEF, SHT_DYNSYM, SHT_SYMTAB, STB_GLOBAL, STB_WEAK,
    STT_FUNC, STT_GNU_IFUNC, STT_NOTYPE, STT_OBJECT, STV_HIDDEN, STV_INTERNAL, SymbolType,
};
use object::read::elf::{FileHeader, SectionHeader, SectionTable, Sym, SymbolTable};
use object::{Endianness, ReadRef, SectionIndex, SymbolIndex as SymbolNumber};

use crate::demangle::demangle;
use crate::plt;

/// A function, and what it covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol<'a> {
    /// The first address, as the file's tables count.
    pub start: u64,
    /// The first address behind it.
    pub end: u64,
    /// Its name.
    pub name: Cow<'a, str>,
}

/// All functions of a file. Names are not touched before they are asked for: most never are.
#[derive(Clone, Debug, Default)]
pub struct Symbols<'a> {
    index: Arc<SymbolIndex>,
    names: [&'a [u8]; 2],
}

/// Where the functions of a file are. It can be kept without the file, to be used with it again: see
/// [`crate::Elf::symbols_of`].
#[derive(Debug, Default)]
pub struct SymbolIndex {
    /// By start; those of one start in the order of the file.
    rows: Vec<Row>,
    /// For each row the furthest end so far: nothing before it reaches beyond.
    reach: Vec<u64>,
}

impl SymbolIndex {
    /// What it takes in memory.
    pub fn bytes(&self) -> u64 {
        (self.rows.capacity() * size_of::<Row>() + self.reach.capacity() * size_of::<u64>()) as u64
    }
}

/// A function whose name is still a place among the names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) name: u32,
    pub(crate) table: Table,
    pub(crate) rank: Rank,
}

/// What perf looks at first when names compete: a label is worse than a function, weak than strong, local
/// than global.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank {
    is_label: bool,
    is_weak: bool,
    is_local: bool,
}

/// Where a name stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Table {
    /// All functions, unless the file was stripped.
    Full,
    /// What the loader needs.
    Dynamic,
    /// A jump to the dynamic symbol of that name.
    Plt,
}

/// Real names are shorter; without a limit a table without zeros would be walked for every symbol.
const LONGEST_NAME: usize = 64 << 10;

const LONGEST_SECTION_NAME: usize = 64;

/// How many functions before an address are looked at for one that reaches over the others.
const MOST_NESTED: usize = 256;

/// What perf gives to a last function without a size.
const PAGE: u64 = 4096;

impl<'a> Symbols<'a> {
    /// Whether the file names nothing.
    pub fn is_empty(&self) -> bool {
        self.index.rows.is_empty()
    }

    /// How many names there are, aliases included.
    pub fn len(&self) -> usize {
        self.index.rows.len()
    }

    /// Whether only what the loader needs is left.
    pub fn is_stripped(&self) -> bool {
        self.names[0].is_empty()
    }

    /// Where the functions are, to be kept.
    pub fn index(&self) -> Arc<SymbolIndex> {
        Arc::clone(&self.index)
    }

    /// The innermost function at an address.
    pub fn find(&self, address: u64, demangled: bool) -> Option<Symbol<'a>> {
        self.finder(demangled).find(address).cloned()
    }

    /// For many addresses: in ascending order they cost little, because neighbours share a function.
    pub fn finder(&self, demangled: bool) -> Finder<'_, 'a> {
        Finder { symbols: self, demangled, last: None }
    }

    /// Every function under its best name, by address.
    pub fn iter(&self, demangled: bool) -> impl Iterator<Item = Symbol<'a>> + '_ {
        let groups = self.index.rows.chunk_by(|a, b| a.start == b.start);
        let mut at = 0;
        groups.filter_map(move |group| {
            let aliases = at..at + group.len();
            at = aliases.end;
            self.best_of(aliases, demangled)
        })
    }

    /// The rows that end before `end` and share one start.
    fn aliases_before(&self, end: usize) -> Range<usize> {
        let rows = &self.index.rows;
        let start = rows[end - 1].start;
        rows[..end].partition_point(|row| row.start < start)..end
    }

    fn best_of(&self, aliases: Range<usize>, demangled: bool) -> Option<Symbol<'a>> {
        let mut rows = self.index.rows[aliases].iter();
        let mut best = *rows.next()?;
        let mut best_name = None;
        for row in rows {
            let order = compare_shape(&best, row);
            if order == Ordering::Greater {
                (best, best_name) = (*row, None);
            } else if order == Ordering::Equal {
                let known = best_name.take().unwrap_or_else(|| self.name(&best, demangled));
                let name = self.name(row, demangled);
                if compare_names(&known, &name) == Ordering::Greater {
                    (best, best_name) = (*row, Some(name));
                } else {
                    best_name = Some(known);
                }
            }
        }
        let name = best_name.unwrap_or_else(|| self.name(&best, demangled));
        Some(Symbol { start: best.start, end: best.end, name })
    }

    fn name(&self, row: &Row, demangled: bool) -> Cow<'a, str> {
        let raw = name_at(self.names[usize::from(row.table != Table::Full)], row.name);
        let name = if demangled { demangle(raw) } else { String::from_utf8_lossy(raw) };
        if row.table == Table::Plt { Cow::Owned(name.into_owned() + "@plt") } else { name }
    }
}

/// Finds functions, and remembers the last one.
#[derive(Clone, Debug)]
pub struct Finder<'s, 'a> {
    symbols: &'s Symbols<'a>,
    demangled: bool,
    /// The first of the rows that compete for an address, and which won.
    last: Option<(usize, Symbol<'a>)>,
}

impl<'a> Finder<'_, 'a> {
    /// The innermost function at an address.
    pub fn find(&mut self, address: u64) -> Option<&Symbol<'a>> {
        let SymbolIndex { rows, reach } = &*self.symbols.index;
        let mut end = rows.partition_point(|row| row.start <= address);
        for _ in 0..MOST_NESTED {
            if end == 0 || reach[end - 1] <= address {
                return None;
            }
            let aliases = self.symbols.aliases_before(end);
            let first = aliases.start;
            if self.last.as_ref().is_none_or(|(last, _)| *last != first) {
                self.last = Some((first, self.symbols.best_of(aliases, self.demangled)?));
            }
            if self.last.as_ref().is_some_and(|(_, symbol)| address < symbol.end) {
                return self.last.as_ref().map(|(_, symbol)| symbol);
            }
            end = first;
        }
        None
    }
}

/// A name with a size comes first, then by rank.
fn compare_shape(a: &Row, b: &Row) -> Ordering {
    let is_empty = |row: &Row| row.start == row.end;
    is_empty(a).cmp(&is_empty(b)).then(a.rank.cmp(&b.rank))
}

/// Fewer underscores in front, then the longer name, then the earlier one.
fn compare_names(a: &str, b: &str) -> Ordering {
    let underscores = |name: &str| name.bytes().take_while(|byte| *byte == b'_').count();
    underscores(a).cmp(&underscores(b)).then(b.len().cmp(&a.len()))
}

pub(crate) fn name_at(names: &[u8], at: u32) -> &[u8] {
    let rest = names.get(at as usize..).unwrap_or_default();
    let rest = &rest[..rest.len().min(LONGEST_NAME)];
    &rest[..memchr::memchr(0, rest).unwrap_or(rest.len())]
}

/// The sections of a file, and what is needed to read them.
pub(crate) struct Sections<'a, H: FileHeader, R: ReadRef<'a>> {
    pub(crate) table: SectionTable<'a, H, R>,
    names: &'a [u8],
    pub(crate) endian: Endianness,
    pub(crate) data: R,
}

impl<'a, H: FileHeader<Endian = Endianness>, R: ReadRef<'a>> Sections<'a, H, R> {
    pub(crate) fn read(header: &H, data: R) -> object::read::Result<Self> {
        let endian = header.endian()?;
        let table = header.sections(endian, data)?;
        let names = header.shstrndx(endian, data).ok().map(|index| SectionIndex(index as usize));
        let names = names.and_then(|index| table.section(index).ok()?.data(endian, data).ok());
        Ok(Self { table, names: names.unwrap_or_default(), endian, data })
    }

    pub(crate) fn by_name(&self, name: &[u8]) -> Option<&'a H::SectionHeader> {
        self.table.iter().find(|section| self.name(section) == name)
    }

    fn name(&self, section: &H::SectionHeader) -> &'a [u8] {
        let rest = self.names.get(section.sh_name(self.endian) as usize..).unwrap_or_default();
        name_at(&rest[..rest.len().min(LONGEST_SECTION_NAME)], 0)
    }

    /// The names of a table of symbols.
    pub(crate) fn names_of(&self, symbols: &SymbolTable<'a, H, R>) -> &'a [u8] {
        let section = self.table.section(symbols.string_section()).ok();
        section.and_then(|section| section.data(self.endian, self.data).ok()).unwrap_or_default()
    }
}

/// The address of a variable.
pub(crate) fn address_of_variable<'a, H, R>(data: R, wanted: &dyn Fn(&[u8]) -> bool) -> Option<u64>
where
    H: FileHeader<Endian = Endianness>,
    R: ReadRef<'a>,
{
    let sections = Sections::read(H::parse(data).ok()?, data).ok()?;
    let endian = sections.endian;
    [SHT_SYMTAB, SHT_DYNSYM].into_iter().find_map(|kind| {
        let table = sections.table.symbols(endian, data, kind).ok()?;
        let names = sections.names_of(&table);
        let is_it = |symbol: &&H::Sym| {
            symbol.st_type() == STT_OBJECT && wanted(name_at(names, symbol.st_name(endian)))
        };
        table.iter().find(is_it).map(|symbol| symbol.st_value(endian).into())
    })
}

/// Where functions of some names are, by the full table of symbols.
pub(crate) fn ranges_of_functions<'a, H, R>(data: R, wanted: &[&str]) -> Option<Vec<Range<u64>>>
where
    H: FileHeader<Endian = Endianness>,
    R: ReadRef<'a>,
{
    let found = named::<H, R>(data, wanted)?.into_iter();
    Some(found.filter(|(_, kind, _)| *kind == STT_FUNC).map(|(.., range)| range).collect())
}

/// Where the variables and functions of some names are, by the full table of symbols: none where a name is missing, or
/// occurs more than once.
pub(crate) fn places_of<'a, H, R>(data: R, wanted: &[&str]) -> Option<Vec<Option<Range<u64>>>>
where
    H: FileHeader<Endian = Endianness>,
    R: ReadRef<'a>,
{
    let mut found: Vec<Vec<Range<u64>>> = vec![Vec::new(); wanted.len()];
    for (row, _, range) in named::<H, R>(data, wanted)? {
        found[row].push(range);
    }
    let only = |mut places: Vec<Range<u64>>| places.pop().filter(|_| places.is_empty());
    Some(found.into_iter().map(only).collect())
}

/// The variables and functions of some names in the full table of symbols: the row of the name, the type, and where it
/// is.
fn named<'a, H, R>(data: R, wanted: &[&str]) -> Option<Vec<(usize, SymbolType, Range<u64>)>>
where
    H: FileHeader<Endian = Endianness>,
    R: ReadRef<'a>,
{
    let sections = Sections::read(H::parse(data).ok()?, data).ok()?;
    let endian = sections.endian;
    let table = sections.table.symbols(endian, data, SHT_SYMTAB).ok()?;
    let names = sections.names_of(&table);
    let found = |symbol: &H::Sym| {
        let kind = Some(symbol.st_type()).filter(|kind| matches!(*kind, STT_OBJECT | STT_FUNC))?;
        let name = name_at(names, symbol.st_name(endian));
        let row = wanted.iter().position(|wanted| wanted.as_bytes() == name)?;
        let start: u64 = symbol.st_value(endian).into();
        let range = start..start.saturating_add(symbol.st_size(endian).into());
        Some((row, kind, range))
    };
    Some(table.iter().filter_map(found).collect())
}

/// The address of a function that other files may call.
pub(crate) fn address_of_exported<'a, H, R>(data: R, name: &[u8]) -> Option<u64>
where
    H: FileHeader<Endian = Endianness>,
    R: ReadRef<'a>,
{
    let sections = Sections::read(H::parse(data).ok()?, data).ok()?;
    let endian = sections.endian;
    let table = sections.table.symbols(endian, data, SHT_DYNSYM).ok()?;
    let names = sections.names_of(&table);
    let is_it = |symbol: &&H::Sym| {
        symbol.st_type() == STT_FUNC
            && symbol.st_shndx(endian) != SHN_UNDEF
            && name_at(names, symbol.st_name(endian)) == name
    };
    table.iter().find(is_it).map(|symbol| symbol.st_value(endian).into())
}

pub(crate) fn read<'a, H, R>(data: R) -> object::read::Result<Symbols<'a>>
where
    H: FileHeader<Endian = Endianness>,
    R: ReadRef<'a>,
{
    let header = H::parse(data)?;
    let sections = Sections::read(header, data)?;
    let endian = sections.endian;
    let machine = header.e_machine(endian);
    let is_arm = [EM_ARM, EM_AARCH64].contains(&machine);
    let mut rows = Vec::new();
    let names = names_of_tables(&sections, |table, found, names| {
        let reader = Reader { sections: &sections, is_arm, names, table };
        reader.read(found, &mut rows);
    });
    // Stable: aliases keep the order of the file.
    rows.sort_by_key(|row| row.start);
    drop_inner_labels(&mut rows);
    settle_ends(&mut rows);
    rows.extend(plt::rows(machine, &sections));
    rows.sort_by_key(|row| row.start);
    let mut reach: Vec<u64> = rows.iter().map(|row| row.end).collect();
    for row in 1..reach.len() {
        reach[row] = reach[row].max(reach[row - 1]);
    }
    Ok(Symbols { index: Arc::new(SymbolIndex { rows, reach }), names })
}

/// The functions of a file whose index is known.
pub(crate) fn attach<'a, H, R>(
    data: R,
    index: &Arc<SymbolIndex>,
) -> object::read::Result<Symbols<'a>>
where
    H: FileHeader<Endian = Endianness>,
    R: ReadRef<'a>,
{
    let sections = Sections::<H, R>::read(H::parse(data)?, data)?;
    Ok(Symbols { index: Arc::clone(index), names: names_of_tables(&sections, |_, _, _| {}) })
}

/// The names of both tables; `each` gets every table that can be read.
fn names_of_tables<'a, H, R>(
    sections: &Sections<'a, H, R>,
    mut each: impl FnMut(Table, &SymbolTable<'a, H, R>, &'a [u8]),
) -> [&'a [u8]; 2]
where
    H: FileHeader<Endian = Endianness>,
    R: ReadRef<'a>,
{
    [(SHT_SYMTAB, Table::Full), (SHT_DYNSYM, Table::Dynamic)].map(|(kind, table)| {
        // One damaged table does not spoil the other.
        let Ok(found) = sections.table.symbols(sections.endian, sections.data, kind) else {
            return &[][..];
        };
        let names = sections.names_of(&found);
        each(table, &found, names);
        names
    })
}

/// Takes the functions out of one table.
struct Reader<'a, 's, H: FileHeader, R: ReadRef<'a>> {
    sections: &'s Sections<'a, H, R>,
    is_arm: bool,
    names: &'a [u8],
    table: Table,
}

impl<'a, H: FileHeader<Endian = Endianness>, R: ReadRef<'a>> Reader<'a, '_, H, R> {
    fn read(&self, table: &SymbolTable<'a, H, R>, rows: &mut Vec<Row>) {
        let holds_code: Vec<(bool, bool)> =
            self.sections.table.iter().map(|section| self.section_kind(section)).collect();
        let kind = |index: SymbolNumber, symbol: &H::Sym| {
            let section = table.symbol_section(self.sections.endian, symbol, index).ok()??;
            holds_code.get(section.0).copied()
        };
        rows.extend(table.enumerate().filter_map(|(index, symbol)| {
            let name = symbol.st_name(self.sections.endian);
            let (executable, is_text) = kind(index, symbol).filter(|_| name != 0)?;
            let is_label = symbol.st_type() == STT_NOTYPE;
            let counts = executable
                && if is_label { is_text && self.is_label(symbol) } else { is_code(symbol) };
            (counts && !self.marks_arm_code(name)).then(|| self.row(symbol, is_label))
        }));
    }

    fn row(&self, symbol: &H::Sym, is_label: bool) -> Row {
        let start: u64 = symbol.st_value(self.sections.endian).into();
        let size: u64 = symbol.st_size(self.sections.endian).into();
        let rank = Rank {
            is_label,
            is_weak: symbol.st_bind() == STB_WEAK,
            is_local: symbol.st_bind() != STB_GLOBAL,
        };
        let (end, name) = (start.saturating_add(size), symbol.st_name(self.sections.endian));
        Row { start, end, name, table: self.table, rank }
    }

    /// Whether a section holds code, and whether its name marks code: perf takes labels from the latter only.
    fn section_kind(&self, section: &H::SectionHeader) -> (bool, bool) {
        let executable = section.sh_flags(self.sections.endian).0 & SHF_EXECINSTR.0 != 0;
        let name = self.sections.name(section);
        (executable, executable && name.windows(4).any(|part| part == b"text"))
    }

    fn is_label(&self, symbol: &H::Sym) -> bool {
        ![STV_HIDDEN, STV_INTERNAL].contains(&symbol.st_visibility())
    }

    /// `$x` and `$d` mark where code and data begin; they name nothing.
    fn marks_arm_code(&self, name: u32) -> bool {
        self.is_arm
            && matches!(name_at(self.names, name), [b'$', b'a' | b'd' | b't' | b'x', rest @ ..] if rest.first().is_none_or(|next| *next == b'.'))
    }
}

/// Data among the code counts, too: an address inside it is no part of the function before.
fn is_code(symbol: &impl Sym) -> bool {
    [STT_FUNC, STT_GNU_IFUNC, STT_OBJECT].contains(&symbol.st_type())
}

/// A label inside a function is a place to jump to, such as where V8 comes back from deoptimised code.
fn drop_inner_labels(rows: &mut Vec<Row>) {
    let mut reach = 0;
    rows.retain(|row| {
        let is_inner = row.rank.is_label && row.start == row.end && row.start < reach;
        if !row.rank.is_label {
            reach = reach.max(row.end);
        }
        !is_inner
    });
}

/// A function without a size reaches to the next one.
fn settle_ends(rows: &mut [Row]) {
    for row in 1..rows.len() {
        let next = rows[row].start;
        let before = &mut rows[row - 1];
        if before.end == before.start {
            before.end = next;
        }
    }
    if let Some(last) = rows.last_mut().filter(|last| last.end == last.start) {
        last.end =
            last.start.checked_next_multiple_of(PAGE).unwrap_or(u64::MAX).saturating_add(PAGE);
    }
}

impl Rank {
    /// No other symbol competes with a jump.
    pub(crate) const PLT: Self = Self { is_label: true, is_weak: true, is_local: true };
}
