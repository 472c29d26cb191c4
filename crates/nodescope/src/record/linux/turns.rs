//! Reads how many turns the event loops of Node processes have made. libuv counts them, in memory that only its
//! process has; the counter's place is known from a symbol that stripped builds lack, and Node 18 counts none.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;

use elf::{Elf, Parts};
use trace::Turn;

/// libuv's default loop, which the main thread runs.
const LOOP: &[u8] = b"default_loop_struct";
/// In a loop: what is not for its users.
const INTERNAL_FIELDS: u64 = 40;
/// In there: its counter.
const LOOP_COUNT: u64 = 8;
/// A function that libuv has since it counts.
const SINCE_IT_COUNTS: &[u8] = b"uv_metrics_info";
/// More turns than this since its start are no count.
const MOST_TURNS: u64 = 1 << 48;

/// epoll_wait, epoll_pwait and epoll_pwait2: what a loop waits in.
#[cfg(target_arch = "x86_64")]
const WAITS: &[&str] = &["232", "281", "441"];
#[cfg(not(target_arch = "x86_64"))]
const WAITS: &[&str] = &["22", "441"];

/// The loops of all processes.
#[derive(Default)]
pub(super) struct Loops {
    /// The address of the loop in each program that was looked at.
    programs: HashMap<ProgramKey, Option<u64>>,
    /// Each process's program, and the address of its counter, where it has one.
    counters: HashMap<u32, (ProgramKey, Option<u64>)>,
}

/// Device and inode.
type ProgramKey = (u64, u64);

impl Loops {
    /// Looks for the counter of a process: anew if it had none yet, or if another program has taken it over.
    pub(super) fn add(&mut self, pid: u32) {
        let Ok(program) = File::open(format!("/proc/{pid}/exe")) else { return };
        let Ok(meta) = program.metadata() else { return };
        let key = (meta.dev(), meta.ino());
        if self.counters.get(&pid).is_none_or(|(known, counter)| *known != key || counter.is_none()) {
            let address = *self.programs.entry(key).or_insert_with(|| find_loop(program));
            self.counters.insert(pid, (key, address.and_then(|address| find_counter(pid, address))));
        }
    }

    /// What the counters say now; `ran` are the processes whose main thread was just seen running.
    pub(super) fn look(&mut self, time_ns: u64, ran: &BTreeSet<u32>, mut take: impl FnMut(&Turn)) {
        for (pid, (_, slot)) in &mut self.counters {
            let Some(address) = *slot else { continue };
            let count = read_word(*pid, address).ok().filter(|count| *count <= MOST_TURNS);
            let Some(count) = count else {
                // It has ended, or the memory was given back.
                *slot = None;
                continue;
            };
            take(&Turn {
                time_ns,
                pid: *pid,
                tid: *pid,
                count,
                waiting: !ran.contains(pid) && is_waiting(*pid),
            });
        }
    }
}

/// The address of a process's counter, from where its program says the loop is.
fn find_counter(pid: u32, address: u64) -> Option<u64> {
    let address = address.wrapping_add(base(pid)?);
    let fields = read_word(pid, address.wrapping_add(INTERNAL_FIELDS)).ok()?;
    let counter = fields.wrapping_add(LOOP_COUNT);
    read_word(pid, counter).ok().filter(|count| *count <= MOST_TURNS).map(|_| counter)
}

fn find_loop(program: File) -> Option<u64> {
    let file = Parts::new(program).ok()?;
    let image = Elf::parse(&file).ok()?;
    let counts = image.names()?.split(|byte| *byte == 0).any(|name| name == SINCE_IT_COUNTS);
    if counts { image.address_of_variable(LOOP) } else { None }
}

/// What is added to the addresses of a process's own program.
fn base(pid: u32) -> Option<u64> {
    let path = fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    let file = Parts::new(File::open(format!("/proc/{pid}/exe")).ok()?).ok()?;
    target::load_bias(&maps, &path, Elf::parse(&file).ok()?.segments())
}

fn read_word(pid: u32, address: u64) -> io::Result<u64> {
    let mut bytes = [0; 8];
    sys::remote::Process::new(pid)?.read(address, &mut bytes)?;
    Ok(u64::from_ne_bytes(bytes))
}

/// Whether the main thread waits for something to do.
fn is_waiting(pid: u32) -> bool {
    let call = fs::read_to_string(format!("/proc/{pid}/task/{pid}/syscall")).unwrap_or_default();
    call.split_whitespace().next().is_some_and(|number| WAITS.contains(&number))
}
