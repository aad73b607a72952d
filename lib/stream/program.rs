//! How the running filter was started: as a program of its own, or as a part of `gristmill`, which holds all
//! filters (src/filters.rs).

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::chain;
use crate::error::{At, Error, Result};
use crate::files;

/// The program that holds all filters.
pub const ALL: &str = "gristmill";

/// The sources from which a program was built. The program's own build script finds them, so that the library is
/// not compiled again for each commit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sources {
    /// The commit, if the sources were in a git checkout of their own.
    pub commit: Option<&'static str>,
    /// Whether the sources differed from the commit; `None` if that was not looked up (a build for daily work).
    pub is_changed: Option<bool>,
}

/// Returns the [`Sources`] of the program that uses the macro.
#[macro_export]
macro_rules! sources {
    () => {
        $crate::program::Sources {
            commit: option_env!("GRISTMILL_GIT_SHA"),
            is_changed: option_env!("GRISTMILL_GIT_DIRTY").map(|dirty| dirty == "true"),
        }
    };
}

static SOURCES: OnceLock<Sources> = OnceLock::new();

/// Sets the sources of the running program; only the first call counts.
pub fn set_sources(sources: Sources) {
    SOURCES.get_or_init(|| sources);
}

/// Returns the sources of the running program, as far as they were set.
pub fn sources() -> Sources {
    SOURCES.get().copied().unwrap_or_default()
}

/// Returns the command line, with the filter's name first: for `gristmill ds-cat x` this is `ds-cat
/// x`.
pub fn command_line() -> Vec<OsString> {
    if let Some(words) = chain::command_line() {
        return words;
    }
    let mut words: Vec<OsString> = std::env::args_os().collect();
    let is_all = |word: &OsString| Path::new(word).file_name().is_some_and(|name| name == ALL);
    if words.first().is_some_and(is_all) {
        words.remove(0);
    }
    words
}

/// The numbers of the standard streams.
pub const STDIN: usize = 0;
pub const STDOUT: usize = 1;

static CLOSED: [AtomicBool; 2] = [AtomicBool::new(false), AtomicBool::new(false)];

/// Whether a standard stream was closed when the program was started (`>&-`). Rust's standard
/// library opens `/dev/null` in its place before `main`, so that all output there would be lost
/// silently.
pub fn is_closed(stream: usize) -> bool {
    CLOSED.get(stream).is_some_and(|closed| closed.load(Ordering::Relaxed))
}

extern "C" fn note_closed_streams() {
    for (stream, closed) in (0..).zip(&CLOSED) {
        // SAFETY: asks for the flags of a descriptor, which need not be open.
        let is_open = unsafe { libc::fcntl(stream, libc::F_GETFD) } != -1;
        closed.store(!is_open, Ordering::Relaxed);
    }
}

/// Called by the system's loader before `main`, and before the standard library looks at the streams.
// SAFETY: an entry of the loader's list of functions without results; this one needs nothing that is
// set up later.
#[used]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
static NOTE_CLOSED_STREAMS: extern "C" fn() = note_closed_streams;

/// Returns the path of a filter, which is beside the running program, whatever the name of that program.
pub fn filter(name: &str) -> io::Result<PathBuf> {
    Ok(std::env::current_exe()?.with_file_name(name))
}

/// Returns the path of a filter that is about to be run: the one beside this program, else that in PATH. Fails if it is
/// not there.
pub fn installed_filter(name: &str) -> Result<PathBuf> {
    let beside = filter(name).at(name)?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let others = std::env::split_paths(&path).map(|directory| directory.join(name));
    let all: Vec<PathBuf> = std::iter::once(beside).chain(others).collect();
    match files::find(&all, |path| files::is_file(path))? {
        Some(path) => Ok(path.clone()),
        None => Err(Error::usage(format!("{name} is not there")).hint("cargo build --release")),
    }
}
