//! Which columns of each table are stored: once, for whole profiles and for chunks that continue one.

use super::ChunkError;
use super::columns::{Reader, Writer};
use super::packed::{Packed, PackedTable, Packer};
use crate::category::CallKind;
use crate::ids::{StackId, StringId};
use crate::tables::{
    Delay, Delays, Frame, Frames, Function, Functions, LineTick, LineTicks, LongTurn, LongTurns,
    Loop, Loops, Marker, Markers, Pool, Pools, Sample, Samples, Second, Seconds, Stack, Stacks,
};

/// A table as whole profiles have it.
pub(super) trait Whole: Sized + Default {
    fn write(&self, table: &str, out: &mut Writer);
    fn read(table: &str, reader: &Reader<'_>) -> Result<Self, ChunkError>;
}

/// A table as chunks have it that continue a recording.
pub(super) trait InPieces: Sized + Default {
    /// What a row takes in memory.
    const ROW_BYTES: usize;
    /// How many rows it has.
    fn rows(&self) -> usize;
    /// Adds its columns to the table that was begun.
    fn pack_columns(&self, out: &mut Packer);
    fn unpack_columns(table: &PackedTable<'_>) -> Result<Self, ChunkError>;

    /// Packs it, if it has rows.
    fn pack(&self, table: &str, out: &mut Packer) {
        if self.rows() > 0 {
            out.table(table, self.rows());
            self.pack_columns(out);
        }
    }

    fn unpack(table: &str, packed: &Packed<'_>, most_bytes: &mut u64) -> Result<Self, ChunkError> {
        packed
            .table(table)
            .map_or_else(|| Ok(Self::default()), |table| Self::unpack_table(table, most_bytes))
    }

    /// Takes what its rows become from `most_bytes`, before any room is made for them.
    fn unpack_table(table: &PackedTable<'_>, most_bytes: &mut u64) -> Result<Self, ChunkError> {
        take_bytes(table.rows().saturating_mul(Self::ROW_BYTES), most_bytes)?;
        Self::unpack_columns(table)
    }
}

/// Takes memory from what there may be.
pub(super) fn take_bytes(bytes: usize, most_bytes: &mut u64) -> Result<(), ChunkError> {
    *most_bytes = most_bytes.checked_sub(bytes as u64).ok_or(ChunkError::TooLarge(*most_bytes))?;
    Ok(())
}

/// Lists the columns of a table; `deltas` are those that are packed as differences, and those in the end are left out
/// where each row has the usual value.
macro_rules! stored {
    ($table:ident of $row:ident {
        deltas: [$($delta:ident),*],
        values: [$($value:ident),*]
        $(, unless: [$($seldom:ident: $usual:expr),*])?
    }) => {
        impl Whole for $table {
            fn write(&self, table: &str, out: &mut Writer) {
                $(out.column(format!("{table}.{}", stringify!($delta)), &self.$delta);)*
                $(out.column(format!("{table}.{}", stringify!($value)), &self.$value);)*
                $($(if self.$seldom.iter().any(|value| *value != $usual) {
                    out.column(format!("{table}.{}", stringify!($seldom)), &self.$seldom);
                })*)?
            }

            fn read(table: &str, reader: &Reader<'_>) -> Result<Self, ChunkError> {
                let mut rows = Self::default();
                $(rows.$delta = reader.column(&format!("{table}.{}", stringify!($delta)))?;)*
                $(rows.$value = reader.column(&format!("{table}.{}", stringify!($value)))?;)*
                $($({
                    let name = format!("{table}.{}", stringify!($seldom));
                    rows.$seldom = reader.column_or(&name, ($usual, rows.len()))?;
                })*)?
                Ok(rows)
            }
        }

        impl InPieces for $table {
            const ROW_BYTES: usize = size_of::<$row>();

            fn rows(&self) -> usize {
                self.len()
            }

            fn pack_columns(&self, out: &mut Packer) {
                $(out.deltas(stringify!($delta), &self.$delta);)*
                $(out.values(stringify!($value), &self.$value);)*
                $($(if self.$seldom.iter().any(|value| *value != $usual) {
                    out.values(stringify!($seldom), &self.$seldom);
                })*)?
            }

            fn unpack_columns(table: &PackedTable<'_>) -> Result<Self, ChunkError> {
                Ok(Self {
                    $($delta: table.column(stringify!($delta))?,)*
                    $($value: table.column(stringify!($value))?,)*
                    $($($seldom: table.column_or(stringify!($seldom), $usual)?,)*)?
                })
            }
        }
    };
}

stored!(Functions of Function {
    deltas: [name, line],
    values: [source, column, module, package],
    unless: [version: StringId::NONE]
});
stored!(Frames of Frame { deltas: [function, symbol], values: [line, column, category, tier, inlined, address] });
stored!(Stacks of Stack {
    deltas: [parent, frame],
    values: [category],
    unless: [call: CallKind::Call, logical: StackId::NONE]
});
stored!(Samples of Sample { deltas: [time_ns], values: [thread, stack, weight] });
stored!(LineTicks of LineTick { deltas: [stack], values: [line, ticks] });
stored!(Markers of Marker { deltas: [start_ns, end_ns], values: [kind, thread, text] });
stored!(Loops of Loop { deltas: [start_ns, end_ns], values: [thread, polled_ns, turns, problem] });
stored!(LongTurns of LongTurn { deltas: [start_ns, end_ns], values: [kind, thread, run_ns, ready_ns, throttled_ns] });
stored!(Seconds of Second {
    deltas: [start_ns, end_ns],
    values: [
        process,
        run_ns,
        ready_ns,
        periods,
        throttled_periods,
        throttled_ns,
        cpu_pressure_ns,
        memory_pressure_ns
    ]
});
stored!(Delays of Delay { deltas: [start_ns, end_ns, delay_us], values: [thread, moments] });
stored!(Pools of Pool {
    deltas: [start_ns, end_ns],
    values: [
        process,
        threads,
        looks,
        busy,
        full,
        most_queued,
        queued_fs,
        queued_dns,
        queued_crypto,
        queued_zlib,
        queued_addon,
        queued_other
    ]
});
