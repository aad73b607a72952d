//! Counts the live memory of the process: that of Rust, and that of zstd, SQLite and all other C.
//! (`-rss_limit_mb` of libFuzzer compares the whole process with a constant, now and then.)

use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
/// The most of all measurements.
static MOST: AtomicUsize = AtomicUsize::new(0);

/// The most bytes that were live during `work`, beyond those before.
pub fn peak_of(work: impl FnOnce()) -> usize {
    let before = LIVE.load(Relaxed);
    PEAK.store(before, Relaxed);
    work();
    let peak = PEAK.load(Relaxed).saturating_sub(before);
    MOST.fetch_max(peak, Relaxed);
    peak
}

/// The same as the system sees it, without what was allocated and never used: a zstd stream may ask
/// for a window that is far larger than its content. It takes a while.
pub fn resident_peak_of(work: impl FnOnce()) -> Option<usize> {
    const STATUS: &str = "/proc/self/status";
    let number = |name: &str| -> Option<usize> {
        let status = std::fs::read_to_string(STATUS).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.trim().strip_suffix(" kB")?.parse::<usize>().ok()? << 10)
    };
    // SAFETY: what is free is given back to the system, nothing else.
    unsafe { libc::malloc_trim(0) };
    // Sets the peak to what is resident now.
    std::fs::write("/proc/self/clear_refs", "5").ok()?;
    let before = number("VmRSS:")?;
    work();
    Some(number("VmHWM:")?.saturating_sub(before))
}

/// What a target may take beside two times its input. (SQLite takes 64.6 MiB at the most for the overflow
/// pages that a record of 4 GiB would have, whether they are there or not.)
const MOST_MEMORY: usize = 64 << 20;

/// Reads an input of `length` bytes; panics if that takes more memory than [`MOST_MEMORY`], twice the
/// input, and `more`.
pub fn check(length: usize, more: usize, mut read: impl FnMut()) {
    let most = 2 * length + more + MOST_MEMORY;
    if peak_of(&mut read) > most {
        let peak = resident_peak_of(read).expect("/proc");
        assert!(peak <= most, "{peak} bytes of memory for an input of {length} bytes");
    }
}

/// The most that one input took.
#[allow(dead_code)]
pub fn most() -> usize {
    MOST.load(Relaxed)
}

// glibc's own names of what is replaced below.
unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
    fn __libc_realloc(memory: *mut c_void, size: usize) -> *mut c_void;
    fn __libc_memalign(alignment: usize, size: usize) -> *mut c_void;
    fn __libc_free(memory: *mut c_void);
    fn malloc_usable_size(memory: *mut c_void) -> usize;
}

/// Counts memory that is handed out.
unsafe fn counted(memory: *mut c_void) -> *mut c_void {
    // SAFETY: it comes from the allocator, or is null, whose size is 0.
    let size = unsafe { malloc_usable_size(memory) };
    PEAK.fetch_max(LIVE.fetch_add(size, Relaxed) + size, Relaxed);
    memory
}

// SAFETY: each of these has the contract of the function of its name, and passes its arguments on to
// the allocator's own; the counting allocates nothing.

#[unsafe(no_mangle)]
unsafe extern "C" fn malloc(size: usize) -> *mut c_void {
    unsafe { counted(__libc_malloc(size)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    unsafe { counted(__libc_calloc(count, size)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(memory: *mut c_void, size: usize) -> *mut c_void {
    let before = unsafe { malloc_usable_size(memory) };
    let moved = unsafe { __libc_realloc(memory, size) };
    if moved.is_null() && size > 0 {
        return moved;
    }
    LIVE.fetch_sub(before, Relaxed);
    unsafe { counted(moved) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn memalign(alignment: usize, size: usize) -> *mut c_void {
    unsafe { counted(__libc_memalign(alignment, size)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn aligned_alloc(alignment: usize, size: usize) -> *mut c_void {
    unsafe { counted(__libc_memalign(alignment, size)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn posix_memalign(
    out: *mut *mut c_void,
    alignment: usize,
    size: usize,
) -> libc::c_int {
    if !alignment.is_power_of_two() || !alignment.is_multiple_of(size_of::<usize>()) {
        return libc::EINVAL;
    }
    let memory = unsafe { counted(__libc_memalign(alignment, size)) };
    if memory.is_null() {
        return libc::ENOMEM;
    }
    unsafe { *out = memory };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn free(memory: *mut c_void) {
    unsafe {
        LIVE.fetch_sub(malloc_usable_size(memory), Relaxed);
        __libc_free(memory);
    }
}
