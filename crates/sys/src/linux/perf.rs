//! perf_event_open(2), and the ring of memory that the kernel writes its records into.

mod ring;

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

pub use ring::Ring;

use super::files;

/// The version of the attribute that every kernel since 4.4 knows.
pub const ATTRIBUTE_BYTES: u32 = 112;

/// What to sample and how; the kernel's perf_event_attr.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attribute {
    /// Hardware, software, tracepoint.
    pub kind: u32,
    /// The size of this structure.
    pub size: u32,
    /// Which event of its kind.
    pub config: u64,
    /// Samples a second, with the flag for frequency.
    pub frequency: u64,
    /// What each sample holds.
    pub sample_type: u64,
    /// What reading the event gives.
    pub read_format: u64,
    /// Bits, the first declared first.
    pub flags: u64,
    /// How full the ring is when it wakes its reader.
    pub wakeup: u32,
    /// Not used.
    pub breakpoint: u32,
    /// Not used.
    pub config1: u64,
    /// Not used.
    pub config2: u64,
    /// Not used.
    pub branch_sample_type: u64,
    /// Which registers are copied.
    pub user_registers: u64,
    /// How much of the stack is copied.
    pub user_stack: u32,
    /// Which clock the times are of.
    pub clock: i32,
    /// Not used.
    pub interrupt_registers: u64,
    /// Not used.
    pub aux_watermark: u32,
    /// How many frames a call chain has at most; 0 is the system's limit.
    pub max_stack: u16,
    /// Not used.
    pub reserved: u16,
}

impl Attribute {
    /// As the kernel reads it, and as a perf.data file holds it.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(ATTRIBUTE_BYTES as usize);
        bytes.extend_from_slice(&self.kind.to_ne_bytes());
        bytes.extend_from_slice(&self.size.to_ne_bytes());
        for word in [self.config, self.frequency, self.sample_type, self.read_format, self.flags] {
            bytes.extend_from_slice(&word.to_ne_bytes());
        }
        bytes.extend_from_slice(&self.wakeup.to_ne_bytes());
        bytes.extend_from_slice(&self.breakpoint.to_ne_bytes());
        for word in [self.config1, self.config2, self.branch_sample_type, self.user_registers] {
            bytes.extend_from_slice(&word.to_ne_bytes());
        }
        bytes.extend_from_slice(&self.user_stack.to_ne_bytes());
        bytes.extend_from_slice(&self.clock.to_ne_bytes());
        bytes.extend_from_slice(&self.interrupt_registers.to_ne_bytes());
        bytes.extend_from_slice(&self.aux_watermark.to_ne_bytes());
        bytes.extend_from_slice(&self.max_stack.to_ne_bytes());
        bytes.extend_from_slice(&self.reserved.to_ne_bytes());
        bytes
    }
}

const PERF_FLAG_FD_CLOEXEC: libc::c_ulong = 1 << 3;
const IOC_ENABLE: libc::c_ulong = 0x2400;
const IOC_DISABLE: libc::c_ulong = 0x2401;
const IOC_SET_OUTPUT: libc::c_ulong = 0x2405;
const IOC_ID: libc::c_ulong = 0x8008_2407;

/// One event on one thread and CPU.
#[derive(Debug)]
pub struct Event {
    file: OwnedFd,
}

impl Event {
    /// Opens an event, not yet counting, for a thread on one CPU.
    pub fn open(attribute: &Attribute, tid: i32, cpu: i32) -> io::Result<Self> {
        let no_group: libc::c_int = -1;
        // SAFETY: the attribute lives through the call and has its own size; the kernel only reads it.
        let file = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                std::ptr::from_ref(attribute),
                tid,
                cpu,
                no_group,
                PERF_FLAG_FD_CLOEXEC,
            )
        };
        if file < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just given us this descriptor, and nothing else owns it.
        Ok(Self { file: unsafe { OwnedFd::from_raw_fd(file as libc::c_int) } })
    }

    /// Lets programs that this process starts from now on have the event, under the same number.
    pub fn share(&self) -> io::Result<()> {
        files::share(&self.file)
    }

    /// An event that was shared with this program when it was started. From now on it is this program's alone.
    pub fn inherited(number: i32) -> io::Result<Self> {
        Ok(Self { file: files::inherited(number)? })
    }

    /// Lets the event count.
    pub fn enable(&self) -> io::Result<()> {
        self.control(IOC_ENABLE, 0)
    }

    /// Stops it.
    pub fn disable(&self) -> io::Result<()> {
        self.control(IOC_DISABLE, 0)
    }

    /// Lets it write into the ring of another event on the same CPU.
    pub fn write_to(&self, other: &Event) -> io::Result<()> {
        self.control(IOC_SET_OUTPUT, other.file.as_raw_fd() as libc::c_ulong)
    }

    /// The number that its samples carry.
    pub fn id(&self) -> io::Result<u64> {
        let mut id = 0u64;
        // SAFETY: this request writes one u64 to where its argument points.
        let result = unsafe { libc::ioctl(self.file.as_raw_fd(), IOC_ID as _, &raw mut id) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(id) }
    }

    fn control(&self, request: libc::c_ulong, argument: libc::c_ulong) -> io::Result<()> {
        // SAFETY: these requests take a number and touch no memory of ours.
        let result = unsafe { libc::ioctl(self.file.as_raw_fd(), request as _, argument) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

impl AsRawFd for Event {
    fn as_raw_fd(&self) -> libc::c_int {
        self.file.as_raw_fd()
    }
}

/// Waits until one of the descriptors has something, or the time is over; whether the last one has. Interruption by a
/// signal is no error.
pub fn wait(files: &[libc::c_int], most: std::time::Duration) -> io::Result<bool> {
    let mut polled: Vec<libc::pollfd> = files
        .iter()
        .map(|file| libc::pollfd { fd: *file, events: libc::POLLIN, revents: 0 })
        .collect();
    let milliseconds = libc::c_int::try_from(most.as_millis()).unwrap_or(libc::c_int::MAX);
    // SAFETY: the list is ours, and its length is given.
    let result =
        unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, milliseconds) };
    if result >= 0 {
        return Ok(polled.last().is_some_and(|last| last.revents != 0));
    }
    let error = io::Error::last_os_error();
    if error.kind() == io::ErrorKind::Interrupted { Ok(false) } else { Err(error) }
}

/// How many descriptors this process may have: raised as far as it may be.
pub fn raise_file_limit() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls get a structure of ours; the first fills it, the second reads it.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
    }
}
