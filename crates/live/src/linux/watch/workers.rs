//! The event loops of worker threads, which lie on the workers' own stacks. A thread that polls passes in its system
//! call which descriptor it polls and where its stack is; of one that runs, the top of every stack is looked at.

use std::fs;

use v8::Memory;
use v8::libuv::{EventLoop, LoopLayout, candidates};

/// epoll_wait, epoll_pwait and epoll_pwait2.
#[cfg(target_arch = "x86_64")]
const POLLS: &[&str] = &["232", "281", "441"];
#[cfg(not(target_arch = "x86_64"))]
const POLLS: &[&str] = &["22", "441"];

/// From the stack pointer of a poll to the loop: libuv keeps 12 KiB of events in between.
const ABOVE_POLL: u64 = 32 << 10;
const PAGE: u64 = 4096;
/// From the top of a thread's stack down to its loop.
const BELOW_TOP: u64 = 16 << 10;
/// Smaller mappings are no stacks of workers.
const SMALLEST_STACK: u64 = 128 << 10;
/// More stacks than Node has.
const MOST_STACKS: usize = 256;
/// In glibc's description of a thread, which stands at the top of its stack: two pointers to itself, and its number.
const THREAD_SELF: usize = 16;
const THREAD_ID: usize = 0x2d0;

/// The loop of a thread that polls now.
pub(super) fn polled_by(
    memory: &dyn Memory,
    pid: u32,
    tid: u32,
    layout: LoopLayout,
) -> Option<EventLoop> {
    let call = fs::read_to_string(format!("/proc/{pid}/task/{tid}/syscall")).ok()?;
    let (fd, sp) = poll_of(&call)?;
    let bytes = read_upwards(memory, sp & !7);
    candidates(sp & !7, &bytes, Some(fd)).find_map(|address| found_at(memory, pid, address, layout))
}

/// The loops on the stacks of all threads, and the threads that glibc has for them, by their own numbers.
pub(super) fn on_stacks(
    memory: &dyn Memory,
    pid: u32,
    layout: LoopLayout,
) -> Vec<(u32, EventLoop)> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    let mut found = Vec::new();
    for end in stack_ends(&maps).into_iter().take(MOST_STACKS) {
        let base = end.saturating_sub(BELOW_TOP);
        let mut bytes = vec![0; BELOW_TOP as usize];
        if memory.read(base, &mut bytes).is_err() {
            continue;
        }
        let Some(tid) = thread_of(base, &bytes) else { continue };
        let mut loops = candidates(base, &bytes, None);
        found.extend(
            loops.find_map(|address| found_at(memory, pid, address, layout)).map(|one| (tid, one)),
        );
    }
    found
}

fn found_at(memory: &dyn Memory, pid: u32, address: u64, layout: LoopLayout) -> Option<EventLoop> {
    let found = EventLoop::at(memory, address, layout).ok()?;
    let polled = fs::read_link(format!("/proc/{pid}/fd/{}", found.backend_fd)).ok()?;
    polled.to_str().is_some_and(|name| name.contains("[eventpoll]")).then_some(found)
}

/// The descriptor and the stack pointer of a thread that polls: `281 0xe … SP PC`.
fn poll_of(call: &str) -> Option<(i32, u64)> {
    let words: Vec<&str> = call.split_whitespace().collect();
    let hex = |word: &str| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok();
    let [number, fd, .., sp, _] = words[..] else { return None };
    POLLS.contains(&number).then_some(())?;
    Some((i32::try_from(hex(fd)?).ok()?, hex(sp)?))
}

/// What stands above an address, as far as it is mapped.
fn read_upwards(memory: &dyn Memory, start: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let end = start.saturating_add(ABOVE_POLL);
    let mut at = start;
    while at < end {
        let next = (at | (PAGE - 1)).saturating_add(1).min(end);
        let mut piece = vec![0; (next - at) as usize];
        if memory.read(at, &mut piece).is_err() {
            break;
        }
        bytes.append(&mut piece);
        at = next;
    }
    bytes
}

/// The ends of what may be written right behind what may not be touched.
fn stack_ends(maps: &str) -> Vec<u64> {
    let mut ends = Vec::new();
    let mut guard_end = None;
    for line in maps.lines() {
        let mut words = line.split_whitespace();
        let range = words.next().and_then(|range| range.split_once('-'));
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        let Some((start, end)) =
            range.and_then(|(start, end)| Some((number(start)?, number(end)?)))
        else {
            continue;
        };
        let rights = words.next().unwrap_or_default();
        let is_stack = rights.starts_with("rw") && guard_end == Some(start);
        if is_stack && end.saturating_sub(start) >= SMALLEST_STACK {
            ends.push(end);
        }
        guard_end = rights.starts_with("---").then_some(end);
    }
    ends
}

/// The thread whose stack ends with these bytes, as it calls itself.
fn thread_of(base: u64, bytes: &[u8]) -> Option<u32> {
    let word = |at: usize| bytes.get(at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
    (0..bytes.len()).step_by(8).find_map(|at| {
        let own = Some(base.wrapping_add(at as u64));
        if word(at) != own || word(at + THREAD_SELF) != own {
            return None;
        }
        let tid =
            bytes.get(at + THREAD_ID..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))?;
        (tid > 0).then_some(tid)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polls_are_known_by_their_system_call() {
        let number = POLLS[0];
        let call =
            format!("{number} 0xe 0x7ff0 0x400 0x4e20 0x0 0x8 0x7fffc42417c0 0x7f443e246f36\n");
        assert_eq!(poll_of(&call), Some((14, 0x7fff_c424_17c0)));
        for other in ["running\n", "-1 0x10 0x20\n", "202 0x1 0x2 0x3 0x4 0x5 0x6 0x7 0x8\n", ""] {
            assert_eq!(poll_of(other), None, "{other}");
        }
    }

    #[test]
    fn stacks_are_found_behind_their_guards() {
        let maps = "7f00000000-7f00001000 ---p 00000000 00:00 0 \n\
                    7f00001000-7f00400000 rw-p 00000000 00:00 0 \n\
                    7f00400000-7f00500000 rw-p 00000000 00:00 0 \n\
                    7f00600000-7f00601000 ---p 00000000 00:00 0 \n\
                    7f00601000-7f00602000 rw-p 00000000 00:00 0 \n\
                    nonsense\n";
        assert_eq!(stack_ends(maps), [0x7f_0040_0000]);
    }

    #[test]
    fn a_stack_names_its_thread() {
        let (base, at) = (0x7f00_0000_0000u64, 0x400);
        let mut bytes = vec![0; 4096];
        let own = (base + at as u64).to_le_bytes();
        bytes[at..at + 8].copy_from_slice(&own);
        assert_eq!(thread_of(base, &bytes), None);
        bytes[at + 16..at + 24].copy_from_slice(&own);
        bytes[at + 0x2d0..at + 0x2d4].copy_from_slice(&4711u32.to_le_bytes());
        assert_eq!(thread_of(base, &bytes), Some(4711));
        assert_eq!(thread_of(base, &bytes[..at + 0x2d0]), None);
    }
}
