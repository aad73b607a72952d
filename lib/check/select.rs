//! Which checks are made: `--only`, `--skip`, `--structure`.

use super::catalogue::{Check, Depth, all_checks};
use crate::cli::{Error, Result};

/// The checks that the user wants.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    only: Vec<String>,
    skip: Vec<String>,
    structure: bool,
}

impl Selection {
    /// Names are ids (`kd.mask.unshifted`) or what ids begin with (`kd.mask`, `kd`). An id that
    /// no check has is an error: a typing error would leave out what it was to find.
    pub fn new(only: Vec<String>, skip: Vec<String>, structure: bool) -> Result<Selection> {
        let checks = all_checks();
        for name in only.iter().chain(&skip) {
            if !checks.iter().any(|check| names(name, &check.id)) {
                return Err(Error::usage(format!("no check is named {name:?}; try: --list")));
            }
        }
        let selection = Selection { only, skip, structure };
        match checks.iter().any(|check| selection.wants(check)) {
            true => Ok(selection),
            false => Err(Error::usage("no check is left to be made")),
        }
    }

    pub fn wants(&self, check: &Check) -> bool {
        let any = |list: &[String]| list.iter().any(|name| names(name, &check.id));
        (self.only.is_empty() || any(&self.only))
            && !any(&self.skip)
            && !(self.structure && check.depth == Depth::Content)
    }

    /// Whether values are to be read at all.
    pub fn wants_contents(&self) -> bool {
        !self.structure
    }

    /// Whether one of these is wanted: whether it pays to read what they look at.
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
