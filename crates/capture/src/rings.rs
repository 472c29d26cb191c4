//! The rings of memory that events write into: one for each CPU. Two programs can share them: one that opened the
//! events, and one that reads, and may be replaced by another.

use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

use sys::perf::{Event, Ring, wait};

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

    /// Appends what was written since the last time.
    pub fn read(&mut self, out: &mut Vec<u8>) {
        self.rows.iter_mut().for_each(|(_, ring)| ring.read(out));
    }
}

/// Appends a sample without what stands behind its call chain: registers and stack.
pub fn strip(sample: &[u8], out: &mut Vec<u8>) {
    // Header, id, ip, thread, time, CPU, period; then the length of the chain.
    const CHAIN: usize = 7 * 8;
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
