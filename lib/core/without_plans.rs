//! Plans in a build without the feature `plans`: inputs are opened, and a plan that may not be finished is named.

use std::path::Path;

use crate::cli::InputArgs;
use crate::dataset;
use crate::error::{Result, shown};
use crate::files;
use crate::stream::{Reader, Request};

/// Opens inputs as [`dataset::open`] does; says so of a root that has a plan, which this build cannot look at.
pub fn open(args: &InputArgs, request: impl Into<Request>) -> Result<Reader> {
    let has_plan = |path: &Path| files::exists(&path.join("tasks/plan.json"));
    let mut notes = Vec::new();
    for path in args.files.iter().filter(|path| path.as_os_str() != "-") {
        if files::is_directory(path)? && has_plan(path)? {
            let root = shown(path);
            notes.push(format!(
                "{root}: has a plan, which may not be finished; this build has no ds-plan"
            ));
        }
    }
    Ok(dataset::open(args, request)?.noting(notes))
}
