//! libuv's thread pool, read from outside: how many of its threads have a request, and what waits in its queues. The
//! variables of threadpool.c are local symbols, so a stripped program hides them. Read in builds of Node 18 to 26.

use std::collections::HashMap;
use std::ops::Range;

use super::{is_pointer, number, word};
use crate::{Fault, Memory, Piece};

/// The variables of threadpool.c, and the functions that requests run. The order is that of the fields of [`Pool`].
pub const POOL_SYMBOLS: [&str; 11] = [
    "nthreads",
    "idle_threads",
    "slow_io_work_running",
    "wq",
    "slow_io_pending_wq",
    "run_slow_work_message",
    "exit_message",
    "uv__fs_work",
    "uv__getaddrinfo_work",
    "uv__getnameinfo_work",
    "uv__queue_work",
];
const VARIABLES: usize = 7;
/// The sizes of the variables: three counters, two queues, two entries of a queue.
const SIZES: [u64; VARIABLES] = [4, 4, 4, 16, 16, 16, 16];
/// Variables of one file are near each other.
const NEAR: u64 = 4096;

/// More threads than libuv allows.
const MOST_THREADS: u32 = 1024;
/// No more requests are counted.
const MOST_QUEUED: usize = 256;
/// Names of work that were read.
const MOST_NAMES: usize = 64;

/// In an entry of a queue, seen from its links: the function that it runs is 24 bytes before them. A `uv_work_t` has
/// its own function 40 bytes before, and in Node's ThreadPoolWork the name of its kind follows 16 bytes behind.
const BEFORE: u64 = 40;
const WORK: usize = 16;
const NEXT: usize = 40;
const PREVIOUS: usize = 48;
const NAME: usize = 56;
const ENTRY_BYTES: usize = 64;
const NAME_BYTES: usize = 16;

/// What a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolWork {
    /// A file system call.
    Fs,
    /// A lookup of a name or address, which may use half of the threads.
    Dns,
    /// node:crypto.
    Crypto,
    /// node:zlib.
    Zlib,
    /// A native addon.
    Addon,
    /// Anything else.
    Other,
}

impl PoolWork {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 6] =
        [Self::Fs, Self::Dns, Self::Crypto, Self::Zlib, Self::Addon, Self::Other];

    /// What Node calls the kinds of its ThreadPoolWork.
    fn named(name: &[u8]) -> Self {
        match name.split(|byte| *byte == 0).next().unwrap_or_default() {
            b"crypto" => Self::Crypto,
            b"zlib" => Self::Zlib,
            b"node_api" => Self::Addon,
            _ => Self::Other,
        }
    }
}

/// Where the pool of a process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    threads: u64,
    idle: u64,
    slow_running: u64,
    queue: u64,
    slow_queue: u64,
    messages: [u64; 2],
    work: [u64; POOL_SYMBOLS.len() - VARIABLES],
    /// Where the program is: names of work are in it.
    program: (u64, u64),
}

/// The state that a pool keeps of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolState {
    /// Its threads; 0 as long as nothing has used it.
    pub threads: u32,
    /// Those that have a request.
    pub busy: u32,
    /// Requests that wait, by [`PoolWork`].
    pub queued: [u32; PoolWork::ALL.len()],
    /// Whether one waits because no thread is free for it.
    pub is_full: bool,
}

/// What the names of work mean that were read.
pub type WorkNames = HashMap<u64, PoolWork>;

impl Pool {
    /// The pool of a process that has a file at `bias`, from where the file has [`POOL_SYMBOLS`]. `program` is the part
    /// of the address space that the file takes, without the bias.
    pub fn new(places: &[Option<Range<u64>>], program: Range<u64>, bias: u64) -> Option<Self> {
        let places: Vec<Range<u64>> = places.iter().cloned().collect::<Option<_>>()?;
        let variables = places.get(..VARIABLES)?;
        let sizes = variables.iter().map(|place| place.end.saturating_sub(place.start));
        let first = variables.iter().map(|place| place.start).min()?;
        let last = variables.iter().map(|place| place.end).max()?;
        if !sizes.eq(SIZES) || last.saturating_sub(first) > NEAR {
            return None;
        }
        let at = |row: usize| places.get(row).map(|place| place.start.wrapping_add(bias));
        Some(Self {
            threads: at(0)?,
            idle: at(1)?,
            slow_running: at(2)?,
            queue: at(3)?,
            slow_queue: at(4)?,
            messages: [at(5)?, at(6)?],
            work: [at(7)?, at(8)?, at(9)?, at(10)?],
            program: (program.start.wrapping_add(bias), program.end.wrapping_add(bias)),
        })
    }

    /// Its state now. What is not a pool, or changes while it is read, is a fault.
    pub fn look(&self, memory: &dyn Memory, names: &mut WorkNames) -> Result<PoolState, Fault> {
        let (mut threads, mut idle, mut running) = ([0; 4], [0; 4], [0; 4]);
        let mut pieces = [
            Piece { address: self.threads, out: &mut threads },
            Piece { address: self.idle, out: &mut idle },
            Piece { address: self.slow_running, out: &mut running },
        ];
        if memory.read_many(&mut pieces) != [true, true, true] {
            return Err(Fault);
        }
        let counter = |bytes: &[u8]| {
            let value = number(bytes, 0).and_then(|value| u32::try_from(value).ok());
            value.filter(|value| *value <= MOST_THREADS).ok_or(Fault)
        };
        let (threads, idle, running) = (counter(&threads)?, counter(&idle)?, counter(&running)?);
        let mut state =
            PoolState { threads, busy: threads.saturating_sub(idle), ..PoolState::default() };
        if threads == 0 {
            return Ok(state);
        }
        let mut room = MOST_QUEUED;
        let waiting = self.count(memory, self.queue, names, &mut room, &mut state)?;
        let slow = self.count(memory, self.slow_queue, names, &mut room, &mut state)?;
        // Lookups may use half of the threads, rounded up.
        state.is_full = waiting > 0 && idle == 0 || slow > 0 && running >= threads.div_ceil(2);
        Ok(state)
    }

    /// Counts the requests in a queue.
    fn count(
        &self,
        memory: &dyn Memory,
        head: u64,
        names: &mut WorkNames,
        room: &mut usize,
        state: &mut PoolState,
    ) -> Result<u32, Fault> {
        let mut links = [0; 8];
        memory.read(head, &mut links)?;
        let (mut before, mut at) = (head, u64::from_le_bytes(links));
        let mut count = 0;
        while at != head && *room > 0 {
            *room -= 1;
            let mut entry = [0; ENTRY_BYTES];
            if !is_pointer(at) || memory.read(at.wrapping_sub(BEFORE), &mut entry).is_err() {
                return Err(Fault);
            }
            // A request that was just taken out leads elsewhere.
            if word(&entry, PREVIOUS) != Some(before) {
                return Err(Fault);
            }
            if !self.messages.contains(&at) {
                count += 1;
                let work = self.work_of(memory, &entry, names);
                state.queued[work as usize] += 1;
            }
            (before, at) = (at, word(&entry, NEXT).ok_or(Fault)?);
        }
        Ok(count)
    }

    fn work_of(&self, memory: &dyn Memory, entry: &[u8], names: &mut WorkNames) -> PoolWork {
        let function = word(entry, WORK).unwrap_or(0);
        match self.work.iter().position(|known| *known == function) {
            Some(0) => PoolWork::Fs,
            Some(1 | 2) => PoolWork::Dns,
            Some(_) => self.name_of(memory, word(entry, NAME).unwrap_or(0), names),
            None => PoolWork::Other,
        }
    }

    /// Work of Node has a name, which is in the program. What addons queue by themselves has something else there.
    fn name_of(&self, memory: &dyn Memory, address: u64, names: &mut WorkNames) -> PoolWork {
        if !(self.program.0..self.program.1).contains(&address) {
            return PoolWork::Addon;
        }
        if let Some(known) = names.get(&address) {
            return *known;
        }
        let mut name = [0; NAME_BYTES];
        let known =
            memory.read(address, &mut name).map_or(PoolWork::Other, |()| PoolWork::named(&name));
        if names.len() < MOST_NAMES {
            names.insert(address, known);
        }
        known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: u64 = 0x7f00_0000_0000;
    const BIAS: u64 = BASE + 0x1000;

    /// A program with its variables at 0x1000, its names at 0x2000, and a heap at 0x4000.
    struct Image(Vec<u8>);

    impl Memory for Image {
        fn read(&self, address: u64, out: &mut [u8]) -> Result<(), Fault> {
            let start =
                usize::try_from(address.checked_sub(BASE).ok_or(Fault)?).map_err(|_| Fault)?;
            let end = start.checked_add(out.len()).ok_or(Fault)?;
            out.copy_from_slice(self.0.get(start..end).ok_or(Fault)?);
            Ok(())
        }
    }

    impl Image {
        fn put(&mut self, address: u64, bytes: &[u8]) {
            let at = (address - BASE) as usize;
            self.0[at..at + bytes.len()].copy_from_slice(bytes);
        }

        fn word(&mut self, address: u64, value: u64) {
            self.put(address, &value.to_le_bytes());
        }

        /// A queue with these entries.
        fn queue(&mut self, head: u64, entries: &[u64]) {
            let ring: Vec<u64> = [head].iter().chain(entries).copied().collect();
            for (row, at) in ring.iter().enumerate() {
                let next = ring[(row + 1) % ring.len()];
                self.word(*at, next);
                self.word(next + 8, *at);
            }
        }
    }

    fn places() -> Vec<Option<Range<u64>>> {
        let variables = SIZES.iter().enumerate().map(|(row, size)| {
            let start = row as u64 * 16;
            Some(start..start + size)
        });
        let functions = (0..4).map(|row| Some(0x800 + row * 16..0x808 + row * 16));
        variables.chain(functions).collect()
    }

    fn pool() -> Pool {
        Pool::new(&places(), 0..0x2000, BIAS).expect("it is one")
    }

    /// A pool of four busy threads.
    fn image() -> Image {
        let (pool, mut image) = (pool(), Image(vec![0; 0x8000]));
        image.put(pool.threads, &4u32.to_le_bytes());
        image.queue(pool.queue, &[]);
        image.queue(pool.slow_queue, &[]);
        image
    }

    /// A request that runs a function, and where its links are.
    fn request(image: &mut Image, number: u64, function: u64, name: u64) -> u64 {
        let links = BASE + 0x4000 + number * 256;
        image.word(links - 24, function);
        image.word(links + 16, name);
        links
    }

    #[test]
    fn requests_are_counted_by_kind() {
        let (pool, mut image) = (pool(), image());
        let [fs, lookup, _, queued] = pool.work;
        image.put(BIAS + 0x1000, b"zlib\0crypto\0");
        let entries = [
            request(&mut image, 0, fs, 7),
            request(&mut image, 1, queued, BIAS + 0x1000),
            request(&mut image, 2, queued, BIAS + 0x1005),
            pool.messages[0],
            request(&mut image, 3, queued, 12345),
            request(&mut image, 4, 99, 0),
        ];
        image.queue(pool.queue, &entries);
        let slow = [request(&mut image, 5, lookup, 0), request(&mut image, 6, lookup, 0)];
        image.queue(pool.slow_queue, &slow);
        let state = pool.look(&image, &mut WorkNames::new()).expect("it can be read");
        let expected = PoolState { threads: 4, busy: 4, queued: [1, 2, 1, 1, 1, 1], is_full: true };
        assert_eq!(state, expected);
    }

    #[test]
    fn a_pool_is_full_when_a_request_waits_for_a_thread() {
        let (pool, mut names) = (pool(), WorkNames::new());
        let state = |idle: u32, running: u32, slow: bool| {
            let mut image = image();
            image.put(pool.idle, &idle.to_le_bytes());
            image.put(pool.slow_running, &running.to_le_bytes());
            let one = request(&mut image, 0, pool.work[usize::from(slow)], 0);
            image.queue(if slow { pool.slow_queue } else { pool.queue }, &[one]);
            pool.look(&image, &mut names.clone()).expect("it can be read")
        };
        assert!(state(0, 0, false).is_full && !state(1, 0, false).is_full);
        assert!(state(2, 2, true).is_full && !state(2, 1, true).is_full, "lookups have half of it");
        assert_eq!(state(2, 2, true).busy, 2);
        let empty = pool.look(&image(), &mut names).expect("it can be read");
        assert_eq!((empty.busy, empty.is_full), (4, false));
        let mut unused = image();
        unused.put(pool.threads, &[0; 4]);
        assert_eq!(pool.look(&unused, &mut names), Ok(PoolState::default()));
    }

    #[test]
    fn nonsense_does_no_harm() {
        let (pool, mut names) = (pool(), WorkNames::new());
        let mut torn = image();
        let entries: Vec<u64> = (0..3).map(|row| request(&mut torn, row, 0, 0)).collect();
        torn.queue(pool.queue, &entries);
        torn.word(entries[1] + 8, 0);
        assert_eq!(pool.look(&torn, &mut names), Err(Fault), "one was just taken out");
        let mut endless = image();
        let one = request(&mut endless, 0, 0, 0);
        endless.word(pool.queue, one);
        endless.word(one, one);
        endless.word(one + 8, pool.queue);
        assert_eq!(pool.look(&endless, &mut names), Err(Fault));
        let mut many = image();
        many.put(pool.threads, &u32::MAX.to_le_bytes());
        assert_eq!(pool.look(&many, &mut names), Err(Fault));
        assert_eq!(pool.look(&Image(Vec::new()), &mut names), Err(Fault));
        for (row, place) in [(3, None), (3, Some(0..8)), (3, Some(0x9000..0x9010)), (9, None)] {
            let mut places = places();
            places[row] = place;
            assert_eq!(Pool::new(&places, 0..0x2000, BIAS), None);
        }
        assert_eq!(Pool::new(&[], 0..0x2000, BIAS), None);
    }
}
