//! Signals: a closed pipe ends a filter silently, and an interrupt removes the temporaries
//! before the signal is raised again.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is removed if the run ends before its files are published.
struct Leftovers {
    temporaries: BTreeSet<PathBuf>,
    /// Directories made for them; removed if they are empty.
    directories: BTreeSet<PathBuf>,
}

static LEFTOVERS: Mutex<Leftovers> =
    Mutex::new(Leftovers { temporaries: BTreeSet::new(), directories: BTreeSet::new() });

fn leftovers() -> MutexGuard<'static, Leftovers> {
    LEFTOVERS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Leftovers {
    fn remove_empty_directories(&self) {
        // A directory comes after its parent.
        for directory in self.directories.iter().rev() {
            let _ = std::fs::remove_dir(directory);
        }
    }
}

/// Remembers a temporary file that must be removed when a signal stops the process.
pub(super) fn remember(path: &Path) {
    leftovers().temporaries.insert(path.to_path_buf());
}

/// Remembers directories that are about to be made for a temporary file.
pub(super) fn remember_directories(directories: Vec<PathBuf>) {
    leftovers().directories.extend(directories);
}

/// Removes the remembered directories that are empty.
pub(super) fn remove_empty_directories() {
    leftovers().remove_empty_directories();
}

pub(super) fn forget(path: &Path) {
    leftovers().temporaries.remove(path);
}

/// Restores the default action of SIGPIPE (Rust ignores it), so that `... | head` ends a filter
/// as it ends `cat`.
pub(super) fn die_of_closed_pipes() {
    // SAFETY: called first thing in main, before any thread exists; SIG_DFL is always valid.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
    }
}

/// Ignores SIGPIPE again, for last bytes that nobody has to read.
pub fn survive_closed_pipes() {
    // SAFETY: SIG_IGN is always valid, and no handler of ours is replaced.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_IGN);
    }
}

/// On SIGINT, SIGTERM and SIGHUP: removes the temporaries, then dies of the same signal, so that
/// the caller sees 130, 143 or 129. A signal that the parent has set to ignored (`nohup`) stays
/// ignored. The first temporary file starts this.
pub(super) fn clean_up_when_told_to_stop() -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    static STARTED: Mutex<bool> = Mutex::new(false);
    let mut started = STARTED.lock().unwrap_or_else(PoisonError::into_inner);
    if *started {
        return Ok(());
    }
    let heeded = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&signal| !is_ignored(signal));
    let mut signals = signal_hook::iterator::Signals::new(heeded)?;
    std::thread::spawn(move || {
        for signal in signals.forever() {
            // The lock is kept: no new temporary can appear between the sweep and the end.
            let held = leftovers();
            for path in held.temporaries.iter() {
                let _ = std::fs::remove_file(path);
            }
            held.remove_empty_directories();
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    });
    *started = true;
    Ok(())
}

fn is_ignored(signal: i32) -> bool {
    // SAFETY: without a new action sigaction only fills in the present one, which is plain data.
    unsafe {
        let mut present: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &mut present) == 0
            && present.sa_sigaction == libc::SIG_IGN
    }
}
