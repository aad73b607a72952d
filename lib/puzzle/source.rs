//! Where puzzles come from: options, input files and their hashes, and the groups of one build.

use super::{Domain, Error, ErrorKind, Group};
use crate::digest::sha256_of;
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Opens an input file; a filter may see through compression here.
pub type Opener = Arc<dyn Fn(&Path) -> io::Result<Box<dyn Read + Send>> + Send + Sync>;

/// What to build. A domain uses what it has a use for.
#[derive(Clone)]
pub struct Options {
    pub seed: u64,
    /// Augmentations wanted for each group.
    pub num_aug: u64,
    /// Sudoku, Maze: the CSV files.
    pub train: Option<PathBuf>,
    pub test: Option<PathBuf>,
    /// ARC: folders of tasks, or single tasks.
    pub dirs: Vec<PathBuf>,
    /// Sudoku: so many rows of train, chosen at random.
    pub subsample: Option<u64>,
    /// Sudoku: only rows with at least this rating.
    pub min_difficulty: Option<i64>,
    /// Sudoku: only puzzles with exactly one solution.
    pub unique: bool,
    /// Domino: states in each split.
    pub num_games: u64,
    /// Threads for opening; changes no result.
    pub jobs: usize,
    pub opener: Opener,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            seed: 42,
            num_aug: 0,
            train: None,
            test: None,
            dirs: Vec::new(),
            subsample: None,
            min_difficulty: None,
            unique: false,
            num_games: 0,
            jobs: 1,
            opener: Arc::new(|path| Ok(Box::new(File::open(path)?))),
        }
    }
}

/// A malformed row or task that was left out.
pub struct Reject {
    pub error: Error,
    /// The row as it stands, without its line end; empty for a task (the error names the file).
    pub text: Vec<u8>,
}

/// Takes what is malformed; without it the first malformed row or task is the error.
pub type Rejects<'a, 'b> = Option<&'a mut (dyn FnMut(Reject) + 'b)>;

/// An input file as `build.json` knows it. The name has at most one folder, so that a copy of the
/// inputs elsewhere gives the same bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputFile {
    pub name: String,
    /// Size and SHA-256 (lower-case hex) of the file as it lies on the disk.
    pub bytes: u64,
    pub sha256: String,
}

/// Groups in their order, until the first error.
pub type Groups<'a> = Box<dyn Iterator<Item = Result<Group, Error>> + Send + 'a>;

/// The opened inputs of one build.
pub trait Source: Send + Sync {
    fn domain(&self) -> &'static dyn Domain;

    fn seq_len(&self) -> usize;

    /// How many groups there are, train and test together. Each makes one record at least.
    fn len(&self) -> u64;

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The groups of a range of 0..len, train before test. Memory is that of one group.
    fn groups(&self, range: Range<u64>) -> Groups<'_>;

    fn inputs(&self) -> &[InputFile];

    fn seed(&self) -> u64;

    /// The options that matter to this domain, for `build.json`.
    fn parameters(&self) -> Map<String, Value>;

    /// What the user should know: what was left out and how often, and what looks odd.
    fn notes(&self) -> &[String];

    /// Everything that decided the records: domain, seed, parameters, hashes of the inputs.
    fn build(&self) -> Map<String, Value> {
        let inputs: Vec<Value> = self
            .inputs()
            .iter()
            .map(|file| json!({"name": file.name, "bytes": file.bytes, "sha256": file.sha256}))
            .collect();
        let mut build = Map::new();
        build.insert("domain".to_string(), self.domain().constants().name.into());
        build.insert("seed".to_string(), self.seed().into());
        build.insert("parameters".to_string(), self.parameters().into());
        build.insert("inputs".to_string(), inputs.into());
        build
    }
}

/// Hashes a file as it lies on the disk. Inputs are read more than once, so it must be a file.
pub(super) fn hash_file(path: &Path, name: String) -> Result<InputFile, Error> {
    let error = |cause: &io::Error| Error::io(path, cause);
    let file = File::open(path).map_err(|cause| error(&cause))?;
    if !file.metadata().map_err(|cause| error(&cause))?.is_file() {
        return Err(Error::data(path.display(), "is no regular file, and is read more than once"));
    }
    let (bytes, sha256) = sha256_of(file).map_err(|cause| error(&cause))?;
    Ok(InputFile { name, bytes, sha256 })
}

/// Hands a malformed input to `rejects`, or returns it. What the machine could not do, and what
/// is no input's fault, always returns.
pub(super) fn reject(
    rejects: &mut Rejects<'_, '_>,
    error: Error,
    text: &[u8],
) -> Result<(), Error> {
    match rejects {
        Some(take) if error.kind() == ErrorKind::Data => {
            take(Reject { error, text: text.to_vec() });
            Ok(())
        }
        _ => Err(error),
    }
}

/// A path's last part, as messages about an input name it.
pub(super) fn last_part(path: &Path) -> String {
    path.file_name()
        .map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}
