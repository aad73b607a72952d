//! Puzzle sets for the HRM loader, by any builder.
//!
//! | file | checks |
//! |---|---|
//! | `dataset.rs` | `dataset.json`, and what both splits share |
//! | `arrays.rs` | the five arrays of a set: files, shapes, both indices |
//! | `examples.rs` | tokens, and the rules of the domain, on all threads |
//! | `gate.rs` | one example, for a sink |
//! | `root.rs` | the set as a whole: `identifiers.json`, `build.json`, examples in both splits |

mod arrays;
mod dataset;
mod examples;
mod gate;
mod root;

use std::borrow::Cow;
use std::path::Path;
use std::sync::LazyLock;

pub use gate::PuzzleGate;

use super::{Check, CheckContext, Depth, Family, FindingPlace, Findings, Outcome};
use crate::error::{Error, Result};
use crate::format::puzzle_dir;
use crate::puzzle::{self, DOMAINS, Domain, Rule, Split};

/// The name of a domain that switches the rules of domains off.
const NO_DOMAIN: &str = "none";

/// The domain that the user says, whatever the puzzles state; `None`: no rules of any domain.
#[derive(Clone, Copy)]
pub struct DomainSaid(pub Option<&'static dyn Domain>);

impl DomainSaid {
    /// Returns the domain that an option names.
    pub fn named(option: &str, name: &str) -> Result<DomainSaid> {
        match (name, puzzle::domain(name)) {
            (NO_DOMAIN, _) => Ok(DomainSaid(None)),
            (_, Some(domain)) => Ok(DomainSaid(Some(domain))),
            (_, None) => {
                let names = DOMAINS.iter().map(|domain| domain.constants().name);
                let names: Vec<&str> = names.chain([NO_DOMAIN]).collect();
                let unknown = Error::usage(format!("{option} {name}: not a known domain"));
                Err(unknown.hint(names.join(", ")))
            }
        }
    }
}

pub struct PuzzleSetFamily;

impl Family for PuzzleSetFamily {
    fn checks(&self) -> Vec<&'static Check> {
        let own = [root::CHECKS, dataset::CHECKS, arrays::CHECKS, examples::CHECKS].concat();
        own.into_iter().chain(RULES.iter().map(|(_, check)| check)).collect()
    }

    fn knows(&self, path: &Path) -> Result<bool> {
        (puzzle_dir::FORMAT.knows)(path)
    }

    fn check(&self, path: &Path, context: &mut CheckContext<'_>) -> Result<Outcome> {
        root::check(path, context)
    }
}

/// The rules of all domains as checks, `puzzle.{domain}.{rule}`.
static RULES: LazyLock<Vec<(&'static Rule, Check)>> = LazyLock::new(|| {
    let of = |domain: &&'static dyn Domain| {
        let name = domain.constants().name;
        let check = move |rule: &Rule| Check {
            id: Cow::Owned(format!("puzzle.{name}.{}", rule.id)),
            severity: rule.severity,
            depth: Depth::Content,
            meaning: rule.meaning,
            hint: (rule.severity != rule.foreign)
                .then_some("published sets have it: there it is a warning"),
        };
        domain.rules().iter().map(move |rule| (*rule, check(rule)))
    };
    DOMAINS.iter().flat_map(of).collect()
});

/// One example that is checked by the rules of its domain.
pub struct DomainExample<'a> {
    pub inputs: &'a [i32],
    pub labels: &'a [i32],
    pub split: Option<Split>,
    /// Whether one of our builders made the set. Breaking a rule that other builders do not keep is an error
    /// only then.
    pub ours: bool,
}

impl DomainExample<'_> {
    pub fn check(&self, domain: &dyn Domain, at: FindingPlace<'_>, findings: &mut Findings<'_>) {
        for finding in domain.check(self.inputs, self.labels, self.split) {
            let rule = RULES.iter().find(|(rule, _)| std::ptr::eq(*rule, finding.rule));
            let Some((rule, check)) = rule else { continue };
            let severity = if self.ours { rule.severity } else { rule.foreign };
            findings.add_as(check, severity, at, finding.message);
        }
    }
}
