//! Puzzle sets for the HRM loader: ours, and those of other builders.
//!
//! | file | checks |
//! |---|---|
//! | `dataset.rs` | `dataset.json`, and what both splits share |
//! | `arrays.rs` | the five arrays of a set: files, shapes, both indices |
//! | `examples.rs` | tokens, and the rules of the domain, on all threads |
//! | `root.rs` | the set as a whole: `identifiers.json`, `build.json`, examples in both splits |

mod arrays;
mod dataset;
mod examples;
mod root;

use std::borrow::Cow;
use std::path::Path;
use std::sync::LazyLock;

use super::inventory;
use super::{Check, Context, Depth, Family, Level, Outcome};
use crate::cli::Result;
use crate::format::puzzle_dir::{Array, SPLITS, is_puzzle_dir};
use crate::puzzle::{self, DOMAINS, Rule};

pub(super) struct Puzzles;

impl Family for Puzzles {
    fn checks(&self) -> Vec<&'static Check> {
        let own = [root::CHECKS, dataset::CHECKS, arrays::CHECKS, examples::CHECKS].concat();
        own.into_iter().chain(RULES.iter().map(|rule| &rule.check)).collect()
    }

    fn knows(&self, path: &Path) -> bool {
        // A set that lost its dataset.json is one still.
        let has_array = |directory: &Path| {
            let Ok(paths) = inventory::paths_in(directory) else { return false };
            paths.iter().any(|path| {
                let name = inventory::name_of(path);
                Array::ALL.iter().any(|array| name.ends_with(&format!("__{}.npy", array.name())))
            })
        };
        is_puzzle_dir(path)
            || has_array(path)
            || SPLITS.iter().any(|split| has_array(&path.join(split.name())))
    }

    fn check(&self, path: &Path, context: &mut Context<'_>) -> Result<Outcome> {
        root::check(path, context)
    }
}

/// A domain's rule as a check.
struct DomainRule {
    rule: &'static Rule,
    check: Check,
}

/// The rules of all domains, `puzzle.{domain}.{rule}`.
static RULES: LazyLock<Vec<DomainRule>> = LazyLock::new(|| {
    let of = |domain: &&'static dyn puzzle::Domain| {
        let name = domain.constants().name;
        domain.rules().iter().map(move |rule| DomainRule {
            rule,
            check: Check {
                id: Cow::Owned(format!("puzzle.{name}.{}", rule.id)),
                level: level(rule.level),
                depth: Depth::Content,
                meaning: Cow::Borrowed(rule.meaning),
                hint: (rule.level != rule.foreign)
                    .then_some("published sets are known for it: there it is a warning"),
            },
        })
    };
    DOMAINS.iter().flat_map(of).collect()
});

/// The check of a rule.
pub(super) fn check_of(rule: &'static Rule) -> Option<&'static Check> {
    RULES.iter().find(|known| std::ptr::eq(known.rule, rule)).map(|known| &known.check)
}

pub(super) fn level(level: puzzle::Level) -> Level {
    match level {
        puzzle::Level::Error => Level::Error,
        puzzle::Level::Warning => Level::Warning,
    }
}
