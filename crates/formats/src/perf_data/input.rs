//! The stream of a perf.data file: records that lie whole in one buffer, and pieces that are skipped.

use std::io::{ErrorKind, Read};

use super::bytes::Order;

/// What is asked of the stream at once: it stays in a core's cache.
const READ_BYTES: usize = 256 << 10;
/// A record's type, flags and size.
pub(super) const RECORD_HEADER_BYTES: usize = 8;

pub(super) struct Input<R> {
    stream: R,
    buffer: Vec<u8>,
    /// What is taken already, and what is filled.
    start: usize,
    filled: usize,
    /// Where `start` is in the file.
    position: u64,
    ended: bool,
    error: Option<String>,
}

impl<R: Read> Input<R> {
    pub(super) fn new(stream: R) -> Self {
        Self {
            stream,
            buffer: Vec::new(),
            start: 0,
            filled: 0,
            position: 0,
            ended: false,
            error: None,
        }
    }

    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Why the stream ended, if not because it was over.
    pub(super) fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// The next bytes, fewer at the end of the stream.
    pub(super) fn take(&mut self, count: u64) -> Vec<u8> {
        let mut taken = Vec::new();
        let mut missing = usize::try_from(count).unwrap_or(usize::MAX);
        while missing > 0 && self.fill(1) {
            let part = missing.min(self.filled - self.start);
            taken.extend_from_slice(&self.buffer[self.start..self.start + part]);
            self.advance(part);
            missing -= part;
        }
        taken
    }

    /// Passes over bytes; false when the stream ends before.
    pub(super) fn skip(&mut self, mut count: u64) -> bool {
        while count > 0 {
            if !self.fill(1) {
                return false;
            }
            let part = usize::try_from(count).unwrap_or(usize::MAX).min(self.filled - self.start);
            self.advance(part);
            count -= part as u64;
        }
        true
    }

    /// The size of the next record, once it is there as a whole.
    pub(super) fn next_record(&mut self, order: Order) -> Next {
        if !self.fill(RECORD_HEADER_BYTES) {
            return if self.start == self.filled { Next::End } else { Next::CutOff };
        }
        let size = usize::from(record_size(order, &self.buffer[self.start..]));
        if size < RECORD_HEADER_BYTES {
            return Next::Nonsense;
        }
        if self.fill(size) { Next::Record(size) } else { Next::CutOff }
    }

    /// The next bytes, which must be there.
    pub(super) fn peek(&self, count: usize) -> &[u8] {
        &self.buffer[self.start..self.start + count]
    }

    pub(super) fn advance(&mut self, count: usize) {
        self.start += count;
        self.position += count as u64;
    }

    /// Makes sure that `count` bytes are in the buffer.
    fn fill(&mut self, count: usize) -> bool {
        while self.filled - self.start < count && !self.ended {
            self.buffer.copy_within(self.start..self.filled, 0);
            self.filled -= self.start;
            self.start = 0;
            self.buffer.resize(READ_BYTES.max(count), 0);
            match self.stream.read(&mut self.buffer[self.filled..]) {
                Ok(0) => self.ended = true,
                Ok(count) => self.filled += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    self.error = Some(error.to_string());
                    self.ended = true;
                }
            }
        }
        self.filled - self.start >= count
    }
}

/// What comes next in the stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    Record(usize),
    /// The stream is over, between two records.
    End,
    /// The stream is over, inside a record.
    CutOff,
    /// No record can be as short as its size field claims.
    Nonsense,
}

/// The size that a record's header gives; 0 for what is no header.
pub(super) fn record_size(order: Order, record: &[u8]) -> u16 {
    record.first_chunk().map_or(0, |[.., a, b]: &[u8; RECORD_HEADER_BYTES]| order.u16([*a, *b]))
}
