//! Which checks are made: `--only`, `--skip`, `--structure`.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command};

use super::catalogue::{Check, Depth};
use crate::error::{Error, Result};

/// Reads names of checks. Any text is accepted here; [`Selection::new`] checks whether it is a name. Shell
/// completion offers the ids of this catalogue.
#[derive(Debug, Clone, Copy)]
pub struct CheckNames(pub fn() -> Vec<&'static Check>);

impl TypedValueParser for CheckNames {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> std::result::Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let value = |check: &'static Check| PossibleValue::new(&*check.id).help(check.meaning);
        Some(Box::new((self.0)().into_iter().map(value)))
    }
}

/// The checks that the user wants.
#[derive(Debug, Clone)]
pub struct Selection {
    /// Every check that exists, in the order of reports.
    catalogue: Vec<&'static Check>,
    only: Vec<String>,
    skip: Vec<String>,
    structure: bool,
}

impl Selection {
    /// Selects from a [`catalogue`](super::catalogue()). Names are ids (`kd.mask.unshifted`) or
    /// beginnings of ids (`kd.mask`, `kd`). A name that fits no check is an error: a typing error
    /// would silently leave out a check.
    pub fn new(
        catalogue: Vec<&'static Check>,
        only: Vec<String>,
        skip: Vec<String>,
        structure: bool,
    ) -> Result<Selection> {
        for name in only.iter().chain(&skip) {
            if !catalogue.iter().any(|check| names(name, &check.id)) {
                return Err(Error::usage(format!("no check is named {name:?}")).hint("--list"));
            }
        }
        let selection = Selection { catalogue, only, skip, structure };
        if selection.wants_any(&selection.catalogue) {
            Ok(selection)
        } else {
            Err(Error::usage("no check is left to be made"))
        }
    }

    pub fn wants(&self, check: &Check) -> bool {
        let any = |list: &[String]| list.iter().any(|name| names(name, &check.id));
        (self.only.is_empty() || any(&self.only))
            && !any(&self.skip)
            && !(self.structure && check.depth == Depth::Content)
    }

    /// Returns the position of a check in the catalogue.
    pub fn order(&self, check: &Check) -> Option<usize> {
        self.catalogue.iter().position(|known| std::ptr::eq(*known, check))
    }

    /// Whether values must be read at all.
    pub fn wants_contents(&self) -> bool {
        !self.structure
    }

    /// Whether one of these checks is selected: otherwise their data need not be read.
    pub fn wants_any(&self, checks: &[&Check]) -> bool {
        checks.iter().any(|check| self.wants(check))
    }
}

fn names(name: &str, id: &str) -> bool {
    id.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_ids_or_their_beginnings() {
        for name in ["kd.mask.value", "kd.mask", "kd"] {
            assert!(names(name, "kd.mask.value"), "{name}");
        }
        for name in ["kd.mas", "mask", "kd.mask.value.x", "k"] {
            assert!(!names(name, "kd.mask.value"), "{name}");
        }
    }
}
