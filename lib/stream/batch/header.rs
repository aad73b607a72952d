//! The header: what a stream states besides its records. In Arrow it is the schema metadata.
//!
//! NDJSON has no header. There a [`Header`] is empty, and sinks have flags for what they need to know.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use arrow_schema::{Schema, SchemaRef};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Counts, DroppedRecords, Parameters, SkippedRecords, Statement};
use crate::digest::sha256_hex;
use crate::error::{At, Error, Result, shown};
use crate::files;
use crate::provenance::InputManifest;
use crate::record::{RecordType, record_type, record_type_with};

const RECORD: &str = "gristmill.record";
const VERSION: &str = "gristmill.version";
const PARAMETERS: &str = "gristmill.parameters";
const PROVENANCE: &str = "gristmill.provenance";
const REJECTED: &str = "gristmill.rejected";
const SKIPPED: &str = "gristmill.skipped";
/// The text for a number that is not known.
const UNKNOWN: &str = "null";
/// The prefix of all our keys.
const OURS: &str = "gristmill.";
const COUNTS: &str = "gristmill.counts";
const TOKENIZER_LOCATION: &str = "gristmill.tokenizer_location";

/// Where the files of a header's tokenizer are, as the user named them, to help the filters that follow. Only
/// streams have this; manifests and files are equal on every machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenizerLocation {
    /// The folder of the model, or its `tokenizer.json`.
    pub folder: PathBuf,
    /// The file of the chat template, if it is not the folder's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<PathBuf>,
    /// The SHA-256 of the files that were read, by their names below the folder.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sha256: BTreeMap<String, String>,
}

/// The record type, the parameters that matter downstream, and the chain of filters so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Header {
    /// The name and version of the record type; `None` if the stream does not state it.
    pub record: Option<(String, u64)>,
    /// Vocabulary hash, policy, alignment, limits, inputs: see SPEC.md.
    pub parameters: Parameters,
    /// One entry for each filter that the records came through, the first filter first.
    pub provenance: Vec<Value>,
    /// Where the files of the tokenizer are, if that is known.
    pub tokenizer_location: Option<TokenizerLocation>,
    /// What the filters so far have dropped. As it is known only at the end, it stands in the header of an empty
    /// stream after the records' stream, see [`Writer::finish`](crate::stream::Writer::finish).
    pub dropped: DroppedRecords,
}

impl Header {
    /// Returns the header of records about which nothing more is known.
    pub fn of_record(record: &RecordType) -> Header {
        Header::default().through(record, None)
    }

    /// Reads the metadata of a schema; metadata without our keys gives an empty header.
    pub fn of(schema: &Schema) -> Result<Header> {
        let metadata = schema.metadata();
        let parse = |key: &str| -> Result<Option<Value>> {
            let Some(text) = metadata.get(key) else { return Ok(None) };
            serde_json::from_str(text)
                .map(Some)
                .map_err(|e| Error::data(format!("schema metadata {key}: {e}")))
        };
        let number = |key: &str, default: u64| match metadata.get(key) {
            Some(text) => text
                .parse()
                .map_err(|_| Error::data(format!("schema metadata {key}: not a number: {text:?}"))),
            None => Ok(default),
        };
        let version = number(VERSION, 1)?;
        let rejected = if metadata.get(REJECTED).is_some_and(|text| text == UNKNOWN) {
            None
        } else {
            Some(number(REJECTED, 0)?)
        };
        let parameters = match parse(PARAMETERS)? {
            Some(Value::Object(parameters)) => Parameters::of(parameters),
            None => Parameters::default(),
            Some(_) => return Err(Error::data(format!("schema metadata {PARAMETERS}: no object"))),
        };
        let provenance = match parse(PROVENANCE)? {
            Some(Value::Array(entries)) => entries,
            None => Vec::new(),
            Some(_) => return Err(Error::data(format!("schema metadata {PROVENANCE}: no array"))),
        };
        let skipped = match metadata.get(SKIPPED).map(|text| serde_json::from_str(text)) {
            Some(skipped) => {
                skipped.map_err(|e| Error::data(format!("schema metadata {SKIPPED}: {e}")))?
            }
            None => Some(SkippedRecords::default()),
        };
        let record = metadata.get(RECORD).map(|name| (name.clone(), version));
        let location = parse(TOKENIZER_LOCATION)?.map(serde_json::from_value).transpose();
        let tokenizer_location = location
            .map_err(|e| Error::data(format!("schema metadata {TOKENIZER_LOCATION}: {e}")))?;
        let dropped = DroppedRecords { rejected, skipped };
        Ok(Header { record, parameters, provenance, tokenizer_location, dropped })
    }

    /// Whether a schema has a header of ours.
    pub fn is_in(schema: &Schema) -> bool {
        schema.metadata().keys().any(|key| key.starts_with(OURS))
    }

    /// Returns the schema with this header as its metadata.
    pub fn put_into(&self, schema: &Schema) -> SchemaRef {
        let mut metadata = HashMap::new();
        if let Some((name, version)) = &self.record {
            metadata.insert(RECORD.to_string(), name.clone());
            metadata.insert(VERSION.to_string(), version.to_string());
        }
        if !self.parameters.is_empty() {
            metadata.insert(PARAMETERS.to_string(), json!(self.parameters).to_string());
        }
        if !self.provenance.is_empty() {
            let text = Value::Array(self.provenance.clone()).to_string();
            metadata.insert(PROVENANCE.to_string(), text);
        }
        if let Some(location) = &self.tokenizer_location
            // (A path that is not UTF-8 cannot be stated.)
            && let Ok(text) = serde_json::to_string(location)
        {
            metadata.insert(TOKENIZER_LOCATION.to_string(), text);
        }
        let DroppedRecords { rejected, skipped } = &self.dropped;
        if *rejected != Some(0) {
            metadata.insert(REJECTED.to_string(), json!(rejected).to_string());
        }
        if skipped.as_ref().is_none_or(|skipped| !skipped.is_empty()) {
            metadata.insert(SKIPPED.to_string(), json!(skipped).to_string());
        }
        SchemaRef::new(schema.clone().with_metadata(metadata))
    }

    /// Returns the header of a filter's output for this stream: the filter's record type, and its
    /// entry at the end of the chain (or no chain at all).
    pub fn through(&self, record: &RecordType, entry: Option<Value>) -> Header {
        let provenance = match entry {
            Some(entry) => self.provenance.iter().cloned().chain([entry]).collect(),
            None => Vec::new(),
        };
        Header {
            record: Some((record.name.to_string(), record.version)),
            parameters: self.parameters.clone(),
            provenance,
            tokenizer_location: self.tokenizer_location.clone(),
            dropped: DroppedRecords::default(),
        }
    }

    /// Returns the header for the end of the stream, when the counts are known.
    pub fn with_counts(self, counts: &Counts) -> Header {
        Header { dropped: counts.dropped(), ..self }
    }

    /// Returns the stated type of the records, or else the type that the columns show.
    pub fn record_type(&self, schema: &Schema) -> Option<&'static RecordType> {
        match &self.record {
            Some((name, _)) => record_type(name),
            None => record_type_with(|name| schema.column_with_name(name).is_some()),
        }
    }

    /// Whether this filter is in the chain that made the records.
    pub fn has_made(&self, filter: &str) -> bool {
        self.provenance.iter().any(|entry| entry["name"] == filter)
    }

    /// See [`Parameters::get`].
    pub fn get<T: DeserializeOwned>(&self, of: &Statement<T>) -> Option<T> {
        self.parameters.get(of)
    }

    /// See [`Parameters::set`].
    pub fn set<T: Serialize>(&mut self, of: &Statement<T>, value: impl Into<Option<T>>) {
        self.parameters.set(of, value);
    }

    /// Returns the common header of inputs that follow one another. A parameter that differs is null; the chains of
    /// their filters stand one after another, equal chains once.
    pub fn and(self, next: &Header) -> Header {
        let parameters = self.parameters.and(&next.parameters);
        let mut provenance = self.provenance;
        if !provenance.ends_with(&next.provenance) {
            provenance.extend(next.provenance.iter().cloned());
        }
        // (Where the tokenizers are not one, nothing is stated of them.)
        let tokenizer_location = self.tokenizer_location.or(next.tokenizer_location.clone());
        Header { parameters, provenance, tokenizer_location, ..self }
    }
}

crate::statements! {
    pub CUT_SHARD: String = "shard",
        "`--shard`": "which part of the files these are the records of (`0/8`), if files were cut";
}

impl Counts {
    /// Reads the counts from the metadata of a file's schema, if there are any.
    pub fn of(schema: &Schema) -> Result<Option<Counts>> {
        let counts = schema.metadata().get(COUNTS).map(|text| serde_json::from_str(text));
        counts.transpose().map_err(|e| Error::data(format!("schema metadata {COUNTS}: {e}")))
    }
}

/// Returns a header and the counts as the metadata of a file, sorted by their keys.
pub fn file_metadata(header: &Header, counts: &Counts) -> Vec<(String, String)> {
    let header = Header { tokenizer_location: None, ..header.clone() };
    let schema = header.put_into(&Schema::empty());
    let counts = [(COUNTS.to_string(), json!(counts).to_string())];
    let metadata = schema.metadata().iter().map(|(key, value)| (key.clone(), value.clone()));
    let mut metadata: Vec<(String, String)> = metadata.chain(counts).collect();
    metadata.sort();
    metadata
}

/// Returns the manifest beside the input files, if they are all in one directory: its path and
/// sha256, and whether the inputs were compared with it; `None` if there is none.
pub fn input_manifest(files: &[PathBuf], compared: bool) -> Result<Option<InputManifest>> {
    let mut directories = files.iter().map(|file| file.parent());
    let Some(Some(directory)) = directories.next() else { return Ok(None) };
    let path = directory.join("manifest.json");
    if !files::is_member(&path)? || directories.any(|other| other != Some(directory)) {
        return Ok(None);
    }
    let sha256 = manifest_sha256(&path)?;
    Ok(Some(InputManifest { path: shown(&path), sha256, compared: Some(compared) }))
}

/// The fields of our manifest of conversations that change from run to run. (The published format has the first
/// two at the top level.)
const OF_RUN: [&str; 3] = ["created_unix_s", "dataset_dir", "run"];

/// Returns the sha256 (hex) of an input's manifest, as other manifests record it. It is the hash of the file. For
/// our own manifests (only these have a `run`), it is the hash of their compact JSON without the fields that
/// change from run to run.
pub fn manifest_sha256(path: &Path) -> Result<String> {
    let text = files::read_member(path).at(path)?;
    let Ok(Value::Object(mut manifest)) = serde_json::from_slice::<Value>(&text) else {
        return Ok(sha256_hex(&text));
    };
    if !manifest.contains_key("run") {
        return Ok(sha256_hex(&text));
    }
    OF_RUN.iter().for_each(|name| drop(manifest.shift_remove(*name)));
    let shards = manifest.get_mut("storage").and_then(|storage| storage.get_mut("shards"));
    for shard in shards.and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(Value::String(path)) = shard.get_mut("path") {
            *path = path.rsplit('/').next().unwrap_or_default().to_string();
        }
    }
    Ok(sha256_hex(Value::Object(manifest).to_string().as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_survives_the_metadata() {
        let mut header = Header::default().through(&RecordType::PLAIN, Some(json!({"name": "x"})));
        header.set(&CUT_SHARD, "0/8".to_string());
        let schema = header.put_into(&RecordType::PLAIN.schema());
        assert_eq!(Header::of(&schema).ok(), Some(header));
    }
}
