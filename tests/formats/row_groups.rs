//! Parquet files of many row groups: with enough threads they are decoded side by side, and nothing of
//! that shows.

use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};

use crate::common::{Outcome, TempDir, conversation, tool};

const ROWS: usize = 1000;
/// No divisor of the 64 rows that are decoded at once in order.
const GROUP_ROWS: usize = 37;

/// A shard of some megabytes: several batches.
fn write(dir: &TempDir) -> String {
    let messages = |number: usize| {
        let mut messages = conversation(number)["messages"].take();
        let text = format!("{number} grinds slowly; ").repeat(20 + number * 7 % 300);
        messages[1]["content"] = text.into();
        serde_json::json!({ "messages": messages }).to_string()
    };
    let ids: ArrayRef =
        Arc::new(StringArray::from_iter_values((0..ROWS).map(|n| format!("s-{n}"))));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values((0..ROWS).map(messages)));
    let batch = RecordBatch::try_from_iter([("synth_id", ids), ("messages_json", texts)]).unwrap();
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .build();
    let path = dir.at("shard.parquet");
    let file = File::create(&path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    path
}

fn run(file: &str, jobs: &str, to: &str, more: &[&str]) -> Outcome {
    let arguments = [&["-q", file, "-j", jobs, "--to", to], more].concat();
    tool("harmony-tok").args(&arguments).run_whatever()
}

/// Also the batches end at the same rows, and what is not wanted any more is not waited for.
#[test]
fn the_output_is_that_of_one_thread() {
    let dir = TempDir::new();
    let file = write(&dir);
    for more in [&[][..], &["--slice", "2/3"], &["--limit", "300"], &["--limit", "1"]] {
        let one = run(&file, "1", "arrow", more).ok();
        for jobs in ["4", "12"] {
            let many = run(&file, jobs, "arrow", more).ok();
            assert!(many.stdout == one.stdout, "-j {jobs} {more:?}");
        }
    }
}

/// The bytes of a row group's column of messages.
fn messages_of(file: &str, group: usize) -> Range<usize> {
    let reader = SerializedFileReader::new(File::open(file).unwrap()).unwrap();
    let (start, length) = reader.metadata().row_group(group).column(1).byte_range();
    start as usize..(start + length) as usize
}

/// The error is the same, and so is what comes before it.
#[test]
fn damage_is_found_at_the_same_row() {
    let dir = TempDir::new();
    let file = write(&dir);
    let whole = dir.read("shard.parquet");
    for group in [0, 9, ROWS / GROUP_ROWS] {
        let mut bytes = whole.clone();
        let place = messages_of(&file, group);
        bytes[place.end - 40..place.end - 20].fill(0xff);
        dir.write("shard.parquet", &bytes);
        let one = run(&file, "1", "ndjson", &[]);
        assert_eq!(one.code(), Some(1), "{one:?}");
        let many = run(&file, "12", "ndjson", &[]);
        assert_eq!((many.code(), &many.stderr), (Some(1), &one.stderr), "group {group}");
        assert!(many.stdout == one.stdout, "group {group}");
        dir.write("shard.parquet", &whole);
    }
}
