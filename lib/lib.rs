//! The library of gristmill's filters. What is where, and where to add what:
//!
//! | module | holds | uses |
//! |---|---|---|
//! | [`error`] | the one error that leaves the library: kind, place, cause, hint | |
//! | [`simd`] | vector instructions, chosen at run time, and plain code with the same results | |
//! | [`json`] | a pull reader over JSON text, for the hot paths | `simd` |
//! | [`tokenizer`] | o200k: vocabulary, pre-tokenizer, byte-pair encoder | `simd` |
//! | [`game2048`] | boards, moves, evaluation, the rows of the three pools | |
//! | [`record`] | the record types: schemas and typed views of Arrow batches | `game2048` |
//! | [`harmony`] | conversations: what is accepted, rendering, spans, and back | `json`, `tokenizer`, `record` |
//! | [`puzzle`] | ARC, Sudoku, Maze, Domino: encoding, rules, augmentation | `record` |
//! | [`cli`] | arguments, errors and exit codes, progress, signals, atomic outputs | |
//! | [`format`] | one file or folder for each format on disk, its page beside it | `cli`, `record`, domain modules |
//! | [`stream`] | NDJSON and Arrow readers and writers, sniffing, headers; `SPEC.md` | all above |
//! | [`check`] | one file or folder for each family of checks, one table of all | all above |
//!
//! Nothing imports upward. A filter is one file in `src/bin` that uses all of this; the library
//! itself never exits, and prints only in `cli`.

pub mod batch;
pub mod check;
pub mod cli;
pub mod dataset;
pub mod error;
pub mod format;
pub mod game2048;
pub mod harmony;
pub mod json;
pub mod puzzle;
pub mod record;
pub mod runner;
pub mod simd;
pub mod stage;
pub mod stream;
pub mod tokenizer;
