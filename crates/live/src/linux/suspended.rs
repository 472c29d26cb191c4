//! The async functions of a process that are suspended now: which of its memory is searched for them, and for how long.
//! V8's heap is anonymous memory that can be written. Only what is there is read: a page that was never used would get
//! memory by being read, and one that was swapped out would come back.

use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use symbols::{Suspended, Walker};

use crate::message::{Message, SuspendedFunctions, WaitingChain};

/// What the search may take. [`super::look`] adds the time to its own.
pub(super) const MOST_TIME: Duration = Duration::from_secs(2);
const MOST_BYTES: u64 = 1 << 30;

/// How often it reports that it goes on.
const SIGN_OF_LIFE: Duration = Duration::from_millis(100);

/// V8's pages begin at multiples of this.
const V8_PAGE: u64 = 256 << 10;

/// The size of a page, and what the kernel reports of each: a word with these bits.
const PAGE: u64 = 4096;
const IS_PRESENT: u64 = 1 << 63;
const IS_SWAPPED: u64 = 1 << 62;

/// How many pages one call asks for.
const PAGES_AT_ONCE: u64 = 1 << 14;

/// Searches a process, whose V8 the walker knows by now.
pub(super) fn search(
    pid: u32,
    walker: &mut Walker<'_>,
    send: fn(&Message) -> io::Result<()>,
) -> io::Result<SuspendedFunctions> {
    let (start, mut reported) = (Instant::now(), Instant::now());
    let memory = Resident::of(pid)?;
    let mut may_go_on = |bytes: u64| {
        let mut is_received = true;
        if reported.elapsed() >= SIGN_OF_LIFE {
            reported = Instant::now();
            is_received = send(&Message::Alive).is_ok();
        }
        is_received && bytes < MOST_BYTES && start.elapsed() < MOST_TIME
    };
    let found = walker.suspended(pid, &memory.ranges, &mut may_go_on);
    Ok(found
        .map_or_else(SuspendedFunctions::default, |found| message_of(found, memory.has_swapped)))
}

fn message_of(found: Suspended, has_swapped: bool) -> SuspendedFunctions {
    let chain = |(count, rows, end)| WaitingChain { count, rows, end: end as u8 };
    SuspendedFunctions {
        is_known: true,
        functions: found.functions,
        waiting: found.waiting,
        places: found.places,
        chains: found.chains.into_iter().map(chain).collect(),
        bytes: found.bytes,
        is_cut: found.is_cut || has_swapped,
    }
}

/// Memory of a process that can be read without effect.
struct Resident {
    /// The likeliest to be V8's first.
    ranges: Vec<Range<u64>>,
    has_swapped: bool,
}

impl Resident {
    fn of(pid: u32) -> io::Result<Self> {
        let maps = fs::read_to_string(format!("/proc/{pid}/maps"))?;
        let mut mappings: Vec<Range<u64>> = maps.lines().filter_map(anonymous).collect();
        mappings.sort_by_key(|range| (!range.start.is_multiple_of(V8_PAGE), range.start));
        let Ok(pages) = File::open(format!("/proc/{pid}/pagemap")) else {
            return Ok(Self { ranges: mappings, has_swapped: false });
        };
        let mut resident = Self { ranges: Vec::new(), has_swapped: false };
        for mapping in mappings {
            // What was unmapped meanwhile is not there.
            let _ = resident.add(&pages, &mapping);
        }
        Ok(resident)
    }

    /// Adds what is there of a mapping.
    fn add(&mut self, pages: &File, mapping: &Range<u64>) -> io::Result<()> {
        let mut words = Vec::new();
        for start in mapping.clone().step_by((PAGES_AT_ONCE * PAGE) as usize) {
            let count = ((mapping.end - start) / PAGE).min(PAGES_AT_ONCE);
            words.resize(8 * count as usize, 0);
            pages.read_exact_at(&mut words, start / PAGE * 8)?;
            for (row, word) in words.as_chunks::<8>().0.iter().enumerate() {
                let word = u64::from_le_bytes(*word);
                self.has_swapped |= word & IS_SWAPPED != 0;
                if word & IS_PRESENT != 0 {
                    self.push(start + row as u64 * PAGE);
                }
            }
        }
        Ok(())
    }

    /// Adds a page to the last range, where it follows.
    fn push(&mut self, page: u64) {
        match self.ranges.last_mut() {
            Some(last) if last.end == page => last.end += PAGE,
            _ => self.ranges.push(page..page + PAGE),
        }
    }
}

/// The range of a line of /proc/PID/maps, if it can be written and belongs to no file.
fn anonymous(line: &str) -> Option<Range<u64>> {
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let is_data = words.next()?.starts_with("rw-p");
    let name = words.nth(3);
    let is_anonymous = name.is_none_or(|name| name.starts_with("[anon"));
    let address = |text| u64::from_str_radix(text, 16).ok();
    (is_data && is_anonymous).then_some(address(start)?..address(end)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anonymous_memory_is_distinguished_from_files() {
        let heap = "23ca4e40000-23ca4e80000 rw-p 00000000 00:00 0 ";
        assert_eq!(anonymous(heap), Some(0x23c_a4e4_0000..0x23c_a4e8_0000));
        let named = "23ca4e40000-23ca4e80000 rw-p 00000000 00:00 0    [anon:v8]";
        assert_eq!(anonymous(named), Some(0x23c_a4e4_0000..0x23c_a4e8_0000));
        for line in [
            "46777000-469ed000 rw-p 00000000 00:00 0                [heap]",
            "b5dd6840000-b5dd6850000 r--p 00000000 00:00 0 ",
            "7f8f44000000-7f8f63dc0000 rwxp 00000000 00:00 0 ",
            "7f0000000000-7f0000001000 rw-p 00002000 08:01 77   /usr/lib/libc.so.6",
            "",
            "x-y rw-p 0 0 0",
        ] {
            assert_eq!(anonymous(line), None, "{line}");
        }
    }

    #[test]
    fn what_was_never_used_is_not_read() {
        let used = vec![1u8; 1 << 20];
        let unused = Vec::<u8>::with_capacity(64 << 20);
        let has = |resident: &Resident, address: u64| {
            resident.ranges.iter().any(|range| range.contains(&address))
        };
        let resident = Resident::of(std::process::id()).expect("/proc is mounted");
        assert!(has(&resident, used.as_ptr() as u64 + (1 << 19)));
        assert!(!has(&resident, unused.as_ptr() as u64 + (32 << 20)));
    }
}
