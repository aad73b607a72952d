//! A directory holds datasets of one kind: what a writer finds before it writes there. These are the
//! signs by which readers, ours and others, take a directory for one kind or the other.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::files;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DatasetKind {
    Megatron,
    Pool,
    PuzzleSet,
}

impl DatasetKind {
    const ALL: [DatasetKind; 3] =
        [DatasetKind::Megatron, DatasetKind::Pool, DatasetKind::PuzzleSet];

    fn name(self) -> &'static str {
        match self {
            DatasetKind::Megatron => "Megatron datasets",
            DatasetKind::Pool => "a pool of games",
            DatasetKind::PuzzleSet => "a puzzle set",
        }
    }

    /// Where its files may be, below its directory.
    fn places(self) -> &'static [&'static str] {
        match self {
            DatasetKind::Megatron => &["", "train", "valid", "parts"],
            DatasetKind::Pool => &[""],
            DatasetKind::PuzzleSet => &["", "train", "test"],
        }
    }

    /// Whether a file of this name, in one of these places, is of this kind.
    fn has(self, place: &str, name: &str) -> bool {
        let begins_and_ends =
            |begin: &str, end: &str| name.starts_with(begin) && name.ends_with(end);
        match self {
            DatasetKind::Megatron => match place {
                "parts" => name.ends_with(".json"),
                _ => name.ends_with(".idx"),
            },
            DatasetKind::Pool => {
                name == "metadata.db" || name == "steps.npy" || begins_and_ends("steps-", ".npy")
            }
            DatasetKind::PuzzleSet => name == "dataset.json" || begins_and_ends("all__", ".npy"),
        }
    }

    fn sign(self, directory: &Path) -> Result<Option<PathBuf>> {
        for place in self.places() {
            let is_sign = |path: &PathBuf| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                !name.starts_with('.') && self.has(place, &name)
            };
            if let Some(sign) =
                files::paths_if_there(&directory.join(place))?.into_iter().find(is_sign)
            {
                return Ok(Some(sign));
            }
        }
        Ok(None)
    }
}

/// Refuses a directory that holds a dataset of another kind than `own`.
pub(super) fn refuse_other_kinds(directory: &Path, own: DatasetKind) -> Result<()> {
    for kind in DatasetKind::ALL.into_iter().filter(|kind| *kind != own) {
        if let Some(sign) = kind.sign(directory)? {
            let cause = format!("belongs to {}: nothing else is written there", kind.name());
            return Err(Error::usage(cause).at(sign.as_path()).hint("another directory"));
        }
    }
    Ok(())
}
