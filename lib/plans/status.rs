//! What `status` prints about a root's tasks.

use std::num::NonZeroUsize;
use std::path::Path;

use super::{Plan, State, Task, TaskList, is_finished, line, states};
use crate::cli::far;
use crate::error::{At, Error, Result};
use crate::file_entry::FileEntry;
use crate::format::FORMATS;
use crate::wording::{counted, exactly, grouped};
use crate::{program, visible};

/// The counts of tasks by state, and the lines of tasks.
#[derive(Debug)]
pub struct Status {
    pub text: String,
    /// The unit of the tasks, in the plural.
    unit: &'static str,
    /// Tasks by their states, the most advanced first.
    tasks: [(&'static str, u64); 5],
    /// Units of the tasks that are done, and of all tasks; `None` if not known beforehand.
    units: Option<(u64, u64)>,
    /// The error for tasks of the plan that the list lacks.
    lacks: Option<Error>,
}

impl Status {
    /// Looks at all tasks, or at the tasks of a list. With `todo`, also returns the lines of the
    /// tasks that are neither done nor running: those of the list, else those of the plan.
    pub fn of(root: &Path, list: Option<&Path>, jobs: NonZeroUsize, todo: bool) -> Result<Status> {
        let Some(plan) = Plan::find(root)? else { return Status::of_finished(root, list, todo) };
        let read = |path| -> Result<(&Path, TaskList)> { Ok((path, TaskList::read(path, &plan)?)) };
        let list = list.map(read).transpose()?;
        if todo && list.is_none() {
            plan.refuse_foreign()?;
        }
        let program = program::filter("ds-plan").at("ds-plan")?;
        let mut status = Status { unit: plan.product.recipe().unit, ..Status::empty() };
        for (task, state) in states(&plan, root, jobs)? {
            let name = task.name();
            if list.as_ref().is_some_and(|(_, list)| !list.lines.contains_key(&name)) {
                continue;
            }
            status.add(&task, &state);
            match todo {
                false => status.text += &format!("{}\n", visible::line(&format!("{name} {state}"))),
                true if matches!(state, State::Done | State::Running) => {}
                true => {
                    let given = list.as_ref().and_then(|(_, list)| list.lines.get(&name));
                    let own = || line(&program, &task);
                    status.text += &(given.cloned().map_or_else(own, Ok)? + "\n");
                }
            }
        }
        let lacks = list.map(|(path, list)| list.check_whole(path, &plan));
        status.lacks = lacks.and_then(Result::err);
        Ok(status)
    }

    /// Returns the status of a root whose plan and parts were deleted after they were joined and checked. All
    /// is done if the files that the root states exist. (Whether the input was changed since then is not
    /// known.)
    fn of_finished(root: &Path, list: Option<&Path>, todo: bool) -> Result<Status> {
        if !is_finished(root)? {
            Plan::read(root)?;
        }
        for format in FORMATS.iter() {
            if (format.knows)(root)? {
                (format.refuse_missing)(root)?;
                if let Some(entry) = FileEntry::first_of_other_size(&(format.stated)(root)?)? {
                    let cause = "is not as it was finished";
                    return Err(Error::data(cause).at(entry.path.as_path()));
                }
            }
        }
        let names = list.map(|list| TaskList::of_root(list, root)).transpose()?;
        let names = names.unwrap_or_default();
        let lines =
            names.iter().filter(|_| !todo).map(|name| format!("{} done\n", visible::line(name)));
        let text: String = lines.collect();
        let mut status = Status::empty();
        status.tasks[0].1 = names.len() as u64;
        Ok(Status { text, units: None, ..status })
    }

    fn empty() -> Status {
        let tasks = ["done", "running", "failed", "stale", "missing"].map(|name| (name, 0));
        Status { text: String::new(), unit: "", tasks, units: Some((0, 0)), lacks: None }
    }

    fn add(&mut self, task: &Task<'_>, state: &State) {
        let same = self.tasks.iter_mut().filter(|(name, _)| *name == state.name());
        same.for_each(|(_, count)| *count += 1);
        self.units = self.units.zip(task.units()).map(|((done, all), own)| {
            let done = done + if *state == State::Done { own } else { 0 };
            (done, all + own)
        });
    }

    fn all(&self) -> u64 {
        self.tasks.iter().map(|(_, count)| count).sum()
    }

    /// Returns how many tasks are not done.
    pub fn open(&self) -> u64 {
        self.not_done().map(|(_, count)| count).sum()
    }

    fn not_done(&self) -> impl Iterator<Item = &(&'static str, u64)> {
        self.tasks.iter().filter(|(name, _)| *name != State::Done.name())
    }

    /// Returns the counts of tasks that are not done: "1 running", "3 missing".
    fn others(&self) -> impl Iterator<Item = String> {
        let some = self.not_done().filter(|(_, count)| *count > 0);
        some.map(|(name, count)| format!("{} {name}", grouped(*count)))
    }

    /// Returns the progress of all tasks as one line.
    pub fn total(&self) -> String {
        if self.all() == 0 {
            return "finished".to_string();
        }
        let done = grouped(self.all() - self.open());
        let mut parts = vec![format!("{done} of {} done", counted(self.all(), "task"))];
        parts.extend(self.others());
        if let Some((done, all)) = self.units.filter(|(_, all)| *all > 0) {
            parts.push(far(done, Some(all), self.unit));
        }
        parts.join(", ")
    }

    /// Fails if the list is not the whole plan, or if some tasks are not done, unless their lines were asked
    /// for (`todo`).
    pub fn check(self, root: &Path, todo: bool) -> Result<()> {
        match self.lacks {
            Some(error) => Err(error),
            None if self.open() == 0 || todo => Ok(()),
            None => {
                let (open, all) = (self.open(), self.all());
                let others: Vec<String> = self.others().collect();
                let cause = format!(
                    "{open} of {all} are not done: {}",
                    others.join(", "),
                    all = exactly(all, "task")
                );
                Err(Error::data(cause).at(root))
            }
        }
    }
}
