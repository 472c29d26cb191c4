//! Processes of macOS. There is no handle: a process is its pid and the time of its start, which is compared again
//! before a signal. The layouts are those of <sys/sysctl.h> and <sys/proc_info.h>, equal on both processors.

mod sockets;

use std::ffi::c_void;
use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::Listed;
pub use sockets::{listeners, listeners_for};

/// `struct kinfo_proc`: its length, and where its members are.
const INFO_BYTES: usize = 648;
const START_S: usize = 0;
const START_US: usize = 8;
const STATE: usize = 36;
const PID: usize = 40;
const IGNORED: usize = 232;
const CAUGHT: usize = 236;
const PARENT: usize = 560;

/// `SSTOP` and `SZOMB`.
const STOPPED: u8 = 4;
const ENDED: u8 = 5;

/// What SIGUSR1 would do to a process, as far as the system reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalFate {
    /// A handler runs. Whether it is Node's or the program's own is not known.
    Caught,
    /// Nothing happens.
    Ignored,
    /// It ends the process.
    Deadly,
}

/// All processes whose program this user may know.
pub fn list() -> io::Result<Vec<Listed>> {
    let listed = |pid: u32| {
        let parent_pid = Information::of(pid).ok()?.number_at(PARENT);
        Some(Listed { pid, parent_pid, program: program(pid).ok()? })
    };
    Ok(pids()?.into_iter().filter_map(listed).collect())
}

/// A process.
#[derive(Debug)]
pub struct Process {
    pid: u32,
    started: Duration,
}

impl Process {
    /// Notes when a process began.
    pub fn open(pid: u32) -> io::Result<Self> {
        Ok(Self { pid, started: Information::of(pid)?.started() })
    }

    /// Its pid, which another process may have once this one has ended.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Whether it is over.
    pub fn has_ended(&self) -> bool {
        self.information().is_err()
    }

    /// For how long it has run.
    pub fn age(&self) -> io::Result<Duration> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(now.saturating_sub(self.started))
    }

    /// The file name of its program.
    pub fn program(&self) -> io::Result<String> {
        program(self.pid)
    }

    /// Whether it is stopped, as by SIGSTOP or a debugger.
    pub fn is_stopped(&self) -> io::Result<bool> {
        Ok(self.information()?.state() == STOPPED)
    }

    /// What SIGUSR1 would do.
    pub fn fate_of_usr1(&self) -> io::Result<SignalFate> {
        let information = self.information()?;
        let bit = 1_u32 << (libc::SIGUSR1 - 1);
        Ok(match (information.number_at(CAUGHT) & bit, information.number_at(IGNORED) & bit) {
            (0, 0) => SignalFate::Deadly,
            (0, _) => SignalFate::Ignored,
            _ => SignalFate::Caught,
        })
    }

    /// Whether this user may send it a signal.
    pub fn may_signal(&self) -> io::Result<()> {
        self.send(0)
    }

    /// Sends SIGUSR1, if it is still the same process.
    pub fn send_usr1(&self) -> io::Result<()> {
        self.send(libc::SIGUSR1)
    }

    /// The words that it was started with.
    pub fn arguments(&self) -> io::Result<Vec<String>> {
        let mut name = [libc::CTL_KERN, libc::KERN_PROCARGS2, number(self.pid)?];
        let mut text = vec![0; 1 << 20];
        let bytes = ask(&mut name, &mut text)?;
        Ok(words_in(&text[..bytes]).unwrap_or_default())
    }

    fn information(&self) -> io::Result<Information> {
        let information = Information::of(self.pid)?;
        match information.started() == self.started && information.state() != ENDED {
            true => Ok(information),
            false => Err(gone()),
        }
    }

    fn send(&self, signal: libc::c_int) -> io::Result<()> {
        let pid = number(self.pid)?;
        self.information()?;
        // SAFETY: takes numbers; the pid is one process, because it is above zero.
        let result = unsafe { libc::kill(pid, signal) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

/// A `struct kinfo_proc`.
struct Information([u8; INFO_BYTES]);

impl Information {
    fn of(pid: u32) -> io::Result<Self> {
        let mut name = [libc::CTL_KERN, libc::KERN_PROC, libc::KERN_PROC_PID, number(pid)?];
        let mut bytes = [0; INFO_BYTES];
        let length = ask(&mut name, &mut bytes)?;
        let information = Self(bytes);
        match length == INFO_BYTES && information.number_at(PID) == pid {
            true => Ok(information),
            false => Err(gone()),
        }
    }

    fn started(&self) -> Duration {
        let mut seconds = [0; 8];
        seconds.copy_from_slice(&self.0[START_S..START_S + 8]);
        Duration::from_secs(u64::from_ne_bytes(seconds))
            + Duration::from_micros(u64::from(self.number_at(START_US)))
    }

    fn state(&self) -> u8 {
        self.0[STATE]
    }

    fn number_at(&self, offset: usize) -> u32 {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(&self.0[offset..offset + 4]);
        u32::from_ne_bytes(bytes)
    }
}

/// Asks the system by a name of numbers; how many bytes it wrote.
fn ask(name: &mut [libc::c_int], out: &mut [u8]) -> io::Result<usize> {
    let mut bytes = out.len();
    // SAFETY: both lengths are those of the slices, and nothing is set.
    let result = unsafe {
        libc::sysctl(
            name.as_mut_ptr(),
            name.len() as libc::c_uint,
            out.as_mut_ptr().cast::<c_void>(),
            &raw mut bytes,
            std::ptr::null_mut(),
            0,
        )
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(bytes.min(out.len())) }
}

/// The pids of all processes.
fn pids() -> io::Result<Vec<u32>> {
    let mut pids = vec![0_i32; 1 << 15];
    let bytes = (pids.len() * size_of::<i32>()) as libc::c_int;
    // SAFETY: the call writes no more than so many bytes.
    let count = unsafe { libc::proc_listallpids(pids.as_mut_ptr().cast(), bytes) };
    let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
    pids.truncate(count);
    Ok(pids.into_iter().filter_map(|pid| u32::try_from(pid).ok()).filter(|pid| *pid > 0).collect())
}

/// The file name of a process's program.
fn program(pid: u32) -> io::Result<String> {
    let mut path = vec![0_u8; 4096];
    // SAFETY: the call writes no more than so many bytes, which is the most that it takes.
    let length =
        unsafe { libc::proc_pidpath(number(pid)?, path.as_mut_ptr().cast(), path.len() as u32) };
    if length <= 0 {
        return Err(io::Error::last_os_error());
    }
    path.truncate(length as usize);
    let path = String::from_utf8_lossy(&path);
    Ok(path.rsplit('/').next().unwrap_or_default().to_owned())
}

/// A count, the program's path, zeros, then that many words with a zero behind each.
fn words_in(bytes: &[u8]) -> Option<Vec<String>> {
    let (count, text) = bytes.split_first_chunk::<4>()?;
    let count = usize::try_from(i32::from_ne_bytes(*count)).ok()?;
    let path_bytes = text.iter().position(|byte| *byte == 0)?;
    let after = &text[path_bytes..];
    let start = after.iter().position(|byte| *byte != 0)?;
    let words = after[start..].split(|byte| *byte == 0).take(count);
    Some(words.map(|word| String::from_utf8_lossy(word).into_owned()).collect())
}

/// Zero and numbers below it mean groups.
fn number(pid: u32) -> io::Result<libc::pid_t> {
    let pid = libc::pid_t::try_from(pid).ok().filter(|pid| *pid > 0);
    pid.ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

fn gone() -> io::Error {
    io::Error::from_raw_os_error(libc::ESRCH)
}
