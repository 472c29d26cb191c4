//! The rings of memory that events write into: one for each CPU. Two programs can share them: one that opened the
//! events, and one that reads, and may be replaced by another.

use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

use sys::perf::{Event, Ring, wait};

use crate::sampler::REGISTERS;
use crate::stream;

/// The rings of a sampler that this program shares with the one that started it.
pub struct Rings {
    rows: Vec<(Event, Ring)>,
}

impl Rings {
    /// From what [`crate::Sampler::share`] said.
    pub fn inherited(text: &str) -> io::Result<Self> {
        let row = |part: &str| {
            let (file, bytes) = part.split_once(':').ok_or(io::ErrorKind::InvalidInput)?;
            let number = |text: &str| text.parse::<i32>().map_err(|_| io::ErrorKind::InvalidInput);
            let event = Event::inherited(number(file)?)?;
            let ring = Ring::map(&event, number(bytes)? as usize)?;
            Ok::<_, io::Error>((event, ring))
        };
        Ok(Self { rows: text.split(',').map(row).collect::<io::Result<_>>()? })
    }

    /// Waits until there are samples, the time is over, or a descriptor has something or was closed; whether it was
    /// that.
    pub fn wait_or(&self, file: i32, most: Duration) -> io::Result<bool> {
        let mut files: Vec<i32> = self.rows.iter().map(|(event, _)| event.as_raw_fd()).collect();
        files.push(file);
        wait(&files, most)
    }

    /// Appends what was written since the last time. The room that the kernel keeps for a stack, and does not fill,
    /// is left out: it is most of a sample.
    pub fn read(&mut self, out: &mut Vec<u8>) {
        for (_, ring) in &mut self.rows {
            ring.take(|first, second| Written { first, second }.append_to(out));
        }
    }
}

/// What a ring shows: two pieces, where it begins anew in between.
struct Written<'a> {
    first: &'a [u8],
    second: &'a [u8],
}

impl Written<'_> {
    fn append_to(&self, out: &mut Vec<u8>) {
        let mut at = 0;
        while let Some(header) = self.word(at) {
            let length = (header >> 48) as usize;
            if length < 8 || at + length > self.first.len() + self.second.len() {
                break;
            }
            let is_sample = header as u32 == stream::kind::SAMPLE;
            match is_sample.then(|| self.unfilled(at, length)).flatten() {
                Some(unfilled) => self.append_filled(at, length, &unfilled, out),
                None => self.append(at, length, out),
            }
            at += length;
        }
    }

    /// A sample without the room for its stack that was not filled.
    fn append_filled(&self, at: usize, length: usize, unfilled: &Unfilled, out: &mut Vec<u8>) {
        let start = out.len();
        self.append(at, unfilled.end - unfilled.bytes - at, out);
        self.append(unfilled.end, at + length - unfilled.end, out);
        let size_at = start + unfilled.size_at - at;
        out[start + 6..start + 8].copy_from_slice(&((length - unfilled.bytes) as u16).to_ne_bytes());
        out[size_at..size_at + 8].copy_from_slice(&unfilled.kept.to_ne_bytes());
    }

    /// The part of a sample that was kept for its stack and is not needed.
    fn unfilled(&self, at: usize, length: usize) -> Option<Unfilled> {
        let registers_at = at.checked_add(CHAIN + 8)?.checked_add(count(self.word(at + CHAIN)?, 8)?)?;
        let registers = if self.word(registers_at)? == 0 { 0 } else { REGISTERS.count_ones() as usize };
        let size_at = registers_at + 8 + registers * 8;
        let room = count(self.word(size_at)?, 1)?;
        let end = (size_at + 8).checked_add(room)?;
        let filled = count(self.word(end)?, 1)?;
        let kept = filled.next_multiple_of(8);
        let is_whole = end + 8 <= at + length && kept < room;
        is_whole.then(|| Unfilled { size_at, end, bytes: room - kept, kept: kept as u64 })
    }

    fn append(&self, at: usize, length: usize, out: &mut Vec<u8>) {
        let middle = self.first.len();
        let end = at + length;
        out.extend_from_slice(&self.first[at.min(middle)..end.min(middle)]);
        out.extend_from_slice(&self.second[at.saturating_sub(middle)..end.saturating_sub(middle)]);
    }

    /// All that is written is a multiple of eight bytes.
    fn word(&self, at: usize) -> Option<u64> {
        let (piece, at) = match at.checked_sub(self.first.len()) {
            Some(at) => (self.second, at),
            None => (self.first, at),
        };
        Some(u64::from_ne_bytes(*piece.get(at..)?.first_chunk()?))
    }
}

/// Where a sample has the size of its stack, where the room for it ends, how much of that is not needed, and how much is.
struct Unfilled {
    size_at: usize,
    end: usize,
    bytes: usize,
    kept: u64,
}

/// So many things of a size, as bytes; none where that is more than a record has.
fn count(number: u64, size: usize) -> Option<usize> {
    usize::try_from(number).ok().filter(|number| *number <= usize::from(u16::MAX)).map(|number| number * size)
}

/// In a sample: header, id, ip, thread, time, CPU, period; then the length of the chain.
const CHAIN: usize = 7 * 8;

/// Appends a sample without what stands behind its call chain: registers and stack.
pub fn strip(sample: &[u8], out: &mut Vec<u8>) {
    let length = sample.get(CHAIN..).and_then(<[u8]>::first_chunk).map(|bytes| u64::from_ne_bytes(*bytes));
    let end = length
        .and_then(|length| CHAIN.checked_add(8)?.checked_add(usize::try_from(length).ok()?.checked_mul(8)?));
    let Some(short) = end.and_then(|end| sample.get(..end)) else { return };
    let Ok(size) = u16::try_from(short.len()) else { return };
    let start = out.len();
    out.extend_from_slice(short);
    out[start + 6..start + 8].copy_from_slice(&size.to_ne_bytes());
}

/// The processes that began, by what whole records say.
pub fn new_processes(bytes: &[u8]) -> impl Iterator<Item = u32> {
    stream::forks(bytes).filter(|fork| fork.pid != fork.parent_pid).map(|fork| fork.pid)
}

/// The whole records in a buffer: whether each is a sample, and all its bytes.
pub fn records(bytes: &[u8]) -> impl Iterator<Item = (bool, &[u8])> {
    stream::whole_records(bytes).map(|(kind, record)| (kind == stream::kind::SAMPLE, record))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sample with a chain of two, registers, and room for a stack of `room` bytes of which `filled` are.
    fn sample(room: usize, filled: usize) -> Vec<u8> {
        let mut words = vec![0; 7];
        words.extend([2, 11, 12, 1, 21, 22, 23, 24, room as u64]);
        let mut bytes: Vec<u8> = words.iter().flat_map(|word: &u64| word.to_ne_bytes()).collect();
        bytes.extend((0..room).map(|at| if at < filled { 7 } else { 0xee }));
        bytes.extend((filled as u64).to_ne_bytes());
        let length = bytes.len() as u16;
        bytes[..4].copy_from_slice(&stream::kind::SAMPLE.to_ne_bytes());
        bytes[6..8].copy_from_slice(&length.to_ne_bytes());
        bytes
    }

    #[test]
    fn room_that_is_not_filled_is_left_out() {
        let other = stream::record(stream::kind::COMM, 0, &[5; 24]);
        let all = [sample(64, 24), other.clone(), sample(64, 64), sample(64, 21)].concat();
        let short = [sample(24, 24), other, sample(64, 64), sample(24, 21)].concat();
        for middle in (0..=all.len()).step_by(8) {
            let (first, second) = all.split_at(middle);
            let mut out = Vec::new();
            Written { first, second }.append_to(&mut out);
            // Eight bytes at a time: what was in the room beside the filled part does not matter.
            let (out, expected) = (records(&out).collect::<Vec<_>>(), records(&short).collect::<Vec<_>>());
            assert_eq!(out.len(), expected.len());
            for ((_, out), (_, expected)) in out.iter().zip(&expected) {
                assert_eq!(out.len(), expected.len(), "cut at {middle}");
                assert!(out.iter().zip(*expected).all(|(one, other)| one == other || *other == 0xee));
            }
        }
    }

    #[test]
    fn whatever_a_ring_says_ends() {
        for length in [0u16, 4, 8, 16, 72, 0xfff8] {
            let mut bytes = sample(64, 24);
            bytes[6..8].copy_from_slice(&length.to_ne_bytes());
            for at in (56..bytes.len() - 8).step_by(8) {
                let mut bytes = bytes.clone();
                bytes[at..at + 8].copy_from_slice(&u64::MAX.to_ne_bytes());
                Written { first: &bytes, second: &[] }.append_to(&mut Vec::new());
            }
        }
    }
}
