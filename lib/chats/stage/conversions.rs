//! What is common to the filters that make conversations from other records.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use arrow_schema::SchemaRef;
use clap::Args;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::batch::{CUT_SHARD, Header, WantedRecords};
use crate::cli::{InputArgs, LimitArgs, Slice, Tool, WithoutEffect};
use crate::error::{Error, Result};
use crate::format::json_file;
use crate::format::synth_shards::is_finished;
use crate::inputs;
use crate::known_files::KnownFiles;
use crate::raw_files::{describe_raw, raw_files, shard_of};
use crate::record::RecordType;
use crate::record::statements::{CONVERSION, INPUTS};
use crate::stream::{FileOutputArgs, Output, Reader};

/// Where the records come from.
#[derive(Debug, Args)]
pub struct SourceArgs {
    #[command(flatten)]
    pub input: InputArgs,

    /// Read only part I of N of the files, whole files (--slice then takes a part of these); column
    /// types come from the first of all files
    ///
    /// Fewer files of NDJSON than N are cut as by --slice.
    #[arg(long, value_name = "I/N", help_heading = "Input")]
    shard: Option<Slice>,

    /// State name, size, rows and sha256 of each file in the header; this reads all files once more
    #[arg(long, help_heading = "Input", add = WithoutEffect)]
    hash_inputs: bool,

    /// Take from the plan.json FILE what it states of files that have their size and time of change still
    #[arg(long, value_name = "FILE", hide = true, add = WithoutEffect)]
    known_files: Option<PathBuf>,

    #[command(flatten)]
    limit: LimitArgs,
}

impl SourceArgs {
    /// Whether files are chosen or described one by one, also those below folders.
    pub fn is_of_files(&self) -> bool {
        self.shard.is_some() || self.hash_inputs
    }

    pub fn limit(&self) -> Option<u64> {
        self.limit.limit
    }

    /// Returns what is known about each file that was opened, if the user asks for it.
    pub fn described(&self) -> Result<Option<Vec<Value>>> {
        let mut known = self.input.known.clone();
        self.hash_inputs.then(|| describe_raw(&self.input.files, &mut known)).transpose()
    }

    /// Returns whether only what --hash-inputs states identifies these opened inputs: the settings identify Parquet files
    /// by their footers. Returns `None` if nothing identifies them.
    fn are_hashed(&self, reader: &Reader) -> Option<bool> {
        let files = &self.input.files;
        let are_files = !files.is_empty() && files.iter().all(|path| path.as_os_str() != "-");
        let have_footers = reader.sources().len() == files.len();
        (are_files && (have_footers || self.hash_inputs)).then_some(!have_footers)
    }

    /// Opens the files, also those below the folders.
    pub fn open(&mut self, wanted: WantedRecords) -> Result<Reader> {
        inputs::name(&self.input.files);
        if let Some(plan) = &self.known_files {
            #[derive(Deserialize)]
            struct Stated {
                #[serde(default)]
                files: KnownFiles,
            }
            let Stated { files } = json_file::read_all(plan)?;
            self.input.known = files.unchanged()?;
        }
        let files = raw_files(&self.input.files)?;
        let first = match self.shard {
            Some(_) if files.iter().all(|path| path.as_os_str() == "-") => {
                return Err(Error::usage("--shard divides files: give FILEs or folders"));
            }
            Some(shard) => {
                let (own, cut) = shard_of(&files, shard)?;
                (self.input.files, self.input.shard) = (own.to_vec(), cut);
                files.first().filter(|first| self.input.files.first() != Some(*first))
            }
            None => {
                self.input.files.clone_from(&files);
                None
            }
        };
        let reader = Reader::open_typed(&self.input, first.map(PathBuf::as_path), wanted)?;
        Ok(reader.first(self.limit.limit))
    }

    /// Returns the header of the output; `settings` states how it is made from the inputs.
    pub fn header(
        &self,
        record: &RecordType,
        reader: &Reader,
        settings: Value,
        entry: Option<Value>,
    ) -> Result<Header> {
        let mut header = reader.header().through(record, entry);
        self.state_conversion(&mut header, reader, settings);
        if let Some(inputs) = self.described()? {
            header.set(&INPUTS, inputs);
        }
        Ok(header)
    }

    /// States in a header how the records are made from the inputs.
    pub fn state_conversion(&self, header: &mut Header, reader: &Reader, mut settings: Value) {
        let slice = self.input.slice.map(|slice| slice.to_string());
        settings["shard"] = json!(self.shard.map(|shard| shard.to_string()));
        settings["inputs"] = json!(reader.sources());
        settings["limits"] = json!({"rows": self.limit.limit, "slice": slice});
        header.set(&CONVERSION, settings);
        self.state_cut(header);
    }
}

impl SourceArgs {
    /// States in a header that the records are a part of those of the inputs.
    pub fn state_cut(&self, header: &mut Header) {
        if let Some(shard) = self.input.shard {
            header.set(&CUT_SHARD, shard.to_string());
        }
    }

    /// Removes from a header the number of records of its inputs, which is not the number of
    /// conversations.
    pub fn forget_rows(&self, header: &mut Header) {
        if let Some(mut inputs) = header.get(&INPUTS) {
            inputs.iter_mut().for_each(|input| input["rows"] = Value::Null);
            header.set(&INPUTS, inputs);
        }
    }
}

/// Where the conversations go.
#[derive(Debug, Args)]
pub struct ConversationOutputArgs {
    #[command(flatten)]
    pub output: FileOutputArgs,

    /// Do nothing if the FILE of -o is finished, with the same settings and inputs
    #[arg(long, requires = "output", conflicts_with = "overwrite", help_heading = "Output")]
    #[arg(add = WithoutEffect)]
    resume: bool,

    /// Rows of each row group of a Parquet file
    #[arg(long, value_name = "N", default_value = "1000", help_heading = "Output")]
    row_group_rows: NonZeroUsize,
}

impl ConversationOutputArgs {
    /// Whether the file that is to be resumed is finished, with this header and from these inputs.
    pub fn is_finished(
        &self,
        header: &Header,
        source: &SourceArgs,
        reader: &Reader,
    ) -> Result<bool> {
        let Some(path) = self.output.output.as_deref().filter(|_| self.resume) else {
            return Ok(false);
        };
        if let Some(are_hashed) = source.are_hashed(reader) {
            return is_finished(path, header, are_hashed);
        }
        let cause = "--resume: expected inputs that can be compared, got NDJSON, Arrow or stdin";
        Err(Error::usage(cause).hint("FILEs with --hash-inputs"))
    }

    /// Whether conversations state the places of the records from which they were made. In an Arrow pipe they do,
    /// so that a sequence leads back to its record; a file has the form of the published converter.
    pub fn has_places(&self) -> bool {
        self.output.is_arrow_pipe()
    }

    /// Returns this filter's entry of the provenance.
    pub fn entry(&self, tool: &Tool) -> Option<Value> {
        (!self.output.no_provenance).then(|| tool.entry())
    }

    pub fn open(&self, schema: &SchemaRef, header: &Header, tool: &Tool) -> Result<Output> {
        self.output.open_grouped(schema, header, tool, Some(self.row_group_rows))
    }
}
