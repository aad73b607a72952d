//! Checks that all parts are as the plan says, before any of them is joined.

use std::path::Path;

use serde_json::Value;

use super::{Plan, PlanSource, Task};
use crate::error::{Error, Result};

/// Options of the script alone: no filter has them.
const OF_SCRIPT: [&str; 3] = ["--raw", "--chat", "--conversations"];
/// The option that only the filter has that writes a root.
const OF_LAST: &str = "--valid-fraction";

/// Checks the manifests of the parts: they were made by this build, with the plan's options, from the
/// plan's slices of these inputs, and they belong to one dataset.
pub(super) fn check(plan: &Plan, sources: &[&PlanSource], root: &Path) -> Result<()> {
    let tasks: Vec<Task<'_>> = sources.iter().flat_map(|source| source.tasks(plan)).collect();
    (plan.product.recipe().check)(&tasks, root)
}

/// Calls `differs` with each task and the file that makes its part complete; fails with the first
/// cause that it returns.
pub(super) fn each(
    tasks: &[Task<'_>],
    root: &Path,
    mut differs: impl FnMut(&Task<'_>, &Path) -> Result<Option<String>>,
) -> Result<()> {
    for task in tasks {
        let path = task.manifest(root);
        if let Some(cause) = differs(task, &path)? {
            return Err(Error::data(cause).at(path.as_path()));
        }
    }
    Ok(())
}

impl Task<'_> {
    /// Returns an option of the plan that no filter of a chain had. `is_cut`: only the last filter
    /// of the chain is known.
    pub(super) fn other_options(&self, chain: &[Value], is_cut: bool) -> Option<String> {
        let options = self.plan.options.as_slice();
        let is_flag = |word: &String| word.starts_with("--");
        let starts = (0..options.len()).filter(|&at| options.get(at).is_some_and(is_flag));
        let given = starts.map(|at| {
            let value = options.get(at + 1).filter(|word| !is_flag(word));
            options.get(at..at + 1 + usize::from(value.is_some())).unwrap_or_default()
        });
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
