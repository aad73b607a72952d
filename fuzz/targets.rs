//! What is fuzzed, one function for each reader: whatever the bytes, it returns. The targets of
//! cargo-fuzz and the test `replay` share it.

use std::io::Write;
use std::path::{Path, PathBuf};

use gristmill::batch::Wanted;
use gristmill::cli::InputArgs;
use gristmill::format::mmidx::MmidxIndex;
use gristmill::format::npy::{ArrayHeader, Integers};
use gristmill::format::{json_file, kd_root};
use gristmill::harmony;
use gristmill::record::{CONVERSATION, GAME, PUZZLE, RecordType, TOKENS};
use gristmill::stream::{Reader, Request};

pub type Target = fn(&[u8]);

/// Each target with the name of its corpus.
pub const TARGETS: [(&str, Target); 8] = [
    ("tokens", |bytes| records(bytes, &TOKENS)),
    ("conversations", |bytes| records(bytes, &CONVERSATION)),
    ("games", |bytes| records(bytes, &GAME)),
    ("puzzles", |bytes| records(bytes, &PUZZLE)),
    ("any", any_records),
    ("idx", idx),
    ("npy", npy),
    ("manifest", manifest),
];

/// Runs the target of this name.
#[allow(dead_code)]
pub fn run(name: &str, bytes: &[u8]) {
    let target = TARGETS.iter().find(|(known, _)| *known == name);
    let (_, target) = target.expect("a target of that name");
    target(bytes);
}

/// The bytes as a file.
fn with_file(bytes: &[u8], read: impl FnOnce(&Path)) {
    let Ok(mut file) = tempfile::NamedTempFile::new() else { return };
    if file.write_all(bytes).is_ok() {
        read(file.path());
    }
}

fn input(path: &Path) -> InputArgs {
    InputArgs {
        files: vec![PathBuf::from(path)],
        max_record_bytes: 1 << 24,
        ..InputArgs::default()
    }
}

fn drain(reader: gristmill::error::Result<Reader>) {
    let Ok(reader) = reader else { return };
    for batch in reader.limited(Some(100_000)) {
        if batch.is_err() {
            return;
        }
    }
}

/// NDJSON, Arrow or Parquet, whichever the bytes begin as, as records of a type.
fn records(bytes: &[u8], record: &'static RecordType) {
    with_file(bytes, |path| {
        let wanted = Wanted { parquet: true, ..Wanted::records(record) };
        drain(Reader::open(&input(path), wanted));
    });
}

fn any_records(bytes: &[u8]) {
    with_file(bytes, |path| drain(Reader::open(&input(path), Request::Any)));
}

fn idx(bytes: &[u8]) {
    with_file(bytes, |path| {
        let Ok(index) = MmidxIndex::open(path) else { return };
        let (mut lengths, mut values) = (Vec::new(), Vec::new());
        let _ = index.read_lengths(0, 1 << 16, &mut lengths);
        let _ = index.read_offsets(0, 1 << 16, &mut values);
        let _ = index.read_documents(0, 1 << 16, &mut values);
    });
}

fn npy(bytes: &[u8]) {
    let _ = ArrayHeader::read(&mut &bytes[..]);
    with_file(bytes, |path| {
        let Ok(file) = std::fs::File::open(path) else { return };
        let Ok(integers) = Integers::open(&file) else { return };
        let _ = integers.values().take(1 << 16).fold(0i64, i64::wrapping_add);
    });
}

/// JSON of every kind that we read by name, and the messages of a conversation.
fn manifest(bytes: &[u8]) {
    let _ = json_file::parse::<serde_json::Value>(bytes);
    with_file(bytes, |path| {
        let _ = kd_root::KdPart::read(path);
    });
    let tokens: Vec<i32> = bytes.iter().map(|&byte| 199_990 + i32::from(byte)).collect();
    let _ = harmony::decode(&tokens);
}
