//! What the kernel reports of the threads of a process: their names, whether they run, and where those are that sleep.

use std::fs;
use std::io;

/// A thread.
#[derive(Clone, Debug)]
pub struct Thread {
    /// Its number.
    pub tid: u32,
    /// What it calls itself.
    pub name: String,
    /// The kernel's letter: R runs, S sleeps, D is not to be disturbed, T is stopped.
    pub letter: char,
}

/// Where a thread is, as the kernel reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whereabouts {
    /// On a CPU, or waiting for one.
    Running,
    /// In the kernel, and its own code waits.
    Asleep {
        /// The system call that it waits in.
        syscall: Option<u32>,
        /// Its stack pointer.
        sp: u64,
        /// Where its own code goes on.
        pc: u64,
    },
    /// We may not know.
    Hidden,
    /// It has ended.
    Gone,
}

/// More threads than Node has.
const MOST_THREADS: usize = 4096;

/// The threads of a process, the main thread first.
pub fn list(pid: u32) -> io::Result<Vec<Thread>> {
    let folder = fs::read_dir(format!("/proc/{pid}/task"))?;
    let number =
        |entry: io::Result<fs::DirEntry>| entry.ok()?.file_name().to_str()?.parse::<u32>().ok();
    let mut tids: Vec<u32> = folder.filter_map(number).take(MOST_THREADS).collect();
    tids.sort_unstable_by_key(|tid| (*tid != pid, *tid));
    let thread = |tid: u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/task/{tid}/stat")).ok()?;
        let (start, rest) = stat.rsplit_once(") ")?;
        let name = start.split_once('(').map_or("", |(_, name)| name).to_owned();
        Some(Thread { tid, name, letter: rest.chars().next()? })
    };
    Ok(tids.into_iter().filter_map(thread).collect())
}

/// Where a thread is.
pub fn whereabouts(pid: u32, tid: u32) -> Whereabouts {
    match fs::read_to_string(format!("/proc/{pid}/task/{tid}/syscall")) {
        Ok(text) => parse(&text),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Whereabouts::Hidden,
        Err(_) if fs::metadata(format!("/proc/{pid}/task/{tid}")).is_err() => Whereabouts::Gone,
        // A kernel without this file.
        Err(_) => Whereabouts::Hidden,
    }
}

/// `running`, `-1 SP PC` where it waits outside of a system call, or `NUMBER six arguments SP PC`.
fn parse(text: &str) -> Whereabouts {
    let mut words = text.split_whitespace();
    let hex = |word: Option<&str>| u64::from_str_radix(word?.strip_prefix("0x")?, 16).ok();
    let first = words.next().unwrap_or_default();
    let (pc, sp) = (hex(words.next_back()), hex(words.next_back()));
    match (first, sp, pc) {
        ("running", ..) => Whereabouts::Running,
        (number, Some(sp), Some(pc)) => {
            Whereabouts::Asleep { syscall: number.parse().ok(), sp, pc }
        }
        _ => Whereabouts::Hidden,
    }
}

/// How often a thread has gone to sleep: as long as this stays, it has not run.
pub fn switches(pid: u32, tid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/task/{tid}/status")).ok()?;
    let count = |name: &str| {
        status.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok())
    };
    Some(count("voluntary_ctxt_switches:")? + count("nonvoluntary_ctxt_switches:")?)
}

/// The CPU time of a thread.
pub fn cpu_ns(pid: u32, tid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{tid}/schedstat")).ok()?;
    text.split(' ').next()?.parse().ok()
}

/// What is mapped, ascending: start and end.
pub fn mappings(pid: u32) -> io::Result<Vec<(u64, u64)>> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps"))?;
    let range = |line: &str| {
        let (start, end) = line.split(' ').next()?.split_once('-')?;
        Some((u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?))
    };
    Ok(maps.lines().filter_map(range).collect())
}

/// The name of a system call, where it is one that threads sleep in.
pub fn syscall_name(number: u32) -> Option<&'static str> {
    let column = usize::from(std::env::consts::ARCH != "x86_64");
    SYSCALLS.iter().find(|(numbers, _)| numbers[column] == Some(number)).map(|(_, name)| *name)
}

/// Their numbers on x86_64 and arm64.
const SYSCALLS: &[([Option<u32>; 2], &str)] = &[
    ([Some(0), Some(63)], "read"),
    ([Some(1), Some(64)], "write"),
    ([Some(2), None], "open"),
    ([Some(3), Some(57)], "close"),
    ([Some(4), None], "stat"),
    ([Some(5), Some(80)], "fstat"),
    ([Some(7), None], "poll"),
    ([Some(9), Some(222)], "mmap"),
    ([Some(10), Some(226)], "mprotect"),
    ([Some(11), Some(215)], "munmap"),
    ([Some(16), Some(29)], "ioctl"),
    ([Some(17), Some(67)], "pread64"),
    ([Some(18), Some(68)], "pwrite64"),
    ([Some(19), Some(65)], "readv"),
    ([Some(20), Some(66)], "writev"),
    ([Some(23), None], "select"),
    ([Some(28), Some(233)], "madvise"),
    ([Some(34), None], "pause"),
    ([Some(35), Some(101)], "nanosleep"),
    ([Some(40), Some(71)], "sendfile"),
    ([Some(42), Some(203)], "connect"),
    ([Some(43), Some(202)], "accept"),
    ([Some(44), Some(206)], "sendto"),
    ([Some(45), Some(207)], "recvfrom"),
    ([Some(46), Some(211)], "sendmsg"),
    ([Some(47), Some(212)], "recvmsg"),
    ([Some(56), Some(220)], "clone"),
    ([Some(58), None], "vfork"),
    ([Some(59), Some(221)], "execve"),
    ([Some(61), Some(260)], "wait4"),
    ([Some(72), Some(25)], "fcntl"),
    ([Some(73), Some(32)], "flock"),
    ([Some(74), Some(82)], "fsync"),
    ([Some(75), Some(83)], "fdatasync"),
    ([Some(128), Some(137)], "rt_sigtimedwait"),
    ([Some(130), Some(133)], "rt_sigsuspend"),
    ([Some(202), Some(98)], "futex"),
    ([Some(217), Some(61)], "getdents64"),
    ([Some(230), Some(115)], "clock_nanosleep"),
    ([Some(232), None], "epoll_wait"),
    ([Some(247), Some(95)], "waitid"),
    ([Some(257), Some(56)], "openat"),
    ([Some(262), Some(79)], "newfstatat"),
    ([Some(270), Some(72)], "pselect6"),
    ([Some(271), Some(73)], "ppoll"),
    ([Some(281), Some(22)], "epoll_pwait"),
    ([Some(288), Some(242)], "accept4"),
    ([Some(295), Some(69)], "preadv"),
    ([Some(296), Some(70)], "pwritev"),
    ([Some(326), Some(285)], "copy_file_range"),
    ([Some(332), Some(291)], "statx"),
    ([Some(426), Some(426)], "io_uring_enter"),
    ([Some(435), Some(435)], "clone3"),
    ([Some(441), Some(441)], "epoll_pwait2"),
    ([Some(449), Some(449)], "futex_waitv"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_writes() {
        let waits = "232 0xe 0x7ff0 0x400 0x4e20 0x0 0x0 0x7fffc42417c0 0x7f443e246f36\n";
        let expected =
            Whereabouts::Asleep { syscall: Some(232), sp: 0x7fff_c424_17c0, pc: 0x7f44_3e24_6f36 };
        assert_eq!(parse(waits), expected);
        assert_eq!(
            parse("-1 0x10 0x20\n"),
            Whereabouts::Asleep { syscall: None, sp: 0x10, pc: 0x20 }
        );
        assert_eq!(parse("running\n"), Whereabouts::Running);
        for text in ["", "1", "1 2 3", "nonsense"] {
            assert_eq!(parse(text), Whereabouts::Hidden, "{text}");
        }
    }

    #[test]
    fn our_own_threads() {
        let pid = std::process::id();
        let threads = list(pid).expect("we are here");
        assert_eq!(threads[0].tid, pid);
        assert!(cpu_ns(pid, pid).is_some() && switches(pid, pid).is_some());
        assert!(mappings(pid).is_ok_and(|ranges| ranges.is_sorted()));
        assert_eq!(whereabouts(pid, u32::MAX), Whereabouts::Gone);
    }
}
