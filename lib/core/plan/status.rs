//! What `status` says of a root's tasks.

use std::num::NonZeroUsize;
use std::path::Path;

use super::{Plan, State, TaskList, is_finished, line, states};
use crate::error::{Error, Result};
use crate::visible;

/// The lines of the tasks, and how many of them are not done.
#[derive(Debug, Default)]
pub struct Status {
    pub text: String,
    open: u64,
    all: u64,
    /// Tasks of the plan that the list lacks.
    lacks: Option<Error>,
}

impl Status {
    /// Looks at all tasks, or at those of a list. `todo`: gives the lines of those that are neither done
    /// nor running, which `program` runs.
    pub fn of(
        root: &Path,
        list: Option<&Path>,
        jobs: NonZeroUsize,
        todo: Option<&Path>,
    ) -> Result<Status> {
        let Some(plan) = Plan::find(root)? else { return Status::finished(root, list, todo) };
        let read = |path| -> Result<(&Path, TaskList)> { Ok((path, TaskList::read(path, &plan)?)) };
        let list = list.map(read).transpose()?;
        let mut status = Status::default();
        for (task, state) in states(&plan, root, jobs)? {
            let name = task.name();
            if list.as_ref().is_some_and(|(_, list)| !list.names.contains(&name)) {
                continue;
            }
            status.all += 1;
            status.open += u64::from(state != State::Done);
            match todo {
                None => status.text += &format!("{} {state}\n", visible::line(&name)),
                Some(_) if matches!(state, State::Done | State::Running) => {}
                Some(program) => status.text += &(line(program, &task) + "\n"),
            }
        }
        let lacks = list.map(|(path, list)| list.check_whole(path, &plan));
        status.lacks = lacks.and_then(Result::err);
        Ok(status)
    }

    /// The status of a root whose plan was deleted with its parts, after it was joined and checked.
    fn finished(root: &Path, list: Option<&Path>, todo: Option<&Path>) -> Result<Status> {
        if !is_finished(root)? {
            Plan::read(root)?;
        }
        let names = list.map(TaskList::names_in).transpose()?.unwrap_or_default();
        let lines = names
            .iter()
            .filter(|_| todo.is_none())
            .map(|name| format!("{} done\n", visible::line(name)));
        Ok(Status { text: lines.collect(), ..Status::default() })
    }

    /// Fails if the list is not the whole plan, or, unless the lines were wanted, if not all are done.
    pub fn check(self, root: &Path, todo: bool) -> Result<()> {
        match self.lacks {
            Some(error) => Err(error),
            None if self.open == 0 || todo => Ok(()),
            None => {
                let cause = format!("{} of {} tasks are not done", self.open, self.all);
                Err(Error::data(cause).at(root))
            }
        }
    }
}
