//! A whole build on this machine: plans it, makes its tasks side by side, joins them, and checks what was made.

use std::fs::{self, File, OpenOptions};
use std::io::{self, IsTerminal};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::closing::ClosingCheck;
use super::row_files::{self, RowFiles};
use super::state::RECEIPT;
use super::{Finish, Plan, PlanRequest, TASKS, Work, make, plan_path, processors};
use crate::cli::{self, When, counted};
use crate::error::{Error, Result};
use crate::files;

/// The file that is locked while one machine makes all of a plan.
const HERE: &str = "here";

/// What is to be built, and how.
#[derive(Debug)]
pub struct BuildJob {
    pub request: PlanRequest,
    /// Where datasets are made: the root, or folders in it.
    pub targets: Vec<PathBuf>,
    pub jobs: Option<NonZeroUsize>,
    pub rows: RowFiles,
    /// Whether ds-check looks at what was made.
    pub check: bool,
    /// The manifest beside the input, if there is one.
    pub input_manifest: Option<PathBuf>,
    pub rejects: Option<PathBuf>,
    pub quiet: bool,
    pub progress: When,
    /// What the sources become.
    pub unit: &'static str,
}

impl BuildJob {
    /// Writes the plan, for any number of machines. Returns it.
    pub fn plan(mut self) -> Result<Plan> {
        self.request.threads = self.jobs;
        make(&self.request)
    }

    /// Fails if something is there, but for what an interrupted build has left, and nothing is said of it.
    pub fn refuse_taken(&self, is_plan: bool) -> Result<()> {
        let is_allowed = is_plan || self.request.overwrite || self.request.resume;
        for target in &self.targets {
            row_files::refuse_linked(target)?;
            let found = files::paths_if_there(target)?;
            if !is_allowed && found.iter().any(|path| !path.ends_with(TASKS)) {
                let error = Error::usage("is not empty").at(target.as_path());
                return Err(error.hint("--resume, or --overwrite"));
            }
        }
        Ok(())
    }

    /// Makes all of it.
    pub fn run(mut self) -> Result<()> {
        let (began, root) = (SystemTime::now(), self.request.root.clone());
        let jobs = self.jobs.unwrap_or_else(processors);
        let overwrite = self.request.overwrite;
        self.refuse_taken(false)?;
        if overwrite {
            // Rows of what was there before are rows of nothing.
            row_files::remove_all(&root)?;
        }
        let lock = RootLock::take(&root)?;
        // Whoever had the lock may have made it.
        let plan = self.refuse_taken(false).and_then(|()| {
            if overwrite {
                remove_tasks(&root)?;
            }
            self.request.here = Some(jobs);
            make(&self.request)
        });
        let plan = plan.inspect_err(|_| lock.leave())?;
        plan.replaced.iter().for_each(|line| tell(line));
        plan.notes.iter().filter(|_| !self.quiet).for_each(|line| tell(line));
        let shows_progress = self.progress.unless(self.quiet) != When::Never;
        let work = Work { jobs, again: overwrite, warnings: !self.quiet, shows_progress };
        work.run(&plan, &root).map_err(|error| self.of_task(&root, error))?;
        let finish = Finish {
            list: None,
            jobs,
            here: true,
            again: overwrite,
            rejects: self.rejects.clone(),
            since: Some(began),
        };
        finish.print(&plan, &root, self.quiet)?;
        delete_tasks(&root)?;
        drop(lock);
        let check = ClosingCheck::new(jobs, self.progress, self.quiet);
        let check = Some(&check).filter(|_| self.check);
        if let Some(check) = check {
            check.run_with(
                &self.targets,
                self.input_manifest.as_deref(),
                "has not passed ds-check",
            )?;
        }
        if self.request.product.has_rows() {
            self.rows.make(&root, jobs, check, (self.quiet, self.progress))?;
        }
        Ok(())
    }

    /// Returns the error of a task, which has printed its messages, with what is kept.
    fn of_task(&self, root: &Path, error: Error) -> Error {
        let stop = Stop { root, unit: self.unit, overwrites: self.request.overwrite };
        let (kept, count) = stop.finished();
        let way =
            if count == 0 { String::new() } else { format!(" for {}", stop.option_to_go_on()) };
        let cause = format!("a {} failed; {kept}{way}", self.unit);
        match error.failure().map(|failure| failure.exit_code) {
            Some(1) => Error::data(cause),
            Some(2) => Error::usage(cause),
            Some(_) => Error::unavailable(cause),
            None => error,
        }
    }
}

fn tell(line: &str) {
    cli::tell(&format!("ds-plan: {line}"));
}

/// A build that is not finished.
pub(super) struct Stop<'a> {
    pub root: &'a Path,
    pub unit: &'static str,
    pub overwrites: bool,
}

impl Stop<'_> {
    /// Returns how much of it is finished and kept, in words and as a number.
    fn finished(&self) -> (String, usize) {
        let tasks = files::paths_if_there(&self.root.join(TASKS)).unwrap_or_default();
        let count = tasks.iter().filter(|task| task.join(RECEIPT).exists()).count();
        let unit = format!("finished {}", self.unit);
        let kept = match count {
            0 => format!("no {} is finished", self.unit),
            1 => format!("1 {unit} is kept"),
            _ => format!("{} are kept", counted(count as u64, &unit)),
        };
        (kept, count)
    }

    fn option_to_go_on(&self) -> &'static str {
        // (Both at once are refused.)
        if self.overwrites { "--resume in place of --overwrite" } else { "--resume" }
    }

    /// Returns what is said when a signal has stopped it; nothing if it has not begun, or was complete.
    pub fn line(&self, signal: &str) -> Option<String> {
        let is_begun = self.root.join(TASKS).join(HERE).exists();
        let (kept, way) = (self.finished().0, self.option_to_go_on());
        is_begun.then(|| {
            format!("ds-plan: stopped by {signal}; {kept}; try: the same command with {way}")
        })
    }
}

/// One build at a time makes a root; the next one waits.
struct RootLock {
    root: PathBuf,
    _file: File,
}

impl RootLock {
    fn take(root: &Path) -> Result<RootLock> {
        let (tasks, path) = (root.join(TASKS), root.join(TASKS).join(HERE));
        let failed = |error: &io::Error| Error::write(path.as_path(), error);
        loop {
            files::make_directories(&tasks).map_err(|error| failed(&error))?;
            let mut options = OpenOptions::new();
            let file = match options.append(true).create(true).open(&path) {
                // Whoever had the lock has removed the folder.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                file => file.map_err(|error| failed(&error))?,
            };
            match file.lock() {
                Err(error) if error.kind() == io::ErrorKind::Unsupported => {}
                locked => locked.map_err(|error| failed(&error))?,
            }
            if files::is_at(&file, &path) {
                return Ok(RootLock { root: root.to_path_buf(), _file: file });
            }
        }
    }

    /// Removes what only the lock has made.
    fn leave(&self) {
        let tasks = self.root.join(TASKS);
        let _ = fs::remove_file(tasks.join(HERE));
        let _ = fs::remove_dir(tasks);
        let _ = fs::remove_dir(&self.root);
    }
}

/// Deletes the tasks of a root that is finished. The plan goes first: what is left if this is stopped are parts of
/// nothing, and no tasks that are not done.
fn delete_tasks(root: &Path) -> Result<()> {
    files::remove_all(&plan_path(root))?;
    files::remove_all(&root.join(TASKS))
}

/// Removes all tasks of a build before.
fn remove_tasks(root: &Path) -> Result<()> {
    for path in files::paths_if_there(&root.join(TASKS))? {
        if !path.ends_with(HERE) {
            files::remove_all(&path)?;
        }
    }
    Ok(())
}

/// Keeps what stdin has in a file, since tasks read it again, and in parts. Returns the file.
pub(super) fn keep_stdin(folder: &Path) -> Result<PathBuf> {
    let path = folder.join("stdin");
    if io::stdin().is_terminal() {
        return Err(Error::usage("stdin is a terminal; see --help"));
    }
    let cause =
        |error: io::Error| Error::unavailable(format!("stdin cannot be kept: {error}")).at(folder);
    let mut file = File::create(&path).map_err(cause)?;
    match io::copy(&mut io::stdin().lock(), &mut file).map_err(cause)? {
        0 => Err(Error::unavailable("stdin is empty; its producer died?")),
        _ => Ok(path),
    }
}

/// What `finish` does with a plan that others have made.
#[derive(Debug)]
pub struct FinishJob {
    pub root: PathBuf,
    pub finish: Finish,
    pub rows: RowFiles,
    pub check: bool,
    pub delete_parts: bool,
    pub quiet: bool,
}

impl FinishJob {
    /// Joins the parts, checks what they make, and deletes them if that is wanted.
    pub fn run(self) -> Result<()> {
        let (root, jobs) = (self.root.as_path(), self.finish.jobs);
        row_files::refuse_linked(root)?;
        let check = ClosingCheck::new(jobs, When::Auto, self.quiet);
        // Done before, and the parts deleted: a scheduler may call this again, or rows are wanted later.
        let Some(plan) = Plan::find(root)? else {
            super::Status::of(root, self.finish.list.as_deref(), jobs, false)?
                .check(root, false)?;
            let check = Some(&check).filter(|_| self.check);
            self.rows.make(root, jobs, check, (self.quiet, When::Auto))?;
            return if self.delete_parts { delete_tasks(root) } else { Ok(()) };
        };
        let has_rows = plan.product.has_rows();
        if !has_rows && !self.rows.forms.is_empty() {
            return Err(Error::usage("--rows is for roots of Megatron datasets"));
        }
        // (Conversations may lack ids, which the check would not let pass.)
        let check = Some(&check).filter(|_| self.check && plan.product.is_checked());
        let is_unchecked = !self.check && plan.product.is_checked();
        if self.delete_parts && is_unchecked {
            return Err(Error::usage("--delete-parts and --no-check exclude each other"));
        }
        self.finish.print(&plan, root, self.quiet)?;
        if let Some(check) = check {
            let manifest = plan.directory.join(&plan.input).join(crate::format::kd_root::MANIFEST);
            let cause = "has not passed ds-check; the parts are kept";
            check.run_with(&plan.targets(root), Some(&manifest), cause)?;
        }
        if has_rows {
            self.rows.make(root, jobs, check, (self.quiet, When::Auto))?;
        }
        if self.delete_parts { delete_tasks(root) } else { Ok(()) }
    }
}
