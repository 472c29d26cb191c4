//! Cuts a stream into chunks that hold whole samples, so that several threads can read one input without
//! holding it in memory.

use std::io::{self, Read};

/// What a chunk aims to hold: large enough to make the lock cheap, small enough to stay in a core's cache.
const CHUNK_BYTES: usize = 256 << 10;
/// A sample larger than this is no sample.
const LIMIT_BYTES: usize = 16 << 20;

/// A stream and what was read of it beyond the last chunk.
pub(super) struct Chunks<R> {
    input: R,
    carry: Vec<u8>,
    next_index: usize,
    ended: bool,
    read_error: Option<String>,
}

/// A reader's own memory, used for one chunk after another.
#[derive(Default)]
pub(super) struct Buffer {
    /// Only grows, so that it is cleared once and not for every chunk.
    bytes: Vec<u8>,
    filled: usize,
}

impl Buffer {
    pub(super) fn text(&self) -> &[u8] {
        &self.bytes[..self.filled]
    }
}

impl<R: Read> Chunks<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, carry: Vec::new(), next_index: 0, ended: false, read_error: None }
    }

    /// Fills `buffer` with the next chunk and returns its number; `None` at the end. A stream that breaks
    /// (a cut-off gzip) ends there: what came before is still worth showing.
    pub(super) fn next(&mut self, buffer: &mut Buffer) -> Option<usize> {
        let mut wanted = CHUNK_BYTES.max(self.carry.len());
        buffer.bytes.resize(wanted.max(buffer.bytes.len()), 0);
        buffer.bytes[..self.carry.len()].copy_from_slice(&self.carry);
        buffer.filled = self.carry.len();
        self.carry.clear();
        while !self.ended {
            self.fill(buffer, wanted);
            if self.ended {
                break;
            }
            let text = buffer.text();
            if let Some(cut) =
                cut(text).or_else(|| (text.len() >= LIMIT_BYTES).then_some(text.len()))
            {
                self.carry.extend_from_slice(&text[cut..]);
                buffer.filled = cut;
                break;
            }
            wanted *= 2;
        }
        if buffer.filled == 0 {
            return None;
        }
        self.next_index += 1;
        Some(self.next_index - 1)
    }

    /// Why the stream ended early, if it did.
    pub(super) fn into_read_error(self) -> Option<String> {
        self.read_error
    }

    fn fill(&mut self, buffer: &mut Buffer, wanted: usize) {
        buffer.bytes.resize(wanted.max(buffer.bytes.len()), 0);
        while buffer.filled < wanted && !self.ended {
            match self.input.read(&mut buffer.bytes[buffer.filled..wanted]) {
                Ok(0) => self.ended = true,
                Ok(count) => buffer.filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.read_error = Some(error.to_string());
                    self.ended = true;
                }
            }
        }
    }
}

/// Where the last whole sample ends: behind a blank line, else before a line that starts at the margin, else
/// behind the last line (samples of one line each, with padded comms).
fn cut(buffer: &[u8]) -> Option<usize> {
    let mut newlines = memchr::memrchr_iter(b'\n', buffer);
    let last = newlines.next()?;
    let mut margin = None;
    let mut next = last;
    for newline in newlines {
        let line = &buffer[newline + 1..next];
        if line.is_empty() || line == b"\r" {
            return Some(next + 1);
        }
        if margin.is_none() && !line[0].is_ascii_whitespace() {
            margin = Some(newline + 1);
        }
        next = newline;
    }
    Some(margin.unwrap_or(last + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_at_the_best_place() {
        assert_eq!(cut(b"a\n\tf\n\nb\n\tg\n"), Some(6));
        assert_eq!(cut(b"a\r\n\tf\r\n\r\nb\r\n"), Some(9));
        assert_eq!(cut(b"x\na\n\tf\nb\n\tg\n"), Some(7));
        assert_eq!(cut(b"  a 1\n  b 2\n  c"), Some(12));
        assert_eq!(cut(b"abc"), None);
    }

    #[test]
    fn nothing_is_lost_between_chunks() {
        let sample = format!("node 1 1.000000: cycles:\n\t7f00 {} (x)\n\n", "n".repeat(100_000));
        let text = sample.repeat(30);
        let mut chunks = Chunks::new(text.as_bytes());
        let (mut joined, mut buffer, mut count) = (Vec::new(), Buffer::default(), 0);
        while let Some(index) = chunks.next(&mut buffer) {
            assert_eq!(index, count);
            assert!(buffer.text().ends_with(b"\n\n"));
            joined.extend_from_slice(buffer.text());
            count += 1;
        }
        assert!(count > 3);
        assert_eq!(joined, text.as_bytes());
    }
}
