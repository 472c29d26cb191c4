//! What the kernel reports of a process that is recorded.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use symbols::Whereabouts;

/// The unit of times in /proc/PID/stat, on every Linux that Node runs on.
const TICK_NS: u64 = 10_000_000;

/// When a process began, and the CPU time that it has used since.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// In ticks since the machine's start; a pid that is used again has another.
    pub born: u64,
    /// In its own code.
    pub user_ns: u64,
    /// In the kernel.
    pub kernel_ns: u64,
}

/// When a process began, and the CPU time that it has used since; none where it has ended.
pub fn times(pid: u32) -> Option<Times> {
    let fields = stat_fields(pid)?;
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    let [user, kernel, born] = [number(11)?, number(12)?, number(19)?];
    Some(Times {
        born,
        user_ns: user.saturating_mul(TICK_NS),
        kernel_ns: kernel.saturating_mul(TICK_NS),
    })
}

/// What stands behind the name in /proc/PID/stat: state, parent, …
pub fn stat_fields(pid: u32) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    Some(rest.split(' ').map(str::to_owned).collect())
}

/// What the main thread of a process does at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// It runs, or would if it had a CPU.
    Running,
    /// It waits for a disk.
    WaitingForDisk,
    /// It waits for anything else, or the kernel does not report it.
    Waiting,
}

/// Where the kernel waits for a disk, and for a lock, as parts of its functions' names.
const DISK_WAITS: &[&str] = &["folio_wait", "io_schedule", "wait_on_page", "blk_", "bio_", "swap"];
const LOCK_WAITS: &[&str] = &["futex"];

/// What the main thread does. While it waits for a lock, that is what the thread does that may hold it.
pub fn doing(pid: u32) -> Doing {
    let place = fs::read_to_string(format!("/proc/{pid}/wchan")).unwrap_or_default();
    match thread_doing(pid, pid) {
        Doing::Waiting if LOCK_WAITS.iter().any(|part| place.contains(part)) => {
            let others: Vec<Doing> =
                tids(pid).filter(|tid| *tid != pid).map(|tid| thread_doing(pid, tid)).collect();
            let found = [Doing::Running, Doing::WaitingForDisk]
                .into_iter()
                .find(|one| others.contains(one));
            found.unwrap_or(Doing::Waiting)
        }
        doing => doing,
    }
}

fn thread_doing(pid: u32, tid: u32) -> Doing {
    let read = |file: &str| {
        fs::read_to_string(format!("/proc/{pid}/task/{tid}/{file}")).unwrap_or_default()
    };
    if read("stat").rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('R')) {
        return Doing::Running;
    }
    let place = read("wchan");
    if DISK_WAITS.iter().any(|part| place.contains(part)) {
        Doing::WaitingForDisk
    } else {
        Doing::Waiting
    }
}

fn tids(pid: u32) -> impl Iterator<Item = u32> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

/// The kernel's count of a process's work, which changes whenever it runs.
pub fn account(pid: u32) -> Option<String> {
    fs::read_to_string(format!("/proc/{pid}/schedstat")).ok()
}

/// Whether the process that began then has ended, even if its parent has not fetched it yet.
pub fn is_over(pid: u32, born: u64) -> bool {
    let Some(fields) = stat_fields(pid) else { return true };
    let is_dead = fields.first().is_some_and(|state| state.starts_with(['Z', 'X']));
    let is_another = fields.get(19).and_then(|text| text.parse::<u64>().ok()) != Some(born);
    is_dead || is_another
}

/// What a process calls itself: the last of its pids, from the outermost namespace to its own.
pub fn inner_pid(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    line.split_whitespace().next_back()?.parse().ok()
}

/// Where the files of a process are, if it sees others than we do, and which view of files that is.
pub fn root(pid: u32) -> Option<(PathBuf, PathBuf)> {
    let mounts = |process: &str| fs::read_link(format!("/proc/{process}/ns/mnt")).ok();
    let root = PathBuf::from(format!("/proc/{pid}/root"));
    let view = mounts(&pid.to_string())?;
    let link = fs::read_link(&root).ok()?;
    let is_elsewhere = view != mounts("self")? || link != Path::new("/");
    is_elsewhere.then(|| (root, view.join(link.strip_prefix("/").unwrap_or(&link))))
}

/// Where the files of a process are while it lives.
pub fn whereabouts(pid: u32) -> Whereabouts {
    let deleted =
        deleted_program(pid).map(|path| (path, PathBuf::from(format!("/proc/{pid}/exe"))));
    Whereabouts { root: root(pid).map(|(path, _)| path), deleted }
}

/// The path of a process's program, as the kernel reports it, if it was replaced on disk.
pub fn deleted_program(pid: u32) -> Option<Vec<u8>> {
    let path = fs::read_link(format!("/proc/{pid}/exe")).ok()?.into_os_string().into_vec();
    path.ends_with(b" (deleted)").then_some(path)
}

/// Everything that runs here.
pub fn all_pids() -> Vec<u32> {
    let number = |entry: std::io::Result<fs::DirEntry>| {
        entry.ok()?.file_name().to_str()?.parse::<u32>().ok()
    };
    fs::read_dir("/proc").into_iter().flatten().filter_map(number).collect()
}

/// Adds the processes that they have started, and those that these have started: a cluster's workers.
pub fn add_children(pids: &mut Vec<u32>) {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for pid in all_pids() {
        if let Some(parent) = stat_fields(pid).and_then(|fields| fields.get(1)?.parse().ok()) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut at = 0;
    while let Some(pid) = pids.get(at) {
        for child in children.remove(pid).unwrap_or_default() {
            if !pids.contains(&child) {
                pids.push(child);
            }
        }
        at += 1;
    }
}

/// Whether a process belongs to another user.
pub fn is_of_another_user(pid: u32) -> bool {
    let user = |process: &str| fs::metadata(format!("/proc/{process}")).map(|meta| meta.uid()).ok();
    user(&pid.to_string()) != user("self")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::print_stdout, reason = "a test prints what it skips")]

    use super::*;
    use crate::skip::skip;

    #[test]
    fn our_own_process() {
        let pid = std::process::id();
        let now = times(pid).expect("we are here");
        assert!(!is_over(pid, now.born) && is_over(pid, now.born + 1));
        assert!(now.user_ns < 1 << 50 && !is_of_another_user(pid) && root(pid).is_none());
        assert!(all_pids().contains(&pid));
    }

    /// A program of ours whose main thread waits for the lock that another thread holds, which is at work.
    #[test]
    fn who_waits_for_a_lock_does_what_its_holder_does() {
        let text = "use Config; $Config{useithreads} or exit 3; require threads; \
                    threads->create(sub { 1 while 1 })->join();";
        let Ok(mut child) = std::process::Command::new("perl").args(["-e", text]).spawn() else {
            return skip("a lock that is waited for: there is no perl");
        };
        let pid = child.id();
        let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
        let is_locked = || {
            let place = fs::read_to_string(format!("/proc/{pid}/wchan")).unwrap_or_default();
            thread_doing(pid, pid) == Doing::Waiting && place.contains("futex")
        };
        while !is_locked() && std::time::Instant::now() < end {
            if child.try_wait().is_ok_and(|status| status.is_some()) {
                return skip("a lock that is waited for: perl has no threads");
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let doing = doing(pid);
        child.kill().and_then(|()| child.wait()).expect("it is ours");
        assert_eq!(doing, Doing::Running);
    }
}
