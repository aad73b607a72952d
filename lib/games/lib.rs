//! Games of 2048: boards, moves, evaluation, the rows of three kinds of pools, logs of self-play; their records, checks,
//! numbers and views.
//!
//! | module | holds |
//! |---|---|
//! | [`game2048`] | boards, moves, evaluation, rows of steps |
//! | [`record`] | the `game` record |
//! | [`mod@format`] | `raw_games`: logs; `pack`, `pools`: rows of steps; `metadata_db`: SQLite |
//! | [`check`] | the checks of pools |
//! | [`kind`] | how games are counted, shown, compared, checked |

// The crates below, by the names that their modules have in all of them.
use gristmill_npy as npy;
use gristmill_stream::{
    batch, cli, diff, digest, error, file_entry, files, gzip, json, ordered, provenance, publish,
    said, simd, stat, view, walk, wording,
};

pub mod check;
pub mod format;
pub mod game2048;
pub mod kind;
#[cfg(test)]
mod random;
pub mod record;
