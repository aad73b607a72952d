//! Rows for trainers: Parquet files with one or several masked sequences in each row; and indices of rows,
//! which hold no tokens. FORMAT.md beside this file has the forms, their columns and the manifest.
//!
//! | file | what |
//! |---|---|
//! | `manifest.rs` | what a file states about itself, in its footer |
//! | `settings.rs` | how rows are made, and where they go |
//! | `sample.rs` | what tells a `.bin` from another without reading all of it |
//! | `store.rs`, `window.rs` | sequences that pieces are taken from: triples on disk, a window of records |
//! | `columns.rs` | the columns of each form, built row by row |
//! | `pages.rs` | column chunks of tokens and masks |
//! | `segments.rs` | the messages of pieces, beside the columns |
//! | `sink.rs` | writing row groups, encoded on several threads |
//! | `index.rs` | writing and reading indices |
//! | `pack.rs` | the two ways through: datasets in two passes, records in windows |
//! | `folder/` | folders of trainers' own formats, in one pass |
//! | `decode.rs` | rows as pieces |
//! | `reader.rs` | rows as token sequences |

mod columns;
mod decode;
mod folder;
mod index;
mod manifest;
mod pack;
mod pages;
mod reader;
mod sample;
mod segments;
mod settings;
mod sink;
mod store;
mod window;

use std::path::Path;

use crate::batch::RecordSource;
use crate::format::{Format, Opener};

pub use columns::PAD;
pub use columns::{ExtraColumn, Form};
pub use columns::{IGNORED, piece_hash};
pub use decode::{DecodedRows, RowPiece};
pub use folder::{FolderForm, FolderSettings, FolderSink};
pub use index::{IndexedPiece, read_index};
pub use manifest::{
    Contents, Labels, Padding, RowsInput, RowsManifest, SCHEMA, TokenCounts, left, share, summary,
};
pub use pack::{Triples, WindowSink, pack_triples};
pub use reader::OpenedRows;
pub use segments::{PieceSegments, SegmentReader};
pub use settings::{RowCompression, RowsSettings, RowsTarget};
pub use store::{PrefixStore, SequenceRule};

/// The most positions of a row.
pub const MOST_POSITIONS: u32 = 1 << 24;

/// Files of rows for trainers.
pub const FORMAT: Format = Format {
    name: "rows for trainers",
    owner: "rows for trainers",
    signs: "file of seq-pack",
    // (Each is one file, which the user names.)
    folders: &[],
    endings: &["parquet"],
    is_sign: |_, _| false,
    schema: None,
    knows: |path| Ok(OpenedRows::if_rows(path)?.is_some()),
    open: Opener::Records(|paths, slice| {
        let reader: Box<dyn RecordSource> = Box::new(reader::RowsReader::open(paths, slice)?);
        Ok(reader)
    }),
    stated: |_| Ok(Vec::new()),
    members: |_| Vec::new(),
    beside: |_| Ok(Vec::new()),
    refuse_missing: |_: &Path| Ok(()),
};
