//! Commands that run other programs are done in a group of processes of their own, below a process that only waits: a
//! signal for that one ends all of them, and it then says what is kept.

use std::ffi::OsString;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, getrlimit, test_kill_process_group};
use tempfile::TempDir;

use crate::error::{At, Error, Result};
use crate::failure::Failure;
use crate::signals::{self, PassedSignals};
use crate::{cli, program};

/// How many files a build needs to have open at once.
const OPEN_FILES: u64 = 20;
/// How long the last process of a group may take to end after a signal.
const PATIENCE: Duration = Duration::from_secs(10);

/// Runs this program with these words in a group of processes of its own. Fails as that run fails, without a
/// line of its own. If a signal comes, it is passed on to the whole group, and the process dies of it. `ended` is
/// called when the run has ended, with the signal that stopped it; it returns what is then said.
pub fn supervise(
    words: &[OsString],
    ended: impl FnOnce(Option<&str>) -> Option<String>,
) -> Result<()> {
    refuse_few_files()?;
    let mut command = Command::new(program::filter("ds-plan").at(program::ALL)?);
    command.args(words).process_group(0);
    let passing = PassedSignals::start().at(program::ALL)?;
    let mut child = command.spawn().at(program::ALL)?;
    passing.to_group(child.id());
    let status = child.wait().at(program::ALL)?;
    let came = passing.came();
    if came.is_some() {
        wait_for_group(child.id());
    }
    ended(came.map(signals::name)).iter().for_each(|line| cli::tell(line));
    passing.end();
    match status.signal() {
        // (A reader of stdout has gone, or somebody has killed it.)
        Some(signal) => {
            signals::die_of(signal);
            Ok(())
        }
        None => passed_on("ds-plan", status),
    }
}

/// Makes a folder in which stdin is kept while it is read by tasks.
pub fn folder_for_stdin() -> Result<TempDir> {
    let cause = |error| Error::unavailable(format!("stdin cannot be kept: {error}"));
    tempfile::tempdir().map_err(cause)
}

/// To be called by the run that is supervised: it ends with the process that supervises it, even if that is killed.
pub fn end_with_parent() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM));
}

/// Returns how a program ended as the outcome of this one, which adds no line.
pub(super) fn passed_on(name: &str, status: ExitStatus) -> Result<()> {
    if status.success() {
        return Ok(());
    }
    let exit_code = status.code().filter(|code| [1, 2].contains(code)).unwrap_or(75) as u8;
    Err(Error::passed_on(Failure {
        tool: name.to_string(),
        exit_code,
        message: status.to_string(),
    }))
}

fn wait_for_group(leader: u32) {
    let end = Instant::now() + PATIENCE;
    let group = Pid::from_raw(leader as i32);
    let is_there = || group.is_some_and(|group| test_kill_process_group(group).is_ok());
    while is_there() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn refuse_few_files() -> Result<()> {
    match getrlimit(Resource::Nofile).current {
        Some(limit) if limit < OPEN_FILES => {
            let cause = format!("only {limit} files may be open at once");
            Err(Error::unavailable(cause).hint("ulimit -n 1024"))
        }
        _ => Ok(()),
    }
}
