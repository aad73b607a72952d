//! Checks what an Arrow message claims about its buffers, before it is decoded: the crate `arrow-ipc`
//! panics if a buffer reaches beyond its message, and allocates the length that a compressed buffer
//! claims. The crate checks the values itself.

use arrow_buffer::Buffer;
use arrow_ipc::RecordBatch;

use crate::wording::exactly;

/// The most rows without bytes (in columns of nulls) of a batch.
const MOST_EMPTY_ROWS: u64 = 1 << 20;
/// The highest compression ratio of any codec: a zstd block of 4 bytes expands to at most 128 KiB.
const MOST_RATIO: u64 = 1 << 15;

/// Checks the buffers of a batch, and that they have at most `most` bytes together once they are
/// decompressed. Returns these bytes; the error says which buffer is wrong.
pub fn check_buffers(batch: RecordBatch<'_>, body: &Buffer, most: u64) -> Result<u64, String> {
    let mut total = 0u64;
    let outside = || "a buffer that is not in its message".to_string();
    for buffer in batch.buffers().into_iter().flatten() {
        let start = usize::try_from(buffer.offset()).map_err(|_| outside())?;
        let length = usize::try_from(buffer.length()).map_err(|_| outside())?;
        let end = start.checked_add(length).ok_or_else(outside)?;
        let bytes = body.get(start..end).ok_or_else(outside)?;
        let length = match batch.compression() {
            Some(_) => decompressed_length(bytes)?,
            None => bytes.len() as u64,
        };
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

/// Checks the number of rows. A row takes at least a bit, except in columns of nulls: these have any
/// number of rows without a byte, but take memory when they are decoded.
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

/// Returns the real length of a compressed buffer, with which it begins; -1 means that the bytes
/// are not compressed.
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
