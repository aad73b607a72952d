//! Pools of 2048 games: Macroxue packs, self-play v1, legacy.
//!
//! | file | checks |
//! |---|---|
//! | `files.rs` | shards, embeddings, `valuation_types.json`, the manifest |
//! | `steps.rs` | one step by itself, and with the one before it |
//! | `rows.rs` | every row of a Macroxue pack, on all threads |
//! | `games.rs` | every game of the other pools, and of streams |
//! | `runs.rs` | the rows of each run against `metadata.db` |

mod files;
pub(super) mod games;
mod rows;
mod runs;
mod steps;

use std::path::Path;

use super::{Check, Context, Family, Outcome};
use crate::cli::{Result, grouped};
use crate::format::npy::{self, aligned_step_row, packed_step_row};
use crate::format::pools::{is_pool, step_files};

pub(super) struct Pools;

impl Family for Pools {
    fn checks(&self) -> Vec<&'static Check> {
        [files::CHECKS, steps::CHECKS, runs::CHECKS].concat()
    }

    fn knows(&self, path: &Path) -> bool {
        let shards = |path| step_files(path).is_ok_and(|(_, shards)| !shards.is_empty());
        is_pool(path) || (path.is_dir() && (shards(path) || path.join("metadata.db").exists()))
    }

    fn check(&self, path: &Path, context: &mut Context<'_>) -> Result<Outcome> {
        let mut findings = context.findings();
        let mut notes = Vec::new();
        let mut files = files::check(path, &mut findings)?;
        let mut counted = 0;
        let what = match files.rows.as_ref().map(|rows| rows.dtype.clone()) {
            None => "pool of games".to_string(),
            Some(dtype) if dtype == aligned_step_row() || dtype == packed_step_row() => {
                counted = rows::check(path, &mut files, context, &mut findings)?;
                format!("Macroxue pack, {}-byte rows", dtype.num_bytes().unwrap_or_default())
            }
            Some(dtype) => {
                counted = games::check(path, &mut files, context, &mut findings)?;
                match npy::field(&dtype, "exps") {
                    Some(_) => "self-play v1 pool".to_string(),
                    None => "legacy pool".to_string(),
                }
            }
        };
        files.compare(counted, context, &mut findings)?;
        notes.push(format!("{} games", grouped(files.runs)));
        notes.extend(files.notes);
        Ok(Outcome {
            path: path.to_path_buf(),
            what,
            records: ("rows", counted),
            bytes: files.bytes,
            notes,
            kinds: findings.into_kinds(),
        })
    }
}
