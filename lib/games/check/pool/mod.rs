//! Pools of 2048 games: Macroxue packs, self-play v1, legacy.
//!
//! | file | checks |
//! |---|---|
//! | `files.rs` | shards, embeddings, `valuation_types.json`, the manifest |
//! | `steps.rs` | one step by itself, and with the one before it |
//! | `rows.rs` | every row of a Macroxue pack, on all threads |
//! | `games.rs` | every game of the other pools, and of streams |
//! | `gate.rs` | one game, for a sink |
//! | `runs.rs` | the rows of each run against `metadata.db` |

mod files;
pub(super) mod games;
mod gate;
mod rows;
mod runs;
mod steps;

use std::path::Path;

pub use gate::GameGate;
use runs::RunChecker;

use super::{Check, CheckContext, Family, Outcome};
use crate::error::Result;
use crate::format::pools;
use crate::wording::counted;

pub struct PoolFamily;

impl Family for PoolFamily {
    fn checks(&self) -> Vec<&'static Check> {
        [files::CHECKS, steps::CHECKS, runs::CHECKS].concat()
    }

    fn knows(&self, path: &Path) -> Result<bool> {
        (pools::FORMAT.knows)(path)
    }

    fn check(&self, path: &Path, context: &mut CheckContext<'_>) -> Result<Outcome> {
        let mut findings = context.findings();
        let mut files = files::check(path, &mut findings)?;
        let mut what = "pool of games".to_string();
        let mut count = 0;
        if let Some(rows) = &files.rows {
            let (layout, is_v1) = (rows.layout(), crate::npy::field(&rows.dtype, "exps").is_some());
            let is_pack = layout.is_some();
            count = rows.count();
            what = match (is_pack, is_v1) {
                (true, _) => format!("Macroxue pack, {}-byte rows", rows.row_bytes()),
                (false, true) => "self-play v1 pool".to_string(),
                (false, false) => "legacy pool".to_string(),
            };
            let runs = RunChecker::open(path, is_pack, is_pack || is_v1, &mut findings)?;
            files.runs = match (context.selection.wants_contents(), layout) {
                (false, _) => runs.finish(false, &mut findings)?,
                (true, Some(layout)) => {
                    rows::check(path, &files, (rows, layout), runs, context, &mut findings)?
                }
                (true, None) => games::check(path, runs, context, &mut findings)?,
            };
        }
        files.compare(count, context, &mut findings)?;
        let mut notes = vec![counted(files.runs, "game")];
        notes.extend(files.notes);
        Ok(Outcome {
            path: path.to_path_buf(),
            what,
            records: ("rows", count),
            notes,
            groups: findings.into_groups(),
            ..Outcome::default()
        })
    }
}
