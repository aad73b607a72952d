//! One clear line for what cannot be packed, and nothing left under a final name.

use std::fs;

use serde_json::{Value, json};

use super::{clean, root, seq_pack, sequences};
use crate::common::samples::masked_line;
use crate::common::{Edit, TempDir, bash, python_code, tokens_line, tool};

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
        (
            &["--form", "trl", "--algorithm", "wrapped", "-n", "80", "--overflow", "cut"],
            &["--algorithm wrapped cuts at each row's end"],
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
        (
            &["--form", "trl", "-n", "8190", "--row-multiple", "16"],
            &["--row-multiple 16: --seq-length 8190 is no multiple of it", "--seq-length 8176"],
        ),
        (&["-n", "8", "--row-multiple", "16"], &["no multiple of it", "--seq-length 16"]),
        (&["--row-multiple", "4294967295"], &["a row has at most 16777216 positions"]),
        (
            &[
                "--form",
                "megatron-bridge",
                "-n",
                "96",
                "--row-multiple",
                "16",
                "--pad-seq-to-mult",
                "12",
            ],
            &["--row-multiple 16 is no multiple of --pad-seq-to-mult 12"],
        ),
        (
            &["--form", "olmo-core", "--row-multiple", "16"],
            &["the trainer of --form olmo-core makes its rows itself"],
        ),
        (
            &["--form", "trl-dpo", "--row-multiple", "16"],
            &["the trainer of --form trl-dpo makes its rows itself"],
        ),
    ] {
        pack(&[&[train.as_str()][..], arguments].concat()).fails(2, parts);
    }
    let index = dir.at("i.parquet");
    let padded = ["--form", "megatron-bridge", "-n", "80", "--pad-seq-to-mult", "4"];
    seq_pack(&[&[train.as_str(), "--index", &index][..], &padded].concat())
        .fails(2, &["i.parquet", "an index has no tokens, and no padding"]);
    let padded = ["--row-multiple", "16"];
    seq_pack(&[&[train.as_str(), "--index", &index, "-n", "96"][..], &padded].concat())
        .fails(2, &["i.parquet", "--row-multiple 16: an index has no tokens, and no padding"]);
    for more in [&["--columns", "id"], &["--compression", "zstd"]] {
        seq_pack(&[&[train.as_str(), "--index", &index, "-n", "900"][..], more].concat())
            .fails(2, &["give -o FILE"]);
    }
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
        .fails(1, &["stdin:1: (a) has no loss mask"]);
    tool("seq-pack")
        .args(&["-o", &out])
        .input(masked_line("a", &[1, 2, 3]))
        .run()
        .fails(1, &["stdin:1: (a) does not end in <|endoftext|> (199999)", "try: --model DIR"]);
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
    for (input, columns) in
        [(dir.at("p/a"), "id,span_id"), (dir.at("p/a"), "span_id"), (dir.at("m.arrows"), "span_id")]
    {
        let flags = ["-o", &out, "--rejects", &rejects, "--columns", columns];
        seq_pack(&[&[input.as_str()][..], &flags, &n].concat()).silent();
        clean(&out);
        let left = dir.text("left.ndjson");
        assert!(left.lines().all(|line| line.contains("more than 80")), "{left}");
        let kept = sequences(&out).len();
        assert_eq!(left.lines().count() + kept, 50);
        assert!(left.lines().all(|line| line.contains("\"id\":\"id-")), "{left}");
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
    // (A text that is another one; a role would be missed.)
    let mut bin = dir.read("root/train/s0_tokens.bin");
    bin[12] ^= 1;
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

/// Rows are never compared with what they were made of, which may be gone: that is said; an index is compared.
#[test]
fn ds_check_says_what_is_not_compared() {
    let dir = TempDir::new();
    root(&dir, 50);
    let (train, rows, index) = (dir.at("root/train"), dir.at("r.parquet"), dir.at("i.parquet"));
    seq_pack(&[&train, "-o", &rows, "--index", &index, "-n", "900", "-q"]).silent();
    let noted = |path: &str, of: &str| {
        let found = tool("ds-check").args(&[path, "--skip", "rows.unsupervised"]).run();
        let words: Vec<String> = found.text().split_whitespace().map(str::to_string).collect();
        let note = format!("note: made of {of}: the sequences are not compared with their data");
        words.join(" ").contains(&note)
    };
    assert!(noted(&rows, "datasets") && !noted(&index, "datasets"));
    let piped = dir.at("piped.parquet");
    let line = format!("ds-cat -q --to arrow {train} | seq-pack -o {piped} -n 900 -q");
    bash(&line).ok();
    assert!(noted(&piped, "records from a pipe"));
    fs::remove_dir_all(dir.path().join("root")).unwrap();
    assert!(noted(&rows, "datasets"));
}

/// An output that is an input, by whatever name, would destroy it.
#[test]
fn no_output_replaces_an_input() {
    let dir = TempDir::new();
    root(&dir, 20);
    let rows = dir.at("r.parquet");
    seq_pack(&[&dir.at("p/a"), "-o", &rows, "--columns", "span_id", "-q"]).silent();
    std::os::unix::fs::symlink(&rows, dir.at("link.parquet")).unwrap();
    let before = (dir.read("r.parquet"), dir.read("m.arrows"));
    for input in [rows.clone(), dir.at("./r.parquet"), dir.at("link.parquet")] {
        for out in ["r.parquet", "p/../r.parquet"] {
            let run = seq_pack(&[&input, "-o", &dir.at(out), "--overwrite"]);
            run.fails(2, &["is an input of this run"]);
        }
    }
    let bridge = ["--form", "megatron-bridge", "-n", "900", "--overflow", "drop", "--overwrite"];
    let files = ["-o", &dir.at("z.parquet"), "--metadata", &dir.at("./m.arrows")];
    seq_pack(&[&[dir.at("m.arrows").as_str()][..], &files, &bridge].concat())
        .fails(2, &["is an input of this run"]);
    assert!((dir.read("r.parquet"), dir.read("m.arrows")) == before);
}

/// Bad records are skipped as in every filter, and what is in no row is what it should be, too.
#[test]
fn what_is_left_out_is_looked_at() {
    let dir = TempDir::new();
    let line = |id: &str, tokens: &[i64], mask: &[u8]| {
        let spans: Vec<u8> = mask.iter().map(|mask| 2 * mask.min(&1)).collect();
        let record =
            serde_json::json!({"id": id, "tokens": tokens, "loss_mask": mask, "span_id": spans});
        format!("{record}\n")
    };
    let good = line("good", &[1, 2, 3, 199_999], &[1, 1, 1, 0]);
    let bad = [
        line("a", &[1, 2, 3], &[1, 1, 0]),
        line("b", &[5], &[0]),
        line("c", &[1, 2, 3, 199_999], &[1, 2, 1, 0]),
        line("d", &[1, 199_999, 3, 199_999], &[1, 1, 1, 0]),
    ];
    let (out, rejects) = (dir.at("r.parquet"), dir.at("left.ndjson"));
    // (They are no conversations.)
    let flags = ["-o", &out, "--no-check", "--on-error", "skip", "--rejects", &rejects, "-q"];
    tool("seq-pack").args(&flags).input(good.clone() + &bad.concat()).run().ok();
    assert_eq!((sequences(&out).len(), dir.text("left.ndjson").lines().count()), (1, bad.len()));
    for bad in &bad {
        let how = ["--form", "trl", "-n", "2", "--overflow", "cut", "--no-check"];
        let no = dir.at("no.parquet");
        let flags = [&["-o", no.as_str()][..], &how].concat();
        assert_eq!(tool("seq-pack").args(&flags).input(bad).run().code(), Some(1), "{bad}");
    }
    // On disk, where a sequence that is cut, or dropped, or has one token, is not read as a whole.
    for (name, tokens, how) in [
        ("cut", &[1i64, 2, 3, 4, 5][..], "cut"),
        ("dropped", &[1, 2, 3, 4, 5], "drop"),
        ("one", &[5], "cut"),
    ] {
        let mask = vec![0; tokens.len()];
        let input = good.clone() + &line("x", tokens, &mask);
        let prefix = dir.at(name);
        tool("mmidx-write")
            .args(&["--no-check", "--prefix", &prefix, "-q"])
            .input(input)
            .run()
            .ok();
        let out = dir.at("never.parquet");
        let run = seq_pack(&[&prefix, "-o", &out, "--form", "trl", "-n", "3", "--overflow", how]);
        run.fails(1, &["does not end in <|endoftext|>"]);
    }
    // An end inside of a sequence; with --keep-eod it is a token as others.
    let inside = dir.at("inside");
    tool("mmidx-write")
        .args(&["--no-check", "--prefix", &inside, "-q"])
        .input(good.clone() + &bad[3])
        .run()
        .ok();
    let out = dir.at("inside.parquet");
    seq_pack(&[&inside, "-o", &out])
        .fails(1, &["inside", "record 2: token 1 is <|endoftext|> (199999)", "try: --model DIR"]);
    seq_pack(&[&inside, "-o", &out, "--keep-eod", "-q"]).silent();
    clean(&out);
    // An index of a slice answers for its own sequences.
    tool("mmidx-write")
        .args(&["--no-check", "--prefix", &dir.at("half"), "-q"])
        .input(good.clone() + &bad[0])
        .run()
        .ok();
    for (slice, code) in [("0/2", 0), ("1/2", 1)] {
        let index = dir.at("half.parquet");
        let flags = ["--index", &index, "-n", "9", "--slice", slice, "-q", "--overwrite"];
        let made = seq_pack(&[&[dir.at("half").as_str()][..], &flags].concat());
        assert_eq!(made.code(), Some(code), "{made:?}");
        if code == 0 {
            clean(&index);
        }
    }
    // Span ids that are not known matter only where they are wanted.
    let unknown = "{\"id\": \"u\", \"tokens\": [1, 2, 199999], \"loss_mask\": [1, 1, 0]}\n";
    let out = dir.at("unknown.parquet");
    tool("seq-pack").args(&["-o", &out, "-q", "--no-check"]).input(unknown).run().ok();
    clean(&out);
    let stat = tool("ds-stat").args(&[&out]).run().text();
    assert!(stat.contains("span ids not known") && !stat.contains("without masks"), "{stat}");
    tool("seq-pack")
        .args(&["-o", &out, "--overwrite", "--columns", "span_id"])
        .input(unknown)
        .run()
        .fails(1, &["stdin:1: (u) has no span ids"]);
    // Labels in no row are counted, each once.
    let lines: String = [3usize, 7, 12, 1, 5]
        .iter()
        .map(|&length| {
            let tokens: Vec<i64> = (0..length as i64).chain([199_999]).collect();
            line("x", &tokens, &vec![1; length].into_iter().chain([0]).collect::<Vec<u8>>())
        })
        .collect();
    tool("mmidx-write")
        .args(&["--no-check", "--prefix", &dir.at("labels"), "-q"])
        .input(lines)
        .run()
        .ok();
    let Some(python) = crate::common::python() else { return };
    for how in ["cut", "drop"] {
        let out = dir.at("l.parquet");
        let flags = ["--form", "trl", "-n", "4", "--overflow", how, "-q", "--overwrite"];
        seq_pack(&[&[dir.at("labels").as_str(), "-o", &out][..], &flags].concat()).silent();
        let labels = super::manifest(&python, &out)["labels"].clone();
        let sum = labels["in_rows"].as_u64().unwrap() + labels["lost"].as_u64().unwrap();
        // The label of each token but the first, the end of a document included.
        assert_eq!(sum, 28, "{how}: {labels}");
    }
}

/// Records that ds-check calls wrong are in no rows, but with `--no-check`.
#[test]
fn what_ds_check_calls_wrong_is_refused() {
    let dir = TempDir::new();
    root(&dir, 12);
    let good = tool("ds-cat").args(&[&dir.at("p/a"), "--to", "ndjson"]).run().silent().records();
    let (out, rejects) = (dir.at("r.parquet"), dir.at("left.ndjson"));
    let pack = |records: &[Value], flags: &[&str]| {
        let lines: String = records.iter().map(|record| format!("{record}\n")).collect();
        let flags = [&["-o", out.as_str(), "-q", "--overwrite"][..], flags].concat();
        tool("seq-pack").args(&flags).input(lines).run()
    };
    let later = |record: &mut Value, name: &str| {
        record[name].as_array_mut().unwrap().rotate_right(1);
    };
    let cases: [(&str, Edit); 5] = [
        ("kd.token.range", &|record| record["tokens"][3] = json!(-5)),
        ("kd.token.range", &|record| record["tokens"][3] = json!(201_088)),
        ("kd.token.reserved", &|record| record["tokens"][3] = json!(200_000)),
        ("kd.harmony.structure", &|record| record["tokens"][0] = json!(5)),
        ("kd.mask.unshifted", &|record| {
            later(record, "loss_mask");
            later(record, "span_id");
        }),
    ];
    for (id, change) in cases {
        let mut records = good.clone();
        records[4]["segments"] = Value::Null;
        change(&mut records[4]);
        let cause = format!("({id})");
        let told = ["stdin:5: (id-", cause.as_str()];
        pack(&records, &[]).fails(1, &told);
        pack(&records, &["--on-error", "skip", "--rejects", &rejects]).ok();
        assert_eq!((sequences(&out).len(), dir.text("left.ndjson").lines().count()), (11, 1));
        pack(&records, &["--no-check"]).silent();
        assert_eq!(sequences(&out).len(), 12, "{id}");
        // Where ends of documents are kept, tokens and masks of a conversation are looked at all the same.
        pack(&records, &["--keep-eod"]).fails(1, &told);
    }
    // Without its end a record is taken as it is, and span ids need not be known.
    let mut records = good.clone();
    for record in &mut records {
        for name in ["tokens", "loss_mask", "span_id"] {
            record[name].as_array_mut().unwrap().pop();
        }
        record["segments"] = Value::Null;
    }
    pack(&records, &["--keep-eod"]).silent();
    clean(&out);
    let mut records = good.clone();
    records.iter_mut().for_each(|record| record["span_id"] = Value::Null);
    pack(&records, &[]).silent();
    clean(&out);
    // Of triples the tokens are looked at; no manifest speaks for these.
    for member in ["tokens", "lossmask", "span"] {
        for end in ["bin", "idx"] {
            let bytes = dir.read(&format!("p/a_{member}.{end}"));
            dir.write(&format!("foreign/a_{member}.{end}"), bytes);
        }
    }
    let foreign = dir.at("foreign/a");
    let rows = |flags: &[&str]| {
        seq_pack(&[&[foreign.as_str(), "-o", &out, "-q", "--overwrite"][..], flags].concat())
    };
    rows(&[]).silent();
    for token in [-5i32, 201_088] {
        let mut bin = dir.read("p/a_tokens.bin");
        bin[8..12].copy_from_slice(&token.to_le_bytes());
        dir.write("foreign/a_tokens.bin", bin);
        let cause = format!("record 1: expected tokens from 0 to 201087, got {token}");
        rows(&[]).fails(1, &[&cause, "try: --model DIR"]);
        rows(&["--no-check"]).silent();
    }
}

/// The rows of a root are checked with it, alone and in their folder, and so are its ids files.
#[test]
fn a_root_answers_for_its_rows_and_ids() {
    let dir = TempDir::new();
    root(&dir, 50);
    fs::create_dir(dir.path().join("root/rows")).unwrap();
    let rows = dir.at("root/rows/train.rows.parquet");
    seq_pack(&[&dir.at("root/train"), "-o", &rows, "-q"]).silent();
    let check = |name: &str, code: i32, told: &str| {
        let run = tool("ds-check").args(&[&dir.at(name)]).run();
        assert_eq!(run.code(), Some(code), "{name}: {run:?}");
        let text = run.in_a_line();
        assert!(text.contains(told), "{name}: {run:?}");
        assert!(!text.contains("shards.manifest.missing"), "{name}: {run:?}");
    };
    check("root/rows", 0, "directory of 1 rows file");
    check("root", 0, "rows/: 1 file of rows for trainers");
    for ids in ["root/ids/train/s0.parquet", "root/ids/train", "root/ids"] {
        check(ids, 0, "ids of sequences");
    }
    // Another file is named, one that is cut is an error.
    dir.write("root/rows/x.parquet", dir.read("root/ids/train/s0.parquet"));
    check("root", 0, "x.parquet: is no file of seq-pack; not checked");
    let whole = dir.read("root/rows/train.rows.parquet");
    dir.write("root/rows/train.rows.parquet", &whole[..whole.len() / 2]);
    check("root", 1, "rows.form");
    check("root/rows", 1, "stream.form");
    let ids = dir.read("root/ids/train/s0.parquet");
    let mut damaged = ids.clone();
    damaged[0] = b'x';
    for bytes in [&ids[..ids.len() - 9], &damaged] {
        dir.write("root/ids/train/s0.parquet", bytes);
        check("root/ids/train/s0.parquet", 1, "stream.");
    }
}

/// Rows in which nothing is trained on are refused, of records and of triples, and so are triples that are
/// joined.
#[test]
fn rows_that_teach_nothing_are_refused() {
    let dir = TempDir::new();
    let run = |line: &str| dir.bash(&format!("set -eo pipefail; {line}"));
    let of = |id: &str, roles: &[&str]| {
        let messages: Vec<Value> =
            roles.iter().map(|role| json!({"role": role, "content": "a b"})).collect();
        json!({"id": id, "messages": messages}).to_string() + "\n"
    };
    dir.write("none", of("a", &["user", "assistant"]) + &of("b", &["user"]));
    run("harmony-tok none --policy chat --to arrow | span-mask -q --to arrow > m.arrows
         mmidx-write m.arrows --prefix a --allow-unsupervised -q
         mmidx-write m.arrows --prefix single --tokens-only -q")
    .ok();
    let way = "try: span-mask --span CHANNEL=ID\n";
    for input in ["m.arrows", "a"] {
        let pack = format!("seq-pack {input} -o {input}.parquet");
        run(&pack).fails(1, &["nothing is supervised in its 2 rows", way]);
        assert!(!dir.path().join(format!("{input}.parquet")).exists());
        let told = run(&format!("{pack} --allow-unsupervised")).ok().stderr;
        assert!(told.contains("warning: nothing is supervised in its 2 rows"), "{told}");
        let found = run(&format!("ds-check {input}.parquet || true")).text();
        assert!(found.contains("rows.untrained") && found.contains("rows.unsupervised"), "{found}");
    }
    // An index reads no masks.
    run("seq-pack a --index i.parquet -n 99 -q").silent();
    let cause = "nothing is supervised in any of its 4 sequences";
    run("mmidx-write m.arrows --prefix b --allow-unsupervised -q").silent();
    run("mmidx-write --concat a b --prefix both").fails(1, &[cause, way]);
    assert!(!dir.path().join("both.part.json").exists());
    let told = run("mmidx-write --concat a b --prefix both --allow-unsupervised").ok();
    assert!(told.stderr.contains(&format!("warning: {cause}")), "{told:?}");
    // (Without masks nothing is known of it.)
    run("mmidx-write --concat single --prefix copy -q").silent();
}

/// Rows that hold more than they state are not read as if they were whole.
#[test]
fn rows_behind_the_last_sequence_are_not_passed_over() {
    let Some(python) = crate::common::python() else { return };
    let dir = TempDir::new();
    root(&dir, 50);
    let rows = dir.at("r.parquet");
    let n = ["--form", "trl", "-n", "80", "--overflow", "split", "-q"];
    seq_pack(&[&[dir.at("p/a").as_str(), "-o", &rows][..], &n].concat()).silent();
    // Of 50 sequences 49 are stated; the last is one of those in pieces, or a whole one.
    let script = "import json, sys, pyarrow.parquet as pq
table = pq.read_table(sys.argv[1])
manifest = json.loads(pq.read_metadata(sys.argv[1]).metadata[b'gristmill.rows'])
manifest['records']['written'] -= 1
metadata = {b'gristmill.rows': json.dumps(manifest).encode()}
pq.write_table(table.replace_schema_metadata(metadata), sys.argv[1])";
    python_code(&python, script, &[&rows]).ok();
    tool("ds-cat").args(&[&rows]).run().fails(1, &["r.parquet: has more sequences than it states"]);
    tool("ds-cat").args(&[&rows, "--limit", "3", "-q"]).run().ok();
}
