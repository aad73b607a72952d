//! What an Arrow message claims of its buffers, checked before a decoder believes it: the crate
//! `arrow-ipc` panics if a buffer leaves its message or ends within a value, and allocates what
//! a compressed one claims. The crate checks the values itself.

use arrow_buffer::Buffer;
use arrow_ipc::RecordBatch;
use arrow_schema::{DataType, Schema};

use crate::wording::exactly;

/// Rows that need no bytes (of columns of nulls) a batch may have.
const MOST_EMPTY_ROWS: u64 = 1 << 20;
/// No codec packs more: a zstd block of 4 bytes expands to at most 128 KiB.
const MOST_RATIO: u64 = 1 << 15;

/// Checks the buffers of a batch whose columns have these types, and that they have at most `most`
/// bytes together once they are decompressed. Gives these bytes, or the cause if one is wrong.
pub fn check_buffers<'a>(
    batch: RecordBatch<'_>,
    types: impl Iterator<Item = &'a DataType>,
    body: &Buffer,
    most: u64,
) -> Result<u64, String> {
    let mut variadic = batch.variadicBufferCounts().into_iter().flatten();
    let mut widths = Vec::new();
    // After a type that is not known here, no buffer's width is known.
    let _ = types.into_iter().try_for_each(|data_type| {
        append_widths(data_type, &mut variadic, batch.buffers().map_or(0, |b| b.len()), &mut widths)
    });
    let mut total = 0u64;
    let outside = || "a buffer that is not in its message".to_string();
    for (number, buffer) in batch.buffers().into_iter().flatten().enumerate() {
        let start = usize::try_from(buffer.offset()).map_err(|_| outside())?;
        let length = usize::try_from(buffer.length()).map_err(|_| outside())?;
        let end = start.checked_add(length).ok_or_else(outside)?;
        let bytes = body.get(start..end).ok_or_else(outside)?;
        let length = match batch.compression() {
            Some(_) => decompressed_length(bytes)?,
            None => bytes.len() as u64,
        };
        let width = widths.get(number).copied().unwrap_or(1);
        if !length.is_multiple_of(width) {
            return Err(format!(
                "a buffer of {length} that holds values of {width}",
                length = exactly(length, "byte")
            ));
        }
        total = total.saturating_add(length);
        if batch.compression().is_some() && total > most {
            return Err(format!(
                "a compressed batch of {total}; it may have {most}",
                total = exactly(total, "byte")
            ));
        }
    }
    check_rows(batch, total)?;
    Ok(total)
}

/// A row takes at least a bit, but for columns of nulls, which have any number of rows in no bytes:
/// what is made of them has bytes.
fn check_rows(batch: RecordBatch<'_>, bytes: u64) -> Result<(), String> {
    let most = bytes.saturating_mul(8).saturating_add(MOST_EMPTY_ROWS);
    let nodes = batch.nodes().into_iter().flatten().map(|node| node.length());
    let rows =
        nodes.chain([batch.length()]).find(|&rows| u64::try_from(rows).is_ok_and(|n| n > most));
    rows.map_or(Ok(()), |rows| {
        Err(format!(
            "a batch of {rows} in {bytes}",
            rows = exactly(rows, "row"),
            bytes = exactly(bytes, "byte")
        ))
    })
}

/// A compressed buffer begins with its real length; -1 means that the bytes are not compressed.
fn decompressed_length(bytes: &[u8]) -> Result<u64, String> {
    let Some((claimed, packed)) = bytes.split_first_chunk() else { return Ok(bytes.len() as u64) };
    let packed = packed.len() as u64;
    let claimed = match i64::from_le_bytes(*claimed) {
        -1 => return Ok(packed),
        claimed => claimed,
    };
    let most = packed.saturating_mul(MOST_RATIO);
    u64::try_from(claimed).ok().filter(|&claimed| claimed <= most).ok_or_else(|| {
        format!(
            "a compressed buffer of {packed} that claims to hold {claimed}",
            packed = exactly(packed, "byte")
        )
    })
}

/// The types of the values that a dictionary holds (by the fields that refer to it).
pub fn dictionary_types(schema: &Schema, id: i64) -> Vec<&DataType> {
    #[allow(deprecated)] // the crate's own decoder finds the fields so
    let fields = schema.fields_with_dict_id(id);
    let values = fields.first().and_then(|field| match field.data_type() {
        DataType::Dictionary(_, values) => Some(values.as_ref()),
        _ => None,
    });
    values.into_iter().collect()
}

/// Appends, for each buffer that a column of this type has, the width that its length is a
/// multiple of, in the format's order (the validity first, children after their parent). `None`
/// if the type is not known here. `most` bounds what `variadic` claims.
fn append_widths(
    data_type: &DataType,
    variadic: &mut impl Iterator<Item = i64>,
    most: usize,
    widths: &mut Vec<u64>,
) -> Option<()> {
    use DataType::*;
    let own: &[u64] = match data_type {
        Null => &[],
        Struct(_) | FixedSizeList(..) => &[1],
        Boolean | FixedSizeBinary(_) => &[1, 1],
        Utf8 | Binary => &[1, 4, 1],
        LargeUtf8 | LargeBinary => &[1, 8, 1],
        List(_) | Map(..) => &[1, 4],
        LargeList(_) => &[1, 8],
        ListView(_) => &[1, 4, 4],
        LargeListView(_) => &[1, 8, 8],
        Utf8View | BinaryView => &[1, 16],
        Dictionary(keys, _) => return append_widths(keys, variadic, most, widths),
        other => &[1, other.primitive_width()? as u64],
    };
    widths.extend_from_slice(own);
    match data_type {
        Utf8View | BinaryView => {
            let more = usize::try_from(variadic.next()?).ok()?.min(most);
            widths.resize(widths.len() + more, 1);
        }
        Struct(fields) => {
            for field in fields {
                append_widths(field.data_type(), variadic, most, widths)?;
            }
        }
        List(item)
        | LargeList(item)
        | ListView(item)
        | LargeListView(item)
        | Map(item, _)
        | FixedSizeList(item, _) => append_widths(item.data_type(), variadic, most, widths)?,
        _ => {}
    }
    Some(())
}
