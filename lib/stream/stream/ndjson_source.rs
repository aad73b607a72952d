//! NDJSON as a source of batches: blocks of lines, decoded; lines that are not records go to the
//! batch's `rejected`.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};
use bstr::ByteSlice;

use super::bytes::{Bytes, cut, read_error};
use super::inferred::Inference;
use super::input::{Content, Input};
use super::json_values::{Defect, Form, Starts, open_at_end};
use super::lines::{Lines, first_line};
use super::ndjson_reader::{NdjsonDecoder, member_names};
use crate::batch::{Batch, DroppedRecords, Header, Origin, RecordSource, TooLarge, WantedRecords};
use crate::cli::{RejectedContent, Rejection};
use crate::error::{Error, Place, Position, Result};
use crate::files::changed;
use crate::json::{self, Kind, Reader};
use crate::record::{RECORD_TYPES, RecordType, look_alike, named_type_with, record_type_with};
use crate::way_on;

pub(super) struct NdjsonSource {
    lines: Lines<Bytes>,
    decoding: BlockDecoder,
    /// Blocks that were read to look at their lines.
    pending: VecDeque<Vec<u8>>,
    /// The lines from the first line of the file on, if the lines that are read begin elsewhere.
    from_first: Option<Lines<Bytes>>,
    /// The records that were dropped before.
    dropped: DroppedRecords,
    /// The file, which may be read twice; `None` for a pipe.
    file: Option<PathBuf>,
}

/// Column types come from the lines that begin in this many bytes. If these do not show all types,
/// all lines of a file are looked at.
const TYPED_BYTES: usize = 10 << 20;

/// Makes batches from blocks of lines.
struct BlockDecoder {
    name: Arc<str>,
    is_piped: bool,
    /// Made when the schema is known; the first line may decide it.
    decoder: Option<NdjsonDecoder>,
    next_line: u64,
    /// Where the records begin, if the lines were made from JSON of another form.
    starts: Option<Starts>,
    /// Whether records are named by their numbers, not by their lines.
    are_numbered: bool,
    /// The most bytes of a line.
    most: u64,
}

impl NdjsonSource {
    /// Opens the source. With a part of the lines, and the number of the first, it reads only these.
    pub(super) fn open(
        name: Arc<str>,
        is_piped: bool,
        bytes: Bytes,
        path: &Path,
        part: Option<(Bytes, u64)>,
        most: u64,
    ) -> NdjsonSource {
        let (lines, next_line, from_first) = match part {
            Some((part, next_line)) => (part, next_line, Some(Lines::new(bytes, most))),
            None => (bytes, 1, None),
        };
        let lines = Lines::new(lines, most);
        let decoding = BlockDecoder {
            name,
            is_piped,
            decoder: None,
            next_line,
            starts: None,
            are_numbered: false,
            most,
        };
        let dropped = DroppedRecords::without_header(None, is_piped);
        let file = (!is_piped).then(|| path.to_path_buf());
        NdjsonSource { lines, decoding, pending: VecDeque::new(), from_first, dropped, file }
    }

    /// Sets that the lines were made from JSON of another form, in which records begin on other lines.
    pub(super) fn of_values(mut self, form: Form, starts: Starts) -> NdjsonSource {
        self.decoding.starts = Some(starts);
        self.decoding.are_numbered = form != Form::Objects;
        self
    }

    /// Makes the source show the lines of a pipe as they come.
    pub(super) fn showing(mut self, pipe: File) -> NdjsonSource {
        self.lines = self.lines.showing(pipe);
        self
    }

    /// Returns the first block, which is returned again.
    fn peek(&mut self) -> Result<&[u8]> {
        if self.pending.is_empty() {
            let block = next_block(&mut self.lines, &self.decoding)?;
            self.pending.extend(block.map(Cow::into_owned));
        }
        Ok(self.pending.front().map(Vec::as_slice).unwrap_or_default())
    }

    /// Returns the header and the columns that the first record states.
    fn recognise(&mut self, wanted: Option<&WantedRecords>) -> Result<(Header, SchemaRef)> {
        let block = self.pending.front().map(Vec::as_slice).unwrap_or_default();
        let Some((number, line)) = first_filled(block) else {
            let header = self.decoding.header(wanted.map(|wanted| wanted.record));
            return Ok((header, SchemaRef::new(Schema::empty())));
        };
        let BlockDecoder { name, next_line, starts, most, is_piped, .. } = &self.decoding;
        let made = starts.as_ref().and_then(Starts::peek);
        let place = self.decoding.place(made.unwrap_or(next_line + number));
        if line.len() as u64 > *most {
            return Err(TooLarge::error(*most).at(place));
        }
        if is_cut(line) {
            return Err(cut(place, *is_piped, CUT));
        }
        let names = member_names(line).map_err(|cause| Error::data(cause).at(&place))?;
        let Some(record) = record_type_with(among(&names)) else {
            let other = wanted.and_then(|wanted| other_than(wanted, name, &names, line));
            return Err(other.unwrap_or_else(|| not_known(name, &names, line).at(place)));
        };
        self.dropped = DroppedRecords::without_header(Some(record), *is_piped);
        let mut header = Header {
            record: Some((record.name.to_string(), record.version)),
            ..self.decoding.header(Some(record))
        };
        announce(&mut header, record, block);
        Ok((header, record.whole_schema()))
    }

    /// Returns the columns with these names that the first lines have (in a file: that any line
    /// has), with the types of their values. Lines that will be read are returned again.
    fn infer(&mut self, wanted: &WantedRecords) -> Result<SchemaRef> {
        let mut inference = Inference::new(&wanted.schema);
        // The block that showed the encoding is read first.
        self.peek()?;
        let is_all = match &mut self.from_first {
            Some(lines) => look_at_first(&mut inference, lines, &self.decoding)?,
            None => {
                let mut bytes: usize = self.pending.iter().map(Vec::len).sum();
                while bytes < TYPED_BYTES
                    && let Some(block) = next_block(&mut self.lines, &self.decoding)?
                {
                    bytes += block.len();
                    self.pending.push_back(block.into_owned());
                }
                let is_all = bytes < TYPED_BYTES;
                bytes = 0;
                self.pending.iter().for_each(|block| look_at(&mut inference, block, &mut bytes));
                is_all
            }
        };
        // A record that is too long ends the reading; it is in memory already.
        let is_too_long = |block: &Vec<u8>| block.len() as u64 > self.decoding.most;
        if is_all || inference.settle() || self.pending.iter().any(is_too_long) {
            return Ok(inference.schema());
        }
        if let Some(path) = &self.file {
            let bytes: Bytes = match Input::open(path, true)?.content {
                Content::Ndjson(bytes) => bytes,
                Content::Values(values) => Box::new(values),
                Content::Arrow(_)
                | Content::ArrowFile(_)
                | Content::Linked(_)
                | Content::Parquet(_) => {
                    return Err(changed(path));
                }
            };
            let mut lines = Lines::new(bytes, self.decoding.most);
            while let Some(block) = next_block(&mut lines, &self.decoding)? {
                block.lines_with_terminator().for_each(|line| inference.look_at(line));
            }
        }
        Ok(inference.schema())
    }
}

impl BlockDecoder {
    /// Returns what is known of the records: filters before may have left no trace.
    fn header(&self, record: Option<&RecordType>) -> Header {
        DroppedRecords::without_header(record, self.is_piped).header()
    }

    fn place(&self, number: u64) -> Place {
        place(&self.name, number, self.are_numbered)
    }

    fn read_error(&self, error: &std::io::Error) -> Error {
        match Defect::of(error) {
            Some(defect) => defect.error(&self.name, self.is_piped),
            None => read_error(&self.name, self.is_piped, error),
        }
    }

    fn decode(
        &mut self,
        block: Cow<'_, [u8]>,
        wanted: Option<&WantedRecords>,
        schema: &SchemaRef,
    ) -> Result<Batch> {
        if self.decoder.is_none() {
            refuse_wrong_lines(&self.name, &block, wanted)?;
        }
        let decoder = match &mut self.decoder {
            Some(decoder) => decoder,
            None => self.decoder.insert(match wanted.filter(|wanted| wanted.any_types) {
                Some(wanted) => NdjsonDecoder::typed(schema.clone(), &wanted.schema)?,
                None => NdjsonDecoder::new(schema.clone())?,
            }),
        };
        let mut places = Vec::new();
        let mut rejected = Vec::new();
        let mut rest = block.as_ref();
        loop {
            let (blank, lines) = blank_lines(rest, self.most);
            rest = rest.get(blank..).unwrap_or_default();
            self.next_line += lines;
            let line = first_line(rest);
            if line.is_empty() {
                break;
            }
            rest = rest.get(line.len()..).unwrap_or_default();
            let made = self.starts.as_ref().and_then(Starts::next);
            let number = made.unwrap_or(self.next_line);
            self.next_line += 1;
            if line.len() as u64 > self.most {
                let place = self.place(number);
                return Err(TooLarge::error(self.most).at(place));
            }
            if is_cut(line) {
                let place = self.place(number);
                return Err(cut(place, self.is_piped, CUT));
            }
            if line.trim_ascii().is_empty() {
                continue;
            }
            match decoder.line(line) {
                Ok(()) => places.push(number),
                Err(reason) => {
                    let text = line.trim_ascii_end().to_str_lossy().into_owned();
                    let place = place(&self.name, number, self.are_numbered);
                    let input = RejectedContent::Text(text);
                    rejected.push(Rejection { place, id: None, reason, input });
                }
            }
        }
        let bytes = block.len() as u64;
        // A long line is not in memory beside its record.
        drop(block);
        let records = decoder.finish()?;
        let origin = if self.are_numbered {
            let mut origin = Origin::default();
            for (row, number) in places.into_iter().enumerate() {
                origin.goes_on(row, &self.name, number);
            }
            origin
        } else {
            Origin::lines(self.name.clone(), places)
        };
        Ok(Batch { rejected, bytes, ..Batch::of_records(records, origin) })
    }
}

impl RecordSource for NdjsonSource {
    fn record(&mut self, default: &'static RecordType) -> Result<Option<&'static RecordType>> {
        let block = self.peek()?;
        let mut known =
            block.lines().filter_map(|line| record_type_with(among(&member_names(line).ok()?)));
        Ok(known.next().or(first_filled(block).map(|_| default)))
    }

    fn encoding(&self) -> String {
        match self.decoding.starts {
            Some(_) => "JSON".to_string(),
            None => "NDJSON".to_string(),
        }
    }

    fn dropped(&self) -> DroppedRecords {
        self.dropped.clone()
    }

    fn begin(&mut self, wanted: Option<&WantedRecords>) -> Result<(Header, SchemaRef)> {
        match wanted {
            Some(wanted) if wanted.any_types => {
                let header = self.decoding.header(Some(wanted.record));
                return Ok((header, self.infer(wanted)?));
            }
            // The columns are those that are wanted: the records may come later.
            // (Its first lines may be bad, also where they have been looked at.)
            Some(wanted) => {
                let is_wanted = |record: &RecordType| record.name == wanted.record.name;
                if self.pending.is_empty() || self.record(wanted.record)?.is_some_and(is_wanted) {
                    let mut header = self.decoding.header(Some(wanted.record));
                    announce(&mut header, wanted.record, self.peek()?);
                    return Ok((header, SchemaRef::new(Schema::empty())));
                }
            }
            None => drop(self.peek()?),
        }
        self.recognise(wanted)
    }

    fn next(
        &mut self,
        wanted: Option<&WantedRecords>,
        schema: &SchemaRef,
        _most: u64,
    ) -> Result<Option<Batch>> {
        if let Some(wanted) = wanted {
            self.dropped =
                DroppedRecords::without_header(Some(wanted.record), self.decoding.is_piped);
        }
        if let Some(block) = self.pending.pop_front() {
            return self.decoding.decode(block.into(), wanted, schema).map(Some);
        }
        match next_block(&mut self.lines, &self.decoding)? {
            Some(block) => self.decoding.decode(block, wanted, schema).map(Some),
            None => Ok(None),
        }
    }
}

/// Returns the place of a record by its line or its number.
fn place(name: &Arc<str>, number: u64, is_numbered: bool) -> Place {
    match is_numbered {
        true => Place { source: name.clone(), position: Position::Record(number) },
        false => Place::line(name.clone(), number),
    }
}

/// Sets in a header what each record states, by the first.
fn announce(header: &mut Header, record: &RecordType, block: &[u8]) {
    let Some(member) = &record.stated else { return };
    let Some(Ok(line)) = first_filled(block).map(|(_, line)| std::str::from_utf8(line)) else {
        return;
    };
    let mut stated = None;
    let read: Result<(), json::Error> = Reader::lenient(line).object(|reader, key| {
        match reader.peek()? {
            Kind::String if key.eq_str(member.name) => stated = reader.string()?.plain(),
            _ => reader.skip()?,
        }
        Ok(())
    });
    if let (Ok(()), Some(value)) = (read, stated) {
        (member.state)(header, value);
    }
}

/// Returns the error of a first line that is no record, with the filter that makes records from such
/// lines.
fn not_known(name: &str, names: &[String], line: &[u8]) -> Error {
    let known: Vec<&str> = RECORD_TYPES.iter().map(|record| record.name).collect();
    let error = Error::data(format!("no record of a known type ({})", known.join(", ")));
    let of_rows = named_type_with(among(names)).and_then(|record| record.made_into.first());
    let filter = of_rows.map(|(_, filter)| filter.to_string());
    match filter.or_else(|| Some(look_alike(str::from_utf8(line).ok()?)?.1)) {
        Some(filter) => error.hint(way_on::through(&filter, name)),
        None => error,
    }
}

const CUT: &str = "the last record is cut";

/// Whether a line is the last one, and ends within its record. (A whole record needs no newline.)
fn is_cut(line: &[u8]) -> bool {
    line.last() != Some(&b'\n') && open_at_end(line).is_open()
}

fn next_block<'a>(
    lines: &'a mut Lines<Bytes>,
    decoding: &BlockDecoder,
) -> Result<Option<Cow<'a, [u8]>>> {
    lines.next_block().map_err(|error| decoding.read_error(&error))
}

/// Looks at the first lines; returns true if there are no others.
fn look_at_first(
    inference: &mut Inference,
    lines: &mut Lines<Bytes>,
    decoding: &BlockDecoder,
) -> Result<bool> {
    let mut bytes = 0;
    while bytes < TYPED_BYTES {
        let Some(block) = next_block(lines, decoding)? else { return Ok(true) };
        look_at(inference, &block, &mut bytes);
    }
    Ok(false)
}

/// Looks at the lines of a block that begin in the first bytes of the file; `bytes` come before the
/// block.
fn look_at(inference: &mut Inference, block: &[u8], bytes: &mut usize) {
    for line in block.lines_with_terminator() {
        if *bytes < TYPED_BYTES {
            inference.look_at(line);
        }
        *bytes += line.len();
    }
}

/// Counts the blank lines at the beginning of a block; returns their bytes and their number. Stops after
/// `most` bytes, so that none of the lines is too long. White space is skipped as a whole.
fn blank_lines(block: &[u8], most: u64) -> (usize, u64) {
    if block.first().is_none_or(|byte| !byte.is_ascii_whitespace()) {
        return (0, 0);
    }
    const PIECE: usize = 64;
    let block = block.get(..usize::try_from(most).unwrap_or(usize::MAX)).unwrap_or(block);
    let is_blank = |piece: &[u8]| piece.iter().fold(true, |all, b| all & b.is_ascii_whitespace());
    let pieces = block.chunks_exact(PIECE).take_while(|piece| is_blank(piece)).count();
    let rest = block.get(pieces * PIECE..).unwrap_or_default();
    let blank = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let blank = block.get(..pieces * PIECE + blank).unwrap_or_default();
    let end = memchr::memrchr(b'\n', blank).map_or(0, |newline| newline + 1);
    let lines = memchr::memchr_iter(b'\n', blank.get(..end).unwrap_or_default()).count();
    (end, lines as u64)
}

/// Returns the first line that is not blank, and how many lines are before it.
fn first_filled(block: &[u8]) -> Option<(u64, &[u8])> {
    (0..).zip(block.lines_with_terminator()).find(|(_, line)| !line.trim_ascii().is_empty())
}

/// Returns a function that says whether an NDJSON record has a field.
fn among(names: &[String]) -> impl Fn(&str) -> bool {
    |name| names.iter().any(|there| there == name)
}

/// Refuses a wrong pipe: the first line is clearly a record of another type.
fn refuse_wrong_lines(name: &str, block: &[u8], wanted: Option<&WantedRecords>) -> Result<()> {
    let (Some(wanted), Some((_, line))) = (wanted, first_filled(block)) else { return Ok(()) };
    let Ok(names) = member_names(line) else { return Ok(()) };
    if wanted.is_known_by(among(&names)) && !wanted.lacks_id(among(&names)) {
        return Ok(());
    }
    other_than(wanted, name, &names, line).map_or(Ok(()), Err)
}

/// Returns the error of a first line that is clearly a record of another type than the wanted one.
fn other_than(wanted: &WantedRecords, name: &str, names: &[String], line: &[u8]) -> Option<Error> {
    let came = named_type_with(among(names));
    let mistaken = str::from_utf8(line).ok().and_then(look_alike);
    match (came, mistaken.filter(|_| !wanted.record.is_of_people)) {
        (came, Some(mistaken)) if came.is_none_or(|came| came.name == mistaken.0.name) => {
            Some(wanted.instead_of_mistaken(name, mistaken))
        }
        (came, _) => {
            let other = came.filter(|came| came.name != wanted.record.name);
            other.map(|came| wanted.instead_of(name, came))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::blank_lines;

    #[test]
    fn blank_lines_are_passed_over_at_once() {
        let blank = "\n".repeat(1 << 20);
        assert_eq!(blank_lines(blank.as_bytes(), 1 << 30), (1 << 20, 1 << 20));
        for before in 0..200 {
            let block = format!("{} \r\n  \t{{}}\n", "\n".repeat(before));
            assert_eq!(blank_lines(block.as_bytes(), 1 << 30), (before + 3, before as u64 + 1));
        }
        // A last line without its newline is not complete.
        for (block, found) in [("", (0, 0)), ("x\n\n", (0, 0)), ("  ", (0, 0)), ("\n  ", (1, 1))] {
            assert_eq!(blank_lines(block.as_bytes(), 9), found, "{block:?}");
        }
        assert_eq!(blank_lines(b"\n          \n\n", 9), (1, 1));
        assert_eq!(blank_lines(b"          \n\n", 9), (0, 0));
    }
}
