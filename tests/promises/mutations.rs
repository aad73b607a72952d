//! Thousands of damaged inputs: whatever the bytes, a filter ends with a code of its own and one
//! line, and never panics. The damage is the same in every run.

use std::fs;

use crate::common::{Random, TempDir, conversations, oracle, tool};

/// Flips, cuts and insertions, a few at a time.
fn damage(good: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = good.to_vec();
    for _ in 0..[1, 1, 2, 4][random.below(4)] {
        let at = random.below(bytes.len().max(1));
        match random.below(10) {
            0 => bytes.truncate(at),
            1 => {
                let more: Vec<u8> = (0..1 + random.below(8)).map(|_| random.next() as u8).collect();
                bytes.splice(at..at, more);
            }
            2 => {
                let end = (at + 1 + random.below(8)).min(bytes.len());
                bytes.drain(at..end);
            }
            3..6 if !bytes.is_empty() => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][random.below(5)],
            _ if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
            _ => {}
        }
    }
    bytes
}

/// Runs a filter on damaged copies of a file. `{}` in the arguments is a directory of its own.
fn damaged(file: &str, filters: &[&str], rounds: usize) {
    let dir = TempDir::new();
    dir.write("in.ndjson", conversations(4));
    dir.bash("set -e; harmony-tok in.ndjson --to arrow > tokens.arrows; harmony-tok in.ndjson > tokens.ndjson; \
         span-mask tokens.arrows --to arrow > masked.arrows; gzip -c in.ndjson > in.gz; \
         ds-cat in.ndjson --to parquet -o in.parquet; \
         mmidx-write masked.arrows --prefix p > /dev/null")
    .silent();
    let good = dir.read(file);
    let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ good.len() as u64);
    let (mut accepted, mut refused) = (0, 0);
    for round in 0..rounds {
        let bad = damage(&good, &mut random);
        let path = dir.write(file, &bad);
        for filter in filters {
            let arguments = filter.replace("{in}", &path).replace("{}", &dir.at(""));
            let words: Vec<&str> = arguments.split(' ').collect();
            let run = tool(words[0]).args(&words[1..]).run();
            match run.code() {
                Some(0) => accepted += 1,
                Some(1 | 2 | 75) => {
                    refused += 1;
                    assert_eq!(run.stderr.lines().count(), 1, "{run:?}");
                    assert!(!dir.path().join("out").exists(), "{run:?}");
                }
                _ => {
                    let kept = std::env::temp_dir().join(format!("gristmill-damaged-{round}"));
                    fs::write(&kept, &bad).unwrap();
                    panic!("{} makes it end so: {run:?}", kept.display());
                }
            }
            let _ = fs::remove_dir_all(dir.path().join("out"));
        }
    }
    assert!(refused > rounds / 4, "{refused} refused, {accepted} accepted");
}

#[test]
fn arrow_streams() {
    let write = "mmidx-write {in} --prefix {}out/p";
    damaged("masked.arrows", &["ds-cat {in}", write], 500);
    damaged("tokens.arrows", &["span-mask {in} --to arrow", "harmony-tok --decode {in}"], 300);
}

/// Compressed bodies and dictionaries, as pyarrow writes them.
#[test]
fn arrow_streams_of_other_programs() {
    let Some(python) = crate::common::python() else { return };
    let dir = TempDir::new();
    dir.write("in.ndjson", conversations(4));
    let tokens = tool("harmony-tok").args(&[&dir.at("in.ndjson"), "--to", "arrow"]).run().silent();
    let tokens = dir.write("tokens", tokens.stdout);
    oracle(&python, "streams.py", &["variants", &tokens, &dir.at("")]).ok();
    let mut random = Random(0x2545_f491);
    for name in ["zstd", "lz4", "dictionary", "view", "large"] {
        let good = dir.read(&format!("{name}.arrows"));
        for _ in 0..150 {
            let bad = dir.write("bad", damage(&good, &mut random));
            let run = tool("span-mask").args(&[&bad]).run();
            assert!(matches!(run.code(), Some(0 | 1 | 2 | 75)), "{name}: {run:?}");
        }
    }
}

#[test]
fn parquet_files() {
    damaged("in.parquet", &["harmony-tok {in}", "ds-cat {in}"], 400);
}

/// Lengths of runs and pages that are far too large: some of these bytes are a panic of the decoder.
#[test]
fn every_byte_of_parquet_pages() {
    let dir = TempDir::new();
    let line = |number: u32| format!("{{\"id\": \"{number}\", \"messages\": []}}\n");
    let lines = dir.write("in.ndjson", (0..4).map(line).collect::<String>());
    let file = dir.at("in.parquet");
    tool("ds-cat").args(&[&lines, "-o", &file]).run().silent();
    let good = dir.read("in.parquet");
    let footer = u32::from_le_bytes(good[good.len() - 8..][..4].try_into().unwrap()) as usize;
    let mut refused = 0;
    for at in 4..good.len() - 8 - footer {
        let mut bad = good.clone();
        bad[at] = 0xff;
        dir.write("in.parquet", bad);
        let run = tool("ds-cat").args(&[&file]).run();
        match run.code() {
            Some(0) => {}
            Some(1) => {
                refused += 1;
                assert_eq!(run.stderr.lines().count(), 1, "{run:?}");
            }
            _ => panic!("byte {at}: {run:?}"),
        }
    }
    assert!(refused > 50, "{refused}");
}

#[test]
fn ndjson_lines() {
    damaged("in.ndjson", &["harmony-tok {in}", "harmony-tok {in} --on-error skip -j 2"], 250);
    damaged("tokens.ndjson", &["span-mask {in}"], 200);
}

#[test]
fn gzip_members() {
    damaged("in.gz", &["harmony-tok {in}"], 200);
}

#[test]
fn megatron_indexes() {
    for file in ["p_tokens.idx", "p_span.idx"] {
        damaged(file, &["ds-cat {}p", "mmidx-write --concat {}p --foreign --prefix {}out/p"], 150);
    }
    damaged("p.part.json", &["mmidx-write --concat {}p --prefix {}out/p"], 150);
}
