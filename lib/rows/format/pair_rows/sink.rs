//! Writing a file of pairs, block by block.

use std::path::{Path, PathBuf};

use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::EnabledStatistics;

use super::manifest::{KEY, PairRowsManifest, PartTokens, SCHEMA, pair_hash};
use super::{BLOCK_PAIRS, BLOCK_TOKENS, PairForm, columns_of};
use crate::batch::{Batch, Counts, Header, Sink, SinkSummary};
use crate::check::PairGate;
use crate::cli::Rejects;
use crate::error::{Error, Result, shown};
use crate::format::RecordCounts;
use crate::format::parquet::{finished, write_error, writer_properties};
use crate::format::token_rows::RowCompression;
use crate::ordered::Flow;
use crate::publish::{PendingFile, publish_file, refuse_existing_file};
use crate::record::pairs::{PairBuilder, Pairs};
use crate::stream::row_json;

/// How a file of pairs is written.
#[derive(Debug, Clone)]
pub struct PairRowsSettings {
    pub form: PairForm,
    pub path: PathBuf,
    pub with_ids: bool,
    pub compression: RowCompression,
    pub overwrite: bool,
    /// Whether pairs are written that ds-check calls wrong.
    pub no_check: bool,
}

/// Writes pairs as rows.
pub struct PairRowsSink {
    settings: PairRowsSettings,
    writer: ArrowWriter<PendingFile>,
    header: Header,
    gate: Option<PairGate>,
    block: PairBuilder,
    in_block: (usize, usize),
    pairs: u64,
    tokens: PartTokens,
    hash: u64,
}

impl PairRowsSink {
    pub fn create(settings: PairRowsSettings, header: Header) -> Result<PairRowsSink> {
        let path: &Path = &settings.path;
        refuse_existing_file(path, settings.overwrite)?;
        let gate = (!settings.no_check).then(|| PairGate::of(&header)).transpose()?;
        let compression = match settings.compression {
            RowCompression::Zstd => Compression::ZSTD(ZstdLevel::default()),
            RowCompression::None => Compression::UNCOMPRESSED,
        };
        // (Blocks are ended by us.)
        let properties = writer_properties()
            .set_compression(compression)
            .set_dictionary_enabled(false)
            .set_statistics_enabled(EnabledStatistics::None)
            .set_max_row_group_row_count(None);
        let file = PendingFile::create(path)?;
        let schema = settings.form.schema(settings.with_ids);
        let writer = ArrowWriter::try_new(file, schema, Some(properties.build()));
        let writer = writer.map_err(|e| write_error(&shown(path), e))?;
        let (block, in_block, pairs, tokens, hash) = Default::default();
        Ok(PairRowsSink { settings, writer, header, gate, block, in_block, pairs, tokens, hash })
    }

    fn write_block(&mut self) -> Result<()> {
        self.in_block = (0, 0);
        let block = self.block.finish()?;
        let pairs = Pairs::of(&block)?;
        if pairs.is_empty() {
            return Ok(());
        }
        let rows = columns_of(&pairs, self.settings.form, self.settings.with_ids)?;
        let failed = |e: ParquetError| write_error(&shown(&self.settings.path), e);
        self.writer.write(&rows).map_err(failed)?;
        self.writer.flush().map_err(failed)
    }
}

impl Sink for PairRowsSink {
    fn write(&mut self, mut batch: Batch, rejects: &mut Rejects) -> Result<Flow> {
        let records = batch.records.clone();
        let pairs = Pairs::of(&records)?;
        for row in 0..pairs.len() {
            let parts = pairs.parts(row);
            if let Some(Err(cause)) = self.gate.as_mut().map(|gate| gate.check(parts)) {
                batch.reject_row((&records, row), pairs.id(row), cause, row_json);
                continue;
            }
            self.block.push(pairs.identity(row), parts)?;
            self.pairs += 1;
            self.tokens.add(parts);
            self.hash = self.hash.wrapping_add(pair_hash(parts));
            let tokens: usize = parts.iter().map(|part| part.len()).sum();
            self.in_block = (self.in_block.0 + 1, self.in_block.1 + tokens);
            if self.in_block.0 >= BLOCK_PAIRS || self.in_block.1 >= BLOCK_TOKENS {
                self.write_block()?;
            }
        }
        rejects.take(batch.rejected)?;
        Ok(Flow::Continue)
    }

    fn finish(mut self, counts: Counts) -> Result<SinkSummary> {
        self.write_block()?;
        let PairRowsSink { settings, mut writer, header, pairs, tokens, hash, .. } = self;
        let manifest = PairRowsManifest {
            schema_version: SCHEMA.to_string(),
            form: settings.form,
            pairs,
            rows: pairs * settings.form.rows_of_pair(),
            tokens,
            records: RecordCounts::written(pairs, counts),
            hash: format!("{hash:016x}"),
            parameters: header.parameters,
            provenance: header.provenance,
        };
        let text = serde_json::to_string(&manifest).map_err(Error::data)?;
        writer.append_key_value_metadata(KeyValue::new(KEY.to_string(), text));
        publish_file(finished(writer, &shown(&settings.path))?, settings.overwrite)?;
        let made = Some(manifest.summary());
        Ok(SinkSummary { made, left: None, warnings: Vec::new() })
    }
}
