//! What stands beside the messages of conversations, in every encoding: no filter loses it, none says that
//! it is the same where it differs.

use serde_json::{Value, json};

use crate::common::{Outcome, TempDir, bash, oracle, python, tool};

fn messages() -> Value {
    json!([
        {"role": "user", "content": "What turns the stone?"},
        {"role": "assistant", "channel": "final", "content": "The wind.", "weight": null},
    ])
}

/// Conversations with fields of their own, of every kind of value.
fn records() -> Vec<Value> {
    let record = |id: &str, beside: Value| {
        let mut record = json!({"synth_id": null, "id": id, "messages": messages()});
        let members = beside.as_object().unwrap().clone();
        record.as_object_mut().unwrap().extend(members);
        record
    };
    vec![
        record(
            "a",
            json!({"source": "mill", "key": "k1", "score": 1.5, "tags": ["x", {"y": null}]}),
        ),
        record("b", json!({})),
        record("c", json!({"\"odd\"\n": "\u{e9}", "": 0, "gristmill_others": "mine", "key": "k3"})),
        record("d", json!({"source": {"deep": [1, 2.5, 12345678901234567890u64]}, "weight": 1})),
    ]
}

fn lines(records: &[Value]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

/// The records as NDJSON, and what ds-cat makes of it.
fn written(dir: &TempDir, name: &str, records: &[Value]) -> [String; 4] {
    let file = |ending: &str| dir.at(&format!("{name}.{ending}"));
    dir.write(&format!("{name}.ndjson"), lines(records));
    let made = ["arrows", "parquet"].map(file);
    for made in &made {
        tool("ds-cat").args(&[&file("ndjson"), "-o", made, "-q"]).run().silent();
    }
    let [arrows, parquet] = made;
    let again = file("again.arrows");
    tool("ds-cat").args(&[&parquet, "-o", &again, "-q"]).run().silent();
    [file("ndjson"), arrows, parquet, again]
}

#[test]
fn what_is_beside_messages_survives_every_encoding() {
    let dir = TempDir::new();
    let records = records();
    for file in written(&dir, "all", &records) {
        let run = tool("ds-cat").args(&[&file]).run().silent();
        assert_eq!(run.records(), records, "{file}");
        // What another filter reads of them is the same, too.
        let ids = |flags: &[&str]| {
            let all = ["--policy", "chat", "-q", "--on-error", "skip", &file];
            let run = tool("harmony-tok").args(&[&all[..], flags].concat()).run();
            run.records().iter().map(|record| record["id"].clone()).collect::<Vec<Value>>()
        };
        assert_eq!(ids(&[]), ["a", "b", "c", "d"], "{file}");
        assert_eq!(ids(&["--id-field", "key"]), ["k1", "k3"], "{file}");
        let run =
            tool("harmony-tok").args(&["--policy", "chat", "--id-field", "tags", &file]).run();
        run.fails(1, &["tags: an array where a string should be"]);
    }
    // In the middle of a pipe, in slices, chosen by id.
    let shell = |line: &str| bash(&format!("set -o pipefail; cd {}; {line}", dir.at("")));
    for line in [
        "ds-cat all.ndjson --to arrow | ds-cat --to arrow | ds-cat",
        "ds-cat all.parquet --to arrow | ds-cat",
        "{ ds-cat all.arrows --slice 0/2; ds-cat all.arrows --slice 1/2; }",
        // (Who writes into a pipe that nobody reads any more fails, if it has not written all before.)
        "{ cat all.arrows all.arrows || true; } | ds-cat --limit 4",
    ] {
        assert_eq!(shell(line).silent().records(), records, "{line}");
    }
    assert_eq!(shell("ds-cat all.arrows --id c").silent().records(), records[2..3]);
}

/// Chosen columns are those alone: what is left out of them is not beside the messages.
#[test]
fn columns_are_chosen_with_what_is_beside() {
    let dir = TempDir::new();
    let records = records();
    let mut expected = records.clone();
    for record in &mut expected {
        let members = record.as_object_mut().unwrap();
        ["synth_id", "messages"].iter().for_each(|name| drop(members.remove(*name)));
    }
    for file in written(&dir, "all", &records) {
        let columns = ["--columns", "gristmill_others,id", &file];
        let run = tool("ds-cat").args(&columns).run().silent();
        assert_eq!(run.records(), expected, "{file}");
        let run = tool("ds-cat").args(&columns).args(&["--id", "c"]).run().silent();
        assert_eq!(run.records(), expected[2..3], "{file}");
        let run = tool("ds-cat").args(&["--columns", "messages_json", "--id", "c", &file]).run();
        assert_eq!(run.silent().records(), [json!({"messages": messages()})], "{file}");
    }
}

#[test]
fn other_programs_read_what_is_beside_messages() {
    let Some(python) = python() else { return };
    let dir = TempDir::new();
    let records = records();
    let [_, arrows, parquet, _] = written(&dir, "all", &records);
    let script = "import json, sys, pyarrow as pa, pyarrow.parquet as pq
tables = pa.ipc.open_stream(sys.argv[1]).read_all(), pq.read_table(sys.argv[2])
for table in tables:
    for text in table['gristmill_others'].to_pylist():
        print(json.dumps(json.loads(text or '{}')))";
    dir.write("read.py", script);
    let read = oracle(&python, &dir.at("read.py"), &[&arrows, &parquet]).silent().records();
    let own = ["synth_id", "id", "messages"];
    for (read, record) in read.iter().zip(records.iter().chain(&records)) {
        let mut beside = record.as_object().unwrap().clone();
        own.iter().for_each(|name| drop(beside.remove(*name)));
        assert_eq!(read, &Value::Object(beside));
    }
    assert_eq!(read.len(), 2 * records.len());
}

/// A text that is no object is an error of its record, and so is a value that JSON does not have.
#[test]
fn what_is_no_json_beside_messages_is_refused() {
    let Some(python) = python() else { return };
    let dir = TempDir::new();
    let [_, _, parquet, _] = written(&dir, "all", &records());
    let script = "import sys, pyarrow as pa, pyarrow.parquet as pq
table = pq.read_table(sys.argv[1])
place = table.schema.get_field_index('gristmill_others')
for name, text in ('number', '5'), ('broken', '{\"a\":'), ('nan', '{\"a\":NaN}'), ('two', '{} {}'):
    texts = table.column(place).to_pylist()
    texts[2] = text
    column = pa.array(texts, pa.string())
    pq.write_table(table.set_column(place, table.schema.field(place), column), f'{sys.argv[2]}/{name}.parquet')";
    dir.write("damage.py", script);
    oracle(&python, &dir.at("damage.py"), &[&parquet, &dir.at("")]).silent();
    for name in ["number", "broken", "nan", "two"] {
        let file = dir.at(&format!("{name}.parquet"));
        let told = ["record 3", "gristmill_others: "];
        tool("ds-cat").args(&["-q", &file]).run().fails(1, &told);
    }
}

/// What changes training is refused by who renders, named by who checks, shown by who shows.
#[test]
fn what_changes_training_is_seen_in_every_encoding() {
    let dir = TempDir::new();
    for (name, value) in [
        ("weight", json!(0)),
        ("train", json!(false)),
        ("tools", json!([{"type": "function", "function": {"name": "grind"}}])),
        ("loss_mask", json!([0, 1])),
        ("reasoning_effort", json!("high")),
    ] {
        let mut records = records();
        records[1][name] = value.clone();
        for file in written(&dir, name, &records) {
            let cause = format!("has \"{name}\", which harmony-tok does not render");
            tool("harmony-tok").args(&["--policy", "chat", &file]).run().fails(1, &["(b)", &cause]);
            // What is refused for it is kept with it.
            let rejects = dir.at("rejects");
            let skip = ["--on-error", "skip", "--rejects", &rejects, "--policy", "chat", "-q"];
            tool("harmony-tok").args(&skip).args(&[&file]).run().ok();
            let rejected: Value = serde_json::from_str(&dir.text("rejects")).unwrap();
            assert_eq!(rejected["input"][name], value, "{file}");
            let found = tool("ds-check").args(&["--policy", "chat", &file]).run();
            assert_eq!(found.code(), Some(1), "{file}: {found:?}");
            let told = found.in_a_line();
            assert!(told.contains(&format!("(b): has \"{name}\"")), "{file}: {told}");
            let shown = tool("ds-view").args(&["--id", "b", &file]).run().ok().text();
            assert!(shown.contains(&format!("{name}: {value}")), "{file}: {shown}");
        }
    }
}

#[test]
fn what_is_beside_messages_is_compared() {
    let dir = TempDir::new();
    let same = written(&dir, "same", &records());
    let diff = |a: &str, b: &str| tool("ds-diff").args(&[a, b]).run();
    let code = |run: Outcome| run.code();
    for (a, b) in same.iter().flat_map(|a| same.iter().map(move |b| (a, b))) {
        assert_eq!(code(diff(a, b)), Some(0), "{a} {b}");
    }
    let changes: [fn(&mut Vec<Value>); 5] = [
        |records| records[3]["weight"] = json!(0),
        |records| records[0]["source"] = json!("Mill"),
        |records| records[0]["tags"][1]["y"] = json!(false),
        |records| records[1]["late"] = json!("new"),
        |records| drop(records[2].as_object_mut().unwrap().remove("key")),
    ];
    for (number, change) in changes.iter().enumerate() {
        let mut records = records();
        change(&mut records);
        for file in written(&dir, &format!("other{number}"), &records) {
            let run = diff(&same[2], &file);
            assert_eq!(run.code(), Some(1), "{run:?}");
            assert!(run.text().contains("other fields"), "{run:?}");
        }
    }
    // No difference: nulls, and what only some encodings have.
    let mut others = records();
    others[1]["note"] = Value::Null;
    others[1]["policy"] = json!("chat");
    others[1]["gristmill_row"] = json!(7);
    dir.write("others.ndjson", lines(&others));
    assert_eq!(code(diff(&same[0], &dir.at("others.ndjson"))), Some(0));
}

/// Columns of other programs are beside the messages, too.
#[test]
fn columns_beside_messages_are_compared_and_checked() {
    let Some(python) = python() else { return };
    let dir = TempDir::new();
    let script = "import json, sys, pyarrow as pa, pyarrow.parquet as pq
for name, beside in json.loads(sys.argv[2]).items():
    rows = [{'id': id, 'messages': json.loads(sys.argv[3]), **beside} for id in 'ab']
    table = pa.Table.from_pylist(rows)
    pq.write_table(table, f'{sys.argv[1]}/{name}.parquet')
    with pa.ipc.new_stream(f'{sys.argv[1]}/{name}.arrows', table.schema) as out:
        out.write_table(table)
    with open(f'{sys.argv[1]}/{name}.ndjson', 'w') as out:
        out.writelines(json.dumps(row) + '\\n' for row in rows)";
    let beside = json!({
        "plain": {"note": "x", "n": 7, "weight": 1},
        "note": {"note": "y", "n": 7, "weight": 1},
        "weight": {"note": "x", "n": 7, "weight": 0},
    });
    // (pyarrow has members in the order in which they come first.)
    let messages = json!([{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]);
    let (beside, messages) = (beside.to_string(), messages.to_string());
    dir.write("write.py", script);
    oracle(&python, &dir.at("write.py"), &[&dir.at(""), &beside, &messages]).silent();
    let endings = ["parquet", "arrows", "ndjson"];
    let file = |name: &str, ending: &str| dir.at(&format!("{name}.{ending}"));
    for (a, b) in endings.iter().flat_map(|a| endings.iter().map(move |b| (a, b))) {
        for (name, code) in [("plain", 0), ("note", 1), ("weight", 1)] {
            let run = tool("ds-diff").args(&[&file("plain", a), &file(name, b)]).run();
            assert_eq!(run.code(), Some(code), "{a} {b}: {run:?}");
        }
    }
    for ending in endings {
        let check = |name: &str| {
            let file = file(name, ending);
            tool("ds-check").args(&["-q", "--policy", "chat", &file]).run().code()
        };
        assert_eq!((check("plain"), check("weight")), (Some(0), Some(1)), "{ending}");
    }
}

/// Several inputs: what only a later one has beside its messages is kept, and so are chats in a pipe.
#[test]
fn of_several_inputs_nothing_beside_messages_is_lost() {
    let dir = TempDir::new();
    let records = records();
    let [ndjson, arrows, parquet, _] = written(&dir, "all", &records);
    let plain: Vec<Value> = vec![json!({"synth_id": null, "id": "p", "messages": messages()})];
    let others = written(&dir, "plain", &plain);
    let all: Vec<Value> = plain.iter().chain(&records).cloned().collect();
    for first in &others {
        for second in [&ndjson, &arrows, &parquet] {
            let run = tool("ds-cat").args(&[first, second]).run().silent();
            assert_eq!(run.records(), all, "{first} {second}");
        }
    }
    // A pipe that comes later cannot be looked at before.
    for first in &others {
        for second in [&ndjson, &arrows] {
            let run =
                tool("ds-cat").args(&[first, "-"]).input(std::fs::read(second).unwrap()).run();
            assert_eq!(run.silent().records(), all, "{first} {second}");
        }
        let run =
            tool("ds-cat").args(&[first, "-"]).input(std::fs::read(&others[0]).unwrap()).run();
        assert_eq!(run.silent().records(), [&plain[..], &plain[..]].concat(), "{first}");
    }
    // A chat is the same chat behind ds-cat.
    let chats = lines(&[json!({
        "id": "t", "train": false,
        "messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}],
        "tools": [{"type": "function",
            "function": {"name": "grind", "description": "Grinds.", "parameters": {"type": "object"}}}],
    })]);
    let direct = tool("chat-harmony").args(&["-q"]).input(chats.clone()).run().records();
    dir.write("chats.jsonl", chats);
    let line = format!("cd {}; ds-cat chats.jsonl | chat-harmony -q", dir.at(""));
    assert_eq!(bash(&line).silent().records(), direct);
    assert!(direct[0]["messages"].to_string().contains("grind"), "{direct:?}");
}
