//! Data as people have them: any file or folder of conversations, folders of other programs, Parquet through
//! a pipe, and the hints where something is of another kind. The first hour is that of a new user: from
//! the wheel to a checked root and to rows for TRL.

use std::fs::{self, File};

use arrow_array::cast::AsArray;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::json;

use super::chats::{chats, run};
use crate::common::{
    TempDir, assert_same_datasets, bash, bin_dir, copy_scripts, installed, oracle, python,
};

/// Conversations in files of two encodings.
fn place() -> TempDir {
    let dir = TempDir::new();
    copy_scripts(&dir);
    dir.write("a.jsonl", chats(0, 40));
    dir.write("b.jsonl", chats(40, 25));
    run(
        &dir,
        "set -e; mkdir in tables; for name in a b; do chat-harmony -q --turns all $name.jsonl > in/$name.ndjson
         ds-cat in/$name.ndjson -q -o tables/$name.parquet; done; cat in/* > all.ndjson",
    )
    .silent();
    dir
}

#[test]
fn any_file_or_folder_of_conversations_becomes_a_root() {
    let dir = place();
    let options = "--policy chat --span commentary=3 --valid-fraction 0.2";
    let pipe = "harmony-tok -q all.ndjson --policy chat --to arrow | \
                span-mask --span commentary=3 --to arrow | \
                mmidx-write --root piped --shard shard_00 --valid-fraction 0.2";
    run(&dir, pipe).ok();
    for input in ["in", "all.ndjson", "tables"] {
        run(&dir, &format!("bash $KD {input} root --overwrite {options}")).ok();
        assert_same_datasets(&dir.path().join("root"), &dir.path().join("piped"));
    }
    // Its files are known by their content, and nobody states a manifest.
    let manifest = dir.json("root/manifest.json");
    assert_eq!(manifest["input"]["manifest_sha256"], json!(null));
    let inputs = &dir.json("root/parts/shard_00.json")["source"]["inputs"];
    for (input, name, rows) in [(&inputs[0], "a.parquet", 40), (&inputs[1], "b.parquet", 25)] {
        assert_eq!((&input["name"], &input["rows"]), (&json!(name), &json!(rows)));
        assert_eq!(input["sha256"].as_str().map(str::len), Some(64), "{inputs}");
    }
    // Several shards, and by plan: the same sequences.
    run(&dir, &format!("bash $KD in two {options} --shards 2")).ok();
    run(&dir, &format!("bash $KD plan tables many --tasks 5 {options} > tasks.txt")).ok();
    run(&dir, "bash tasks.txt && bash $KD finish many tasks.txt --delete-parts").ok();
    assert_same_datasets(&dir.path().join("many"), &dir.path().join("piped"));
    run(&dir, "ds-diff -q two many").ok();
    run(&dir, &format!("bash $KD in two {options} --shards 2 --resume")).ok();
    // The field of the ids, and rows that are not good.
    run(&dir, "sed 's/^{\"id\"/{\"name\"/' all.ndjson > named.ndjson").silent();
    let unnamed = run(&dir, &format!("bash $KD named.ndjson named {options}"));
    let way = "harmony-tok: named.ndjson:1: the id is missing or null; try: --id-field NAME, or chat-harmony, which makes ids";
    assert!(unnamed.code() == Some(1) && unnamed.stderr.starts_with(way), "{unnamed:?}");
    run(&dir, &format!("bash $KD named.ndjson named {options} --id-field name --overwrite")).ok();
    assert_same_datasets(&dir.path().join("named"), &dir.path().join("piped"));
    run(&dir, "bash $KD nowhere out").says(2, "ds-plan: nowhere: no such file or directory");
}

#[test]
fn parquet_comes_through_a_pipe() {
    if !installed("jq") {
        return;
    }
    let dir = place();
    // (A file is named in its records.)
    let tok = "harmony-tok --policy chat | jq -c [.id,.tokens,.segments]";
    let tokens = run(&dir, &tok.replace("--policy", "tables/a.parquet --policy")).ok();
    for packed in ["cat", "gzip -c", "zstd -qc"] {
        if packed.starts_with("zstd") && !installed("zstd") {
            continue;
        }
        let piped = run(&dir, &format!("{packed} tables/a.parquet | {tok}")).ok();
        assert!(piped.stdout == tokens.stdout, "{packed}");
    }
    // It is all there, or its producer has died; a file is damaged. And there is no room for it.
    let cut = "the Parquet does not end with PAR1";
    for bytes in [4, 1000] {
        let head = format!("head -c {bytes} tables/a.parquet");
        run(&dir, &format!("{head} | harmony-tok --policy chat"))
            .fails(75, &["stdin: ", cut, "died?"]);
        run(&dir, &format!("{head} | gzip > cut.gz; harmony-tok --policy chat cut.gz"))
            .fails(1, &["cut.gz: ", cut, "truncated"]);
    }
    // With -v it is said that it is kept, and where.
    let told = run(&dir, "cat tables/a.parquet | harmony-tok --policy chat -v > /dev/null");
    let (kept, place) = ("harmony-tok: stdin: ", std::env::temp_dir());
    let place = format!("kept in {}", place.display());
    assert!(told.stderr.starts_with(kept) && told.stderr.contains(&place), "{told:?}");
    run(&dir, "cat tables/a.parquet | harmony-tok --policy chat > /dev/null").silent();
    run(&dir, "harmony-tok tables/a.parquet --policy chat -v > /dev/null").silent();
    run(&dir, "cat tables/a.parquet | TMPDIR=/nowhere harmony-tok --policy chat")
        .fails(2, &["harmony-tok: stdin: /nowhere: No such file or directory; try: TMPDIR="]);
    let left =
        run(&dir, "mkdir tmp; cat tables/a.parquet | TMPDIR=$PWD/tmp ds-cat --count; ls tmp");
    assert_eq!(left.ok().text(), "40\n");
}

#[test]
fn folders_that_save_to_disk_makes_are_read() {
    let Some(python) = python() else { return };
    let dir = place();
    oracle(&python, "shapes.py", &["saved", &dir.at("")]).ok();
    // (A cache beside the set, as `map` leaves it.)
    fs::copy(dir.at("in/a.ndjson"), dir.at("saved/cache-1.arrow")).unwrap();
    let chats = |input: &str| run(&dir, &format!("chat-harmony -q {input}")).ok().stdout;
    assert!(chats("saved") == chats("saved.jsonl"));
    run(&dir, "bash $KD saved root --chat --valid-fraction 0").ok();
    run(&dir, "chat-harmony splits").says(
        2,
        "chat-harmony: splits: has several splits (save_to_disk), but only one is for training; \
         try: splits/train",
    );
    assert!(chats("splits/train") == chats("saved.jsonl"));
    run(&dir, "ds-view saved").fails(2, &["try: chat-harmony saved | ds-view -"]);
    run(&dir, "chat-harmony -q saved | ds-view -").ok();
}

#[test]
fn hints_are_of_what_was_read() {
    let dir = TempDir::new();
    let raw =
        json!({"synth_id": "a", "query": "q", "synthetic_reasoning": "r", "synthetic_answer": "a"});
    dir.write("raw.ndjson", format!("{raw}\n"));
    let run = |script: &str| run(&dir, script);
    let told =
        "expected conversations, got raw SYNTH rows; try: synth-harmony raw.ndjson | harmony-tok -";
    run("harmony-tok raw.ndjson").says(2, &format!("harmony-tok: raw.ndjson: {told}"));
    run("echo '{\"text\": \"a\"}' | chat-harmony").fails(1, &["no chat shape", "found text"]);
    let text = run("echo '{\"id\": \"a\", \"text\": \"a\"}' | harmony-tok");
    text.fails(1, &["messages is missing or null; try: chat-harmony"]);
    // A few files of games among many others are not what a folder is for.
    fs::create_dir_all(dir.at("mixed")).unwrap();
    dir.write("mixed/x.meta.json", "{}");
    for number in 0..9 {
        dir.write(&format!("mixed/{number}.txt"), "");
    }
    let mixed = run("ds-view mixed");
    assert!(mixed.stderr.contains("without a dataset") && !mixed.stderr.contains("try: "));
    run("mkdir games && cp mixed/x.meta.json games && ds-view games").fails(2, &["try: mx-decode"]);
}

/// Chats in six shapes, folders of two other programs, a gzip: each to a checked root and to rows for TRL,
/// with nothing but what the wheel has installed.
#[test]
fn the_first_hour() {
    let Some(python) = python() else { return };
    let work = TempDir::new();
    oracle(&python, "shapes.py", &["first_hour", &work.at("")]).ok();
    let package = concat!(env!("CARGO_MANIFEST_DIR"), "/tools/package.sh");
    let (out, venv) = (work.at("out"), work.at("venv"));
    bash(&format!(
        "set -e; {package} wheel --binaries {} -o {out}; {} -m venv {venv}
         {venv}/bin/pip install -q --no-index --no-deps {out}/*.whl",
        bin_dir().display(),
        python.display()
    ))
    .ok();
    let by_hand = |line: &str| {
        let path = format!("{venv}/bin:/usr/bin:/bin");
        let home = work.path().display();
        bash(&format!("cd {home} && env -i HOME={home} TERM=dumb PATH={path} bash -c '{line}'"))
    };
    let inputs = ["messages.jsonl", "sharegpt.jsonl.gz", "prompts.jsonl", "alpaca.jsonl"];
    for input in inputs.into_iter().chain(["responses.jsonl", "columns.parquet", "duckdb", "saved"])
    {
        // As the README says.
        let name = input.split('.').next().unwrap();
        let root = format!("root-{name}");
        by_hand(&format!("gristmill-synth-kd {input} {root} --chat --valid-fraction 0")).ok();
        let checked = by_hand(&format!("ds-check {root}")).ok().text();
        assert!(checked.contains("20 sequences") && !checked.contains("error"), "{checked}");
        by_hand(&format!("seq-pack {root}/train -o rows-{name}.parquet")).ok();
        let file = File::open(work.at(&format!("rows-{name}.parquet"))).unwrap();
        let rows = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
        let batches: Vec<_> = rows.map(Result::unwrap).collect();
        let labels = |batch: &arrow_array::RecordBatch| {
            let lists = batch.column_by_name("labels").unwrap().as_list::<i32>().clone();
            let values = lists.values().as_primitive::<arrow_array::types::Int32Type>().clone();
            values.values().iter().filter(|label| **label != -100).count()
        };
        assert_eq!(batches.iter().map(arrow_array::RecordBatch::num_rows).sum::<usize>(), 20);
        assert!(batches.iter().map(labels).sum::<usize>() > 100, "{input}");
    }
    // What is forgotten is said with the way on.
    let forgotten = by_hand("gristmill-synth-kd messages.jsonl forgotten --valid-fraction 0");
    assert!(forgotten.stderr.contains("got chats; try: --chat\n"), "{forgotten:?}");
    let without = by_hand("seq-pack root-messages/train");
    assert!(without.code() == Some(2) && without.stderr.contains("--output <FILE>"), "{without:?}");
    by_hand("ds-view root-messages --limit 1").ok();
    by_hand("ds-view root-messages --check --html page.html").ok();
}
