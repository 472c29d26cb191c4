//! Reading a recording that was written while it grew: chunk after chunk is checked and added. A chunk that does not
//! fit what came before leaves no trace.

use flate2::{Decompress, FlushDecompress, Status};
use serde_json::Value;

use super::more::{self, Piece};
use super::stored::take_bytes;
use super::{BEST_COMPRESSION, ChunkError, patch};
use crate::builder::{Again, settle};
use crate::check::{CheckError, Counts, check_samples};
use crate::ids::RowId;
use crate::meta::{Cost, Meta};
use crate::model::Profile;

/// What was read so far.
pub(super) struct Joined {
    profile: Profile,
    meta: Value,
    /// A meta with every key that there is.
    every_key: Value,
    /// How many frames each stack has.
    depths: Vec<u16>,
    stream: Decompress,
    is_empty: bool,
}

impl Joined {
    pub(super) fn new() -> Self {
        Self {
            profile: Profile::default(),
            meta: Value::Object(serde_json::Map::new()),
            every_key: every_key(),
            depths: Vec::new(),
            stream: Decompress::new(false),
            is_empty: true,
        }
    }

    /// Whether no chunk was added.
    pub(super) fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// Adds a chunk that claims to become that many bytes. What the recording takes is taken from `most_bytes`.
    pub(super) fn add(
        &mut self,
        stored: &[u8],
        becomes: u64,
        most_bytes: &mut u64,
    ) -> Result<(), ChunkError> {
        if becomes > *most_bytes {
            return Err(ChunkError::TooLarge(*most_bytes));
        }
        let payload = self.inflate(stored, becomes)?;
        let mut piece = more::decode(&payload, most_bytes)?;
        self.check_meta(&mut piece.meta, most_bytes)?;
        self.check(&piece)?;
        self.take(piece);
        Ok(())
    }

    /// Everything together.
    pub(super) fn finish(self) -> Result<Profile, CheckError> {
        let mut profile = self.profile;
        profile.meta = serde_json::from_value(self.meta).unwrap_or_default();
        settle(&mut profile);
        profile.check()?;
        Ok(profile)
    }

    /// The next part of the stream: it has to be whole and exactly as long as it claims.
    fn inflate(&mut self, mut stored: &[u8], becomes: u64) -> Result<Vec<u8>, ChunkError> {
        let possible = (stored.len() as u64).saturating_mul(BEST_COMPRESSION);
        let length = usize::try_from(becomes.min(possible)).map_err(|_| ChunkError::Length)?;
        let mut payload = Vec::new();
        loop {
            // Up to one byte more than there may be, to see that there is none.
            payload.reserve_exact(payload.len().max(1 << 10).min(length.saturating_add(1)));
            let (before_in, before_out) = (self.stream.total_in(), payload.len());
            let status = self.stream.decompress_vec(stored, &mut payload, FlushDecompress::Sync);
            let status = status.map_err(|error| ChunkError::Compression(error.into()))?;
            let taken = usize::try_from(self.stream.total_in() - before_in).unwrap_or(usize::MAX);
            stored = stored.get(taken..).unwrap_or_default();
            let stands_still = taken == 0 && payload.len() == before_out;
            if payload.len() > length
                || status == Status::StreamEnd
                || (stands_still && !stored.is_empty())
            {
                return Err(ChunkError::Length);
            }
            if stored.is_empty() && payload.len() < payload.capacity() {
                break;
            }
        }
        if payload.len() as u64 == becomes { Ok(payload) } else { Err(ChunkError::Length) }
    }

    /// Every key is checked by itself, so that any number of small patches costs no more than their length.
    fn check_meta(&self, changes: &mut Value, most_bytes: &mut u64) -> Result<(), ChunkError> {
        if !patch::keep_known(changes, &self.every_key) {
            return Err(ChunkError::NoObject);
        }
        if changes.is_null() {
            return Ok(());
        }
        let added = patch::without_nulls(changes);
        // Only what grows counts: the same few keys change in every second.
        *most_bytes = most_bytes.saturating_add(patch::freed_bytes(&self.meta, changes) as u64);
        take_bytes(patch::memory_bytes(&added), most_bytes)?;
        let added: Meta = serde_json::from_value(added)?;
        // Only a text can end inside of a sample.
        if added.losses.unclosed.is_some() { Err(ChunkError::Unclosed) } else { Ok(()) }
    }

    fn check(&mut self, piece: &Piece) -> Result<(), ChunkError> {
        let Piece { rows, samples, again, .. } = piece;
        let counts = sum(&Counts::of(&self.profile), &Counts::of(rows));
        rows.check_rows(&counts)?;
        again.rows.check_rows(&counts)?;
        for (lane, samples) in samples {
            exists("samples", "lane", lane.0, counts.lanes)?;
            check_samples(samples, &counts)?;
        }
        self.check_again(rows, again, &counts)?;
        rows.check_stacks(&mut self.depths)?;
        Ok(())
    }

    fn check_again(
        &self,
        rows: &Profile,
        again: &Again,
        counts: &Counts,
    ) -> Result<(), CheckError> {
        let known = &self.profile;
        let loops = known.loops.len() + rows.loops.len();
        let long_turns = known.long_turns.len() + rows.long_turns.len();
        let row = |id: &RowId| id.0;
        again
            .processes
            .iter()
            .try_for_each(|id| exists("processes", "row", id.0, counts.processes))?;
        again.threads.iter().try_for_each(|id| exists("threads", "row", id.0, counts.threads))?;
        again.loops.iter().map(row).try_for_each(|id| exists("loops", "row", id, loops))?;
        again
            .long_turns
            .iter()
            .map(row)
            .try_for_each(|id| exists("long turns", "row", id, long_turns))
    }

    fn take(&mut self, piece: Piece) {
        let Piece { meta, rows, samples, again } = piece;
        self.is_empty = false;
        if !meta.is_null() {
            patch::apply(&mut self.meta, meta);
        }
        let known = &mut self.profile;
        for text in rows.strings.iter() {
            known.strings.push(text);
        }
        known.sources.extend(rows.sources);
        known.modules.extend(rows.modules);
        known.packages.extend(rows.packages);
        known.package_uses.extend(rows.package_uses);
        known.functions.append(rows.functions);
        known.frames.append(rows.frames);
        known.stacks.append(rows.stacks);
        known.processes.extend(rows.processes);
        known.threads.extend(rows.threads);
        known.lanes.extend(rows.lanes);
        for (lane, samples) in samples {
            known.lanes[lane.index()].samples.append(samples);
        }
        known.line_ticks.append(rows.line_ticks);
        known.markers.append(rows.markers);
        known.loops.append(rows.loops);
        known.long_turns.append(rows.long_turns);
        known.seconds.append(rows.seconds);
        known.delays.append(rows.delays);
        known.pools.append(rows.pools);
        known.off_cpu.append(rows.off_cpu);
        replace(known, again);
    }
}

/// A meta in which no key is missing.
fn every_key() -> Value {
    let meta = Meta { lines_are_checked: true, cost: Some(Cost::default()), ..Meta::default() };
    serde_json::to_value(meta).unwrap_or_default()
}

/// Puts rows in the place of those that came before.
fn replace(known: &mut Profile, again: Again) {
    let Again { rows, processes, threads, loops, long_turns } = again;
    for (id, row) in processes.into_iter().zip(rows.processes) {
        known.processes[id.index()] = row;
    }
    for (id, row) in threads.into_iter().zip(rows.threads) {
        known.threads[id.index()] = row;
    }
    for (id, row) in loops.into_iter().zip(rows.loops.ids()) {
        known.loops.set(id, rows.loops.row(row));
    }
    for (id, row) in long_turns.into_iter().zip(rows.long_turns.ids()) {
        known.long_turns.set(id, rows.long_turns.row(row));
    }
}

fn exists(
    table: &'static str,
    column: &'static str,
    id: u32,
    limit: usize,
) -> Result<(), CheckError> {
    if (id as usize) < limit {
        return Ok(());
    }
    Err(CheckError::OutOfRange { table, column, row: 0, id, limit })
}

fn sum(one: &Counts, other: &Counts) -> Counts {
    Counts {
        strings: one.strings + other.strings,
        sources: one.sources + other.sources,
        modules: one.modules + other.modules,
        packages: one.packages + other.packages,
        package_uses: one.package_uses + other.package_uses,
        functions: one.functions + other.functions,
        frames: one.frames + other.frames,
        stacks: one.stacks + other.stacks,
        processes: one.processes + other.processes,
        threads: one.threads + other.threads,
        lanes: one.lanes + other.lanes,
    }
}
