//! The memory that one CPU's events write into and we read from.

use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Event;

/// Where the kernel keeps its two positions, in the first page.
const HEAD: usize = 1024;
const TAIL: usize = 1032;

/// A ring of memory, shared with the kernel.
#[derive(Debug)]
pub struct Ring {
    start: NonNull<u8>,
    page_bytes: usize,
    data_bytes: usize,
}

// SAFETY: the memory is ours alone on this side, and all access needs `&mut self`.
unsafe impl Send for Ring {}

impl Ring {
    /// Maps the ring of an event: a page for the positions, and `data_bytes`, a power of two of pages.
    pub fn map(event: &Event, data_bytes: usize) -> io::Result<Self> {
        // SAFETY: asks for a number.
        let page_bytes =
            usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
        if !data_bytes.is_power_of_two() || data_bytes < page_bytes {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // SAFETY: a fresh mapping at an address that the kernel chooses, of a descriptor that is open.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                page_bytes + data_bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                event.as_raw_fd(),
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, page_bytes, data_bytes })
    }

    /// How much it holds.
    pub fn data_bytes(&self) -> usize {
        self.data_bytes
    }

    /// Appends what the kernel has written since the last time, and frees its space.
    pub fn read(&mut self, out: &mut Vec<u8>) {
        self.take(|first, second| {
            out.extend_from_slice(first);
            out.extend_from_slice(second);
        });
    }

    /// Shows what the kernel has written since the last time, and frees its space.
    pub fn take(&mut self, show: impl FnMut(&[u8], &[u8])) {
        let end = self.show(show);
        self.release(end);
    }

    /// Shows what the kernel has written since space was freed last, and returns up to which position. Where it reaches
    /// the ring's end, it goes on in a second piece.
    pub fn show(&mut self, mut show: impl FnMut(&[u8], &[u8])) -> u64 {
        let head = self.position(HEAD).load(Ordering::Acquire);
        let tail = self.position(TAIL).load(Ordering::Relaxed);
        let mask = self.data_bytes as u64 - 1;
        let length = head.wrapping_sub(tail).min(self.data_bytes as u64) as usize;
        let from = (tail & mask) as usize;
        let first = length.min(self.data_bytes - from);
        // SAFETY: both pieces lie inside the mapping's data, and the kernel does not write between tail and head.
        unsafe {
            let data = self.start.as_ptr().add(self.page_bytes);
            show(
                std::slice::from_raw_parts(data.add(from), first),
                std::slice::from_raw_parts(data, length - first),
            );
        }
        head
    }

    /// Frees the space up to a position, unless that was done, or nothing is written there.
    pub fn release(&mut self, end: u64) {
        let head = self.position(HEAD).load(Ordering::Acquire);
        let tail = self.position(TAIL).load(Ordering::Relaxed);
        if end.wrapping_sub(tail) <= head.wrapping_sub(tail) {
            self.position(TAIL).store(end, Ordering::Release);
        }
    }

    fn position(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: the kernel's first page holds two aligned u64 there, which both sides change atomically.
        unsafe { AtomicU64::from_ptr(self.start.as_ptr().add(offset).cast()) }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: this is the mapping that was made, and nothing refers to it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.page_bytes + self.data_bytes) };
    }
}
