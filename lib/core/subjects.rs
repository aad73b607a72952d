//! What this program knows: the only place that names all subjects. The lists are handed down to the code that is
//! common to all of them.

use std::process::ExitCode;

use clap::Parser;

use crate::check::{self, CheckKind, Family, RowKind};
use crate::cli::{self, Tool};
use crate::diff::{self, DiffKind};
use crate::error::Result;
use crate::format::{self, Format, kd_root, pair_rows, saved, synth_shards, token_rows};
#[cfg(any(feature = "games", feature = "puzzles"))]
use crate::kinds;
use crate::kinds::{ConversationKind, DecodedKind, PairKind, TokensKind};
use crate::program::Sources;
use crate::record::{self, CONVERSATION, DECODED, PAIR, RAW_SYNTH, ROW, RecordType, TOKENS};
use crate::stat::{self, StatKind};
use crate::view::{self, ViewKind};

/// Every record type, in the order in which records are recognised.
static RECORD_TYPES: &[&RecordType] = &[
    &TOKENS,
    &PAIR,
    &ROW,
    &DECODED,
    &CONVERSATION,
    #[cfg(feature = "games")]
    &record::GAME,
    #[cfg(feature = "puzzles")]
    &record::PUZZLE,
];

/// Every type of raw rows, from which filters make records.
static RAW_TYPES: &[&RecordType] = &[&RAW_SYNTH];

/// Every family of checks, in the order of reports: first the formats, then records in files and streams.
static FAMILIES: &[&dyn Family] = &[
    &check::MegatronFamily { rows: check::rows_in },
    #[cfg(feature = "games")]
    &check::PoolFamily,
    #[cfg(feature = "puzzles")]
    &check::PuzzleSetFamily,
    &check::RowsFamily,
    &check::PairRowsFamily,
    &check::ParquetShardsFamily,
    &check::IdsFamily,
    &check::StreamFamily,
];

/// Every format of datasets; a path belongs to the first that recognises it.
static FORMATS: &[&Format] = &[
    &kd_root::FORMAT,
    #[cfg(feature = "games")]
    &format::pools::FORMAT,
    #[cfg(feature = "puzzles")]
    &format::puzzle_dir::FORMAT,
    &token_rows::FORMAT,
    &pair_rows::FORMAT,
    &synth_shards::FORMAT,
    &saved::FORMAT,
];

/// Lists the kinds of records behind one interface.
macro_rules! kinds {
    ($($(#[$attribute:meta])* $name:ident: $interface:ident [$($own:ident),*];)+) => {$(
        $(#[$attribute])*
        static $name: &[&dyn $interface] = &[
            $(&$own,)*
            #[cfg(feature = "games")]
            &kinds::GameKind,
            #[cfg(feature = "puzzles")]
            &kinds::PuzzleKind,
        ];
    )+};
}

kinds! {
    /// Every kind of records that has numbers of its own.
    COUNTED: StatKind [TokensKind, PairKind, ConversationKind];
    /// Every kind of records that is compared in parts of its own.
    COMPARED: DiffKind [TokensKind, PairKind, ConversationKind];
    /// Every kind of records that has rules of its own.
    CHECKED: CheckKind [TokensKind, PairKind, RowKind, ConversationKind];
    /// Every kind of records that is not shown as fields.
    SHOWN: ViewKind [TokensKind, PairKind, DecodedKind, ConversationKind];
}

/// Hands the lists down. Everything that reads records, and is not called by [`main`], calls this first.
pub fn install() {
    record::RECORD_TYPES.set(RECORD_TYPES);
    record::RAW_TYPES.set(RAW_TYPES);
    check::FAMILIES.set(FAMILIES);
    format::FORMATS.set(FORMATS);
    check::KINDS.set(CHECKED);
    stat::KINDS.set(COUNTED);
    view::KINDS.set(SHOWN);
    diff::KINDS.set(COMPARED);
}

/// The body of every `main`: see [`cli::main`].
pub fn main<A: Parser>(sources: Sources, run: impl FnOnce(A, &Tool) -> Result<()>) -> ExitCode {
    install();
    cli::main(sources, run)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::error::Error;
    use crate::format::unchanged::InputSnapshot;
    use crate::record::statements::STATEMENTS;

    /// The marks around the part of SPEC.md that is made here.
    const BEGIN: &str = "<!-- made from the declarations by a test of lib/core/subjects.rs -->\n";
    const END: &str = "<!-- end of what is made -->\n";

    #[test]
    fn the_tables_of_the_specification_are_the_declarations() {
        let mut tables = String::new();
        for record in RECORD_TYPES {
            tables +=
                &format!("\n### `{}`\n\n| field | type | meaning |\n|---|---|---|\n", record.name);
            (record.fields)().iter().for_each(|field| tables += &field.table_rows(""));
        }
        tables += "\n### Parameters of headers\n\n| name | set by | meaning |\n|---|---|---|\n";
        for [name, by, meaning] in STATEMENTS.iter().copied().flatten() {
            tables += &format!("| `{name}` | {by} | {meaning} |\n");
        }
        tables += "\n";
        let page = include_str!("../stream/stream/SPEC.md");
        let found = page.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END));
        let found = found.map(|(found, _)| found);
        assert!(found == Some(&tables), "SPEC.md must have, between its marks:\n{tables}");
    }

    #[test]
    fn a_file_that_is_replaced_grown_or_gone_is_noticed() {
        install();
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir(at("train")).unwrap();
        let files = ["steps.npy", "train/a_tokens.idx", "manifest.json"];
        let write = |name: &str| fs::write(at(name), "x").unwrap();
        for name in files {
            files.into_iter().for_each(write);
            let noted = InputSnapshot::of_parts(&[directory.path().to_path_buf()]).unwrap();
            noted.check().unwrap();
            fs::write(at("steps-00001.npy"), "").unwrap();
            fs::write(at("log.txt"), "").unwrap();
            noted.check().unwrap();
            fs::remove_file(at("steps-00001.npy")).unwrap();
            write("new");
            fs::rename(at("new"), at(name)).unwrap();
            let error = noted.check().unwrap_err();
            assert_eq!(
                (error.kind().exit_code(), error.cause()),
                (75, "was changed while it was read")
            );
            fs::remove_file(at(name)).unwrap();
            assert!(noted.check().is_err());
            assert!(noted.confirm::<()>(Err(Error::data("bad"))).unwrap_err().cause() != "bad");
        }
    }

    #[test]
    fn what_is_half_published_is_not_read() {
        install();
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir(at("parts")).unwrap();
        fs::create_dir(at("train")).unwrap();
        fs::write(at("parts/.s.json.gristmill-half"), "").unwrap();
        fs::write(at("train/s_tokens.idx"), "").unwrap();
        for path in [directory.path().to_path_buf(), at("train/s")] {
            let error = InputSnapshot::of(std::slice::from_ref(&path)).unwrap_err();
            assert_eq!(error.kind().exit_code(), 75, "{error}");
        }
        fs::write(at("parts/s.json"), "").unwrap();
        assert!(InputSnapshot::of(&[directory.path().to_path_buf(), at("train/s")]).is_ok());
    }
}
