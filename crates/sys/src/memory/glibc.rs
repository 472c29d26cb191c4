//! glibc's allocator, which takes advice.

/// Prepares for reading a large input: the tables for it take tens of megabytes, and the kernel hands them out page
/// by page, which costs more than filling them. Here one heap for all threads grows by a large piece, in large pages
/// where the kernel has them, and memory that one step gave back serves the next. Calls before and after work the
/// same; only the time differs.
pub fn expect_large_input() {
    const HEAP_BYTES: libc::c_int = 64 << 20;
    const LARGE_PAGE: usize = 2 << 20;
    // SAFETY: mallopt takes numbers. The block is freed unused. What is advised lies between the old and the new end
    // of the heap, which belongs to the allocator and stays; advice changes no contents.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_MMAP_THRESHOLD, 1 << 30);
        libc::mallopt(libc::M_TRIM_THRESHOLD, libc::c_int::MAX);
        libc::mallopt(libc::M_TOP_PAD, HEAP_BYTES);
        let before = libc::sbrk(0) as usize;
        // The compiler knows malloc, and would leave out an unused block.
        libc::free(std::hint::black_box(libc::malloc(LARGE_PAGE)));
        let (start, end) = (before.next_multiple_of(LARGE_PAGE), libc::sbrk(0) as usize);
        if let Some(length) = end.checked_sub(start) {
            libc::madvise(start as *mut libc::c_void, length, libc::MADV_HUGEPAGE);
        }
    }
}
