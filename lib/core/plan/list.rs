//! Task lists: lines of shell, one for each task, for any engine.

use std::collections::BTreeSet;
use std::path::Path;

use super::{Plan, Task};
use crate::error::{Error, Place, Result, shown};
use crate::files;
use crate::wording::{exactly, shell_word};

/// Returns the line of a task: `ds-plan run ROOT ID NAME`, with absolute paths. `program` is the
/// path of ds-plan.
pub fn line(program: &Path, task: &Task<'_>) -> String {
    let plan = task.plan;
    let words = [&shown(program), "run", &shown(&plan.root), &plan.id, &task.name()];
    words.map(shell_word).join(" ")
}

/// The names of the tasks in a task list.
#[derive(Debug)]
pub struct TaskList {
    pub names: BTreeSet<String>,
}

impl TaskList {
    /// Reads a list. Fails if a line is not a task of this plan.
    pub fn read(path: &Path, plan: &Plan) -> Result<TaskList> {
        let known: BTreeSet<String> = plan.tasks().map(|task| task.name()).collect();
        let mut names = BTreeSet::new();
        for (place, line) in &lines(path)? {
            let bad = |cause: String| Err(Error::usage(cause).at(place));
            let Some((id, name)) = id_and_name(line) else {
                return bad("is not the line of a task".to_string());
            };
            if id != plan.id {
                let root = shown(&plan.root);
                return bad(format!("is a task of plan {id}; that of {root} is {}", plan.id));
            }
            if !known.contains(name) {
                return bad(format!("the plan has no task {name}; try: plan again"));
            }
            names.insert(name.to_string());
        }
        Ok(TaskList { names })
    }

    /// Reads the names of a list whose plan was deleted. Fails if a line is not a task of this
    /// root.
    pub fn of_root(path: &Path, root: &Path) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for (place, line) in &lines(path)? {
            let bad = |cause: String| Err(Error::usage(cause).at(place));
            let (Some((_, name)), Some(own)) = (id_and_name(line), root_of(line)) else {
                return bad("is not the line of a task".to_string());
            };
            if !files::is_same(Path::new(&own), root)? {
                return bad(format!("is a task of {own}"));
            }
            names.push(name.to_string());
        }
        Ok(names)
    }

    /// Fails if tasks of the plan are not in the list: the list is older than these tasks.
    pub fn check_whole(&self, path: &Path, plan: &Plan) -> Result<()> {
        let lacks = plan.tasks().filter(|task| !self.names.contains(&task.name())).count();
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
    let text = files::read_member(path).map_err(|e| Error::io(path, &e))?;
    let text = String::from_utf8(text).map_err(|_| Error::usage("is no text").at(path))?;
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let placed = lines.map(|(number, line)| (Place::line(shown(path), number), line.to_string()));
    Ok(placed.collect())
}

/// Returns the root in a task's line: the third word from the end.
fn root_of(line: &str) -> Option<String> {
    let before = |text: &str| Some(text.trim_end().rsplit_once(char::is_whitespace)?.0.to_string());
    let line = before(&before(line)?)?;
    match line.trim_end().strip_suffix('\'') {
        Some(line) => Some(line[line.rfind(" run '")? + 6..].replace("'\\''", "'")),
        None => line.split_whitespace().next_back().map(str::to_string),
    }
}

/// Returns the last two words of a task's line. (Neither is ever quoted.)
fn id_and_name(line: &str) -> Option<(&str, &str)> {
    let mut words = line.split_whitespace().rev();
    let (name, id) = (words.next()?, words.next()?);
    let is_id = id.len() == 12 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_id && name.contains(".part-") && words.next().is_some()).then_some((id, name))
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
        let line = "'/a b/ds-plan' run '/r s' 0123456789ab shard_00.part-00000-of-00001";
        assert_eq!(id_and_name(line), Some(("0123456789ab", "shard_00.part-00000-of-00001")));
        assert_eq!(root_of(line).as_deref(), Some("/r s"));
        let line = "/b/ds-plan run 'it'\\''s' 0123456789ab x.part-00000-of-00001 ";
        assert_eq!(root_of(line).as_deref(), Some("it's"));
        let line = "/b/ds-plan run /r 0123456789ab x.part-00000-of-00001";
        assert_eq!(root_of(line).as_deref(), Some("/r"));
        for other in ["", "echo hello", "0123456789ab x.part-0", "run 0123 x.part-0", "# x"] {
            assert_eq!(id_and_name(other), None, "{other}");
        }
    }
}
