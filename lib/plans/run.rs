//! Runs one task: on any machine, any number of times, also twice at once.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;

use super::finish::REJECTS;
use super::pipeline::Pipeline;
use super::state::State;
use super::warnings::NOT_READ;
use super::{PART, Plan, Task, plan_path};
use crate::cli;
use crate::error::{At, Error, Result, shown};
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
///
/// `words` is the pipeline as the task's line has it; if there are none, it is taken from the plan.
pub fn run(
    root: &Path,
    id: &str,
    name: &str,
    words: &[String],
    options: &RunOptions,
) -> Result<()> {
    let plan = Plan::read(root)?;
    if plan.id != id {
        let cause = format!("{name} is a task of plan {id}; the plan here is {}", plan.id);
        return Err(Error::usage(cause).at(root).hint("plan again"));
    }
    plan.check_build()?;
    let task = plan.tasks().find(|task| task.name() == name);
    let task = task.ok_or_else(|| Error::usage(format!("the plan has no task {name}")).at(root))?;
    if words.is_empty() {
        plan.refuse_foreign()?;
    } else if Pipeline::parse(words)? != task.pipeline(root)? {
        let cause = format!("the plan has another pipeline for {name}");
        return Err(Error::usage(cause).at(root).hint("plan again, with this pipeline behind --"));
    }
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
    let (mut code, mut messages) = task.make(root, may_replace, options)?;
    // This part may have been refused because another copy of the task made it meanwhile.
    if code != 0 && files::exists(&task.manifest(root))? {
        if task.state(root, None)? == State::Done {
            return Ok(());
        }
        (code, messages) = task.make(root, true, options)?;
    }
    if code == 0 {
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
    let ended = format!("its pipeline ended with exit code {code}");
    let message = messages.back().cloned().unwrap_or_else(|| ended.clone());
    let failure = Failure { tool: "task".to_string(), exit_code: code, message };
    messages.iter().for_each(|line| cli::tell(line));
    if messages.is_empty() {
        cli::tell(&format!("ds-plan: {name}: {ended}"));
    }
    task.record_failure(root, failure.exit_code, &failure.message)?;
    drop(lock);
    Err(Error::passed_on(failure))
}

/// Filters that read records of people's data and may drop bad ones: each with the option by which it says only
/// what is to be passed on.
const READERS: [(&str, &[&str]); 6] = [
    ("synth-harmony", &["--progress", "never"]),
    ("chat-harmony", &["--progress", "never"]),
    ("chat-tok", &["--progress", "never"]),
    ("harmony-tok", &["-q"]),
    ("mx-decode", &["-q"]),
    ("puzzle-encode", &["--progress", "never"]),
];
/// The other filters of our pipelines.
const OTHERS: [&str; 3] = ["span-mask", "mmidx-write", "npy-pack"];
/// The filters that stop when there are tokens enough.
const TOKENIZERS: [&str; 2] = ["harmony-tok", "chat-tok"];

impl Task<'_> {
    /// Returns its pipeline, as it stands in its line: a person may run it by hand.
    pub fn pipeline(&self, root: &Path) -> Result<Pipeline> {
        let plan = self.plan;
        let recipe = plan.product.recipe();
        let directory = std::path::absolute(self.directory(root)).at(root)?;
        let mut filters = plan.pipeline.0.clone();
        if let Some(first) = filters.first_mut() {
            let mut words = (recipe.read)(self);
            let number = |number: u64| number.to_string();
            for (flag, value) in
                [("--limit", self.source.rows.map(number)), ("--slice", self.slice_text())]
            {
                words.extend(value.into_iter().flat_map(|value| [flag.to_string(), value]));
            }
            first.splice(1..1, words);
        }
        if let Some(last) = filters.last_mut() {
            let part = shown(&directory.join(PART));
            last.splice(1..1, (recipe.write)(&part, &self.source.name));
        }
        for words in &mut filters {
            let name = words.first().cloned().unwrap_or_default();
            if READERS.iter().any(|(reader, _)| *reader == name) {
                let skips = words.windows(2).any(|pair| pair == ["--on-error", "skip"]);
                let rejects = shown(&directory.join(format!("{REJECTS}-{name}.ndjson")));
                words.extend(
                    skips.then(|| ["--rejects".to_string(), rejects]).into_iter().flatten(),
                );
                let threads = plan.threads.map(|jobs| ["--jobs".to_string(), jobs.to_string()]);
                words.extend(threads.into_iter().flatten());
            }
        }
        let tokenizer = filters
            .iter_mut()
            .find(|words| words.first().is_some_and(|name| TOKENIZERS.contains(&name.as_str())));
        if let (Some(words), Some(tokens)) = (tokenizer, self.source.tokens) {
            words.extend(["--max-tokens".to_string(), tokens.to_string()]);
        }
        Ok(Pipeline(filters))
    }

    /// Returns its pipeline as it is run here: what it says goes into the messages of the task, and its progress
    /// where it is wanted.
    fn pipeline_to_run(
        &self,
        root: &Path,
        overwrite: bool,
        options: &RunOptions,
    ) -> Result<Pipeline> {
        let Pipeline(mut filters) = self.pipeline(root)?;
        let is_alone = filters.len() == 1;
        let known = std::path::absolute(plan_path(root)).at(root)?;
        for (place, words) in filters.iter_mut().enumerate() {
            let name = words.first().cloned().unwrap_or_default();
            let mut add = |more: &[&str]| words.extend(more.iter().map(|word| word.to_string()));
            if let Some((_, quiet)) = READERS.iter().find(|(reader, _)| *reader == name) {
                add(if is_alone { &["-q"] } else { quiet });
                if let Some(jobs) = options.jobs {
                    // (The last one counts.)
                    let at = words.iter().position(|word| word == "--jobs");
                    at.into_iter().for_each(|at| drop(words.drain(at..at + 2)));
                    words.extend(["--jobs".to_string(), jobs.to_string()]);
                }
                let reports = options.progress_to.iter();
                words.extend(reports.flat_map(|path| ["--progress-to".to_string(), shown(path)]));
            } else if OTHERS.contains(&name.as_str()) {
                add(&["--progress", "never"]);
            }
            if place == 0 && !self.plan.files.is_empty() {
                words.extend(["--known-files".to_string(), shown(&known)]);
            }
        }
        // Replaces a part of another plan, or of a source that has changed. (Without this flag, the
        // second of two copies of a task leaves the part of the first as it is.)
        if let Some(last) = filters.last_mut().filter(|_| overwrite) {
            last.push("--overwrite".to_string());
        }
        Ok(Pipeline(filters))
    }

    /// Runs the pipeline. Returns its exit code and the last lines of its messages.
    fn make(
        &self,
        root: &Path,
        overwrite: bool,
        options: &RunOptions,
    ) -> Result<(u8, VecDeque<String>)> {
        let passing = PassedSignals::start().at("signals")?;
        let pipeline = self.pipeline_to_run(root, overwrite, options)?;
        let (reader, writer) = std::io::pipe().at("pipe")?;
        let set = |command: &mut Command| {
            command.current_dir(&self.plan.directory).env("PATH", path_with_own_directory());
            // Between filters what was dropped and how records were made travels in Arrow's header alone.
            command.env("GRISTMILL_TO", "arrow");
        };
        let mut running = pipeline.spawn(set, || Ok(Stdio::from(writer.try_clone()?)))?;
        drop(writer);
        running.ids().for_each(|child| passing.to(child));
        let mut messages = VecDeque::new();
        for line in BufReader::new(reader).lines() {
            let Ok(line) = line else { break };
            if messages.len() == MOST_LINES {
                messages.pop_front();
            }
            messages.push_back(line);
        }
        let code = running.wait().at("wait");
        running.ids().for_each(|child| passing.not_to(child));
        passing.end();
        Ok((code?, messages))
    }
}

/// Returns PATH with the filters beside this program first: on another host the path may be
/// another.
fn path_with_own_directory() -> std::ffi::OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let own = std::env::current_exe().ok();
    let own = own.as_deref().and_then(Path::parent).map(Path::to_path_buf);
    let all: Vec<_> = own.into_iter().chain(std::env::split_paths(&path)).collect();
    std::env::join_paths(all).unwrap_or(path)
}
