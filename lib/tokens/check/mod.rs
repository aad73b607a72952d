//! The checks of token sequences: in roots and `.bin/.idx`, in rows for trainers, in folders of Parquet shards.

mod kd;
mod rows;
mod shards;

pub use gristmill_stream::check::*;
pub use kd::sequences::{SequenceChecker, SequenceRules};
pub use kd::{IdsFamily, MegatronFamily, ModelSaid, SequenceGate};
pub use rows::RowsFamily;
pub use shards::ParquetShardsFamily;
