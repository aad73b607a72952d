//! One clear line for what cannot be packed, and nothing left under a final name.

use std::fs;

use super::{clean, root, seq_pack, sequences};
use crate::common::samples::masked_line;
use crate::common::{TempDir, bash, tokens_line, tool};

#[test]
fn what_cannot_be_packed_is_told_in_a_line() {
    let dir = TempDir::new();
    root(&dir, 50);
    let (train, out) = (dir.at("root/train"), dir.at("r.parquet"));
    let pack = |arguments: &[&str]| seq_pack(&[&["-o", out.as_str()][..], arguments].concat());
    let longer = ["are longer than 80 tokens; the longest has", "--overflow drop, split or cut"];
    pack(&[&train, "--form", "trl", "-n", "80"]).fails(1, &longer);
    for (arguments, parts) in [
        (&["-n", "1"][..], &["--seq-length 1", "2 to 16777216"][..]),
        (&["-n", "0", "--form", "trl"], &["--seq-length 0"]),
        (&["-n", "16777217", "--form", "trl"], &["--seq-length 16777217"]),
        (&["--form", "trl"], &["--seq-length N"]),
        (&["--algorithm", "bfd", "-n", "80"], &["--form rows has one sequence a row"]),
        (
            &["--form", "megatron-bridge", "--algorithm", "wrapped", "-n", "80"],
            &["whole sequences"],
        ),
        (&["--metadata", "m.json"], &["--form megatron-bridge"]),
        (&["--pad-seq-to-mult", "16"], &["--pad-seq-to-mult 16 is for --form megatron-bridge"]),
        (&["--form", "trl", "-n", "80", "--pad-seq-to-mult", "2"], &["for --form megatron-bridge"]),
        (
            &["--form", "megatron-bridge", "-n", "80", "--pad-seq-to-mult", "96"],
            &["--pad-seq-to-mult 96: a row has only 80 positions"],
        ),
        (
            &[
                "--form",
                "megatron-bridge",
                "--algorithm",
                "none",
                "--pad-seq-to-mult",
                "4294967295",
            ],
            &["--pad-seq-to-mult 4294967295: a row has at most 16777216 positions"],
        ),
    ] {
        pack(&[&[train.as_str()][..], arguments].concat()).fails(2, parts);
    }
    let index = dir.at("i.parquet");
    let padded = ["--form", "megatron-bridge", "-n", "80", "--pad-seq-to-mult", "4"];
    seq_pack(&[&[train.as_str(), "--index", &index][..], &padded].concat())
        .fails(2, &["i.parquet", "an index has no tokens, and no padding"]);
    // Both splits at once would train on what is not to be trained on.
    pack(&[&dir.at("root")]).fails(2, &["root: has train and valid", "train alone"]);
    // No masks, no end of a document, no such file, another name.
    tool("mmidx-write")
        .args(&["--no-check", "--prefix", &dir.at("bare"), "--tokens-only"])
        .input(tokens_line("a", &[1, 2, 199_999]))
        .run()
        .silent();
    pack(&[&dir.at("bare")]).fails(2, &["bare", "no masks"]);
    tool("seq-pack")
        .args(&["-o", &out])
        .input(tokens_line("a", &[1, 2, 199_999]))
        .run()
        .fails(1, &["stdin:1: (a) has no masks"]);
    tool("seq-pack")
        .args(&["-o", &out])
        .input(masked_line("a", &[1, 2, 3]))
        .run()
        .fails(1, &["stdin:1: does not end in <|endoftext|> (199999)", "--keep-eod"]);
    seq_pack(&[&train, "-o", &dir.at("r.bin")]).fails(2, &["r.bin", "ends in .parquet"]);
    pack(&[&dir.at("nowhere")]).fails(2, &["nowhere"]);
    let piped = bash(&format!(
        "ds-cat {train} --to arrow | seq-pack --index {out} -n 900 --overflow cut; exit $?"
    ));
    piped.fails(2, &["--index names sequences of datasets on disk"]);
    assert!(!dir.files().iter().any(|name| name.starts_with("r.")), "{:?}", dir.files());
    // What stands is kept, but with --overwrite.
    pack(&[&train, "-q"]).silent();
    pack(&[&train, "-q"]).fails(2, &["r.parquet", "exists"]);
    pack(&[&train, "-q", "--overwrite"]).silent();
}

#[test]
fn what_is_dropped_is_in_the_rejects() {
    let dir = TempDir::new();
    root(&dir, 50);
    let (out, rejects) = (dir.at("r.parquet"), dir.at("left.ndjson"));
    let n = ["--form", "trl", "-n", "80", "--overflow", "drop", "-q", "--overwrite"];
    for input in [dir.at("p/a"), dir.at("m.arrows")] {
        let flags = ["-o", &out, "--rejects", &rejects, "--columns", "id,span_id"];
        seq_pack(&[&[input.as_str()][..], &flags, &n].concat()).silent();
        clean(&out);
        let left = dir.text("left.ndjson");
        assert!(left.lines().all(|line| line.contains("more than 80")), "{left}");
        let kept = sequences(&out).len();
        assert_eq!(left.lines().count() + kept, 50);
        assert!(left.contains("\"id\":\"id-"), "{left}");
    }
}

#[test]
fn a_device_that_is_full_and_an_input_that_is_cut() {
    let dir = TempDir::new();
    root(&dir, 50);
    let train = dir.at("root/train");
    seq_pack(&[&train, "-o", "/dev/full"]).fails(2, &["/dev/full"]);
    // An Arrow stream without its end, and NDJSON whose last line is cut.
    let stream = dir.read("m.arrows");
    let out = dir.at("r.parquet");
    let cut = &stream[..stream.len() - 8];
    tool("seq-pack").args(&["-o", &out]).input(cut).run().fails(75, &["without its end marker"]);
    let lines = tool("ds-cat").args(&[&train]).run().stdout;
    let run = tool("seq-pack").args(&["-o", &out]).input(&lines[..lines.len() - 40]).run();
    run.fails(75, &["stdin:"]);
    let bin = dir.read("root/train/s0_tokens.bin");
    dir.write("root/train/s0_tokens.bin", &bin[..bin.len() - 4]);
    seq_pack(&[&train, "-o", &out]).fails(1, &["s0_tokens.bin", "bytes"]);
    assert!(!dir.path().join("r.parquet").exists());
}

/// A changed `.bin` of the same size: by the hash of its manifest where rows are written, by a sample where
/// an index is used.
#[test]
fn data_that_was_changed_is_not_taken() {
    let dir = TempDir::new();
    root(&dir, 50);
    let (train, index) = (dir.at("root/train"), dir.at("i.parquet"));
    seq_pack(&[&train, "--index", &index, "-n", "900", "-q"]).silent();
    let mut bin = dir.read("root/train/s0_tokens.bin");
    bin[4] ^= 1;
    dir.write("root/train/s0_tokens.bin", &bin);
    let found = tool("ds-check").args(&[&index]).run();
    assert_eq!(found.code(), Some(1));
    assert!(found.text().contains("rows.index.data"), "{found:?}");
    seq_pack(&[&train, "-o", &dir.at("r.parquet")]).fails(1, &["s0_tokens.bin", "sha256"]);
    // Other data under the same name.
    fs::remove_dir_all(dir.path().join("root")).unwrap();
    fs::remove_dir_all(dir.path().join("p")).unwrap();
    root(&dir, 40);
    let found = tool("ds-check").args(&[&index]).run();
    assert!(found.text().contains("another hash"), "{found:?}");
    fs::remove_dir_all(dir.path().join("root")).unwrap();
    let found = tool("ds-check").args(&[&index]).run();
    assert_eq!(found.code(), Some(1), "{found:?}");
}
