//! Opens everything that holds records: datasets on disk by the table of formats ([`FORMATS`]),
//! everything else as files and streams. Every filter reads through [`open`].

mod beside;
mod on_disk;

use std::path::{Path, PathBuf};

use crate::batch::{STDIN, WantedRecords};
use crate::check::{CheckContext, FAMILIES, Outcome};
use crate::cli::{InputArgs, Slice};
use crate::error::{At, Error, Result, shown};
use crate::files;
use crate::format::data_files::LINES;
use crate::format::foreign_rows::RowSequences;
use crate::format::stated::{Comparison, refuse_other_sizes};
use crate::format::unchanged::InputSnapshot;
use crate::format::{FORMATS, FindFiles, Format, OpenRecords, Opener, parquet};
use crate::record::{ROW, TOKENS};
use crate::splits;
use crate::stream::{Reader, Request};
use crate::walk;

use beside::refuse_part;

pub use on_disk::size_on_disk;

/// Checks the dataset or stream at a path.
pub fn check(path: &Path, context: &mut CheckContext<'_>) -> Result<Outcome> {
    // A prefix names files but is not a file itself.
    if let Some(family) = files::find(&*FAMILIES, |family| family.knows(path))? {
        if path.as_os_str() != "-" && !is_dataset(path)? {
            refuse_part(path)?;
        }
        let unchanged = InputSnapshot::of(std::slice::from_ref(&path.to_path_buf()))?;
        let mut outcome = unchanged.confirm(family.check(path, context))?;
        unchanged.check()?;
        outcome.bytes = size_on_disk(&[path.to_path_buf()])?.unwrap_or(outcome.bytes);
        return Ok(outcome);
    }
    std::fs::metadata(path).at(path)?;
    let way = beside::way_to_read(path)?;
    let other = || "its files by name, or FILTER ... | ds-check -".to_string();
    Err(no_dataset(path).hint(way.unwrap_or_else(other)))
}

/// Returns the path; or, if it is a folder of folders with datasets, each dataset in the order of their
/// names.
pub fn each_dataset(path: &Path) -> Result<Vec<PathBuf>> {
    if path.as_os_str() == "-" || !files::is_directory(path)? || is_dataset(path)? {
        return Ok(vec![path.to_path_buf()]);
    }
    let mut found = Vec::new();
    // Paths that are not looked at yet, the next one last, with the folders that contain them.
    let mut left = vec![(path.to_path_buf(), Vec::new())];
    while let Some((folder, mut above)) = left.pop() {
        if is_dataset(&folder)? {
            found.push(folder);
            continue;
        }
        let whole = std::fs::canonicalize(&folder).at(folder.as_path())?;
        if above.contains(&whole) {
            continue;
        }
        above.push(whole);
        for path in files::paths_in(&folder)?.into_iter().rev() {
            let name = path.file_name().unwrap_or_default();
            if !name.as_encoded_bytes().starts_with(b".") && files::is_directory(&path)? {
                left.push((path, above.clone()));
            }
        }
    }
    if found.is_empty() { Ok(vec![path.to_path_buf()]) } else { Ok(found) }
}

/// Whether a path is a dataset, or a folder of datasets, whose format says what its records are. (Files, and folders of
/// files, hold any records.)
pub fn holds_sets(path: &Path) -> Result<bool> {
    let paths = each_dataset(path)?;
    let format = format_of(&paths)?;
    Ok(paths != [path] || format.is_some_and(|of| matches!(of.open, Opener::Records(_))))
}

/// Opens the inputs of a filter as [`open`] does; says of a root how far its plan is, if the plan is not finished.
pub fn open_with_plans(args: &InputArgs, request: impl Into<Request>) -> Result<Reader> {
    let mut notes = Vec::new();
    for path in args.files.iter().filter(|path| path.as_os_str() != "-") {
        notes.extend(unfinished_plan(path)?);
    }
    Ok(open(args, request)?.noting(notes))
}

#[cfg(feature = "plans")]
use crate::plan::unfinished as unfinished_plan;

/// Names the plan of a root, which this build cannot look at.
#[cfg(not(feature = "plans"))]
fn unfinished_plan(root: &Path) -> Result<Option<String>> {
    if !files::is_directory(root)? || !files::exists(&root.join("tasks/plan.json"))? {
        return Ok(None);
    }
    let root = shown(root);
    Ok(Some(format!("{root}: has a plan, which may not be finished; this build has no ds-plan")))
}

/// Opens the inputs of the arguments: datasets of one format, or files and streams. Rows of other tools are read as the
/// token sequences in them.
pub fn open(args: &InputArgs, request: impl Into<Request>) -> Result<Reader> {
    let request = request.into();
    let of_rows = match &request {
        Request::OneOf(types) if types.iter().any(|of| of.record.name == TOKENS.name) => {
            Request::OneOf(types.iter().cloned().chain([WantedRecords::records(&ROW)]).collect())
        }
        request => request.clone(),
    };
    let reader = open_as_they_are(args, of_rows)?;
    if reader.record().or_else(|| reader.known_type()).is_none_or(|of| of.name != ROW.name) {
        return Ok(reader);
    }
    let name = args.files.first().map_or(STDIN.to_string(), |path| shown(path));
    Reader::of_datasets(Box::new(RowSequences::of(reader)), name, request)
}

/// Opens inputs without making other records of them.
fn open_as_they_are(args: &InputArgs, request: Request) -> Result<Reader> {
    let mut args = args.clone();
    // An input that people look at may have several splits.
    let is_looked_at = matches!(request, Request::Any);
    let named = std::mem::take(&mut args.files);
    args.files = with_splits(&named, is_looked_at)?;
    let Some(format) = format_of(&args.files)? else {
        refuse_others(&args.files, is_looked_at)?;
        return Reader::open(&args, request);
    };
    match format.open {
        Opener::Records(open) => open_records(format, open, &args, request),
        Opener::Files(files_of) => {
            let unchanged = InputSnapshot::of(&args.files)?;
            args.files = unchanged.confirm(files_in(format, files_of, &args, is_looked_at))?;
            refuse_others(&args.files, is_looked_at)?;
            Ok(Reader::open(&args, request)?.with_unchanged(unchanged))
        }
    }
}

/// Opens datasets of a format that reads its records itself.
fn open_records(
    format: &Format,
    open: OpenRecords,
    args: &InputArgs,
    request: Request,
) -> Result<Reader> {
    if let Some(other) = files::find(&args.files, |path| Ok(!is_of(path, format)?))? {
        let cause = format!("{} and other files cannot be read together", format.name);
        return Err(Error::usage(cause).at(other.as_path()));
    }
    let unchanged = InputSnapshot::of(&args.files)?;
    let source = unchanged.confirm(open(&args.files, args.slice))?;
    unchanged.confirm(args.files.iter().try_for_each(|path| (format.refuse_missing)(path)))?;
    let stated: Result<Vec<_>> = args.files.iter().map(|path| (format.stated)(path)).collect();
    let stated = unchanged.confirm(stated)?.concat();
    unchanged.confirm(refuse_other_sizes(&stated))?;
    let name = args.files.first().map(|path| shown(path)).unwrap_or_default();
    let reader = Reader::of_datasets(source, name, request)?.with_unchanged(unchanged);
    Ok(match args.slice {
        None | Some(Slice::Part { count: 1, .. }) => reader.comparing(Comparison::of(stated)),
        Some(_) => reader,
    })
}

/// Returns the files with the records: those in datasets of a format, and the others as they are.
fn files_in(
    format: &Format,
    files_of: FindFiles,
    args: &InputArgs,
    is_looked_at: bool,
) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for path in &args.files {
        if !is_of(path, format)? {
            all.push(path.clone());
            continue;
        }
        if !args.is_compared {
            compare_folder(path)?;
        }
        let files = files_of(path)?;
        if !is_looked_at {
            splits::refuse_several(path, &files)?;
        }
        all.extend(files);
    }
    Ok(all)
}

/// Compares a folder with the manifest in it. (Files that the user names one by one are not compared.)
fn compare_folder(path: &Path) -> Result<()> {
    let compared = parquet::compare_inputs(&[path]);
    let way = || format!("{}/*.parquet, to read what is there", shown(path));
    compared.map_err(|error| error.hint(way()))
}

/// The folders of splits of Parquet shards, as in the `ids` of a root.
const SPLIT_FOLDERS: [&str; 3] = ["train", "valid", "test"];

/// Returns the paths. A folder is replaced by the folders of its splits if only these hold Parquet shards;
/// for filters that show data to people also by the datasets in its folders.
fn with_splits(paths: &[PathBuf], is_looked_at: bool) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for path in paths {
        let is_file = path.as_os_str() == "-" || !files::is_directory(path)?;
        if is_file || is_dataset(path)? {
            all.push(path.clone());
            continue;
        }
        let mut splits = Vec::new();
        for split in SPLIT_FOLDERS.map(|name| path.join(name)) {
            if files::is_directory(&split)? && !parquet::files_in(&split)?.is_empty() {
                splits.push(split);
            }
        }
        if !is_looked_at {
            let files: Result<Vec<_>> =
                splits.iter().map(|split| parquet::files_in(split)).collect();
            splits::refuse_several(path, &files?.concat())?;
        }
        match splits.is_empty() {
            false => all.extend(splits),
            true if is_looked_at => all.extend(each_dataset(path)?),
            true => all.push(path.clone()),
        }
    }
    Ok(all)
}

/// Returns the format of the first path that is a dataset.
fn format_of(paths: &[PathBuf]) -> Result<Option<&'static Format>> {
    for path in paths {
        if let Some(format) = files::find(FORMATS.iter(), |format| is_of(path, format))? {
            return Ok(Some(*format));
        }
    }
    Ok(None)
}

fn is_dataset(path: &Path) -> Result<bool> {
    Ok(files::find(FORMATS.iter(), |format| is_of(path, format))?.is_some())
}

fn is_of(path: &Path, format: &Format) -> Result<bool> {
    Ok(path.as_os_str() != "-" && (format.knows)(path)?)
}

/// Refuses paths that are not files of records: directories, and files that belong to something
/// else.
fn refuse_others(paths: &[PathBuf], is_looked_at: bool) -> Result<()> {
    if let Some(directory) = files::find(paths, |path| files::is_directory(path))? {
        if !is_looked_at {
            // The hint would be about all of them.
            let found = walk::files(directory, |_| true).filter_map(Result::ok);
            let found: Vec<PathBuf> = found.filter(|path| LINES.has(path)).collect();
            splits::refuse_several(directory, &found)?;
        }
        let error = no_dataset(directory);
        return Err(match beside::way_to_read(directory)? {
            Some(way) => error.hint(way),
            None => error,
        });
    }
    paths.iter().filter(|path| path.as_os_str() != "-").try_for_each(|path| refuse_part(path))
}

fn no_dataset(directory: &Path) -> Error {
    let signs: Vec<String> = FORMATS.iter().map(|format| format!("no {}", format.signs)).collect();
    let cause = format!("is a directory without a dataset ({})", signs.join(", "));
    Error::usage(cause).at(directory)
}
