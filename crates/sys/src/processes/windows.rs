//! Processes of Windows. A handle keeps the pid from being used again for as long as it is open.

mod debug_handler;
mod sockets;

use std::ffi::c_void;
use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::time::Duration;

use super::Listed;
pub use debug_handler::DebugHandler;
pub use sockets::{listeners, listeners_for};

type Handle = *mut c_void;

#[link(name = "kernel32")]
unsafe extern "system" {
    fn OpenProcess(access: u32, inherit: i32, pid: u32) -> Handle;
    fn GetProcessTimes(
        process: Handle,
        created: *mut [u32; 2],
        ended: *mut [u32; 2],
        kernel: *mut [u32; 2],
        user: *mut [u32; 2],
    ) -> i32;
    fn GetSystemTimeAsFileTime(time: *mut [u32; 2]);
    fn WaitForSingleObject(handle: Handle, milliseconds: u32) -> u32;
    fn CreateToolhelp32Snapshot(what: u32, pid: u32) -> Handle;
    fn Process32FirstW(snapshot: Handle, entry: *mut ProcessEntry) -> i32;
    fn Process32NextW(snapshot: Handle, entry: *mut ProcessEntry) -> i32;
}

#[link(name = "ntdll")]
unsafe extern "system" {
    fn NtQueryInformationProcess(
        process: Handle,
        class: u32,
        out: *mut c_void,
        bytes: u32,
        needed: *mut u32,
    ) -> i32;
}

const QUERY_LIMITED_INFORMATION: u32 = 0x1000;
const SYNCHRONIZE: u32 = 0x10_0000;
const SNAPSHOT_OF_PROCESSES: u32 = 2;
const WAIT_OBJECT_0: u32 = 0;
const COMMAND_LINE_INFORMATION: u32 = 60;

/// `PROCESSENTRY32W`.
#[repr(C)]
struct ProcessEntry {
    bytes: u32,
    usage: u32,
    pid: u32,
    heap: usize,
    module: u32,
    threads: u32,
    parent_pid: u32,
    priority: i32,
    flags: u32,
    program: [u16; 260],
}

/// All processes.
pub fn list() -> io::Result<Vec<Listed>> {
    // SAFETY: takes numbers; the handle is checked and owned below.
    let snapshot = owned(unsafe { CreateToolhelp32Snapshot(SNAPSHOT_OF_PROCESSES, 0) })?;
    // SAFETY: the structure is of numbers, for all of which zero is a value.
    let mut entry: ProcessEntry = unsafe { std::mem::zeroed() };
    entry.bytes = size_of::<ProcessEntry>() as u32;
    let mut listed = Vec::new();
    // SAFETY: the handle is open, and the structure has its own size.
    let mut is_there = unsafe { Process32FirstW(snapshot.as_raw_handle(), &raw mut entry) } != 0;
    while is_there {
        let (pid, parent_pid) = (entry.pid, entry.parent_pid);
        listed.push(Listed { pid, parent_pid, program: text_before_zero(&entry.program) });
        // SAFETY: as before.
        is_there = unsafe { Process32NextW(snapshot.as_raw_handle(), &raw mut entry) } != 0;
    }
    Ok(listed)
}

/// A process that may be looked at.
#[derive(Debug)]
pub struct Process {
    pid: u32,
    handle: OwnedHandle,
}

impl Process {
    /// Takes hold of a process.
    pub fn open(pid: u32) -> io::Result<Self> {
        let handle = open(pid, QUERY_LIMITED_INFORMATION | SYNCHRONIZE)?;
        Ok(Self { pid, handle })
    }

    /// Whether it is over.
    pub fn has_ended(&self) -> bool {
        // SAFETY: the handle is open, and the call does not wait.
        unsafe { WaitForSingleObject(self.handle.as_raw_handle(), 0) == WAIT_OBJECT_0 }
    }

    /// For how long it has run.
    pub fn age(&self) -> io::Result<Duration> {
        let mut times = [[0_u32; 2]; 4];
        let [created, ended, kernel, user] = &mut times;
        // SAFETY: the handle is open; each pointer is to one time, and the call keeps none.
        let done =
            unsafe { GetProcessTimes(self.handle.as_raw_handle(), created, ended, kernel, user) };
        if done == 0 {
            return Err(io::Error::last_os_error());
        }
        let mut now = [0; 2];
        // SAFETY: writes one time, and cannot fail.
        unsafe { GetSystemTimeAsFileTime(&raw mut now) };
        let ticks = |[low, high]: [u32; 2]| u64::from(high) << 32 | u64::from(low);
        Ok(Duration::from_nanos(ticks(now).saturating_sub(ticks(times[0])).saturating_mul(100)))
    }

    /// What was typed to start it, as one text.
    pub fn command_line(&self) -> io::Result<String> {
        // A text of Windows has less than 64 KiB; in front of it stand its length and its address.
        let mut words = vec![0_u64; (16 + (64 << 10)) / 8];
        let bytes = (words.len() * 8) as u32;
        let mut needed = 0;
        // SAFETY: the handle is open, and the call writes no more than so many bytes, aligned for a structure.
        let status = unsafe {
            NtQueryInformationProcess(
                self.handle.as_raw_handle(),
                COMMAND_LINE_INFORMATION,
                words.as_mut_ptr().cast(),
                bytes,
                &raw mut needed,
            )
        };
        if status < 0 {
            return Err(io::Error::other(format!("NTSTATUS {status:#x}")));
        }
        // The text is behind its address, in the same memory.
        let start = (words[1] as usize).wrapping_sub(words.as_ptr() as usize);
        let length = usize::from(words[0] as u16) / 2;
        let units = words.iter().flat_map(|word| [0, 16, 32, 48].map(|by| (word >> by) as u16));
        let units: Vec<u16> = units.skip(start / 2).take(length).collect();
        Ok(String::from_utf16_lossy(&units))
    }

    /// Its pid, which is its own for as long as this lives.
    pub fn pid(&self) -> u32 {
        self.pid
    }
}

fn open(pid: u32, access: u32) -> io::Result<OwnedHandle> {
    // SAFETY: takes numbers; the handle is checked and owned.
    owned(unsafe { OpenProcess(access, 0, pid) })
}

/// Takes care of a handle. Some calls fail with zero, others with −1.
fn owned(handle: Handle) -> io::Result<OwnedHandle> {
    if handle.is_null() || handle as isize == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the handle was just made for us, and has no other owner.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}

fn text_before_zero(units: &[u16]) -> String {
    let length = units.iter().position(|unit| *unit == 0).unwrap_or(units.len());
    String::from_utf16_lossy(&units[..length])
}
