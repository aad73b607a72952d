//! Datasets on disk as records: Megatron prefixes and roots, pools of games, and puzzle sets. A
//! format that is to be read like these is a [`Source`] and a line in [`Dataset::open`].

use std::path::PathBuf;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use serde_json::{Value, json};

use super::Header;
use crate::cli::{Error, Result, Slice};
use crate::format::kd_root::{KdReader, is_megatron};
use crate::format::pools::{PoolReader, is_pool};
use crate::format::puzzle_dir::{PuzzleReader, is_puzzle_dir};
use crate::record::{GAME, PUZZLE, TOKENS};

/// What reads one format's datasets.
trait Source {
    fn schema(&self) -> SchemaRef;

    fn header(&self) -> Header;

    /// Records that have not been read yet.
    fn records(&self) -> u64;

    /// The next records; `most` is how many are of use.
    fn next_batch(&mut self, most: u64) -> Result<Option<RecordBatch>>;

    /// What is on disk and not in the records, for people.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Datasets of one format, read one after another.
pub struct Dataset {
    source: Box<dyn Source>,
    left: u64,
    columns: Option<SchemaRef>,
}

impl Dataset {
    /// Opens what the paths name, or a slice of all of it together, or the first `limit` records
    /// of that. `None` if none of the paths is a dataset.
    pub fn open(
        paths: &[PathBuf],
        slice: Option<Slice>,
        limit: Option<u64>,
    ) -> Result<Option<Dataset>> {
        let all = |found: usize, what: &str| match found == paths.len() {
            true => Ok(()),
            false => Err(Error::usage(format!("{what} and other files cannot be read together"))),
        };
        let puzzles = paths.iter().filter(|path| is_puzzle_dir(path)).count();
        let megatron = paths.iter().filter(|path| is_megatron(path)).count();
        let pools = paths.iter().filter(|path| is_pool(path)).count();
        let source: Box<dyn Source> = if puzzles > 0 {
            all(puzzles, "puzzle sets")?;
            Box::new(PuzzleReader::open(paths, slice)?)
        } else if megatron > 0 {
            all(megatron, "Megatron datasets")?;
            Box::new(KdReader::open(paths, slice)?)
        } else if pools > 0 {
            all(pools, "pools of games")?;
            Box::new(PoolReader::open(paths, slice)?)
        } else {
            return Ok(None);
        };
        let left = source.records().min(limit.unwrap_or(u64::MAX));
        Ok(Some(Dataset { source, left, columns: None }))
    }

    pub fn schema(&self) -> SchemaRef {
        self.source.schema()
    }

    /// Hands out these columns only.
    pub fn select(&mut self, columns: SchemaRef) {
        self.columns = Some(columns);
    }

    pub fn header(&self) -> Header {
        self.source.header()
    }

    /// Records that have not been handed out yet.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// What is on disk and not in the records, for people.
    pub fn notes(&self) -> Vec<String> {
        self.source.notes()
    }

    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        if self.left == 0 {
            return Ok(None);
        }
        let Some(batch) = self.source.next_batch(self.left)? else { return Ok(None) };
        let rows = (batch.num_rows() as u64).min(self.left);
        self.left -= rows;
        let batch = batch.slice(0, rows as usize);
        let Some(columns) = &self.columns else { return Ok(Some(batch)) };
        let schema = batch.schema();
        let indices: Result<Vec<usize>, ArrowError> =
            columns.fields().iter().map(|field| schema.index_of(field.name())).collect();
        Ok(Some(batch.project(&indices?)?))
    }
}

impl Source for KdReader {
    fn schema(&self) -> SchemaRef {
        KdReader::schema(self)
    }

    fn header(&self) -> Header {
        let mut header = Header::default().through(&TOKENS, None);
        header.set("alignment", "label");
        if let Some(part) = self.part() {
            let source = &part.source;
            header.set("policy", source.policy.clone());
            header.set("inputs", source.inputs.clone());
            header.set("input_manifest", source.manifest.clone().unwrap_or(Value::Null));
            header.set("tokenizer", source.tokenizer.clone().unwrap_or(Value::Null));
            header.set("limits", json!(source.limits));
            if let Some(spans) = &source.spans {
                header.set("spans", spans.clone());
            }
            header.provenance = part.provenance.clone();
        }
        header
    }

    fn records(&self) -> u64 {
        self.rows()
    }

    fn next_batch(&mut self, _most: u64) -> Result<Option<RecordBatch>> {
        KdReader::next_batch(self)
    }
}

impl Source for PoolReader {
    fn schema(&self) -> SchemaRef {
        GAME.schema()
    }

    fn header(&self) -> Header {
        let mut header = Header::default().through(&GAME, None);
        header.provenance = self.provenance();
        if let Some(legality) = self.legality() {
            header.set("legality", legality);
        }
        let left_out = self.left_out();
        if !left_out.is_empty() {
            header.set("left_out", left_out);
        }
        header
    }

    fn records(&self) -> u64 {
        self.games()
    }

    fn next_batch(&mut self, most: u64) -> Result<Option<RecordBatch>> {
        PoolReader::next_batch(self, most)
    }

    fn notes(&self) -> Vec<String> {
        PoolReader::notes(self)
    }
}

impl Source for PuzzleReader {
    fn schema(&self) -> SchemaRef {
        PUZZLE.schema()
    }

    fn header(&self) -> Header {
        let mut header = Header::default().through(&PUZZLE, None);
        self.parameters().into_iter().for_each(|(name, value)| header.set(name, value));
        header
    }

    fn records(&self) -> u64 {
        self.examples()
    }

    fn next_batch(&mut self, most: u64) -> Result<Option<RecordBatch>> {
        PuzzleReader::next_batch(self, most)
    }

    fn notes(&self) -> Vec<String> {
        PuzzleReader::notes(self).to_vec()
    }
}
