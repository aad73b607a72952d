//! The checks of rows for trainers, of rows of other tools, and of folders of Parquet shards.

mod foreign;
mod pair_rows;
mod rows;
mod shards;

pub use foreign::RowKind;
pub use gristmill_tokens::check::*;
pub use pair_rows::PairRowsFamily;
pub use rows::{RowsFamily, rows_in};
pub use shards::ParquetShardsFamily;
