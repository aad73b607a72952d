//! Writing a file of rows: row groups are built and encoded on several threads, and written in order.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_schema::SchemaRef;
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::arrow::{ARROW_SCHEMA_META_KEY, ArrowSchemaConverter, encode_arrow_schema};
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::EnabledStatistics;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnDescPtr;

use super::columns::{GroupColumns, GroupTotals, Layout, Source};
use super::manifest::KEY;
use super::pages::{Chunk, chunk, is_of_tokens};
use super::segments::{self, Block, block};
use super::store::{MakeSequenceRule, SequenceRule};
use crate::error::{Error, Result, shown};
use crate::format::hashed_file::HashedFile;
use crate::format::parquet::{end_error, write_error, writer_properties};
use crate::ordered::{Flow, Threads, one, ordered_map};
use crate::packing::{Packing, Piece, Rows};
use crate::publish::PendingFile;

/// A row group ends after this many tokens, unless a number of rows ends it before.
const GROUP_TOKENS: u64 = 1 << 20;

/// A file of rows that is being written.
pub(super) struct RowsFile {
    writer: SerializedFileWriter<HashedFile>,
    factory: ArrowRowGroupWriterFactory,
    schema: SchemaRef,
    layout: Layout,
    compression: Compression,
    path: String,
    /// The blocks of messages behind the row groups.
    blocks: Vec<Block>,
}

/// An encoded column of a row group.
enum Column {
    /// A column with a value for each token.
    OfTokens(Chunk),
    Other(ArrowColumnChunk),
}

/// An encoded row group.
struct EncodedGroup {
    chunks: Vec<Column>,
    rows: u64,
    tokens: u64,
    totals: GroupTotals,
    /// The block of its messages, and its bytes before compression.
    segments: Option<(Vec<u8>, u64)>,
}

impl RowsFile {
    pub fn create(path: &Path, layout: Layout, zstd: bool) -> Result<RowsFile> {
        let schema = layout.schema();
        let compression = match zstd {
            true => Compression::ZSTD(ZstdLevel::default()),
            false => Compression::UNCOMPRESSED,
        };
        let mut properties = writer_properties()
            .set_compression(compression)
            .set_dictionary_enabled(false)
            .set_statistics_enabled(EnabledStatistics::None)
            .set_max_row_group_row_count(None);
        let file = HashedFile::create_unhashed(path)?;
        let path = shown(path);
        let failed = |e: ParquetError| write_error(&path, e);
        let columns = ArrowSchemaConverter::new().convert(&schema).map_err(failed)?;
        let stated = KeyValue::new(ARROW_SCHEMA_META_KEY.to_string(), encode_arrow_schema(&schema));
        properties = properties.set_key_value_metadata(Some(vec![stated]));
        let root = columns.root_schema_ptr();
        let writer = SerializedFileWriter::new(file, root, Arc::new(properties.build()));
        let writer = writer.map_err(failed)?;
        let factory = ArrowRowGroupWriterFactory::new(&writer, schema.clone());
        let blocks = Vec::new();
        Ok(RowsFile { writer, factory, schema, layout, compression, path, blocks })
    }

    /// Appends rows whose sequences satisfy the rule; calls `done` with the rows and tokens that are written.
    pub fn write(
        &mut self,
        rows: &Rows,
        (source, rule): (Source<'_>, Option<MakeSequenceRule<'_>>),
        jobs: NonZeroUsize,
        mut done: impl FnMut(u64, u64),
    ) -> Result<GroupTotals> {
        let RowsFile { writer, factory, schema, layout, compression, path, blocks } = self;
        let columns = writer.schema_descr().columns().to_vec();
        let (layout, compression, path) = (*layout, *compression, path.as_str());
        let encoder = Encoder { factory, schema, columns, layout, compression, path };
        let failed = |e: ParquetError| write_error(path, e);
        let make_worker = || {
            let mut rule = rule.map(|make| make()).transpose();
            let (encoder, source) = (&encoder, &source);
            one(move |group: Range<usize>| {
                let rule = rule.as_mut().map_err(|error| error.clone())?;
                encoder.group(rows, group, source, rule.as_mut())
            })
        };
        let mut sums = GroupTotals::default();
        let most = layout.form.group_rows();
        let groups = groups(rows, most, source.packing).map(Ok::<_, Error>);
        // (A group takes up to 14 MB: twice as many in memory make no more speed.)
        let threads = Threads::with_waiting(jobs, 2);
        ordered_map(threads, groups, make_worker, |encoded: Result<EncodedGroup>| {
            let EncodedGroup { chunks, rows, tokens, totals, segments } = encoded?;
            let mut group = writer.next_row_group().map_err(failed)?;
            for chunk in chunks {
                match chunk {
                    Column::OfTokens(Chunk { bytes, close }) => group.append_column(&bytes, close),
                    Column::Other(chunk) => chunk.append_to_row_group(&mut group),
                }
                .map_err(failed)?;
            }
            group.close().map_err(failed)?;
            if let Some((block, raw_bytes)) = segments {
                let offset = writer.bytes_written() as u64;
                writer.write_all(&block).map_err(|e| Error::write(path, &e))?;
                blocks.push(Block::new(offset, (&block, raw_bytes)));
            }
            sums.add(&totals);
            done(rows, tokens);
            Ok(Flow::Continue)
        })?;
        Ok(sums)
    }

    /// Ends the file with its manifest; it does not have its final name yet.
    pub fn finish(mut self, manifest: String) -> Result<PendingFile> {
        self.writer.append_key_value_metadata(KeyValue::new(KEY.to_string(), manifest));
        if !self.blocks.is_empty() {
            let blocks = serde_json::to_string(&self.blocks).map_err(Error::data)?;
            let stated = KeyValue::new(segments::KEY.to_string(), blocks);
            self.writer.append_key_value_metadata(stated);
        }
        self.writer.flush().map_err(|e| Error::write(&self.path, &e))?;
        let file = self.writer.into_inner().map_err(|e| end_error(&self.path, e))?;
        file.finish_without_hash()
    }
}

/// Encodes row groups.
struct Encoder<'a> {
    factory: &'a ArrowRowGroupWriterFactory,
    schema: &'a SchemaRef,
    columns: Vec<ColumnDescPtr>,
    layout: Layout,
    compression: Compression,
    path: &'a str,
}

impl Encoder<'_> {
    fn group(
        &self,
        rows: &Rows,
        group: Range<usize>,
        source: &Source<'_>,
        mut rule: Option<&mut SequenceRule>,
    ) -> Result<EncodedGroup> {
        let failed = |e: ParquetError| write_error(self.path, e);
        let pieces = group.clone().flat_map(|row| rows.row(row));
        let tokens: u64 = pieces.map(|piece| stored(piece, &source.packing)).sum();
        let with_segments = source.store.has_segments();
        let mut columns = GroupColumns::new(self.layout, tokens as usize, with_segments);
        for row in group.clone() {
            columns.row(rows.row(row), source, rule.as_deref_mut())?;
        }
        let (columns, totals, segments) = columns.finish()?;
        let segments = segments.map(block).transpose()?;
        // (The number of a row group matters only to encryption.)
        let writers = self.factory.create_column_writers(0).map_err(failed)?;
        let mut writers = writers.into_iter();
        let mut chunks = Vec::new();
        let fields = self.schema.fields().iter();
        for ((field, column), described) in fields.zip(&columns).zip(&self.columns) {
            let Some(mut writer) = writers.next() else { break };
            if let Some(list) = column.as_list_opt().filter(|_| is_of_tokens(field.name())) {
                let chunk = chunk(described, list, self.compression).map_err(failed)?;
                chunks.push(Column::OfTokens(chunk));
                continue;
            }
            for leaf in compute_leaves(field, column).map_err(failed)? {
                writer.write(&leaf).map_err(failed)?;
            }
            chunks.push(Column::Other(writer.close().map_err(failed)?));
        }
        Ok(EncodedGroup { chunks, rows: group.len() as u64, tokens, totals, segments })
    }
}

/// Returns the tokens of a piece in a row, with its padding.
fn stored(piece: &Piece, packing: &Packing) -> u64 {
    u64::from(piece.length) + u64::from(packing.padding(piece.length))
}

/// Divides rows into ranges; each makes a row group.
fn groups(
    rows: &Rows,
    most: usize,
    packing: Packing,
) -> impl Iterator<Item = Range<usize>> + Send + '_ {
    let mut start = 0;
    std::iter::from_fn(move || {
        let (first, mut tokens) = (start, 0);
        while start < rows.len() && start - first < most && tokens < GROUP_TOKENS {
            tokens += rows.row(start).iter().map(|piece| stored(piece, &packing)).sum::<u64>();
            start += 1;
        }
        (first < start).then_some(first..start)
    })
}
