//! The heap of the static programs: dlmalloc, written in Rust, on memory that we get from the kernel ourselves. musl's
//! own allocator is slow, and it gives memory back that the next step asks for again. This one keeps what it has. There
//! is one heap for all threads, behind one lock, so a copy made by `fork` must not allocate: std's does not before `exec`,
//! and ours (`crates/sys/src/linux/network.rs`) does not at all.

use std::alloc::{GlobalAlloc, Layout};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use dlmalloc::{Allocator, Dlmalloc};

/// By how much the heap grows.
const PIECE: usize = 1 << 20;

/// By how much it grows for a large input.
const LARGE_PIECE: usize = 64 << 20;

const LARGE_PAGE: usize = 2 << 20;

/// The largest page of any processor that we build for.
const PAGE: usize = 64 << 10;

/// Whether memory comes in large pages.
static IS_INPUT_LARGE: AtomicBool = AtomicBool::new(false);

static HEAP: Mutex<Dlmalloc<Kernel>> = Mutex::new(
    const {
        let mut heap = Dlmalloc::new_with_allocator(Kernel);
        assert!(heap.set_granularity(PIECE));
        // It would look for pieces to give back.
        heap.set_max_release_check_rate(0);
        heap
    },
);

/// Prepares for reading a large input: the tables for it take tens of megabytes, and the kernel hands them out page
/// by page, which costs more than filling them. From now on the heap grows by a large piece, in large pages where the
/// kernel has them.
pub fn expect_large_input() {
    IS_INPUT_LARGE.store(true, Ordering::Relaxed);
    heap().set_granularity(LARGE_PIECE);
}

/// The heap as the program's allocator.
#[derive(Debug)]
pub struct Heap;

fn heap() -> MutexGuard<'static, Dlmalloc<Kernel>> {
    HEAP.lock().unwrap_or_else(PoisonError::into_inner)
}

// SAFETY: the lock lets one thread at a time into the heap, which knows no others, and dlmalloc keeps what GlobalAlloc
// promises: blocks of the size and alignment that were asked for, which nothing else has, or null.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the layout has a size, as GlobalAlloc demands of its callers.
        unsafe { heap().malloc(layout.size(), layout.align()) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        unsafe { heap().calloc(layout.size(), layout.align()) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller has the block from here, by this layout.
        unsafe { heap().free(block, layout.size(), layout.align()) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: as for dealloc.
        unsafe { heap().realloc(block, layout.size(), layout.align(), new_size) }
    }
}

/// Where the heap has its pieces from.
struct Kernel;

// SAFETY: pieces are mappings of our own, which nothing else knows, and they stay.
unsafe impl Allocator for Kernel {
    fn alloc(&self, size: usize) -> (*mut u8, usize, u32) {
        let (rights, kind) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: the kernel chooses where, so no mapping is replaced.
        let piece = unsafe { libc::mmap(ptr::null_mut(), size, rights, kind, -1, 0) };
        if piece == libc::MAP_FAILED {
            return (ptr::null_mut(), 0, 0);
        }
        let start = (piece as usize).next_multiple_of(LARGE_PAGE);
        let length = (piece as usize + size).saturating_sub(start);
        if IS_INPUT_LARGE.load(Ordering::Relaxed) && length > 0 {
            // SAFETY: it lies in the piece, and advice changes no contents.
            unsafe { libc::madvise(start as *mut libc::c_void, length, libc::MADV_HUGEPAGE) };
        }
        (piece.cast(), size, 0)
    }

    fn remap(&self, _: *mut u8, _: usize, _: usize, _: bool) -> *mut u8 {
        ptr::null_mut()
    }

    fn free_part(&self, _: *mut u8, _: usize, _: usize) -> bool {
        false
    }

    fn free(&self, _: *mut u8, _: usize) -> bool {
        false
    }

    fn can_release_part(&self, _: u32) -> bool {
        false
    }

    fn allocates_zeros(&self) -> bool {
        true
    }

    fn page_size(&self) -> usize {
        PAGE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    fn layout(size: usize, align: usize) -> Layout {
        Layout::from_size_align(size, align).unwrap()
    }

    /// Blocks of every size hold what was written, while other threads do the same, before and after the heap is
    /// prepared for a large input.
    #[test]
    fn blocks_keep_what_was_written() {
        let fill = || {
            for round in 0..6_usize {
                let sizes = (0..24).map(|step| 1 + (round * 7919 + step * 104_729) % 300_000);
                let blocks: Vec<(*mut u8, Layout)> = sizes
                    .map(|size| {
                        let layout = layout(size, 1 << (size % 8));
                        // SAFETY: the layout has a size, and the block is ours.
                        unsafe {
                            let block = Heap.alloc_zeroed(layout);
                            assert!(!block.is_null() && block.align_offset(layout.align()) == 0);
                            assert!((0..size).all(|at| *block.add(at) == 0));
                            block.write_bytes(size as u8, size);
                            let grown = Heap.realloc(block, layout, size + 5000);
                            (grown, self::layout(size + 5000, layout.align()))
                        }
                    })
                    .collect();
                for (block, layout) in blocks {
                    let size = layout.size() - 5000;
                    // SAFETY: the block is as long, and has not been given back.
                    unsafe {
                        assert!((0..size).all(|at| *block.add(at) == size as u8), "{size}");
                        Heap.dealloc(block, layout);
                    }
                }
            }
        };
        thread::scope(|scope| (0..3).for_each(|_| drop(scope.spawn(fill))));
        expect_large_input();
        thread::scope(|scope| (0..3).for_each(|_| drop(scope.spawn(fill))));
    }
}
