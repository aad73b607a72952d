//! The names of a puzzle set's identifiers.

use std::collections::HashSet;

use super::SplitMetadata;
use crate::puzzle::BLANK_IDENTIFIER;

/// The name of each identifier.
#[derive(Debug)]
pub(super) struct Identifiers {
    pub names: Option<Vec<String>>,
    /// The index of their root, if there are several roots. It becomes part of names that are numbers,
    /// since equal numbers in two roots are two puzzles.
    own: Option<usize>,
    pub blank: i64,
    /// Whether two identifiers have one name in the file.
    pub repeated: bool,
    /// How many identifiers get another name here; otherwise their puzzle would be taken for another
    /// puzzle, or for a blank one.
    pub renamed: usize,
}

impl Identifiers {
    pub fn new(
        mut names: Option<Vec<String>>,
        own: Option<usize>,
        metadata: &SplitMetadata,
    ) -> Identifiers {
        let blank = metadata.constants.blank_identifier_id;
        let mut seen = HashSet::from([BLANK_IDENTIFIER.to_string()]);
        let (mut repeated, mut renamed) = (false, 0);
        for (place, name) in names.iter_mut().flatten().enumerate() {
            if i64::try_from(place) != Ok(blank) && !seen.insert(name.clone()) {
                (repeated, renamed) = (true, renamed + 1);
                *name = format!("{name}#{place}");
            }
        }
        Identifiers { names, own, blank, repeated, renamed }
    }

    /// Returns the file's name for the blank identifier, if it is not ours.
    pub fn foreign_blank(&self) -> Option<String> {
        let name = self.names.as_ref()?.get(usize::try_from(self.blank).ok()?)?;
        (name != BLANK_IDENTIFIER).then(|| name.clone())
    }

    /// Returns the name of an identifier: its number if there is no `identifiers.json`.
    pub fn name(&self, identifier: i64) -> Option<String> {
        if identifier == self.blank {
            return Some(BLANK_IDENTIFIER.to_string());
        }
        match &self.names {
            Some(names) => names.get(usize::try_from(identifier).ok()?).cloned(),
            None => Some(match self.own {
                Some(own) => format!("{own}.{identifier}"),
                None => identifier.to_string(),
            }),
        }
    }
}
