//! Batches of other programs, handed on in pieces. A dictionary or a view states a large text in a few
//! bytes; each use of the text becomes a copy when the columns are converted to a record type. So the batch
//! is cut before that, into pieces that together are not much larger than a batch of ours.

use std::collections::HashMap;
use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{ByteArrayType, ByteViewType};
use arrow_array::{Array, GenericByteArray, GenericByteViewArray, OffsetSizeTrait, RecordBatch};
use arrow_schema::{DataType, Schema};

use crate::error::Error;

/// The most bytes of a piece, unless one record has more.
const PIECE_BYTES: u64 = 4 << 20;
/// The most rows of a piece: columns of nulls have rows without any bytes.
const PIECE_ROWS: usize = 1 << 16;

/// A batch that is handed out in pieces.
pub struct Pieces {
    batch: RecordBatch,
    /// The size of each row, if the rows are larger than the batch is in memory.
    sizes: Option<Vec<u64>>,
    start: usize,
}

/// The error for the row with this index, which has more bytes than a record may have.
#[derive(Debug)]
pub struct TooLarge(pub usize);

impl TooLarge {
    /// Returns the error for a record, or line, that is longer than `--max-record-bytes` allows.
    pub fn error(most: u64) -> Error {
        Error::data(format!("a record of more than {most} bytes"))
            .hint("--max-record-bytes N, if it is good")
    }
}

impl Pieces {
    /// Fails if a row is larger than `most` bytes.
    pub fn of(batch: RecordBatch, most: u64) -> Result<Pieces, TooLarge> {
        let memory = || batch.columns().iter().map(|c| c.get_array_memory_size() as u64).sum();
        let sizes = (repeats(batch.schema_ref()) || most < memory()).then(|| row_sizes(&batch));
        let large = sizes.iter().flatten().position(|&size| size > most);
        large.map_or(Ok(Pieces { batch, sizes, start: 0 }), |row| Err(TooLarge(row)))
    }

    fn end(&self) -> usize {
        let most = self.batch.num_rows().min(self.start.saturating_add(PIECE_ROWS));
        let Some(sizes) = &self.sizes else { return most };
        let mut bytes = 0u64;
        let fits = |size: &&u64| {
            bytes = bytes.saturating_add(**size);
            bytes <= PIECE_BYTES
        };
        let rows = sizes[self.start..most].iter().take_while(fits).count();
        self.start + rows.max(1)
    }
}

impl Iterator for Pieces {
    type Item = RecordBatch;

    fn next(&mut self) -> Option<RecordBatch> {
        if self.start >= self.batch.num_rows() {
            return None;
        }
        let end = self.end();
        let piece = self.batch.slice(self.start, end - self.start);
        self.start = end;
        Some(piece)
    }
}

/// Whether rows of this schema can be larger than their share of a batch's memory.
fn repeats(schema: &Schema) -> bool {
    fn of(data_type: &DataType) -> bool {
        use DataType::*;
        match data_type {
            Utf8View | BinaryView | Dictionary(..) | RunEndEncoded(..) => true,
            ListView(_) | LargeListView(_) | Union(..) => true,
            List(item) | LargeList(item) | FixedSizeList(item, _) | Map(item, _) => {
                of(item.data_type())
            }
            Struct(fields) => fields.iter().any(|field| of(field.data_type())),
            _ => false,
        }
    }
    schema.fields().iter().any(|field| of(field.data_type()))
}

/// Returns the size of each row, as if it shared no memory with other rows.
pub fn row_sizes(batch: &RecordBatch) -> Vec<u64> {
    let mut sizes = vec![0; batch.num_rows()];
    batch.columns().iter().for_each(|column| add_sizes(column, &mut sizes));
    sizes
}

/// Adds the size of each row of a column without sharing.
fn add_sizes(array: &dyn Array, sizes: &mut [u64]) {
    match array.data_type() {
        DataType::Utf8View => add_views(array.as_string_view(), sizes),
        DataType::BinaryView => add_views(array.as_binary_view(), sizes),
        DataType::Utf8 => add_bytes(array.as_string::<i32>(), sizes),
        DataType::LargeUtf8 => add_bytes(array.as_string::<i64>(), sizes),
        DataType::Binary => add_bytes(array.as_binary::<i32>(), sizes),
        DataType::LargeBinary => add_bytes(array.as_binary::<i64>(), sizes),
        DataType::Dictionary(..) => add_dictionary(array, sizes),
        DataType::List(_) => add_list::<i32>(array, sizes),
        DataType::LargeList(_) => add_list::<i64>(array, sizes),
        DataType::ListView(_) => {
            let list = array.as_list_view::<i32>();
            let rows = list.offsets().iter().zip(list.sizes());
            let rows = rows.map(|(&start, &length)| (start as usize, length as usize));
            add_items(list.values(), rows.map(|(start, length)| start..start + length), sizes);
        }
        DataType::LargeListView(_) => {
            let list = array.as_list_view::<i64>();
            let rows = list.offsets().iter().zip(list.sizes());
            let rows = rows.map(|(&start, &length)| (start as usize, length as usize));
            add_items(list.values(), rows.map(|(start, length)| start..start + length), sizes);
        }
        DataType::Map(..) => {
            let map = array.as_map();
            let rows = map.offsets().windows(2).map(|ends| ends[0] as usize..ends[1] as usize);
            add_items(map.entries(), rows, sizes);
        }
        DataType::FixedSizeList(_, length) => {
            let (list, length) = (array.as_fixed_size_list(), *length as usize);
            let rows = (0..list.len()).map(|row| row * length..(row + 1) * length);
            add_items(list.values(), rows, sizes);
        }
        DataType::Union(members, _) => {
            let union = array.as_union();
            let each = members.iter().map(|(id, _)| {
                let mut own = vec![0; union.child(id).len()];
                add_sizes(union.child(id), &mut own);
                (id, own)
            });
            let each: HashMap<i8, Vec<u64>> = each.collect();
            let size = |row| each.get(&union.type_id(row))?.get(union.value_offset(row)).copied();
            add(sizes, (0..union.len()).map(|row| size(row).unwrap_or(0)));
        }
        DataType::Struct(_) => {
            array.as_struct().columns().iter().for_each(|column| add_sizes(column, sizes));
        }
        _ => {
            // All rows are alike, or nothing better is known.
            let bytes = array.to_data().get_slice_memory_size().unwrap_or(0) as u64;
            let each = bytes / (array.len() as u64).max(1);
            sizes.iter_mut().for_each(|size| *size = size.saturating_add(each));
        }
    }
}

fn add(sizes: &mut [u64], more: impl Iterator<Item = u64>) {
    sizes.iter_mut().zip(more).for_each(|(size, more)| *size = size.saturating_add(more));
}

fn add_views<T: ByteViewType + ?Sized>(array: &GenericByteViewArray<T>, sizes: &mut [u64]) {
    // The low 32 bits of a view are the length of its text.
    add(sizes, array.views().iter().map(|&view| u64::from(view as u32) + 16));
}

fn add_bytes<T: ByteArrayType>(array: &GenericByteArray<T>, sizes: &mut [u64]) {
    add(sizes, array.offsets().lengths().map(|length| length as u64 + 4));
}

fn add_list<O: OffsetSizeTrait>(array: &dyn Array, sizes: &mut [u64]) {
    let list = array.as_list::<O>();
    let rows = list.offsets().windows(2).map(|ends| ends[0].as_usize()..ends[1].as_usize());
    add_items(list.values(), rows, sizes);
}

/// Adds the items of each row.
fn add_items(items: &dyn Array, rows: impl Iterator<Item = Range<usize>>, sizes: &mut [u64]) {
    if let Some(width) = items.data_type().primitive_width() {
        add(sizes, rows.map(|row| (row.len() * width) as u64 + 4));
        return;
    }
    let mut each = vec![0; items.len()];
    add_sizes(items, &mut each);
    // Where each item would begin if all of them stood one after another.
    let mut starts = Vec::with_capacity(each.len() + 1);
    starts.push(0u64);
    for size in each {
        starts.push(starts.last().map_or(0, |start| start.saturating_add(size)));
    }
    let start = |item: usize| starts.get(item).or(starts.last()).copied().unwrap_or(0);
    add(sizes, rows.map(|row| start(row.end).saturating_sub(start(row.start)) + 4));
}

fn add_dictionary(array: &dyn Array, sizes: &mut [u64]) {
    let Some(dictionary) = array.as_any_dictionary_opt() else { return };
    let values = dictionary.values();
    if values.is_empty() {
        return;
    }
    let mut each = vec![0; values.len()];
    add_sizes(values, &mut each);
    let keys = dictionary.normalized_keys();
    add(sizes, keys.into_iter().map(|key| each.get(key).copied().unwrap_or(0)));
}
