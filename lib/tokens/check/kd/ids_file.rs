//! An ids file by itself, which is not a stream of records.

use std::path::Path;

use crate::check::streams::{StreamSummary, unreadable};
use crate::check::{Check, CheckContext, Family, Findings, Outcome};
use crate::error::Result;
use crate::format::kd_root::IdsFile;

/// The ids of the sequences of a prefix, without their root. What is found is what is found in a stream.
pub struct IdsFamily;

impl Family for IdsFamily {
    fn checks(&self) -> Vec<&'static Check> {
        Vec::new()
    }

    fn knows(&self, path: &Path) -> Result<bool> {
        Ok(IdsFile::if_ids(path)?.is_some())
    }

    fn check(&self, path: &Path, context: &mut CheckContext<'_>) -> Result<Outcome> {
        let (mut findings, mut summary) = (context.findings(), StreamSummary::default());
        if_ids(path, &mut summary, context, &mut findings)?;
        summary.outcome(path, findings)
    }
}

/// Reads all pages of a file, if it is an ids file.
pub fn if_ids(
    path: &Path,
    summary: &mut StreamSummary,
    context: &mut CheckContext<'_>,
    findings: &mut Findings<'_>,
) -> Result<bool> {
    let Some(ids) = IdsFile::if_ids(path)? else { return Ok(false) };
    summary.add("ids of token sequences", ids.rows());
    summary.note("ids of sequences: ds-check of their root compares them with these");
    let read = || -> Result<()> {
        ids.check_pages()?;
        if !context.selection.wants_contents() {
            return Ok(());
        }
        let mut rows = ids.read(std::slice::from_ref(&(0..ids.rows())))?;
        (0..ids.rows()).try_for_each(|_| rows.next(|_, _| ()))
    };
    read().or_else(|error| unreadable(ids.path(), error, findings))?;
    Ok(true)
}
