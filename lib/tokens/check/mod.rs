//! The checks of token sequences: in roots and `.bin/.idx`, in rows for trainers, in rows of other tools, in folders of
//! Parquet shards.

mod foreign;
mod kd;
mod pair_rows;
mod pairs;
mod rows;
mod shards;

pub use foreign::RowKind;
pub use gristmill_stream::check::*;
pub use kd::sequences::{SequenceChecker, SequenceRules};
pub use kd::{IdsFamily, MegatronFamily, ModelSaid, SequenceGate};
pub use pair_rows::PairRowsFamily;
pub use pairs::{PAIR_CHECKS, PairChecker, PairGate, PairRules};
pub use rows::RowsFamily;
pub use shards::ParquetShardsFamily;
