//! The library of gristmill's filters: the subjects together, under the names that they have in their own crates.
//!
//! A filter is one file in `src/bin`: its arguments, and a `run` that opens a [`Reader`](stream::Reader)
//! with [`dataset::open`] and hands it, with a stage and a sink, to the [`Runner`](runner::Runner).
//!
//! | crate | holds | knows |
//! |---|---|---|
//! | `gristmill-stream` | what every filter needs, and the frames of checks, numbers, views, differences | no subject |
//! | `gristmill-chats` | chats, Harmony, models, conversations | `stream` |
//! | `gristmill-tokens` | token sequences, their files | `stream`, `chats` |
//! | `gristmill-rows` | rows for trainers, packing, rows of other tools | `stream`, `tokens` |
//! | `gristmill-games` | 2048: logs, packs, pools | `stream`, `npy` |
//! | `gristmill-puzzles` | ARC, Sudoku, Maze, Domino: puzzle sets | `stream`, `npy` |
//! | `gristmill-plans` | pipelines divided into tasks for many machines, and what they make | all of these |
//!
//! Here stands what needs all of them: [`subjects`] hands their lists down, [`dataset`] opens whatever holds records,
//! [`pages`] reads inputs for a page.

pub use gristmill_chats::{chat, harmony, model};
#[cfg(feature = "games")]
pub use gristmill_games::game2048;
pub use gristmill_npy as npy;
#[cfg(feature = "plans")]
pub use gristmill_plans as plan;
#[cfg(feature = "puzzles")]
pub use gristmill_puzzles::puzzle;
pub use gristmill_rows::packing;
pub use gristmill_stream::{
    batch, chain, cli, diff, digest, error, failure, file_entry, files, gzip, handed, inputs, json,
    known_files, ordered, panics, program, provenance, publish, raw_files, runner, said, signals,
    simd, sources, splits, stat, stream, view, visible, walk, way_on, wording,
};
pub use gristmill_tokenizer as tokenizer;

pub mod check;
pub mod dataset;
pub mod format;
pub mod kinds;
pub mod pages;
pub mod record;
pub mod stage;
pub mod subjects;

pub use subjects::main;

#[cfg(test)]
mod diff_tests;
