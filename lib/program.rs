//! How the filter that runs was started: as a program of its own, or as a part of `gristmill`, which
//! holds all of them (src/gristmill.rs).

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// The program that holds all filters.
pub const ALL: &str = "gristmill";

/// The command line, the filter's name first: of `gristmill ds-cat x` this is `ds-cat x`.
pub fn command_line() -> Vec<OsString> {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    let is_all = |word: &OsString| Path::new(word).file_name().is_some_and(|name| name == ALL);
    if words.first().is_some_and(is_all) {
        words.remove(0);
    }
    words
}

/// The path of a filter: it is beside the program that runs, whatever that is called.
pub fn filter(name: &str) -> io::Result<PathBuf> {
    Ok(std::env::current_exe()?.with_file_name(name))
}
