//! The streams between filters: NDJSON and Arrow IPC, recognised, read and written. SPEC.md beside this
//! file describes their bytes.

mod arrow_source;
mod buffers;
mod bytes;
mod choose;
mod columns;
mod conform;
mod conversion;
mod fitting;
mod foreign;
mod frames;
mod ids;
mod inferred;
mod input;
mod input_queue;
mod joined;
mod json_column;
mod json_values;
mod lines;
mod links;
mod ndjson_printers;
mod ndjson_reader;
mod ndjson_source;
mod ndjson_writer;
mod output;
mod parquet_source;
mod reader;
mod refused_rows;
mod scalar_columns;
mod slices;
mod texts;
mod typed;
mod typed_cast;
mod validity;
mod whole_file;
mod writer;

use std::fs::File;

pub use choose::StreamChooser;
pub use conform::ColumnMapping;
pub use input::open_bytes;
pub use ndjson_printers::json_member;
pub use ndjson_reader::project;
pub use ndjson_reader::{NdjsonDecoder, member_names};
pub use ndjson_writer::{NdjsonEncoder, row_json};
pub use output::{FileEncoding, FileOutputArgs, Output};
pub use reader::{Reader, Request};
pub use slices::Extent;
pub use whole_file::{FileForm, LineFault};
pub use writer::Writer;

/// Asks for a pipe buffer of 1 MiB, the size of a batch: both sides can then run while one is
/// written. It does not matter if this is refused, or if the file is not a pipe.
#[cfg_attr(not(target_os = "linux"), expect(unused_variables))]
fn widen_pipe(file: &File) {
    #[cfg(target_os = "linux")]
    let _ = rustix::pipe::fcntl_setpipe_size(file, 1 << 20);
}
