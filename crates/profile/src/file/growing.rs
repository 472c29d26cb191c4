//! Writing a recording while it grows: each chunk has the rows that came since the last one, and its ids count over all
//! chunks. All chunks are one deflate stream, flushed at the end of each, so that what a second has in common with the
//! one before costs next to nothing.

use std::io;

use flate2::{Compress, Compression, FlushCompress};
use serde_json::Value;

use super::{MORE_TAG, more, patch};
use crate::builder::Builder;
use crate::check::Counts;
use crate::model::Profile;

/// A recording that is written while it grows. It keeps the tables, and samples only until the next chunk.
pub struct Growing {
    builder: Builder,
    written: Counts,
    written_meta: Value,
    stream: Compress,
}

impl Default for Growing {
    fn default() -> Self {
        Self::new()
    }
}

impl Growing {
    /// An empty recording. Its times count from 0 unless [`Builder::set_origin_ns`] is called before the first
    /// chunk.
    pub fn new() -> Self {
        let stream = Compress::new(Compression::default(), false);
        let written_meta = Value::Object(serde_json::Map::new());
        Self { builder: Builder::new(), written: Counts::default(), written_meta, stream }
    }

    /// Where rows are added. Its samples are those since the last chunk.
    pub fn rows(&mut self) -> &mut Builder {
        &mut self.builder
    }

    /// The tables so far, with what came since the last chunk.
    pub fn tables(&self) -> &Profile {
        self.builder.so_far()
    }

    /// What is new since the last chunk, as the next one; empty when nothing is. Very many new texts make several
    /// chunks.
    pub fn chunk(&mut self) -> io::Result<Vec<u8>> {
        let mut news = self.builder.take_news(&self.written);
        let meta = serde_json::to_value(self.builder.meta_so_far())?;
        let changed = patch::difference(&self.written_meta, &meta);
        let mut payloads = more::encode_texts(&mut news.rows)?;
        payloads.extend(more::encode(&news, changed, self.written.lanes)?);
        self.written = self.builder.counts();
        self.written_meta = meta;
        let chunks: io::Result<Vec<Vec<u8>>> =
            payloads.iter().map(|payload| self.seal(payload)).collect();
        Ok(chunks?.concat())
    }

    fn seal(&mut self, payload: &[u8]) -> io::Result<Vec<u8>> {
        let stored = self.deflate(payload)?;
        let length = |bytes: &[u8]| {
            let too_long =
                || io::Error::new(io::ErrorKind::InvalidInput, "a chunk of more than 4 GB");
            u32::try_from(bytes.len()).map(u32::to_le_bytes).map_err(|_| too_long())
        };
        let checksum = crc32fast::hash(&stored).to_le_bytes();
        Ok([&MORE_TAG[..], &checksum, &length(&stored)?, &length(payload)?, &stored].concat())
    }

    /// The next part of the stream, up to a byte at which a reader has all of the payload.
    fn deflate(&mut self, mut payload: &[u8]) -> io::Result<Vec<u8>> {
        let mut stored = Vec::with_capacity(payload.len() / 2 + 64);
        loop {
            let before = self.stream.total_in();
            self.stream.compress_vec(payload, &mut stored, FlushCompress::Sync)?;
            let taken = usize::try_from(self.stream.total_in() - before).unwrap_or(usize::MAX);
            payload = payload.get(taken..).unwrap_or_default();
            // Room that is left over means that nothing waits to be written.
            if payload.is_empty() && stored.len() < stored.capacity() {
                return Ok(stored);
            }
            stored.reserve(stored.capacity().max(64));
        }
    }
}
