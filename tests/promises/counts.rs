//! What manifests count is true: of the whole, whatever slices, parts, splits and concatenations it
//! went through.

use serde_json::{Value, json};

use crate::common::{TempDir, bash, bash_with, conversations, copy_scripts, data, files_in, tool};
use crate::faults::inputs;
use crate::games::{Folder, GameText};

fn counts(read: u64, written: u64, rejected: u64) -> Value {
    json!({"read": read, "written": written, "rejected": rejected})
}

/// Compares the counts in the manifests of prefixes.
fn assert_counts(dir: &TempDir, expected: &[(&str, Value)]) {
    for (name, records) in expected {
        assert_eq!(dir.json(&format!("{name}.part.json"))["records"], *records, "{name}");
    }
}

/// Slices of `in.ndjson` as roots, both splits concatenated into `whole`, and its manifest.
fn join_slices(dir: &TempDir, slices: u64, fraction: &str) {
    dir.bash(&format!(
        "set -eo pipefail; export GRISTMILL_TO=arrow; last=$(({slices} - 1))
         for i in $(seq 0 $last); do harmony-tok in.ndjson --slice $i/{slices} --on-error skip -q \
             | span-mask -q | mmidx-write --root part$i --shard s --valid-fraction {fraction}; done
         for split in train valid; do
             mmidx-write --prefix whole/$split/s \
                 --concat $(for i in $(seq 0 $last); do echo part$i/$split/s; done); done
         ds-manifest whole -q && ds-check whole --only kd"
    ))
    .ok();
}

fn sum_of_parts(dir: &TempDir) -> Vec<u64> {
    let parts = ["train", "valid"].map(|split| dir.json(&format!("whole/{split}/s.part.json")));
    let of = |name: &str| parts.iter().map(|part| part["records"][name].as_u64().unwrap()).sum();
    ["read", "written", "rejected"].map(of).to_vec()
}

#[test]
fn slices_joined_are_the_whole() {
    for (fraction, slices) in [("0.1", 4), ("0", 3), ("1", 3), ("0.5", 1)] {
        let dir = TempDir::new();
        dir.write("in.ndjson", conversations(50));
        join_slices(&dir, slices, fraction);
        assert_eq!(dir.json("whole/manifest.json")["records"], counts(50, 50, 0), "{fraction}");
        assert_eq!(sum_of_parts(&dir), [50, 50, 0], "{fraction}");
    }
}

#[test]
fn rejected_records_count_once() {
    for (fraction, slices) in [("0.3", 4), ("0", 2), ("1", 2)] {
        let dir = TempDir::new();
        let lines = conversations(10) + "{\"id\": \"x\"}\n" + &conversations(10) + "{}\n";
        dir.write("in.ndjson", lines);
        join_slices(&dir, slices, fraction);
        assert_eq!(dir.json("whole/manifest.json")["records"], counts(22, 20, 2), "{fraction}");
        assert_eq!(sum_of_parts(&dir), [22, 20, 2], "{fraction}");
        for split in ["train", "valid"] {
            let part = dir.json(&format!("whole/{split}/s.part.json"));
            assert_eq!(part["records"]["written"], part["splits"]["all"]["rows"]);
        }
    }
}

/// Concatenations of concatenations, and of prefixes without a split.
#[test]
fn prefixes_joined_are_the_whole() {
    let dir = TempDir::new();
    dir.write("in.ndjson", conversations(20) + "{}\n");
    dir.bash(
        "set -eo pipefail; export GRISTMILL_TO=arrow
         for i in 0 1 2; do harmony-tok in.ndjson --slice $i/3 --on-error skip -q | span-mask -q \
             | mmidx-write --prefix p$i; done
         mmidx-write --concat p0 p1 p2 --prefix q; mmidx-write --concat q --prefix r
         mmidx-write --concat p0 p1 p2 --foreign --prefix f; ds-check r f",
    )
    .ok();
    assert_counts(&dir, &["q", "r"].map(|name| (name, counts(21, 20, 1))));
    // Nothing is known of what a foreign dataset read; its supervised tokens are in its masks.
    let foreign = dir.json("f.part.json");
    assert_eq!(foreign["records"], unknown(20));
    let spans = |part: &Value| part["splits"]["all"]["supervised_tokens"].clone();
    assert_eq!(spans(&foreign), spans(&dir.json("q.part.json")));
}

/// A stream says at its end what was dropped before it: of a part of it, and of one that is not read to its end,
/// that is not known. (The slices of one stream counted all that was dropped, each.)
#[test]
fn of_a_part_of_a_stream_it_is_not_known_what_was_dropped() {
    let dir = TempDir::new();
    dir.write("a.ndjson", conversations(8) + "{}\n");
    dir.write("b.ndjson", conversations(8).replace("\"id\":\"", "\"id\":\"b"));
    dir.bash("set -eo pipefail; export GRISTMILL_TO=arrow
         for x in a b; do harmony-tok $x.ndjson --on-error skip -q | span-mask -q > $x.arrows; done
         write() { name=$1; shift; mmidx-write --prefix $name -q \"$@\"; }
         write whole a.arrows; write two a.arrows b.arrows
         for i in 0 1; do write a$i a.arrows --slice $i/2; write b$i b.arrows --slice $i/2
             write ab$i a.arrows b.arrows --slice $i/2; write third$i a.arrows b.arrows --slice $i/3; done
         mmidx-write --concat a0 a1 --prefix joined; mmidx-write --concat ab0 ab1 --prefix both
         ds-cat a.arrows --limit 3 | write few
         { cat a.arrows || true; } | ds-cat --limit 8 | write eight; ds-cat a.arrows --id id-1 | write chosen
         ds-cat b.arrows --limit 3 | write fewb")
    .ok();
    let expected = [
        ("whole", counts(9, 8, 1)),
        ("two", counts(17, 16, 1)),
        ("a0", unknown(4)),
        ("a1", unknown(4)),
        ("joined", unknown(8)),
        ("b0", counts(4, 4, 0)),
        ("b1", counts(4, 4, 0)),
        // Each slice is one file as a whole.
        ("ab0", counts(9, 8, 1)),
        ("ab1", counts(8, 8, 0)),
        ("both", counts(17, 16, 1)),
        ("third0", unknown(5)),
        ("third1", unknown(5)),
        ("few", unknown(3)),
        ("eight", unknown(8)),
        ("chosen", unknown(1)),
        ("fewb", unknown(3)),
    ];
    assert_counts(&dir, &expected);
}

/// Sequences that are read back from prefixes: what is the same in all is stated, the inputs of all, and their
/// counts together; what is not known of one is not known.
#[test]
fn sequences_read_back_state_what_is_true_of_all() {
    let dir = TempDir::new();
    dir.write("a.ndjson", conversations(8) + "{}\n");
    dir.write("b.ndjson", conversations(5) + "{}\n{}\n");
    dir.bash("set -eo pipefail; export GRISTMILL_TO=arrow
         make() { harmony-tok $1.ndjson --on-error skip -q --hash-inputs $3 | span-mask -q | mmidx-write --prefix $2; }
         make a a ''; make b b ''; make b chat '--policy chat'
         for kind in tokens lossmask span; do for end in bin idx; do
             cp b_$kind.$end foreign_$kind.$end; done; done
         mmidx-write a --prefix one; mmidx-write a b --prefix both; mmidx-write b a --prefix turned
         mmidx-write a chat --prefix policies; mmidx-write a foreign --prefix mixed
         mmidx-write foreign --prefix other; mmidx-write a --slice 0/2 --prefix slice
         mmidx-write --root root --shard s --valid-fraction 0.5 a
         mmidx-write root --prefix of-root; ds-check one both policies mixed other of-root
         seq-pack a b -q --form rows -o both.parquet; seq-pack a foreign -q --form rows -o mixed.parquet")
    .ok();
    let part = |name: &str| dir.json(&format!("{name}.part.json"));
    let expected = [
        ("one", counts(9, 8, 1)),
        ("of-root", counts(9, 8, 1)),
        ("both", counts(16, 13, 3)),
        ("turned", counts(16, 13, 3)),
        ("policies", counts(16, 13, 3)),
        ("mixed", unknown(13)),
        ("other", unknown(5)),
        ("slice", unknown(4)),
    ];
    assert_counts(&dir, &expected);
    let inputs = |name: &str| -> Vec<String> {
        let inputs = part(name)["source"]["inputs"].as_array().cloned().unwrap_or_default();
        inputs.iter().map(|input| input["name"].as_str().unwrap().to_string()).collect()
    };
    assert_eq!(inputs("both"), ["a.ndjson", "b.ndjson"]);
    assert_eq!(inputs("turned"), ["b.ndjson", "a.ndjson"]);
    for (name, policy, spans) in [
        ("both", json!("synth-kd-v1"), true),
        ("policies", json!(null), true),
        ("mixed", json!(null), false),
        ("other", json!(null), false),
    ] {
        let source = &part(name)["source"];
        assert_eq!(source["policy"], policy, "{name}");
        assert_eq!(source["spans"].is_object(), spans, "{name}");
        assert_eq!(source["inputs"].is_array(), spans, "{name}");
    }
    // (The manifest is in the footer.)
    for (name, records) in [("both", counts(16, 13, 3)), ("mixed", unknown(13))] {
        let footer = dir.read(&format!("{name}.parquet"));
        let manifest = String::from_utf8_lossy(&footer).into_owned();
        let (_, records_on) = manifest.split_once("\"records\":").unwrap();
        let mut stated = serde_json::Deserializer::from_str(records_on).into_iter::<Value>();
        assert_eq!(stated.next().unwrap().unwrap(), records, "{name}");
    }
}

#[test]
fn a_foreign_root_passes_ds_check() {
    let Some(data) = data("kd_wild/smoke") else { return };
    let dir = TempDir::new();
    let out = dir.at("all");
    let shards = [0, 1, 2, 3].map(|n| data.join(format!("train/shard_0{n}")).display().to_string());
    let concat = ["--concat"].map(str::to_string).into_iter().chain(shards);
    let arguments: Vec<String> = concat.collect();
    tool("mmidx-write").args(&arguments).args(&["--foreign", "--prefix", &out]).run().silent();
    tool("ds-check").args(&[&out]).run().ok();
    let part = dir.json("all.part.json");
    assert_eq!(part["records"], unknown(888));
    let spans = part["splits"]["all"]["supervised_tokens"].as_object().unwrap();
    assert_eq!(spans.keys().collect::<Vec<_>>(), ["1", "2"]);
}

/// The published builder states no hashes, no records, and paths from where it was run.
#[test]
fn a_published_root_passes_ds_check() {
    let Some(data) = data("kd_wild/smoke") else { return };
    let root = data.display().to_string();
    let check = |arguments: &[&str]| tool("ds-check").args(arguments).run();
    let run = check(&[&root]).ok();
    // Its index caches are of 249 or 250 sequences a shard: those of an earlier build.
    assert!(run.text().contains("kd.cache.documents"), "{run:?}");
    let note = "note: the manifest has no sha256: only sizes and counts are compared";
    assert!(run.text().contains(note), "{run:?}");
    // What it does state is compared.
    let dir = TempDir::new();
    for name in files_in(&data).iter().filter(|name| !name.starts_with("cache")) {
        dir.write(name, std::fs::read(data.join(name)).unwrap());
    }
    check(&[&dir.at("")]).ok();
    let text = dir.text("manifest.json");
    dir.write("manifest.json", text.replace("\"rows\": 219", "\"rows\": 218"));
    let run = check(&[&dir.at("")]);
    assert!(run.code() == Some(1) && run.text().contains("kd.manifest.counts"), "{run:?}");
    dir.write("manifest.json", text.replace("\"tokens_idx\": 4422", "\"tokens_idx\": 4421"));
    let run = check(&[&dir.at("")]);
    assert!(run.code() == Some(1) && run.text().contains("kd.manifest.bytes"), "{run:?}");
}

/// The footer of a Parquet file states its rows, and those of its row groups.
#[test]
fn a_parquet_file_has_the_rows_that_it_states() {
    const ROWS: [u8; 3] = [0x16, 0xd8, 0x04]; // i64, zigzag: 300
    let dir = TempDir::new();
    let lines = dir.write("in.ndjson", conversations(300));
    let file = dir.at("a.parquet");
    tool("ds-cat").args(&[&lines, "--to", "parquet", "-o", &file]).run().silent();
    assert_eq!(tool("ds-cat").args(&[&file, "--count"]).run().silent().stdout, b"300\n");
    let mut bytes = dir.read("a.parquet");
    let length = u32::from_le_bytes(bytes[bytes.len() - 8..][..4].try_into().unwrap()) as usize;
    let footer = bytes.len() - 8 - length;
    // The first number of rows in the footer is that of the file.
    let rows = bytes[footer..].windows(3).position(|bytes| bytes == ROWS).unwrap();
    bytes[footer + rows + 1] += 2;
    dir.write("a.parquet", &bytes);
    let cause = "the file states 301 rows, its row groups have others";
    for arguments in [&["--count"][..], &["-q"], &["--slice", "1/2"]] {
        tool("ds-cat").args(&[&file]).args(arguments).run().fails(1, &[&file, cause]);
    }
}

/// The records of manifests where what filters dropped before did not travel with them.
fn unknown(written: u64) -> Value {
    json!({"read": null, "written": written, "rejected": null, "skipped": null})
}

/// What did not come with the records is null, in every form in which records come, and through every
/// join; what came is counted.
#[test]
fn what_did_not_come_with_the_records_is_null() {
    let known = counts(10, 8, 2);
    let dir = TempDir::new();
    dir.write("in.ndjson", conversations(8) + "{}\n{}\n");
    // The form of what each filter gives to the next, and what is known at the end.
    let tok = "harmony-tok in.ndjson --on-error skip -q";
    let cases = [
        ("arrow", format!("{tok} --to arrow | span-mask --to arrow | mmidx-write"), known.clone()),
        ("ndjson", format!("{tok} | span-mask | mmidx-write"), unknown(8)),
        ("late", format!("{tok} --to arrow | span-mask | mmidx-write"), unknown(8)),
        // An unknown number stays unknown in the headers of the filters after it.
        ("early", format!("{tok} | span-mask --to arrow | mmidx-write"), unknown(8)),
        ("lines", format!("{tok} | span-mask > m.ndjson; mmidx-write m.ndjson"), unknown(8)),
        (
            "stream",
            format!("{tok} --to arrow | span-mask --to arrow > m.arrows; mmidx-write m.arrows"),
            known.clone(),
        ),
        ("gzip", format!("{tok} | span-mask | gzip > m.gz; mmidx-write m.gz"), unknown(8)),
        // What people write themselves: a file begins the count, a pipe does not.
        (
            "pipe",
            format!(
                "{} --to arrow | span-mask --to arrow | mmidx-write",
                tok.replace("in", "< in")
            ),
            unknown(8),
        ),
    ];
    for (name, script, records) in &cases {
        for out in ["--root root --shard", "--prefix one/"] {
            let out = format!("{out} {name}").replace("/ ", "/");
            let cd = dir.path().display();
            bash(&format!("set -eo pipefail; cd {cd}; {script} {out}")).ok();
        }
        let part = dir.json(&format!("root/parts/{name}.json"));
        assert_eq!(&part["records"], records, "{name}");
        assert_eq!(&dir.json(&format!("one/{name}.part.json"))["records"], records, "{name}");
    }
    // Unknown plus anything is unknown: in a root, in concatenations, and in those of them.
    let join = |names: &str, out: &str| {
        dir.bash(&format!(
            "set -eo pipefail; mmidx-write --concat {names} --prefix {out}; ds-check {out}"
        ))
        .ok();
        dir.json(&format!("{out}.part.json"))["records"].clone()
    };
    assert_eq!(join("one/arrow one/stream", "both"), counts(20, 16, 4));
    assert_eq!(join("one/arrow one/ndjson one/stream", "mixed"), unknown(24));
    assert_eq!(join("both mixed", "all"), unknown(40));
    let of_root = |names: &[&str]| {
        let root = dir.at("some");
        let _ = std::fs::remove_dir_all(&root);
        for name in names {
            dir.bash(&format!(
                "set -e; mkdir -p some/parts some/train some/valid some/ids/train some/ids/valid
                 cp root/parts/{name}.json some/parts
                 for d in train valid ids/train ids/valid; do
                     cp root/$d/{name}* some/$d 2> /dev/null || true; done"
            ))
            .ok();
        }
        dir.bash("set -e; ds-manifest some; ds-check some").ok();
        dir.json("some/manifest.json")["records"].clone()
    };
    assert_eq!(of_root(&["arrow", "stream"]), counts(20, 16, 4));
    assert_eq!(of_root(&["arrow", "early"]), unknown(16));
}

/// Manifests of 0.2, with their numbers: skipped rows without reasons, too.
#[test]
fn older_manifests_are_read() {
    let dir = TempDir::new();
    dir.write("in.ndjson", conversations(8));
    dir.bash(
        "set -eo pipefail; export GRISTMILL_TO=arrow
         for i in 0 1; do harmony-tok in.ndjson --slice $i/2 | span-mask \
             | mmidx-write --root root --shard s$i; done; ds-manifest root",
    )
    .ok();
    let edit = |name: &str, records: &Value| {
        let mut manifest = dir.json(name);
        manifest["records"] = records.clone();
        dir.write(name, manifest.to_string());
    };
    let old = |read: u64, written: u64, skipped: u64| json!({"read": read, "written": written, "rejected": 1, "skipped": skipped});
    edit("root/parts/s0.json", &old(8, 4, 3));
    edit("root/parts/s1.json", &old(10, 4, 5));
    edit("root/manifest.json", &json!({"read": 18, "written": 8, "rejected": 2, "skipped": 8}));
    let root = dir.at("root");
    tool("ds-check").args(&[&root]).run().ok();
    // The sum is still one that ds-check makes, and a part of reasons is no part without them.
    edit("root/manifest.json", &json!({"read": 18, "written": 8, "rejected": 2, "skipped": 7}));
    let run = tool("ds-check").args(&[&root]).run();
    assert!(run.text().contains("kd.manifest.counts") && run.code() == Some(1), "{run:?}");
    // With reasons in the root.
    let reasons = json!({"without query": 8});
    edit(
        "root/manifest.json",
        &json!({"read": 18, "written": 8, "rejected": 2, "skipped": reasons}),
    );
    tool("ds-check").args(&[&root]).run().ok();
    // What is unknown is not held against what is known.
    edit("root/manifest.json", &unknown(8));
    tool("ds-check").args(&[&root]).run().ok();
    tool("ds-manifest").args(&[&root, "-q"]).run().ok();
    let reasons = json!({"for reasons not stated": 8});
    let sum = json!({"read": 18, "written": 8, "rejected": 2, "skipped": reasons});
    assert_eq!(dir.json("root/manifest.json")["records"], sum);
}

/// Packs: what several runs have written, and what they have merged, count what one run counts. Of a pack
/// without a manifest, and of what came without a header, it is not known.
#[test]
fn joined_packs_count_what_their_parts_count() {
    for to in ["arrow", "ndjson"] {
        let (dir, raw) = (TempDir::new(), Folder::new());
        copy_scripts(&dir);
        for number in 0..12 {
            let mut game = GameText::played(3);
            if number == 5 {
                game.steps.pop();
            }
            game.write(&raw, &format!("g{number:02}"));
        }
        let run = |script: &str| {
            let script = script.replace("RAW", &raw.path.display().to_string());
            let cd = dir.path().display();
            bash_with(&format!("set -eo pipefail; cd {cd}; {script}"), &[("GRISTMILL_TO", to)])
                .ok();
        };
        let records = |pack: &str| dir.json(&format!("{pack}/manifest.json"))["records"].clone();
        run("bash scripts/macroxue.sh RAW one --on-error skip --no-check");
        assert_eq!(records("one"), counts(12, 11, 1), "{to}");
        run("bash scripts/macroxue.sh plan RAW many --games-per-task 4 --on-error skip > tasks
             while read -r task; do sh -c \"$task\"; done < tasks
             bash scripts/macroxue.sh finish many --no-check");
        let parts = files_in(&dir.path().join("many/tasks"));
        let parts: Vec<Value> = (parts.iter().filter(|name| name.ends_with("/manifest.json")))
            .map(|name| {
                records(&format!("many/tasks/{}", name.strip_suffix("/manifest.json").unwrap()))
            })
            .collect();
        let of = |name: &str| parts.iter().map(|part| part[name].as_u64().unwrap()).sum::<u64>();
        assert_eq!(parts.len(), 3, "{to}");
        assert_eq!(counts(of("read"), of("written"), of("rejected")), counts(12, 11, 1), "{to}");
        assert_eq!(records("many"), counts(12, 11, 1), "{to}");
        run("bash scripts/merge-packs.sh --output both one many --no-check");
        assert_eq!(records("both"), counts(24, 22, 2), "{to}");
        run("npy-pack both one -o all; ds-cat both one --to arrow | npy-pack -o piped");
        assert_eq!(
            [records("all"), records("piped")],
            [counts(36, 33, 3), counts(36, 33, 3)],
            "{to}"
        );
        run("ds-cat one --to ndjson | npy-pack -o lines; cp -r one bare; rm bare/manifest.json
             bash scripts/merge-packs.sh --output with-lines one lines --no-check
             bash scripts/merge-packs.sh --output with-bare bare one --no-check
             npy-pack one --slice 0/2 -o part");
        assert_eq!(records("with-lines"), unknown(22), "{to}");
        assert_eq!(records("with-bare"), unknown(22), "{to}");
        assert_eq!(records("part"), unknown(5), "{to}");
    }
}

/// Packs and puzzle sets: what was dropped when parts were made is counted in every join of them.
#[test]
fn joins_of_every_format_add_up() {
    let dir = TempDir::new();
    inputs::make(&dir.path().join("in"));
    copy_scripts(&dir);
    let run = |script: &str| {
        dir.bash(&format!("set -eo pipefail; {script}")).ok();
    };
    run("for n in 1 2; do cp -r in/raw raw$n; done
         file=$(find raw1 -name 'one*.gz' | head -1); head -c 40 $file > cut; mv cut $file
         file=$(find raw2 -name 'two*.gz' | head -1); head -c 40 $file > cut; mv cut $file
         for n in 1 2; do mx-decode raw$n --on-error skip -q --to arrow | npy-pack -q -o pack$n; done
         npy-pack -q pack1 pack2 -o joined
         ds-cat -q pack1 pack2 --to arrow | npy-pack -q -o arrow
         ds-cat -q pack1 pack2 --to ndjson | npy-pack -q -o ndjson
         ds-cat -q pack1 --limit 1 --to arrow | npy-pack -q -o limited
         bash scripts/merge-packs.sh -q --no-check --output merged pack1 pack2
         bash scripts/macroxue.sh plan raw1 finished --tasks 3 --on-error skip > tasks
         while IFS= read -r task; do sh -c \"$task\"; done < tasks
         bash scripts/macroxue.sh finish finished -q --no-check");
    for pack in ["pack1", "pack2", "finished"] {
        assert_eq!(
            dir.json(&format!("{pack}/manifest.json"))["records"],
            counts(3, 2, 1),
            "{pack}"
        );
    }
    for pack in ["joined", "arrow", "merged"] {
        assert_eq!(
            dir.json(&format!("{pack}/manifest.json"))["records"],
            counts(6, 4, 2),
            "{pack}"
        );
    }
    assert_eq!(dir.json("ndjson/manifest.json")["records"], unknown(4));
    // Of some of its games it is not known which were dropped with them.
    assert_eq!(dir.json("limited/manifest.json")["records"], unknown(1));
    let bad = "made,.,.,1\\n";
    run(&format!(
        "csv=in/sudoku; printf '{bad}' >> $csv/train.csv
         for to in arrow ndjson; do
             puzzle-encode sudoku --train $csv/train.csv --test $csv/test.csv --on-error skip -q --to $to |
                 npy-pack -q -o set-$to
         done
         npy-pack -q set-arrow set-arrow -o twice; npy-pack -q set-arrow set-ndjson -o half
         ds-cat -q set-arrow --to arrow | npy-pack -q -o again
         ds-cat -q set-arrow/train --to arrow | npy-pack -q -o train"
    ));
    let records = |set: &str| dir.json(&format!("{set}/build.json"))["records"].clone();
    assert_eq!(records("set-arrow"), counts(7, 6, 1));
    assert_eq!(records("again"), counts(7, 6, 1));
    assert_eq!(records("twice"), counts(14, 12, 2));
    for (set, written) in [("set-ndjson", 6), ("half", 12), ("train", 4)] {
        assert_eq!(records(set), unknown(written), "{set}");
    }
}
