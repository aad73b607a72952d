//! Divides inputs: which part of each belongs to `--slice I/N`.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::arrow_source::count_records;
use super::bytes::Bytes;
use super::input::{Content, Input, MARK};
use super::parquet_source::open_parquet;
use crate::cli::Slice;
use crate::error::{Error, Result, shown};
use crate::files;
use crate::format::checked_sum;
use crate::way_on::shown_word;

/// Divides all inputs; returns the range of each that is in the slice, in records (Parquet, Arrow)
/// or bytes (NDJSON). `total` receives the number of records if it is known.
pub(super) fn cut_inputs(
    files: &[PathBuf],
    (slice, allow_empty): (Slice, bool),
    total: &mut Option<u64>,
) -> Result<VecDeque<(PathBuf, Option<Range<u64>>)>> {
    let mut kinds = Vec::new();
    let mut sizes = Vec::new();
    for path in files {
        // This is checked before it is opened: opening a FIFO would take data that others wait for.
        let cannot = |place: &str| {
            let cause =
                "cannot be cut into slices (only regular files that are not compressed can)";
            Err(Error::usage(cause).at(place))
        };
        if path.as_os_str() == "-" {
            return cannot("stdin");
        }
        if files::metadata(path)?.is_some_and(|file| !file.is_file() && !file.is_dir()) {
            return cannot(&shown(path));
        }
        let input = Input::open(path, allow_empty)?;
        if input.path.is_none() {
            return cannot(&input.name);
        }
        let (kind, size) = match input.content {
            Content::Parquet(file) => ("Parquet", open_parquet(&input.name, file)?.rows()),
            Content::Arrow(bytes) => ("Arrow", count_records(&input.name, bytes)?),
            Content::Linked(_) => return cannot(&input.name),
            Content::Values(values) => {
                let (file, command) = (shown_word(&input.name), values.form.to_lines());
                let cause = "cannot be cut into slices: it is JSON without a record a line";
                let way = format!("{command} {file} > {file}.ndjson, which can be cut");
                return Err(Error::usage(cause).at(path.as_path()).hint(way));
            }
            Content::Ndjson(_) => {
                let metadata = std::fs::metadata(path).map_err(|e| Error::io(&input.name, &e))?;
                ("NDJSON", metadata.len())
            }
        };
        kinds.push(kind);
        sizes.push(size);
    }
    if let Some(other) = kinds.iter().find(|kind| **kind != kinds[0]) {
        return Err(Error::usage(format!(
            "--slice: {} and {other} files cannot be cut together",
            kinds[0]
        )));
    }
    if matches!(slice, Slice::Range { .. }) && kinds.contains(&"NDJSON") {
        let cause = format!("--slice {slice}: NDJSON is cut at bytes, its records are not counted");
        return Err(Error::usage(cause).hint("--slice I/N"));
    }
    let all = checked_sum(sizes.iter().copied());
    let total_size = all.ok_or_else(|| Error::data("the inputs claim more than 2^64 rows"))?;
    let wanted = slice.of(total_size);
    let are_rows = kinds.first() != Some(&"NDJSON");
    if are_rows {
        *total = Some(wanted.end - wanted.start);
    }
    let mut start = 0;
    let mut parts = VecDeque::new();
    for (path, size) in files.iter().zip(sizes) {
        let from = wanted.start.clamp(start, start + size) - start;
        let to = wanted.end.clamp(start, start + size) - start;
        // Dropped records belong to a whole input. A file without rows belongs, as a whole, to the
        // one slice in which it stands.
        let is_last = start == total_size && wanted.end == total_size;
        let is_own = size > 0 || wanted.contains(&start) || is_last;
        let is_whole = are_rows && is_own && to - from == size;
        parts.push_back((path.clone(), (!is_whole).then_some(from..to)));
        start += size;
    }
    Ok(parts)
}

/// Returns the lines that begin in a range of bytes, and the number of the first. A line belongs to
/// the slice that has its first byte.
pub(super) fn lines_between(path: &Path, range: Range<u64>) -> Result<(Bytes, u64)> {
    let place = crate::error::shown(path);
    let bad = |e: std::io::Error| Error::io(&place, &e);
    let mut file = File::open(path).map_err(bad)?;
    let text = marked_bytes(&mut file).map_err(bad)?;
    let (start, mut line) = line_start(&mut file, text, 1, range.start).map_err(bad)?;
    let first = line;
    let (end, _) = line_start(&mut file, start, line, range.end).map_err(bad)?;
    line = first;
    file.seek(SeekFrom::Start(start)).map_err(bad)?;
    Ok((Box::new(file.take(end.saturating_sub(start))), line))
}

/// Returns how many bytes the byte order mark of a file has.
fn marked_bytes(file: &mut File) -> std::io::Result<u64> {
    let mut first = Vec::new();
    file.by_ref().take(MARK.len() as u64).read_to_end(&mut first)?;
    Ok(if first == MARK { MARK.len() as u64 } else { 0 })
}

/// Returns the first line start at or after `target`, walking from a known line start; with its
/// number.
fn line_start(file: &mut File, from: u64, line: u64, target: u64) -> std::io::Result<(u64, u64)> {
    if target <= from {
        return Ok((from, line));
    }
    file.seek(SeekFrom::Start(from))?;
    let mut buffer = vec![0u8; 1 << 18];
    let (mut offset, mut line) = (from, line);
    loop {
        let read = match file.read(&mut buffer) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            result => result?,
        };
        if read == 0 {
            return Ok((offset, line));
        }
        for newline in memchr::memchr_iter(b'\n', &buffer[..read]) {
            line += 1;
            let start = offset + newline as u64 + 1;
            if start >= target {
                return Ok((start, line));
            }
        }
        offset += read as u64;
    }
}
