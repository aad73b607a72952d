//! Rows that other tools made for trainers, read as token sequences: each sequence of a row is a record, without the
//! padding. Their messages and spans are not known.

use std::ops::Range;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::batch::{Batch, DroppedRecords, Header, RecordSource, WantedRecords};
use crate::error::Result;
use crate::harmony::Alignment;
use crate::record::row::{RowParts, Rows};
use crate::record::statements::{ALIGNMENT, PACKED, StatedRows};
use crate::record::tokens::{Identity, TokensBuilder};
use crate::record::{ROW, RecordType, TOKENS};
use crate::stream::{Reader, row_json};
use crate::wording::grouped;

/// Says so of rows without labels and masks.
pub const UNMASKED: &str =
    "the rows have no labels and no mask: a trainer trains on all of their tokens";

/// The columns that say what is trained on.
const MASKS: [&str; 4] = ["labels", "loss_mask", "assistant_masks", "completion_mask"];

/// Whether a schema has a column that says what is trained on.
pub fn has_masks(schema: &SchemaRef) -> bool {
    MASKS.iter().any(|name| schema.column_with_name(name).is_some())
}

/// What the header of such sequences states: they have all tokens of their rows.
const WHOLE: StatedRows = StatedRows {
    form: None,
    seq_length: None,
    rows: None,
    used: None,
    keep_eod: true,
    padding: None,
};

/// Whether a header is that of such sequences.
pub fn is_foreign(header: &Header) -> bool {
    header.get(&PACKED) == Some(WHOLE)
}

/// The sequences of rows, as they come.
pub struct RowSequences {
    rows: Reader,
    has_masks: bool,
}

impl RowSequences {
    /// Makes the sequences of a reader of rows.
    pub fn of(mut rows: Reader) -> RowSequences {
        // (Lines of NDJSON show their columns only record by record.)
        let has_masks = rows.encoding().contains("JSON") || has_masks(rows.schema());
        rows.keep_whole_columns(&ROW);
        RowSequences { rows, has_masks }
    }
}

impl RecordSource for RowSequences {
    fn record(&mut self, _: &'static RecordType) -> Result<Option<&'static RecordType>> {
        Ok(Some(&TOKENS))
    }

    fn begin(&mut self, _: Option<&WantedRecords>) -> Result<(Header, SchemaRef)> {
        let own = self.rows.header().clone();
        let mut header = Header { record: None, ..own }.through(&TOKENS, None);
        header.set(&ALIGNMENT, Alignment::Label);
        header.set(&PACKED, WHOLE);
        Ok((header, TOKENS.schema()))
    }

    fn next(
        &mut self,
        _wanted: Option<&WantedRecords>,
        _schema: &SchemaRef,
        _most: u64,
    ) -> Result<Option<Batch>> {
        self.rows.next_batch()?.map(sequences).transpose()
    }

    fn encoding(&self) -> String {
        format!("rows ({})", self.rows.encoding())
    }

    fn dropped(&self) -> DroppedRecords {
        self.rows.dropped()
    }

    fn notes(&self) -> Vec<String> {
        let unmasked = (!self.has_masks).then(|| UNMASKED.to_string());
        self.rows.notes().iter().cloned().chain(unmasked).collect()
    }
}

/// Makes the sequences of a batch of rows.
fn sequences(mut batch: Batch) -> Result<Batch> {
    let records = batch.records.clone();
    let rows = Rows::of(&records)?;
    let mut builder = TokensBuilder::masked();
    let mut parts = RowParts::default();
    let (mut of, mut remarks) = (Vec::new(), Vec::new());
    for row in 0..rows.len() {
        if let Err(fault) = rows.parts(row, &mut parts) {
            let cause = fault.cause().to_string();
            batch.reject_row((&records, row), rows.id(row), cause, row_json);
            continue;
        }
        let count = parts.sequences.len();
        for (number, sequence) in parts.sequences.iter().enumerate() {
            builder.tokens.extend_from_slice(&rows.tokens(row)[sequence.clone()]);
            // Position t is about token t + 1.
            let next = &parts.trained[sequence.start + 1..sequence.end];
            builder.loss_mask.extend_from_slice(next);
            builder.loss_mask.push(0);
            builder.span_id.resize(builder.tokens.len(), 0);
            builder.span_is_unknown();
            let (input, place) = batch.origin.in_file(row).unzip();
            let id = rows.id(row).filter(|_| count == 1);
            let identity = Identity { id, input: input.as_deref(), row: place };
            builder.finish_record_without_segments(identity)?;
            of.push(row);
            let place = place.unwrap_or(0);
            remarks.push(remark((place, number, count), sequence));
        }
    }
    let origin = batch.origin.of_rows(&of).with_remarks(remarks);
    let made: RecordBatch = builder.finish()?;
    Ok(Batch { records: made, origin, progress: Some(rows.len() as u64), ..batch })
}

/// Describes where a sequence is.
pub(super) fn remark(
    (row, number, count): (u64, usize, usize),
    positions: &Range<usize>,
) -> String {
    match count {
        1 => format!("row {row}"),
        _ => {
            let [start, last] = [positions.start, positions.end - 1].map(|at| grouped(at as u64));
            format!("row {row}, piece {} of {count}: positions {start} to {last}", number + 1)
        }
    }
}
