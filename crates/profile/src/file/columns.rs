//! Columns as little-endian bytes behind a directory: what a page can view as typed arrays.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::ChunkError;
use crate::category::{CallKind, Category, Tier};
use crate::ids::{
    FrameId, FunctionId, ModuleId, ProcessId, RowId, SourceId, StackId, StringId, ThreadId,
};
use crate::tables::{MarkerKind, TurnKind};

/// Where a column's bytes stand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) name: String,
    #[serde(rename = "type")]
    pub(super) kind: Kind,
    /// From the start of the column area, a multiple of 8.
    pub(super) offset: u64,
    /// In values, not in bytes.
    pub(super) length: u64,
}

/// The type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    U8,
    U32,
    U64,
}

impl Kind {
    fn width(self) -> u64 {
        match self {
            Kind::U8 => 1,
            Kind::U32 => 4,
            Kind::U64 => 8,
        }
    }
}

/// A type that has a fixed width in a column.
pub(super) trait Value: Sized {
    const KIND: Kind;
    const WIDTH: usize;
    fn put(&self, out: &mut Vec<u8>);
    /// `None` when the bytes mean nothing.
    fn get(bytes: &[u8]) -> Option<Self>;
    /// The value as a signed number, which a packed column has. "None" and "not known" are -1.
    fn number(&self) -> i64;
    /// `None` when the number means nothing.
    fn of_number(number: i64) -> Option<Self>;
}

impl Value for u64 {
    const KIND: Kind = Kind::U64;
    const WIDTH: usize = 8;
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }
    fn get(bytes: &[u8]) -> Option<Self> {
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    }
    fn number(&self) -> i64 {
        self.cast_signed()
    }
    fn of_number(number: i64) -> Option<Self> {
        Some(number.cast_unsigned())
    }
}

impl Value for u32 {
    const KIND: Kind = Kind::U32;
    const WIDTH: usize = 4;
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }
    fn get(bytes: &[u8]) -> Option<Self> {
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    }
    fn number(&self) -> i64 {
        if *self == u32::MAX { -1 } else { i64::from(*self) }
    }
    fn of_number(number: i64) -> Option<Self> {
        if number == -1 { Some(u32::MAX) } else { u32::try_from(number).ok() }
    }
}

macro_rules! id_values {
    ($($id:ident),*) => {$(
        impl Value for $id {
            const KIND: Kind = Kind::U32;
            const WIDTH: usize = 4;
            fn put(&self, out: &mut Vec<u8>) {
                self.0.put(out);
            }
            fn get(bytes: &[u8]) -> Option<Self> {
                u32::get(bytes).map($id)
            }
            fn number(&self) -> i64 {
                self.0.number()
            }
            fn of_number(number: i64) -> Option<Self> {
                u32::of_number(number).map($id)
            }
        }
    )*};
}
id_values!(StringId, SourceId, ModuleId, FunctionId, FrameId, StackId, ProcessId, ThreadId, RowId);

macro_rules! byte_values {
    ($($type:ident),*) => {$(
        impl Value for $type {
            const KIND: Kind = Kind::U8;
            const WIDTH: usize = 1;
            fn put(&self, out: &mut Vec<u8>) {
                out.push(*self as u8);
            }
            fn get(bytes: &[u8]) -> Option<Self> {
                $type::from_u8(*bytes.first()?)
            }
            fn number(&self) -> i64 {
                i64::from(*self as u8)
            }
            fn of_number(number: i64) -> Option<Self> {
                $type::from_u8(u8::try_from(number).ok()?)
            }
        }
    )*};
}
byte_values!(Category, CallKind, Tier, MarkerKind, TurnKind);

impl Value for bool {
    const KIND: Kind = Kind::U8;
    const WIDTH: usize = 1;
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }
    fn get(bytes: &[u8]) -> Option<Self> {
        match bytes.first()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
    fn number(&self) -> i64 {
        i64::from(*self)
    }
    fn of_number(number: i64) -> Option<Self> {
        Self::get(&[u8::try_from(number).ok()?])
    }
}

/// Collects columns for writing.
#[derive(Default)]
pub(super) struct Writer {
    pub(super) directory: Vec<Entry>,
    pub(super) bytes: Vec<u8>,
}

impl Writer {
    pub(super) fn column<V: Value>(&mut self, name: String, values: &[V]) {
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        let (offset, length) = (self.bytes.len() as u64, values.len() as u64);
        self.directory.push(Entry { name, kind: V::KIND, offset, length });
        self.bytes.reserve(values.len() * V::WIDTH);
        for value in values {
            value.put(&mut self.bytes);
        }
    }
}

/// Finds columns for reading.
pub(super) struct Reader<'a> {
    directory: FxHashMap<&'a str, &'a Entry>,
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Refuses columns that share their bytes: a few of them, named often, would fill any memory.
    pub(super) fn new(directory: &'a [Entry], bytes: &'a [u8]) -> Result<Self, ChunkError> {
        let lengths = directory.iter().map(|entry| entry.length.saturating_mul(entry.kind.width()));
        if lengths.fold(0, u64::saturating_add) > bytes.len() as u64 {
            return Err(ChunkError::Directory);
        }
        Ok(Self {
            directory: directory.iter().map(|entry| (entry.name.as_str(), entry)).collect(),
            bytes,
        })
    }

    /// Whether any column of a table is there: files of before it was invented have none.
    pub(super) fn has_table(&self, prefix: &str) -> bool {
        self.directory
            .keys()
            .any(|name| name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('.')))
    }

    pub(super) fn column<V: Value>(&self, name: &str) -> Result<Vec<V>, ChunkError> {
        self.find(name).ok_or_else(|| ChunkError::Column(name.to_owned()))
    }

    /// A column that older files lack: each row has the usual value then.
    pub(super) fn column_or<V: Value + Copy>(
        &self,
        name: &str,
        (usual, rows): (V, usize),
    ) -> Result<Vec<V>, ChunkError> {
        match self.directory.contains_key(name) {
            true => self.column(name),
            false => Ok(vec![usual; rows]),
        }
    }

    fn find<V: Value>(&self, name: &str) -> Option<Vec<V>> {
        let entry = self.directory.get(name).filter(|entry| entry.kind == V::KIND)?;
        let start = usize::try_from(entry.offset).ok()?;
        let length = usize::try_from(entry.length).ok()?.checked_mul(V::WIDTH)?;
        let bytes = self.bytes.get(start..start.checked_add(length)?)?;
        bytes.chunks_exact(V::WIDTH).map(V::get).collect()
    }
}
