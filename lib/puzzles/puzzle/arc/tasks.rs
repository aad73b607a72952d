//! Reads ARC tasks: JSON files of `train` and `test` pairs of grids, in folders.

use super::unique::Unique;
use super::{Grid, SIDE};
use crate::puzzle::source::{BuildContext, InputFile, Opener, hash_file, last_part};
use crate::puzzle::{BLANK_IDENTIFIER, Error, Split};
use crate::walk::{self, WalkError};
use crate::wording::exactly;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

/// The longest task file, in bytes: a pair of 30 × 30 grids is 4 KB.
const LONGEST_FILE: u64 = 64 << 20;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The members of a task that hold its pairs.
const PARTS: [&str; 2] = ["train", "test"];

/// The folder whose test pairs are the test split, and a part of the name of a file of many tasks.
const EVALUATION: &str = "evaluation";

/// One task; the grids of its pairs are in the order of the file.
pub(super) struct Task {
    pub name: String,
    pub pairs: Vec<Pair>,
}

pub(super) struct Pair {
    pub split: Split,
    pub input: Grid,
    pub output: Grid,
}

impl Task {
    pub fn has(&self, split: Split) -> bool {
        self.pairs.iter().any(|pair| pair.split == split)
    }
}

/// All tasks, in the order of their names.
pub(super) struct Tasks {
    pub tasks: Vec<Task>,
    pub inputs: Vec<InputFile>,
    pub rejected: u64,
}

/// The outputs of test pairs in a file of their own: lists of grids by the names of tasks.
type Solutions = HashMap<String, Value>;

/// Reads every `.json` file in the folders and their subfolders. `solutions` are files of outputs
/// that the tasks lack.
pub(super) fn read(
    dirs: &[PathBuf],
    solutions: &[PathBuf],
    build: &mut BuildContext<'_>,
) -> Result<Tasks, Error> {
    if dirs.is_empty() {
        return Err(Error::Usage("no input: name folders of ARC tasks".to_string()));
    }
    let mut files = Vec::new();
    for dir in dirs {
        let before = files.len();
        collect(dir, &mut files)?;
        if files.len() == before {
            return Err(Error::data(dir.display(), "no .json file in it"));
        }
    }
    let mut inputs = Vec::new();
    let mut outputs = Solutions::new();
    for path in solutions {
        let whole = fs::canonicalize(path).map_err(|cause| Error::io(path, &cause))?;
        let mut tasks = Vec::new();
        for (file, evaluation) in files {
            if fs::canonicalize(&file).map_err(|cause| Error::io(&file, &cause))? != whole {
                tasks.push((file, evaluation));
            }
        }
        files = tasks;
        let (text, input) = read_file(path, &build.opener)?;
        outputs.extend(parse_solutions(&text, &path.display().to_string())?);
        inputs.push(input);
    }
    // Each file is here until one of its tasks is kept.
    let mut read_files: Vec<Option<InputFile>> = Vec::new();
    let mut found: Vec<(Task, usize, PathBuf)> = Vec::new();
    let mut rejected = 0;
    for (path, evaluation) in files {
        let shown = path.display().to_string();
        let stem = path.file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned());
        let read = read_file(&path, &build.opener);
        let tasks = read.and_then(|(text, input)| {
            read_files.push(Some(input));
            parse(&text, &shown, &stem, evaluation, &outputs)
        });
        for task in tasks.unwrap_or_else(|error| vec![Err(error)]) {
            match task {
                Ok(task) => found.push((task, read_files.len() - 1, path.clone())),
                Err(error) => {
                    rejected += 1;
                    build.reject(error, None)?;
                }
            }
        }
    }
    // If two files have the same task, the first by name is kept, since the order in which a file
    // system lists files may change.
    found.sort_by(|(a, _, one), (b, _, other)| (&a.name, one).cmp(&(&b.name, other)));
    let mut tasks: Vec<Task> = Vec::new();
    let mut first = PathBuf::new();
    for (task, file, path) in found {
        if tasks.last().is_some_and(|last| last.name == task.name) {
            rejected += 1;
            let cause = format!("task {} is in {} too", task.name, first.display());
            build.reject(Error::data(path.display(), cause), None)?;
            continue;
        }
        tasks.push(task);
        inputs.extend(read_files[file].take());
        first = path;
    }
    Ok(Tasks { tasks, inputs, rejected })
}

/// Whether a folder, or the folder of a file, is the evaluation set, in any spelling (such as with
/// `.` inside it): by its name as the user gives it, or by the name to which links lead.
fn is_evaluation(path: &Path, is_folder: bool) -> Result<bool, Error> {
    let failed = |cause| Error::io(path, &cause);
    let whole = [without_dots(path).map_err(failed)?, fs::canonicalize(path).map_err(failed)?];
    let is_it = |whole: &PathBuf| {
        let folder = if is_folder { Some(whole.as_path()) } else { whole.parent() };
        folder.and_then(Path::file_name).is_some_and(|name| name == EVALUATION)
    };
    Ok(whole.iter().any(is_it))
}

/// Returns the whole path without `.` and `..`; links stay as they are named.
fn without_dots(path: &Path) -> io::Result<PathBuf> {
    let mut plain = PathBuf::new();
    for part in std::path::absolute(path)?.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    Ok(plain)
}

/// Adds a file, or the `.json` files below a folder; each with whether it belongs to the evaluation
/// set.
fn collect(given: &Path, files: &mut Vec<(PathBuf, bool)>) -> Result<(), Error> {
    let is_folder = fs::metadata(given).map_err(|cause| Error::io(given, &cause))?.is_dir();
    let evaluation = is_evaluation(given, is_folder)?;
    if !is_folder {
        files.push((given.to_path_buf(), evaluation));
        return Ok(());
    }
    for path in walk::files(given, |name| !name.as_encoded_bytes().starts_with(b".")) {
        let path = path.map_err(|error| match error {
            WalkError::Io(path, cause) => Error::io(&path, &cause),
            WalkError::Cycle { link, ancestor } => {
                let ancestor = ancestor.display();
                let cause =
                    format!("the link leads back to {ancestor}, a folder that it stands in");
                Error::data(link.display(), cause)
            }
        })?;
        if path.extension().is_some_and(|extension| extension == "json") {
            let folders = path.strip_prefix(given).ok().and_then(Path::parent);
            let below = folders.is_some_and(|path| path.iter().any(|name| name == EVALUATION));
            let evaluation = evaluation || below || is_evaluation(&path, false)?;
            files.push((path, evaluation));
        }
    }
    Ok(())
}

/// Returns the names of the folder and the file, which are the same wherever the tasks are.
fn short_name(path: &Path) -> Result<String, Error> {
    let whole = fs::canonicalize(path).map_err(|cause| Error::io(path, &cause))?;
    Ok(match whole.parent().and_then(Path::file_name) {
        Some(folder) => format!("{}/{}", folder.to_string_lossy(), last_part(path)),
        None => last_part(path),
    })
}

/// Reads a file without its byte order mark.
fn read_file(path: &Path, opener: &Opener) -> Result<(Vec<u8>, InputFile), Error> {
    let (input, noted) = hash_file(path, short_name(path)?)?;
    let reader = opener(path).map_err(|cause| Error::io(path, &cause))?;
    let mut text = Vec::new();
    let read = reader.take(LONGEST_FILE + 1).read_to_end(&mut text);
    read.map_err(|cause| Error::io(path, &cause))?;
    if text.len() as u64 > LONGEST_FILE {
        let cause = format!("longer than {LONGEST_FILE} bytes, no ARC task is");
        return Err(Error::data(path.display(), cause));
    }
    noted.check()?;
    if text.starts_with(BYTE_ORDER_MARK) {
        text.drain(..BYTE_ORDER_MARK.len());
    }
    Ok((text, input))
}

fn parse_object(text: &[u8], path: &str) -> Result<Map<String, Value>, Error> {
    let Unique(value) = serde_json::from_slice(text).map_err(|cause| {
        let text = cause.to_string();
        let what = text.split(" at line ").next().unwrap_or_default();
        Error::data(format_args!("{path}:{}:{}", cause.line(), cause.column()), what)
    })?;
    match value {
        Value::Object(object) => Ok(object),
        other => Err(Error::data(path, format!("is {}, expected an object", kind(&other)))),
    }
}

/// Reads the tasks of a file: one task, named `stem` unless the file has a name, or several with
/// their names, as the ARC Prize publishes them.
fn parse(
    text: &[u8],
    path: &str,
    stem: &str,
    evaluation: bool,
    outputs: &Solutions,
) -> Result<Vec<Result<Task, Error>>, Error> {
    let object = parse_object(text, path)?;
    let is_task = |task: &Value| PARTS.iter().any(|part| task.get(part).is_some());
    let has_tasks = !PARTS.iter().any(|part| object.contains_key(*part));
    let bad = |cause: String| Error::data(path, cause);
    if has_tasks && !object.is_empty() && object.values().all(is_task) {
        let evaluation = evaluation || stem.split(['_', '-']).any(|part| part == EVALUATION);
        let task = |(name, task): (&String, &Value)| match task {
            Value::Object(task) => task_of(task, name, evaluation, outputs).map_err(bad),
            other => Err(bad(format!("task {name} is {}, expected an object", kind(other)))),
        };
        return Ok(object.iter().map(task).collect());
    }
    let name = match object.get("name") {
        None => stem,
        Some(Value::String(name)) => name,
        Some(other) => return Err(bad(format!("name is {}, expected a string", kind(other)))),
    };
    Ok(vec![task_of(&object, name, evaluation, outputs).map_err(bad)])
}

fn task_of(
    task: &Map<String, Value>,
    name: &str,
    evaluation: bool,
    outputs: &Solutions,
) -> Result<Task, String> {
    if name.is_empty() || name == BLANK_IDENTIFIER || name.contains(char::is_control) {
        return Err(format!("{name:?} is not a name for a task"));
    }
    if is_augmented(name) {
        return Err(format!("task {name} has the name of an augmentation"));
    }
    let pairs = parse_pairs(task, evaluation, outputs.get(name));
    let pairs = pairs.map_err(|cause| format!("task {name}: {cause}"))?;
    Ok(Task { name: name.to_string(), pairs })
}

fn parse_solutions(text: &[u8], path: &str) -> Result<Solutions, Error> {
    let object = parse_object(text, path)?;
    match object.iter().find(|(_, grids)| !grids.is_array()) {
        None => Ok(object.into_iter().collect()),
        Some((name, grids)) => {
            let cause = format!("task {name} has {}, expected a list of grids", kind(grids));
            Err(Error::data(path, cause))
        }
    }
}

/// Whether the name ends like an augmentation's, which evaluators would undo.
fn is_augmented(name: &str) -> bool {
    let mut parts = name.rsplit('_');
    let (colours, transform) = (parts.next(), parts.next());
    let is_colours = |text: &str| text.len() == 10 && text.bytes().all(|b| b.is_ascii_digit());
    let is_transform = |text: &str| matches!(text.as_bytes(), [b't', b'0'..=b'7']);
    colours.is_some_and(is_colours) && transform.is_some_and(is_transform) && parts.next().is_some()
}

/// `outputs` are the outputs of the test pairs, if the pairs have none.
fn parse_pairs(
    task: &Map<String, Value>,
    evaluation: bool,
    outputs: Option<&Value>,
) -> Result<Vec<Pair>, String> {
    let mut pairs = Vec::new();
    // Pairs come in the file's own order, even if test comes before train.
    for (part, list) in task {
        let split = match part.as_str() {
            "train" => Split::Train,
            "test" if evaluation => Split::Test,
            "test" => Split::Train,
            _ => continue,
        };
        let Value::Array(list) = list else {
            return Err(format!("{part} is {}, expected a list of pairs", kind(list)));
        };
        for (index, pair) in list.iter().enumerate() {
            let number = index + 1;
            let solution = || outputs.filter(|_| part == "test")?.get(index);
            let grid = |side: &str| {
                let is_output = side == "output";
                let there = pair.get(side).or_else(|| solution().filter(|_| is_output));
                let missing = || match is_output && part == "test" {
                    true => "is missing; try: --solutions FILE, if it stands in a second file",
                    false => "is missing",
                };
                let grid = there.ok_or_else(|| missing().to_string()).and_then(parse_grid);
                grid.map_err(|cause| format!("{part} pair {number}: {side} {cause}"))
            };
            pairs.push(Pair { split, input: grid("input")?, output: grid("output")? });
        }
    }
    if pairs.is_empty() {
        return Err("no pairs in train and test".to_string());
    }
    Ok(pairs)
}

fn parse_grid(value: &Value) -> Result<Grid, String> {
    let Value::Array(rows) = value else {
        return Err(format!("is {}, expected rows of colours", kind(value)));
    };
    if rows.is_empty() {
        return Err("has no rows".to_string());
    }
    if rows.len() > SIDE {
        return Err(format!("has {} rows, at most {SIDE} fit", rows.len()));
    }
    let mut cells = Vec::with_capacity(SIDE * SIDE);
    let mut columns = 0;
    for (number, row) in rows.iter().enumerate() {
        let number = number + 1;
        let Value::Array(row) = row else {
            return Err(format!("row {number} is {}, expected colours", kind(row)));
        };
        match row.len() {
            0 => return Err(format!("row {number} is empty")),
            length if length > SIDE => {
                return Err(format!(
                    "row {number} has {length}, at most {SIDE} fit",
                    length = exactly(length, "cell")
                ));
            }
            length if number == 1 => columns = length,
            length if length != columns => {
                return Err(format!(
                    "row {number} has {length}, row 1 has {columns}",
                    length = exactly(length, "cell")
                ));
            }
            _ => {}
        }
        for (column, cell) in row.iter().enumerate() {
            match cell.as_u64() {
                Some(colour @ 0..=9) => cells.push(colour as u8),
                _ => {
                    let shown = if cell.is_number() { cell.to_string() } else { kind(cell).into() };
                    let column = column + 1;
                    return Err(format!(
                        "row {number} column {column}: {shown} is not a colour 0..9"
                    ));
                }
            }
        }
    }
    Ok(Grid { rows: rows.len(), columns, cells })
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads the only task of a file.
    fn one_task(text: &str, stem: &str, evaluation: bool) -> Result<Task, String> {
        let tasks = parse(text.as_bytes(), "a/b.json", stem, evaluation, &Solutions::default());
        let mut tasks = tasks.map_err(|error| error.to_string())?;
        assert_eq!(tasks.len(), 1);
        tasks.remove(0).map_err(|error| error.to_string())
    }

    fn parsed(text: &str) -> Result<Task, String> {
        one_task(text, "b", true)
    }

    fn cause(text: &str) -> String {
        parsed(text).err().expect("an error")
    }

    fn input(grid: &str) -> String {
        let text = format!(r#"{{"train":[{{"input":{grid},"output":[[1]]}}]}}"#);
        let message = cause(&text);
        let prefix = "a/b.json: task b: train pair 1: input ";
        message.strip_prefix(prefix).unwrap_or(&message).to_string()
    }

    #[test]
    fn pairs_come_in_the_files_order() {
        let text = r#"{"x": 1, "test": [{"input": [[1, 2]], "output": [[3], [4]]}],
            "train": [{"output": [[5]], "input": [[6]]}], "name": "n"}"#;
        let task = parsed(text).unwrap();
        assert_eq!(task.name, "n");
        let splits: Vec<_> = task.pairs.iter().map(|pair| pair.split).collect();
        assert_eq!(splits, [Split::Test, Split::Train]);
        assert_eq!(task.pairs[0].input, Grid { rows: 1, columns: 2, cells: vec![1, 2] });
        assert_eq!(task.pairs[0].output, Grid { rows: 2, columns: 1, cells: vec![3, 4] });
        assert_eq!(task.pairs[1].output.cells, [5]);
        let training = one_task(text, "b", false).unwrap();
        assert!(training.pairs.iter().all(|pair| pair.split == Split::Train));
    }

    #[test]
    fn bad_tasks_say_why() {
        assert_eq!(cause("{\n\"train\": }"), "a/b.json:2:10: expected value");
        assert_eq!(cause(r#"{"train": [], "train": []}"#), "a/b.json:1:21: `train` stands twice");
        assert_eq!(
            cause(r#"{"test": [{"input": [[1]], "output": [[1]], "input": [[2]]}]}"#),
            "a/b.json:1:51: `input` stands twice"
        );
        assert_eq!(cause("[1]"), "a/b.json: is a list, expected an object");
        assert_eq!(cause("{}"), "a/b.json: task b: no pairs in train and test");
        assert_eq!(
            cause(r#"{"train": {}}"#),
            "a/b.json: task b: train is an object, expected a list of pairs"
        );
        assert_eq!(
            cause(r#"{"test": [{"input": [[1]]}]}"#),
            "a/b.json: task b: test pair 1: output is missing; try: --solutions FILE, if it stands in a second file"
        );
        assert_eq!(cause(r#"{"name": 3}"#), "a/b.json: name is a number, expected a string");
        assert_eq!(cause(r#"{"name": ""}"#), "a/b.json: \"\" is not a name for a task");
        assert_eq!(
            cause(r#"{"name": "<blank>"}"#),
            "a/b.json: \"<blank>\" is not a name for a task"
        );
        assert_eq!(
            cause(r#"{"name": "x_t3_0123456789"}"#),
            "a/b.json: task x_t3_0123456789 has the name of an augmentation"
        );
        assert!(one_task("{\"train\": []}", "t3_0123456789", true).is_err());
    }

    #[test]
    fn bad_grids_say_why() {
        assert_eq!(input("[]"), "has no rows");
        assert_eq!(input("[[]]"), "row 1 is empty");
        assert_eq!(input("[[1],[]]"), "row 2 is empty");
        assert_eq!(input("3"), "is a number, expected rows of colours");
        assert_eq!(input("[3]"), "row 1 is a number, expected colours");
        assert_eq!(input("[[1,2],[1,2],[1]]"), "row 3 has 1 cell, row 1 has 2");
        assert_eq!(input("[[1,10]]"), "row 1 column 2: 10 is not a colour 0..9");
        assert_eq!(input("[[1],[-1]]"), "row 2 column 1: -1 is not a colour 0..9");
        assert_eq!(input("[[1.0]]"), "row 1 column 1: 1.0 is not a colour 0..9");
        assert_eq!(input("[[\"1\"]]"), "row 1 column 1: a string is not a colour 0..9");
        let wide = format!("[[{}]]", ["1"; 31].join(","));
        assert_eq!(input(&wide), "row 1 has 31 cells, at most 30 fit");
        let high = format!("[{}]", ["[1]"; 31].join(","));
        assert_eq!(input(&high), "has 31 rows, at most 30 fit");
    }

    #[test]
    fn names_of_augmentations_are_known() {
        assert!(is_augmented("007bbfb7_t0_0123456789"));
        for name in ["007bbfb7", "a_b", "a_t8_0123456789", "a_t1_012345678", "t1_0123456789"] {
            assert!(!is_augmented(name), "{name}");
        }
    }
}
