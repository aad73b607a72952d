//! Whatever holds records, opened: datasets on disk by the table of formats, all else as files and
//! streams. Every filter reads through [`open`].
//!
//! A format is one entry in [`FORMATS`]: how it is recognised and how it is opened as records.

use std::path::{Path, PathBuf};

use arrow_schema::SchemaRef;

use crate::batch::{Batch, DatasetReader, Header, RecordSource, Wanted};
use crate::cli::{InputArgs, Slice};
use crate::error::{Error, Result, shown};
use crate::format::kd_root::{KdReader, is_megatron};
use crate::format::parquet;
use crate::format::pools::{PoolReader, is_pool};
use crate::format::puzzle_dir::{PuzzleReader, is_puzzle_dir};
use crate::record::RecordType;
use crate::stream::{Conform, Reader, Request};

/// A format of datasets on disk.
pub struct Format {
    /// In the plural, for messages.
    pub name: &'static str,
    /// What a directory of this format has: named where nothing is recognised.
    pub signs: &'static str,
    /// Whether a path names a dataset of this format.
    pub knows: fn(&Path) -> bool,
    pub open: Open,
}

type OpenRecords = fn(&[PathBuf], Option<Slice>) -> Result<Box<dyn DatasetReader>>;

/// How a format is opened.
pub enum Open {
    /// All datasets together, or a slice of them, by a reader of its own.
    Records(OpenRecords),
    /// The files of a directory, which are read one by one.
    Files(fn(&Path) -> Result<Vec<PathBuf>>),
}

/// Every format of datasets; a path is of the first that knows it.
pub static FORMATS: [Format; 4] = [
    Format {
        name: "puzzle sets",
        signs: "no dataset.json",
        knows: is_puzzle_dir,
        open: Open::Records(|paths, slice| Ok(Box::new(PuzzleReader::open(paths, slice)?))),
    },
    Format {
        name: "Megatron datasets",
        signs: "no train/ or valid/ with shards",
        knows: is_megatron,
        open: Open::Records(|paths, slice| Ok(Box::new(KdReader::open(paths, slice)?))),
    },
    Format {
        name: "pools of games",
        signs: "no steps.npy or steps-*.npy",
        knows: is_pool,
        open: Open::Records(|paths, slice| Ok(Box::new(PoolReader::open(paths, slice)?))),
    },
    Format {
        name: "folders of Parquet shards",
        signs: "no *.parquet",
        knows: parquet::is_folder,
        open: Open::Files(parquet::files_in),
    },
];

/// Opens what the arguments name: datasets of one format, or files and streams.
pub fn open(args: &InputArgs, request: impl Into<Request>) -> Result<Reader> {
    let format_of = |path: &PathBuf| FORMATS.iter().find(|format| (format.knows)(path));
    let mut args = args.clone();
    let Some(format) = args.files.iter().find_map(format_of) else {
        refuse_directories(&args.files)?;
        return Reader::open(&args, request);
    };
    match format.open {
        Open::Records(open) => {
            if let Some(other) = args.files.iter().find(|path| !(format.knows)(path)) {
                return Err(Error::usage(format!(
                    "{} and other files cannot be read together",
                    format.name
                ))
                .at(shown(other)));
            }
            let reader = open(&args.files, args.slice)?;
            let name = args.files.first().map(|path| shown(path)).unwrap_or_default();
            let records = reader.records();
            let notes = reader.notes();
            let source = DatasetSource { reader, name, conform: None };
            Ok(Reader::over(Box::new(source), records, request)?.with_notes(notes))
        }
        Open::Files(files) => {
            let mut all = Vec::new();
            for path in &args.files {
                match (format.knows)(path) {
                    true => all.extend(files(path)?),
                    false => all.push(path.clone()),
                }
            }
            args.files = all;
            refuse_directories(&args.files)?;
            Reader::open(&args, request)
        }
    }
}

fn refuse_directories(paths: &[PathBuf]) -> Result<()> {
    let Some(directory) = paths.iter().find(|path| path.is_dir()) else { return Ok(()) };
    let signs: Vec<&str> = FORMATS.iter().map(|format| format.signs).collect();
    Err(Error::usage(format!("is a directory without a dataset ({})", signs.join(", ")))
        .at(shown(directory)))
}

/// Datasets of one format as a source of batches in the schema that is wanted.
struct DatasetSource {
    reader: Box<dyn DatasetReader>,
    name: String,
    /// Made with the first batch, when the schema is known.
    conform: Option<Conform>,
}

impl RecordSource for DatasetSource {
    fn record(&mut self, _: &'static RecordType) -> Result<Option<&'static RecordType>> {
        Ok(Some(self.reader.record()))
    }

    fn begin(&mut self, wanted: Option<&Wanted>) -> Result<(Header, SchemaRef)> {
        let record = self.reader.record();
        match wanted.filter(|wanted| wanted.record.name != record.name) {
            Some(wanted) => Err(wanted.instead_of(&self.name, &format!("{} records", record.name))),
            None => Ok((self.reader.header(), self.reader.schema())),
        }
    }

    fn next(
        &mut self,
        wanted: Option<&Wanted>,
        schema: &SchemaRef,
        most: u64,
    ) -> Result<Option<Batch>> {
        let games = wanted.is_some_and(|wanted| wanted.games);
        let Some(mut batch) = self.reader.next_batch(most, games)? else { return Ok(None) };
        if batch.games.is_none() {
            let conform = match &self.conform {
                Some(conform) => conform,
                None => {
                    let made = Conform::new(&batch.records.schema(), schema);
                    self.conform.insert(made.map_err(|e| Error::data(e).at(&self.name))?)
                }
            };
            let records = conform.apply(&batch.records);
            batch.records = records.map_err(|e| Error::data(e).at(&self.name))?;
        }
        Ok(Some(batch))
    }
}
