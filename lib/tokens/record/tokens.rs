//! The `tokens` record: a rendered and tokenized conversation, with its segments and, after `span-mask`,
//! its masks (`loss_mask`, `span_id`).

use std::ops::Range;

use arrow_array::types::{ArrowPrimitiveType, Int32Type, UInt8Type};
use arrow_array::{ListArray, PrimitiveArray, UInt8Array};
use arrow_buffer::{NullBuffer, OffsetBuffer};

use super::prelude::*;
use super::segment::{SegmentFields, row_segments};
use super::stated::{StatedColumn, StatedMember, without_stated};
use super::statements::TOKENIZER;
use crate::model::{is_stated_by_records, refuse_two, state_id, tokenizer_id};
use crate::tokenizer::START;

pub use super::identity::Identity;
pub use super::segment::Segment;

/// Tokens: the fields of [`SequenceFields`] and, once masked, of [`MaskFields`].
pub const TOKENS: RecordType = RecordType {
    name: "tokens",
    singular: "sequence",
    plural: "token sequences",
    fields: || [SequenceFields::declared(), MaskFields::declared()].concat(),
    marking_fields: &[&["tokens"]],
    made_by: "harmony-tok",
    made_into: &[("conversation", "harmony-tok --decode")],
    is_derived: true,
    stated: Some(StatedMember {
        name: TOKENIZER.name,
        state: state_id,
        column: Some(StatedColumn {
            of: tokenizer_id,
            is_by_records: is_stated_by_records,
            refuse_two: |own, other| {
                refuse_two([own, other].map(|header| header.parameters.value(&TOKENIZER)))
            },
            schema: stating_schema,
        }),
    }),
    ..RecordType::PLAIN
};

record_fields! {
    /// A token sequence, before it is masked.
    SequenceFields(SequenceColumns, SequenceBuilder) {
        /// The conversation's id.
        id: Option<String>,
        /// Ids of the vocabulary that the header states; where it states none, of o200k.
        tokens: List<i32>,
        /// One struct for each message: the tokens `[start, end)`. The EOD is in none.
        segments: Option<List<SegmentFields>>,
        /// The name of the file that the conversation came from.
        input: Option<String>,
        /// Its row in that file, from 0; of NDJSON, its line.
        row: Option<u64>,
        /// The tokenizer: `hf:` and 16 digits of the sha256 of its `tokenizer.json`; null for o200k. Only NDJSON has it,
        /// which has no header.
        tokenizer: Rare<String>,
    }
}

record_fields! {
    /// What `span-mask` adds to a token sequence.
    MaskFields(MaskColumns, MaskBuilder) {
        /// As long as `tokens`: 1 if the position is trained on, else 0.
        loss_mask: Option<List<u8>>,
        /// As long as `tokens`: the id of the span, 0 for none.
        span_id: Option<List<u8>>,
    }
}

/// The number of columns of records without masks.
const UNMASKED: usize = 6;
/// The index of `tokens`.
const TOKEN_LIST: usize = 1;

/// Returns the schema of records without masks.
pub fn unmasked_schema() -> Schema {
    schema_of(SequenceFields::declared())
}

/// Returns the schema of records with masks.
pub fn masked_schema() -> Schema {
    schema_of((TOKENS.fields)())
}

/// A batch of token records, by column.
#[derive(Debug)]
pub struct Tokens<'a> {
    rows: usize,
    sequences: SequenceColumns<'a>,
    masks: Option<MaskColumns<'a>>,
}

impl<'a> Tokens<'a> {
    /// Returns the view of a batch in the schema of [`TOKENS`] or [`unmasked_schema`]. Other
    /// schemas are an error (the stream readers conform every batch first).
    pub fn of(batch: &'a RecordBatch) -> Result<Tokens<'a>, ArrowError> {
        let masks = batch.columns().get(UNMASKED..).filter(|masks| !masks.is_empty());
        Ok(Tokens {
            rows: batch.num_rows(),
            sequences: SequenceColumns::of_columns(batch.columns())?,
            masks: masks.map(MaskColumns::of_columns).transpose()?,
        })
    }

    pub fn len(&self) -> usize {
        self.rows
    }

    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Returns the number of tokens of all rows.
    pub fn all_tokens(&self) -> usize {
        self.sequences.tokens.range(0..self.rows).len()
    }

    pub fn id(&self, row: usize) -> Option<&'a str> {
        self.sequences.id.get(row)
    }

    pub fn identity(&self, row: usize) -> Identity<'a> {
        let SequenceColumns { id, input, row: rows, .. } = &self.sequences;
        Identity { id: id.get(row), input: input.get(row), row: rows.get(row) }
    }

    pub fn tokens(&self, row: usize) -> &'a [i32] {
        self.sequences.tokens.row(row)
    }

    /// Returns the tokens of consecutive rows, one row after another.
    pub fn tokens_of(&self, rows: Range<usize>) -> &'a [i32] {
        self.sequences.tokens.rows(rows)
    }

    /// Whether Harmony may have made a row: `<|start|>` begins a message, or stands anywhere if the messages are not
    /// known.
    pub fn may_be_harmony(&self, row: usize) -> bool {
        let tokens = self.tokens(row);
        let begins = |segment: Segment<'_>| {
            usize::try_from(segment.start).is_ok_and(|start| tokens.get(start) == Some(&START))
        };
        match self.segments(row) {
            Some(mut segments) if segments.len() > 0 => segments.any(begins),
            _ => tokens.is_empty() || tokens.contains(&START),
        }
    }

    /// Returns the segments of a row; `None` if they are null or absent.
    pub fn segments(
        &self,
        row: usize,
    ) -> Option<impl ExactSizeIterator<Item = Segment<'a>> + Clone + use<'a>> {
        row_segments(self.sequences.segments, row)
    }

    /// Whether any of its messages states a weight.
    pub fn has_weights(&self) -> bool {
        !self.sequences.segments.items.train.is_null()
    }

    /// Returns how many messages of consecutive rows are not trained on because of a weight.
    pub fn untrained(&self, rows: Range<usize>) -> u64 {
        if !self.has_weights() {
            return 0;
        }
        let train = self.sequences.segments.items.train;
        let messages = self.sequences.segments.range(rows);
        messages.filter(|&index| train.get(index) == Some(false)).count() as u64
    }

    /// Returns `loss_mask` of a row; `None` if it is null or absent.
    pub fn loss_mask(&self, row: usize) -> Option<&'a [u8]> {
        let masks = self.masks.as_ref()?.loss_mask;
        (!masks.is_null(row)).then(|| masks.row(row))
    }

    /// Returns `span_id` of a row; `None` if it is null or absent.
    pub fn span_id(&self, row: usize) -> Option<&'a [u8]> {
        let masks = self.masks.as_ref()?.span_id;
        (!masks.is_null(row)).then(|| masks.row(row))
    }

    /// Returns `loss_mask` and `span_id` of consecutive rows without nulls; `None` if they are
    /// absent.
    pub fn masks_of(&self, rows: Range<usize>) -> Option<[&'a [u8]; 2]> {
        let masks = self.masks.as_ref()?;
        Some([masks.loss_mask.rows(rows.clone()), masks.span_id.rows(rows)])
    }
}

/// Returns the columns of these records, or of pairs, with the column of the tokenizers behind their place in the source.
/// `None` if these are no tokens.
fn stating_schema(schema: &Schema) -> Option<Schema> {
    schema.column_with_name("tokens").or_else(|| schema.column_with_name("chosen"))?;
    let mut fields = without_stated(schema).fields().to_vec();
    let place = fields.iter().position(|field| field.name() == "row");
    let stated = Arc::new(Rare::<String>::field(TOKENIZER.name));
    fields.insert(place.map_or(fields.len(), |row| row + 1), stated);
    Some(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// Returns the same records with masks: `loss_mask` and `span_id` share the offsets of the tokens,
/// and no token is copied.
pub fn with_masks(
    batch: &RecordBatch,
    loss_mask: Vec<u8>,
    span_id: Vec<u8>,
) -> Result<RecordBatch, ArrowError> {
    with_known_masks(batch, loss_mask, span_id, None)
}

/// Returns records with masks; `span_id` is null in rows where `known` is not valid.
fn with_known_masks(
    batch: &RecordBatch,
    loss_mask: Vec<u8>,
    span_id: Vec<u8>,
    known: Option<NullBuffer>,
) -> Result<RecordBatch, ArrowError> {
    let list = batch.columns().get(TOKEN_LIST).and_then(|column| column.as_list_opt::<i32>());
    let list = list.ok_or_else(|| wrong_column("tokens"))?;
    // A sliced list may not begin at 0; the masks do.
    let first = list.value_offsets()[0];
    let offsets = if first == 0 {
        list.offsets().clone()
    } else {
        OffsetBuffer::new(list.value_offsets().iter().map(|offset| offset - first).collect())
    };
    let schema = Arc::new(masked_schema());
    let mut columns: Vec<ArrayRef> = batch.columns().iter().take(UNMASKED).cloned().collect();
    for (values, known) in [(loss_mask, None), (span_id, known)] {
        let item = Arc::new(u8::field("item"));
        let values = Arc::new(UInt8Array::from(values));
        columns.push(Arc::new(ListArray::try_new(item, offsets.clone(), values, known)?));
    }
    RecordBatch::try_new(schema, columns)
}

/// Returns the same records with one more token at the end of each, which is in no segment and not trained on.
/// Records without tokens get none.
pub fn with_end(batch: &RecordBatch, token: i32) -> Result<RecordBatch, ArrowError> {
    let schema = batch.schema();
    let columns = schema.fields().iter().zip(batch.columns()).map(|(field, column)| {
        let Some(list) = column.as_list_opt::<i32>() else { return Ok(column.clone()) };
        Ok(match field.name().as_str() {
            "tokens" => Arc::new(longer::<Int32Type>(list, token)?) as ArrayRef,
            "loss_mask" | "span_id" => Arc::new(longer::<UInt8Type>(list, 0)?),
            _ => column.clone(),
        })
    });
    let columns = columns.collect::<Result<Vec<ArrayRef>, ArrowError>>()?;
    RecordBatch::try_new(schema, columns)
}

/// Returns lists with a value at the end of each that is not empty.
fn longer<T: ArrowPrimitiveType>(
    list: &ListArray,
    value: T::Native,
) -> Result<ListArray, ArrowError> {
    let values = list.values().as_primitive_opt::<T>().ok_or_else(|| wrong_column("tokens"))?;
    let mut all: Vec<T::Native> = Vec::with_capacity(values.len() + list.len());
    let mut lengths = Vec::with_capacity(list.len());
    for (row, ends) in list.value_offsets().windows(2).enumerate() {
        let (start, end) = (ends[0] as usize, ends[1] as usize);
        let before = all.len();
        if list.is_valid(row) && start < end {
            all.extend_from_slice(&values.values()[start..end]);
            all.push(value);
        }
        lengths.push(all.len() - before);
    }
    let DataType::List(item) = list.data_type() else { return Err(wrong_column("tokens")) };
    let values = Arc::new(PrimitiveArray::<T>::from_iter_values(all));
    let offsets = OffsetBuffer::from_lengths(lengths);
    ListArray::try_new(item.clone(), offsets, values, list.nulls().cloned())
}

/// Builds a batch of token records, column by column.
#[derive(Debug, Default)]
pub struct TokensBuilder {
    /// Everything except the items of `tokens`.
    columns: SequenceBuilder,
    /// The tokens of all records, one record after another.
    pub tokens: Vec<i32>,
    masked: bool,
    /// The masks, as long as the tokens if the records have masks, else empty.
    pub loss_mask: Vec<u8>,
    pub span_id: Vec<u8>,
    /// The records whose span ids are not known, ascending.
    unknown_spans: Vec<usize>,
}

impl TokensBuilder {
    /// Makes a builder of records with masks, which are filled together with the tokens.
    pub fn masked() -> TokensBuilder {
        TokensBuilder { masked: true, ..TokensBuilder::default() }
    }

    pub fn len(&self) -> usize {
        self.columns.rows()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Notes that the span ids of the record that ends next are not known: the ids added for it do not
    /// count.
    pub fn span_is_unknown(&mut self) {
        self.unknown_spans.push(self.len());
    }

    /// Adds a segment to the record that the next [`TokensBuilder::finish_record`] ends.
    pub fn segment(&mut self, segment: &Segment<'_>) {
        self.columns.segments.items.push(segment);
    }

    /// Ends a record whose segments have been added: the tokens added since the last record are its
    /// sequence. Fails if a batch would pass 2^31 tokens (one sequence may not, and batches are far
    /// smaller).
    pub fn finish_record(&mut self, identity: Identity<'_>) -> Result<(), ArrowError> {
        self.end_record(identity, true)
    }

    /// Ends a record whose segments are not known.
    pub fn finish_record_without_segments(
        &mut self,
        identity: Identity<'_>,
    ) -> Result<(), ArrowError> {
        self.end_record(identity, false)
    }

    fn end_record(
        &mut self,
        identity: Identity<'_>,
        segments_known: bool,
    ) -> Result<(), ArrowError> {
        let SequenceBuilder { id, tokens, segments, input, row, tokenizer } = &mut self.columns;
        id.push(identity.id);
        input.push(identity.input);
        row.push(identity.row);
        tokenizer.push(None);
        tokens.ends.push(self.tokens.len(), true);
        segments.end_row(segments_known);
        tokens.ends.check()
    }

    /// Returns the batch of the records so far; the builder is empty again.
    pub fn finish(&mut self) -> Result<RecordBatch, ArrowError> {
        let masked = self.masked;
        let rows = self.len();
        let TokensBuilder { mut columns, tokens, loss_mask, span_id, unknown_spans, .. } =
            std::mem::replace(self, TokensBuilder { masked, ..TokensBuilder::default() });
        columns.tokens.items = tokens.into();
        let batch = RecordBatch::try_new(Arc::new(unmasked_schema()), columns.columns()?)?;
        if masked {
            let mut known = vec![true; rows];
            unknown_spans.iter().for_each(|&row| known[row] = false);
            let known = (!unknown_spans.is_empty()).then(|| NullBuffer::from(known));
            with_known_masks(&batch, loss_mask, span_id, known)
        } else {
            Ok(batch)
        }
    }
}
