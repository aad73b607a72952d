//! The arguments that name what `mmidx-write` writes.

use std::path::PathBuf;

use clap::Args;

use super::place::{is_file_name, named};
use super::{KdTarget, ValidFraction};
use crate::cli::{WithoutEffect, on_disk};
use crate::error::{Error, Result};
use crate::format::mmidx::{MmidxDtype, PrefixLayout};
use crate::model::Vocabulary;

/// Where sequences go, and in which form.
#[derive(Debug, Clone, Args)]
#[group(skip)]
pub struct KdTargetArgs {
    /// Write train and valid into a dataset of many shards
    ///
    /// Writes ROOT/{train,valid}/SHARD_{tokens,lossmask,span}.{bin,idx}, ROOT/ids/{train,valid}/SHARD.parquet
    /// and ROOT/parts/SHARD.json.
    #[arg(long, value_name = "ROOT", requires = "shard", required_unless_present = "prefix")]
    #[arg(add = WithoutEffect, value_parser = on_disk())]
    pub root: Option<PathBuf>,

    /// The shard's name, as in shard_00
    #[arg(long, value_name = "SHARD", requires = "root")]
    pub shard: Option<String>,

    /// Share of the ids that goes to valid
    #[arg(long, value_name = "F", default_value = "0.001")]
    pub valid_fraction: ValidFraction,

    /// Write one dataset: P_{tokens,lossmask,span}.bin, ...
    ///
    /// P_{tokens,lossmask,span}.{bin,idx}, P_ids.parquet and P.part.json.
    #[arg(long, value_name = "P", conflicts_with = "root", add = WithoutEffect)]
    #[arg(value_parser = on_disk())]
    pub prefix: Option<PathBuf>,

    /// Write only P.bin and P.idx; no masks are needed
    #[arg(long, requires = "prefix")]
    pub tokens_only: bool,

    /// Type of the tokens with --tokens-only [default: int32; uint16 if the header states a vocabulary
    /// under 65,500, as Megatron does]
    #[arg(long, value_enum, requires = "tokens_only", help_heading = "Form")]
    pub dtype: Option<MmidxDtype>,

    /// Write no ids of the sequences
    #[arg(long, help_heading = "Form")]
    pub no_ids: bool,
}

/// A vocabulary with fewer ids is written as uint16, as Megatron does (`DType.optimal_dtype`).
const SMALL_VOCABULARY: i32 = 65_500;

impl KdTargetArgs {
    /// Whether the ids are written too.
    pub fn ids(&self) -> bool {
        !self.no_ids
    }

    pub fn target(&self) -> Result<KdTarget> {
        match (&self.root, &self.shard, &self.prefix) {
            (Some(root), Some(name), _) => {
                if !is_file_name(name) {
                    return Err(Error::usage(format!("--shard {name:?}: not a file name")));
                }
                let (root, name) = (root.clone(), name.clone());
                Ok(KdTarget::Root { root, name, valid_fraction: self.valid_fraction })
            }
            (_, _, Some(prefix)) if prefix.file_name().is_some() => {
                Ok(KdTarget::Prefix(named(prefix)?))
            }
            _ => Err(Error::usage("give --root ROOT --shard SHARD, or --prefix P")),
        }
    }

    /// Returns which files are written of tokens of a vocabulary.
    pub fn layout(&self, vocabulary: Vocabulary) -> (PrefixLayout, MmidxDtype) {
        let is_small = vocabulary.size().is_some_and(|size| size < SMALL_VOCABULARY);
        let usual = if is_small { MmidxDtype::UInt16 } else { MmidxDtype::Int32 };
        if self.tokens_only {
            (PrefixLayout::Single, self.dtype.unwrap_or(usual))
        } else {
            (PrefixLayout::Triple, usual)
        }
    }
}
