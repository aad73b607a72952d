//! What is fuzzed, one function for each reader: whatever the bytes, it returns, in bounded memory,
//! and its errors are one line each. libFuzzer (`readers.rs`) and the test `replay` share it.

mod datasets;
mod memory;
pub mod models;
mod panics;
mod place;
mod records;
mod sources;
mod texts;

use std::cell::RefCell;

use gristmill::cli::InputArgs;
use gristmill::error::Result;

use place::Place;

/// Reads the bytes; an error is as good as any other outcome.
pub type Target = fn(&mut Place, &[u8]) -> Result<()>;

/// Each target with the name of its corpus. These use most of the library.
pub const READERS: &[(&str, Target)] = &[
    ("tokens", records::tokens),
    ("conversations", records::conversations),
    ("games", records::games),
    ("puzzles", records::puzzles),
    ("any", records::any),
    ("parquet", records::parquet),
    ("packed", records::packed),
    ("synth", records::synth),
    ("checked", records::checked),
    ("triple", datasets::triple),
    ("kd_root", datasets::kd_root),
    ("pool", datasets::pool),
    ("puzzle_set", datasets::puzzle_set),
    ("shards", datasets::shards),
];

/// These use little of it, and run several times as often in a program without the rest: libFuzzer
/// looks at every branch of the program after each run.
pub const PARTS: &[(&str, Target)] = &[
    ("idx", datasets::idx),
    ("npy", datasets::npy),
    ("plan", datasets::plan),
    ("database", datasets::database),
    ("csv", sources::csv),
    ("arc", sources::arc),
    ("raw_games", sources::raw_games),
    ("raw_gzip", sources::raw_gzip),
    ("messages", texts::messages),
    ("chats", texts::chats),
    ("pairs", texts::pairs),
    ("harmony", texts::harmony),
];

/// What a record may have, so that the bound of the memory does not depend on the option.
const MOST_RECORD: u64 = 1 << 20;

thread_local! {
    static PLACE: RefCell<Place> = RefCell::new(Place::new());
}

/// The most memory that an input took so far.
#[allow(dead_code)]
pub fn most_memory() -> usize {
    memory::most()
}

/// Runs a target; panics if it does, if it takes too much memory, or if its error is not one line.
pub fn run(target: Target, bytes: &[u8]) {
    gristmill::subjects::install();
    panics::watch();
    let read = || {
        PLACE.with_borrow_mut(|place| {
            if let Err(error) = target(place, bytes) {
                one_line(&error.to_string());
            }
        });
    };
    memory::check(bytes.len(), MOST_RECORD as usize * 11 / 10, read);
}

/// The message that a user sees.
fn one_line(message: &str) {
    assert!(!message.is_empty() && !message.contains('\n'), "not one line: {message:?}");
}

/// These files as the inputs of a filter.
fn input(path: std::path::PathBuf) -> InputArgs {
    InputArgs { files: vec![path], max_record_bytes: MOST_RECORD, ..InputArgs::default() }
}
