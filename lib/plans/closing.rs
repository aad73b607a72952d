//! What is run at the end of a build: other filters, ds-check among them.

use std::ffi::OsStr;
use std::io::IsTerminal;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::supervise::passed_on;
use crate::cli::When;
use crate::error::{At, Error, Result, shown};
use crate::files;
use crate::program;

/// Runs a filter to its end, with the stdout and stderr of this process; fails as it fails.
pub(super) fn run_filter<S: AsRef<OsStr>>(
    name: &str,
    words: impl IntoIterator<Item = S>,
) -> Result<()> {
    let mut command = Command::new(program::installed_filter(name)?);
    command.args(words).stdin(Stdio::null());
    passed_on(name, command.status().at(name)?)
}

/// How ds-check looks at what was made.
#[derive(Debug, Clone)]
pub(super) struct ClosingCheck {
    pub jobs: NonZeroUsize,
    pub shows_progress: bool,
}

impl ClosingCheck {
    pub fn new(jobs: NonZeroUsize, progress: When, quiet: bool) -> ClosingCheck {
        let is_wanted = progress.unless(quiet) != When::Never;
        ClosingCheck { jobs, shows_progress: is_wanted && std::io::stderr().is_terminal() }
    }

    /// The same, with the manifest beside the input if it exists.
    pub fn run_with(
        &self,
        datasets: &[PathBuf],
        manifest: Option<&Path>,
        cause: &str,
    ) -> Result<()> {
        let manifest = match manifest {
            Some(path) if files::exists(path)? => Some(shown(path)),
            _ => None,
        };
        let more: Vec<&str> =
            manifest.iter().flat_map(|path| ["--input-manifest", path.as_str()]).collect();
        self.run(datasets, &more, cause)
    }

    /// Checks datasets, and prints on stderr what is found. Fails with `cause` if they do not pass.
    pub fn run(&self, datasets: &[PathBuf], more: &[&str], cause: &str) -> Result<()> {
        let mut command = Command::new(program::installed_filter("ds-check")?);
        command.args(datasets).args(more).args(["--jobs", &self.jobs.to_string(), "--quiet"]);
        command.args(["--progress", if self.shows_progress { "always" } else { "never" }]);
        // What ds-check finds is a message here, not a result.
        command.stdin(Stdio::null()).stdout(std::io::stderr());
        let status = command.status().at("ds-check")?;
        let failed = match status.code() {
            Some(0) => return Ok(()),
            Some(1) => Error::data(cause),
            Some(2) => Error::usage(cause),
            _ => Error::unavailable(cause),
        };
        let names: Vec<String> = datasets.iter().map(|path| shown(path)).collect();
        Err(failed.at(names.join(" ").as_str()))
    }
}
