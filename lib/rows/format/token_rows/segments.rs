//! The messages of pieces of another tokenizer than o200k, whose tokens do not show them. They stand between the row
//! groups, where readers of columns do not look: Axolotl's multipack collator joins all columns, and another list would
//! break it. (Parquet allows other bytes there: DataFusion, "Embedding User-Defined Indexes in Apache Parquet Files".)
//! Behind each row group is a block: zstd of NDJSON, a line for each piece, in order. FORMAT.md says more.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use bstr::ByteSlice;
use parquet::basic::ZstdLevel;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::reader::OpenedRows;
use crate::error::{At, Error, Result};
use crate::files;
use crate::record::ids::{PieceBuilder, PieceColumns, piece_schema};
use crate::record::tokens::Segment;
use crate::stream::{NdjsonDecoder, NdjsonEncoder};

/// The key of the list of blocks in the footer.
pub(super) const KEY: &str = "gristmill.segments";
/// The most bytes of a block before compression.
const MOST: u64 = 1 << 30;

/// A block in the file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Block {
    pub offset: u64,
    pub bytes: u64,
    /// Its bytes before compression.
    pub raw_bytes: u64,
    /// XXH3 of the compressed bytes, in hexadecimal.
    pub hash: String,
}

/// Makes the block of a row group; returns it with its bytes before compression.
pub(super) fn block(pieces: PieceBuilder) -> Result<(Vec<u8>, u64)> {
    let mut lines = Vec::new();
    let batch = pieces.finish()?;
    NdjsonEncoder::new(batch.schema()).encode(&batch, &mut lines)?;
    let level = ZstdLevel::default().compression_level();
    let packed = zstd::bulk::compress(&lines, level).map_err(Error::data)?;
    Ok((packed, lines.len() as u64))
}

impl Block {
    pub fn new(offset: u64, (packed, raw_bytes): (&[u8], u64)) -> Block {
        let hash = format!("{:016x}", xxh3_64(packed));
        Block { offset, bytes: packed.len() as u64, raw_bytes, hash }
    }
}

/// The messages of one piece.
#[derive(Debug, Clone)]
pub struct PieceSegments {
    batch: RecordBatch,
    row: usize,
}

impl PieceSegments {
    /// Returns the messages of which the piece has a token, counted in the sequence; `None` if they are not known.
    pub fn list(&self) -> Option<Vec<Segment<'_>>> {
        Some(PieceColumns::of(&self.batch).ok()?.segments(self.row)?.collect())
    }
}

/// Reads the messages of all pieces of a file, one after another.
pub struct SegmentReader {
    file: File,
    path: PathBuf,
    blocks: std::vec::IntoIter<Block>,
    batch: RecordBatch,
    row: usize,
}

impl SegmentReader {
    /// `None` if the file has no messages.
    pub fn open(rows: &OpenedRows) -> Result<Option<SegmentReader>> {
        let Some(text) = rows.file.metadata_value(KEY) else { return Ok(None) };
        let path = rows.path.clone();
        let blocks: Vec<Block> = serde_json::from_str(text)
            .map_err(|error| Error::data(format!("{KEY}: {error}")).at(path.as_path()))?;
        let file = files::open_member(&path).at(path.as_path())?;
        let batch = RecordBatch::new_empty(SchemaRef::new(piece_schema()));
        Ok(Some(SegmentReader { file, path, blocks: blocks.into_iter(), batch, row: 0 }))
    }

    /// Returns the messages of the next piece; it is bad data if there is none.
    pub fn next_piece(&mut self) -> Result<PieceSegments> {
        while self.row >= self.batch.num_rows() {
            let bad = |cause: String| Error::data(format!("{KEY}: {cause}")).at(&*self.path);
            let block = self.blocks.next().ok_or_else(|| bad("pieces are missing".to_string()))?;
            self.batch = self.read(&block).map_err(|error| match error.failure() {
                Some(_) => error,
                None => bad(error.to_string()),
            })?;
            self.row = 0;
        }
        self.row += 1;
        Ok(PieceSegments { batch: self.batch.clone(), row: self.row - 1 })
    }

    fn read(&self, block: &Block) -> Result<RecordBatch> {
        let Block { offset, bytes, raw_bytes, hash } = block;
        let size = self.file.metadata().at(&self.path)?.len();
        // (So no more is allocated than the file has.)
        if offset.checked_add(*bytes).is_none_or(|end| end > size) || *raw_bytes > MOST {
            return Err(Error::data("a block is not inside of the file"));
        }
        let mut packed = vec![0; *bytes as usize];
        self.file.read_exact_at(&mut packed, *offset).at(&self.path)?;
        if format!("{:016x}", xxh3_64(&packed)) != *hash {
            return Err(Error::data("a block was changed after it was written"));
        }
        let lines = zstd::bulk::decompress(&packed, *raw_bytes as usize).map_err(Error::data)?;
        let mut decoder = NdjsonDecoder::new(SchemaRef::new(piece_schema()))?;
        lines.lines().try_for_each(|line| decoder.line(line)).map_err(Error::data)?;
        Ok(decoder.finish()?)
    }
}

/// The messages of sequences by number, in memory: 12 bytes for each message, 16 for each sequence.
#[derive(Debug, Default)]
pub(super) struct SegmentStore {
    /// Each role with its channel and whether it may be trained on, once.
    kinds: Vec<(String, Option<String>, bool)>,
    /// The number of the kind, the start and the end.
    items: Vec<(u32, i32, i32)>,
    ends: Vec<Option<usize>>,
}

impl SegmentStore {
    /// Adds a sequence; its messages may not be known.
    pub fn push<'a>(&mut self, segments: Option<impl Iterator<Item = Segment<'a>>>) {
        let is_known = segments.is_some();
        for segment in segments.into_iter().flatten() {
            let of = |(role, channel, is_trained): &(String, Option<String>, bool)| {
                (role.as_str(), channel.as_deref(), *is_trained)
                    == (segment.role, segment.channel, segment.is_trained)
            };
            let kind = self.kinds.iter().position(of).unwrap_or_else(|| {
                let (role, channel) = (segment.role, segment.channel.map(str::to_string));
                self.kinds.push((role.to_string(), channel, segment.is_trained));
                self.kinds.len() - 1
            });
            self.items.push((kind as u32, segment.start, segment.end));
        }
        self.ends.push(is_known.then_some(self.items.len()));
    }

    /// Whether the messages of any sequence are known.
    pub fn is_known(&self) -> bool {
        self.ends.iter().any(Option::is_some)
    }

    /// Returns the messages of a sequence.
    pub fn of(&self, number: usize) -> Option<impl Iterator<Item = Segment<'_>>> {
        let end = (*self.ends.get(number)?)?;
        let start = self.ends[..number].iter().rev().flatten().next().copied().unwrap_or(0);
        Some(self.items[start..end].iter().map(|&(kind, start, end)| {
            let (role, channel, is_trained) = &self.kinds[kind as usize];
            Segment { role, channel: channel.as_deref(), start, end, is_trained: *is_trained }
        }))
    }
}
