//! Whether stdout was closed (`FILTER >&-`) when the program was started. The standard library opens
//! /dev/null in its place before `main`, so results would go nowhere and nothing would fail.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result};

static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Runs before the standard library's own start.
extern "C" fn look() {
    // SAFETY: F_GETFD only reads the flags of a descriptor, whether it is open or not.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    WAS_CLOSED.store(flags == -1, Ordering::Relaxed);
}

// SAFETY: the loader calls each function of this section once, before `main` and before any thread.
// `look` uses nothing that is set up later.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = look;

/// Refuses a run whose results nobody can read.
pub fn refuse() -> Result<()> {
    match WAS_CLOSED.load(Ordering::Relaxed) {
        true => {
            Err(Error::usage("stdout is closed").hint("> /dev/null, if nobody wants the results"))
        }
        false => Ok(()),
    }
}
