//! Task lists: lines of shell, one for each task, for any engine.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::pipeline::words_of_line;
use super::{Plan, Task};
use crate::error::{At, Error, Place, Result, shown};
use crate::files;
use crate::wording::{exactly, shell_word};

/// Returns the line of a task: `ds-plan run ROOT ID NAME -- PIPELINE`, with absolute paths. `program` is the
/// path of ds-plan.
pub fn line(program: &Path, task: &Task<'_>) -> Result<String> {
    let plan = task.plan;
    let words = [&shown(program), "run", &shown(&plan.root), &plan.id, &task.name()];
    let line = words.map(shell_word).join(" ");
    let line = format!("{line} -- {}", task.pipeline(&plan.root)?.line());
    // A task is one line of a list: every engine takes a line for one command.
    if line.contains('\n') {
        let cause = "an option with a line feed in it cannot stand in a line of a task list";
        return Err(Error::usage(cause));
    }
    Ok(line)
}

/// The lines of a task list, by the names of the tasks.
#[derive(Debug)]
pub struct TaskList {
    pub lines: BTreeMap<String, String>,
}

impl TaskList {
    /// Reads a list. Fails if a line is not a task of this plan.
    pub fn read(path: &Path, plan: &Plan) -> Result<TaskList> {
        let known: BTreeSet<String> = plan.tasks().map(|task| task.name()).collect();
        let mut found = BTreeMap::new();
        for (place, line) in &lines(path)? {
            let bad = |cause: String| Err(Error::usage(cause).at(place));
            let Some(TaskLine { id, name, .. }) = TaskLine::of(line) else {
                return bad("is not the line of a task".to_string());
            };
            if id != plan.id {
                let root = shown(&plan.root);
                return bad(format!("is a task of plan {id}; that of {root} is {}", plan.id));
            }
            if !known.contains(&name) {
                return bad(format!("the plan has no task {name}; try: plan again"));
            }
            found.insert(name, line.clone());
        }
        Ok(TaskList { lines: found })
    }

    /// Reads the names of a list whose plan was deleted. Fails if a line is not a task of this
    /// root.
    pub fn of_root(path: &Path, root: &Path) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for (place, line) in &lines(path)? {
            let bad = |cause: String| Err(Error::usage(cause).at(place));
            let Some(TaskLine { root: own, name, .. }) = TaskLine::of(line) else {
                return bad("is not the line of a task".to_string());
            };
            if !files::is_same(Path::new(&own), root)? {
                return bad(format!("is a task of {own}"));
            }
            names.push(name);
        }
        Ok(names)
    }

    /// Fails if tasks of the plan are not in the list: the list is older than these tasks.
    pub fn check_whole(&self, path: &Path, plan: &Plan) -> Result<()> {
        let lacks = plan.tasks().filter(|task| !self.lines.contains_key(&task.name())).count();
        if lacks == 0 {
            return Ok(());
        }
        let cause =
            format!("lacks {lacks} of the plan's {}", exactly(plan.tasks().count(), "task"));
        Err(Error::usage(cause).at(path).hint("plan again"))
    }
}

/// Returns the lines of a list that are not empty, with their places.
fn lines(path: &Path) -> Result<Vec<(Place, String)>> {
    let text = files::read_member(path).at(path)?;
    let text = String::from_utf8(text).map_err(|_| Error::usage("is no text").at(path))?;
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let placed = lines.map(|(number, line)| (Place::line(shown(path), number), line.to_string()));
    Ok(placed.collect())
}

/// What a task's line names.
struct TaskLine {
    root: String,
    id: String,
    name: String,
}

impl TaskLine {
    /// Reads a line; `None` if it is not the line of a task.
    fn of(line: &str) -> Option<TaskLine> {
        let mut words = words_of_line(line)?.into_iter().skip(1);
        let is_run = words.next()? == "run";
        let [root, id, name] = [words.next()?, words.next()?, words.next()?];
        let is_id = id.len() == 12 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_end = words.next().is_none_or(|word| word == "--");
        (is_run && is_id && is_end && name.contains(".part-")).then_some(TaskLine {
            root,
            id,
            name,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_split_them() {
        assert_eq!(shell_word("/a-b/c.d_0:1"), "/a-b/c.d_0:1");
        for (word, text) in [("", "''"), ("a b", "'a b'"), ("it's", "'it'\\''s'"), ("$x", "'$x'")] {
            assert_eq!(shell_word(word), text);
        }
        let end = "0123456789ab x.part-00000-of-00001";
        for (line, root) in [
            (format!("'/a b/ds-plan' run '/r s' {end}"), "/r s"),
            (format!("/b/ds-plan run 'it'\\''s' {end} "), "it's"),
            (format!("/b/ds-plan run /r {end} -- a '|' b"), "/r"),
        ] {
            let TaskLine { root: found, id, name } = TaskLine::of(&line).unwrap();
            let expected = (root, "0123456789ab", "x.part-00000-of-00001");
            assert_eq!((&*found, &*id, &*name), expected);
        }
        for other in [
            "",
            "echo hello",
            "0123456789ab x.part-0",
            "ds-plan run /r 0123 x.part-0",
            "# x",
            "ds-plan run /r 0123456789ab x.part-0; rm",
            "ds-plan run /r 0123456789ab x.part-0 rm",
        ] {
            assert!(TaskLine::of(other).is_none_or(|line| line.name.contains(';')), "{other}");
        }
    }
}
