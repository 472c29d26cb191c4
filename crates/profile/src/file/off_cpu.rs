//! Times off the CPU as columns: microseconds, each start as its distance from the one before. Files of earlier
//! versions have them among the markers.

use super::ChunkError;
use super::columns::{Reader, Writer};
use super::packed::{PackedTable, Packer};
use super::stored::InPieces;
use crate::tables::{MarkerKind, Markers, OffCpuTime, OffCpuTimes};

const THREAD: &str = "off_cpu.thread";
const DELTA: &str = "off_cpu.delta_us";
const LENGTH: &str = "off_cpu.length_us";
const TIMES: &str = "off_cpu.times";

impl InPieces for OffCpuTimes {
    const ROW_BYTES: usize = size_of::<OffCpuTime>();

    fn rows(&self) -> usize {
        self.len()
    }

    fn pack_columns(&self, out: &mut Packer) {
        let us = |column: &[u64]| column.iter().map(|ns| ns / 1000).collect::<Vec<u64>>();
        out.deltas("start_us", &us(&self.start_ns));
        out.values("thread", &self.thread);
        out.values("length_us", &us(&self.length_ns));
        out.values("times", &self.times);
    }

    fn unpack_columns(table: &PackedTable<'_>) -> Result<Self, ChunkError> {
        let ns = |column: Vec<u64>| column.into_iter().map(|us| us.saturating_mul(1000)).collect();
        Ok(Self {
            thread: table.column("thread")?,
            start_ns: ns(table.column("start_us")?),
            length_ns: ns(table.column("length_us")?),
            times: table.column("times")?,
        })
    }
}

pub(super) fn write(rows: &OffCpuTimes, out: &mut Writer) {
    let starts_us: Vec<u64> = rows.start_ns.iter().map(|ns| ns / 1000).collect();
    let before = std::iter::once(&0).chain(&starts_us);
    let deltas: Vec<u64> =
        starts_us.iter().zip(before).map(|(us, last)| us.saturating_sub(*last)).collect();
    let lengths: Vec<u64> = rows.length_ns.iter().map(|ns| ns / 1000).collect();
    out.column(THREAD.into(), &rows.thread);
    out.column(DELTA.into(), &deltas);
    out.column(LENGTH.into(), &lengths);
    out.column(TIMES.into(), &rows.times);
}

/// Reads them; takes those of an older file out of its markers.
pub(super) fn read(reader: &Reader<'_>, markers: &mut Markers) -> Result<OffCpuTimes, ChunkError> {
    if !reader.has_table("off_cpu") {
        return Ok(take_from(markers));
    }
    let mut start_us = 0u64;
    let start_ns = reader.column::<u64>(DELTA)?.into_iter().map(|delta| {
        start_us = start_us.saturating_add(delta);
        start_us.saturating_mul(1000)
    });
    let lengths = reader.column::<u64>(LENGTH)?;
    Ok(OffCpuTimes {
        thread: reader.column(THREAD)?,
        start_ns: start_ns.collect(),
        length_ns: lengths.into_iter().map(|us| us.saturating_mul(1000)).collect(),
        times: reader.column(TIMES)?,
    })
}

fn take_from(markers: &mut Markers) -> OffCpuTimes {
    let mut found = OffCpuTimes::default();
    let is_whole = markers.columns_are_equally_long();
    if !is_whole || !markers.kind.contains(&MarkerKind::OffCpu) {
        return found;
    }
    let all = std::mem::take(markers);
    let mut rows = Vec::new();
    for row in all.ids().map(|id| all.row(id)) {
        if row.kind == MarkerKind::OffCpu {
            let (thread, start_ns) = (row.thread, row.start_ns);
            let length_ns = row.end_ns.saturating_sub(start_ns);
            rows.push(OffCpuTime { thread, start_ns, length_ns, times: 1 });
        } else {
            markers.push(row);
        }
    }
    rows.sort_by_key(|row| row.start_ns);
    for row in rows {
        found.push(row);
    }
    found
}
