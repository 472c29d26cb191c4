//! What records contain about processes that become other programs, threads that begin, and processes that end.

use crate::stream::{self, kind};

/// In a name's flags: another program took over the process.
const EXEC: u64 = 1 << 13;

/// What happened, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A process is another program now.
    Exec {
        /// The process.
        pid: u32,
        /// When.
        time_ns: u64,
    },
    /// A thread began.
    Thread {
        /// Its process.
        pid: u32,
        /// The thread.
        tid: u32,
        /// When.
        time_ns: u64,
    },
    /// A process ended.
    Ended {
        /// The process.
        pid: u32,
        /// When.
        time_ns: u64,
    },
}

/// The change that one whole record contains.
pub fn change(record: &[u8]) -> Option<Change> {
    let word =
        |at: usize| record.get(at..at.checked_add(4)?)?.try_into().ok().map(u32::from_ne_bytes);
    let time =
        |at: usize| record.get(at..at.checked_add(8)?)?.try_into().ok().map(u64::from_ne_bytes);
    let (kind, misc) = (word(0)?, u64::from(word(4)? & 0xffff));
    match kind {
        kind::COMM if misc & EXEC != 0 => {
            // Every record ends with thread, time, CPU and number.
            let time_ns = time(record.len().checked_sub(24)?)?;
            Some(Change::Exec { pid: word(8)?, time_ns })
        }
        kind::FORK => {
            let (pid, parent_pid, tid) = (word(8)?, word(12)?, word(16)?);
            let time_ns = time(24)?;
            (pid == parent_pid).then_some(Change::Thread { pid, tid, time_ns })
        }
        kind::EXIT => {
            let (pid, tid) = (word(8)?, word(16)?);
            let time_ns = time(24)?;
            (pid == tid).then_some(Change::Ended { pid, time_ns })
        }
        _ => None,
    }
}

/// The processes that a head describes.
pub fn processes(head: &[u8]) -> Vec<u32> {
    let pid = |(kind, body): (u32, &[u8])| {
        let pid = body.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes))?;
        (kind == kind::COMM).then_some(pid)
    };
    let mut pids: Vec<u32> = stream::records(head).filter_map(pid).collect();
    pids.sort_unstable();
    pids.dedup();
    pids
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u32, misc: u16, words: &[u32], time_ns: u64) -> Vec<u8> {
        let mut body: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        if kind != kind::COMM {
            body.extend(time_ns.to_ne_bytes());
        }
        for word in [0, time_ns, 0, 0] {
            body.extend(word.to_ne_bytes());
        }
        stream::record(kind, misc, &body)
    }

    #[test]
    fn records_show_what_happened() {
        let name = u32::from_ne_bytes(*b"node");
        let comm = |misc: u16| record(kind::COMM, misc, &[7, 7, name, 0], 50);
        assert_eq!(change(&comm(1 << 13)), Some(Change::Exec { pid: 7, time_ns: 50 }));
        assert_eq!(change(&comm(0)), None);
        let fork = |pid: u32| record(kind::FORK, 0, &[pid, 7, 9, 7], 60);
        assert_eq!(change(&fork(7)), Some(Change::Thread { pid: 7, tid: 9, time_ns: 60 }));
        assert_eq!(change(&fork(9)), None, "a process, which is still the same program");
        let exit = |tid: u32| record(kind::EXIT, 0, &[7, 1, tid, 1], 70);
        assert_eq!(change(&exit(7)), Some(Change::Ended { pid: 7, time_ns: 70 }));
        assert_eq!(change(&exit(8)), None);
        for length in 0..24 {
            assert_eq!(change(&fork(7)[..length]), None);
            assert_eq!(change(&comm(1 << 13)[..length.min(11)]), None);
        }
        assert_eq!(processes(&[comm(0), comm(0), exit(7)].concat()), [7]);
    }
}
