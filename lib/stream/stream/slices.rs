//! Divides inputs: which part of each belongs to `--slice I/N`.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::arrow_source::count_records;
use super::bytes::Bytes;
use super::frames::Frames;
use super::input::{Content, Input, MARK, unpacker};
use super::parquet_source::open_parquet;
use super::whole_file;
use crate::batch::STDIN;
use crate::cli::{FileForms, InputArgs, MAX_RECORD_BYTES, Slice};
use crate::error::{At, Error, Result, shown};
use crate::files;
use crate::format::checked_sum;
use crate::way_on::shown_word;

/// What a file has that can be divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// The records of Parquet.
    Parquet(u64),
    /// The records of an Arrow stream or file.
    Arrow(u64),
    /// The bytes of NDJSON, which is cut at lines.
    Lines(u64),
}

impl Extent {
    /// Looks at a file. The error says why it cannot be cut, and what can be done.
    pub fn of(path: &Path, allow_empty: bool, forms: FileForms) -> Result<Extent> {
        // This is checked before it is opened: opening a FIFO would take data that others wait for.
        let cannot = |place: &str| {
            let cause =
                "cannot be cut into slices (only regular files that are not compressed can)";
            Error::usage(cause).at(place)
        };
        if path.as_os_str() == "-" {
            return Err(cannot(STDIN));
        }
        if files::metadata(path)?.is_some_and(|file| !file.is_file() && !file.is_dir()) {
            return Err(cannot(&shown(path)));
        }
        let input = Input::open(path, allow_empty)?;
        let file = shown_word(&input.name);
        let way = |command: String| format!("{command} > {file}.ndjson, which can be cut");
        if input.path.is_none() {
            let error = cannot(&input.name);
            let command = unpacker(path).at(&input.name)?;
            return Err(match (command, &input.content) {
                (Some(command), Content::Ndjson(_)) => error.hint(way(format!("{command} {file}"))),
                (Some(command), Content::Values(values)) => {
                    let lines = values.form.to_lines();
                    error.hint(way(format!("{command} {file} | {lines}")))
                }
                _ => error,
            });
        }
        match input.content {
            Content::Parquet(file) => Ok(Extent::Parquet(open_parquet(&input.name, file)?.rows())),
            Content::Arrow(bytes) => {
                Ok(Extent::Arrow(count_records(&input.name, Frames::new(bytes, u64::MAX))?))
            }
            Content::ArrowFile(bytes) => {
                let frames = Frames::new(bytes, u64::MAX).of_file();
                Ok(Extent::Arrow(count_records(&input.name, frames)?))
            }
            Content::Linked(_) => Err(cannot(&input.name)),
            Content::Values(values) => {
                let cause = "cannot be cut into slices: it is JSON without a record a line";
                let way = way(format!("{} {file}", values.form.to_lines()));
                Err(Error::usage(cause).at(path).hint(way))
            }
            Content::Ndjson(bytes) => {
                let first = whole_file::form_of(forms, bytes, MAX_RECORD_BYTES).at(&input.name)?;
                if let Some(form) = first.0 {
                    let cause = format!("cannot be cut into slices: it is {}", form.name);
                    let way = way(format!("chat-harmony {file}"));
                    return Err(Error::usage(cause).at(path).hint(way));
                }
                let metadata = std::fs::metadata(path).at(&input.name)?;
                Ok(Extent::Lines(metadata.len()))
            }
        }
    }

    fn kind(self) -> &'static str {
        match self {
            Extent::Parquet(_) => "Parquet",
            Extent::Arrow(_) => "Arrow",
            Extent::Lines(_) => "NDJSON",
        }
    }

    fn size(self) -> u64 {
        let (Extent::Parquet(size) | Extent::Arrow(size) | Extent::Lines(size)) = self;
        size
    }
}

/// Divides all inputs; returns the range of each that is in the slice (or in the slice of a slice), in records (Parquet,
/// Arrow) or bytes (NDJSON). `total` receives the number of records if it is known.
pub(super) fn cut_inputs(
    files: &[PathBuf],
    slices: &[Slice],
    args: &InputArgs,
    total: &mut Option<u64>,
) -> Result<VecDeque<(PathBuf, Option<Range<u64>>)>> {
    let mut kinds = Vec::new();
    let mut sizes = Vec::new();
    for path in files {
        let extent = Extent::of(path, args.allow_empty, args.file_forms)?;
        kinds.push(extent.kind());
        sizes.push(extent.size());
    }
    if let Some(other) = kinds.iter().find(|kind| **kind != kinds[0]) {
        return Err(Error::usage(format!(
            "--slice: {} and {other} files cannot be cut together",
            kinds[0]
        )));
    }
    let is_range = |slice: &&Slice| matches!(slice, Slice::Range { .. });
    if let Some(slice) = slices.iter().find(is_range)
        && kinds.contains(&"NDJSON")
    {
        let cause = format!("--slice {slice}: NDJSON is cut at bytes, its records are not counted");
        return Err(Error::usage(cause).hint("--slice I/N"));
    }
    let all = checked_sum(sizes.iter().copied());
    let total_size = all.ok_or_else(|| Error::data("the inputs claim more than 2^64 rows"))?;
    let wanted = slices.iter().fold(0..total_size, |outer, slice| {
        let inner = slice.of(outer.end - outer.start);
        outer.start + inner.start..outer.start + inner.end
    });
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
/// the slice that has its first byte. `before` is a place before the range, and how many newlines come before it.
pub(super) fn lines_between(
    path: &Path,
    range: Range<u64>,
    before: (u64, u64),
) -> Result<(Bytes, u64)> {
    let mut file = File::open(path).at(path)?;
    let text = marked_bytes(&mut file).at(path)?;
    let from = match before {
        (offset, newlines) if offset > text => (offset, newlines + 1),
        _ => (text, 1),
    };
    let (start, line) = line_start(&mut file, from, range.start).at(path)?;
    // (The number of its last line is not needed.)
    let near = start.max(range.end.saturating_sub(1));
    let (end, _) = line_start(&mut file, (near, 0), range.end).at(path)?;
    file.seek(SeekFrom::Start(start)).at(path)?;
    Ok((Box::new(file.take(end.saturating_sub(start))), line))
}

/// Returns how many bytes the byte order mark of a file has.
fn marked_bytes(file: &mut File) -> std::io::Result<u64> {
    let mut first = Vec::new();
    file.by_ref().take(MARK.len() as u64).read_to_end(&mut first)?;
    Ok(if first == MARK { MARK.len() as u64 } else { 0 })
}

/// Returns the first line start at or after `target`, with its number. Walks from a line start, or a place before the
/// target, of which the number of the line is known.
fn line_start(
    file: &mut File,
    (from, line): (u64, u64),
    target: u64,
) -> std::io::Result<(u64, u64)> {
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
