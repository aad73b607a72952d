//! The arguments of `ds-view` that make a page, and what they do.

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args};

use super::{PageOptions, gather, write};
use crate::check::{BytesRead, CheckContext, CheckOptions, Outcome, Selection, catalogue};
use crate::cli::{self, CommonArgs, InputArgs, SelectArgs, Tool, WithoutEffect};
use crate::dataset;
use crate::error::{Error, Result, Severity, shown};
use crate::harmony::Alignment;
use crate::inputs;
use crate::publish::{PendingFile, publish_file, refuse_existing_file};
use crate::view::Verdict;
use crate::wording::counted;

/// How many findings of each check the page shows.
const FINDINGS: usize = 10;

/// What makes a page of a dataset.
#[derive(Debug, Clone, Args)]
#[command(group(ArgGroup::new("whole").args(["html", "check"]).multiple(true)))]
pub struct PageArgs {
    /// Write one HTML page instead (`-`: to stdout)
    ///
    /// Numbers with plots, and a sample of the records to step through. It loads nothing and has at most 2 MB.
    #[arg(long, value_name = "FILE", add = WithoutEffect)]
    #[arg(conflicts_with_all = ["tokens", "lines", "step", "color"])]
    pub html: Option<PathBuf>,

    /// Also check the datasets, and print the findings first
    ///
    /// The page has all of them.
    #[arg(long)]
    pub check: bool,

    /// Replace the page if it exists
    #[arg(long, requires = "html", help_heading = "Page", add = WithoutEffect)]
    pub overwrite: bool,

    /// Threads that make the page or check, without effect on the output [default: 1]
    #[arg(short, long, alias = "workers", value_name = "N", requires = "whole")]
    #[arg(help_heading = "Page", add = WithoutEffect)]
    pub jobs: Option<NonZeroUsize>,
}

impl PageArgs {
    /// Writes the page to `path`.
    pub fn run(
        &self,
        path: &Path,
        (input, select): (&InputArgs, &SelectArgs),
        (align, model): (Option<Alignment>, Option<&Path>),
        common: &CommonArgs,
        tool: &Tool,
    ) -> Result<()> {
        let to_stdout = path.as_os_str() == "-";
        inputs::name(&input.files);
        if !to_stdout {
            refuse_existing_file(path, self.overwrite)?;
        }
        let findings = self.findings(input, common, tool)?;
        let mut progress = common.progress(tool, "records", None, to_stdout)?;
        let options = PageOptions { input, select, jobs: self.jobs(), align, model };
        let tell = |note: &str| {
            if !common.quiet {
                tool.tell(note);
            }
        };
        let mut data = gather(&options, &mut progress, tell)?;
        progress.finish();
        inputs::check()?;
        let page = write(&mut data, findings.as_deref());
        if to_stdout {
            cli::print(&page)?;
        } else {
            let mut file = PendingFile::create(path)?;
            file.write_all(page.as_bytes()).map_err(|e| Error::write(shown(path), &e))?;
            publish_file(file, self.overwrite)?;
        }
        let errors = |outcome: &Outcome| -> u64 {
            let groups = outcome.groups.iter().filter(|group| group.severity == Severity::Error);
            groups.map(|group| group.count).sum()
        };
        match findings.iter().flatten().find(|outcome| errors(outcome) > 0) {
            None => Ok(()),
            Some(bad) => {
                let errors = counted(errors(bad), "error");
                let cause = format!("has not passed ds-check: {errors}; the page has them");
                Err(Error::data(cause).at(bad.path.as_path()))
            }
        }
    }

    fn jobs(&self) -> NonZeroUsize {
        self.jobs.unwrap_or(NonZeroUsize::MIN)
    }

    /// Returns the verdict that a terminal shows.
    pub fn verdict(&self, input: &InputArgs, common: &CommonArgs, tool: &Tool) -> Result<Verdict> {
        let findings = self.findings(input, common, tool)?;
        let mut progress = common.progress(tool, "records counted", None, true)?;
        let verdict = Verdict::of(input, findings.as_deref(), &mut progress);
        progress.finish();
        verdict
    }

    /// Returns the findings of ds-check, if `--check` is given.
    fn findings(
        &self,
        input: &InputArgs,
        common: &CommonArgs,
        tool: &Tool,
    ) -> Result<Option<Vec<Outcome>>> {
        if !self.check {
            return Ok(None);
        }
        if input.files.is_empty() || input.files.iter().any(|path| path.as_os_str() == "-") {
            let cause = "--check: a stream is read only once";
            return Err(Error::usage(cause).hint("a file, or ds-check beside it"));
        }
        let selection = Selection::new(catalogue(), Vec::new(), Vec::new(), false)?;
        let mut progress = common.progress(tool, "records checked", None, false)?;
        let check_options = CheckOptions::default();
        let mut outcomes = Vec::new();
        for path in &input.files {
            let mut context = CheckContext {
                selection: &selection,
                options: &check_options,
                jobs: self.jobs(),
                max_findings: FINDINGS,
                progress: &mut progress,
                read: BytesRead::default(),
            };
            outcomes.push(dataset::check(path, &mut context)?);
        }
        progress.finish();
        Ok(Some(outcomes))
    }
}
