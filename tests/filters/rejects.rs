//! The sources that are no records: lines without end, and a file of rejects that is an input.

use crate::common::{TempDir, bash, masked_answer, tool};
use crate::games::{Folder, GameText};

/// A line of steps may be long, but not longer than is said; the game is a bad record.
#[test]
fn lines_of_steps_are_bounded() {
    let folder = Folder::new();
    for name in ["long", "short"] {
        GameText::played(9).write(&folder, name);
    }
    // As many spaces as make the file one that is read piece by piece, or not.
    for spaces in [5_000, 70_000_000] {
        let cd = format!("set -e; cd {}", folder.path.display());
        bash(&format!(
            "{cd}; zcat short.jsonl.gz > text; \
             (head -2 text; printf '%{spaces}s'; tail -n +3 text) | gzip -1 > long.jsonl.gz"
        ))
        .silent();
        let path = folder.path.to_str().unwrap();
        let decode = |flags: &[&str]| tool("mx-decode").args(&[path, "-q"]).args(flags).run();
        let cause = "long.jsonl.gz:3: a line of more than 4000 bytes; try: --max-record-bytes";
        decode(&["--max-record-bytes", "4000"]).fails(1, &[cause]);
        let skipped = decode(&["--max-record-bytes", "4000", "--on-error", "skip"]).ok();
        assert_eq!(skipped.records().len(), 1);
        assert_eq!(decode(&[]).ok().records().len(), 2);
    }
}

/// The file of rejects is none of the inputs, also if that is empty and would be replaced.
#[test]
fn a_file_of_rejects_is_no_input() {
    let dir = TempDir::new();
    let folder = Folder::new();
    GameText::played(9).write(&folder, "one");
    folder.write("two.meta.json", b"");
    folder.write("two.jsonl.gz", b"");
    let raw = folder.path.to_str().unwrap().to_string();
    for name in ["two.meta.json", "two.jsonl.gz"] {
        let rejects = format!("{raw}/{name}");
        let run =
            tool("mx-decode").args(&[&raw, "--on-error", "skip", "--rejects", &rejects]).run();
        run.says(2, &format!("mx-decode: {rejects}: is an input of this run"));
    }
    let task = r#"{"train": [{"input": [[1]], "output": [[2]]}], "test": [{"input": [[1]], "output": [[2]]}]}"#;
    dir.write("arc/training/00000001.json", task);
    let empty = dir.write("arc/training/00000002.json", "");
    let flags =
        ["arc", &dir.at("arc"), "--num-aug", "0", "--on-error", "skip", "--rejects", &empty];
    let run = tool("puzzle-encode").args(&flags).run();
    run.says(2, &format!("puzzle-encode: {empty}: is an input of this run"));
    assert_eq!(dir.read("arc/training/00000002.json"), b"");
}

/// The names of files of datasets, also of those that come at the end of a run, are no names for
/// rejects: nothing is written.
#[test]
fn a_file_of_rejects_has_no_name_of_a_dataset() {
    let dir = TempDir::new();
    let input = dir.write("in.ndjson", masked_answer("a", &[64]));
    let names = "p.part.json p_tokens.idx p_span.bin p_ids.parquet parts/s.json manifest.json \
    build.json dataset.json valuation_types.json metadata.db steps.npy";
    for name in names.split(' ') {
        let path = dir.at(&format!("out/{name}"));
        let flags = ["--on-error", "skip", "--rejects", &path];
        for target in [["--prefix", &dir.at("out/p")], ["--root", &dir.at("out")]] {
            let shard: &[&str] = if target[0] == "--root" { &["--shard", "s"] } else { &[] };
            let run =
                tool("mmidx-write").args(&flags).args(&target).args(shard).args(&[&input]).run();
            run.fails(2, &[name, "is the name of a dataset's file"]);
            assert!(!dir.path().join("out").exists(), "{name}");
        }
    }
}
