//! What the system is told about memory: advice only, which it may not know or not take.

/// Size of a huge page.
pub const HUGE: usize = 2 << 20;

/// All of this will be written, in any order: huge pages if there are any, and all of them now
/// and not one fault at a time. It should begin at a multiple of [`HUGE`].
pub fn expect_writes<T>(room: &[T]) {
    #[cfg(target_os = "linux")]
    {
        advise(room, libc::MADV_HUGEPAGE);
        advise(room, libc::MADV_POPULATE_WRITE);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = room;
}

#[cfg(target_os = "linux")]
fn advise<T>(memory: &[T], advice: libc::c_int) {
    const PAGE: usize = 4096;
    let start = memory.as_ptr() as usize;
    let end = start + size_of_val(memory);
    let first = start & !(PAGE - 1);
    // SAFETY: the two kinds of advice above change neither what is in memory nor what may be
    // done with it; they only bring pages in earlier. The pages are mapped: each has a byte of
    // a live reference. An error (an older system, larger pages) leaves all as it was.
    unsafe {
        libc::madvise(first as *mut libc::c_void, end - first, advice);
    }
}
