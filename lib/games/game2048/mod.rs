//! The game 2048 as in the self-play pools: boards and moves, the board evaluation,
//! one game as columns, and the rows of the pools.
//!
//! Nothing here reads or writes files; those are in `format`.

mod board;
mod columns;
mod dtypes;
mod eval;
mod game;
mod large_tiles;
mod rows;
mod run_summary;
mod step_rows;
mod text;

pub use board::{
    Board, CELLS, Direction, MAX_EXPONENT, PackedBoard, Slide, unpack, unpack_is_ambiguous,
};
pub use columns::{ALL_BRANCHES, BranchColumn, ItemColumn, known_values};
pub use dtypes::{aligned_step_row, packed_step_row, selfplay_row};
pub use eval::{Survey, board_eval, board_eval_interactive, survey};
pub use game::{Game, Step, Steps};
pub use rows::{
    ALIGNED_ROW, KNOWN_VALUATIONS, PACKED_ROW, RowError, RowLayout, SELFPLAY_ROW, SelfplayRow,
    StepRow, remove_padding,
};
pub use run_summary::RunSummary;
pub use step_rows::{CopyError, GameForm, StepRows, StoredGame};
pub use text::{BOARD_TEXT, read_board, write_board};
