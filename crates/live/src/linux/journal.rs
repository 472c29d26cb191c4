//! What the reader of names has taken out of the rings and not handed over yet. It writes it down before the kernel may
//! use the room again, so that nothing is lost when it ends: the recorder finds here what is missing, each record once.
//!
//! ```text
//! head     first u64, end u64, count u64, positions u64…    written at once, in one page
//! records  from BODY to end, samples without their stacks; `first` is the number of the first one
//! ```

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use capture::{own, records, strip};

/// Where records begin.
const BODY: u64 = 4096;
/// The head has room for the rings of this many CPUs.
const MOST_POSITIONS: usize = 500;
/// More than is ever waiting: a made-up head is not believed.
const MOST_BYTES: u64 = 1 << 30;

pub(super) struct Journal {
    file: File,
    first: u64,
    end: u64,
    positions: Vec<u64>,
}

/// What was not handed over: whole records, and up to where the rings were read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rest {
    pub(super) records: Vec<u8>,
    pub(super) positions: Vec<u64>,
}

impl Journal {
    pub(super) fn new() -> io::Result<Self> {
        sys::files::memory_file().map(Self::of)
    }

    fn of(file: File) -> Self {
        Self { file, first: 0, end: BODY, positions: Vec::new() }
    }

    /// Empties it, and lets a program that is started now have it under this number.
    pub(super) fn share(&mut self) -> io::Result<i32> {
        (self.first, self.end) = (0, BODY);
        self.positions.clear();
        self.write_head()?;
        sys::files::share(&self.file)?;
        Ok(self.file.as_raw_fd())
    }

    pub(super) fn inherited(number: i32) -> io::Result<Self> {
        sys::files::inherited(number).map(Self::of)
    }

    /// Writes records down, in the order in which they will be handed over, and up to where the rings were read.
    pub(super) fn add(&mut self, all: &[&[u8]], positions: &[u64]) -> io::Result<()> {
        if all.is_empty() && self.positions == positions {
            return Ok(());
        }
        let mut bytes = Vec::new();
        for record in all {
            let (is_sample, _) = records(record).next().unwrap_or((false, record));
            if !is_sample {
                bytes.extend_from_slice(record);
            } else if !strip(record, &mut bytes) {
                // Its place is kept.
                bytes.extend(own::finished_round());
            }
        }
        self.file.write_all_at(&bytes, self.end)?;
        self.end += bytes.len() as u64;
        self.positions.clear();
        self.positions.extend(positions.iter().take(MOST_POSITIONS));
        self.write_head()
    }

    /// All `taken` records were handed over.
    pub(super) fn forget(&mut self, taken: u64) -> io::Result<()> {
        if (self.first, self.end) == (taken, BODY) {
            return Ok(());
        }
        (self.first, self.end) = (taken, BODY);
        self.write_head()
    }

    /// What a program that has ended wrote behind the first `taken` records.
    pub(super) fn rest(&self, taken: u64) -> Option<Rest> {
        let mut head = [0; BODY as usize];
        let length = self.file.read_at(&mut head, 0).ok()?;
        let mut words =
            head[..length].as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word));
        let (first, end, count) = (words.next()?, words.next()?, words.next()?);
        let positions = words.take(usize::try_from(count).ok()?.min(MOST_POSITIONS)).collect();
        let size = end.checked_sub(BODY).filter(|size| *size <= MOST_BYTES)?;
        let mut bytes = vec![0; usize::try_from(size).ok()?];
        self.file.read_exact_at(&mut bytes, BODY).ok()?;
        let done = usize::try_from(taken.checked_sub(first)?).ok()?;
        let rest =
            records(&bytes).skip(done).flat_map(|(_, record)| record.iter().copied()).collect();
        Some(Rest { records: rest, positions })
    }

    fn write_head(&mut self) -> io::Result<()> {
        let words = [self.first, self.end, self.positions.len() as u64];
        let head: Vec<u8> =
            words.iter().chain(&self.positions).flat_map(|word| word.to_ne_bytes()).collect();
        self.file.write_all_at(&head, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn journal() -> Journal {
        Journal::new().expect("the kernel has memory files")
    }

    fn note(text: &str) -> Vec<u8> {
        own::note(text)
    }

    #[test]
    fn what_was_not_handed_over_is_found_once() {
        let (mut writer, [one, two, three]) = (journal(), ["one", "and two", "three"].map(note));
        let reader = Journal::of(writer.file.try_clone().expect("it is open"));
        assert_eq!(reader.rest(0), None, "nothing was written");
        writer.share().expect("it is a file");
        let rest = |taken| reader.rest(taken).map(|rest| (rest.records, rest.positions));
        assert_eq!(rest(0), Some((Vec::new(), Vec::new())));
        writer.add(&[&one, &two], &[5, 6]).expect("memory");
        writer.add(&[&three], &[7, 8]).expect("memory");
        assert_eq!(rest(0), Some(([&one[..], &two, &three].concat(), vec![7, 8])));
        assert_eq!(rest(2), Some((three.clone(), vec![7, 8])));
        assert_eq!(rest(3), Some((Vec::new(), vec![7, 8])));
        writer.forget(3).expect("memory");
        assert_eq!(rest(3), Some((Vec::new(), vec![7, 8])));
        writer.add(&[&one], &[9, 9]).expect("memory");
        assert_eq!(rest(3), Some((one.clone(), vec![9, 9])));
        assert_eq!(rest(4), Some((Vec::new(), vec![9, 9])));
        assert_eq!(rest(2), None, "a number from before");
    }

    #[test]
    fn a_head_that_is_made_up_yields_nothing() {
        let writer = journal();
        for words in [[0, u64::MAX, 0], [0, 0, 0], [9, BODY, u64::MAX], [0, BODY + 800, 1]] {
            let head: Vec<u8> = words.iter().flat_map(|word: &u64| word.to_ne_bytes()).collect();
            writer.file.write_all_at(&head, 0).expect("memory");
            assert_eq!(writer.rest(1).filter(|rest| !rest.records.is_empty()), None, "{words:?}");
        }
    }
}
