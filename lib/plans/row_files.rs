//! `ROOT/rows/SPLIT.FORM.parquet`: rows for trainers, which seq-pack makes of a finished root.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::ValueEnum;

use super::closing::{ClosingCheck, run_filter};
use crate::cli::When;
use crate::error::{At, Error, Result, shown};
use crate::{cli, files, program, walk};

/// Forms of rows, as seq-pack names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RowForm {
    Rows,
    Trl,
    MegatronBridge,
}

impl RowForm {
    fn name(self) -> &'static str {
        match self {
            RowForm::Rows => "rows",
            RowForm::Trl => "trl",
            RowForm::MegatronBridge => "megatron-bridge",
        }
    }
}

const SEQ_PACK: &str = "seq-pack";
const FOLDER: &str = "rows";
const SPLITS: [&str; 2] = ["train", "valid"];
const ALLOW_UNSUPERVISED: &str = "--allow-unsupervised";

/// The rows that are wanted of a root.
#[derive(Debug, Clone, Default)]
pub struct RowFiles {
    pub forms: Vec<RowForm>,
    /// The options of seq-pack.
    pub words: Vec<String>,
}

impl RowFiles {
    /// Returns the rows of these forms. `of_root`: the options with which the root is made. Fails if seq-pack does not
    /// take its options for one of the forms, which it would say only at the end.
    pub fn new(forms: &[RowForm], mut words: Vec<String>, of_root: &[String]) -> Result<RowFiles> {
        if let ([], Some(flag)) = (forms, words.first()) {
            return Err(Error::usage(format!("{flag} is for --rows")));
        }
        let allows = |words: &[String]| words.iter().any(|word| word == ALLOW_UNSUPERVISED);
        // What may be in a root may be in its rows.
        if !allows(&words) && allows(of_root) {
            words.push(ALLOW_UNSUPERVISED.to_string());
        }
        let mut rows = RowFiles { forms: Vec::new(), words };
        for form in forms {
            if !rows.forms.contains(form) {
                rows.check(*form)?;
                rows.forms.push(*form);
            }
        }
        Ok(rows)
    }

    fn check(&self, form: RowForm) -> Result<()> {
        let name = form.name();
        if form != RowForm::Rows && !self.words.iter().any(|word| word == "--seq-length") {
            return Err(Error::usage(format!("--rows {name} needs --seq-length N")));
        }
        // Of an input without a byte, into a folder that cannot be: only what is wrong with the options is a usage error.
        let words = ["/dev/null", "-o", "/dev/null/rows.parquet", "--form", name];
        let words = words.iter().map(|word| word.to_string()).chain(self.words.iter().cloned());
        refused(SEQ_PACK, words, &[2])
            .map_err(|error| Error::usage(format!("--rows {name}: {}", error.cause())))
    }

    /// Makes the rows of each split and form, and checks them; removes rows that are older than their root.
    pub(super) fn make(
        &self,
        root: &Path,
        jobs: NonZeroUsize,
        check: Option<&ClosingCheck>,
        told: (bool, When),
    ) -> Result<()> {
        let (quiet, progress) = told;
        let mut made = Vec::new();
        for form in &self.forms {
            for split in SPLITS {
                let data = root.join(split);
                let is_tokens = |path: &PathBuf| shown(path).ends_with("_tokens.idx");
                if !files::paths_if_there(&data)?.iter().any(is_tokens) {
                    continue;
                }
                let path = file(root, split, *form);
                let progress = progress.to_possible_value();
                let progress = progress.iter().map(|when| when.get_name().to_string());
                let mut words = vec![shown(&data), "-o".to_string(), shown(&path)];
                words.extend(["--form", form.name(), "--overwrite"].map(str::to_string));
                words.extend(self.words.iter().cloned());
                words.push(if quiet { "--quiet" } else { "--summary" }.to_string());
                words.extend(["--jobs".to_string(), jobs.to_string(), "--progress".to_string()]);
                words.extend(progress);
                run_filter(SEQ_PACK, words).map_err(|error| {
                    let cause = "is finished, its rows are not";
                    match error.exit_code() {
                        1 => Error::data(cause),
                        2 => Error::usage(cause),
                        _ => Error::unavailable(cause),
                    }
                    .at(root)
                })?;
                made.push(path);
            }
        }
        remove_old(root)?;
        match check.filter(|_| !made.is_empty()) {
            Some(check) => check.run(&made, &[], "has not passed ds-check"),
            None => Ok(()),
        }
    }
}

/// Runs a filter, whose results and messages are not shown. Fails with the first of its messages if it ends with
/// one of these exit codes.
pub(super) fn refused(
    name: &str,
    words: impl IntoIterator<Item = String>,
    codes: &[i32],
) -> Result<()> {
    let mut command = Command::new(program::installed_filter(name)?);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::null());
    let output = command.output().at(name)?;
    match output.status.code().filter(|code| codes.contains(code)) {
        None => Ok(()),
        Some(code) => {
            let line = cli::first_message(&String::from_utf8_lossy(&output.stderr));
            let cause = line.strip_prefix(&format!("{name}: ")).unwrap_or(&line);
            Err(if code == 1 { Error::data(cause) } else { Error::usage(cause) })
        }
    }
}

fn file(root: &Path, split: &str, form: RowForm) -> PathBuf {
    root.join(FOLDER).join(format!("{split}.{}.parquet", form.name()))
}

fn all_files(root: &Path) -> impl Iterator<Item = PathBuf> {
    let forms = RowForm::value_variants().iter();
    forms.flat_map(move |form| SPLITS.map(|split| file(root, split, *form)))
}

/// What `ROOT/rows` leads to may belong to others.
pub(super) fn refuse_linked(root: &Path) -> Result<()> {
    let folder = root.join(FOLDER);
    if files::link_metadata(&folder)?.is_some_and(|found| found.is_symlink()) {
        let cause = "is a link: nothing is written or removed through it";
        return Err(Error::usage(cause).at(folder.as_path()));
    }
    Ok(())
}

/// Removes all rows of a root that is made anew.
pub(super) fn remove_all(root: &Path) -> Result<()> {
    all_files(root).try_for_each(|path| remove(&path))?;
    let _ = fs::remove_dir(root.join(FOLDER));
    Ok(())
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::write(path, &error))
        }
        _ => Ok(()),
    }
}

/// Removes rows that are older than data of the root: these are rows of other data.
fn remove_old(root: &Path) -> Result<()> {
    refuse_linked(root)?;
    let mut newest = None;
    for folder in SPLITS.map(|split| root.join(split)) {
        if !files::is_directory(&folder)? {
            continue;
        }
        for path in walk::files(&folder, |_| true) {
            let path = path?;
            if path.extension().is_none_or(|ending| ending != "bin") {
                continue;
            }
            newest = newest.max(modified(&path)?);
        }
    }
    for path in all_files(root) {
        if modified(&path)?.is_some_and(|time| newest.is_some_and(|newest| newest > time)) {
            remove(&path)?;
            let name = shown(&path);
            let line = format!("{name} was made of other data and is removed; try: --rows");
            cli::tell(&format!("ds-plan: {line}"));
        }
    }
    let _ = fs::remove_dir(root.join(FOLDER));
    Ok(())
}

fn modified(path: &Path) -> Result<Option<std::time::SystemTime>> {
    let found = files::metadata(path)?;
    found.map(|found| found.modified()).transpose().at(path)
}
