//! ds-cat: any dataset as records, whole or in part, and back; and the lines that a user types.

use std::fs;

use serde_json::{Value, json};

use crate::common::{
    TempDir, assert_no_temporaries, bash, conversations, data, datasets_in, installed, oracle,
    python, python_code, tool,
};

fn ds_cat(arguments: &[&str]) -> crate::common::Outcome {
    tool("ds-cat").args(arguments).run()
}

fn shard() -> Option<String> {
    let path = data("synth_harmony/synth_harmony_shard_00.parquet")?;
    Some(path.to_str().unwrap().to_string())
}

#[test]
fn columns_slices_and_limits_of_parquet() {
    let Some(shard) = shard() else { return };
    let Some(python) = python() else { return };
    let all = oracle(&python, "streams.py", &["rows", &shard]).ok().records();
    assert_eq!(all.len(), 250);
    let some: Vec<Value> = all
        .iter()
        .map(|row| json!({"synth_id": row["synth_id"], "language": row["language"]}))
        .collect();
    let columns = ["--columns", "synth_id,language"];
    assert_eq!(ds_cat(&[&[shard.as_str()], &columns[..]].concat()).silent().records(), some);
    // The columns come in the order asked for, and no others.
    let line = ds_cat(&[&shard, "--columns", "language,synth_id", "--limit", "1"]).silent().text();
    assert!(line.starts_with("{\"language\":"), "{line}");
    for (flags, range) in [
        (&["--limit", "3"][..], 0..3),
        (&["--limit", "0"], 0..0),
        (&["--limit", "1000"], 0..250),
        (&["--slice", "0/3"], 0..83),
        (&["--slice", "1/3"], 83..166),
        (&["--slice", "2/3"], 166..250),
        (&["--slice", "1/3", "--limit", "2"], 83..85),
        (&["--slice", "7/1000"], 1..2),
        (&["--slice", "0/1000"], 0..0),
    ] {
        let rows = ds_cat(&[&[shard.as_str()], &columns[..], flags].concat()).silent().records();
        assert_eq!(rows, some[range.clone()], "{flags:?}");
        let count = ds_cat(&[&[shard.as_str(), "--count"], flags].concat()).silent().text();
        assert_eq!(count, format!("{}\n", range.len()), "{flags:?}");
    }
    ds_cat(&[&shard, "--columns", "language,nothing"])
        .fails(2, &["no column \"nothing\"; there are: messages_json, metadata_json, synth_id"]);
}

#[test]
fn to_parquet_and_back() {
    let Some(shard) = shard() else { return };
    let Some(python) = python() else { return };
    let dir = TempDir::new();
    let (copy, stream) = (dir.at("copy.parquet"), dir.at("copy.arrows"));
    ds_cat(&[&shard, "--to", "parquet", "-o", &copy]).silent();
    ds_cat(&[&shard, "--to", "arrow", "-o", &stream]).silent();
    let rows = |file: &str| oracle(&python, "streams.py", &["rows", file]).ok().text();
    assert_eq!(rows(&copy), rows(&shard));
    assert_eq!(rows(&stream), rows(&shard));
    assert_eq!(ds_cat(&[&copy]).silent().stdout, ds_cat(&[&shard]).silent().stdout);
    // Tokens travel in Parquet too.
    dir.bash(&format!(
        "set -e; harmony-tok {shard} --limit 20 | span-mask > masked.ndjson; \
         ds-cat masked.ndjson --to parquet -o masked.parquet; ds-cat masked.parquet > again.ndjson"
    ))
    .silent();
    assert_eq!(dir.read("masked.ndjson"), dir.read("again.ndjson"));
    let mut told: Vec<Value> =
        rows(&dir.at("masked.parquet")).lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    // NDJSON leaves out what is not said.
    for segment in told.iter_mut().flat_map(|row| row["segments"].as_array_mut().unwrap()) {
        assert_eq!(segment.as_object_mut().unwrap().shift_remove("train"), Some(Value::Null));
    }
    let wrote: Vec<Value> =
        dir.text("masked.ndjson").lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(told, wrote);
    ds_cat(&[&shard, "--to", "parquet", "-o", &copy])
        .fails(2, &["exists already; try: --overwrite"]);
    ds_cat(&[&shard, "--limit", "1", "--to", "parquet", "-o", &copy, "--overwrite"]).silent();
    assert_eq!(ds_cat(&[&copy, "--count"]).silent().text(), "1\n");
    ds_cat(&[&shard, "--to", "parquet"]).says(2, "ds-cat: --to parquet needs -o FILE");
    assert_no_temporaries(dir.path());
}

/// A root with two shards and two splits.
fn root() -> TempDir {
    let dir = TempDir::new();
    dir.write("0.ndjson", conversations(8));
    dir.write(
        "1.ndjson",
        conversations(20).lines().skip(8).map(|l| l.to_string() + "\n").collect::<String>(),
    );
    dir.bash(
        "set -e; for i in 0 1; do harmony-tok $i.ndjson | span-mask | \
         mmidx-write --root root --shard shard_0$i --valid-fraction 0.4; done; ds-manifest root -q",
    )
    .silent();
    dir
}

#[test]
fn roots_and_prefixes() {
    let dir = root();
    let at = |name: &str| dir.at(name);
    let prefixes: Vec<String> =
        ["train/shard_00", "train/shard_01", "valid/shard_00", "valid/shard_01"]
            .iter()
            .map(|name| at(&format!("root/{name}")))
            .filter(|prefix| fs::metadata(format!("{prefix}_tokens.idx")).is_ok())
            .collect();
    assert!(prefixes.len() >= 3, "{:?}", dir.files());
    let each: Vec<String> =
        prefixes.iter().map(|prefix| ds_cat(&[prefix]).silent().text()).collect();
    let whole = ds_cat(&[&at("root")]).silent().text();
    assert_eq!(whole, each.concat());
    assert_eq!(whole.lines().count(), 20);
    let names: Vec<&str> = prefixes.iter().map(String::as_str).collect();
    assert_eq!(ds_cat(&names).silent().text(), whole);
    for prefix in &prefixes {
        for name in ["_tokens.idx", "_tokens.bin", "_span.idx"] {
            assert_eq!(
                ds_cat(&[&format!("{prefix}{name}")]).silent().text(),
                ds_cat(&[prefix]).silent().text()
            );
        }
    }
    assert_eq!(ds_cat(&[&at("root"), "--count"]).silent().text(), "20\n");
    assert_eq!(ds_cat(&[&at("root"), "--count", "--limit", "7"]).silent().text(), "7\n");
    let lines: Vec<&str> = whole.lines().collect();
    assert_eq!(
        ds_cat(&[&at("root"), "--limit", "7"]).silent().text(),
        lines[..7].join("\n") + "\n"
    );
    for slices in [1, 3, 30] {
        let parts: String = (0..slices)
            .map(|i| ds_cat(&[&at("root"), "--slice", &format!("{i}/{slices}")]).silent().text())
            .collect();
        assert_eq!(parts, whole);
    }
    let columns =
        ds_cat(&[&at("root"), "--columns", "span_id,tokens", "--limit", "1"]).silent().text();
    assert!(columns.starts_with("{\"span_id\":[0,"), "{columns}");
    let arrow = ds_cat(&[&at("root"), "--to", "arrow"]).silent();
    assert_eq!(tool("ds-cat").input(arrow.stdout).run().silent().text(), whole);

    // The same tokens as before, though not in the same order.
    let mut made: Vec<String> = Vec::new();
    for part in ["0.ndjson", "1.ndjson"] {
        let records = tool("harmony-tok").args(&[at(part)]).run().silent().records();
        made.extend(records.iter().map(|record| record["tokens"].to_string()));
    }
    let mut read: Vec<String> =
        ds_cat(&[&at("root")]).silent().records().iter().map(|r| r["tokens"].to_string()).collect();
    made.sort();
    read.sort();
    assert_eq!(made, read);
}

#[test]
fn what_is_no_dataset_says_so() {
    let dir = root();
    let at = |name: &str| dir.at(name);
    fs::create_dir(at("empty")).unwrap();
    ds_cat(&[&at("empty")]).fails(2, &["empty: is a directory without a dataset"]);
    ds_cat(&[&at("root/train/shard_07")]).fails(2, &["shard_07: No such file or directory"]);
    ds_cat(&[&at("root"), &at("0.ndjson")]).fails(2, &["cannot be read together"]);
    let conversation = ds_cat(&[&at("0.ndjson")]).silent().records();
    assert_eq!(conversation.len(), 8);
    tool("ds-cat").input("{\"nothing\": 1}\n").run().fails(1, &["no record of a known type"]);
    let raw = r#"{"query": "q", "synthetic_reasoning": "r", "synthetic_answer": "a"}"#;
    let chat = r#"{"instruction": "i", "output": "o"}"#;
    for (line, filter) in [(raw, "synth-harmony"), (chat, "chat-harmony")] {
        let way = format!("); try: ... | {filter} | ds-cat -");
        tool("ds-cat").input(format!("{line}\n")).run().fails(1, &[&way]);
    }
    // A root whose files are not all there.
    let victim =
        datasets_in(dir.path()).into_iter().find(|name| name.ends_with("_span.bin")).unwrap();
    fs::remove_file(dir.path().join(&victim)).unwrap();
    ds_cat(&[&at("root")]).fails(1, &[&victim]);
    tool("ds-manifest").args(&[at("root")]).run().fails(1, &["_span.bin is missing"]);
}

/// The lines of the contract, as they are typed.
#[test]
fn exploring_by_hand() {
    if !installed("jq") {
        return;
    }
    let dir = root();
    let cd = format!("set -o pipefail; cd {}", dir.path().display());
    let first =
        bash(&format!("{cd}; harmony-tok 0.ndjson | head -1 | jq -c .tokens")).silent().records();
    assert!(first[0].as_array().unwrap().len() > 10);
    let pretty = bash(&format!("{cd}; ds-cat root/train/shard_00 | harmony-tok --decode | jq ."))
        .silent()
        .text();
    assert!(
        pretty.contains("\"text\": \"<|start|>system<|message|>You are a miller.<|end|>"),
        "{pretty}"
    );
    let texts =
        bash(&format!("{cd}; ds-cat root | harmony-tok --decode | jq -r '.messages[-1].text'"))
            .silent();
    let mut answers: Vec<String> =
        texts.text().lines().filter(|l| !l.is_empty()).map(str::to_string).collect();
    answers.sort_by_key(|line| {
        line.trim_matches(|c: char| !c.is_ascii_digit()).parse::<u32>().unwrap()
    });
    assert_eq!(answers, (0..20).map(|n| format!("It is {n}.")).collect::<Vec<_>>());
    let roles = bash(&format!("{cd}; ds-cat root --limit 1 | jq -c '[.segments[].role]'")).silent();
    assert_eq!(roles.text(), "[\"system\",\"user\",\"assistant\",\"assistant\"]\n");
    let spans = bash(&format!(
        "{cd}; harmony-tok 0.ndjson | span-mask | jq -c '[.tokens, .span_id] | transpose | length' | head -1"
    ));
    assert!(spans.silent().text().trim().parse::<u32>().unwrap() > 10);
}

/// What is decoded and rendered again is the same.
#[test]
fn decoding_loses_nothing() {
    let Some(shard) = shard() else { return };
    let decoded = bash(&format!("harmony-tok {shard} | harmony-tok --decode")).silent().records();
    let Some(python) = python() else { return };
    let rows = oracle(&python, "streams.py", &["rows", &shard]).ok().records();
    assert_eq!(decoded.len(), rows.len());
    for (decoded, row) in decoded.iter().zip(&rows) {
        assert_eq!(decoded["id"], row["synth_id"]);
        let messages: Value = serde_json::from_str(row["messages_json"].as_str().unwrap()).unwrap();
        let messages = messages["messages"].as_array().unwrap();
        let ours = decoded["messages"].as_array().unwrap();
        assert_eq!(ours.len(), messages.len());
        for (ours, message) in ours.iter().zip(messages) {
            assert_eq!(ours["role"], message["role"]);
            assert_eq!(ours["channel"], message.get("channel").cloned().unwrap_or(Value::Null));
            if let Some(text) = message["content"].as_str() {
                assert_eq!(ours["text"], text);
            }
        }
    }
}

/// The name of the output says its encoding; what contradicts it is refused.
#[test]
fn the_name_of_the_output_says_its_encoding() {
    let dir = TempDir::new();
    let file = dir.write("in.ndjson", conversations(5));
    let begins = |name: &str, magic: &[u8]| dir.read(name).starts_with(magic);
    for (name, magic) in
        [("a.parquet", &b"PAR1"[..]), ("a.arrows", b"\xff\xff\xff\xff"), ("a.jsonl", b"{")]
    {
        // A variable is no contradiction.
        let run = tool("ds-cat").env("GRISTMILL_TO", "arrow").args(&[&file, "-o", &dir.at(name)]);
        run.run().silent();
        assert!(begins(name, magic), "{name}");
        assert_eq!(ds_cat(&[&dir.at(name)]).silent().text(), ds_cat(&[&file]).silent().text());
    }
    let stream = tool("ds-cat").env("GRISTMILL_TO", "arrow").args(&[&file, "-o", &dir.at("x")]);
    stream.run().silent();
    assert!(begins("x", b"\xff\xff\xff\xff"));
    for (name, to) in [("b.parquet", "arrow"), ("b.arrows", "ndjson"), ("b.ndjson", "parquet")] {
        let path = dir.at(name);
        ds_cat(&[&file, "-o", &path, "--to", to]).fails(2, &[&path, "--to says", to]);
        assert!(!dir.path().join(name).exists());
    }
    ds_cat(&[&file, "-o", &dir.at("b.parquet"), "--to", "parquet"]).silent();
}

#[test]
fn a_dash_is_stdout() {
    let dir = TempDir::new();
    let file = dir.write("in.ndjson", conversations(5));
    assert_eq!(ds_cat(&[&file, "-o", "-"]).silent().text(), ds_cat(&[&file]).silent().text());
    assert!(!std::path::Path::new("-").exists());
    ds_cat(&[&file, "-o", "-", "--to", "parquet"]).fails(2, &["--to parquet needs -o FILE"]);
    // A failure is told to the next filter there too.
    dir.write("bad.ndjson", conversations(5) + "{}x\n");
    let line = "ds-cat bad.ndjson --to arrow -o - | ds-cat --to arrow > /dev/null";
    let run = dir.bash(&format!("{line}; echo ${{PIPESTATUS[@]}}"));
    assert_eq!((run.text().trim(), run.stderr.lines().count()), ("1 1", 1), "{run:?}");
}

/// What only one of several files has, a column or a member of a struct, is null in the others: in any order, in
/// slices too, and for what reads the result.
#[test]
fn columns_of_all_files_are_kept() {
    let Some(python) = python() else { return };
    let dir = TempDir::new();
    let script = "import pyarrow as pa, pyarrow.parquet as pq, os, sys
os.chdir(sys.argv[1])
def write(name, id, messages, **more):
    columns = {'id': [id], 'messages': [messages], **{k: [v] for k, v in more.items()}}
    pq.write_table(pa.table(columns), name)
user = {'role': 'user', 'content': 'Hi'}
write('a.parquet', 'a', [user, {'role': 'assistant', 'content': 'Hello'}])
write('b.parquet', 'b', [user, {'role': 'assistant', 'content': 'hm', 'channel': 'analysis'},
    {'role': 'assistant', 'content': 'Hello', 'channel': 'final'}], note={'by': {'who': 'me'}})";
    python_code(&python, script, &[dir.path().to_str().unwrap()]).ok();
    let [a, b] = ["a.parquet", "b.parquet"].map(|name| dir.at(name));
    for inputs in [[&a, &b], [&b, &a]] {
        let records = tool("ds-cat").args(&inputs).run().silent().records();
        let of = |id: &str| records.iter().find(|record| record["id"] == id).unwrap();
        assert_eq!(of("b")["note"], json!({"by": {"who": "me"}}));
        assert_eq!(
            (&of("a")["note"], &of("b")["messages"][1]["channel"]),
            (&Value::Null, &json!("analysis"))
        );
        let joined = dir.at("joined.parquet");
        tool("ds-cat").args(&inputs).args(&["-q", "--overwrite", "-o", &joined]).run().ok();
        assert_eq!(tool("ds-cat").args(&[&joined]).run().silent().records(), records);
        // As each file by itself.
        let channels = |inputs: &[&String]| {
            let run =
                tool("harmony-tok").args(&["--policy", "chat"]).args(inputs).run().ok().records();
            run.iter().map(|record| record["segments"].clone()).collect::<Vec<_>>()
        };
        assert_eq!(channels(&[&joined]), channels(&inputs));
        for (slice, id) in [("0/2", 0), ("1/2", 1)] {
            let part =
                tool("ds-cat").args(&inputs).args(&["--slice", slice]).run().silent().records();
            assert_eq!(part, records[id..=id], "{slice}");
        }
    }
    // A stream whose columns are known from the first has no room for others.
    tool("ds-cat").args(&[&a, "-q", "-o", &dir.at("a.arrows")]).run().ok();
    tool("ds-cat").args(&[&dir.at("a.arrows"), &b]).run().fails(
        1,
        &["b.parquet: column \"messages.channel\" is not in the first input: it would be lost"],
    );
}

/// What several streams or files of rows state differently is not known of all.
#[test]
fn what_inputs_state_differently_is_null() {
    let dir = TempDir::new();
    let lines = dir.write("c.ndjson", conversations(4));
    for (name, flags) in [("a", ""), ("b", "--span final=1")] {
        dir.bash(&format!("set -e; export GRISTMILL_TO=arrow; harmony-tok {lines} --policy chat | span-mask {flags} > {name}.arrows
             mmidx-write -q --prefix {name} < {name}.arrows
             seq-pack -q {name} -o {name}.parquet --columns id; seq-pack -q {name} -o {name}2.parquet --form trl -n 4096"))
        .ok();
    }
    let spans = |inputs: &[&str]| {
        let paths = inputs.iter().map(|name| dir.at(name)).collect::<Vec<_>>();
        let records = tool("ds-cat").args(&paths).run().silent().records();
        let of = |record: &Value| {
            let ids = record["span_id"].as_array().unwrap().iter();
            ids.filter_map(Value::as_u64).max().unwrap()
        };
        records.iter().map(of).collect::<Vec<_>>()
    };
    let own = (spans(&["a.arrows"]), spans(&["b.arrows"]));
    assert!(own.0.contains(&2) && own.1.iter().all(|id| *id == 1), "{own:?}");
    for ending in [".arrows", ".parquet"] {
        let inputs = [format!("a{ending}"), format!("b{ending}")];
        let both = spans(&[&inputs[0], &inputs[1]]);
        assert_eq!(both, [own.0.as_slice(), own.1.as_slice()].concat(), "{ending}");
        // Neither accuses what the other does.
        let [a, b] = inputs.map(|name| dir.at(&name));
        dir.bash(&format!("set -eo pipefail; ds-cat {a} {b} --to arrow | mmidx-write -q --overwrite --prefix c{ending}"))
        .ok();
        let part: Value = serde_json::from_str(&dir.text(&format!("c{ending}.part.json"))).unwrap();
        assert_eq!(part["source"]["spans"], Value::Null, "{ending}");
        assert_eq!(part["source"]["policy"], "chat", "{ending}");
    }
    // Rows of several lengths have no share of one of them.
    let rows = ["a2.parquet", "b.parquet"].map(|name| dir.at(name));
    let told = tool("ds-stat").args(&rows).run().text();
    assert!(told.contains("rows for trainers") && !told.contains("positions used"), "{told}");
}
