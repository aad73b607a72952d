//! What a script made a dataset of: recorded in the manifest of what it joins, so that a rerun knows
//! whether that is what it would make.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::kd_root::BuildRun;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Made {
    /// What tells the input from another, or from itself after a change.
    pub input: Value,
    /// Limits of it; null is none.
    pub rows: Option<u64>,
    pub tokens: Option<u64>,
    /// The options of the script.
    pub options: Vec<String>,
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
    /// Of this program.
    pub fn own() -> Build {
        Build::of(&BuildRun::since(std::time::Instant::now()))
    }

    /// Of the program of a run.
    pub fn of(run: &BuildRun) -> Build {
        let BuildRun { version, git_sha, git_dirty, .. } = run.clone();
        Build { version, git_sha, git_dirty }
    }
}

impl std::fmt::Display for Build {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sha = self.git_sha.as_deref().map_or("", |sha| sha.get(..12).unwrap_or(sha));
        let dirty = if self.git_dirty == Some(true) { ", changed" } else { "" };
        write!(f, "gristmill {} ({sha}{dirty})", self.version)
    }
}
