//! Puzzles: ARC, Sudoku, Maze, Domino; their records, the sets of the HRM trainer, checks, numbers and views.
//!
//! | module | holds |
//! |---|---|
//! | [`puzzle`] | the domains: a domain is a file |
//! | [`record`] | the `puzzle` record |
//! | [`mod@format`] | `puzzle_dir`: puzzle sets |
//! | [`check`] | the checks of sets |
//! | [`kind`] | how puzzles are counted, shown, compared, checked |

// The crates below, by the names that their modules have in all of them.
use gristmill_npy as npy;
use gristmill_stream::{
    batch, cli, diff, digest, error, file_entry, files, json, ordered, provenance, publish, said,
    stat, view, walk, wording,
};

pub mod check;
pub mod format;
pub mod kind;
pub mod puzzle;
pub mod record;
