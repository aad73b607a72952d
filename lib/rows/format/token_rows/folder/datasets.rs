//! A folder as `Dataset.save_to_disk` of Hugging Face's `datasets` writes it: Arrow streams, the types of the columns,
//! and the list of the files. Source: `arrow_dataset.py`, `info.py` of datasets 4.

use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, Int8Array, Int32Array, ListArray, RecordBatch};
use arrow_buffer::{OffsetBuffer, ToByteSlice};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{Block, FolderWriter, finished, part};
use crate::error::{Error, Result, shown};
use crate::format::json_file;
use crate::publish::PendingFile;

/// The list of the files, without which nothing is loaded.
pub const STATE: &str = "state.json";
const INFO: &str = "dataset_info.json";
const PART: (&str, &str) = ("data-", ".arrow");

/// The bytes after which a file ends.
const PART_BYTES: usize = 500_000_000;

/// The columns, and the types of their items.
const COLUMNS: [(&str, DataType, &str); 3] = [
    ("input_ids", DataType::Int32, "int32"),
    ("attention_mask", DataType::Int8, "int8"),
    ("labels", DataType::Int32, "int32"),
];

pub fn is_member(name: &str) -> bool {
    name == STATE || name == INFO || name.starts_with(PART.0) && name.ends_with(PART.1)
}

pub struct DatasetsWriter {
    folder: PathBuf,
    schema: SchemaRef,
    /// The files that are complete, and the one that is written.
    done: Vec<PendingFile>,
    open: Option<StreamWriter<BufWriter<PendingFile>>>,
    bytes: usize,
    /// A hash of all tokens and labels: caches of `datasets` are named by it.
    fingerprint: u64,
}

impl DatasetsWriter {
    pub fn create(folder: &Path) -> Result<DatasetsWriter> {
        let field = |(name, item, _): &(&str, DataType, &str)| {
            let item = Arc::new(Field::new("item", item.clone(), true));
            Field::new(*name, DataType::List(item), true)
        };
        let schema = Arc::new(Schema::new(COLUMNS.iter().map(field).collect::<Vec<_>>()));
        let (folder, open, bytes) = (folder.to_path_buf(), None, 0);
        let mut writer =
            DatasetsWriter { folder, schema, done: Vec::new(), open, bytes, fingerprint: 0 };
        // (A dataset without rows has a file, too.)
        writer.begin()?;
        Ok(writer)
    }

    fn path(&self) -> PathBuf {
        part(&self.folder, PART.0, self.done.len(), PART.1)
    }

    fn begin(&mut self) -> Result<()> {
        let path = self.path();
        let file = BufWriter::new(PendingFile::create(&path)?);
        let writer = StreamWriter::try_new(file, &self.schema);
        self.open = Some(writer.map_err(|error| written(&path, error))?);
        self.bytes = 0;
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        let path = self.path();
        if let Some(open) = self.open.take() {
            let file = open.into_inner().map_err(|error| written(&path, error))?;
            self.done.push(finished(file)?);
        }
        Ok(())
    }
}

impl FolderWriter for DatasetsWriter {
    fn write(&mut self, block: &Block) -> Result<()> {
        if self.bytes >= PART_BYTES {
            self.end()?;
            self.begin()?;
        }
        let Block { tokens, labels, ends, padding } = block;
        for values in [tokens, labels] {
            self.fingerprint =
                xxh3_64_with_seed(values.as_slice().to_byte_slice(), self.fingerprint);
        }
        let mut seen = vec![1; tokens.len()];
        for (end, padding) in ends.iter().zip(padding) {
            seen[end - padding..*end].fill(0);
        }
        let values: [ArrayRef; 3] = [
            Arc::new(Int32Array::from(tokens.clone())),
            Arc::new(Int8Array::from(seen)),
            Arc::new(Int32Array::from(labels.clone())),
        ];
        let offsets = std::iter::once(0).chain(ends.iter().map(|end| *end as i32));
        let offsets = OffsetBuffer::new(offsets.collect::<Vec<i32>>().into());
        let lists = self.schema.fields().iter().zip(values).map(|(field, values)| {
            let DataType::List(item) = field.data_type() else { return Ok(values) };
            let list = ListArray::try_new(item.clone(), offsets.clone(), values, None)?;
            Ok::<ArrayRef, ArrowError>(Arc::new(list))
        });
        let lists = lists.collect::<Result<Vec<ArrayRef>, ArrowError>>()?;
        let batch = RecordBatch::try_new(self.schema.clone(), lists)?;
        self.bytes += 9 * tokens.len();
        let path = self.path();
        match &mut self.open {
            Some(open) => open.write(&batch).map_err(|error| written(&path, error)),
            None => Ok(()),
        }
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<PendingFile>> {
        self.end()?;
        let DatasetsWriter { folder, done: mut files, fingerprint, .. } = *self;
        let features = COLUMNS.iter().map(|(name, _, dtype)| {
            let item = json!({"dtype": dtype, "_type": "Value"});
            (name.to_string(), json!({"feature": item, "_type": "Sequence"}))
        });
        let features: serde_json::Map<String, Value> = features.collect();
        let info = json!({"citation": "", "description": "", "features": features, "homepage": "", "license": ""});
        let names = files.iter().filter_map(|file| file.path().file_name()?.to_str());
        let names: Vec<Value> = names.map(|name| json!({"filename": name})).collect();
        let state = json!({
            "_data_files": names,
            "_fingerprint": format!("{fingerprint:016x}"),
            "_format_columns": null,
            "_format_kwargs": {},
            "_format_type": null,
            "_output_all_columns": false,
            "_split": null,
        });
        files.push(json_file::pending(&folder.join(INFO), &info)?);
        files.push(json_file::pending(&folder.join(STATE), &state)?);
        Ok(files)
    }
}

fn written(path: &Path, error: ArrowError) -> Error {
    match error {
        ArrowError::IoError(_, error) => Error::write(shown(path), &error),
        error => Error::from(error),
    }
}
