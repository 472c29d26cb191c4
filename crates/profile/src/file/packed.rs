//! Columns of a chunk that continues a recording: signed numbers of 7 bits a byte, as themselves or as differences to
//! the row before. A chunk of a second has few rows, so that both its columns and its directory have to be short.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ChunkError;
use super::columns::Value;

/// A table's rows in the directory. The columns stand one behind another: first those of differences, then the others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TableEntry {
    name: String,
    rows: usize,
    #[serde(default)]
    deltas: Vec<String>,
    #[serde(default)]
    values: Vec<String>,
}

/// Collects tables for writing. Columns of differences come before others.
#[derive(Default)]
pub(super) struct Packer {
    pub(super) directory: Vec<TableEntry>,
    pub(super) bytes: Vec<u8>,
}

impl Packer {
    /// Begins a table, to which the next columns belong.
    pub(super) fn table(&mut self, name: &str, rows: usize) {
        self.directory.push(TableEntry { name: name.to_owned(), rows, ..TableEntry::default() });
    }

    /// A column of differences: for times, and for ids that mostly grow.
    pub(super) fn deltas<V: Value>(&mut self, column: &str, values: &[V]) {
        let mut last = 0;
        for value in values {
            let number = value.number();
            put(number.wrapping_sub(last), &mut self.bytes);
            last = number;
        }
        self.directory
            .last_mut()
            .into_iter()
            .for_each(|table| table.deltas.push(column.to_owned()));
    }

    pub(super) fn values<V: Value>(&mut self, column: &str, values: &[V]) {
        for value in values {
            put(value.number(), &mut self.bytes);
        }
        self.directory
            .last_mut()
            .into_iter()
            .for_each(|table| table.values.push(column.to_owned()));
    }
}

impl Packer {
    /// Forgets the tables that have no rows.
    pub(super) fn drop_empty(&mut self) {
        self.directory.retain(|table| table.rows > 0);
    }
}

/// Small numbers, whatever their sign, take few bytes: 0, -1, 1, -2 … become 0, 1, 2, 3 …
fn put(number: i64, out: &mut Vec<u8>) {
    let mut rest = (number << 1 ^ number >> 63) as u64;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Takes a number off the front; `None` where there is none.
fn take(bytes: &mut &[u8]) -> Option<i64> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = u64::from(byte & 0x7f);
        if shift == 63 && bits > 1 {
            return None;
        }
        number |= bits << shift;
        if byte & 0x80 == 0 {
            return Some((number >> 1) as i64 ^ -((number & 1) as i64));
        }
    }
    None
}

/// The tables of a chunk, for reading.
#[derive(Default)]
pub(super) struct Packed<'a> {
    tables: BTreeMap<&'a str, PackedTable<'a>>,
}

/// A table's columns.
#[derive(Default)]
pub(super) struct PackedTable<'a> {
    name: &'a str,
    rows: usize,
    columns: BTreeMap<&'a str, PackedColumn<'a>>,
}

struct PackedColumn<'a> {
    has_deltas: bool,
    bytes: &'a [u8],
}

impl<'a> Packed<'a> {
    /// Finds the columns, also of tables that this version does not know, and takes their bytes off the front.
    pub(super) fn new(
        directory: &'a [TableEntry],
        bytes: &mut &'a [u8],
    ) -> Result<Self, ChunkError> {
        let mut packed = Self::default();
        for entry in directory {
            let mut table =
                PackedTable { name: &entry.name, rows: entry.rows, ..PackedTable::default() };
            let deltas = entry.deltas.iter().map(|name| (name, true));
            for (name, has_deltas) in deltas.chain(entry.values.iter().map(|name| (name, false))) {
                let bytes = take_column(bytes, entry.rows).ok_or(ChunkError::Directory)?;
                if table.columns.insert(name, PackedColumn { has_deltas, bytes }).is_some() {
                    return Err(ChunkError::Column(format!("{}.{name}", entry.name)));
                }
            }
            if packed.tables.insert(&entry.name, table).is_some() {
                return Err(ChunkError::Column(entry.name.clone()));
            }
        }
        Ok(packed)
    }

    /// A table; `None` where the chunk has no row of it.
    pub(super) fn table(&self, name: &str) -> Option<&PackedTable<'a>> {
        self.tables.get(name).filter(|table| table.rows > 0)
    }

    /// The tables whose names begin with `prefix`, with the rest of each name.
    pub(super) fn tables_of(
        &self,
        prefix: &str,
    ) -> impl Iterator<Item = (&'a str, &PackedTable<'a>)> {
        let tables = self.tables.iter().filter(|(_, table)| table.rows > 0);
        tables.filter_map(move |(name, table)| Some((name.strip_prefix(prefix)?, table)))
    }
}

impl PackedTable<'_> {
    /// How many rows it has: not more than it has bytes.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// A column that is left out where each row has the usual value.
    pub(super) fn column_or<V: Value + Copy>(
        &self,
        name: &str,
        usual: V,
    ) -> Result<Vec<V>, ChunkError> {
        match self.columns.contains_key(name) {
            true => self.column(name),
            false => Ok(vec![usual; self.rows]),
        }
    }

    pub(super) fn column<V: Value>(&self, name: &str) -> Result<Vec<V>, ChunkError> {
        let error = || ChunkError::Column(format!("{}.{name}", self.name));
        let column = self.columns.get(name).ok_or_else(error)?;
        let mut bytes = column.bytes;
        let mut values = Vec::with_capacity(self.rows);
        let mut last = 0i64;
        for _ in 0..self.rows {
            let number = take(&mut bytes).ok_or_else(error)?;
            last = if column.has_deltas { last.wrapping_add(number) } else { number };
            values.push(V::of_number(last).ok_or_else(error)?);
        }
        Ok(values)
    }
}

/// The bytes of that many numbers. Each has one byte that ends it, so that a claim of too many rows finds no end.
fn take_column<'a>(bytes: &mut &'a [u8], rows: usize) -> Option<&'a [u8]> {
    if rows == 0 {
        return Some(&[]);
    }
    let mut ends = bytes.iter().enumerate().filter(|(_, byte)| **byte < 0x80);
    let (last, _) = ends.nth(rows - 1)?;
    let (column, rest) = bytes.split_at(last + 1);
    *bytes = rest;
    Some(column)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive() {
        for number in
            [0, 1, -1, 63, 64, -64, -65, 8191, 8192, i64::MAX, i64::MIN, 1 << 62, u32::MAX.into()]
        {
            let mut bytes = Vec::new();
            put(number, &mut bytes);
            let mut rest = &bytes[..];
            assert_eq!(take(&mut rest), Some(number));
            assert!(rest.is_empty());
            assert_eq!(take(&mut &bytes[..bytes.len() - 1]), None, "{number} without its end");
        }
        assert_eq!(take(&mut &[0xff; 20][..]), None, "no end");
        let too_large = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02];
        assert_eq!(take(&mut &too_large[..]), None);
    }

    #[test]
    fn none_is_short() {
        let mut packer = Packer::default();
        packer.table("x", 2);
        packer.values("a", &[crate::StringId::NONE, crate::StringId(3)]);
        packer.values("b", &[u64::MAX, 1 << 63]);
        assert_eq!(packer.bytes[..3], [1, 6, 1]);
        let mut bytes = &packer.bytes[..];
        let packed = Packed::new(&packer.directory, &mut bytes).unwrap_or_default();
        let table = packed.table("x").map(|table| (table.column("a").ok(), table.column("b").ok()));
        let a = vec![crate::StringId::NONE, crate::StringId(3)];
        assert_eq!(table, Some((Some(a), Some(vec![u64::MAX, 1 << 63]))));
    }
}
