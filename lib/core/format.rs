//! The formats of all subjects.

#[cfg(feature = "games")]
pub use gristmill_games::format::{metadata_db, pack, pools, raw_games};
pub use gristmill_npy as npy;
#[cfg(feature = "puzzles")]
pub use gristmill_puzzles::format::puzzle_dir;
pub use gristmill_rows::format::*;
