//! Where puzzles come from: the parameters of a build, input files and their hashes, and the
//! groups of one build.

use super::{Domain, Error, PuzzleGroup, Result};
use crate::digest::sha256_of;
use crate::error::{self, Place};
use crate::files::{FileSnapshot, open_member};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Opens an input file; a filter may decompress it here.
pub type Opener = Arc<dyn Fn(&Path) -> io::Result<Box<dyn Read + Send>> + Send + Sync>;

/// The parameters of a build of any domain; the others are the domain's own arguments.
pub struct BuildContext<'a> {
    pub seed: u64,
    /// How many threads open the inputs; the result does not depend on it.
    pub jobs: usize,
    pub opener: Opener,
    /// Takes malformed inputs, or ends the build; if `None`, the first malformed row or task is the
    /// error.
    pub rejects: Option<&'a mut (dyn FnMut(RejectedInput) -> Result<(), error::Error> + 'a)>,
}

impl Default for BuildContext<'_> {
    fn default() -> Self {
        let opener: Opener = Arc::new(|path| Ok(Box::new(File::open(path)?)));
        BuildContext { seed: 42, jobs: 1, opener, rejects: None }
    }
}

impl BuildContext<'_> {
    /// Passes a malformed input on with its text, or returns the error. Errors that no input caused,
    /// such as I/O errors, are always returned.
    pub(super) fn reject(&mut self, error: Error, text: Option<&[u8]>) -> Result<()> {
        match (&mut self.rejects, error) {
            (Some(take), Error::Data { place, cause }) => {
                let text = text.map(|text| String::from_utf8_lossy(text).into_owned());
                Ok(take(RejectedInput { place, cause, text })?)
            }
            (_, error) => Err(error),
        }
    }
}

/// A malformed row or task that was left out.
pub struct RejectedInput {
    pub place: Place,
    pub cause: String,
    /// The row as it was read, without its line end; `None` for a task (the place names the file).
    pub text: Option<String>,
}

/// An input file as in `build.json`. The name has at most one folder, so that a copy of the inputs
/// elsewhere gives the same bytes.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct InputFile {
    pub name: String,
    /// The size and the SHA-256 (lower-case hex) of the file as it is stored.
    pub bytes: u64,
    pub sha256: String,
}

/// Groups in their order, until the first error.
pub type PuzzleGroups<'a> = Box<dyn Iterator<Item = Result<PuzzleGroup>> + Send + 'a>;

/// Makes the groups of opened inputs.
pub trait GroupSource: Send + Sync {
    /// Returns the groups of a range of all, train before test. It needs the memory of one group.
    fn groups(&self, range: Range<u64>) -> PuzzleGroups<'_>;
}

/// The opened inputs of one build.
pub struct PuzzleSource {
    pub domain: &'static dyn Domain,
    pub seed: u64,
    pub seq_len: usize,
    /// The arguments that matter to this domain, as an object for `build.json`.
    pub parameters: Value,
    pub inputs: Vec<InputFile>,
    /// Notes for the user: what was left out and how often, and warnings.
    pub notes: Vec<String>,
    /// How many groups there are, train and test together. Each makes at least one record.
    pub group_count: u64,
    pub groups: Box<dyn GroupSource>,
}

impl PuzzleSource {
    /// Returns the groups of a range of 0..`group_count`.
    pub fn groups(&self, range: Range<u64>) -> PuzzleGroups<'_> {
        self.groups.groups(range)
    }

    /// Returns everything that determines the records: domain, seed, parameters, hashes of the
    /// inputs.
    pub fn build(&self) -> Value {
        json!({
            "domain": self.domain.constants().name,
            "seed": self.seed,
            "parameters": self.parameters,
            "inputs": self.inputs,
        })
    }
}

/// Hashes a file as it is stored. Inputs are read more than once, so it must be a regular file, and
/// must be unchanged when it is read again.
pub(super) fn hash_file(path: &Path, name: String) -> Result<(InputFile, FileSnapshot)> {
    let error = |cause: io::Error| Error::io(path, &cause);
    let file = open_member(path).map_err(|cause| match cause.kind() {
        ErrorKind::InvalidInput => {
            Error::data(path.display(), format!("{cause}, and is read more than once"))
        }
        _ => error(cause),
    })?;
    let metadata = file.metadata().map_err(error)?;
    let (bytes, sha256) = sha256_of(file).map_err(error)?;
    Ok((InputFile { name, bytes, sha256 }, FileSnapshot::new(path.to_path_buf(), &metadata)))
}

/// Returns a path's last part, the name of an input in messages.
pub(super) fn last_part(path: &Path) -> String {
    path.file_name()
        .map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}
