//! Makes a plan on this machine: tasks side by side, with threads in each, and one line with the progress
//! of all of them.

use std::collections::{HashSet, VecDeque};
use std::io::{IsTerminal, Read};
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::progress::PlanProgress;
use super::state::State;
use super::warnings::Warnings;
use super::{Plan, Task};
use crate::cli::{self, EveryMinute, Line};
use crate::error::{At, Error, Kind, Result};
use crate::failure::Failure;
use crate::files;
use crate::program;
use crate::signals::PassedSignals;

/// How often the line of progress is drawn.
const INTERVAL: Duration = Duration::from_millis(200);

/// How a plan is made on this machine.
#[derive(Debug)]
pub struct Work {
    /// The number of processors to use.
    pub jobs: NonZeroUsize,
    /// Whether sources that the root holds already are made again.
    pub again: bool,
    /// Whether warnings of tasks that succeed are shown.
    pub warnings: bool,
    /// Whether progress is shown.
    pub shows_progress: bool,
}

/// The end of a task: its index, its process, its exit status, and what it printed.
struct TaskEnd {
    task: usize,
    child: u32,
    status: std::io::Result<ExitStatus>,
    messages: Vec<u8>,
}

impl Work {
    /// Makes all tasks that are not done. After the first failure no further task is begun.
    pub fn run(&self, plan: &Plan, root: &Path) -> Result<()> {
        plan.check_build()?;
        let (mut open, mut progress) = self.open_tasks(plan, root)?;
        let is_apart = plan.product.recipe().is_apart;
        let side_by_side = self.jobs.get().min(open.len().max(1));
        // (If the sizes of tasks differ much, the last one that runs may have all processors.)
        let others = if is_apart { 1 } else { open.len().max(1) };
        let threads = self.jobs.get().div_ceil(others);
        let passing = PassedSignals::start().at("signals")?;
        let (send, ended) = channel();
        let mut line = (std::io::stderr().is_terminal() && self.shows_progress).then(Line::new);
        if line.is_none() && self.shows_progress {
            progress.kept_lines().iter().for_each(|line| cli::tell(line));
        }
        let (mut running, mut failure) = (0, None);
        let mut minute = EveryMinute::from(Instant::now());
        let mut messages_before = HashSet::new();
        let mut warnings = Warnings::default();
        loop {
            while running < side_by_side && failure.is_none() && passing.came().is_none() {
                let Some(task) = open.pop_front() else { break };
                let index = progress.begin(&task, root);
                let child = self.spawn(&task, root, threads)?;
                passing.to(child.id());
                wait_for(child, index, send.clone())?;
                running += 1;
            }
            if running == 0 {
                break;
            }
            match ended.recv_timeout(INTERVAL) {
                Ok(end) => {
                    running -= 1;
                    passing.not_to(end.child);
                    let failed = end.failure();
                    if failed.is_none() && !is_apart {
                        let messages = String::from_utf8_lossy(&end.messages);
                        messages.lines().for_each(|line| warnings.add(line));
                    } else if failed.is_some() || messages_before.insert(end.messages.clone()) {
                        self.print(&line, &end.messages);
                    }
                    let shard_line = progress.end(end.task, failed.is_none());
                    if line.is_none() && self.shows_progress {
                        shard_line.iter().for_each(|line| cli::tell(line));
                    }
                    failure = failure.or(failed);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            match &mut line {
                Some(line) => line.show(&progress.line()),
                None if self.shows_progress && minute.is_due(Instant::now()) => {
                    cli::tell(&progress.line())
                }
                None => {}
            }
        }
        drop(line);
        warnings.lines().for_each(|line| cli::tell(&line));
        passing.end();
        failure.map_or(Ok(()), |failure| Err(Error::passed_on(failure)))
    }

    fn spawn(&self, task: &Task<'_>, root: &Path, threads: usize) -> Result<Child> {
        let mut command = Command::new(program::filter("ds-plan").at("ds-plan")?);
        let progress = std::path::absolute(task.progress(root)).at("ds-plan")?;
        let directory = task.directory(root);
        files::make_directories(&directory).map_err(|e| Error::write(directory.as_path(), &e))?;
        let _ = std::fs::remove_file(&progress);
        command.arg("run").arg(root).args([&task.plan.id, &task.name()]);
        command.arg("--jobs").arg(threads.to_string()).arg("--progress-to").arg(progress);
        command.args(self.warnings.then_some("--warnings"));
        // (The words of a program of the user's own come from the command line of this build.)
        command.arg("--").args(task.pipeline(root)?.words());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        command.spawn().at("ds-plan")
    }

    /// Prints the messages of a task.
    fn print(&self, line: &Option<Line>, messages: &[u8]) {
        let print_lines = || String::from_utf8_lossy(messages).lines().for_each(cli::tell);
        match line {
            Some(line) => line.apart(print_lines),
            None => print_lines(),
        }
    }

    /// Returns the tasks that are to be made, and the progress that counts all tasks.
    fn open_tasks<'p>(
        &self,
        plan: &'p Plan,
        root: &Path,
    ) -> Result<(VecDeque<Task<'p>>, PlanProgress)> {
        let (mut open, mut progress) = (VecDeque::new(), PlanProgress::new(plan));
        for source in &plan.sources {
            if !self.again && source.is_kept(plan, root)? {
                source.tasks(plan).for_each(|task| progress.count_done(&task));
                continue;
            }
            source.check(plan)?;
            for task in source.tasks(plan) {
                match task.state(root, None)? {
                    State::Done => progress.count_done(&task),
                    _ => {
                        progress.count_open(&task);
                        open.push_back(task);
                    }
                }
            }
        }
        Ok((open, progress))
    }
}

impl TaskEnd {
    fn failure(&self) -> Option<Failure> {
        let status = match &self.status {
            Ok(status) if status.success() => return None,
            Ok(status) => status,
            Err(error) => return Some(failure(Kind::Unavailable.exit_code(), error.to_string())),
        };
        let code = status.code().and_then(|code| u8::try_from(code).ok());
        Some(failure(code.unwrap_or(Kind::Unavailable.exit_code()), status.to_string()))
    }
}

fn failure(exit_code: u8, message: String) -> Failure {
    Failure { tool: "a task".to_string(), exit_code, message }
}

/// Sends the end of a task when it has ended.
fn wait_for(mut child: Child, task: usize, ended: Sender<TaskEnd>) -> Result<()> {
    let wait = move || {
        let mut messages = Vec::new();
        if let Some(mut stderr) = child.stderr.take() {
            let _ = stderr.read_to_end(&mut messages);
        }
        let status = child.wait();
        let _ = ended.send(TaskEnd { task, child: child.id(), status, messages });
    };
    let thread = thread::Builder::new().spawn(wait);
    thread.map(|_| ()).at("threads")
}
