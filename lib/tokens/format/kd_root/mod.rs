//! The root of a KD dataset: `{train,valid}/shard_NN_{tokens,lossmask,span}.{bin,idx}`, the ids of the
//! sequences in `ids/{train,valid}/shard_NN.parquet`, the part manifests in `parts/`, the tokenizer of
//! another model in `tokenizer/`, and `manifest.json`. Source: FORMAT.md
//! beside this file.

mod caches;
mod format;
mod ids;
mod join;
mod listing;
mod manifest;
mod merge;
mod part;
mod part_sink;
mod place;
mod reader;
mod sink;
mod split;
mod surplus;
mod target_args;
mod tokenizer;

pub use crate::format::MANIFEST;
pub use caches::caches_of;
pub use format::FORMAT;
pub use ids::{IDS, IdRows, IdsFile, IdsWriter, find_ids, ids_beside, ids_in_root};
pub use join::ShardJoin;
pub use listing::{KdListing, KdPrefix, STRAY, prefix_of};
pub use manifest::{KdChain, KdRootManifest, KdRootSplit, RootSettings};
pub use merge::concatenate;
pub use part::{
    KdConfig, KdFiles, KdPart, KdSource, KdSplit, PART_SCHEMA, SourceLimits, agree_if_known,
    are_one_tokenizer, configs_agree, find_manifest, manifest_beside, manifest_in_root,
    manifests_of,
};
pub use part_sink::{AssertedSource, PartSink, publish_part};
pub use reader::KdReader;
pub use sink::{KdSink, KdTarget, NO_MASKS, RowRule, count_spans};
pub use split::{FractionError, ValidFraction};
pub use surplus::Surplus;
pub use target_args::KdTargetArgs;
pub use tokenizer::{
    KeptTokenizer, TOKENIZER, kept_files, publish_tokenizer_of_parts, remove_other_tokenizer,
    tokenizer_beside, tokenizer_of_root,
};

/// The splits of a root, in the order in which their rows are read back.
pub const SPLITS: [&str; 2] = ["train", "valid"];
/// The name of the only split of a prefix that was written without splits.
pub const ALL: &str = "all";
pub const ROOT_SCHEMA: &str = "synth_kd_v1";
