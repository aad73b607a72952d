//! Megatron datasets: triples of tokens, loss mask and span ids, alone, in a directory, or in the
//! root of a KD dataset; and single datasets of tokens.
//!
//! | file | checks |
//! |---|---|
//! | `frames.rs` | `.idx` and `.bin`: headers, lengths, pointers, documents; the three of a triple together |
//! | `sequences/` | the tokens and masks of one sequence |
//! | `texts.rs` | the texts of another tokenizer's tokens |
//! | `gate.rs` | the same for a sink, which refuses what is wrong |
//! | `contents.rs` | every sequence of a prefix, on all threads |
//! | `caches.rs` | Megatron's index caches beside the data |
//! | `ids.rs` | the ids of the sequences |
//! | `manifest/mod.rs`, `manifest/compare.rs` | manifests, compared with the disk |
//! | `tokenizer.rs` | the tokenizer that a root keeps |
//! | `root.rs` | a root as a whole: splits, repeated sequences, leftover files |

mod caches;
mod contents;
mod frames;
pub mod gate;
mod ids;
mod ids_file;
mod manifest;
mod root;
pub(super) mod sequences;
pub(super) mod texts;
mod tokenizer;

pub use gate::SequenceGate;
pub use ids_file::{IdsFamily, if_ids};

use std::path::{Path, PathBuf};

use super::{Check, CheckContext, Family, Findings, Outcome};
use crate::error::{Error, Result, shown};
use crate::format::kd_root::{self, KdListing};

/// The model of the tokens that the user names, where nothing states it.
#[derive(Debug)]
pub struct ModelSaid(pub PathBuf);

/// Checks the files in a folder, if it exists; adds notes.
pub type FolderCheck =
    fn(&Path, &mut CheckContext<'_>, &mut Vec<String>, &mut Findings<'_>) -> Result<()>;

pub struct MegatronFamily {
    /// What checks the rows for trainers in a root.
    pub rows: FolderCheck,
}

impl Family for MegatronFamily {
    fn checks(&self) -> Vec<&'static Check> {
        let manifest = [manifest::CHECKS, manifest::compare::CHECKS].concat();
        let root = [root::CHECKS, tokenizer::CHECKS, caches::CHECKS].concat();
        [frames::CHECKS, &sequences::all(), ids::CHECKS, &manifest, &root].concat()
    }

    fn knows(&self, path: &Path) -> Result<bool> {
        (kd_root::FORMAT.knows)(path)
    }

    fn check(&self, path: &Path, context: &mut CheckContext<'_>) -> Result<Outcome> {
        let Some(set) = KdListing::of(path)? else {
            return Err(Error::usage("no Megatron dataset is there").at(shown(path)));
        };
        root::check(path, &set, self.rows, context)
    }
}
