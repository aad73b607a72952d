//! Opens inputs. Their encoding is found from their first bytes, never from a name; gzip and zstd are
//! decompressed.

use std::fs::File;
use std::io::{self, BufReader, Chain, Cursor, IsTerminal, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::bytes::{Bytes, cut, read_error};
use super::foreign;
use super::frames::FILE_MAGIC;
use super::json_values::{Values, form_of, is_form_known};
use super::lines::read_some;
use super::links::LinkReader;
use crate::batch::STDIN;
use crate::chain::Stdin;
use crate::error::{At, Error, Result, shown};
use crate::gzip::GzipReader;
use crate::program;

/// An open input and its content.
pub struct Input {
    /// The name in messages: the path, or `stdin`.
    pub name: Arc<str>,
    /// The file, if it can be opened again and cut (not compressed, not stdin).
    pub path: Option<PathBuf>,
    /// Whether another program may still be writing it: stdin, or a pipe with a name.
    pub is_piped: bool,
    /// The pipe, if its bytes are read as they come (not compressed).
    pub pipe: Option<File>,
    /// The bytes of Parquet that were kept in a file without a name, because they came from a pipe or
    /// were compressed.
    pub spooled: Option<u64>,
    pub content: Content,
}

/// The content of an input.
pub enum Content {
    /// JSON objects, one per line; also an empty input.
    Ndjson(Bytes),
    /// JSON of other forms, as lines.
    Values(Values),
    /// An Arrow IPC stream, or several.
    Arrow(Bytes),
    /// An Arrow file, behind its magic number.
    ArrowFile(Bytes),
    /// Frames of another filter in this process.
    Linked(LinkReader),
    /// A Parquet file.
    Parquet(File),
}

/// How many bytes the sniffer reads: enough for every magic number.
const SNIFFED: usize = 32;

/// The longest first line, in bytes, that is not taken for a record.
const MOST_SHOWN: usize = 1 << 20;

/// The byte order mark of UTF-8, which is skipped.
pub(super) const MARK: &[u8] = b"\xef\xbb\xbf";

const GZIP: &[u8] = b"\x1f\x8b";
/// The beginning of a zstd frame, and of a skippable frame (pzstd writes one before each frame), whose
/// first byte has sixteen possible values.
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";
const ZSTD_SKIPPED: &[u8] = b"\x2a\x4d\x18";
/// A message of the Arrow IPC stream begins with a continuation marker.
const ARROW_STREAM: &[u8] = b"\xff\xff\xff\xff";
const PARQUET: &[u8] = b"PAR1";
/// The commands that decompress a file to stdout.
const GZIP_OUT: &str = "gzip -dc";
const ZSTD_OUT: &str = "zstd -dc";

impl Input {
    /// Opens a file. An input without any byte is an error, unless `allow_empty`: only a writer that dies
    /// before its first record leaves that.
    pub fn open(path: &Path, allow_empty: bool) -> Result<Input> {
        let name: Arc<str> = shown(path).into();
        // (Opening a FIFO waits for its writer, as with every other program.)
        let file = File::open(path).at(&name)?;
        let kind = file.metadata().at(&name)?.file_type();
        if kind.is_dir() {
            return Err(Error::usage("expected a file, got a directory").at(&name));
        }
        if kind.is_fifo() {
            super::widen_pipe(&file);
        }
        let path = kind.is_file().then_some(path);
        Input::sniff(file, name, path, allow_empty)
    }

    /// Opens standard input; a terminal is refused.
    pub fn stdin(stdin: Stdin, allow_empty: bool) -> Result<Input> {
        match stdin {
            Stdin::OfProcess => {}
            Stdin::Linked(parts) => {
                let content = Content::Linked(LinkReader::new(parts));
                let (name, path, pipe, spooled) = (STDIN.into(), None, None, None);
                return Ok(Input { name, path, is_piped: true, pipe, spooled, content });
            }
            Stdin::Taken => return Err(Error::usage("is an input twice").at(STDIN)),
        }
        if program::is_closed(program::STDIN) {
            return Err(Error::usage("stdin is closed: give a FILE or pipe records in"));
        }
        let stdin = io::stdin();
        if stdin.is_terminal() {
            return Err(Error::usage("no input: give a FILE or pipe records in; see --help"));
        }
        // Our own handle: large reads go directly into our buffers.
        let owned = stdin.as_fd().try_clone_to_owned().at(STDIN)?;
        let file = File::from(owned);
        super::widen_pipe(&file);
        Input::sniff(file, STDIN.into(), None, allow_empty)
    }

    /// `path` is the path of a regular file.
    fn sniff(file: File, name: Arc<str>, path: Option<&Path>, allow_empty: bool) -> Result<Input> {
        let is_piped = path.is_none();
        let clone = file.try_clone();
        let place = |e: io::Error| read_error(&name, is_piped, &e);
        let (first, bytes) = peek(file).map_err(place)?;
        let (first, mut bytes, unpack): (_, Bytes, Option<&str>) = if first.starts_with(GZIP) {
            let (first, bytes) = peek(GzipReader::new(BufReader::new(bytes))).map_err(place)?;
            (first, Box::new(bytes), Some(GZIP_OUT))
        } else if is_zstd(&first) {
            let decoder = zstd::stream::read::Decoder::new(bytes).map_err(place)?;
            let (first, bytes) = peek(decoder).map_err(place)?;
            (first, Box::new(bytes), Some(ZSTD_OUT))
        } else {
            (first, Box::new(bytes), None)
        };
        let first = match first.strip_prefix(MARK) {
            Some(text) => {
                bytes.read_exact(&mut [0; MARK.len()]).map_err(place)?;
                text.to_vec()
            }
            None => first,
        };
        if let Some(error) = foreign::refused(&first, &name, unpack) {
            return Err(error);
        }
        if first.is_empty() && !allow_empty {
            let error = cut(&name, is_piped, "there are no bytes");
            // (A failed writer of a pipe has reported its own error.)
            return Err(match is_piped {
                true => error,
                false => error.hint("--allow-empty, if there may be no records"),
            });
        }
        let (file, pipe) = match (unpack, path) {
            (None, Some(_)) => (clone.ok(), None),
            (None, None) => (None, clone.ok()),
            (Some(_), _) => (None, None),
        };
        let mut spooled = None;
        let content = if first.starts_with(PARQUET) {
            match file {
                Some(file) => Content::Parquet(file),
                // The footer of Parquet comes last.
                None => {
                    let (file, length) = spool(bytes, &name, place)?;
                    if !ends_parquet(&file, length).map_err(place)? {
                        return Err(cut(&name, is_piped, "the Parquet does not end with PAR1"));
                    }
                    spooled = Some(length);
                    Content::Parquet(file)
                }
            }
        } else if first.starts_with(ARROW_STREAM) || is_cut_marker(&first) {
            Content::Arrow(bytes)
        } else if first.starts_with(FILE_MAGIC) {
            bytes.read_exact(&mut [0; FILE_MAGIC.len()]).map_err(place)?;
            Content::ArrowFile(bytes)
        } else if looks_like_json(&first) {
            let (begin, bytes) = peek_form(bytes).map_err(place)?;
            match form_of(&begin) {
                Some(form) => Content::Values(Values::new(form, bytes, allow_empty)),
                None => Content::Ndjson(bytes),
            }
        } else {
            let cause = "neither NDJSON, Arrow nor a Parquet file: it begins with";
            return Err(Error::data(format!("{cause} {}", printable(&first))).at(&name));
        };
        let path = path.filter(|_| unpack.is_none()).map(Path::to_path_buf);
        Ok(Input { name, path, is_piped, pipe, spooled, content })
    }
}

/// Writes all bytes to a file without a name, in TMPDIR; returns it and its length. `place` makes
/// the error of reading them.
fn spool(mut bytes: Bytes, name: &str, place: impl Fn(io::Error) -> Error) -> Result<(File, u64)> {
    let folder = std::env::temp_dir();
    let kept = |error: io::Error| {
        let error = Error::write(folder.as_path(), &error).at(name);
        error.hint("TMPDIR=FOLDER with room for the Parquet, or a file in place of the pipe")
    };
    let mut file = tempfile::tempfile_in(&folder).map_err(kept)?;
    let mut buffer = vec![0; 1 << 17];
    let mut length = 0;
    loop {
        match bytes.read(&mut buffer) {
            Ok(0) => return Ok((file, length)),
            Ok(read) => {
                file.write_all(&buffer[..read]).map_err(kept)?;
                length += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(place(error)),
        }
    }
}

/// Whether a file of `length` bytes ends as Parquet does.
fn ends_parquet(file: &File, length: u64) -> io::Result<bool> {
    let mut last = [0; PARQUET.len()];
    let Some(place) = length.checked_sub(last.len() as u64) else { return Ok(false) };
    file.read_exact_at(&mut last, place)?;
    Ok(place > 0 && last == PARQUET)
}

/// Opens the bytes of a file of any kind; gzip and zstd are decompressed.
pub fn open_bytes(path: &Path) -> io::Result<Bytes> {
    let (first, bytes) = peek(File::open(path)?)?;
    if let Some(error) = foreign::refused_bytes(&first, path) {
        return Err(error);
    }
    Ok(if first.starts_with(GZIP) {
        Box::new(GzipReader::new(BufReader::new(bytes)))
    } else if is_zstd(&first) {
        Box::new(zstd::stream::read::Decoder::new(bytes)?)
    } else {
        Box::new(bytes)
    })
}

/// Returns the command that decompresses a file; `None` if it is not compressed.
pub(super) fn unpacker(path: &Path) -> io::Result<Option<&'static str>> {
    let (first, _) = peek(File::open(path)?)?;
    let zstd = is_zstd(&first).then_some(ZSTD_OUT);
    Ok(if first.starts_with(GZIP) { Some(GZIP_OUT) } else { zstd })
}

fn is_zstd(first: &[u8]) -> bool {
    let is_skipped = || matches!(first, [0x50..=0x5f, rest @ ..] if rest.starts_with(ZSTD_SKIPPED));
    first.starts_with(ZSTD) || is_skipped()
}

/// Whether this is an Arrow stream that was cut within its very first bytes.
fn is_cut_marker(first: &[u8]) -> bool {
    !first.is_empty() && ARROW_STREAM.starts_with(first)
}

/// Reads as much of a text as shows its form; the returned reader gives it again.
fn peek_form(mut bytes: Bytes) -> io::Result<(Vec<u8>, Bytes)> {
    let mut begin = Vec::new();
    while !is_form_known(&begin) && begin.len() < MOST_SHOWN {
        if read_some(&mut bytes, 1 << 13, &mut begin)? == 0 {
            break;
        }
    }
    Ok((begin.clone(), Box::new(Cursor::new(begin).chain(bytes))))
}

/// Whether JSON begins here: an object or an array (or nothing at all).
fn looks_like_json(first: &[u8]) -> bool {
    let start = first.iter().find(|byte| !byte.is_ascii_whitespace());
    start.is_none_or(|&byte| byte == b'{' || byte == b'[')
}

fn printable(first: &[u8]) -> String {
    let shown: String = first
        .iter()
        .take(12)
        .flat_map(|&byte| std::ascii::escape_default(byte))
        .map(char::from)
        .collect();
    format!("\"{shown}\"")
}

/// A reader whose first bytes were read, and are returned again.
type PeekedReader<R> = Chain<Cursor<Vec<u8>>, R>;

/// Reads the first bytes; the returned reader gives them again. (A line of JSON that is shorter does not
/// wait for the next one.)
fn peek<R: Read>(mut reader: R) -> io::Result<(Vec<u8>, PeekedReader<R>)> {
    let mut first = Vec::with_capacity(SNIFFED);
    while first.len() < SNIFFED && !(first.starts_with(b"{") && first.ends_with(b"\n")) {
        if read_some(&mut reader, SNIFFED - first.len(), &mut first)? == 0 {
            break;
        }
    }
    Ok((first.clone(), Cursor::new(first).chain(reader)))
}
