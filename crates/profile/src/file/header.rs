//! A chunk's payload: the length of the JSON header, the header, then the columns that its directory names.

use serde::{Deserialize, Serialize};

use super::columns::{Entry, Reader, Writer};
use super::{ChunkError, off_cpu, u64_at};
use crate::ids::StringId;
use crate::meta::Meta;
use crate::model::Profile;
use crate::strings::Strings;
use crate::tables::{
    Frames, Functions, Lane, LineTicks, LongTurns, Loops, Markers, Module, Process, Samples, Seconds, Source,
    Stacks, Thread, Unit,
};

#[derive(Serialize, Deserialize)]
struct Header {
    meta: Meta,
    strings: Vec<String>,
    sources: Vec<Source>,
    modules: Vec<Module>,
    processes: Vec<Process>,
    threads: Vec<Thread>,
    lanes: Vec<LaneHeader>,
    columns: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
struct LaneHeader {
    name: StringId,
    unit: Unit,
    timed: bool,
    counted: bool,
}

/// Lists the columns of a table once, for writing and for reading.
macro_rules! table_columns {
    ($write:ident, $read:ident, $table:ident { $($field:ident),* }) => {
        fn $write(table: &$table, prefix: &str, out: &mut Writer) {
            $(out.column(format!("{prefix}.{}", stringify!($field)), &table.$field);)*
        }

        fn $read(prefix: &str, reader: &Reader<'_>) -> Result<$table, ChunkError> {
            Ok($table { $($field: reader.column(&format!("{prefix}.{}", stringify!($field)))?,)* })
        }
    };
}

table_columns!(write_functions, read_functions, Functions { name, source, line, column, module, package });
table_columns!(
    write_frames,
    read_frames,
    Frames { function, line, column, category, tier, inlined, address, symbol }
);
table_columns!(write_stacks, read_stacks, Stacks { parent, frame, category });
table_columns!(write_samples, read_samples, Samples { time_ns, thread, stack, weight });
table_columns!(write_line_ticks, read_line_ticks, LineTicks { stack, line, ticks });
table_columns!(write_markers, read_markers, Markers { kind, thread, start_ns, end_ns, text });
table_columns!(write_loops, read_loops, Loops { thread, start_ns, end_ns, polled_ns, turns, problem });
table_columns!(
    write_long_turns,
    read_long_turns,
    LongTurns { kind, thread, start_ns, end_ns, run_ns, ready_ns, throttled_ns }
);
table_columns!(
    write_seconds,
    read_seconds,
    Seconds {
        process,
        start_ns,
        end_ns,
        run_ns,
        ready_ns,
        periods,
        throttled_periods,
        throttled_ns,
        cpu_pressure_ns,
        memory_pressure_ns
    }
);

pub(super) fn encode(profile: &Profile) -> serde_json::Result<Vec<u8>> {
    let mut writer = Writer::default();
    write_functions(&profile.functions, "functions", &mut writer);
    write_frames(&profile.frames, "frames", &mut writer);
    write_stacks(&profile.stacks, "stacks", &mut writer);
    for (index, lane) in profile.lanes.iter().enumerate() {
        write_samples(&lane.samples, &lane_prefix(index), &mut writer);
    }
    write_line_ticks(&profile.line_ticks, "line_ticks", &mut writer);
    write_markers(&profile.markers, "markers", &mut writer);
    write_loops(&profile.loops, "loops", &mut writer);
    write_long_turns(&profile.long_turns, "long_turns", &mut writer);
    write_seconds(&profile.seconds, "seconds", &mut writer);
    off_cpu::write(&profile.off_cpu, &mut writer);
    let header = serde_json::to_vec(&Header {
        meta: profile.meta.clone(),
        strings: profile.strings.iter().map(str::to_owned).collect(),
        sources: profile.sources.clone(),
        modules: profile.modules.clone(),
        processes: profile.processes.clone(),
        threads: profile.threads.clone(),
        lanes: profile.lanes.iter().map(lane_header).collect(),
        columns: writer.directory,
    })?;
    let mut payload = (header.len() as u64).to_le_bytes().to_vec();
    payload.extend_from_slice(&header);
    payload.resize(payload.len().next_multiple_of(8), b' ');
    payload.extend_from_slice(&writer.bytes);
    Ok(payload)
}

pub(super) fn decode(payload: &[u8]) -> Result<Profile, ChunkError> {
    let length =
        u64_at(payload, 0).and_then(|length| usize::try_from(length).ok()).ok_or(ChunkError::CutOff)?;
    let end = length.checked_add(8).ok_or(ChunkError::CutOff)?;
    let header: Header = serde_json::from_slice(payload.get(8..end).ok_or(ChunkError::CutOff)?)?;
    let bytes = payload.get(end.next_multiple_of(8)..).unwrap_or_default();
    let reader = Reader::new(&header.columns, bytes)?;
    let mut strings = Strings::default();
    for text in &header.strings {
        strings.push(text);
    }
    let mut markers = read_markers("markers", &reader)?;
    let off_cpu = off_cpu::read(&reader, &mut markers)?;
    Ok(Profile {
        functions: read_functions("functions", &reader)?,
        frames: read_frames("frames", &reader)?,
        stacks: read_stacks("stacks", &reader)?,
        lanes: read_lanes(&header.lanes, &reader)?,
        line_ticks: read_line_ticks("line_ticks", &reader)?,
        loops: read_newer("loops", &reader, read_loops)?,
        long_turns: read_newer("long_turns", &reader, read_long_turns)?,
        seconds: read_newer("seconds", &reader, read_seconds)?,
        markers,
        off_cpu,
        meta: header.meta,
        strings,
        sources: header.sources,
        modules: header.modules,
        processes: header.processes,
        threads: header.threads,
    })
}

/// A table that older files do not have.
fn read_newer<Table: Default>(
    prefix: &str,
    reader: &Reader<'_>,
    read: impl Fn(&str, &Reader<'_>) -> Result<Table, ChunkError>,
) -> Result<Table, ChunkError> {
    if reader.has_table(prefix) { read(prefix, reader) } else { Ok(Table::default()) }
}

fn lane_header(lane: &Lane) -> LaneHeader {
    LaneHeader { name: lane.name, unit: lane.unit, timed: lane.timed, counted: lane.counted }
}

fn read_lanes(headers: &[LaneHeader], reader: &Reader<'_>) -> Result<Vec<Lane>, ChunkError> {
    let lane = |(index, header): (usize, &LaneHeader)| {
        let &LaneHeader { name, unit, timed, counted } = header;
        let samples = read_samples(&lane_prefix(index), reader)?;
        Ok(Lane { name, unit, timed, counted, samples })
    };
    headers.iter().enumerate().map(lane).collect()
}

fn lane_prefix(index: usize) -> String {
    format!("lanes.{index}")
}
