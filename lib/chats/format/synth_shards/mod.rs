//! The manifest of a folder of conversations, `synth_harmony_shard_NN.parquet`. It is made from the footers
//! of the shards; FORMAT.md beside this file describes it.

mod join;

use std::collections::{BTreeMap, HashSet};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use arrow_schema::{DataType, Schema};
use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use join::{ConversationJoin, ConversationPart};

use super::parquet::{MANIFEST, ParquetFile, all_files_in, files_in};
use super::{Format, Opener, RecordCounts, json_file};
use crate::batch::{Counts, Header, SkippedRecords};
use crate::digest::sha256_of;
use crate::error::{At, Error, Result, shown};
use crate::files::open_member;
use crate::provenance::{BuildRun, DatasetOrigin, git_sha};
use crate::publish::{TargetLock, publish_file_locked};
use crate::record::statements::{CONVERSION, INPUTS};
use crate::wording::{counted, exactly};

pub const SCHEMA: &str = "synth_harmony_v1";
/// Folders of Parquet files, which are read one by one.
pub const FORMAT: Format = Format {
    name: "folders of Parquet shards",
    owner: "a folder of Parquet shards",
    signs: "*.parquet",
    folders: &[""],
    endings: &["parquet", "json"],
    // (Other datasets have Parquet files too; a folder of such files is known by its manifest.)
    is_sign: |_, _| false,
    schema: Some(SCHEMA),
    knows: |path| Ok(crate::files::is_directory(path)? && !files_in(path)?.is_empty()),
    open: Opener::Files(all_files_in),
    // Its manifest is compared where its files are listed.
    stated: |_| Ok(Vec::new()),
    members: |_| Vec::new(),
    beside: |_| Ok(Vec::new()),
    refuse_missing: |_| Ok(()),
};

/// The pattern of the names of shards.
pub const GLOB: &str = "synth_harmony_shard_*.parquet";
/// The default number of rows of a row group.
pub const GROUP_ROWS: NonZeroUsize = NonZeroUsize::new(1000).unwrap();

/// `manifest.json` beside the shards.
#[derive(Debug, Clone, Serialize)]
pub struct SynthManifest {
    pub schema_version: &'static str,
    pub created_unix_s: u64,
    pub git_sha: Option<String>,
    pub dataset_dir: String,
    pub conversion: Conversion,
    pub storage: Storage,
    pub records: Records,
    pub limits: Value,
    /// The files of raw rows.
    pub inputs: Vec<Value>,
    pub provenance: Vec<Chain>,
    /// How a script made each shard, by the shard's name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub made: BTreeMap<String, DatasetOrigin>,
    pub run: BuildRun,
}

/// The source of the rows, and how they were converted.
#[derive(Debug, Clone, Serialize)]
pub struct Conversion {
    pub dataset: String,
    pub split: String,
    pub streaming: bool,
    pub num_shards: u64,
    /// The settings of synth-harmony.
    #[serde(flatten)]
    pub settings: Map<String, Value>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Storage {
    pub format: &'static str,
    pub glob: String,
    pub schema_arrow: String,
    pub total_rows: u64,
    pub total_bytes: u64,
    pub shards: Vec<Shard>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Shard {
    pub path: String,
    pub bytes: u64,
    pub rows: u64,
    pub row_groups: u64,
    pub sha256: String,
    pub records: Records,
}

/// The counts of raw rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Records {
    pub read: Option<u64>,
    pub written: u64,
    pub rejected: Option<u64>,
    /// Skipped rows by reason, even if there are none.
    pub skipped: Option<SkippedRecords>,
}

/// The filters that made a shard.
#[derive(Debug, Clone, Serialize)]
pub struct Chain {
    pub shard: String,
    pub filters: Vec<Value>,
}

/// What the command line says about the input, to be recorded.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Args)]
pub struct RecordedInput {
    /// Record this pattern of the shards in the input's folder
    #[arg(long, value_name = "GLOB", help_heading = "Recorded")]
    pub glob: Option<String>,

    /// Record this name of the raw rows, for a folder of conversations (PleIAs/SYNTH)
    #[arg(long, value_name = "NAME", help_heading = "Recorded")]
    pub dataset: Option<String>,

    /// Record this split of the raw rows (train)
    #[arg(long, value_name = "NAME", help_heading = "Recorded")]
    pub split: Option<String>,
}

/// The source of the raw rows of a folder of conversations; the shards do not state it.
#[derive(Debug)]
pub struct SynthSource {
    pub dataset: String,
    pub split: String,
    pub glob: String,
}

/// The default name of the set of raw rows.
const DATASET: &str = "PleIAs/SYNTH";
const SPLIT: &str = "train";

impl SynthSource {
    /// Records what the command line states, with the defaults of the published converter.
    pub fn new(recorded: &RecordedInput) -> SynthSource {
        let or = |text: &Option<String>, default: &str| {
            text.clone().unwrap_or_else(|| default.to_string())
        };
        SynthSource {
            dataset: or(&recorded.dataset, DATASET),
            split: or(&recorded.split, SPLIT),
            glob: or(&recorded.glob, GLOB),
        }
    }
}

/// A shard and the content of its footer.
struct FoundShard {
    path: PathBuf,
    shard: Shard,
    schema: String,
    provenance: Vec<Value>,
    made: Footer,
}

/// What synth-harmony writes to the footer.
#[derive(Debug, Deserialize)]
struct Footer {
    /// The I-th of N shards, if the files were divided.
    shard: Option<String>,
    inputs: Vec<Value>,
    limits: Value,
    #[serde(flatten)]
    settings: Map<String, Value>,
}

/// Returns the file of a shard: `shard_00` is in `synth_harmony_shard_00.parquet`.
pub fn file_name(shard: &str) -> String {
    format!("synth_harmony_{shard}.parquet")
}

/// Whether a folder holds shards of conversations.
pub fn is_folder_of_shards(folder: &Path) -> Result<bool> {
    // Beside a root's parts there may be ids of other prefixes.
    let is_root = crate::files::is_directory(&folder.join("parts"))?;
    Ok(crate::files::is_directory(folder)? && !is_root && !files_in(folder)?.is_empty())
}

impl SynthManifest {
    /// Reads the footers of all shards, and compares them with one another.
    pub fn collect(folder: &Path, source: SynthSource, run: BuildRun) -> Result<SynthManifest> {
        let mut paths = files_in(folder)?;
        paths.retain(|path| is_named(path, &source.glob));
        let found = paths.iter().map(|path| FoundShard::read(folder, path));
        let found = found.collect::<Result<Vec<FoundShard>>>()?;
        let Some(first) = found.first() else {
            let cause = format!("no shards match {:?}", source.glob);
            return Err(Error::usage(cause).at(folder));
        };
        found.iter().try_for_each(|other| other.check_same(first))?;
        let num_shards = check_complete(folder, &found)?;
        let overflow = || Error::data("its shards have more than 2^64 rows or bytes").at(folder);
        let sums = found.iter().try_fold(
            (0u64, 0u64, Records::from(RecordCounts::default())),
            |sums, found| {
                let (rows, bytes, records) = sums;
                let Shard { rows: more, bytes: size, records: own, .. } = &found.shard;
                Some((rows.checked_add(*more)?, bytes.checked_add(*size)?, records.plus(own)?))
            },
        );
        let (total_rows, total_bytes, records) = sums.ok_or_else(overflow)?;
        Ok(SynthManifest {
            schema_version: SCHEMA,
            created_unix_s: run.created_unix_s,
            git_sha: git_sha(),
            dataset_dir: shown(folder),
            conversion: Conversion {
                dataset: source.dataset,
                split: source.split,
                streaming: true,
                num_shards,
                settings: first.made.settings.clone(),
            },
            storage: Storage {
                format: "parquet",
                glob: source.glob,
                schema_arrow: first.schema.clone(),
                total_rows,
                total_bytes,
                shards: found.iter().map(|found| found.shard.clone()).collect(),
            },
            records,
            limits: first.made.limits.clone(),
            inputs: found.iter().flat_map(|found| found.made.inputs.clone()).collect(),
            provenance: found.iter().map(FoundShard::chain).collect(),
            made: BTreeMap::new(),
            run,
        })
    }

    /// Writes `manifest.json`; `lock` is the lock under which it was collected.
    pub fn publish(&self, folder: &Path, lock: &TargetLock) -> Result<()> {
        FORMAT.refuse_others(folder)?;
        publish_file_locked(json_file::pending(&folder.join(MANIFEST), self)?, lock)
    }

    /// Returns a summary in one line.
    pub fn summary(&self) -> String {
        let Records { read, written, rejected, skipped } = &self.records;
        let shards = self.storage.shards.len();
        let mut line =
            format!("{}, {}", counted(shards as u64, "shard"), counted(*written, "conversation"));
        if let Some(read) = read {
            line += &format!(" of {read}", read = exactly(*read, "row"));
        }
        let skips = skipped.as_ref().map_or(0, SkippedRecords::records);
        for (count, what) in [(skips, "skipped"), (rejected.unwrap_or(0), "rejected")] {
            if count > 0 {
                line += &format!(", {count} {what}");
            }
        }
        if let Some(skipped) = skipped.as_ref().filter(|skipped| !skipped.is_empty()) {
            line += &format!(" ({skipped})");
        }
        line + "\n"
    }
}

impl Records {
    fn plus(&self, other: &Records) -> Option<Records> {
        let both = [self, other].map(|records| RecordCounts::from(records.clone()));
        Some(Records::from(RecordCounts::sum(both.into_iter())?))
    }
}

impl From<Records> for RecordCounts {
    fn from(Records { read, written, rejected, skipped }: Records) -> RecordCounts {
        RecordCounts { read, written, rejected, skipped }
    }
}

impl From<RecordCounts> for Records {
    fn from(RecordCounts { read, written, rejected, skipped }: RecordCounts) -> Records {
        Records { read, written, rejected, skipped }
    }
}

impl FoundShard {
    fn read(folder: &Path, path: &Path) -> Result<FoundShard> {
        let (bytes, sha256) = open_member(path).and_then(sha256_of).at(path)?;
        let file = ParquetFile::of_member(path)?;
        let header = Header::of(file.schema()).at(path)?;
        let counts = Counts::of(file.schema()).at(path)?;
        let (Some(made), Some(counts)) = (header.get(&CONVERSION), counts) else {
            let cause = "does not say how it was made: synth-harmony did not write it";
            return Err(Error::data(cause).at(path));
        };
        let made = serde_json::from_value(made);
        let made = made.map_err(|e| Error::data(format!("{}: {e}", CONVERSION.name)).at(path))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let records = RecordCounts::written(file.rows(), counts);
        let shard = Shard {
            path: shown(&folder.join(&*name)),
            bytes,
            rows: file.rows(),
            row_groups: file.row_groups(),
            sha256,
            records: Records::from(records),
        };
        let (path, schema) = (path.to_path_buf(), schema_text(file.schema()));
        Ok(FoundShard { path, shard, schema, provenance: header.provenance, made })
    }

    /// Checks that a shard was made in the same way as the first.
    fn check_same(&self, first: &FoundShard) -> Result<()> {
        let same = [
            ("columns are", self.schema == first.schema),
            ("settings are", self.made.settings == first.made.settings),
            ("limits are", self.made.limits == first.made.limits),
        ];
        match same.iter().find(|(_, is_same)| !is_same) {
            Some((what, _)) => {
                let cause = format!("its {what} not those of {}", shown(&first.path));
                Err(Error::data(cause).at(self.path.as_path()))
            }
            None => Ok(()),
        }
    }

    fn chain(&self) -> Chain {
        let shard = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Chain { shard, filters: self.provenance.clone() }
    }
}

/// Refuses a folder that has shards whose files have none of these names, before anything in it
/// changes.
pub fn refuse_surplus(folder: &Path, source: &SynthSource, names: &HashSet<String>) -> Result<()> {
    let paths = if crate::files::is_directory(folder)? { files_in(folder)? } else { Vec::new() };
    let is_expected = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        !is_named(path, &source.glob) || names.contains(&*name)
    };
    match paths.iter().find(|path| !is_expected(path)) {
        Some(path) => Err(Error::data("is not one of the shards expected")
            .at(path.as_path())
            .hint("another folder, or remove it")),
        None => Ok(()),
    }
}

/// Returns how many shards there are; all must exist.
fn check_complete(folder: &Path, found: &[FoundShard]) -> Result<u64> {
    let Some(Some(count)) = found
        .iter()
        .map(|found| found.made.shard.as_deref())
        .max()
        .map(|shard| shard.and_then(|shard| shard.split_once('/')?.1.parse::<u64>().ok()))
    else {
        return Ok(found.len() as u64);
    };
    for index in 0..count {
        let is_it =
            |found: &&FoundShard| found.made.shard.as_deref() == Some(&format!("{index}/{count}"));
        match found.iter().filter(is_it).count() {
            1 => {}
            0 => return Err(Error::data(format!("shard {index}/{count} is missing")).at(folder)),
            _ => {
                return Err(Error::data(format!("shard {index}/{count} is there twice")).at(folder));
            }
        }
    }
    if found.len() as u64 == count {
        Ok(count)
    } else {
        Err(Error::data(format!("there are shards beside the {count}")).at(folder))
    }
}

/// Whether a file exists that was made with the same settings and inputs, which are compared by
/// their hashes if they are hashed. Fails if a file exists that was made with others.
pub fn is_finished(path: &Path, header: &Header, are_hashed: bool) -> Result<bool> {
    if !crate::files::is_file(path)? {
        return Ok(false);
    }
    let file = ParquetFile::of_member(path)?;
    let made = Header::of(file.schema()).at(path)?;
    let (made, own) = (&made.parameters, &header.parameters);
    let is_same = made.value(&CONVERSION) == own.value(&CONVERSION);
    if is_same && (!are_hashed || made.value(&INPUTS) == own.value(&INPUTS)) {
        Ok(true)
    } else {
        let cause = "was made with other settings or of other inputs";
        Err(Error::usage(cause).at(path).hint("--overwrite"))
    }
}

/// Whether a file's name matches a pattern, in which `*` is any text.
fn is_named(path: &Path, pattern: &str) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let Some((begin, rest)) = pattern.split_once('*') else { return name == pattern };
    let Some(mut left) = name.strip_prefix(begin) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let Some(end) = parts.pop() else { return true };
    for part in parts {
        let Some(at) = left.find(part) else { return false };
        left = &left[at + part.len()..];
    }
    left.ends_with(end)
}

/// Returns a schema as pyarrow prints it.
fn schema_text(schema: &Schema) -> String {
    let line = |(name, data_type): (&String, &DataType)| match data_type {
        DataType::Utf8 => format!("{name}: string"),
        other => format!("{name}: {}", other.to_string().to_lowercase()),
    };
    let fields = schema.fields().iter().map(|field| line((field.name(), field.data_type())));
    fields.collect::<Vec<String>>().join("\n")
}
