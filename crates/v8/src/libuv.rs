//! What libuv keeps in memory, read from outside: its listeners for signals ([`listens_to`]), and its event loops: when
//! a loop began to wait, for how long it has waited so far, and how many turns it has made. Offsets were read in builds
//! of Node 18 to 26. Memory comes through [`Memory`]; what does not look like a loop is none.

mod pool;
mod signals;

use crate::machine::MACHINE;
pub use crate::machine::first_relative_load;
use crate::{Fault, Memory, Piece};

pub use pool::{POOL_SYMBOLS, Pool, PoolState, PoolWork, WorkNames};
pub use signals::{SignalFault, is_signal_tree, listens_to};

/// Where the fields stand that differ between versions, in the loop's internal fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopLayout {
    /// provider_entry_time: when the poll began that is going on, 0 outside of one.
    entry: usize,
    /// provider_idle_time: the length of all polls before.
    idle: usize,
    /// loop_count: the turns so far, where libuv counts them.
    count: Option<usize>,
}

/// libuv 1.43 and 1.44: Node 18, and 20.0.
const WITHOUT_COUNT: LoopLayout = LoopLayout { entry: 8, idle: 16, count: None };
/// libuv since 1.45.
const WITH_COUNT: LoopLayout = LoopLayout { entry: 136, idle: 144, count: Some(8) };

/// A function that libuv has since it counts turns.
pub const SINCE_COUNT: &[u8] = b"uv_metrics_info";
/// The function that gives the main loop, which stripped builds have, too.
pub const DEFAULT_LOOP: &[u8] = b"uv_default_loop";
/// The variable that it gives, which only its own file knows.
pub const DEFAULT_LOOP_POINTER: &[u8] = b"default_loop_ptr";

impl LoopLayout {
    /// The layout of a libuv that has [`SINCE_COUNT`] or not.
    pub fn new(counts_turns: bool) -> Self {
        if counts_turns { WITH_COUNT } else { WITHOUT_COUNT }
    }
}

/// In a loop, on 64-bit Linux: a list of handles, a pointer to the internal fields, the epoll descriptor, the list of
/// finished work, the time when its turn began.
const HANDLES: u64 = 16;
const INTERNAL_FIELDS: u64 = 40;
const BACKEND_FD: u64 = 64;
const WORK: u64 = 120;
const TIME: u64 = 544;
/// From [`INTERNAL_FIELDS`] to behind [`BACKEND_FD`].
const HEAD_BYTES: usize = 32;
/// As much of the internal fields as has everything.
const FIELD_BYTES: usize = 152;
/// As much of a loop as has what [`candidates`] looks at.
const LOOP_BYTES: usize = 136;
/// The flag UV_METRICS_IDLE_TIME, without which no poll is timed.
const IS_TIMED: u32 = 1;
/// Counters beyond this are no counters.
const MOST: u64 = 1 << 62;
/// More descriptors than a process may have.
const MOST_FDS: i32 = 1 << 24;

/// A loop that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventLoop {
    address: u64,
    fields: u64,
    /// Its epoll descriptor.
    pub backend_fd: i32,
    layout: LoopLayout,
}

/// The state that a loop keeps of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoopState {
    /// When the poll began that is going on (CLOCK_MONOTONIC); 0 while a turn goes on.
    pub entry_ns: u64,
    /// For how long it has polled so far, without the poll that is going on.
    pub idle_ns: u64,
    /// How many turns it has made, where that is counted.
    pub count: Option<u64>,
    /// When the turn began, in whole milliseconds; setting a timer moves it.
    pub time_ms: u64,
}

/// Why there is no state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopFault {
    /// The memory could not be read.
    Unreadable,
    /// This is no loop, not yet one, or none any more.
    NoLoop,
    /// It does not time its polls.
    Untimed,
}

impl From<Fault> for LoopFault {
    fn from(_: Fault) -> Self {
        Self::Unreadable
    }
}

impl EventLoop {
    /// The loop at an address, if there is one.
    pub fn at(memory: &dyn Memory, address: u64, layout: LoopLayout) -> Result<Self, LoopFault> {
        let mut head = [0; HEAD_BYTES];
        memory.read(address.wrapping_add(INTERNAL_FIELDS), &mut head)?;
        let fields =
            word(&head, 0).filter(|fields| is_pointer(*fields)).ok_or(LoopFault::NoLoop)?;
        let backend_fd = number(&head, (BACKEND_FD - INTERNAL_FIELDS) as usize);
        let backend_fd =
            backend_fd.filter(|fd| (0..MOST_FDS).contains(fd)).ok_or(LoopFault::NoLoop)?;
        for queue in [HANDLES, WORK] {
            if !is_queue(memory, address.wrapping_add(queue))? {
                return Err(LoopFault::NoLoop);
            }
        }
        let found = Self { address, fields, backend_fd, layout };
        found.look(memory)?;
        Ok(found)
    }

    /// Its state now. A loop that has ended is none.
    pub fn look(&self, memory: &dyn Memory) -> Result<LoopState, LoopFault> {
        let (mut head, mut time, mut fields) = ([0; HEAD_BYTES], [0; 8], [0; FIELD_BYTES]);
        let mut pieces = [
            Piece { address: self.address.wrapping_add(INTERNAL_FIELDS), out: &mut head },
            Piece { address: self.address.wrapping_add(TIME), out: &mut time },
            Piece { address: self.fields, out: &mut fields },
        ];
        let read = memory.read_many(&mut pieces);
        if read.first() != Some(&true) {
            return Err(LoopFault::Unreadable);
        }
        let is_same = word(&head, 0) == Some(self.fields)
            && number(&head, (BACKEND_FD - INTERNAL_FIELDS) as usize) == Some(self.backend_fd);
        if !is_same || read != [true, true, true] {
            return Err(LoopFault::NoLoop);
        }
        if number(&fields, 0).is_none_or(|flags| flags as u32 & IS_TIMED == 0) {
            return Err(LoopFault::Untimed);
        }
        let counter =
            |at: usize| word(&fields, at).filter(|value| *value < MOST).ok_or(LoopFault::NoLoop);
        Ok(LoopState {
            entry_ns: counter(self.layout.entry)?,
            idle_ns: counter(self.layout.idle)?,
            count: self.layout.count.map(counter).transpose()?,
            time_ms: word(&time, 0)
                .filter(|value| *value < MOST / 1_000_000)
                .ok_or(LoopFault::NoLoop)?,
        })
    }
}

/// The addresses in a piece of a stack where a loop may be: its list of finished work is empty, as it nearly always
/// is, or leads somewhere, and its descriptor is `fd` where that is known.
pub fn candidates(base: u64, bytes: &[u8], fd: Option<i32>) -> impl Iterator<Item = u64> + '_ {
    let last = bytes.len().saturating_sub(LOOP_BYTES);
    (0..last).step_by(8).filter_map(move |at| {
        let address = base.wrapping_add(at as u64);
        let found = |offset: u64| word(bytes, at + offset as usize);
        let is_fd = number(bytes, at + BACKEND_FD as usize)
            .is_some_and(|found| fd.map_or((0..MOST_FDS).contains(&found), |fd| fd == found));
        let places = [HANDLES, HANDLES + 8, INTERNAL_FIELDS, WORK, WORK + 8];
        let are_pointers =
            is_fd && places.iter().all(|offset| found(*offset).is_some_and(is_pointer));
        let own = address.wrapping_add(WORK);
        let is_empty = found(WORK) == Some(own);
        (are_pointers && is_empty == (found(WORK + 8) == Some(own))).then_some(address)
    })
}

/// Whether both neighbours of a queue's head lead back to it.
fn is_queue(memory: &dyn Memory, head: u64) -> Result<bool, LoopFault> {
    let mut ends = [0; 16];
    memory.read(head, &mut ends)?;
    let (Some(next), Some(previous)) = (word(&ends, 0), word(&ends, 8)) else { return Ok(false) };
    let leads_back = |address: u64| {
        let mut back = [0; 8];
        is_pointer(address)
            && memory.read(address, &mut back).is_ok()
            && u64::from_le_bytes(back) == head
    };
    Ok(leads_back(next.wrapping_add(8)) && leads_back(previous))
}

fn is_pointer(value: u64) -> bool {
    value.is_multiple_of(8) && MACHINE.addresses.contains(&value)
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

fn number(bytes: &[u8], at: usize) -> Option<i32> {
    bytes.get(at..)?.first_chunk().map(|bytes| i32::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: u64 = 0x7f00_0000_0000;
    const LOOP: u64 = BASE + 0x100;
    const FIELDS: u64 = BASE + 0x800;

    /// A page with a loop in it.
    struct Page(Vec<u8>);

    impl Memory for Page {
        fn read(&self, address: u64, out: &mut [u8]) -> Result<(), Fault> {
            let start =
                usize::try_from(address.checked_sub(BASE).ok_or(Fault)?).map_err(|_| Fault)?;
            let end = start.checked_add(out.len()).ok_or(Fault)?;
            out.copy_from_slice(self.0.get(start..end).ok_or(Fault)?);
            Ok(())
        }
    }

    impl Page {
        fn put(&mut self, address: u64, value: u64) {
            let at = (address - BASE) as usize;
            self.0[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
    }

    fn page() -> Page {
        let mut page = Page(vec![0; 4096]);
        for queue in [LOOP + HANDLES, LOOP + WORK] {
            page.put(queue, queue);
            page.put(queue + 8, queue);
        }
        page.put(LOOP + INTERNAL_FIELDS, FIELDS);
        page.put(LOOP + BACKEND_FD, 13);
        page.put(LOOP + TIME, 7_000);
        page.put(FIELDS, u64::from(IS_TIMED));
        page.put(FIELDS + 8, 42);
        page.put(FIELDS + 136, 7_000_000_123);
        page.put(FIELDS + 144, 5_000_000_000);
        page
    }

    #[test]
    fn a_loop_has_its_state() {
        let mut page = page();
        let found = EventLoop::at(&page, LOOP, LoopLayout::new(true)).expect("it is one");
        assert_eq!(found.backend_fd, 13);
        let state = LoopState {
            entry_ns: 7_000_000_123,
            idle_ns: 5_000_000_000,
            count: Some(42),
            time_ms: 7_000,
        };
        assert_eq!(found.look(&page), Ok(state));
        let older = EventLoop::at(&page, LOOP, LoopLayout::new(false)).expect("it is one");
        let state = LoopState { entry_ns: 42, idle_ns: 0, count: None, time_ms: 7_000 };
        assert_eq!(older.look(&page), Ok(state));
        page.put(FIELDS, 0);
        assert_eq!(found.look(&page), Err(LoopFault::Untimed));
        page.put(LOOP + INTERNAL_FIELDS, u64::MAX);
        assert_eq!(found.look(&page), Err(LoopFault::NoLoop), "it has ended");
    }

    #[test]
    fn loops_are_found_on_a_stack() {
        let page = page();
        let found: Vec<u64> = candidates(BASE, &page.0, None).collect();
        assert_eq!(found, [LOOP]);
        assert_eq!(candidates(BASE, &page.0, Some(13)).count(), 1);
        assert_eq!(candidates(BASE, &page.0, Some(14)).count(), 0);
        assert_eq!(candidates(BASE, &page.0[..200], None).count(), 0, "cut off");
    }

    #[test]
    fn what_only_looks_like_a_loop_is_none() {
        let layout = LoopLayout::new(true);
        let broken = |address: u64, value: u64| {
            let mut page = page();
            page.put(address, value);
            EventLoop::at(&page, LOOP, layout)
        };
        for (address, value) in [
            (LOOP + HANDLES, FIELDS),
            (LOOP + HANDLES + 8, 0),
            (LOOP + WORK, FIELDS),
            (LOOP + INTERNAL_FIELDS, 3),
            (LOOP + INTERNAL_FIELDS, BASE + 4096),
            (LOOP + BACKEND_FD, u64::from(u32::MAX)),
            (LOOP + TIME, u64::MAX),
            (FIELDS + 144, u64::MAX),
        ] {
            assert_eq!(
                broken(address, value),
                Err(LoopFault::NoLoop),
                "{:x} is {value:x}",
                address - BASE
            );
        }
        assert_eq!(EventLoop::at(&page(), 8, layout), Err(LoopFault::Unreadable));
        assert_eq!(EventLoop::at(&page(), u64::MAX - 8, layout), Err(LoopFault::Unreadable));
    }
}
