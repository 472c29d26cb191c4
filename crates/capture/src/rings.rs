//! The rings of memory that events write into: one for each CPU. Two programs can share them: one that opened the
//! events, and one that reads, and may be replaced by another.

use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

use sys::perf::{Event, Ring, wait};

use crate::sampler::REGISTERS;
use crate::stream::{self, own};
use crate::switches;
use trace::Cut;

/// The rings of a sampler that this program shares with the one that started it.
pub struct Rings {
    rows: Vec<(Event, Ring)>,
    /// Up to where each was read.
    read: Vec<u64>,
}

impl Rings {
    /// From what [`crate::Sampler::share`] returned.
    pub fn inherited(text: &str) -> io::Result<Self> {
        let row = |part: &str| {
            let (file, bytes) = part.split_once(':').ok_or(io::ErrorKind::InvalidInput)?;
            let number = |text: &str| text.parse::<i32>().map_err(|_| io::ErrorKind::InvalidInput);
            let event = Event::inherited(number(file)?)?;
            let ring = Ring::map(&event, number(bytes)? as usize)?;
            Ok::<_, io::Error>((event, ring))
        };
        Ok(Self { rows: text.split(',').map(row).collect::<io::Result<_>>()?, read: Vec::new() })
    }

    /// Waits until the time is over, or a descriptor has something or was closed; whether it was that. A caller that
    /// needs fresh samples is woken by them, too.
    pub fn wait_or(&self, file: i32, most: Duration, at_sample: bool) -> io::Result<bool> {
        let rings = self.rows.iter().filter(|_| at_sample).map(|(event, _)| event.as_raw_fd());
        let files: Vec<i32> = rings.chain([file]).collect();
        wait(&files, most)
    }

    /// Appends what was written since the last time, and returns up to where each ring was read. The space that the
    /// kernel reserves for a stack and does not fill is left out: it is most of a sample.
    pub fn read(&mut self, out: &mut Vec<u8>) -> &[u64] {
        let start = out.len();
        let rows = self.rows.iter_mut();
        self.read =
            rows.map(|(_, ring)| ring.show(|first, second| compact(first, second, out))).collect();
        switches::thin(out, start);
        &self.read
    }

    /// Returns the space of what was read to the kernel: until then, another program can read it again.
    pub fn release(&mut self) {
        for ((_, ring), end) in self.rows.iter_mut().zip(self.read.drain(..)) {
            ring.release(end);
        }
    }
}

/// Appends the records of what a ring shows: two pieces, where it wraps around in between. The space that the kernel
/// reserved for the stack of a sample and did not fill is left out. Any bytes are accepted: what is no record ends it.
pub fn compact(first: &[u8], second: &[u8], out: &mut Vec<u8>) {
    let written = Written { first, second };
    let mut at = 0;
    while let Some(header) = written.word(at) {
        let length = (header >> 48) as usize;
        let end = at + length;
        if length < 8 || end > first.len() + second.len() {
            break;
        }
        // Only samples have a stack: what stands there in other records are paths and names.
        let is_sample = header as u32 == stream::kind::SAMPLE;
        match if is_sample { written.unfilled(at, end) } else { None } {
            Some(unfilled) => written.append_filled(at, end, &unfilled, out),
            None => written.append(at, end, out),
        }
        at = end;
    }
}

/// What a ring shows.
struct Written<'a> {
    first: &'a [u8],
    second: &'a [u8],
}

impl Written<'_> {
    /// A sample without the unfilled space for its stack.
    fn append_filled(&self, at: usize, end: usize, unfilled: &Unfilled, out: &mut Vec<u8>) {
        let start = out.len();
        self.append(at, unfilled.start, out);
        self.append(unfilled.end, end, out);
        let length = (out.len() - start) as u16;
        let size_at = start + (unfilled.size_at - at);
        out[start + 6..start + 8].copy_from_slice(&length.to_ne_bytes());
        out[size_at..size_at + 8].copy_from_slice(&unfilled.kept.to_ne_bytes());
    }

    /// The part of the sample from `at` to `record_end` that was kept for its stack and is not needed.
    fn unfilled(&self, at: usize, record_end: usize) -> Option<Unfilled> {
        let word = |place: usize| self.word(place).filter(|_| place + 8 <= record_end);
        let registers_at = at + CHAIN + 8 + count(word(at + CHAIN)?, 8)?;
        let registers = if word(registers_at)? == 0 { 0 } else { REGISTERS.count_ones() as usize };
        let size_at = registers_at + 8 + registers * 8;
        let room = count(word(size_at)?, 1)?;
        let end = size_at + 8 + room;
        // A word more than is filled: the reader sees that the space was not full.
        let kept = count(word(end)?, 1)?.next_multiple_of(8) + 8;
        // A stack that fills its space leaves nothing out, and what claims more than that is no sample of ours.
        (kept < room).then(|| Unfilled {
            size_at,
            start: size_at + 8 + kept,
            end,
            kept: kept as u64,
        })
    }

    fn append(&self, at: usize, end: usize, out: &mut Vec<u8>) {
        let middle = self.first.len();
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

/// Where a sample has the size of its stack, from where to where its space is not needed, and how much of it is.
struct Unfilled {
    size_at: usize,
    start: usize,
    end: usize,
    kept: u64,
}

/// The bytes of `number` things of a size; none where that is more than a record has.
fn count(number: u64, size: usize) -> Option<usize> {
    usize::try_from(number)
        .ok()
        .filter(|number| *number <= usize::from(u16::MAX))
        .map(|number| number * size)
}

/// In a sample: header, id, ip, thread, time, CPU, period; then the length of the chain.
const CHAIN: usize = 7 * 8;

/// What a sample stands for.
pub fn period(sample: &[u8]) -> Option<u64> {
    Written { first: sample, second: &[] }.word(CHAIN - 8)
}

/// Appends a sample without what stands behind its call chain: registers and stack. Where the chain has nothing of user
/// space, it gets the instruction that ran there, and a frame that marks that its callers are not known. Returns
/// whether there was a sample.
pub fn strip(sample: &[u8], out: &mut Vec<u8>) -> bool {
    let written = Written { first: sample, second: &[] };
    let count = written.word(CHAIN).and_then(|length| count(length, 8));
    let Some(chain) = count.and_then(|bytes| sample.get(CHAIN + 8..CHAIN + 8 + bytes)) else {
        return false;
    };
    let end = CHAIN + 8 + chain.len();
    let has_user =
        chain.as_chunks::<8>().0.iter().any(|word| u64::from_ne_bytes(*word) == own::USER);
    let registers = written.word(end).filter(|kind| *kind != 0 && !has_user);
    // The instruction pointer is the last of them.
    let ip = registers.and_then(|_| written.word(end + REGISTERS.count_ones() as usize * 8));
    let added = ip.map_or(Vec::new(), |ip| vec![own::USER, ip, own::CUT, Cut::NotWalked as u64]);
    let words = chain.len() / 8 + added.len();
    let Ok(size) = u16::try_from(end + added.len() * 8) else { return false };
    let start = out.len();
    out.extend_from_slice(&sample[..end]);
    added.iter().for_each(|word| out.extend_from_slice(&word.to_ne_bytes()));
    out[start + 6..start + 8].copy_from_slice(&size.to_ne_bytes());
    out[start + CHAIN..start + CHAIN + 8].copy_from_slice(&(words as u64).to_ne_bytes());
    true
}

/// The processes that began, by whole records.
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
        let short = [sample(32, 24), other, sample(64, 64), sample(32, 21)].concat();
        for middle in (0..=all.len()).step_by(8) {
            let (first, second) = all.split_at(middle);
            let mut out = Vec::new();
            compact(first, second, &mut out);
            // Eight bytes at a time: what was in the room beside the filled part does not matter.
            let (out, expected) =
                (records(&out).collect::<Vec<_>>(), records(&short).collect::<Vec<_>>());
            assert_eq!(out.len(), expected.len());
            for ((_, out), (_, expected)) in out.iter().zip(&expected) {
                assert_eq!(out.len(), expected.len(), "cut at {middle}");
                assert!(
                    out.iter().zip(*expected).all(|(one, other)| one == other || *other == 0xee)
                );
            }
        }
    }

    #[test]
    fn whatever_a_ring_contains_ends() {
        for length in [0u16, 4, 8, 16, 72, 0xfff8] {
            let mut bytes = sample(64, 24);
            bytes[6..8].copy_from_slice(&length.to_ne_bytes());
            for at in (56..bytes.len() - 8).step_by(8) {
                let mut bytes = bytes.clone();
                bytes[at..at + 8].copy_from_slice(&u64::MAX.to_ne_bytes());
                compact(&bytes, &[], &mut Vec::new());
            }
        }
    }

    /// The sample has the kernel's part of a chain, registers and a stack: what is left marks that there was more.
    #[test]
    fn a_sample_without_its_stack_has_the_instruction_and_no_root() {
        let words = |bytes: &[u8]| {
            let words = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word));
            words.collect::<Vec<u64>>()
        };
        let mut out = Vec::new();
        assert!(strip(&sample(64, 24), &mut out));
        assert_eq!(words(&out)[7..], [6, 11, 12, own::USER, 24, own::CUT, Cut::NotWalked as u64]);
        assert_eq!(
            records(&out).map(|(is_sample, record)| (is_sample, record.len())).collect::<Vec<_>>(),
            [(true, 112)]
        );
        // A chain that the kernel has taken down itself stays as it is.
        let mut own_chain = sample(64, 24);
        own_chain[64..72].copy_from_slice(&own::USER.to_ne_bytes());
        out.clear();
        assert!(strip(&own_chain, &mut out));
        assert_eq!(words(&out)[7..], [2, own::USER, 12]);
        assert!(!strip(&own_chain[..60], &mut out) && !strip(&[], &mut out));
    }

    /// Paths and names stand where a sample would have its chain: nothing is computed from them.
    #[test]
    fn records_that_are_no_samples_are_taken_as_they_are() {
        let words =
            |words: &[u64]| words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>();
        for kind in (0..=21).filter(|kind| *kind != stream::kind::SAMPLE) {
            for length in (8..400).step_by(8) {
                let path: Vec<u8> = (0..length).map(|at| b'a' + (at % 26) as u8).collect();
                let mut all = stream::record(kind, 0, &path);
                // As if it had an empty chain, no registers and a small room, of which more was filled than it has.
                let mut like = vec![0; (CHAIN - 8) / 8];
                like.extend([0, 0, 8, 7, length as u64]);
                all.extend(stream::record(kind, 0, &words(&like)));
                for middle in (0..=all.len()).step_by(8) {
                    let (first, second) = all.split_at(middle);
                    let mut out = Vec::new();
                    compact(first, second, &mut out);
                    assert_eq!(out, all, "kind {kind}, {length} bytes, cut at {middle}");
                }
            }
        }
    }

    /// Cut off anywhere, and with any byte flipped, records are taken as far as they are whole.
    #[test]
    fn damaged_rings_are_read_as_far_as_they_are_whole() {
        let mmap = stream::record(stream::kind::MMAP2, 0, &[b'/'; 100]);
        let whole = [sample(64, 24), mmap.clone(), sample(128, 128), mmap, sample(64, 0)].concat();
        let mut out = Vec::new();
        for cut in 0..whole.len() {
            let (first, second) = whole[..cut].split_at(cut / 3);
            compact(first, second, &mut out);
        }
        for at in 0..whole.len() {
            for byte in [0, 1, 7, 8, 9, 0x7f, 0x80, 0xff] {
                let mut mutant = whole.clone();
                mutant[at] = byte;
                let (first, second) = mutant.split_at(whole.len() / 16 * 8);
                out.clear();
                compact(first, second, &mut out);
                assert!(out.len() <= mutant.len(), "byte {at} is {byte}");
                let stripped = records(&out).filter(|(is_sample, _)| *is_sample);
                assert!(stripped.filter(|(_, record)| strip(record, &mut Vec::new())).count() <= 3);
                assert!(new_processes(&out).count() <= 5);
            }
        }
    }
}
