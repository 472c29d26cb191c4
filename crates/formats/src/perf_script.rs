//! `perf script` text → Profile. The stream is cut into chunks of whole samples ([`chunks`]), read on all cores
//! ([`reader`]) and joined in order while others are still read ([`merge`]). Memory grows with the number of distinct
//! lines and of samples, not with the bytes of the input.

mod chunks;
mod comments;
mod frame;
mod header;
mod lines;
mod merge;
mod reader;
mod recent;
mod rows;

use std::io::Read;
use std::num::NonZero;
use std::sync::{Mutex, PoisonError};

use profile::{Budget, Profile};

use chunks::{Buffer, Chunks};
use merge::{Merger, Part};
use reader::Reader;

/// Reads `perf script` text on that many threads. The input never fails: what cannot be understood is
/// counted in the profile's losses.
pub fn read(input: impl Read + Send, threads: NonZero<usize>, budget: &Budget) -> Profile {
    let chunks = Mutex::new(Chunks::new(input));
    // The lock must be free again before the chunk is read: only the cutting is done in turn.
    let next =
        |buffer: &mut Buffer| chunks.lock().unwrap_or_else(PoisonError::into_inner).next(buffer);
    let merger = Merger::new(threads, budget);
    let run = |reader_row: usize| {
        let (mut reader, mut buffer) = (Reader::new(), Buffer::default());
        while let Some(index) = next(&mut buffer) {
            merger.add(Part { reader: reader_row, data: reader.read(index, buffer.text()) });
        }
    };
    std::thread::scope(|scope| {
        let run = &run;
        for row in 1..threads.get() {
            scope.spawn(move || run(row));
        }
        run(0);
    });
    merger.finish(chunks.into_inner().unwrap_or_else(PoisonError::into_inner).into_read_error())
}

/// Whether a text's first lines look like `perf script`: some line starts a sample and the next is a frame,
/// or a whole sample stands on one line.
pub fn looks_like(first_bytes: &[u8]) -> bool {
    let mut lines = first_bytes
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.starts_with(b"#"))
        .take(400)
        .peekable();
    while let Some(line) = lines.next() {
        let Some(header) = header::parse(line) else { continue };
        if header.time_ns.is_some() || frame::parse(header.rest).is_some() {
            return true;
        }
        if lines.peek().is_some_and(|next| frame::parse(next).is_some()) {
            return true;
        }
    }
    false
}
