//! Runs one task: on any machine, any number of times, also twice at once.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use clap::Args;

use super::state::State;
use super::warnings::NOT_READ;
use super::{Plan, Task, plan_path};
use crate::cli;
use crate::error::{Error, Kind, Result, shown};
use crate::failure::Failure;
use crate::files;
use crate::signals::PassedSignals;

/// How many lines of a task's messages are kept.
const MOST_LINES: usize = 100;

/// Options of a task's run that do not change its part.
#[derive(Debug, Clone, Default, Args)]
pub struct RunOptions {
    /// Threads of its filters [default: as planned]
    #[arg(short, long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,

    /// The file to which filters append their progress
    #[arg(long, value_name = "FILE")]
    pub progress_to: Option<PathBuf>,

    /// Print warnings too (for puzzles all messages) if all goes well
    #[arg(long)]
    pub warnings: bool,
}

/// Makes a task, unless it is done. If the pipeline fails, prints its messages and fails with its
/// exit code: 1, 2 or 75. 75 also stands for a pipeline that a signal has ended.
pub fn run(root: &Path, id: &str, name: &str, options: &RunOptions) -> Result<()> {
    let plan = Plan::read(root)?;
    if plan.id != id {
        let cause = format!("{name} is a task of plan {id}; the plan here is {}", plan.id);
        return Err(Error::usage(cause).at(root).hint("plan again"));
    }
    plan.check_build()?;
    let task = plan.tasks().find(|task| task.name() == name);
    let task = task.ok_or_else(|| Error::usage(format!("the plan has no task {name}")).at(root))?;
    task.source.check(&plan)?;
    plan.check_model()?;
    if task.state(root, None)? == State::Done {
        return Ok(());
    }
    // A part that a running copy of the task has published is not replaced, since that copy is about to read
    // it.
    let may_replace = !task.is_running(root)? && files::exists(&task.manifest(root))?;
    let lock = task.lock(root)?;
    task.forget_failure(root)?;
    let (mut status, mut messages) = task.make(root, may_replace, options)?;
    // This part may have been refused because another copy of the task made it meanwhile.
    if !status.success() && files::exists(&task.manifest(root))? {
        if task.state(root, None)? == State::Done {
            return Ok(());
        }
        (status, messages) = task.make(root, true, options)?;
    }
    if status.success() {
        let is_shown = |line: &&String| {
            let is_warning = plan.product.recipe().is_apart
                || [": warning: ", NOT_READ].iter().any(|sign| line.contains(sign));
            options.warnings && is_warning
        };
        messages.iter().filter(is_shown).for_each(|line| cli::tell(line));
        task.source.check(&plan)?;
        plan.check_model()?;
        return task.write_receipt(root);
    }
    let exit_code = match status.code() {
        Some(code @ (1 | 2)) => code as u8,
        _ => Kind::Unavailable.exit_code(),
    };
    let message = messages.back().cloned().unwrap_or_else(|| format!("{status}"));
    let failure = Failure { tool: "task".to_string(), exit_code, message };
    messages.iter().for_each(|line| cli::tell(line));
    if messages.is_empty() {
        cli::tell(&format!("ds-plan: {name}: ended with {status}"));
    }
    task.record_failure(root, failure.exit_code, &failure.message)?;
    drop(lock);
    Err(Error::passed_on(failure))
}

impl Task<'_> {
    /// Runs the pipeline. Returns its exit status and the last lines of its messages.
    fn make(
        &self,
        root: &Path,
        overwrite: bool,
        options: &RunOptions,
    ) -> Result<(ExitStatus, VecDeque<String>)> {
        let passing = PassedSignals::start().map_err(|e| Error::io("signals", &e))?;
        let child = self.command(root, overwrite, options)?.spawn();
        let mut child = child.map_err(|e| Error::io(shown(&self.plan.directory), &e))?;
        passing.to(child.id());
        let mut messages = VecDeque::new();
        for line in child.stderr.take().map(BufReader::new).into_iter().flat_map(BufRead::lines) {
            let Ok(line) = line else { break };
            if messages.len() == MOST_LINES {
                messages.pop_front();
            }
            messages.push_back(line);
        }
        let status = child.wait().map_err(|e| Error::io(self.plan.script.as_str(), &e));
        passing.not_to(child.id());
        passing.end();
        Ok((status?, messages))
    }

    fn command(&self, root: &Path, overwrite: bool, options: &RunOptions) -> Result<Command> {
        let plan = self.plan;
        let part = std::path::absolute(self.part(root)).map_err(|e| Error::io(root, &e))?;
        let mut command = Command::new("bash");
        command.arg(plan.own_script()?).arg("slice");
        command.arg(&self.source.path).args(&self.source.further).arg(&part);
        command.args(["--name", &self.source.name]);
        let number = |number: u64| number.to_string();
        let known = (!plan.files.is_empty()).then(|| std::path::absolute(plan_path(root)));
        let known = known.transpose().map_err(|e| Error::io(root, &e))?;
        for (flag, value) in [
            ("--shard", self.source.shard.map(String::from)),
            ("--slice", self.slice_text()),
            ("--max-rows", self.source.rows.map(number)),
            ("--max-tokens", self.source.tokens.map(number)),
            ("--jobs", options.jobs.or(plan.threads).map(|jobs| jobs.to_string())),
            ("--known-files", known.as_deref().map(shown)),
            ("--progress-to", options.progress_to.as_deref().map(shown)),
        ] {
            command.args(value.iter().flat_map(|value| [flag, value]));
        }
        command.args(&plan.options);
        // Replaces a part of another plan, or of a source that has changed. (Without this flag, the
        // second of two copies of a task leaves the part of the first as it is.)
        if overwrite {
            command.arg("--overwrite");
        }
        command.current_dir(&plan.directory).env("PATH", path_with_own_directory());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        Ok(command)
    }
}

/// Returns PATH with the filters beside this program first: on another host the path may be
/// another.
pub(super) fn path_with_own_directory() -> std::ffi::OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let own = std::env::current_exe().ok();
    let own = own.as_deref().and_then(Path::parent).map(Path::to_path_buf);
    let all: Vec<_> = own.into_iter().chain(std::env::split_paths(&path)).collect();
    std::env::join_paths(all).unwrap_or(path)
}
