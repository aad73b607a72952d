//! Records that do not fit in memory are compared on disk; here a window of a few records makes that happen.

use std::collections::BTreeMap;
use std::io::Write;

use tempfile::NamedTempFile;

use crate::cli::{InputArgs, Progress, When};
use crate::diff::{DiffOptions, DiffResult, compare_within};
use crate::stream::{Reader, Request};
use crate::subjects;

type Records = Vec<(u64, u64)>;
type Change<'a> = &'a dyn Fn(&mut Records);

/// Conversations, each with a number that makes its id and one that makes its text.
fn file(records: &[(u64, u64)]) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    for (id, text) in records {
        let text = format!("{{\"role\":\"user\",\"content\":\"{text}\"}}");
        writeln!(file, "{{\"id\":\"record {id}\",\"messages\":[{text}]}}").unwrap();
    }
    file
}

fn found(window: usize, a: &[(u64, u64)], b: &[(u64, u64)]) -> DiffResult {
    let files = [file(a), file(b)];
    let readers = files.each_ref().map(|file| {
        let input = InputArgs { files: vec![file.path().to_path_buf()], ..InputArgs::default() };
        Reader::open(&input, Request::Any).unwrap()
    });
    let options = DiffOptions { strict: false, most: 3 };
    let mut progress = Progress::new("", When::Never, ("records", None), false);
    compare_within(window, readers, options, &mut progress).unwrap()
}

/// Counts, with the names that they have where records are compared by their hashes alone.
fn counts(found: &DiffResult) -> BTreeMap<&str, u64> {
    let name = |kind| if kind == "messages" { "content" } else { kind };
    found.counts.iter().map(|(kind, count)| (name(*kind), *count)).collect()
}

#[test]
fn what_waits_too_long_is_found_on_disk() {
    subjects::install();
    let all: Records = (0..400).map(|n| (n, n)).collect();
    let changes: [(&str, Change); 7] = [
        ("nothing", &|_| ()),
        ("a part less", &|b| drop(b.drain(100..250))),
        ("a part less, and a change after it", &|b| {
            drop(b.drain(100..250));
            b[200].1 = 7;
        }),
        ("a part more", &|b| drop(b.splice(50..50, (1000..1200).map(|n| (n, 5))))),
        ("two parts in exchange", &|b| b.rotate_left(170)),
        ("one part elsewhere", &|b| b[60..350].rotate_left(110)),
        ("much", &|b| {
            b.rotate_left(170);
            b.truncate(390);
            b[7].1 = 3;
        }),
    ];
    for (what, change) in changes {
        let mut b = all.clone();
        change(&mut b);
        for (x, y) in [(&all, &b), (&b, &all)] {
            let [disk, memory] = [20, 1000].map(|window| found(window, x, y));
            assert!(disk.by_id);
            assert_eq!(counts(&disk), counts(&memory), "{what}");
            assert_eq!(disk.is_same(), what == "nothing", "{what}");
        }
    }
}
