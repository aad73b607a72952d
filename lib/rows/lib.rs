//! Rows for trainers: which sequences of tokens stand together in a row, the files and folders that trainers read, indices
//! of rows; their checks. Rows that other tools made. It knows tokens, of which rows are made.
//!
//! | module | holds |
//! |---|---|
//! | [`record`] | the `row` record: a row of another tool |
//! | [`packing`] | which sequences stand together in a row: lengths in, rows out |
//! | [`mod@format`] | `token_rows`: rows of sequences; `pair_rows`: rows of pairs; `foreign_rows`: rows of other tools |
//! | [`stage`] | chats as the sequences with which rows of other tools are compared |
//! | [`check`] | the checks of rows, and of folders of Parquet shards |

// The crates below, by the names that their modules have in all of them.
use gristmill_chats::{chat, harmony, model};
use gristmill_stream::{
    batch, cli, digest, error, file_entry, files, ordered, publish, said, stream, wording,
};
use gristmill_tokenizer as tokenizer;
use gristmill_tokens::kind;

pub mod check;
pub mod format;
pub mod packing;
pub mod record;
pub mod stage;
