//! What the kernel reports of a thread again and again: its counters and its state. The files stay open, which makes a
//! look cheap.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// One thread's files.
#[derive(Debug)]
pub(super) struct ThreadFiles {
    schedstat: File,
    stat: File,
}

/// What the kernel has counted for a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Scheduled {
    /// On a CPU.
    pub(super) run_ns: u64,
    /// Ready, and waiting for one.
    pub(super) ready_ns: u64,
    /// How often it got one: as long as this stays, it has not run.
    pub(super) slices: u64,
}

impl ThreadFiles {
    pub(super) fn open(pid: u32, tid: u32) -> io::Result<Self> {
        let open = |name: &str| File::open(format!("/proc/{pid}/task/{tid}/{name}"));
        Ok(Self { schedstat: open("schedstat")?, stat: open("stat")? })
    }

    /// Its counters; none where the thread has ended or the kernel counts nothing.
    pub(super) fn scheduled(&self) -> Option<Scheduled> {
        parse_scheduled(&read(&self.schedstat)?)
    }

    /// The kernel's letter: R runs, S sleeps, D sleeps deeply, T and t are stopped.
    pub(super) fn state(&self) -> Option<char> {
        read(&self.stat)?.rsplit_once(") ")?.1.chars().next()
    }
}

/// The counters of any thread.
pub(super) fn scheduled(pid: u32, tid: u32) -> Option<Scheduled> {
    parse_scheduled(&std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/schedstat")).ok()?)
}

fn parse_scheduled(text: &str) -> Option<Scheduled> {
    let mut numbers = text.split_whitespace().map(|word| word.parse::<u64>().ok());
    let mut next = || numbers.next().flatten();
    Some(Scheduled { run_ns: next()?, ready_ns: next()?, slices: next()? })
}

fn read(file: &File) -> Option<String> {
    let mut bytes = [0; 1024];
    let length = file.read_at(&mut bytes, 0).ok().filter(|length| *length > 0)?;
    Some(String::from_utf8_lossy(bytes.get(..length)?).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_thread() {
        let pid = std::process::id();
        let files = ThreadFiles::open(pid, pid).expect("we are here");
        assert!(files.scheduled().is_some() && scheduled(pid, pid).is_some());
        assert!(files.state().is_some_and(|state| "RSD".contains(state)));
        assert!(ThreadFiles::open(pid, u32::MAX).is_err());
        assert_eq!(
            parse_scheduled("12 34 5\n"),
            Some(Scheduled { run_ns: 12, ready_ns: 34, slices: 5 })
        );
        assert_eq!(parse_scheduled("12 34\n"), None);
    }
}
