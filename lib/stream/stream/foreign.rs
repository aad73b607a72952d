//! Inputs that no filter reads. They are recognised by their first bytes, and the error names a command
//! that helps.

use std::io;
use std::path::Path;

use crate::batch::STDIN;
use crate::error::{Error, Kind, shown};
use crate::publish::directory_of;
use crate::way_on;

/// A form of data that is not read.
struct Form {
    /// The bytes with which it begins.
    magic: &'static [u8],
    name: &'static str,
    way: Advice,
}

/// What the user can do with it.
#[derive(Clone, Copy)]
enum Advice {
    /// A command that makes records of the FILE named after it, or of its stdin.
    Through(&'static str),
    /// The directory of the file is the dataset.
    Directory,
    Other(&'static str),
}

const fn form(magic: &'static [u8], name: &'static str, way: Advice) -> Form {
    Form { magic, name, way }
}

/// Other formats than records.
const FOREIGN: [Form; 13] = [
    form(b"\x93NUMPY", "a NumPy array, a part of a dataset", Advice::Directory),
    form(b"MMIDIDX", "a Megatron index", Advice::Other("its prefix, without .idx")),
    form(b"SQLite format 3", "an SQLite database, a part of a dataset", Advice::Directory),
    form(b"BZh", "bzip2 data", Advice::Through("bzip2 -dc")),
    form(b"\xfd7zXZ\x00", "xz data", Advice::Through("xz -dc")),
    form(b"\x04\x22\x4d\x18", "lz4 data", Advice::Through("lz4 -dc")),
    form(b"PK\x03\x04", "a zip file", Advice::Through("unzip -p")),
    form(b"7z\xbc\xaf\x27\x1c", "a 7z file", Advice::Through("7z x -so")),
    form(b"<!DOCTYPE", "an HTML page", Advice::Other(DOWNLOAD)),
    form(b"<!doctype", "an HTML page", Advice::Other(DOWNLOAD)),
    form(b"<html", "an HTML page", Advice::Other(DOWNLOAD)),
    form(
        b"version https://git-lfs",
        "a pointer of Git LFS in place of the file",
        Advice::Other("git lfs pull"),
    ),
    form(
        b"source,question,answer,rating",
        "a CSV file of puzzles",
        Advice::Other("puzzle-encode sudoku, or maze"),
    ),
];

const DOWNLOAD: &str = "download the file again";

/// Text in encodings other than UTF-8, recognised by its mark. (Longer marks come before shorter ones.)
const ENCODINGS: [Form; 8] = [
    form(b"\xff\xfe\0\0", "UTF-32 text", Advice::Through("iconv -f UTF-32 -t UTF-8")),
    form(b"\0\0\xfe\xff", "UTF-32 text", Advice::Through("iconv -f UTF-32 -t UTF-8")),
    form(b"\xff\xfe", "UTF-16 text", Advice::Through("iconv -f UTF-16 -t UTF-8")),
    form(b"\xfe\xff", "UTF-16 text", Advice::Through("iconv -f UTF-16 -t UTF-8")),
    form(b"{\0", "UTF-16 text", Advice::Through("iconv -f UTF-16LE -t UTF-8")),
    form(b"\0{", "UTF-16 text", Advice::Through("iconv -f UTF-16BE -t UTF-8")),
    form(b"[\0", "UTF-16 text", Advice::Through("iconv -f UTF-16LE -t UTF-8")),
    form(b"\0[", "UTF-16 text", Advice::Through("iconv -f UTF-16BE -t UTF-8")),
];

/// The beginnings of a task of ARC, without spaces.
const ARC_TASKS: [&[u8]; 2] = [b"{\"train\":[{\"input\":", b"{\"test\":[{\"input\":"];
const ARC: Form = form(b"{", "a task of ARC", Advice::Other("puzzle-encode arc, with its folder"));

/// Returns the error for an input that begins with these bytes, if its form is known. `unpack` is the
/// program that can decompress it.
pub(super) fn refused(first: &[u8], name: &str, unpack: Option<&str>) -> Option<Error> {
    let (kind, form) = known(first)?;
    let error = match kind {
        Kind::Data => Error::data(format!("this is {}", form.name)),
        _ => Error::usage(format!("this is {}", form.name)),
    };
    Some(error.at(name).hint(way(form.way, name, unpack)))
}

/// Returns the error of a file that is read as text of another kind than records, if it begins with
/// one of these.
pub(super) fn refused_bytes(first: &[u8], path: &Path) -> Option<io::Error> {
    let mut forms = FOREIGN.iter().chain(&ENCODINGS);
    let form = forms.find(|form| first.starts_with(form.magic))?;
    let is_other = matches!(form.way, Advice::Through(_));
    let way = way(form.way, &shown(path), None);
    let cause = format!("this is {}; try: {way}", form.name);
    is_other.then(|| io::Error::new(io::ErrorKind::InvalidData, cause))
}

/// Returns the form of data that begins with these bytes. Text in another form is bad data; another
/// format is a wrong file.
fn known(first: &[u8]) -> Option<(Kind, &'static Form)> {
    if let Some(format) = FOREIGN.iter().find(|format| first.starts_with(format.magic)) {
        return Some((Kind::Usage, format));
    }
    let encoding = ENCODINGS.iter().find(|encoding| first.starts_with(encoding.magic));
    let form = encoding.or_else(|| {
        let bare: Vec<u8> =
            first.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
        ARC_TASKS.iter().any(|task| bare.starts_with(task)).then_some(&ARC)
    });
    form.map(|form| (Kind::Data, form))
}

fn way(way: Advice, name: &str, unpack: Option<&str>) -> String {
    match (way, unpack) {
        (Advice::Through(command), None) => way_on::through(command, name),
        (Advice::Through(command), Some(unpack)) => {
            way_on::through(&format!("{unpack} | {command}"), name)
        }
        (Advice::Other(text), _) => text.to_string(),
        (Advice::Directory, _) if name == STDIN => "its directory".to_string(),
        (Advice::Directory, _) => directory_of(Path::new(name)).display().to_string(),
    }
}
