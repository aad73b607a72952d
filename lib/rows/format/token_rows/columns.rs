//! The columns of each form, built row by row.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{
    ArrayRef, Int8Array, Int32Array, Int64Array, ListArray, StringArray, UInt8Array,
};
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer, ToByteSlice};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::manifest::Labels;
use super::store::{
    OF_MODEL, SequenceRule, Sequences, end_inside, no_end, not_at_end, outside, wrong_mask,
};
use crate::error::{Error, Result};
use crate::model::Vocabulary;
use crate::packing::{Overflow, Packing, Piece, RowUnit};
use crate::record::ids::PieceBuilder;
pub use crate::record::row::IGNORED;
use crate::record::tokens::Segment;
use crate::tokenizer::{EOD, RETURN};

/// The trainer for which rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// One sequence a row: TRL, Axolotl, Unsloth, the Trainer of transformers.
    Rows,
    /// TRL's packed rows, with `seq_lengths`.
    Trl,
    /// Megatron-Bridge's packed Parquet.
    MegatronBridge,
}

impl Form {
    pub fn name(self) -> &'static str {
        match self {
            Form::Rows => "rows",
            Form::Trl => "trl",
            Form::MegatronBridge => "megatron-bridge",
        }
    }

    /// Returns the unit in which the positions of a row are counted.
    pub fn counted(self) -> RowUnit {
        match self {
            Form::Rows | Form::Trl => RowUnit::Tokens,
            Form::MegatronBridge => RowUnit::Inputs,
        }
    }

    /// Whether a mask is about the token at its position (as `labels` are), not about the next one.
    pub fn is_token_aligned(self) -> bool {
        self != Form::MegatronBridge
    }

    /// Returns the most rows of a row group.
    pub fn group_rows(self) -> usize {
        match self {
            Form::Rows | Form::Trl => 1000,
            Form::MegatronBridge => 500,
        }
    }

    /// Returns the required columns of tokens, then the columns of pieces.
    fn columns(self) -> &'static [&'static str] {
        match self {
            Form::Rows => &["input_ids", "labels", "attention_mask"],
            Form::Trl => &["input_ids", "labels", "seq_lengths"],
            Form::MegatronBridge => &["input_ids", "loss_mask", "seq_start_id"],
        }
    }
}

/// A column that no trainer needs, and that disturbs none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExtraColumn {
    /// The id of each sequence.
    Id,
    /// The span id of each position, aligned as the labels or the mask.
    #[value(name = "span_id")]
    SpanId,
    /// For each piece: the number of its sequence, its start in the sequence, and how many tokens
    /// are left after it.
    Sequence,
}

/// The padding token of o200k: the `eos_id` of gpt-oss. Megatron-Bridge pads with the model's `eos_id`, and
/// looks for it from the end (`packing/offline.py`, `packing/gpt_sft.py`).
pub const PAD: i32 = RETURN;

/// The column with the number of tokens of each piece, without its padding. (It is needed because a
/// piece may itself end in [`PAD`].)
pub(super) const LENGTH: &str = "length";

/// A form, and its columns beyond the required ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    pub form: Form,
    pub ids: bool,
    pub spans: bool,
    pub sequences: bool,
    /// Whether pieces are padded.
    pub padded: bool,
}

/// The names of the columns of [`ExtraColumn::Sequence`].
pub const PLACE: [&str; 3] = ["sequence", "start", "left"];

fn list_of(item: DataType) -> DataType {
    DataType::List(Arc::new(Field::new("item", item, false)))
}

impl Layout {
    pub fn of(form: Form, extras: &[ExtraColumn], are_pieces_parts: bool, padded: bool) -> Layout {
        let has = |extra| extras.contains(&extra);
        let sequences = has(ExtraColumn::Sequence) || are_pieces_parts;
        Layout {
            form,
            ids: has(ExtraColumn::Id),
            spans: has(ExtraColumn::SpanId),
            sequences,
            padded,
        }
    }

    /// Returns the layout of a file with these columns.
    pub fn found(form: Form, padded: bool, schema: &Schema) -> Layout {
        let has = |name: &str| schema.column_with_name(name).is_some();
        let (ids, spans, sequences) = (has("id"), has("span_id"), has("sequence"));
        Layout { form, ids, spans, sequences, padded }
    }

    pub fn schema(&self) -> SchemaRef {
        let mut fields = Vec::new();
        for name in self.form.columns() {
            let item = match *name {
                "attention_mask" | "loss_mask" => DataType::Int8,
                _ => DataType::Int32,
            };
            fields.push(Field::new(*name, list_of(item), false));
        }
        let of_piece = |name: &str, item: DataType, nullable: bool| match self.form {
            Form::Rows => Field::new(name, item, nullable),
            _ => {
                let item = Field::new("item", item, nullable);
                Field::new(name, DataType::List(Arc::new(item)), false)
            }
        };
        if self.ids {
            fields.push(of_piece("id", DataType::Utf8, true));
        }
        if self.spans {
            fields.push(Field::new("span_id", list_of(DataType::UInt8), false));
        }
        if self.sequences {
            let types = [DataType::Int64, DataType::Int32, DataType::Int32];
            fields.extend(PLACE.iter().zip(types).map(|(name, item)| of_piece(name, item, false)));
        }
        if self.padded {
            fields.push(of_piece(LENGTH, DataType::Int32, false));
        }
        SchemaRef::new(Schema::new(fields))
    }
}

/// Hashes a piece to 64 bits: its tokens (int32, little-endian), and its masks (a byte each, 0 or
/// 1) as the form aligns them. The hash of rows is the sum of the hashes of their pieces.
pub fn piece_hash(tokens: &[i32], mask: &[u8]) -> u64 {
    xxh3_64_with_seed(mask, xxh3_64(tokens.to_byte_slice()))
}

/// Counts that are made while rows are built.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct GroupTotals {
    pub labels: Labels,
    pub hash: u64,
}

impl GroupTotals {
    pub fn add(&mut self, other: &GroupTotals) {
        let Labels { in_rows, at_seams, lost } = other.labels;
        self.labels.in_rows += in_rows;
        self.labels.at_seams += at_seams;
        self.labels.lost += lost;
        self.hash = self.hash.wrapping_add(other.hash);
    }
}

/// Counts the labels of tokens that are in no row. These are `tokens` except the first (they are the last
/// tokens of a sequence), and the end of document after them if it is not kept. The end of document must
/// be there.
pub(super) fn left_out(
    store: &dyn Sequences,
    sequence: u64,
    tokens: Range<u32>,
    keep_eod: bool,
) -> Result<u64> {
    let end = tokens.end;
    if !keep_eod {
        let mut last = Vec::new();
        store.tokens(sequence, end..end + 1, &mut last)?;
        if last != [EOD] {
            return Err(no_end(&store.place(sequence)));
        }
    }
    let mut mask = Vec::new();
    // (Position t is about token t + 1.)
    let about = if keep_eod { end.saturating_sub(1) } else { end };
    store.masks(sequence, tokens.start..about.max(tokens.start), &mut mask, None)?;
    Ok(mask.iter().map(|&mask| u64::from(mask)).sum())
}

/// The sequences from which pieces are cut.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub store: &'a dyn Sequences,
    /// The number of the first sequence, and the length of each; the end of document counts only if
    /// it is kept.
    pub first: u64,
    pub lengths: &'a [u32],
    pub keep_eod: bool,
    /// Whether tokens that are not in the vocabulary are accepted.
    pub no_check: bool,
    pub vocabulary: Vocabulary,
    /// The token that pieces are padded with.
    pub pad: i32,
    pub packing: Packing,
}

/// A row group that is being built.
pub(super) struct GroupColumns {
    layout: Layout,
    tokens: Vec<i32>,
    labels: Vec<i32>,
    mask: Vec<u8>,
    spans: Vec<u8>,
    row_ends: Vec<i32>,
    /// How many pieces there are up to the end of each row.
    piece_ends: Vec<i32>,
    /// The lengths of pieces, with and without padding.
    piece_lengths: Vec<i32>,
    own_lengths: Vec<i32>,
    ids: StringBuilder,
    sequences: Vec<i64>,
    starts: Vec<i32>,
    left: Vec<i32>,
    /// The messages of each piece, if the tokens do not show them.
    segments: Option<PieceBuilder>,
    totals: GroupTotals,
    whole: WholeSequence,
}

/// A sequence that was read whole for its rule, with its end of document.
#[derive(Default)]
struct WholeSequence {
    tokens: Vec<i32>,
    mask: Vec<u8>,
    spans: Vec<u8>,
}

impl WholeSequence {
    /// Checks a sequence of `length` tokens.
    fn check(
        &mut self,
        store: &dyn Sequences,
        (sequence, length): (u64, u32),
        rule: &mut SequenceRule,
    ) -> Result<()> {
        let WholeSequence { tokens, mask, spans } = self;
        tokens.clear();
        mask.clear();
        spans.clear();
        store.tokens(sequence, 0..length, tokens)?;
        store.masks(sequence, 0..length, mask, Some(spans))?;
        let checked = rule(tokens, (mask, spans), store.segments(sequence));
        checked.map_err(|cause| Error::data(cause).at(store.place(sequence)))
    }
}

impl GroupColumns {
    pub fn new(layout: Layout, tokens: usize, with_segments: bool) -> GroupColumns {
        let with = |is: bool| if is { tokens + 1 } else { 0 };
        GroupColumns {
            layout,
            tokens: Vec::with_capacity(tokens + 1),
            labels: Vec::with_capacity(with(layout.form.is_token_aligned())),
            mask: Vec::with_capacity(tokens + 1),
            spans: Vec::with_capacity(with(layout.spans)),
            row_ends: vec![0],
            piece_ends: vec![0],
            piece_lengths: Vec::new(),
            own_lengths: Vec::new(),
            ids: StringBuilder::new(),
            sequences: Vec::new(),
            starts: Vec::new(),
            left: Vec::new(),
            segments: with_segments.then(PieceBuilder::default),
            totals: GroupTotals::default(),
            whole: WholeSequence::default(),
        }
    }

    /// Adds a row. Each sequence that begins in it must satisfy the rule.
    pub fn row(
        &mut self,
        pieces: &[Piece],
        source: &Source<'_>,
        mut rule: Option<&mut SequenceRule>,
    ) -> Result<()> {
        let packing = &source.packing;
        let used = packing.row_weight(pieces.iter().map(|piece| piece.length));
        for (number, piece) in pieces.iter().enumerate() {
            let is_last = number + 1 == pieces.len();
            let more = if is_last { packing.row_padding(used) } else { 0 };
            self.piece(piece, packing.padding(piece.length) + more, source)?;
            if let Some(rule) = rule.as_deref_mut().filter(|_| piece.start == 0) {
                let own = source.lengths[(piece.sequence - source.first) as usize];
                let whole = (piece.sequence, own + u32::from(!source.keep_eod));
                self.whole.check(source.store, whole, rule)?;
            }
        }
        self.row_ends.push(self.tokens.len() as i32);
        self.piece_ends.push(self.piece_lengths.len() as i32);
        Ok(())
    }

    fn piece(&mut self, piece: &Piece, padding: u32, source: &Source<'_>) -> Result<()> {
        let &Piece { sequence, start, length } = piece;
        let end = start + length;
        let all = source.lengths[(sequence - source.first) as usize];
        let bad = |cause: String| Error::data(cause).at(source.store.place(sequence));
        let begin = self.tokens.len();
        let has_end = end == all && !source.keep_eod;
        source.store.tokens(sequence, start..end + u32::from(has_end), &mut self.tokens)?;
        if has_end && self.tokens.pop() != Some(EOD) {
            return Err(no_end(&source.store.place(sequence)));
        }
        if let (false, Some(cause)) = (source.keep_eod, end_inside(&self.tokens[begin..])) {
            return Err(not_at_end(cause, &source.store.place(sequence)));
        }
        // (Our own writer refuses such tokens; triples of other writers are read as they are.)
        let tokens = &self.tokens[begin..];
        if let (false, Some(cause)) = (source.no_check, outside(tokens, source.vocabulary)) {
            let error = bad(cause);
            let is_o200k = source.vocabulary.is_o200k();
            return Err(if is_o200k { error.hint(OF_MODEL) } else { error });
        }
        let masks = self.mask.len();
        let next = self.masks(piece, source)?;
        let mask = &self.mask[masks..];
        // (All of them are combined first: the processor does many at once.)
        let together = mask.iter().fold(0, |together, value| together | value);
        if let Some(other) = mask.iter().find(|value| together > 1 && **value > 1) {
            return Err(bad(wrong_mask(*other)));
        }
        let is_token_aligned = self.layout.form.is_token_aligned();
        let tokens = &self.tokens[begin..];
        if is_token_aligned {
            let label = |(&token, &mask): (&i32, &u8)| if mask == 0 { IGNORED } else { token };
            self.labels.extend(tokens.iter().zip(mask).map(label));
        }
        let Labels { in_rows, at_seams, lost } = &mut self.totals.labels;
        *in_rows += mask.iter().map(|&mask| u64::from(mask)).sum::<u64>();
        // The token after the piece is in the next piece, or in none.
        let goes_on = end < all && source.packing.overflow != Overflow::Cut;
        if next && !goes_on {
            *lost += 1;
        }
        if end < all && !goes_on {
            *lost += left_out(source.store, sequence, end..all, source.keep_eod)?;
        }
        *at_seams += match is_token_aligned {
            true => u64::from(start > 0 && mask.first() == Some(&1)),
            false => u64::from(next && goes_on),
        };
        self.totals.hash = self.totals.hash.wrapping_add(piece_hash(tokens, mask));
        self.pad(length, padding, source.pad);
        if let Some(pieces) = &mut self.segments {
            let (from, to) = (start as i32, end as i32);
            let is_inside = |segment: &Segment<'_>| segment.start < to && from < segment.end;
            let all = source.store.segments(sequence);
            pieces.push(all.map(|all| all.into_iter().filter(is_inside)));
        }
        if self.layout.ids {
            self.ids.append_option(source.store.id(sequence));
        }
        if self.layout.sequences {
            self.sequences.push(sequence as i64);
            self.starts.push(start as i32);
            self.left.push((all - end) as i32);
        }
        Ok(())
    }

    /// Ends a piece of `length` tokens with so many of a token.
    fn pad(&mut self, length: u32, padding: u32, token: i32) {
        let more = padding as usize;
        self.tokens.extend(std::iter::repeat_n(token, more));
        self.mask.extend(std::iter::repeat_n(0, more));
        if self.layout.form.is_token_aligned() {
            self.labels.extend(std::iter::repeat_n(IGNORED, more));
        }
        if self.layout.spans {
            self.spans.extend(std::iter::repeat_n(0, more));
        }
        self.piece_lengths.push((length + padding) as i32);
        self.own_lengths.extend(self.layout.padded.then_some(length as i32));
    }

    /// Appends the masks of a piece; returns whether the token after it is trained on.
    fn masks(&mut self, piece: &Piece, source: &Source<'_>) -> Result<bool> {
        let (start, end) = (piece.start, piece.start + piece.length);
        let spans = self.layout.spans;
        let is_token_aligned = self.layout.form.is_token_aligned();
        if is_token_aligned && start == 0 {
            // No position predicts the first token.
            self.mask.push(0);
            self.spans.extend(spans.then_some(0));
        }
        let from = if is_token_aligned { start.saturating_sub(1) } else { start };
        let into = spans.then_some(&mut self.spans);
        source.store.masks(piece.sequence, from..end, &mut self.mask, into)?;
        let next = self.mask.pop() == Some(1);
        if spans {
            self.spans.pop();
        }
        if !is_token_aligned {
            // The last position of a piece predicts nothing.
            self.mask.push(0);
            self.spans.extend(spans.then_some(0));
        }
        Ok(next)
    }

    /// Returns the columns in the order of the schema, and the messages of the pieces.
    pub fn finish(mut self) -> Result<(Vec<ArrayRef>, GroupTotals, Option<PieceBuilder>)> {
        let (totals, segments) = (self.totals, self.segments.take());
        Ok((self.columns()?, totals, segments))
    }

    fn columns(mut self) -> Result<Vec<ArrayRef>, ArrowError> {
        let schema = self.layout.schema();
        let by_row = OffsetBuffer::new(self.row_ends.into());
        let by_piece = OffsetBuffer::new(self.piece_ends.into());
        let list = |field: &FieldRef, values: ArrayRef, offsets: &OffsetBuffer<i32>| {
            let DataType::List(item) = field.data_type() else { return Ok(values) };
            let list = ListArray::try_new(item.clone(), offsets.clone(), values, None)?;
            Ok::<ArrayRef, ArrowError>(Arc::new(list))
        };
        let rows = by_row.len() - 1;
        let mut columns = Vec::new();
        for field in schema.fields() {
            let (values, offsets): (ArrayRef, _) = match field.name().as_str() {
                "input_ids" => (int32(&mut self.tokens), &by_row),
                "labels" => (int32(&mut self.labels), &by_row),
                "attention_mask" => {
                    let mut seen = vec![1; by_row[rows] as usize];
                    // (Rows of one piece.)
                    for (end, (own, all)) in
                        by_row[1..].iter().zip(self.own_lengths.iter().zip(&self.piece_lengths))
                    {
                        let end = *end as usize;
                        seen[end - (all - own) as usize..end].fill(0);
                    }
                    (Arc::new(Int8Array::from(seen)), &by_row)
                }
                "loss_mask" => {
                    let mask = ScalarBuffer::from(Buffer::from_vec(std::mem::take(&mut self.mask)));
                    (Arc::new(Int8Array::new(mask, None)), &by_row)
                }
                "span_id" => {
                    let spans = UInt8Array::from(std::mem::take(&mut self.spans));
                    (Arc::new(spans), &by_row)
                }
                "seq_lengths" => (int32(&mut self.piece_lengths), &by_piece),
                "seq_start_id" => {
                    let mut starts = Vec::with_capacity(self.piece_lengths.len());
                    for row in 0..rows {
                        let pieces = by_piece[row] as usize..by_piece[row + 1] as usize;
                        let mut start = 0;
                        for &length in &self.piece_lengths[pieces] {
                            starts.push(start);
                            start += length;
                        }
                    }
                    (int32(&mut starts), &by_piece)
                }
                "id" => {
                    let ids: StringArray = self.ids.finish();
                    (Arc::new(ids), &by_piece)
                }
                "sequence" => {
                    let sequences = Int64Array::from(std::mem::take(&mut self.sequences));
                    (Arc::new(sequences), &by_piece)
                }
                "start" => (int32(&mut self.starts), &by_piece),
                LENGTH => (int32(&mut self.own_lengths), &by_piece),
                _ => (int32(&mut self.left), &by_piece),
            };
            columns.push(list(field, values, offsets)?);
        }
        Ok(columns)
    }
}

fn int32(values: &mut Vec<i32>) -> ArrayRef {
    Arc::new(Int32Array::from(std::mem::take(values)))
}
