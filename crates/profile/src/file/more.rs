//! A chunk that continues a recording (`MORE`): the length of its JSON header, the header, then packed columns. It has
//! only what is new, so that most keys are missing in most chunks. Ids count over all chunks of the file.

use std::collections::BTreeMap;
use std::io;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::header::{LaneHeader, lane_prefix};
use super::packed::{Packed, Packer, TableEntry};
use super::stored::{InPieces, take_bytes};
use super::{ChunkError, u32_at};
use crate::builder::{Again, News};
use crate::ids::{LaneId, ProcessId, ThreadId};
use crate::model::Profile;
use crate::tables::{Module, Package, PackageUse, Process, Samples, Source, Thread};

/// A header that is longer is no part of a recording: a second has some hundred new names.
const LONGEST_HEADER: usize = 8 << 20;
/// One chunk has at most this many bytes of texts; as JSON they are up to six times as long. A text that is longer is
/// cut.
const MOST_TEXT: usize = 1 << 20;

/// The names of the columns with the numbers of rows that are written again.
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
    packages: Vec<Package>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    package_uses: Vec<PackageUse>,
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
        let Self { meta, strings, sources, modules, processes, threads, lanes, tables, .. } = self;
        let Self { packages, package_uses, again, .. } = self;
        let has_packages = !(packages.is_empty() && package_uses.is_empty());
        let has_code = !(strings.is_empty() && sources.is_empty() && modules.is_empty());
        let has_rows = has_code || has_packages;
        let has_threads = !(processes.is_empty() && threads.is_empty() && lanes.is_empty());
        meta.is_null() && !has_rows && !has_threads && tables.is_empty() && again.is_empty()
    }

    /// What its rows take in memory, without meta and without the columns behind it.
    fn memory_bytes(&self) -> usize {
        let rows = self.sources.len() + self.modules.len() + self.lanes.len();
        let rows = rows + self.packages.len() + self.package_uses.len();
        let rows = rows + self.processes.len() + self.threads.len();
        let rows = rows + self.again.processes.len() + self.again.threads.len();
        let strings: usize = self.strings.iter().map(|text| text.len() + size_of::<usize>()).sum();
        let processes = self.processes.iter().chain(self.again.processes.values());
        let ports: usize = processes.map(|process| process.ports.len() * size_of::<u16>()).sum();
        rows * size_of::<Process>() + strings + ports
    }
}

/// The payload of what is new, with that many lanes written before; `None` when nothing is.
pub(super) fn encode(news: &News, meta: Value, lanes: usize) -> io::Result<Option<Vec<u8>>> {
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
        packages: rows.packages.clone(),
        package_uses: rows.package_uses.clone(),
        processes: rows.processes.clone(),
        threads: rows.threads.clone(),
        lanes: rows.lanes.iter().skip(lanes).map(LaneHeader::of).collect(),
        tables: tables.directory,
        again: AgainHeader {
            processes: again
                .processes
                .iter()
                .map(|id| id.0)
                .zip(again.rows.processes.clone())
                .collect(),
            threads: again.threads.iter().map(|id| id.0).zip(again.rows.threads.clone()).collect(),
            tables: changed.directory,
        },
    };
    if header.is_empty() {
        return Ok(None);
    }
    Ok(Some(payload(&header, &[tables.bytes, changed.bytes].concat())?))
}

/// Payloads with texts alone, where one chunk has no room for all that are new: takes these out of the news. A text
/// that is longer than a chunk may have is cut.
pub(super) fn encode_texts(rows: &mut Profile) -> io::Result<Vec<Vec<u8>>> {
    if rows.strings.iter().map(str::len).sum::<usize>() <= MOST_TEXT {
        return Ok(Vec::new());
    }
    let mut payloads = Vec::new();
    let mut header = Header::default();
    let mut length = 0;
    for text in std::mem::take(&mut rows.strings).iter().map(cut) {
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

/// A text up to where it may go, without half a character.
fn cut(text: &str) -> &str {
    let end = (0..=text.len().min(MOST_TEXT)).rev().find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or(0)).unwrap_or_default()
}

/// Never one that the reader would refuse.
fn payload(header: &Header, columns: &[u8]) -> io::Result<Vec<u8>> {
    let json = serde_json::to_vec(header)?;
    let too_long =
        || io::Error::new(io::ErrorKind::InvalidInput, ChunkError::LongHeader(json.len()));
    let length = u32::try_from(json.len()).ok().filter(|_| json.len() <= LONGEST_HEADER);
    Ok([&length.ok_or_else(too_long)?.to_le_bytes()[..], &json, columns].concat())
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
    rows.delays.pack("delays", out);
    rows.pools.pack("pools", out);
    rows.off_cpu.pack("off_cpu", out);
}

fn pack_again(again: &Again, out: &mut Packer) {
    let Again { rows, loops, long_turns, .. } = again;
    out.table("loops", loops.len());
    out.deltas(ROW, loops);
    rows.loops.pack_columns(out);
    out.table("long_turns", long_turns.len());
    out.deltas(ROW, long_turns);
    rows.long_turns.pack_columns(out);
    out.drop_empty();
}

/// Takes a payload apart. What it becomes is taken from `most_bytes`, before any room is made for it.
pub(super) fn decode(payload: &[u8], most_bytes: &mut u64) -> Result<Piece, ChunkError> {
    let length = u32_at(payload, 0).and_then(|length| usize::try_from(length).ok());
    let length = length.ok_or(ChunkError::CutOff)?;
    if length > LONGEST_HEADER {
        return Err(ChunkError::LongHeader(length));
    }
    let end = length + 4;
    let header: Header = serde_json::from_slice(payload.get(4..end).ok_or(ChunkError::CutOff)?)?;
    take_bytes(header.memory_bytes(), most_bytes)?;
    let mut bytes = payload.get(end..).unwrap_or_default();
    let tables = Packed::new(&header.tables, &mut bytes)?;
    let changed = Packed::new(&header.again.tables, &mut bytes)?;
    let samples = unpack_samples(&tables, most_bytes)?;
    let mut rows = unpack_rows(&tables, most_bytes)?;
    let mut again = unpack_again(&changed, most_bytes)?;
    let Header { meta, strings, sources, modules, packages, package_uses, .. } = header;
    let Header { processes, threads, lanes, again: rewritten, .. } = header;
    for text in &strings {
        rows.strings.push(text);
    }
    rows = Profile { sources, modules, packages, package_uses, processes, threads, ..rows };
    rows.lanes = lanes.iter().map(|lane| lane.lane(Samples::default())).collect();
    again.processes = rewritten.processes.keys().map(|row| ProcessId(*row)).collect();
    again.threads = rewritten.threads.keys().map(|row| ThreadId(*row)).collect();
    again.rows.processes = rewritten.processes.into_values().collect();
    again.rows.threads = rewritten.threads.into_values().collect();
    Ok(Piece { meta, rows, samples, again })
}

fn unpack_rows(packed: &Packed<'_>, most_bytes: &mut u64) -> Result<Profile, ChunkError> {
    Ok(Profile {
        functions: InPieces::unpack("functions", packed, most_bytes)?,
        frames: InPieces::unpack("frames", packed, most_bytes)?,
        stacks: InPieces::unpack("stacks", packed, most_bytes)?,
        line_ticks: InPieces::unpack("line_ticks", packed, most_bytes)?,
        markers: InPieces::unpack("markers", packed, most_bytes)?,
        loops: InPieces::unpack("loops", packed, most_bytes)?,
        long_turns: InPieces::unpack("long_turns", packed, most_bytes)?,
        seconds: InPieces::unpack("seconds", packed, most_bytes)?,
        delays: InPieces::unpack("delays", packed, most_bytes)?,
        pools: InPieces::unpack("pools", packed, most_bytes)?,
        off_cpu: InPieces::unpack("off_cpu", packed, most_bytes)?,
        ..Profile::default()
    })
}

fn unpack_samples(
    packed: &Packed<'_>,
    most_bytes: &mut u64,
) -> Result<Vec<(LaneId, Samples)>, ChunkError> {
    let lane = |(number, table): (&str, &_)| {
        // `00` and `+0` are other names, not lane 0 once more.
        let id = number.parse().ok().filter(|id: &u32| id.to_string() == number);
        let id = id.ok_or_else(|| ChunkError::Column(format!("lanes.{number}")))?;
        Ok((LaneId(id), Samples::unpack_table(table, most_bytes)?))
    };
    packed.tables_of("lanes.").map(lane).collect()
}

fn unpack_again(packed: &Packed<'_>, most_bytes: &mut u64) -> Result<Again, ChunkError> {
    let rows_of = |table: &str| packed.table(table).map(|table| table.column(ROW)).transpose();
    let rows = Profile {
        loops: InPieces::unpack("loops", packed, most_bytes)?,
        long_turns: InPieces::unpack("long_turns", packed, most_bytes)?,
        ..Profile::default()
    };
    Ok(Again {
        loops: rows_of("loops")?.unwrap_or_default(),
        long_turns: rows_of("long_turns")?.unwrap_or_default(),
        rows,
        ..Again::default()
    })
}
