//! Whether the parts are what the plan says, before any of them is joined.

use std::path::Path;

use serde_json::Value;

use super::{Plan, PlanSource, Task};
use crate::error::{Error, Result};

/// Options that are for the script alone: no filter has them.
const OF_SCRIPT: [&str; 3] = ["--raw", "--chat", "--conversations"];
/// The option of the filter that writes a root.
const OF_LAST: &str = "--valid-fraction";

/// The manifests of the parts say that they were made by this build, with these options, of these
/// slices of these inputs, and are of one dataset.
pub(super) fn check(plan: &Plan, sources: &[&PlanSource], root: &Path) -> Result<()> {
    let tasks: Vec<Task<'_>> = sources.iter().flat_map(|source| source.tasks(plan)).collect();
    (plan.product.recipe().check)(&tasks, root)
}

/// Fails with the first cause that is found for a task, of which the file that makes its part whole is given.
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
    /// Which option of the plan no filter of a chain had; `is_cut`: of the chain only the last filter is known.
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
