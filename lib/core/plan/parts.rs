//! Whether the parts are what the plan says, before any of them is joined.

use std::path::Path;

use serde_json::Value;

use super::{Plan, PlanSource, Product, Task};
use crate::batch::Header;
use crate::error::{Error, Result};
use crate::files::open_member;
use crate::format::kd_root::{KdPart, configs_agree};
use crate::format::pack::PackManifest;
use crate::format::parquet::{ParquetFile, read_error};
use crate::provenance::Build;

/// Options that are for the script alone: no filter has them.
const OF_SCRIPT: [&str; 3] = ["--raw", "--chat", "--conversations"];
/// The option of the filter that writes a root.
const OF_LAST: &str = "--valid-fraction";

/// The manifests of the parts say that they were made by this build, with these options, of these
/// slices of these inputs, and are of one dataset.
pub(super) fn check(plan: &Plan, sources: &[&PlanSource], root: &Path) -> Result<()> {
    let mut first: Option<KdPart> = None;
    for task in sources.iter().flat_map(|source| source.tasks(plan)) {
        let path = task.manifest(root);
        let differs = match plan.product {
            Product::KdRoot => {
                let part = KdPart::read(&path)?;
                let differs = task.shard_differs(&part);
                differs.or_else(|| other_dataset(first.get_or_insert_with(|| part.clone()), &part))
            }
            Product::Conversations => task.other_options(&chain_of_file(&path)?),
            // Its build.json has no chain; the receipt names the plan.
            Product::Puzzles => None,
            Product::Pack => {
                let chain = PackManifest::read(&task.part(root))?.provenance;
                task.other_options(&chain.unwrap_or_default())
            }
        };
        if let Some(cause) = differs {
            return Err(Error::data(cause).at(path.as_path()));
        }
    }
    Ok(())
}

/// Why two parts do not belong to one dataset.
fn other_dataset(first: &KdPart, part: &KdPart) -> Option<String> {
    let same = [
        ("config", configs_agree(part, first)),
        ("dtype", part.dtype == first.dtype),
        ("policy", part.source.policy == first.source.policy),
        ("tokenizer", part.source.tokenizer == first.source.tokenizer),
        ("spans", part.source.spans == first.source.spans),
    ];
    let (what, _) = same.iter().find(|(_, is_same)| !is_same)?;
    Some(format!("its {what} is not that of the first part"))
}

fn chain_of_file(path: &Path) -> Result<Vec<Value>> {
    let bad = |error: Error| error.at(path);
    let file = open_member(path).map_err(|e| Error::io(path, &e))?;
    let file = ParquetFile::open(file).map_err(|e| bad(read_error(&e)))?;
    Ok(Header::of(file.schema()).map_err(bad)?.provenance)
}

impl Task<'_> {
    /// Why the part of a shard is not the one of this task.
    fn shard_differs(&self, part: &KdPart) -> Option<String> {
        let Task { plan, source: planned, .. } = self;
        let KdPart { source, run, provenance, .. } = part;
        let (limits, build) = (&source.limits, Build::of(run));
        let cause = match () {
            _ if !planned.is_of(source.known_inputs()) => "is of another input",
            _ if limits.slice != self.slice_text() => "is another slice",
            _ if limits.rows != planned.rows => "has another limit of rows",
            _ if limits.tokens != planned.tokens => "has another limit of tokens",
            _ if build != plan.build => {
                return Some(format!("was made by {build}, the plan by {}", plan.build));
            }
            _ => return self.other_options(provenance),
        };
        Some(cause.to_string())
    }

    /// Which option of the plan no filter of a chain had.
    fn other_options(&self, chain: &[Value]) -> Option<String> {
        let options = self.plan.options.as_slice();
        let is_flag = |word: &String| word.starts_with("--");
        let starts = (0..options.len()).filter(|&at| options.get(at).is_some_and(is_flag));
        let given = starts.map(|at| {
            let value = options.get(at + 1).filter(|word| !is_flag(word));
            options.get(at..at + 1 + usize::from(value.is_some())).unwrap_or_default()
        });
        // NDJSON has no header: there the chain begins with the last filter.
        let is_cut = self.plan.product == Product::KdRoot && chain.len() < 2;
        let is_known = |words: &&[String]| match words.first() {
            Some(flag) if is_cut => flag == OF_LAST,
            Some(flag) => !OF_SCRIPT.iter().any(|own| flag == own),
            None => false,
        };
        let mut given = given.filter(is_known);
        let lacking = given.find(|words| !chain.iter().any(|entry| has(entry, words)))?;
        Some(format!("was made with other options: not with {}", lacking.join(" ")))
    }
}

/// Whether a filter was called with these words, one after another.
fn has(entry: &Value, words: &[String]) -> bool {
    let arguments = entry.get("arguments").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    arguments.windows(words.len()).any(|own| own.iter().zip(words).all(|(own, word)| own == word))
}
