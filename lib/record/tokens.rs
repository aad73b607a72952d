//! The `tokens` record: a rendered and tokenized conversation, with its segments and, after
//! `span-mask`, the supervision signals.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::types::{Int32Type, UInt8Type};
use arrow_array::{
    Array, ArrayRef, Int32Array, ListArray, RecordBatch, StringArray, StructArray, UInt8Array,
    cast::AsArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema};

use super::{RecordType, item};

/// Tokens: `id`, `tokens` (int32), `segments` (one for each message: role, channel, and the token
/// range [start, end); the EOD is in none), and, once masked, `loss_mask` and `span_id` (uint8,
/// as long as the tokens).
pub const TOKENS: RecordType = RecordType {
    name: "tokens",
    version: 1,
    fields: || masked_fields().to_vec(),
    known_by: &["tokens"],
    made_by: "harmony-tok",
};

/// Index of each column in the schemas below.
const ID: usize = 0;
const TOKEN_LIST: usize = 1;
const SEGMENTS: usize = 2;
const LOSS_MASK: usize = 3;
const SPAN_ID: usize = 4;

fn unmasked_fields() -> [Field; 3] {
    [
        Field::new("id", DataType::Utf8, true),
        Field::new("tokens", DataType::List(item(DataType::Int32)), false),
        Field::new("segments", DataType::List(item(DataType::Struct(segment_fields()))), true),
    ]
}

fn masked_fields() -> [Field; 5] {
    let [id, tokens, segments] = unmasked_fields();
    let mask = |name: &str| Field::new(name, DataType::List(item(DataType::UInt8)), true);
    [id, tokens, segments, mask("loss_mask"), mask("span_id")]
}

/// The fields of one segment: `start` and `end` count tokens of the record.
fn segment_fields() -> Fields {
    Fields::from(vec![
        Field::new("role", DataType::Utf8, false),
        Field::new("channel", DataType::Utf8, true),
        Field::new("start", DataType::Int32, false),
        Field::new("end", DataType::Int32, false),
    ])
}

/// The schema of records without masks.
pub fn unmasked_schema() -> Schema {
    Schema::new(unmasked_fields().to_vec())
}

/// The schema of records with masks.
pub fn masked_schema() -> Schema {
    Schema::new(masked_fields().to_vec())
}

/// A list column: the values of all rows, and where each row's begin.
#[derive(Debug, Clone, Copy)]
pub struct Lists<'a, T> {
    offsets: &'a [i32],
    values: &'a [T],
}

impl<'a, T> Lists<'a, T> {
    pub fn row(&self, row: usize) -> &'a [T] {
        &self.values[self.offsets[row] as usize..self.offsets[row + 1] as usize]
    }

    /// The values of consecutive rows, which lie one behind another.
    pub fn rows(&self, rows: Range<usize>) -> &'a [T] {
        &self.values[self.offsets[rows.start] as usize..self.offsets[rows.end] as usize]
    }

    pub fn row_len(&self, row: usize) -> usize {
        (self.offsets[row + 1] - self.offsets[row]) as usize
    }
}

/// One message's place in a token sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment<'a> {
    pub role: &'a str,
    pub channel: Option<&'a str>,
    pub start: i32,
    pub end: i32,
}

/// A batch of token records, by column.
#[derive(Debug)]
pub struct Tokens<'a> {
    rows: usize,
    ids: &'a StringArray,
    tokens: Lists<'a, i32>,
    segments: Option<Segments<'a>>,
    masks: Option<Masks<'a>>,
}

#[derive(Debug)]
struct Segments<'a> {
    nulls: Option<&'a NullBuffer>,
    offsets: &'a [i32],
    role: &'a StringArray,
    channel: &'a StringArray,
    start: &'a [i32],
    end: &'a [i32],
}

#[derive(Debug)]
struct Masks<'a> {
    loss_mask: Lists<'a, u8>,
    span_id: Lists<'a, u8>,
    nulls: [Option<&'a NullBuffer>; 2],
}

impl<'a> Tokens<'a> {
    /// The view of a batch in the schema of [`TOKENS`] or [`unmasked_schema`]. Other schemas are
    /// an error (the stream readers conform every batch first).
    pub fn of(batch: &'a RecordBatch) -> Result<Tokens<'a>, ArrowError> {
        let wrong = |name: &str| ArrowError::SchemaError(format!("{name}: not a tokens record"));
        let column = |index: usize| batch.columns().get(index);
        let ids = column(ID).and_then(|c| c.as_string_opt::<i32>()).ok_or_else(|| wrong("id"))?;
        let list = |index| column(index).and_then(|c: &ArrayRef| c.as_list_opt::<i32>());
        let tokens = list(TOKEN_LIST).and_then(ints).ok_or_else(|| wrong("tokens"))?;
        let segments = list(SEGMENTS).and_then(segments).ok_or_else(|| wrong("segments"))?;
        let masks = match (list(LOSS_MASK), list(SPAN_ID)) {
            (Some(loss_mask), Some(span_id)) => {
                let nulls = [loss_mask.nulls(), span_id.nulls()];
                let (Some(loss_mask), Some(span_id)) = (bytes(loss_mask), bytes(span_id)) else {
                    return Err(wrong("loss_mask, span_id"));
                };
                Some(Masks { loss_mask, span_id, nulls })
            }
            _ => None,
        };
        Ok(Tokens { rows: batch.num_rows(), ids, tokens, segments: Some(segments), masks })
    }

    pub fn len(&self) -> usize {
        self.rows
    }

    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Number of tokens of all rows.
    pub fn all_tokens(&self) -> usize {
        match self.tokens.offsets {
            [first, .., last] => (last - first) as usize,
            _ => 0,
        }
    }

    pub fn id(&self, row: usize) -> Option<&'a str> {
        self.ids.is_valid(row).then(|| self.ids.value(row))
    }

    pub fn tokens(&self, row: usize) -> &'a [i32] {
        self.tokens.row(row)
    }

    /// The tokens of consecutive rows, one row behind another.
    pub fn tokens_of(&self, rows: Range<usize>) -> &'a [i32] {
        self.tokens.rows(rows)
    }

    /// The segments of a row; `None` where they are null or absent.
    pub fn segments(
        &self,
        row: usize,
    ) -> Option<impl ExactSizeIterator<Item = Segment<'a>> + use<'a>> {
        let segments = self.segments.as_ref()?;
        if segments.nulls.is_some_and(|nulls| nulls.is_null(row)) {
            return None;
        }
        let range = segments.offsets[row] as usize..segments.offsets[row + 1] as usize;
        let (role, channel) = (segments.role, segments.channel);
        let (start, end) = (segments.start, segments.end);
        Some(range.map(move |i| Segment {
            role: role.value(i),
            channel: channel.is_valid(i).then(|| channel.value(i)),
            start: start[i],
            end: end[i],
        }))
    }

    /// `loss_mask` of a row; `None` where it is null or absent.
    pub fn loss_mask(&self, row: usize) -> Option<&'a [u8]> {
        let masks = self.masks.as_ref()?;
        let null = masks.nulls[0].is_some_and(|nulls| nulls.is_null(row));
        (!null).then(|| masks.loss_mask.row(row))
    }

    /// `span_id` of a row; `None` where it is null or absent.
    pub fn span_id(&self, row: usize) -> Option<&'a [u8]> {
        let masks = self.masks.as_ref()?;
        let null = masks.nulls[1].is_some_and(|nulls| nulls.is_null(row));
        (!null).then(|| masks.span_id.row(row))
    }

    /// `loss_mask` and `span_id` of consecutive rows, none of which is null; `None` where they are
    /// absent.
    pub fn masks_of(&self, rows: Range<usize>) -> Option<[&'a [u8]; 2]> {
        let masks = self.masks.as_ref()?;
        Some([masks.loss_mask.rows(rows.clone()), masks.span_id.rows(rows)])
    }
}

pub(super) fn ints(list: &ListArray) -> Option<Lists<'_, i32>> {
    let values = list.values().as_primitive_opt::<Int32Type>()?;
    Some(Lists { offsets: list.value_offsets(), values: values.values() })
}

fn bytes(list: &ListArray) -> Option<Lists<'_, u8>> {
    let values = list.values().as_primitive_opt::<UInt8Type>()?;
    Some(Lists { offsets: list.value_offsets(), values: values.values() })
}

fn segments(list: &ListArray) -> Option<Segments<'_>> {
    let structs = list.values().as_struct_opt()?;
    let [role, channel, start, end] = structs.columns() else { return None };
    Some(Segments {
        nulls: list.nulls(),
        offsets: list.value_offsets(),
        role: role.as_string_opt()?,
        channel: channel.as_string_opt()?,
        start: start.as_primitive_opt::<Int32Type>()?.values(),
        end: end.as_primitive_opt::<Int32Type>()?.values(),
    })
}

/// The same records with masks: `loss_mask` and `span_id` lie along the tokens, so that they
/// share the offsets; no token is copied.
pub fn with_masks(
    batch: &RecordBatch,
    loss_mask: Vec<u8>,
    span_id: Vec<u8>,
) -> Result<RecordBatch, ArrowError> {
    let list = batch
        .column(TOKEN_LIST)
        .as_list_opt::<i32>()
        .ok_or_else(|| ArrowError::SchemaError("tokens: not a list".to_string()))?;
    // A sliced list does not begin at 0; the masks do.
    let first = list.value_offsets()[0];
    let offsets = if first == 0 {
        list.offsets().clone()
    } else {
        OffsetBuffer::new(list.value_offsets().iter().map(|offset| offset - first).collect())
    };
    let mask = |values: Vec<u8>| -> Result<ArrayRef, ArrowError> {
        let values = Arc::new(UInt8Array::from(values));
        Ok(Arc::new(ListArray::try_new(item(DataType::UInt8), offsets.clone(), values, None)?))
    };
    let mut columns = batch.columns()[..=SEGMENTS].to_vec();
    columns.extend([mask(loss_mask)?, mask(span_id)?]);
    RecordBatch::try_new(Arc::new(masked_schema()), columns)
}

/// Builds a batch of token records, column by column.
#[derive(Debug, Default)]
pub struct TokensBuilder {
    ids: StringBuilder,
    /// The tokens of all records, one behind another.
    pub tokens: Vec<i32>,
    offsets: Vec<i32>,
    segment_offsets: Vec<i32>,
    segments_known: Vec<bool>,
    roles: Vec<&'static str>,
    channels: StringBuilder,
    starts: Vec<i32>,
    ends: Vec<i32>,
    masked: bool,
    /// Along the tokens where the records have masks, else empty.
    pub loss_mask: Vec<u8>,
    pub span_id: Vec<u8>,
}

impl TokensBuilder {
    /// A builder of records with masks, to be filled along the tokens.
    pub fn masked() -> TokensBuilder {
        TokensBuilder { masked: true, ..TokensBuilder::default() }
    }

    pub fn len(&self) -> usize {
        self.offsets.len()
    }

    pub fn is_empty(&self) -> bool {
        self.offsets.is_empty()
    }

    /// Adds a segment to the record that the next [`TokensBuilder::finish_record`] ends.
    pub fn segment(&mut self, role: &'static str, channel: Option<&str>, start: i32, end: i32) {
        self.roles.push(role);
        self.channels.append_option(channel);
        self.starts.push(start);
        self.ends.push(end);
    }

    /// Ends a record whose segments have been added: what has come to `tokens` since the last is
    /// its sequence. Fails where a batch would pass 2^31 tokens (one sequence may not, and batches
    /// are far smaller).
    pub fn finish_record(&mut self, id: Option<&str>) -> Result<(), ArrowError> {
        self.end_record(id, true)
    }

    /// Ends a record whose segments are not known.
    pub fn finish_record_without_segments(&mut self, id: Option<&str>) -> Result<(), ArrowError> {
        self.end_record(id, false)
    }

    fn end_record(&mut self, id: Option<&str>, segments_known: bool) -> Result<(), ArrowError> {
        let too_long = || ArrowError::OffsetOverflowError(self.tokens.len());
        let tokens_end = i32::try_from(self.tokens.len()).map_err(|_| too_long())?;
        let segments_end = i32::try_from(self.roles.len()).map_err(|_| too_long())?;
        self.ids.append_option(id);
        self.offsets.push(tokens_end);
        self.segment_offsets.push(segments_end);
        self.segments_known.push(segments_known);
        Ok(())
    }

    /// The batch of the records so far; the builder is empty again.
    pub fn finish(&mut self) -> Result<RecordBatch, ArrowError> {
        let masked = self.masked;
        let mut built =
            std::mem::replace(self, TokensBuilder { masked, ..TokensBuilder::default() });
        let offsets = offsets(built.offsets);
        let tokens = Int32Array::new(ScalarBuffer::from(built.tokens), None);
        let structs = StructArray::try_new(
            segment_fields(),
            vec![
                Arc::new(StringArray::from(built.roles)),
                Arc::new(built.channels.finish()),
                Arc::new(Int32Array::from(built.starts)),
                Arc::new(Int32Array::from(built.ends)),
            ],
            None,
        )?;
        let segment_item = item(DataType::Struct(segment_fields()));
        let segment_offsets = self::offsets(built.segment_offsets);
        let batch = RecordBatch::try_new(
            Arc::new(unmasked_schema()),
            vec![
                Arc::new(built.ids.finish()),
                Arc::new(ListArray::try_new(
                    item(DataType::Int32),
                    offsets,
                    Arc::new(tokens),
                    None,
                )?),
                Arc::new(ListArray::try_new(
                    segment_item,
                    segment_offsets,
                    Arc::new(structs),
                    built.segments_known.contains(&false).then(|| built.segments_known.into()),
                )?),
            ],
        )?;
        match masked {
            true => with_masks(&batch, built.loss_mask, built.span_id),
            false => Ok(batch),
        }
    }
}

/// Arrow's offsets (a leading 0) from the ends of the rows.
fn offsets(ends: Vec<i32>) -> OffsetBuffer<i32> {
    OffsetBuffer::new(std::iter::once(0).chain(ends).collect())
}
