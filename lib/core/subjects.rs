//! What this program knows: the only place that names all subjects. The lists are handed down to the code that is
//! common to all of them.

use std::process::ExitCode;

use clap::Parser;

use crate::check::{self, CheckKind, Family};
use crate::cli::{self, Tool};
use crate::diff::{self, DiffKind};
use crate::error::Result;
use crate::format::{self, Format, kd_root, pools, puzzle_dir, synth_shards, token_rows};
use crate::kinds::{ConversationKind, DecodedKind, GameKind, PuzzleKind, TokensKind};
use crate::program::Sources;
use crate::record::{self, CONVERSATION, DECODED, GAME, PUZZLE, RAW_SYNTH, RecordType, TOKENS};
use crate::stat::{self, StatKind};
use crate::view::{self, ViewKind};

/// Every record type, in the order in which records are recognised.
static RECORD_TYPES: [&RecordType; 5] = [&TOKENS, &DECODED, &CONVERSATION, &GAME, &PUZZLE];

/// Every type of raw rows, from which filters make records.
static RAW_TYPES: [&RecordType; 1] = [&RAW_SYNTH];

/// Every family of checks, in the order of reports: first the formats, then records in files and streams.
static FAMILIES: [&dyn Family; 7] = [
    &check::MegatronFamily,
    &check::PoolFamily,
    &check::PuzzleSetFamily,
    &check::RowsFamily,
    &check::ParquetShardsFamily,
    &check::IdsFamily,
    &check::StreamFamily,
];

/// Every format of datasets; a path belongs to the first that recognises it.
static FORMATS: [&Format; 5] = [
    &kd_root::FORMAT,
    &pools::FORMAT,
    &puzzle_dir::FORMAT,
    &token_rows::FORMAT,
    &synth_shards::FORMAT,
];

/// Every kind of records that has numbers of its own.
static COUNTED: [&dyn StatKind; 4] = [&TokensKind, &ConversationKind, &GameKind, &PuzzleKind];

/// Every kind of records that is compared in parts of its own.
static COMPARED: [&dyn DiffKind; 4] = [&TokensKind, &ConversationKind, &GameKind, &PuzzleKind];

/// Every kind of records that has rules of its own.
static CHECKED: [&dyn CheckKind; 4] = [&TokensKind, &ConversationKind, &GameKind, &PuzzleKind];

/// Every kind of records that is not shown as fields.
static SHOWN: [&dyn ViewKind; 5] =
    [&TokensKind, &DecodedKind, &ConversationKind, &GameKind, &PuzzleKind];

/// Hands the lists down. Everything that reads records, and is not called by [`main`], calls this first.
pub fn install() {
    record::RECORD_TYPES.set(&RECORD_TYPES);
    record::RAW_TYPES.set(&RAW_TYPES);
    check::FAMILIES.set(&FAMILIES);
    format::FORMATS.set(&FORMATS);
    check::KINDS.set(&CHECKED);
    stat::KINDS.set(&COUNTED);
    view::KINDS.set(&SHOWN);
    diff::KINDS.set(&COMPARED);
}

/// The body of every `main`: see [`cli::main`].
pub fn main<A: Parser>(sources: Sources, run: impl FnOnce(A, &Tool) -> Result<()>) -> ExitCode {
    install();
    cli::main(sources, run)
}
