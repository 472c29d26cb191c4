//! A chunk that continues a recording (`MORE`): the length of its JSON header, the header, then packed columns. It has only
//! what is new, so that most keys are missing in most chunks. Ids count over all chunks of the file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::header::{LaneHeader, lane_prefix};
use super::packed::{Packed, Packer, TableEntry};
use super::stored::InPieces;
use super::{ChunkError, u32_at};
use crate::builder::{Again, News};
use crate::ids::{LaneId, ProcessId, ThreadId};
use crate::model::Profile;
use crate::tables::{Module, Process, Samples, Source, Thread};

/// A header that is longer is no part of a recording: a second has some hundred new names.
const LONGEST_HEADER: usize = 8 << 20;
/// So many bytes of texts stand in one chunk; as JSON they are up to six times as long.
const MOST_TEXT: usize = 1 << 20;

/// The names of the columns with the numbers of rows that are told again.
const ROW: &str = "row";

/// What a chunk has, not checked.
pub(super) struct Piece {
    /// What changed in the recording's meta, as a patch; null for nothing.
    pub(super) meta: Value,
    /// The new rows. Its lanes are the new ones, without samples.
    pub(super) rows: Profile,
    pub(super) samples: Vec<(LaneId, Samples)>,
    pub(super) again: Again,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Header {
    #[serde(skip_serializing_if = "Value::is_null")]
    meta: Value,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    strings: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sources: Vec<Source>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    modules: Vec<Module>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    processes: Vec<Process>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    threads: Vec<Thread>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lanes: Vec<LaneHeader>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tables: Vec<TableEntry>,
    #[serde(skip_serializing_if = "AgainHeader::is_empty")]
    again: AgainHeader,
}

/// Rows of earlier chunks that have changed, by their numbers.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct AgainHeader {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    processes: BTreeMap<u32, Process>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    threads: BTreeMap<u32, Thread>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tables: Vec<TableEntry>,
}

impl AgainHeader {
    fn is_empty(&self) -> bool {
        self.processes.is_empty() && self.threads.is_empty() && self.tables.is_empty()
    }
}

impl Header {
    fn is_empty(&self) -> bool {
        let Self { meta, strings, sources, modules, processes, threads, lanes, tables, again } = self;
        let has_rows = !(strings.is_empty() && sources.is_empty() && modules.is_empty());
        let has_threads = !(processes.is_empty() && threads.is_empty() && lanes.is_empty());
        meta.is_null() && !has_rows && !has_threads && tables.is_empty() && again.is_empty()
    }

    /// What its rows take in memory, and those of the columns behind it.
    fn memory_bytes(&self) -> u64 {
        let rows = self.sources.len() + self.modules.len() + self.lanes.len();
        let rows = rows + self.processes.len() + self.threads.len();
        let rows = rows + self.again.processes.len() + self.again.threads.len();
        let strings: usize = self.strings.iter().map(|text| text.len() + size_of::<usize>()).sum();
        let tables = self.tables.iter().chain(&self.again.tables);
        let numbers = tables.fold(0usize, |sum, table| sum.saturating_add(table.numbers()));
        let small = rows * size_of::<Process>() + strings + nodes(&self.meta) * NODE;
        (small as u64).saturating_add((numbers as u64).saturating_mul(8))
    }
}

/// What a value takes in a tree of JSON.
const NODE: usize = 96;

fn nodes(value: &Value) -> usize {
    match value {
        Value::Object(map) => map.values().map(nodes).sum::<usize>() + 1,
        Value::Array(list) => list.iter().map(nodes).sum::<usize>() + 1,
        Value::String(text) => text.len() / NODE + 1,
        _ => 1,
    }
}

/// The payload of what is new, with that many lanes told before; `None` when nothing is.
pub(super) fn encode(news: &News, meta: Value, lanes: usize) -> Result<Option<Vec<u8>>, serde_json::Error> {
    let News { rows, again } = news;
    let mut tables = Packer::default();
    pack_rows(rows, &mut tables);
    let mut changed = Packer::default();
    pack_again(again, &mut changed);
    let header = Header {
        meta,
        strings: rows.strings.iter().map(str::to_owned).collect(),
        sources: rows.sources.clone(),
        modules: rows.modules.clone(),
        processes: rows.processes.clone(),
        threads: rows.threads.clone(),
        lanes: rows.lanes.iter().skip(lanes).map(LaneHeader::of).collect(),
        tables: tables.directory,
        again: AgainHeader {
            processes: again.processes.iter().map(|id| id.0).zip(again.rows.processes.clone()).collect(),
            threads: again.threads.iter().map(|id| id.0).zip(again.rows.threads.clone()).collect(),
            tables: changed.directory,
        },
    };
    if header.is_empty() {
        return Ok(None);
    }
    Ok(Some(payload(&header, &[tables.bytes, changed.bytes].concat())?))
}

/// Payloads with texts alone, where one chunk has no room for all that are new: takes these out of the news.
pub(super) fn encode_texts(rows: &mut Profile) -> Result<Vec<Vec<u8>>, serde_json::Error> {
    if rows.strings.iter().map(str::len).sum::<usize>() <= MOST_TEXT {
        return Ok(Vec::new());
    }
    let mut payloads = Vec::new();
    let mut header = Header::default();
    let mut length = 0;
    for text in std::mem::take(&mut rows.strings).iter() {
        if length + text.len() > MOST_TEXT && !header.strings.is_empty() {
            payloads.push(payload(&std::mem::take(&mut header), &[])?);
            length = 0;
        }
        length += text.len();
        header.strings.push(text.to_owned());
    }
    payloads.push(payload(&header, &[])?);
    Ok(payloads)
}

fn payload(header: &Header, columns: &[u8]) -> Result<Vec<u8>, serde_json::Error> {
    let json = serde_json::to_vec(header)?;
    let length = u32::try_from(json.len()).unwrap_or(u32::MAX);
    Ok([&length.to_le_bytes()[..], &json, columns].concat())
}

fn pack_rows(rows: &Profile, out: &mut Packer) {
    rows.functions.pack("functions", out);
    rows.frames.pack("frames", out);
    rows.stacks.pack("stacks", out);
    for (index, lane) in rows.lanes.iter().enumerate() {
        lane.samples.pack(&lane_prefix(index), out);
    }
    rows.line_ticks.pack("line_ticks", out);
    rows.markers.pack("markers", out);
    rows.loops.pack("loops", out);
    rows.long_turns.pack("long_turns", out);
    rows.seconds.pack("seconds", out);
    rows.off_cpu.pack("off_cpu", out);
}

fn pack_again(again: &Again, out: &mut Packer) {
    let Again { rows, loops, long_turns, off_cpu, .. } = again;
    out.table("loops", loops.len());
    out.deltas(ROW, loops);
    rows.loops.pack_columns(out);
    out.table("long_turns", long_turns.len());
    out.deltas(ROW, long_turns);
    rows.long_turns.pack_columns(out);
    out.table("off_cpu", off_cpu.len());
    out.deltas(ROW, off_cpu);
    rows.off_cpu.pack_columns(out);
    out.drop_empty();
}

/// Takes a payload apart. What it becomes is taken from `most_bytes`, before any room is made for it.
pub(super) fn decode(payload: &[u8], most_bytes: &mut u64) -> Result<Piece, ChunkError> {
    let length = u32_at(payload, 0).and_then(|length| usize::try_from(length).ok());
    let end = length.and_then(|length| length.checked_add(4)).ok_or(ChunkError::CutOff)?;
    if end > LONGEST_HEADER {
        return Err(ChunkError::LongHeader(end));
    }
    let header: Header = serde_json::from_slice(payload.get(4..end).ok_or(ChunkError::CutOff)?)?;
    *most_bytes = most_bytes.checked_sub(header.memory_bytes()).ok_or(ChunkError::Swells(*most_bytes))?;
    let mut bytes = payload.get(end..).unwrap_or_default();
    let tables = Packed::new(&header.tables, &mut bytes)?;
    let changed = Packed::new(&header.again.tables, &mut bytes)?;
    let samples = unpack_samples(&tables)?;
    let (mut rows, mut again) = (unpack_rows(&tables)?, unpack_again(&changed)?);
    let Header { meta, strings, sources, modules, processes, threads, lanes, again: retold, .. } = header;
    for text in &strings {
        rows.strings.push(text);
    }
    rows = Profile { sources, modules, processes, threads, ..rows };
    rows.lanes = lanes.iter().map(|lane| lane.lane(Samples::default())).collect();
    again.processes = retold.processes.keys().map(|row| ProcessId(*row)).collect();
    again.threads = retold.threads.keys().map(|row| ThreadId(*row)).collect();
    again.rows.processes = retold.processes.into_values().collect();
    again.rows.threads = retold.threads.into_values().collect();
    Ok(Piece { meta, rows, samples, again })
}

fn unpack_rows(packed: &Packed<'_>) -> Result<Profile, ChunkError> {
    Ok(Profile {
        functions: InPieces::unpack("functions", packed)?,
        frames: InPieces::unpack("frames", packed)?,
        stacks: InPieces::unpack("stacks", packed)?,
        line_ticks: InPieces::unpack("line_ticks", packed)?,
        markers: InPieces::unpack("markers", packed)?,
        loops: InPieces::unpack("loops", packed)?,
        long_turns: InPieces::unpack("long_turns", packed)?,
        seconds: InPieces::unpack("seconds", packed)?,
        off_cpu: InPieces::unpack("off_cpu", packed)?,
        ..Profile::default()
    })
}

fn unpack_samples(packed: &Packed<'_>) -> Result<Vec<(LaneId, Samples)>, ChunkError> {
    let lane = |(number, table): (&str, &_)| {
        let id = number.parse().map_err(|_| ChunkError::Column(format!("lanes.{number}")))?;
        Ok((LaneId(id), Samples::unpack_columns(table)?))
    };
    packed.tables_of("lanes.").map(lane).collect()
}

fn unpack_again(packed: &Packed<'_>) -> Result<Again, ChunkError> {
    let rows_of = |table: &str| packed.table(table).map(|table| table.column(ROW)).transpose();
    Ok(Again {
        loops: rows_of("loops")?.unwrap_or_default(),
        long_turns: rows_of("long_turns")?.unwrap_or_default(),
        off_cpu: rows_of("off_cpu")?.unwrap_or_default(),
        rows: Profile {
            loops: InPieces::unpack("loops", packed)?,
            long_turns: InPieces::unpack("long_turns", packed)?,
            off_cpu: InPieces::unpack("off_cpu", packed)?,
            ..Profile::default()
        },
        ..Again::default()
    })
}
