//! What every filter needs, and no subject: batches of records, how records are declared, NDJSON, Arrow and Parquet, the
//! loop of a filter, publishing, errors, the command line, and the frames in which records are checked, counted, shown
//! and compared. Subjects (chats, tokens, games, puzzles) are crates on top of this one. What the frames must know of
//! them they are handed in lists ([`handed`]).
//!
//! | module | holds |
//! |---|---|
//! | [`error`], [`failure`], [`wording`], [`mod@visible`], [`way_on`] | the one error: kind, place, cause, hint; how it travels; numbers and names as people read them |
//! | [`files`], [`file_entry`], [`digest`], [`inputs`], [`known_files`], [`walk`], [`raw_files`], [`splits`] | what is at a path, or why that cannot be known; what a file is, and whether it still is that; the inputs of a run |
//! | [`gzip`], [`ordered`], [`signals`] | gzip as gzip reads it; work on several threads with the results in order; what a signal ends |
//! | [`chain`], [`program`], [`provenance`] | filters in one process; how the filter was started; how a dataset was made |
//! | [`publish`] | outputs that are whole or not there: staging, locks, markers |
//! | [`cli`] | arguments, exit codes, progress, rejects |
//! | [`handed`], [`said`] | lists and options of subjects, as the frames are handed them |
//! | [`record`] | how record types are declared; typed views and builders of their columns |
//! | [`batch`] | what passes from reader to stage to sink: batches, headers, and the interfaces of all three |
//! | [`mod@format`] | what a format on disk is, and what formats share; Parquet |
//! | [`stream`] | NDJSON, Arrow and Parquet as streams of batches; `SPEC.md` |
//! | [`check`], [`stat`], [`view`], [`diff`] | the frames: findings, numbers, what people see, differences |
//! | [`runner`], [`stage`] | the loop of every filter; stages for any records |

pub use gristmill_json as json;
pub use gristmill_panics as panics;
pub use gristmill_simd as simd;

pub mod batch;
pub mod chain;
pub mod check;
pub mod cli;
pub mod diff;
pub mod digest;
pub mod error;
pub mod failure;
pub mod file_entry;
pub mod files;
pub mod format;
pub mod gzip;
pub mod handed;
pub mod inputs;
pub mod known_files;
pub mod ordered;
pub mod program;
pub mod provenance;
pub mod publish;
pub mod raw_files;
pub mod record;
pub mod runner;
pub mod said;
pub mod signals;
pub mod splits;
pub mod stage;
pub mod stat;
pub mod stream;
pub mod view;
pub mod visible;
pub mod walk;
pub mod way_on;
pub mod wording;
