//! What has become of tasks: their receipts, and who is at work.

use std::fs::{File, OpenOptions, TryLockError};
use std::num::NonZeroUsize;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Plan, Task};
use crate::digest::sha256_hex;
use crate::error::{Error, Result, shown};
use crate::file_entry::FileEntry;
use crate::files;
use crate::format::{json_file, parquet};
use crate::ordered::{Flow, one, ordered_map};
use crate::publish::{TargetLock, host, publish_file};
use crate::walk;
use crate::wording::exactly;

const RECEIPT_SCHEMA: &str = "gristmill_task_v1";
pub(super) const RECEIPT: &str = "done.json";
const FAILED: &str = "failed.json";
const LOCK: &str = "lock";

/// The state of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    Done,
    /// A part exists, but not of this plan and its sources as they are now; with the reason.
    Stale(String),
    Running,
    /// The last run ended with this error.
    Failed(String),
    Missing,
}

impl State {
    /// Returns the name of the state, without the reason.
    pub fn name(&self) -> &'static str {
        match self {
            State::Done => "done",
            State::Stale(_) => "stale",
            State::Running => "running",
            State::Failed(_) => "failed",
            State::Missing => "missing",
        }
    }
}

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            State::Stale(why) | State::Failed(why) => write!(f, "{}: {why}", self.name()),
            State::Done | State::Running | State::Missing => f.write_str(self.name()),
        }
    }
}

/// `done.json`: states that a part is complete, and what it was made of. It is written after the
/// part's manifest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Receipt {
    schema_version: String,
    plan: String,
    task: String,
    /// The identity of the source when the part was made.
    input: Value,
    slice: Option<String>,
    rows: Option<u64>,
    /// The SHA-256 of the part's manifest (for a Parquet file: of its footer), in hexadecimal.
    manifest_sha256: String,
    /// Files relative to the part. A file has a hash here if no manifest has one.
    files: Vec<FileEntry>,
    host: String,
}

/// `failed.json`: how the last run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct FailedRun {
    plan: String,
    input: Value,
    exit_code: u8,
    message: String,
    host: String,
}

/// Returns the states of all tasks of a plan, in their order. Several threads look at them.
pub fn states<'p>(
    plan: &'p Plan,
    root: &Path,
    jobs: NonZeroUsize,
) -> Result<Vec<(Task<'p>, State)>> {
    let mut all = Vec::new();
    let has_other_model = plan.changed_model_file()?.is_some();
    for source in &plan.sources {
        let changed = match source.is_changed(plan)? {
            true => Some("input"),
            false => has_other_model.then_some("model"),
        };
        let tasks = source.tasks(plan).map(Ok::<_, Error>);
        let state = |task: Task<'p>| task.state(root, changed).map(|state| (task, state));
        ordered_map(
            jobs,
            tasks,
            || one(state),
            |state| {
                all.push(state?);
                Ok(Flow::Continue)
            },
        )?;
    }
    Ok(all)
}

impl Plan {
    /// Whether a task of the plan is done or running: otherwise nothing is lost with the plan.
    pub(super) fn is_begun(&self, root: &Path) -> Result<bool> {
        for task in self.tasks() {
            if task.has_receipt(root)? || task.is_running(root)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Task<'_> {
    /// Returns the state of the task. `changed` names what has changed since the plan was made, if anything has.
    pub fn state(&self, root: &Path, changed: Option<&str>) -> Result<State> {
        let directory = self.directory(root);
        if !files::is_directory(&directory)? {
            return Ok(State::Missing);
        }
        let receipt: Option<Receipt> =
            json_file::if_there(&directory.join(RECEIPT), json_file::read_all)?;
        let differs = receipt.map(|receipt| self.differs(&receipt, root)).transpose()?;
        if let Some(None) = differs {
            return Ok(match changed {
                Some(what) => State::Stale(format!("its {what} has changed since the plan")),
                None => State::Done,
            });
        }
        if self.is_running(root)? {
            return Ok(State::Running);
        }
        let failed: Option<FailedRun> =
            json_file::if_there(&directory.join(FAILED), json_file::read_all)?;
        let of_this =
            |run: &FailedRun| run.plan == self.plan.id && run.input == self.source.identity;
        if let Some(run) = failed.filter(of_this) {
            let FailedRun { exit_code, host, message, .. } = run;
            return Ok(State::Failed(format!("exit {exit_code} on {host}: {message}")));
        }
        Ok(differs.flatten().map_or(State::Missing, State::Stale))
    }

    /// Whether the task was done, perhaps of an input that has changed since.
    pub(super) fn has_receipt(&self, root: &Path) -> Result<bool> {
        files::exists(&self.directory(root).join(RECEIPT))
    }

    /// Returns why the receipt is not this task's; `None` if it is.
    fn differs(&self, receipt: &Receipt, root: &Path) -> Result<Option<String>> {
        let cause = match () {
            _ if receipt.schema_version != RECEIPT_SCHEMA => "its receipt is of another version",
            _ if receipt.plan != self.plan.id => "made with other options (another plan)",
            _ if receipt.input != self.source.identity => "made of another input",
            _ if receipt.task != self.name() => "its receipt is that of another task",
            _ if receipt.slice != self.slice_text() || receipt.rows != self.source.rows => {
                "made of another slice"
            }
            _ => return self.part_differs(receipt, root),
        };
        Ok(Some(cause.to_string()))
    }

    /// Returns how the part differs from its receipt; `None` if it does not.
    fn part_differs(&self, receipt: &Receipt, root: &Path) -> Result<Option<String>> {
        let part = self.part(root);
        for FileEntry { path, bytes, .. } in &receipt.files {
            let found = files::size(&part.join(path))?;
            if found != Some(*bytes) {
                let path = path.to_string_lossy();
                let cause = match found {
                    Some(found) => {
                        format!("{path} has {found}, not {bytes}", found = exactly(found, "byte"))
                    }
                    None => format!("{path} is gone"),
                };
                return Ok(Some(cause));
            }
        }
        let manifest = self.manifest(root);
        let same = digest(&manifest)? == receipt.manifest_sha256;
        Ok((!same).then(|| "its part is not the one of its receipt".to_string()))
    }

    /// Fails if the receipt has a hash of a file and the file differs from it.
    pub(super) fn check_content(&self, root: &Path) -> Result<()> {
        let receipt: Receipt = json_file::read_all(&self.directory(root).join(RECEIPT))?;
        for file in &receipt.files {
            let file = FileEntry { path: self.part(root).join(&file.path), ..file.clone() };
            if file.verify()?.is_some() {
                let cause = "is not the one of its receipt (sha256)";
                return Err(Error::data(cause).at(file.path.as_path()));
            }
        }
        Ok(())
    }

    /// Writes the receipt of the part; no other copy of the task replaces the part meanwhile.
    pub(super) fn write_receipt(&self, root: &Path) -> Result<()> {
        let (part, directory) = (self.part(root), self.directory(root));
        let _lock = TargetLock::take(&part)?;
        let receipt = Receipt {
            schema_version: RECEIPT_SCHEMA.to_string(),
            plan: self.plan.id.clone(),
            task: self.name(),
            input: self.source.identity.clone(),
            slice: self.slice_text(),
            rows: self.source.rows,
            manifest_sha256: digest(&self.manifest(root))?,
            files: list_files(&part, self.plan.product.recipe().is_one_file)?,
            host: host(),
        };
        publish_file(json_file::pending(&directory.join(RECEIPT), &receipt)?, true)?;
        self.forget_failure(root)
    }

    /// Records that a run has failed.
    pub(super) fn record_failure(&self, root: &Path, exit_code: u8, message: &str) -> Result<()> {
        let run = FailedRun {
            plan: self.plan.id.clone(),
            input: self.source.identity.clone(),
            exit_code,
            message: message.to_string(),
            host: host(),
        };
        let path = self.directory(root).join(FAILED);
        publish_file(json_file::pending(&path, &run)?, true)
    }

    pub(super) fn forget_failure(&self, root: &Path) -> Result<()> {
        let path = self.directory(root).join(FAILED);
        match std::fs::remove_file(&path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::write(shown(&path), &e))
            }
            _ => Ok(()),
        }
    }

    /// Whether a process holds the lock of [`Task::lock`].
    pub(super) fn is_running(&self, root: &Path) -> Result<bool> {
        let path = self.directory(root).join(LOCK);
        match open_lock(&path, false) {
            Ok(file) => Ok(matches!(file.try_lock(), Err(TryLockError::WouldBlock))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(Error::io(path.as_path(), &error)),
        }
    }

    /// Takes the lock that shows that the task is running. The lock is held as long as any process has it
    /// open, also a child that inherited it. On a file system without locks, running tasks are not seen.
    pub(super) fn lock(&self, root: &Path) -> Result<File> {
        let directory = self.directory(root);
        let failed = |e: std::io::Error| Error::write(shown(&directory), &e);
        files::make_directories(&directory).map_err(failed)?;
        let file = open_lock(&directory.join(LOCK), true).map_err(failed)?;
        let _ = file.lock_shared();
        rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty())
            .map_err(|e| failed(e.into()))?;
        Ok(file)
    }
}

fn open_lock(path: &Path, create: bool) -> std::io::Result<File> {
    OpenOptions::new().read(true).write(true).create(create).truncate(false).open(path)
}

/// Returns the SHA-256 of a manifest; of no bytes if there is no such file.
fn digest(manifest: &Path) -> Result<String> {
    if !files::is_file(manifest)? {
        return Ok(sha256_hex(b""));
    }
    let is_parquet = manifest.extension().is_some_and(|ending| ending == "parquet");
    match is_parquet.then(|| parquet::describe(manifest)).transpose()?.flatten() {
        Some(described) => Ok(described["footer_sha256"].as_str().unwrap_or_default().to_string()),
        None => Ok(FileEntry::of(manifest)?.sha256.unwrap_or_default()),
    }
}

/// Lists the files of a part. Temporary files of another copy of the task may vanish meanwhile.
fn list_files(part: &Path, is_one_file: bool) -> Result<Vec<FileEntry>> {
    let mut listed = Vec::new();
    for path in walk::files(part, |name| !name.as_encoded_bytes().starts_with(b".")) {
        let path = path?;
        let bytes = files::size(&path)?.unwrap_or(0);
        let relative = shown(path.strip_prefix(part).unwrap_or(&path));
        let hashed = is_one_file.then(|| FileEntry::of(&path)).transpose()?;
        let sha256 = hashed.and_then(|hashed| hashed.sha256);
        listed.push(FileEntry { path: relative.into(), bytes, sha256 });
    }
    listed.sort_by(|a, b| a.path.as_os_str().cmp(b.path.as_os_str()));
    Ok(listed)
}
