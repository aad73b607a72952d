//! Publishing: outputs are written aside, synced, and get their names when all are complete.
//!
//! | file | what |
//! |---|---|
//! | `staging.rs` | the hidden directories in which outputs are written, and who owns them |
//! | `pending.rs` | a file that is being written |
//! | `lock.rs` | the lock on a target while it is changed |
//! | `marker.rs` | what says that a dataset is half published |
//! | `unfinished.rs` | refuses what is half published, under every path |
//! | `publication.rs` | the one way in which outputs get their names |
//! | `file.rs` | outputs of one file |

mod file;
mod lock;
mod marker;
mod pending;
mod publication;
mod staging;
mod unfinished;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

pub use file::{publish_file, publish_file_locked, refuse_existing_file};
pub use lock::TargetLock;
pub use marker::{half_published, manifest_of, marked, refuse_half_published};
pub use pending::PendingFile;
pub use publication::{
    StandingFiles, Target, prepare, publish, publish_prepared, refuse_existing, withdraw,
};
pub use staging::{is_being_written, is_temporary, sweep_below};

pub use file::publish_kept;
pub use unfinished::Unfinished;

use crate::error::{Error, Result, shown};
use crate::files;

/// Returns the directory of a file.
pub fn directory_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// Whether a file of any kind has this name. A name that cannot be looked up is an error.
pub fn is_there(path: &Path) -> Result<bool> {
    Ok(files::link_metadata(path)?.is_some())
}

/// Removes a file if it exists.
fn remove_if_there(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::write(shown(path), &error))
        }
        _ => Ok(()),
    }
}

/// Makes the names in a directory durable. Some file systems cannot sync a directory, and some
/// directories cannot be opened: the names exist all the same.
fn sync_directory(directory: &Path) -> Result<()> {
    match File::open(directory).and_then(|handle| handle.sync_all()) {
        Err(error) if !cannot(&error) && error.kind() != io::ErrorKind::PermissionDenied => {
            Err(Error::write(shown(directory), &error))
        }
        _ => Ok(()),
    }
}

/// Whether a file system does not know a call at all.
fn cannot(error: &io::Error) -> bool {
    let unknown = [libc::EBADF, libc::EINVAL, libc::ENOSYS, libc::EOPNOTSUPP, libc::ENOTSUP];
    error.raw_os_error().is_some_and(|code| unknown.contains(&code))
}

/// Returns this machine's name, as used in the `run` object of manifests.
pub fn host() -> String {
    match rustix::system::uname().nodename().to_str() {
        Ok(name) if !name.is_empty() => name.replace('/', "_"),
        _ => "localhost".to_string(),
    }
}
