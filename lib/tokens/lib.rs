//! Sequences of tokens: their records and masks, Megatron's `.bin/.idx`, roots of shards; their checks, numbers and views.
//! It knows chats, whose tokens they are, and no rows, games or puzzles.
//!
//! | module | holds |
//! |---|---|
//! | [`record`] | the `tokens` and `pair` records, and the rows of ids files |
//! | [`mod@format`] | `mmidx`: Megatron's files; `kd_root`: roots of shards |
//! | [`stage`] | the filters between chats and masked tokens |
//! | [`check`] | the checks of sequences, wherever they are |
//! | [`kind`] | how sequences are counted, shown, compared, checked |

// The crates below, by the names that their modules have in all of them.
use gristmill_chats::{chat, harmony, kinds, model};
use gristmill_npy as npy;
use gristmill_stream::{
    batch, cli, diff, digest, error, file_entry, files, json, ordered, panics, provenance, publish,
    said, stat, stream, view, visible, wording,
};
use gristmill_tokenizer as tokenizer;

pub mod check;
pub mod format;
pub mod kind;
pub mod record;
pub mod stage;
