//! The jumps to functions of other files. No table names them; the relocations show, in their order, which
//! function each one leads to.

use object::elf::{EM_AARCH64, EM_ARM, Machine, SHT_REL, SHT_RELA};
use object::read::elf::{FileHeader, Rel, Rela, SectionHeader, Sym};
use object::{Endianness, ReadRef};

use crate::symbols::{Rank, Row, Sections, Table};

/// How the jumps of a section stand: what comes before the first one, and the size of each.
struct Layout {
    head: u64,
    entry: u64,
}

/// The jumps, named after the dynamic symbols.
pub(crate) fn rows<'a, H, R>(machine: Machine, sections: &Sections<'a, H, R>) -> Vec<Row>
where
    H: FileHeader<Endian = Endianness>,
    R: ReadRef<'a>,
{
    let names = names_of_jumps(sections).unwrap_or_default();
    let endian = sections.endian;
    // With .plt.sec the calls go there, and .plt holds what runs once.
    let (section, is_second) = match (sections.by_name(b".plt.sec"), sections.by_name(b".plt")) {
        (Some(second), _) => (second, true),
        (None, Some(first)) => (first, false),
        (None, None) => return Vec::new(),
    };
    let entry = section.sh_entsize(endian).into();
    let layout = if is_second { Layout { head: 0, entry: 16 } } else { layout(machine, entry) };
    let (first, size): (u64, u64) =
        (section.sh_addr(endian).into(), section.sh_size(endian).into());
    let jump = |(row, name): (usize, Option<u32>)| {
        let offset = layout.head.checked_add(layout.entry.checked_mul(row as u64)?)?;
        let start = first.checked_add(offset)?;
        let end = start.checked_add(layout.entry)?;
        (offset < size).then_some(Row {
            start,
            end,
            name: name?,
            table: Table::Plt,
            rank: Rank::PLT,
        })
    };
    names.into_iter().enumerate().filter_map(jump).collect()
}

/// The assemblers of ARM write no size of an entry.
fn layout(machine: Machine, entry: u64) -> Layout {
    match machine {
        EM_AARCH64 => Layout { head: 32, entry: 16 },
        EM_ARM => Layout { head: 20, entry: 12 },
        _ if entry == 0 => Layout { head: 16, entry: 16 },
        _ => Layout { head: entry, entry },
    }
}

/// For each relocation the place of its name among the dynamic names. One without a symbol (an indirect
/// function) takes up a jump all the same.
fn names_of_jumps<'a, H, R>(sections: &Sections<'a, H, R>) -> Option<Vec<Option<u32>>>
where
    H: FileHeader<Endian = Endianness>,
    R: ReadRef<'a>,
{
    let (endian, data) = (sections.endian, sections.data);
    let section = sections.by_name(b".rela.plt").or_else(|| sections.by_name(b".rel.plt"))?;
    let symbols = match section.sh_type(endian) {
        SHT_RELA => {
            let (rows, _) = section.rela(endian, data).ok()??;
            rows.iter().map(|row| row.r_sym(endian, false)).collect::<Vec<u32>>()
        }
        SHT_REL => {
            let (rows, _) = section.rel(endian, data).ok()??;
            rows.iter().map(|row| row.r_sym(endian)).collect()
        }
        _ => return None,
    };
    let table = sections.table.symbol_table_by_index(endian, data, section.link(endian)).ok()?;
    let name = |symbol: &u32| {
        let symbol = table.symbols().get(*symbol as usize).filter(|_| *symbol != 0)?;
        Some(symbol.st_name(endian)).filter(|name| *name != 0)
    };
    Some(symbols.iter().map(name).collect())
}
