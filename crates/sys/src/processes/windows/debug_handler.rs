//! What Node has in place of SIGUSR1: a named mapping holds the address of a routine that opens its inspector, for
//! another process to start a thread there. `process._debugProcess(pid)` of Node does the same.

use std::ffi::c_void;
use std::io;
use std::os::windows::io::{AsRawHandle, OwnedHandle};

use super::{Handle, Process, WAIT_OBJECT_0, WaitForSingleObject, open, owned};

/// `MEMORY_BASIC_INFORMATION`.
#[repr(C)]
#[derive(Default)]
struct MemoryInformation {
    base: usize,
    allocation_base: usize,
    allocation_protection: u32,
    partition: u32,
    bytes: usize,
    state: u32,
    protection: u32,
    kind: u32,
}

#[link(name = "kernel32")]
unsafe extern "system" {
    fn OpenFileMappingW(access: u32, inherit: i32, name: *const u16) -> Handle;
    fn MapViewOfFile(
        mapping: Handle,
        access: u32,
        offset_high: u32,
        offset_low: u32,
        bytes: usize,
    ) -> *mut c_void;
    fn UnmapViewOfFile(address: *const c_void) -> i32;
    fn IsWow64Process(process: Handle, is_wow64: *mut i32) -> i32;
    fn VirtualQueryEx(
        process: Handle,
        address: usize,
        information: *mut MemoryInformation,
        bytes: usize,
    ) -> usize;
    fn CreateRemoteThread(
        process: Handle,
        attributes: *const c_void,
        stack_bytes: usize,
        routine: usize,
        parameter: *mut c_void,
        flags: u32,
        thread_id: *mut u32,
    ) -> Handle;
}

/// To create a thread, query, and operate on, read and write its memory: what CreateRemoteThread asks for.
const ACCESS: u32 = 0x2 | 0x400 | 0x8 | 0x10 | 0x20;
const MAP_READ: u32 = 4;
const COMMITTED: u32 = 0x1000;
const IMAGE: u32 = 0x100_0000;
const EXECUTABLE: u32 = 0xf0;
const ERROR_FILE_NOT_FOUND: i32 = 2;
/// The routine only wakes another thread.
const PATIENCE_MS: u32 = 1000;

/// The routine of a process that opens its inspector.
#[derive(Debug)]
pub struct DebugHandler {
    process: OwnedHandle,
    routine: usize,
}

impl DebugHandler {
    /// The handler of a process; `None` where it has none, as a process that is not Node. An address that is not code
    /// of a program or library is an error: nothing may be started there.
    pub fn of(process: &Process) -> io::Result<Option<Self>> {
        let Some(mapping) = mapping_of(process.pid())? else { return Ok(None) };
        let routine = read_address(&mapping)?;
        let handle = open(process.pid(), ACCESS)?;
        let mut is_wow64 = 0;
        // SAFETY: the handle is open, and the call writes one number.
        if unsafe { IsWow64Process(handle.as_raw_handle(), &raw mut is_wow64) } == 0 {
            return Err(io::Error::last_os_error());
        }
        if is_wow64 != 0 {
            return Err(io::Error::other("it is a program of 32 bits"));
        }
        if !is_code(&handle, routine) {
            return Err(io::Error::other("its debug handler is not in the code of a program"));
        }
        Ok(Some(Self { process: handle, routine }))
    }

    /// Has the process open its inspector.
    pub fn run(&self) -> io::Result<()> {
        // SAFETY: the routine is code of the other process, which it offers for this very call; our memory is not
        // concerned.
        let thread = owned(unsafe {
            CreateRemoteThread(
                self.process.as_raw_handle(),
                std::ptr::null(),
                0,
                self.routine,
                std::ptr::null_mut(),
                0,
                std::ptr::null_mut(),
            )
        })?;
        // SAFETY: the handle is open.
        let waited = unsafe { WaitForSingleObject(thread.as_raw_handle(), PATIENCE_MS) };
        match waited {
            WAIT_OBJECT_0 => Ok(()),
            _ => Err(io::Error::other("its debug handler does not return")),
        }
    }
}

/// A service has its names in the session of all services, and is found by the prefix.
fn mapping_of(pid: u32) -> io::Result<Option<OwnedHandle>> {
    for prefix in ["", "Global\\"] {
        let name = format!("{prefix}node-debug-handler-{pid}\0");
        let name: Vec<u16> = name.encode_utf16().collect();
        // SAFETY: the name ends with a zero.
        match owned(unsafe { OpenFileMappingW(MAP_READ, 0, name.as_ptr()) }) {
            Ok(mapping) => return Ok(Some(mapping)),
            Err(error) if error.raw_os_error() == Some(ERROR_FILE_NOT_FOUND) => (),
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

fn read_address(mapping: &OwnedHandle) -> io::Result<usize> {
    // SAFETY: the handle is open; a view that is too small for an address is refused by the call.
    let view =
        unsafe { MapViewOfFile(mapping.as_raw_handle(), MAP_READ, 0, 0, size_of::<usize>()) };
    if view.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the view is a page of our own, readable, and no reference to it is kept.
    let address = unsafe { view.cast::<usize>().read_volatile() };
    // SAFETY: the view was mapped above, and is not used any more.
    unsafe { UnmapViewOfFile(view) };
    Ok(address)
}

fn is_code(process: &OwnedHandle, address: usize) -> bool {
    let mut memory = MemoryInformation::default();
    let bytes = size_of::<MemoryInformation>();
    // SAFETY: the handle is open, and the call writes at most so many bytes.
    let written =
        unsafe { VirtualQueryEx(process.as_raw_handle(), address, &raw mut memory, bytes) };
    written != 0
        && memory.state == COMMITTED
        && memory.kind == IMAGE
        && memory.protection & EXECUTABLE != 0
}
