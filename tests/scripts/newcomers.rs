//! What people who are new here do first: each wrong step has one line that says what it is and what
//! to do instead.

use std::fs;
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, LargeListArray, LargeStringArray, ListArray, RecordBatch,
    StructArray,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field};
use parquet::arrow::ArrowWriter;
use serde_json::{Value, json};

use crate::common::{TempDir, conversations, data, installed, tool};

/// Conversations, tokens, masked tokens, games and puzzles as NDJSON (`x.ndjson`) and Parquet.
fn records() -> TempDir {
    let dir = TempDir::new();
    dir.write("c.ndjson", conversations(5));
    in_place(
        &dir,
        &format!(
            "harmony-tok c.ndjson > t.ndjson; span-mask t.ndjson > m.ndjson
             mx-decode {0}/games > g.ndjson
             puzzle-encode arc {0}/arc/training {0}/arc/evaluation > p.ndjson 2> /dev/null
             for x in c t m g p; do ds-cat $x.ndjson -o $x.parquet; done",
            examples()
        ),
    )
    .silent();
    dir
}

fn examples() -> String {
    format!("{}/scripts/example", env!("CARGO_MANIFEST_DIR"))
}

fn in_place(dir: &TempDir, line: &str) -> crate::common::Outcome {
    dir.bash(&format!("set -e; {line}"))
}

#[test]
fn the_name_of_an_output_says_its_form() {
    let dir = records();
    // What a name says is written.
    for (name, magic) in [("y.parquet", "PAR1"), ("y.arrows", "\u{fffd}\u{fffd}"), ("y.jsonl", "{")]
    {
        for x in ["c", "t", "m", "g", "p"] {
            in_place(&dir, &format!("ds-cat {x}.ndjson --overwrite -o {name}")).silent();
            let head = String::from_utf8_lossy(&dir.read(name)[..8]).into_owned();
            assert!(head.starts_with(magic), "{x} {name} {head}");
            let back = in_place(&dir, &format!("ds-cat {name}")).silent();
            let plain = in_place(&dir, &format!("ds-cat {x}.ndjson")).silent();
            assert_eq!(back.text(), plain.text(), "{x} {name}");
        }
    }
    // The name of something else is refused, whatever --to says.
    for (name, parts) in [
        ("x.arrow", ["an Arrow file", "try: -o x.arrows"]),
        ("x.feather", ["an Arrow file", "try: -o x.arrows"]),
        ("x.ndjson.gz", ["compressed data", "try: -o - | gzip > x.ndjson.gz"]),
        ("x.jsonl.zst", ["compressed data", "try: -o - | zstd > x.jsonl.zst"]),
        ("x.csv", ["another format", "try: *.ndjson"]),
    ] {
        for to in ["", "--to ndjson", "--to arrow", "--to parquet"] {
            in_place(&dir, &format!("ds-cat c.ndjson {to} -o {name}")).fails(2, &parts);
        }
        in_place(&dir, &format!("synth-harmony {}/raw.ndjson -o {name}", examples()))
            .fails(2, &parts);
        assert!(!dir.path().join(name).exists());
    }
}

#[test]
fn a_dash_is_stdout_or_refused() {
    let dir = records();
    let before = dir.files();
    for line in
        ["ds-cat m.ndjson -o -", "ds-cat m.ndjson --to arrow -o - | ds-cat", "ds-cat m.ndjson"]
    {
        assert_eq!(in_place(&dir, line).silent().text(), dir.text("m.ndjson"), "{line}");
    }
    in_place(&dir, &format!("synth-harmony {}/raw.ndjson -o - > x; test -s x; rm x", examples()))
        .ok();
    let page = in_place(&dir, "ds-view t.ndjson --html -").silent();
    assert!(page.text().starts_with("<!doctype html>"));
    for line in [
        "npy-pack g.ndjson -o -",
        "mmidx-write m.ndjson --prefix -",
        "mmidx-write m.ndjson --shard a --root -",
        "harmony-tok c.ndjson --on-error skip --rejects -",
        "harmony-tok c.ndjson --progress-to -",
    ] {
        let run = in_place(&dir, line);
        run.exits(2, &["this cannot go to stdout; try: "]);
    }
    assert_eq!(dir.files(), before);
}

#[test]
fn every_filter_reads_parquet_of_its_records() {
    let dir = records();
    for line in [
        "span-mask t.X",
        "harmony-tok --decode m.X",
        "mmidx-write m.X --prefix out/p -q; ds-cat out/p",
        "npy-pack g.X -o out -q; ds-cat out",
        "npy-pack p.X -o out -q; ds-cat out",
        "harmony-tok c.X | jq -c 'del(.input)'",
    ] {
        let run = |form: &str| {
            let run = in_place(&dir, &format!("rm -rf out; {}", line.replace('X', form))).ok();
            let lines = run.records();
            assert!(!lines.is_empty(), "{run:?}");
            lines
        };
        assert_eq!(run("parquet"), run("ndjson"), "{line}");
    }
    // What the records are about comes along: masks that are aligned with tokens stay so.
    in_place(&dir, "span-mask t.parquet --align token --to arrow | ds-cat -o k.parquet").silent();
    in_place(&dir, "mmidx-write k.parquet --prefix out2/p")
        .fails(2, &["the masks are token-aligned", "try: span-mask"]);
    // Records of another type are named.
    for (filter, wanted, others) in [
        ("span-mask", "token sequences", "cgp"),
        ("harmony-tok", "conversations", "tmgp"),
        ("harmony-tok --decode", "token sequences", "cgp"),
        ("mmidx-write --prefix out/x", "token sequences", "cgp"),
        ("npy-pack -o out/x", "games of 2048", "ctm"),
    ] {
        for x in others.chars() {
            let came = match x {
                'c' => "conversations",
                'g' => "games of 2048",
                'p' => "puzzles",
                _ => "token sequences",
            };
            let cause = format!("expected {wanted}, got {came}; try: ");
            in_place(&dir, &format!("{filter} {x}.parquet")).fails(2, &[&cause]);
        }
    }
}

/// Text within the lists of other programs (polars writes large ones).
#[test]
fn parquet_of_other_programs_is_read() {
    let dir = TempDir::new();
    let roles: ArrayRef = Arc::new(LargeStringArray::from(vec!["user", "tool"]));
    let role = Arc::new(Field::new("role", DataType::LargeUtf8, true));
    let structs: ArrayRef = Arc::new(StructArray::from(vec![(role, roles.clone())]));
    let item = |of: &ArrayRef| Arc::new(Field::new("item", of.data_type().clone(), true));
    let ends = OffsetBuffer::new(vec![0i64, 2].into());
    let small_ends = OffsetBuffer::new(vec![0i32, 2].into());
    let large = LargeListArray::new(item(&structs), ends, structs.clone(), None);
    let small = ListArray::new(item(&structs), small_ends, structs.clone(), None);
    let fixed = FixedSizeListArray::new(item(&roles), 2, roles.clone(), None);
    let columns: [(&str, ArrayRef); 4] = [
        ("id", Arc::new(LargeStringArray::from(vec!["a"]))),
        ("large", Arc::new(large)),
        ("small", Arc::new(small)),
        ("fixed", Arc::new(fixed)),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let file = fs::File::create(dir.at("x.parquet")).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let run = in_place(&dir, "ds-cat x.parquet").silent();
    let roles = json!([{"role": "user"}, {"role": "tool"}]);
    let fixed = json!(["user", "tool"]);
    let record = json!({"id": "a", "large": roles, "small": roles, "fixed": fixed});
    assert_eq!(run.records(), [record]);
}

/// How data are brought into a form that is not read, with which program if it may be missing; the
/// exit code, the name of the form, the way back.
const FORMS: [((&str, &str), i32, &str, &str); 7] = [
    (("iconv -f UTF-8 -t UTF-16", ""), 1, "UTF-16 text", "iconv -f UTF-16 -t UTF-8 x"),
    (("iconv -f UTF-8 -t UTF-16LE", ""), 1, "UTF-16 text", "iconv -f UTF-16LE -t UTF-8 x"),
    (("iconv -f UTF-8 -t UTF-16BE", ""), 1, "UTF-16 text", "iconv -f UTF-16BE -t UTF-8 x"),
    (("iconv -f UTF-8 -t UTF-32", ""), 1, "UTF-32 text", "iconv -f UTF-32 -t UTF-8 x"),
    (("bzip2 -c", "bzip2"), 2, "bzip2 data", "bzip2 -dc x"),
    (("xz -c", "xz"), 2, "xz data", "xz -dc x"),
    (("lz4 -c", "lz4"), 2, "lz4 data", "lz4 -dc x"),
];

/// Filters, what they read, and where.
const READERS: [(&str, &str); 10] = [
    ("harmony-tok", "c"),
    ("harmony-tok --decode", "m"),
    ("span-mask", "t"),
    ("mmidx-write --prefix out/p", "m"),
    ("npy-pack -o out", "g"),
    ("npy-pack -o out", "p"),
    ("ds-cat", "c"),
    ("ds-stat", "g"),
    ("ds-view", "t"),
    ("synth-harmony", "raw"),
];

/// The command line of a filter that reads stdin.
fn on_stdin(filter: &str) -> String {
    match filter.split_once(' ') {
        Some((tool, arguments)) => format!("{tool} - {arguments}"),
        None => format!("{filter} -"),
    }
}

#[test]
fn other_forms_are_named_with_a_way_on() {
    let dir = records();
    dir.write("raw.ndjson", fs::read(format!("{}/raw.ndjson", examples())).unwrap());
    for ((make, program), code, name, back) in FORMS {
        if !program.is_empty() && !installed(program) {
            continue;
        }
        for (filter, input) in READERS {
            in_place(&dir, &format!("cat {input}.ndjson | {make} > x")).silent();
            let cause = format!("this is {name}; try: {back} | {}\n", on_stdin(filter));
            in_place(&dir, &format!("{filter} x")).fails(code, &[": x: ", &cause]);
            let unpacked = back.strip_suffix(" x").unwrap();
            let cause = format!("this is {name}; try: ... | {unpacked} | {}\n", on_stdin(filter));
            in_place(&dir, &format!("cat x | {filter}")).fails(code, &[": stdin: ", &cause]);
            assert!(!dir.path().join("out").exists());
        }
        // The way leads there.
        in_place(&dir, &format!("cat c.ndjson | {make} > x")).silent();
        let there = in_place(&dir, &format!("{back} | harmony-tok")).silent().records();
        assert_eq!(there.len(), 5, "{back}");
        let found = in_place(&dir, "ds-check x");
        assert_eq!(found.code(), Some(code), "{found:?}");
        let all = format!("{}{}", found.stderr, found.text());
        let words: Vec<&str> = all.split_whitespace().collect();
        assert!(words.join(" ").contains(&format!("this is {name}; try: {back}")), "{found:?}");
    }
    // A name that a shell would take apart is one word of the command.
    in_place(&dir, "iconv -f UTF-8 -t UTF-16LE c.ndjson > 'a b'; harmony-tok 'a b'").fails(
        1,
        &["a b: this is UTF-16 text", "try: iconv -f UTF-16LE -t UTF-8 'a b' | harmony-tok -"],
    );
}

#[test]
fn other_formats_are_named_with_a_way_on() {
    let dir = TempDir::new();
    for (bytes, name, way) in [
        (&b"PK\x03\x04\x14\0\0\0"[..], "a zip file", "unzip -p x | "),
        (b"7z\xbc\xaf\x27\x1c\0\x04", "a 7z file", "7z x -so x | "),
        (b"<!DOCTYPE html><html>", "an HTML page", "download the file again"),
        (b"version https://git-lfs.github.com/spec/v1\n", "a pointer of Git LFS", "git lfs pull"),
        (b"source,question,answer,rating\n", "a CSV file of puzzles", "puzzle-encode sudoku"),
    ] {
        dir.write("x", bytes);
        for (filter, _) in READERS {
            in_place(&dir, &format!("{filter} x")).fails(2, &["x: this is ", name, "try: ", way]);
        }
    }
    // Raw puzzles that are packed, too: they are read as text.
    for (pack, name, back) in
        [("bzip2", "bzip2 data", "bzip2 -dc x"), ("xz", "xz data", "xz -dc x")]
    {
        if installed(pack) {
            in_place(&dir, &format!("{pack} -c {}/sudoku/train.csv > x", examples())).silent();
            in_place(&dir, "puzzle-encode sudoku --train x").fails(1, &[name, "try: ", back]);
        }
    }
}

#[test]
fn refused_conversations_say_which_flag_takes_them() {
    let message = |message: &str| {
        format!(
            "{{\"id\":\"a\",\"messages\":[{{\"role\":\"user\",\"content\":\"q\"}}{message}]}}\n"
        )
    };
    for conversation in [
        message(",{\"role\":\"assistant\",\"content\":\"x\"}"),
        message(",{\"role\":\"assistant\",\"channel\":\"commentary\",\"content\":\"x\"}"),
        message(",{\"role\":\"tool\",\"name\":\"f\",\"content\":\"x\"}"),
        message(""),
    ] {
        tool("harmony-tok").input(&conversation).run().fails(1, &["; try: --policy chat"]);
        let chat = tool("harmony-tok").args(&["--policy", "chat"]).input(&conversation);
        assert_eq!(chat.run().silent().records().len(), 1);
    }
    let named = conversations(2).replace("\"id\":", "\"uuid\":");
    let run = |flags: &[&str]| tool("harmony-tok").args(flags).input(&named).run();
    run(&[]).says(1, "harmony-tok: stdin:1: the id is missing or null; try: --id-field NAME, or chat-harmony, which makes ids");
    run(&["--id-field", "key"])
        .says(1, "harmony-tok: stdin:1: key is missing or null; try: --id-field with another name");
    assert_eq!(run(&["--id-field", "uuid"]).silent().records().len(), 2);
}

#[test]
fn a_last_record_needs_no_newline() {
    let dir = TempDir::new();
    dir.write("x", conversations(3).trim_end());
    dir.write("cut", conversations(3).trim_end_matches(['}', '\n']));
    for filter in ["harmony-tok", "ds-cat", "ds-stat", "ds-cat --tail 3", "ds-cat --slice 0/2"] {
        in_place(&dir, &format!("{filter} x")).ok();
        if !filter.contains("--slice") {
            in_place(&dir, &format!("{filter} < x")).ok();
        }
    }
    let (file, piped) = (in_place(&dir, "ds-cat cut"), in_place(&dir, "cat cut | ds-cat"));
    file.fails(1, &["ds-cat: cut:3: the last record is cut; the file is truncated"]);
    piped.fails(
        75,
        &["ds-cat: stdin:3: the last record is cut (the program before this one died?)"],
    );
    let chat = r#"{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]}"#;
    let made = crate::common::bash(&format!("printf '%s' '{chat}' | chat-harmony")).silent();
    assert_eq!(made.records().len(), 1);
}

#[test]
fn raw_data_are_named_with_what_reads_them() {
    let dir = TempDir::new();
    in_place(&dir, &format!("cp -r {0}/games {0}/arc {0}/sudoku .", examples())).silent();
    dir.write("lines/a.jsonl", conversations(1));
    fs::create_dir(dir.at("nothing")).unwrap();
    let game = dir.files().into_iter().find(|name| name.ends_with(".meta.json")).unwrap();
    let stem = game.strip_suffix(".meta.json").unwrap();
    for (path, way) in [
        ("games", "mx-decode games | "),
        ("arc", "puzzle-encode arc arc | "),
        ("arc/training", "puzzle-encode arc arc/training | "),
        ("sudoku", "puzzle-encode sudoku --train sudoku/train.csv --test sudoku/test.csv | "),
        ("lines", "lines/*.jsonl\n"),
    ] {
        for filter in ["ds-cat", "ds-stat", "ds-view", "span-mask", "npy-pack -o out"] {
            let tail = format!("| {}\n", on_stdin(filter));
            let way = format!("; try: {way}").replace("| ", &tail);
            in_place(&dir, &format!("{filter} {path}"))
                .fails(2, &[&format!("{path}: is a directory without a dataset"), &way]);
        }
        let way = format!("; try: {way}").replace("| ", "| ds-check -\n");
        in_place(&dir, &format!("ds-check {path}")).fails(2, &[&way]);
    }
    for file in [game.clone(), format!("{stem}.jsonl.gz")] {
        for filter in ["ds-cat", "ds-check", "npy-pack -o out"] {
            in_place(&dir, &format!("{filter} {file}"))
                .fails(2, &["is a file of a raw game; try: mx-decode games | ", &on_stdin(filter)]);
        }
    }
    in_place(&dir, "ds-cat arc/training/mirror.json")
        .fails(1, &["this is a task of ARC; try: puzzle-encode arc"]);
    in_place(&dir, "ds-cat nothing").fails(2, &["without a dataset"]);
    // Such a name alone says nothing.
    dir.write("alone.meta.json", conversations(2));
    assert_eq!(in_place(&dir, "ds-cat alone.meta.json").silent().records().len(), 2);
}

#[test]
fn what_describes_a_dataset_names_the_dataset() {
    let dir = records();
    in_place(
        &dir,
        "npy-pack -q g.ndjson -o pack; npy-pack -q p.ndjson -o set
         mmidx-write m.ndjson --root root --shard a --valid-fraction 0.5; ds-manifest -q root",
    )
    .ok();
    for (file, dataset) in [
        ("set/train/dataset.json", "set/train"),
        ("set/identifiers.json", "set"),
        ("set/build.json", "set"),
        ("pack/manifest.json", "pack"),
        ("pack/valuation_types.json", "pack"),
        ("pack/metadata.db", "pack"),
        ("root/manifest.json", "root"),
        ("root/parts/a.json", "root"),
    ] {
        for filter in ["ds-cat", "ds-check", "ds-stat", "span-mask"] {
            let cause = format!("{file}: describes a dataset and holds no records; try: {dataset}");
            in_place(&dir, &format!("{filter} {file}")).says(2, &format!("{filter}: {cause}"));
        }
        in_place(&dir, &format!("ds-cat {dataset}")).silent();
    }
    in_place(&dir, "cp pack/metadata.db pack/x.db").silent();
    for (file, name) in [("pack/steps.npy", "a NumPy array"), ("pack/x.db", "an SQLite database")] {
        for filter in ["ds-cat", "ds-check"] {
            let cause = format!("{file}: this is {name}, a part of a dataset; try: pack");
            in_place(&dir, &format!("{filter} {file}")).says(2, &format!("{filter}: {cause}"));
        }
        in_place(&dir, &format!("ds-cat < {file}")).fails(2, &["try: its directory"]);
    }
    in_place(&dir, "rm pack/x.db; ds-check pack set root").ok();
    // Records may have such a name elsewhere.
    dir.write("manifest.json", dir.text("c.ndjson"));
    fs::remove_file(dir.at("c.parquet")).unwrap();
    in_place(&dir, "mkdir alone; mv manifest.json alone; ds-cat alone/manifest.json").silent();
}

#[test]
fn a_dataset_that_does_not_exist_is_named() {
    let dir = records();
    in_place(&dir, "mmidx-write m.ndjson --prefix a/p").silent();
    for inputs in ["a/p nosuch", "nosuch a/p", "nosuch"] {
        for foreign in ["", "--foreign"] {
            let line = format!("mmidx-write --concat {inputs} {foreign} --prefix b/p");
            in_place(&dir, &line).fails(2, &["nosuch", "_tokens."]);
        }
    }
    in_place(&dir, "rm a/p.part.json; mmidx-write --concat a/p --prefix b/p")
        .fails(2, &["a/p: no part manifest", "try: --foreign"]);
}

#[test]
fn a_directory_that_cannot_be_written_is_to_blame() {
    let dir = records();
    let mount = "mount --bind ro ro && mount -o remount,ro,bind ro ro";
    fs::create_dir(dir.at("ro")).unwrap();
    let inside = |namespace: &str, line: &str| {
        in_place(&dir, &format!("{namespace} bash -c '{mount} && {line}'"))
    };
    let namespaces = ["unshare --user --map-root-user --mount", "unshare --mount"];
    let works = |namespace: &&str| inside(namespace, "true").code() == Some(0);
    let Some(namespace) = namespaces.into_iter().find(works) else {
        println!("skipped: no mounts of its own here");
        return;
    };
    for line in [
        "ds-cat c.ndjson -o ro/x.ndjson",
        "ds-cat c.ndjson -o ro/x.parquet",
        "mmidx-write m.ndjson --prefix ro/p",
        "mmidx-write m.ndjson --root ro --shard a",
        "mmidx-write m.ndjson --root ro/root --shard a",
        "npy-pack g.ndjson -o ro",
        "npy-pack g.ndjson -o ro/pack",
        "npy-pack p.ndjson -o ro",
        "npy-pack p.ndjson -o ro/set",
        "ds-view m.ndjson --html ro/x.html",
        "harmony-tok c.ndjson --on-error skip --rejects ro/x",
    ] {
        let run = inside(namespace, line);
        let tool = line.split(' ').next().unwrap();
        assert!(run.stderr.starts_with(&format!("{tool}: ro")), "{run:?}");
        run.fails(75, &[": Read-only file system"]);
    }
}

#[test]
fn a_channel_that_never_comes_is_said() {
    let dir = records();
    let run = |flags: &str| in_place(&dir, &format!("span-mask t.ndjson {flags} > out")).ok();
    let line = |channel: &str| {
        format!("span-mask: warning: --span {channel}: no assistant message came in this channel\n")
    };
    assert_eq!(run("--span foo=1").stderr, line("foo"));
    assert_eq!(dir.text("out"), dir.text("m.ndjson"));
    assert_eq!(run("--span foo=1 --span final=3 --span bar=2").stderr, line("bar") + &line("foo"));
    for quiet in ["", "--span analysis=7", "--span final=0 --span analysis=2", "-q --span foo=1"] {
        assert_eq!(run(quiet).stderr, "", "{quiet}");
    }
}

/// The table in SPEC.md is what the encodings have.
#[test]
fn names_that_differ_between_the_encodings_are_documented() {
    let page =
        fs::read_to_string(format!("{}/lib/stream/stream/SPEC.md", env!("CARGO_MANIFEST_DIR")));
    let page = page.unwrap();
    let (_, table) = page.split_once("## Names that differ").unwrap();
    let rows = table.split("\n## ").next().unwrap().lines().filter(|line| line.starts_with("| `"));
    let mut documented: Vec<Vec<String>> = rows
        .map(|row| row.split('`').skip(1).step_by(2).take(3).map(str::to_string).collect())
        .collect();
    documented.sort();
    let dir = records();
    in_place(
        &dir,
        "harmony-tok --decode m.ndjson > d.ndjson; ds-cat p.ndjson --grid > grid.ndjson",
    )
    .silent();
    let mut found: Vec<Vec<String>> = Vec::new();
    for (file, name) in [
        ("c", "conversation"),
        ("t", "tokens"),
        ("m", "tokens"),
        ("d", "decoded"),
        ("g", "game"),
        ("p", "puzzle"),
    ] {
        let header = in_place(&dir, &format!("ds-cat {file}.ndjson --to arrow --limit 1")).silent();
        let mut reader =
            arrow_ipc::reader::StreamReader::try_new(header.stdout.as_slice(), None).unwrap();
        let schema = reader.schema();
        assert_eq!(reader.next().unwrap().unwrap().num_rows(), 1);
        let line = in_place(&dir, &format!("ds-cat {file}.ndjson --limit 1")).silent().text();
        let record: Value = serde_json::from_str(&line).unwrap();
        let members: Vec<&String> = record.as_object().unwrap().keys().collect();
        // (That of the other members has a section of its own.)
        let fields = schema.fields().iter().filter(|field| field.name() != "gristmill_others");
        let fields: Vec<_> = fields.collect();
        assert_eq!(members.len(), fields.len(), "{name}");
        for field in fields {
            if members.contains(&field.name()) {
                continue;
            }
            let short = field.name().strip_suffix("_json").unwrap();
            assert!(members.iter().any(|member| *member == short), "{name} {short}");
            found.push(vec![name.to_string(), short.to_string(), field.name().clone()]);
        }
    }
    found.sort();
    assert_eq!(documented, found);
}

#[test]
fn real_logs_are_named_too() {
    let Some(raw) = data("macroxue/raw_small") else { return };
    let raw = raw.to_str().unwrap();
    tool("ds-cat").args(&[raw]).run().fails(2, &[&format!("try: mx-decode {raw} | ds-cat -\n")]);
}
