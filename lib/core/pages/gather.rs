//! One pass over the records gathers everything for a page. The sample of a dataset or file is read
//! separately, by index if there is one; the sample of a stream is chosen as the records come.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use arrow_schema::DataType;
use serde_json::Value;

use crate::batch::Batch;
use crate::cli::{Choice, InputArgs, Progress, SelectArgs};
use crate::dataset;
use crate::error::{At, Result, shown};
use crate::files;
use crate::said::Said;
use crate::stat::{self, StatOptions};
use crate::stream::{Reader, Request, StreamChooser};
use crate::view::Viewer;
use crate::view::page::{PageData, SampleRecord, without_folders};

/// The most records of a sample.
const MOST_RECORDS: usize = 200;
/// Columns that may state a language; the first that exists is taken.
const LANGUAGES: [&str; 3] = ["language", "lang", "query_language"];
/// Manifests in which a directory describes itself.
const MANIFESTS: [&str; 2] = ["manifest.json", "build.json"];
/// The most bytes of a manifest that is shown.
const MANIFEST: u64 = 1 << 26;

/// What a page is made from.
#[derive(Debug, Clone)]
pub struct PageOptions<'a> {
    pub input: &'a InputArgs,
    pub select: &'a SelectArgs,
    pub jobs: NonZeroUsize,
    /// What the user says about the records.
    pub said: &'a Said,
}

/// Reads the records. `tell` is called with each note of the reader.
pub fn gather(
    options: &PageOptions<'_>,
    progress: &mut Progress,
    tell: impl Fn(&str),
) -> Result<PageData> {
    let PageOptions { input, select, jobs, said } = *options;
    let reader = dataset::open(input, Request::Any)?.uncompared();
    reader.notes().iter().for_each(|note| tell(note));
    let header = reader.header().clone();
    let is_whole = reader.is_whole();
    let by = language_column(&reader);
    let viewer = Viewer::new(&reader, said)?;
    let (select, how) = bound_selection(select, viewer.sample());
    let mut extra = viewer.plots();
    let mut taking = Sampler { inputs: &input.files, viewer, sample: Vec::new() };
    let mut choosing = match is_stream(input)? {
        true => Some(StreamChooser::new(&select, reader.schema())?),
        false => None,
    };
    let stat_options = StatOptions { by: by.clone(), repeats: true, ..StatOptions::default() };
    let see = |batch: &Batch| {
        extra.as_mut().map_or(Ok(()), |extra| extra.add(&batch.records))?;
        let chosen = choosing.as_mut().map(|choosing| choosing.take(batch)).transpose()?;
        chosen.flatten().map_or(Ok(()), |batch| taking.take(&batch))
    };
    let mut answer = stat::measure_seen(reader, &stat_options, jobs, progress, see)?;
    answer.inputs = input.files.iter().map(|path| without_folders(&shown(path))).collect();
    if is_whole {
        answer.size_on_disk = dataset::size_on_disk(&input.files)?;
    }
    match &mut choosing {
        Some(choosing) => {
            while let Some(batch) = choosing.finish()? {
                taking.take(&batch)?;
            }
        }
        None => {
            let mut reader = dataset::open(input, Request::Any)?.uncompared().selected(&select)?;
            taking.viewer.keep_columns(&mut reader);
            while taking.sample.len() < MOST_RECORDS
                && let Some(batch) = reader.next_batch()?
            {
                taking.take(&batch)?;
            }
        }
    }
    let mut sample = taking.sample;
    for (record, number) in sample.iter_mut().zip(select.numbers(Some(answer.all.records))?) {
        record.number = Some(number);
    }
    let manifests = manifests(input)?;
    Ok(PageData { answer, by, extra, header, sample, how, manifests })
}

/// Makes the sample from the records that were chosen.
struct Sampler<'a> {
    inputs: &'a [PathBuf],
    viewer: Viewer,
    sample: Vec<SampleRecord>,
}

impl Sampler<'_> {
    fn take(&mut self, batch: &Batch) -> Result<()> {
        if let Some(rejection) = batch.rejected.first() {
            return Err(rejection.to_error());
        }
        for row in 0..batch.len().min(MOST_RECORDS - self.sample.len()) {
            let shown = self.viewer.show(batch, row)?;
            let place = batch.origin.place(row).to_string();
            let place = below(self.inputs, place);
            self.sample.push(SampleRecord { number: None, place, shown });
        }
        Ok(())
    }
}

/// Returns a place relative to the input that contains it.
fn below(inputs: &[PathBuf], place: String) -> String {
    for input in inputs {
        let rest = place.strip_prefix(&shown(input)).filter(|rest| rest.starts_with(['/', ':']));
        match (rest, inputs, input.file_name()) {
            (Some(rest), [_, _, ..], Some(name)) => return shown(name.as_ref()) + rest,
            (Some(rest), ..) => return rest.trim_start_matches(['/', ':', ' ']).to_string(),
            (None, ..) => {}
        }
    }
    place
}

/// Returns the choice, bounded to what fits a page, and its description.
fn bound_selection(select: &SelectArgs, sample: u64) -> (SelectArgs, String) {
    let mut select = select.clone();
    if !select.id.is_empty() {
        return (select, "those with the ids asked for".to_string());
    }
    let most = MOST_RECORDS as u64;
    let how = match select.choice() {
        Choice::All => {
            select.sample = Some(sample);
            format!("drawn at random (seed {})", select.seed)
        }
        Choice::Sample { count, seed } => {
            select.sample = Some(count.min(most));
            format!("drawn at random (seed {seed})")
        }
        Choice::Last(count) => {
            select.tail = Some(count.min(most));
            "the last".to_string()
        }
        Choice::Named(_) => "those asked for".to_string(),
        Choice::Within(_) => "the first of those asked for".to_string(),
    };
    (select, how)
}

/// Whether the records can be read only once.
pub(super) fn is_stream(input: &InputArgs) -> Result<bool> {
    let once = |path: &Path| {
        if path.as_os_str() == "-" {
            return Ok(true);
        }
        // A path that does not exist is the prefix of files.
        let metadata = files::metadata(path)?;
        Ok(metadata.is_some_and(|metadata| !metadata.is_file() && !metadata.is_dir()))
    };
    match input.files.as_slice() {
        [] => Ok(true),
        paths => Ok(files::find(paths, |path| once(path))?.is_some()),
    }
}

fn language_column(reader: &Reader) -> Option<String> {
    let text = |name: &&str| {
        let field = reader.schema().field_with_name(name);
        field.is_ok_and(|field| matches!(field.data_type(), DataType::Utf8 | DataType::LargeUtf8))
    };
    LANGUAGES.iter().find(|name| text(name)).map(|name| name.to_string())
}

/// Returns the manifests of the directories among the inputs.
fn manifests(input: &InputArgs) -> Result<Vec<(String, Value)>> {
    let mut manifests = Vec::new();
    for directory in &input.files {
        for name in MANIFESTS {
            let path = directory.join(name);
            if !files::is_file(&path)? {
                continue;
            }
            let size = files::metadata(&path)?.map_or(0, |metadata| metadata.len());
            if size > MANIFEST {
                continue;
            }
            let text = files::read_member(&path).at(path.as_path())?;
            // ds-check reports a manifest that cannot be parsed.
            if let Ok(value) = serde_json::from_slice(&text) {
                manifests.push((shown(&path), value));
            }
        }
    }
    Ok(manifests)
}
