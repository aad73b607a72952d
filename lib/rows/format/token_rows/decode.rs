//! A batch of rows as pieces.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int32Type, Int64Type, UInt8Type};
use arrow_array::{Array, ListArray, RecordBatch};
use arrow_buffer::ToByteSlice;

use super::columns::{Form, IGNORED, LENGTH, Layout, PLACE};
use crate::wording::exactly;

/// One piece in a row.
#[derive(Debug, Clone)]
pub struct RowPiece<'a> {
    /// The index of the piece in its row, from 0.
    pub number: usize,
    /// Its first position in the row.
    pub at: usize,
    pub tokens: &'a [i32],
    /// A byte for each token, 0 or 1, aligned as the form does.
    pub mask: &'a [u8],
    pub spans: Option<&'a [u8]>,
    pub id: Option<&'a str>,
    /// The number of the sequence, the first token, and the tokens left after it.
    pub place: Option<(i64, i32, i32)>,
    /// The tokens and masks of its padding.
    pub padding: (&'a [i32], &'a [u8]),
}

/// A batch of rows whose lists fit one another.
pub struct DecodedRows<'a> {
    layout: Layout,
    tokens: &'a ListArray,
    labels: Option<&'a ListArray>,
    /// The column from which `mask` is read.
    masked: Option<&'a ListArray>,
    /// The mask of each item of its column.
    mask: Vec<u8>,
    spans: Option<&'a ListArray>,
    /// The column `seq_lengths` or `seq_start_id`.
    bounds: Option<&'a ListArray>,
    ids: Option<Columns<'a>>,
    place: Option<[Columns<'a>; 3]>,
    /// The numbers of tokens of padded pieces.
    lengths: Option<Columns<'a>>,
    rows: usize,
}

/// A column with a value for each piece: a plain one if every row has one piece.
#[derive(Clone, Copy)]
enum Columns<'a> {
    Plain(&'a dyn Array),
    Lists(&'a ListArray),
}

impl<'a> Columns<'a> {
    fn of(batch: &'a RecordBatch, name: &str) -> Option<Columns<'a>> {
        let column = batch.column_by_name(name)?;
        Some(column.as_list_opt().map_or(Columns::Plain(column.as_ref()), Columns::Lists))
    }

    /// Returns the values, and the index of a piece's value in them.
    fn at(&self, row: usize, piece: usize) -> (&'a dyn Array, usize) {
        match self {
            Columns::Plain(values) => (*values, row),
            Columns::Lists(lists) => {
                (lists.values().as_ref(), lists.value_offsets()[row] as usize + piece)
            }
        }
    }

    fn text(&self, row: usize, piece: usize) -> Option<&'a str> {
        let (values, at) = self.at(row, piece);
        let values = values.as_string_opt::<i32>()?;
        values.is_valid(at).then(|| values.value(at))
    }

    fn int32(&self, row: usize, piece: usize) -> i32 {
        let (values, at) = self.at(row, piece);
        values.as_primitive_opt::<Int32Type>().map_or(0, |values| values.value(at))
    }

    fn int64(&self, row: usize, piece: usize) -> i64 {
        let (values, at) = self.at(row, piece);
        values.as_primitive_opt::<Int64Type>().map_or(0, |values| values.value(at))
    }
}

fn items(list: &ListArray, row: usize) -> std::ops::Range<usize> {
    let offsets = list.value_offsets();
    offsets[row] as usize..offsets[row + 1] as usize
}

fn int32(list: &ListArray) -> &[i32] {
    list.values().as_primitive_opt::<Int32Type>().map_or(&[], |values| values.values())
}

impl<'a> DecodedRows<'a> {
    /// Takes a batch with the columns of a form; pieces may be padded. The error says which columns are
    /// wrong.
    pub fn of(
        batch: &'a RecordBatch,
        (form, padded): (Form, bool),
    ) -> Result<DecodedRows<'a>, String> {
        let layout = Layout::found(form, padded, &batch.schema());
        let wanted = layout.schema();
        for field in wanted.fields() {
            let Some(column) = batch.column_by_name(field.name()) else {
                return Err(format!("has no column {}", field.name()));
            };
            if !column.data_type().equals_datatype(field.data_type()) {
                let (found, wanted) = (column.data_type(), field.data_type());
                return Err(format!("{} is {found}, not {wanted}", field.name()));
            }
            let items = column.as_list_opt::<i32>().map_or(0, |list| list.values().null_count());
            if field.name() != "id" && column.null_count() + items > 0 {
                return Err(format!("{} has nulls", field.name()));
            }
        }
        let list = |name: &str| batch.column_by_name(name).and_then(|c| c.as_list_opt::<i32>());
        let Some(tokens) = list("input_ids") else { return Err("has no input_ids".to_string()) };
        let labels = list("labels");
        let mask = match (labels, list("loss_mask")) {
            (Some(labels), _) => {
                int32(labels).iter().map(|&label| u8::from(label != IGNORED)).collect()
            }
            (None, Some(masks)) => {
                masks.values().as_primitive::<Int8Type>().values().to_byte_slice().to_vec()
            }
            (None, None) => Vec::new(),
        };
        let place = PLACE.map(|name| Columns::of(batch, name));
        Ok(DecodedRows {
            layout,
            tokens,
            labels,
            masked: labels.or_else(|| list("loss_mask")),
            mask,
            spans: list("span_id"),
            bounds: list("seq_lengths").or_else(|| list("seq_start_id")),
            ids: Columns::of(batch, "id"),
            place: if let [Some(a), Some(b), Some(c)] = place { Some([a, b, c]) } else { None },
            lengths: Columns::of(batch, LENGTH).filter(|_| padded),
            rows: batch.num_rows(),
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.rows
    }

    pub fn tokens(&self, row: usize) -> &'a [i32] {
        &int32(self.tokens)[items(self.tokens, row)]
    }

    pub fn labels(&self, row: usize) -> Option<&'a [i32]> {
        self.labels.map(|labels| &int32(labels)[items(labels, row)])
    }

    /// Returns how many tokens of a row of one piece are no padding.
    pub fn own_length(&self, row: usize) -> usize {
        let all = self.tokens(row).len();
        let own = self.lengths.map(|lengths| lengths.int32(row, 0));
        own.and_then(|own| usize::try_from(own).ok()).map_or(all, |own| own.min(all))
    }

    /// Returns the pieces of a row; the error says why they do not fit.
    pub fn pieces(&self, row: usize) -> Result<Vec<RowPiece<'_>>, String> {
        let tokens = self.tokens(row);
        let mask = self.masked.map_or(&[][..], |masks| &self.mask[items(masks, row)]);
        let spans = self.spans.map(|spans| {
            let values = spans.values().as_primitive_opt::<UInt8Type>();
            values.map_or(&[][..], |values| &values.values()[items(spans, row)])
        });
        let masked = if self.labels.is_some() { "label" } else { "mask" };
        let lengths = [(masked, Some(mask.len())), ("span id", spans.map(<[u8]>::len))];
        for (what, length) in lengths {
            if let Some(length) = length.filter(|length| *length != tokens.len()) {
                return Err(format!(
                    "{}, {}",
                    exactly(tokens.len(), "token"),
                    exactly(length, what)
                ));
            }
        }
        let ends = self.ends(row)?;
        let of_pieces = self.ids.iter().chain(self.place.iter().flatten()).chain(&self.lengths);
        for column in of_pieces {
            if let Columns::Lists(lists) = column
                && items(lists, row).len() != ends.len()
            {
                let values = items(lists, row).len();
                return Err(format!(
                    "{}, {values} or numbers of them",
                    exactly(ends.len(), "piece"),
                    values = exactly(values, "id")
                ));
            }
        }
        let mut start = 0;
        let pieces = ends.into_iter().enumerate().map(|(number, end)| {
            let stored = start..end;
            start = end;
            let length = self.lengths.map(|lengths| lengths.int32(row, number));
            let own = match length.map(usize::try_from) {
                None => stored.clone(),
                Some(Ok(length)) if (1..=stored.len()).contains(&length) => {
                    stored.start..stored.start + length
                }
                _ => {
                    let length = length.unwrap_or_default();
                    return Err(format!(
                        "a piece of {length} in {}",
                        exactly(stored.len(), "token")
                    ));
                }
            };
            let after = own.end..stored.end;
            Ok(RowPiece {
                number,
                at: own.start,
                tokens: &tokens[own.clone()],
                mask: &mask[own.clone()],
                padding: (&tokens[after.clone()], &mask[after]),
                spans: spans.map(|spans| &spans[own]),
                id: self.ids.and_then(|ids| ids.text(row, number)),
                place: self.place.map(|[sequence, start, left]| {
                    let [start, left] = [start, left].map(|column| column.int32(row, number));
                    (sequence.int64(row, number), start, left)
                }),
            })
        });
        pieces.collect()
    }

    /// Returns the end of each piece of a row, ascending; the last one is the end of the row.
    fn ends(&self, row: usize) -> Result<Vec<usize>, String> {
        let length = self.tokens(row).len();
        let Some(bounds) = self.bounds else { return Ok(vec![length]) };
        let values = &int32(bounds)[items(bounds, row)];
        let wrong = |what: &str| {
            Err(format!(
                "{what} {values:?} in a row of {length}",
                length = exactly(length, "token")
            ))
        };
        let mut ends = Vec::with_capacity(values.len());
        match self.layout.form {
            Form::MegatronBridge => {
                if values.first() != Some(&0) {
                    return wrong("seq_start_id");
                }
                for pair in values.windows(2) {
                    if pair[0] >= pair[1] {
                        return wrong("seq_start_id");
                    }
                    ends.push(pair[1] as usize);
                }
                ends.push(length);
                match values.last().is_some_and(|&last| (last as usize) < length) {
                    true => Ok(ends),
                    false => wrong("seq_start_id"),
                }
            }
            _ => {
                let mut end = 0usize;
                for &value in values {
                    if value < 1 {
                        return wrong("seq_lengths");
                    }
                    end = end.saturating_add(value as usize);
                    ends.push(end);
                }
                if end == length { Ok(ends) } else { wrong("seq_lengths") }
            }
        }
    }
}
