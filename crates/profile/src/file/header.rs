//! A chunk's payload: the length of the JSON header, the header, then the columns that its directory names.

use serde::{Deserialize, Serialize};

use super::columns::{Entry, Reader, Writer};
use super::stored::Whole;
use super::{ChunkError, off_cpu, u64_at};
use crate::ids::StringId;
use crate::meta::Meta;
use crate::model::Profile;
use crate::strings::Strings;
use crate::tables::{
    Frames, Functions, Lane, LineTicks, Markers, Module, Package, PackageUse, Process, Samples,
    Source, Stacks, Thread, Unit,
};

#[derive(Serialize, Deserialize)]
struct Header {
    meta: Meta,
    strings: Vec<String>,
    sources: Vec<Source>,
    modules: Vec<Module>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    packages: Vec<Package>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    package_uses: Vec<PackageUse>,
    processes: Vec<Process>,
    threads: Vec<Thread>,
    lanes: Vec<LaneHeader>,
    columns: Vec<Entry>,
}

/// What a lane is, without its samples.
#[derive(Serialize, Deserialize)]
pub(super) struct LaneHeader {
    name: StringId,
    unit: Unit,
    timed: bool,
    counted: bool,
}

pub(super) fn encode(profile: &Profile) -> serde_json::Result<Vec<u8>> {
    let mut writer = Writer::default();
    profile.functions.write("functions", &mut writer);
    profile.frames.write("frames", &mut writer);
    profile.stacks.write("stacks", &mut writer);
    for (index, lane) in profile.lanes.iter().enumerate() {
        lane.samples.write(&lane_prefix(index), &mut writer);
    }
    profile.line_ticks.write("line_ticks", &mut writer);
    profile.markers.write("markers", &mut writer);
    profile.loops.write("loops", &mut writer);
    profile.long_turns.write("long_turns", &mut writer);
    profile.seconds.write("seconds", &mut writer);
    profile.delays.write("delays", &mut writer);
    profile.pools.write("pools", &mut writer);
    off_cpu::write(&profile.off_cpu, &mut writer);
    let header = serde_json::to_vec(&Header {
        meta: profile.meta.clone(),
        strings: profile.strings.iter().map(str::to_owned).collect(),
        sources: profile.sources.clone(),
        modules: profile.modules.clone(),
        packages: profile.packages.clone(),
        package_uses: profile.package_uses.clone(),
        processes: profile.processes.clone(),
        threads: profile.threads.clone(),
        lanes: profile.lanes.iter().map(LaneHeader::of).collect(),
        columns: writer.directory,
    })?;
    let mut payload = (header.len() as u64).to_le_bytes().to_vec();
    payload.extend_from_slice(&header);
    payload.resize(payload.len().next_multiple_of(8), b' ');
    payload.extend_from_slice(&writer.bytes);
    Ok(payload)
}

pub(super) fn decode(payload: &[u8]) -> Result<Profile, ChunkError> {
    let length = u64_at(payload, 0)
        .and_then(|length| usize::try_from(length).ok())
        .ok_or(ChunkError::CutOff)?;
    let end = length.checked_add(8).ok_or(ChunkError::CutOff)?;
    let header: Header = serde_json::from_slice(payload.get(8..end).ok_or(ChunkError::CutOff)?)?;
    let bytes = payload.get(end.next_multiple_of(8)..).unwrap_or_default();
    let reader = Reader::new(&header.columns, bytes)?;
    let mut strings = Strings::default();
    for text in &header.strings {
        strings.push(text);
    }
    let mut markers = Markers::read("markers", &reader)?;
    let off_cpu = off_cpu::read(&reader, &mut markers)?;
    Ok(Profile {
        functions: Functions::read("functions", &reader)?,
        frames: Frames::read("frames", &reader)?,
        stacks: Stacks::read("stacks", &reader)?,
        lanes: read_lanes(&header.lanes, &reader)?,
        line_ticks: LineTicks::read("line_ticks", &reader)?,
        loops: read_newer("loops", &reader)?,
        long_turns: read_newer("long_turns", &reader)?,
        seconds: read_newer("seconds", &reader)?,
        delays: read_newer("delays", &reader)?,
        pools: read_newer("pools", &reader)?,
        markers,
        off_cpu,
        meta: header.meta,
        strings,
        sources: header.sources,
        modules: header.modules,
        packages: header.packages,
        package_uses: header.package_uses,
        processes: header.processes,
        threads: header.threads,
    })
}

/// A table that older files do not have.
fn read_newer<Table: Whole>(table: &str, reader: &Reader<'_>) -> Result<Table, ChunkError> {
    if reader.has_table(table) { Table::read(table, reader) } else { Ok(Table::default()) }
}

impl LaneHeader {
    pub(super) fn of(lane: &Lane) -> Self {
        Self { name: lane.name, unit: lane.unit, timed: lane.timed, counted: lane.counted }
    }

    pub(super) fn lane(&self, samples: Samples) -> Lane {
        let &Self { name, unit, timed, counted } = self;
        Lane { name, unit, timed, counted, samples }
    }
}

fn read_lanes(headers: &[LaneHeader], reader: &Reader<'_>) -> Result<Vec<Lane>, ChunkError> {
    let lane = |(index, header): (usize, &LaneHeader)| {
        Ok(header.lane(Samples::read(&lane_prefix(index), reader)?))
    };
    headers.iter().enumerate().map(lane).collect()
}

pub(super) fn lane_prefix(index: usize) -> String {
    format!("lanes.{index}")
}
