//! Pairs of answers as rows for trainers of preferences: Parquet files with the columns that TRL's trainers have after
//! their own preparation. FORMAT.md beside this file has the forms and the manifest.
//!
//! | file | what |
//! |---|---|
//! | `columns.rs` | pairs as the columns of each form, and back |
//! | `manifest.rs` | what a file states about itself, in its footer |
//! | `sink.rs` | writing a file, block by block |
//! | `reader.rs` | rows as pairs |

mod columns;
mod manifest;
mod reader;
mod sink;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::batch::RecordSource;
use crate::format::{Format, Opener};

pub use columns::{columns_of, pairs_of};
pub use manifest::{PairRowsManifest, PartTokens, pair_hash};
pub use reader::OpenedPairRows;
pub use sink::{PairRowsSettings, PairRowsSink};

/// The trainer for which pairs are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PairForm {
    /// TRL's DPOTrainer: a prompt and two answers.
    TrlDpo,
    /// TRL's RewardTrainer: each answer behind the prompt.
    TrlReward,
    /// TRL's KTOTrainer: two rows, one for each answer.
    TrlKto,
}

impl PairForm {
    pub fn name(self) -> &'static str {
        match self {
            PairForm::TrlDpo => "trl-dpo",
            PairForm::TrlReward => "trl-reward",
            PairForm::TrlKto => "trl-kto",
        }
    }

    /// Returns how many rows a pair has.
    pub fn rows_of_pair(self) -> u64 {
        match self {
            PairForm::TrlDpo | PairForm::TrlReward => 1,
            PairForm::TrlKto => 2,
        }
    }
}

/// A block of rows ends with this many pairs, as TRL's datasets are worked on, or with this many tokens.
pub const BLOCK_PAIRS: usize = 1000;
pub const BLOCK_TOKENS: usize = 1 << 24;

/// Files of pairs for trainers.
pub const FORMAT: Format = Format {
    name: "pairs for trainers",
    owner: "pairs for trainers",
    signs: "file of seq-pack",
    // (Each is one file, which the user names.)
    folders: &[],
    endings: &["parquet"],
    is_sign: |_, _| false,
    schema: None,
    knows: |path| Ok(OpenedPairRows::if_rows(path)?.is_some()),
    open: Opener::Records(|paths, slice| {
        let reader: Box<dyn RecordSource> = Box::new(reader::PairRowsReader::open(paths, slice)?);
        Ok(reader)
    }),
    stated: |_| Ok(Vec::new()),
    members: |_| Vec::new(),
    beside: |_| Ok(Vec::new()),
    refuse_missing: |_| Ok(()),
};
