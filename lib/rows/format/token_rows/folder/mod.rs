//! Rows in folders of trainers' own formats: one sequence a row, a label at its own token. FORMAT.md of rows has the files.

mod datasets;
mod olmo;

use std::io::BufWriter;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde::Serialize;
use serde_json::Value;

use super::columns::IGNORED;
use super::window::Window;
use crate::batch::{Batch, Counts, Header, Parameters, Sink, SinkSummary, SkippedRecords};
use crate::cli::Rejects;
use crate::error::{Error, Result, shown};
use crate::files;
use crate::format::kd_root::RowRule;
use crate::format::{RecordCounts, json_file};
use crate::harmony::Alignment;
use crate::ordered::Flow;
use crate::publish::{PendingFile, StandingFiles, Target, publish, refuse_existing};
use crate::record::tokens::Tokens;
use crate::stream::row_json;
use crate::tokenizer::EOD;
use crate::wording::counted;

/// The trainer for which a folder is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FolderForm {
    /// A dataset of `datasets` on disk: LLaMA-Factory's `tokenized_path`, `load_from_disk`.
    LlamaFactory,
    /// OLMo-core's arrays of tokens, of masks, and the ends of documents.
    OlmoCore,
}

impl FolderForm {
    pub fn name(self) -> &'static str {
        match self {
            FolderForm::LlamaFactory => "llama-factory",
            FolderForm::OlmoCore => "olmo-core",
        }
    }

    /// Whether its sequences may be padded. (OLMo-core cuts its rows from all documents.)
    pub fn has_padding(self) -> bool {
        self == FolderForm::LlamaFactory
    }

    /// Returns the file that makes a folder complete.
    fn last(self) -> &'static str {
        match self {
            FolderForm::LlamaFactory => datasets::STATE,
            FolderForm::OlmoCore => MANIFEST,
        }
    }

    fn is_member(self, name: &str) -> bool {
        name == MANIFEST
            || match self {
                FolderForm::LlamaFactory => datasets::is_member(name),
                FolderForm::OlmoCore => olmo::is_member(name),
            }
    }
}

/// What gristmill says of a folder.
const MANIFEST: &str = "rows.json";
const SCHEMA: &str = "gristmill_folder_v1";

/// A block of rows ends with this many sequences or tokens.
const BLOCK_SEQUENCES: usize = 1000;
const BLOCK_TOKENS: usize = 1 << 20;

/// How a folder is written.
#[derive(Debug, Clone)]
pub struct FolderSettings {
    pub form: FolderForm,
    pub path: PathBuf,
    pub keep_eod: bool,
    /// Each sequence is padded to a multiple of this many positions, with this token.
    pub row_multiple: NonZeroU32,
    pub pad: i32,
    pub overwrite: bool,
    /// Whether a folder may be published in which nothing is trained on.
    pub allow_unsupervised: bool,
}

impl FolderSettings {
    /// Refuses a folder that stands there already.
    pub fn refuse_existing(&self) -> Result<()> {
        refuse_existing(&FolderTarget(self), self.overwrite)
    }
}

/// Sequences that are written together.
#[derive(Debug, Default)]
struct Block {
    tokens: Vec<i32>,
    /// The token where it is trained on, else [`IGNORED`].
    labels: Vec<i32>,
    /// The number of tokens up to the end of each sequence, with its padding, and the padding.
    ends: Vec<usize>,
    padding: Vec<usize>,
}

/// Writes the files of a form.
trait FolderWriter {
    fn write(&mut self, block: &Block) -> Result<()>;

    /// Returns the files; the last one makes the folder complete.
    fn finish(self: Box<Self>) -> Result<Vec<PendingFile>>;
}

/// Writes sequences into a folder.
pub struct FolderSink {
    settings: FolderSettings,
    header: Header,
    writer: Box<dyn FolderWriter + Send>,
    window: Window,
    rule: Option<RowRule>,
    block: Block,
    totals: FolderTotals,
}

#[derive(Debug, Clone, Copy, Default, Serialize)]
struct FolderTotals {
    sequences: u64,
    tokens: u64,
    trained_tokens: u64,
    #[serde(skip_serializing_if = "is_zero")]
    padding_tokens: u64,
    #[serde(skip)]
    empty: u64,
}

#[derive(Serialize)]
struct FolderManifest {
    schema_version: &'static str,
    form: FolderForm,
    keep_eod: bool,
    #[serde(flatten)]
    totals: FolderTotals,
    records: RecordCounts,
    parameters: Parameters,
    provenance: Vec<Value>,
}

impl FolderSink {
    pub fn create(
        settings: FolderSettings,
        header: Header,
        rule: Option<RowRule>,
    ) -> Result<FolderSink> {
        Alignment::refuse_token_in(&header)?;
        settings.refuse_existing()?;
        let path = settings.path.as_path();
        let writer: Box<dyn FolderWriter + Send> = match settings.form {
            FolderForm::LlamaFactory => Box::new(datasets::DatasetsWriter::create(path)?),
            FolderForm::OlmoCore => Box::new(olmo::OlmoWriter::create(path)?),
        };
        let (window, block, totals) = Default::default();
        Ok(FolderSink { settings, header, writer, window, rule, block, totals })
    }

    /// Moves the record of the window into the block.
    fn take(&mut self) -> Result<()> {
        let (tokens, mask) = self.window.values_of_all();
        let length = match tokens.last() {
            Some(&EOD) if !self.settings.keep_eod => tokens.len() - 1,
            _ => tokens.len(),
        };
        let tokens = &tokens[..length];
        let FolderTotals { sequences, tokens: all, trained_tokens, padding_tokens, empty } =
            &mut self.totals;
        if tokens.is_empty() {
            *empty += 1;
        } else {
            // (A mask is about the next token; nothing predicts the first one.)
            let before = std::iter::once(&0).chain(mask);
            let label = |(&token, &mask): (&i32, &u8)| if mask == 1 { token } else { IGNORED };
            let from = self.block.labels.len();
            self.block.labels.extend(tokens.iter().zip(before).map(label));
            let trained = self.block.labels[from..].iter().filter(|label| **label != IGNORED);
            *trained_tokens += trained.count() as u64;
            *sequences += 1;
            *all += length as u64;
            self.block.tokens.extend_from_slice(tokens);
            let padding =
                length.next_multiple_of(self.settings.row_multiple.get() as usize) - length;
            *padding_tokens += padding as u64;
            self.block.tokens.extend(std::iter::repeat_n(self.settings.pad, padding));
            self.block.labels.extend(std::iter::repeat_n(IGNORED, padding));
            self.block.padding.push(padding);
            self.block.ends.push(self.block.tokens.len());
        }
        self.window.clear();
        let is_full =
            self.block.ends.len() >= BLOCK_SEQUENCES || self.block.tokens.len() >= BLOCK_TOKENS;
        if is_full { self.write_block() } else { Ok(()) }
    }

    fn write_block(&mut self) -> Result<()> {
        if !self.block.ends.is_empty() {
            self.writer.write(&self.block)?;
            let Block { tokens, labels, ends, padding } = &mut self.block;
            tokens.clear();
            labels.clear();
            ends.clear();
            padding.clear();
        }
        Ok(())
    }
}

impl Sink for FolderSink {
    fn write(&mut self, mut batch: Batch, rejects: &mut Rejects) -> Result<Flow> {
        let records = batch.records.clone();
        let view = Tokens::of(&records)?;
        for row in 0..view.len() {
            let place = batch.origin.place(row);
            let columns = (self.settings.keep_eod, false, false);
            match self.window.push(&view, row, place, columns, &mut self.rule) {
                Ok(()) => self.take()?,
                Err(cause) => batch.reject_row((&records, row), view.id(row), cause, row_json),
            }
        }
        rejects.take(batch.rejected)?;
        Ok(Flow::Continue)
    }

    fn finish(mut self, mut counts: Counts) -> Result<SinkSummary> {
        self.write_block()?;
        let FolderSink { settings, header, writer, totals, .. } = self;
        let FolderSettings { form, path, keep_eod, overwrite, allow_unsupervised, .. } = &settings;
        let mut skipped = SkippedRecords::default();
        skipped.count_many("without a token", totals.empty);
        counts.skipped = counts.skipped.map(|mut before| {
            before.add(&skipped);
            before
        });
        if totals.trained_tokens == 0 && !allow_unsupervised {
            let cause = "nothing is trained on in any row";
            return Err(Error::data(cause).at(path.as_path()).hint("--allow-unsupervised"));
        }
        let manifest = FolderManifest {
            schema_version: SCHEMA,
            form: *form,
            keep_eod: *keep_eod,
            totals,
            records: RecordCounts::written(totals.sequences, counts),
            parameters: header.parameters,
            provenance: header.provenance,
        };
        let mut files = writer.finish()?;
        let manifest = json_file::pending(&path.join(MANIFEST), &manifest)?;
        let at = if form.last() == MANIFEST { files.len() } else { files.len() - 1 };
        files.insert(at, manifest);
        publish(&FolderTarget(&settings), files, *overwrite)?;
        let made = format!(
            "{}, {}, {} trained on",
            counted(totals.sequences, "row"),
            counted(totals.tokens, "token"),
            counted(totals.trained_tokens, "token"),
        );
        Ok(SinkSummary { made: Some(made), left: None, warnings: Vec::new() })
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

struct FolderTarget<'a>(&'a FolderSettings);

impl Target for FolderTarget<'_> {
    fn directory(&self) -> PathBuf {
        self.0.path.clone()
    }

    fn manifest(&self) -> PathBuf {
        self.0.path.join(self.0.form.last())
    }

    /// The files of this form. Those of others stay, and are not looked at.
    fn standing(&self) -> Result<StandingFiles> {
        let FolderSettings { form, path, .. } = self.0;
        let name = |path: &PathBuf| Some(form.is_member(path.file_name()?.to_str()?));
        let found = files::paths_if_there(path)?.into_iter();
        let files = found.filter(|path| name(path) == Some(true)).collect();
        Ok(StandingFiles { files, ..StandingFiles::default() })
    }
}

/// Returns the name of a part of a folder.
fn part(folder: &Path, before: &str, number: usize, ending: &str) -> PathBuf {
    folder.join(format!("{before}{number:04}{ending}"))
}

/// Ends a file that is written through a buffer.
fn finished(file: BufWriter<PendingFile>) -> Result<PendingFile> {
    let path = shown(file.get_ref().path());
    file.into_inner().map_err(|error| Error::write(path, error.error()))
}
