//! How a dataset was made, in the form of every manifest: from which inputs, with which options, by which build
//! of the filters, when and where. Only [`BuildRun`] differs between equal builds.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::file_entry::FileEntry;
use crate::program;
use crate::publish::host;

/// How a build made a dataset. A join records it in the manifest, so that a later run knows whether it would make
/// the same dataset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DatasetOrigin {
    /// Tells the input from another, and from itself after a change.
    pub input: Value,
    /// Limits of the input; null is none.
    pub rows: Option<u64>,
    pub tokens: Option<u64>,
    /// The options of the build.
    pub options: Vec<String>,
    /// The files of the model that the options name; none if they name no model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub model: Vec<FileEntry>,
    pub build: Build,
}

/// A build of the filters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Build {
    pub version: String,
    pub git_sha: Option<String>,
    pub git_dirty: Option<bool>,
}

impl Build {
    /// Returns the build of this program.
    pub fn own() -> Build {
        Build::of(&BuildRun::since(std::time::Instant::now()))
    }

    /// Returns the build of the program of a run.
    pub fn of(run: &BuildRun) -> Build {
        let BuildRun { version, git_sha, git_dirty, .. } = run.clone();
        Build { version, git_sha, git_dirty }
    }
}

impl Build {
    /// Returns the version and, if they are known, the commit and whether it was changed.
    pub fn in_words(&self) -> String {
        let Build { version, git_sha, git_dirty } = self;
        let sha = git_sha.as_deref().map(|sha| sha.get(..12).unwrap_or(sha).to_string());
        let changed = (*git_dirty == Some(true)).then(|| "changed".to_string());
        let known: Vec<String> = sha.into_iter().chain(changed).collect();
        match known.is_empty() {
            true => version.clone(),
            false => format!("{version} ({})", known.join(", ")),
        }
    }
}

impl std::fmt::Display for Build {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "gristmill {}", self.in_words())
    }
}

/// When, where and in which time a manifest was made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BuildRun {
    pub created_unix_s: u64,
    pub host: String,
    pub seconds: f64,
    /// The program: its version, its commit, and whether that was changed (null if not known).
    #[serde(default)]
    pub version: String,
    #[serde(default)]
    pub git_sha: Option<String>,
    #[serde(default)]
    pub git_dirty: Option<bool>,
}

impl BuildRun {
    /// Returns the run that began at `start` and ends now.
    pub fn since(start: std::time::Instant) -> BuildRun {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        BuildRun {
            created_unix_s: now.map_or(0, |elapsed| elapsed.as_secs()),
            host: host(),
            seconds: (start.elapsed().as_secs_f64() * 1000.0).round() / 1000.0,
            version: env!("CARGO_PKG_VERSION").to_string(),
            git_sha: git_sha(),
            git_dirty: program::sources().is_changed,
        }
    }
}

/// The manifest of the input files; only its path and hash are recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InputManifest {
    pub path: String,
    pub sha256: String,
    /// Whether the inputs were compared with it; `None` in older manifests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared: Option<bool>,
}

/// Returns the commit from which this program was built, if the build knew it.
pub fn git_sha() -> Option<String> {
    program::sources().commit.map(str::to_string)
}

/// Changes a filter's entry in a chain as if the filter had read the whole input.
pub fn forget_slice(entry: &mut Value) {
    let Some(arguments) = entry.get_mut("arguments").and_then(Value::as_array_mut) else { return };
    while let Some(at) = arguments.iter().position(|word| word == "--slice") {
        arguments.drain(at..(at + 2).min(arguments.len()));
    }
}
