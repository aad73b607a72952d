//! The streams between filters: NDJSON and Arrow IPC, sniffed, read and written. SPEC.md beside
//! this file says what they look like on the wire.

mod arrow_source;
mod buffers;
mod columns;
mod conform;
mod frames;
mod input;
mod lines;
mod ndjson_reader;
mod ndjson_source;
mod ndjson_writer;
mod output;
mod parquet_source;
mod reader;
mod slices;
mod writer;

use std::fs::File;
use std::os::fd::AsRawFd;

pub use conform::Conform;
pub use input::open_bytes;
pub use ndjson_reader::project;
pub use output::{FileEncoding, FileOutputArgs, Output};
pub use reader::{Reader, Request};
pub use writer::Writer;

/// Batches are about 1 MiB; a pipe of that size lets both sides run on while one is written.
const PIPE: libc::c_int = 1 << 20;

/// Asks for a larger pipe buffer. Whether it is granted, or the file is no pipe, does not matter.
fn widen_pipe(file: &File) {
    // SAFETY: fcntl on a descriptor that `file` keeps open; F_SETPIPE_SZ touches no memory.
    unsafe {
        libc::fcntl(file.as_raw_fd(), libc::F_SETPIPE_SZ, PIPE);
    }
}
