//! What is no record in Arrow and Parquet is one bad record, as in NDJSON: it ends the run with its
//! place and reason, or is dropped, counted and kept. (Numbers and JSON: tests/promises/bounds.rs.)

use std::fs::File;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, RecordBatch, StringArray, StructArray};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{DataType, Field};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use serde_json::{Value, json};

use crate::common::{TempDir, conversation, data, python, python_code, tool, without_places};

/// Replaced by bytes that are no text.
const MARK: &str = "no-text-here";

fn patch(bytes: &mut [u8]) {
    let mut places = 0;
    for at in 0..bytes.len().saturating_sub(MARK.len()) {
        if bytes[at..].starts_with(MARK.as_bytes()) {
            bytes[at] = 0xff;
            places += 1;
        }
    }
    assert!(places > 0);
}

/// Writes the columns as Arrow and as Parquet, with and without dictionaries, and gives the files.
fn files(dir: &TempDir, columns: Vec<(&str, ArrayRef)>) -> Vec<String> {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut files = Vec::new();
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    files.push(dir.write("in.arrows", writer.into_inner().unwrap()));
    for dictionary in [true, false] {
        let path = dir.at(&format!("in-{dictionary}.parquet"));
        let properties = WriterProperties::builder()
            .set_compression(Compression::UNCOMPRESSED)
            .set_dictionary_enabled(dictionary)
            .build();
        let file = File::create(&path).unwrap();
        let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        files.push(path);
    }
    for file in &files {
        let mut bytes = std::fs::read(file).unwrap();
        patch(&mut bytes);
        std::fs::write(file, bytes).unwrap();
    }
    files
}

fn messages(number: usize) -> String {
    json!({"messages": conversation(number)["messages"]}).to_string()
}

/// Conversations 0 to 8, of which 3 and 6 are no text.
fn conversations() -> (StringArray, Vec<String>) {
    let ids = StringArray::from_iter_values((0..9).map(|number| format!("s-{number}")));
    let text = |number: usize| match number {
        3 | 6 => messages(number).replacen("Question", MARK, 1),
        _ => messages(number),
    };
    (ids, (0..9).map(text).collect())
}

#[test]
fn text_that_is_none_is_one_bad_record() {
    let dir = TempDir::new();
    let (ids, texts) = conversations();
    let plain: ArrayRef = Arc::new(StringArray::from_iter_values(&texts));
    let coded: DictionaryArray<Int32Type> = texts.iter().map(String::as_str).collect();
    let views: ArrayRef =
        Arc::new(arrow_array::StringViewArray::from_iter_values(texts.iter().map(String::as_str)));
    let large: ArrayRef = Arc::new(arrow_array::LargeStringArray::from_iter_values(&texts));
    for column in [plain, Arc::new(coded), views, large] {
        let kind = column.data_type().to_string();
        for file in
            files(&dir, vec![("synth_id", Arc::new(ids.clone())), ("messages_json", column)])
        {
            let place = format!("{file}: record 4: messages_json: not UTF-8");
            for filter in ["harmony-tok", "ds-cat"] {
                tool(filter).args(&[&file]).run().says(1, &format!("{filter}: {place}"));
            }
            let rejects = dir.at("rejects");
            let flags = ["--on-error", "skip", "--rejects", &rejects, "-q"];
            let run = tool("harmony-tok").args(&[&file]).args(&flags).run().ok();
            let there: Vec<Value> =
                run.records().iter().map(|record| record["id"].clone()).collect();
            let expected = [0, 1, 2, 4, 5, 7, 8].map(|number| format!("s-{number}"));
            assert_eq!(there, expected, "{kind} {file}");
            let kept = dir.records("rejects");
            assert_eq!(kept.len(), 2);
            assert_eq!(
                (&kept[1]["record"], &kept[1]["input"]["synth_id"]),
                (&json!(7), &json!("s-6"))
            );
            let text = kept[0]["input"]["messages_json"].as_str().unwrap();
            assert!(text.contains("\u{fffd}o-text-here"), "{text}");
        }
    }
}

/// Text within lists and structs, and in a column that nobody asks for.
#[test]
fn text_in_structs_is_looked_at_too() {
    let dir = TempDir::new();
    let ids = StringArray::from_iter_values(["a", "b", "c"]);
    let roles = StringArray::from(vec!["user", MARK, "user"]);
    let fields: Vec<(Arc<Field>, ArrayRef)> =
        vec![(Arc::new(Field::new("role", DataType::Utf8, false)), Arc::new(roles))];
    let structs = StructArray::from(fields);
    for file in files(&dir, vec![("id", Arc::new(ids)), ("who", Arc::new(structs))]) {
        let cause = format!("ds-cat: {file}: record 2: who: not UTF-8");
        tool("ds-cat").args(&[&file]).run().says(1, &cause);
        let first = tool("ds-cat").args(&[file.as_str(), "--limit", "1"]).run().ok();
        assert_eq!(first.records(), [json!({"id": "a", "who": {"role": "user"}})]);
    }
}

/// A text in place of a value is not handed on as another value.
#[test]
fn messages_that_are_no_json_are_not_handed_on() {
    let dir = TempDir::new();
    for (text, cause) in [
        ("nonsense", "messages_json: holds no JSON: expected an object at byte 0"),
        ("{\"messages\": []", "messages_json: holds no JSON: expected `,` or `}` at byte 15"),
        ("{\"messages\": []} {}", "messages_json: holds no JSON: expected the end at byte 17"),
        ("{}", "messages_json: has no messages"),
    ] {
        let line = |text: &str| json!({"id": "a", "messages_json": text}).to_string() + "\n";
        let good = line("{\"messages\": []}");
        let file = dir.write("in.ndjson", good.clone() + &line(text));
        for to in ["ndjson", "arrow"] {
            let run = tool("ds-cat").args(&[file.as_str(), "--to", to]).run();
            run.says(1, &format!("ds-cat: {file}:2: {cause}"));
        }
        let file = dir.write("good.ndjson", good);
        tool("ds-cat").args(&[file]).run().silent();
    }
}

/// What stands beside the messages, and changes how they are rendered.
const BESIDE_MESSAGES: [&str; 6] = [
    "tools",
    "functions",
    "chat_template_kwargs",
    "builtin_tools",
    "reasoning_effort",
    "model_identity",
];

/// Fields of chats that change what is trained on, with a value that says something.
const FIELDS_WITH_MEANING: [(&str, &str); 7] = [
    ("thinking", "\"Add them.\""),
    ("reasoning_content", "\"Add them.\""),
    ("reasoning", "\"Add them.\""),
    ("tool_calls", "[{\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]"),
    ("function_call", "{\"name\":\"f\",\"arguments\":\"{}\"}"),
    ("refusal", "\"No.\""),
    ("weight", "0"),
];

/// A chat whose last message has a field.
fn with_field(name: &str, value: &str) -> String {
    format!(
        "{{\"id\":\"a\",\"messages\":[{{\"role\":\"user\",\"content\":\"q\"}},\
         {{\"role\":\"assistant\",\"channel\":\"final\",\"content\":\"s\",\"{name}\":{value}}}]}}\n"
    )
}

/// What changes training is rendered or refused, in every encoding: NDJSON, Arrow, Parquet with a list of
/// structs as other programs write it.
#[test]
fn fields_with_a_meaning_are_refused() {
    let plain = tool("harmony-tok").input(with_field("note", "\"x\"")).run().silent().text();
    let Some(python) = python() else { return };
    let dir = TempDir::new();
    for (name, value) in FIELDS_WITH_MEANING {
        let chat = with_field(name, value);
        dir.write("chat.ndjson", &chat);
        dir.write("chats.json", &chat);
        let write = "import sys, json, pyarrow as pa, pyarrow.parquet as pq; \
            rows = [json.loads(line) for line in open(sys.argv[1])]; \
            pq.write_table(pa.Table.from_pylist(rows), sys.argv[2])";
        let parquet = dir.at("chat.parquet");
        python_code(&python, write, &[&dir.at("chat.ndjson"), &parquet]).ok();
        let arrow = dir.at("chat.arrows");
        let to = [&dir.at("chat.ndjson"), "--to", "arrow", "-o", &arrow, "--overwrite"];
        tool("ds-cat").args(&to).run().ok();
        for file in [dir.at("chat.ndjson"), parquet, arrow] {
            let run = tool("harmony-tok").args(&[&file]).run();
            assert_eq!(run.code(), Some(1), "{name}: {run:?}");
            let cause = format!("message 1: has \"{name}\", which harmony-tok does not render");
            let way = format!("try: chat-harmony before it, or --ignore-field {name}\n");
            assert!(run.stderr.contains(&cause) && run.stderr.ends_with(&way), "{run:?}");
            let run = tool("harmony-tok").args(&[&file, "--ignore-field", name]).run().ok();
            assert_eq!(without_places(&run.text()), without_places(&plain), "{name}");
            assert_eq!(run.stderr, format!("harmony-tok: warning: {name} was left out once\n"));
        }
        let run = tool("harmony-tok").args(&["--on-error", "skip"]).input(&chat).run().ok();
        assert!(run.stderr.contains("1 bad record dropped"), "{run:?}");
        // Null is what Arrow fills in, and what says nothing changes nothing.
        for nothing in ["null", "[ ]", "{}", "\"\"", "1", "1.0", "true"] {
            let run = tool("harmony-tok").input(with_field(name, nothing)).run().silent();
            assert_eq!(run.text(), plain, "{name}: {nothing}");
        }
    }
    // What stands beside the messages in their own text.
    for name in BESIDE_MESSAGES {
        let messages = "[{\\\"role\\\":\\\"assistant\\\",\\\"channel\\\":\\\"final\\\",\\\"content\\\":\\\"s\\\"}]";
        let record = format!(
            "{{\"id\":\"a\",\"messages_json\":\"{{\\\"messages\\\":{messages},\\\"{name}\\\":[1,2]}}\"}}\n"
        );
        let run = tool("harmony-tok").input(&record).run();
        run.exits(1, &[&format!("has \"{name}\", which")]);
    }
}

/// What a conversation, or a message of it, says that would be trained on otherwise: under every name and in
/// every encoding. What changes nothing, and columns that mean something else, pass.
#[test]
fn flags_of_conversations_are_refused() {
    let messages = json!([
        {"role": "user", "content": "q"},
        {"role": "assistant", "channel": "final", "content": "s"},
    ]);
    let plain = json!({"id": "a", "messages": messages});
    let expected = tool("harmony-tok").input(format!("{plain}\n")).run().silent().text();
    let refused = [
        ("train", json!(false)),
        ("loss", json!(false)),
        ("label", json!(false)),
        ("kto_tag", json!(false)),
        ("weight", json!(0)),
        ("weight", json!(0.0)),
        ("weight", json!("0")),
        ("weight", json!(0.5)),
        ("weight", json!(false)),
        ("loss_mask", json!([0, 1])),
        ("mask", json!(0)),
        ("loss_scale", json!(0.5)),
        ("train_detail", json!([{"train": false}])),
        ("training_detail", json!("first")),
        ("reasoning", json!({"effort": "low"})),
        ("knowledge_cutoff", json!("2020-01")),
    ];
    let passed = [
        ("train", json!(true)),
        ("train", json!("part 1")),
        ("loss", json!(1.25)),
        ("label", json!(0)),
        ("label", json!("other")),
        ("weight", json!(1)),
        ("weight", json!(1.0)),
        ("weight", json!("1")),
        ("weight", json!("heavy")),
        ("mask", json!(1)),
        ("loss_mask", json!([])),
        ("kto_tag", json!(true)),
        ("reasoning", json!("as metadata")),
        ("language", json!("en")),
        ("exercise", json!({"train": false})),
    ];
    let dir = TempDir::new();
    let cases: Vec<_> = refused.iter().chain(&passed).enumerate().collect();
    for (number, (name, value)) in &cases {
        let mut chat = plain.clone();
        chat[*name] = value.clone();
        dir.write(&format!("{number}.ndjson"), format!("{chat}\n"));
    }
    let mut kinds = vec!["ndjson"];
    if let Some(python) = python() {
        kinds.extend(["parquet", "arrows"]);
        python_code(&python, AS_TABLES, &[&dir.at("")]).ok();
    }
    for (number, (name, value)) in cases {
        for kind in &kinds {
            let file = dir.at(&format!("{number}.{kind}"));
            let run = tool("harmony-tok").args(&[&file]).run();
            let mut text = match number < refused.len() {
                true => {
                    let cause = format!("has \"{name}\", which harmony-tok does not render; try: ");
                    run.fails(1, &[&cause]);
                    let flags = [file.as_str(), "-q", "--ignore-field", *name];
                    tool("harmony-tok").args(&flags).run().ok().text()
                }
                false => run.silent().text(),
            };
            text = without_places(&text);
            assert_eq!(text, without_places(&expected), "{file}: {name} {value}");
        }
        // Beside the messages in their own text.
        let members = json!({"messages": messages, *name: value}).to_string();
        let record = json!({"id": "a", "messages_json": members});
        let run = tool("harmony-tok").input(format!("{record}\n")).run();
        assert_eq!(run.code(), Some(i32::from(number < refused.len())), "{run:?}");
    }
    // An id may be in a column of such a name.
    let chat = json!({"label": "a", "messages": messages});
    let run = tool("harmony-tok").args(&["--id-field", "label"]).input(format!("{chat}\n")).run();
    assert_eq!(run.silent().text(), expected);
    // Of messages.
    for name in ["tools", "functions", "function_calls", "reasoning_details"] {
        let chat = with_field(name, "[{\"text\":\"x\"}]");
        let cause = format!("message 1: has \"{name}\", which harmony-tok does not render");
        tool("harmony-tok").input(&chat).run().fails(1, &[&cause]);
        tool("harmony-tok").input(with_field(name, "[]")).run().silent();
    }
}

/// Makes Parquet and Arrow of the NDJSON files in a folder.
const AS_TABLES: &str = r#"
import glob, json, sys, pyarrow as pa, pyarrow.parquet as pq
for path in glob.glob(f"{sys.argv[1]}/*.ndjson"):
    table = pa.Table.from_pylist([json.loads(line) for line in open(path)])
    pq.write_table(table, path.replace("ndjson", "parquet"))
    with pa.ipc.new_stream(path.replace("ndjson", "arrows"), table.schema) as stream:
        stream.write_table(table)
"#;

/// Chats of every shape that people have: one that is rendered has nothing that is not.
#[test]
fn chats_are_rendered_whole_or_refused() {
    let Some(cases) = data("chat/cases.ndjson") else { return };
    let (mut rendered, mut refused) = (0, 0);
    for case in std::fs::read_to_string(cases).unwrap().lines() {
        let case: Value = serde_json::from_str(case).unwrap();
        let mut chat = case["input"].clone();
        chat["id"] = json!("a");
        let run = tool("harmony-tok").args(&["--policy", "chat"]).input(format!("{chat}\n")).run();
        if run.code() != Some(0) {
            assert_eq!((run.code(), run.stderr.lines().count()), (Some(1), 1), "{run:?}");
            refused += 1;
            continue;
        }
        rendered += 1;
        let nothing = |value: &Value| [json!(null), json!([]), json!("")].contains(value);
        let messages = chat["messages"].as_array().unwrap();
        let of_messages = FIELDS_WITH_MEANING.iter().map(|(name, _)| name);
        for name in of_messages {
            assert!(messages.iter().all(|message| nothing(&message[name])), "{name}: {chat}");
        }
        assert!(BESIDE_MESSAGES.iter().all(|name| nothing(&chat[name])), "{chat}");
    }
    println!("{rendered} chats rendered, {refused} refused");
    assert!(rendered >= 30 && refused >= 60);
}

/// What stands beside the messages in columns of their own, of any type.
#[test]
fn columns_beside_the_messages_are_refused() {
    let Some(python) = python() else { return };
    let dir = TempDir::new();
    let chat = |beside: &str| {
        let messages = "[{\"role\":\"assistant\",\"channel\":\"final\",\"content\":\"s\"}]";
        format!("{{\"id\":\"a\",\"messages\":{messages}{beside}}}\n")
    };
    let plain = tool("harmony-tok").input(chat("")).run().silent().text();
    let tools = r#"[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]"#;
    let as_text = Value::from(tools).to_string();
    let effort = r#"{"reasoning_effort":"low","nothing":null}"#;
    let some = [tools, &as_text, effort, "[\"browser\"]", "\"browser\"", "2", "false"];
    let none = ["null", "[]", "\"\"", "\"[]\"", "{\"a\":null}"];
    let names = BESIDE_MESSAGES;
    for name in names {
        for (number, value) in some.iter().chain(&none).enumerate() {
            let lines = chat(&format!(",\"{name}\":{value}"));
            dir.write(&format!("{name}.{number}.ndjson"), lines);
        }
    }
    python_code(&python, AS_TABLES, &[&dir.at("")]).ok();
    for name in names {
        for (number, value) in some.iter().chain(&none).enumerate() {
            for kind in ["ndjson", "parquet", "arrows"] {
                let file = dir.at(&format!("{name}.{number}.{kind}"));
                // An object of nulls is what Arrow makes of none; in NDJSON somebody wrote it.
                let is_none = none.contains(value) && (kind != "ndjson" || !value.contains(':'));
                let run = tool("harmony-tok").args(&[&file]).run();
                if is_none {
                    let text = run.silent().text();
                    assert_eq!(without_places(&text), without_places(&plain), "{file}: {value}");
                    continue;
                }
                let cause = format!("has \"{name}\", which harmony-tok does not render");
                run.fails(
                    1,
                    &[&cause, &format!("try: chat-harmony before it, or --ignore-field {name}\n")],
                );
                let run = tool("harmony-tok").args(&[&file, "--ignore-field", name]).run().ok();
                assert_eq!(without_places(&run.text()), without_places(&plain), "{file}");
                let left_out = format!("harmony-tok: warning: {name} was left out once\n");
                assert_eq!(run.stderr, left_out);
            }
        }
    }
}

/// Columns of JSON: DuckDB makes one of a content that is a string here and a list of parts there.
#[test]
fn columns_of_json_are_parsed() {
    let Some(python) = python() else { return };
    let dir = TempDir::new();
    let parts = |text: &str| json!([{"type": "text", "text": text}]);
    let chats: Vec<Value> = (0..40)
        .map(|number| {
            let ask = format!("question {number} \"quoted\"\n");
            let content = if number % 2 == 0 { json!(ask) } else { parts(&ask) };
            json!({"id": format!("c-{number}"), "messages": [
                {"role": "user", "content": content},
                {"role": "assistant", "channel": "final", "content": parts("so")},
            ]})
        })
        .collect();
    let lines: String = chats.iter().map(|chat| format!("{chat}\n")).collect();
    let lines = dir.write("chats.ndjson", lines);
    let expected = without_places(&tool("harmony-tok").args(&[&lines]).run().silent().text());
    let write = r#"
import json, sys
import duckdb, pyarrow as pa, pyarrow.parquet as pq
lines, out = sys.argv[1:]
source = f"read_json('{lines}', format='newline_delimited')"
duckdb.sql(f"COPY (SELECT * FROM {source}) TO '{out}/duckdb.parquet'")
assert "JSON" in str(duckdb.sql(f"SELECT typeof(messages) FROM {source}").limit(1).fetchall())
columns = "columns={id: 'VARCHAR', messages: 'JSON'}, format='newline_delimited'"
duckdb.sql(f"COPY (SELECT * FROM read_json('{lines}', {columns})) TO '{out}/whole.parquet'")
rows = [json.loads(line) for line in open(lines)]
ids = pa.array([row["id"] for row in rows])
texts = [json.dumps(row["messages"]) for row in rows]
for name, storage in (("utf8", pa.utf8()), ("large", pa.large_utf8()), ("view", pa.string_view())):
    column = pa.ExtensionArray.from_storage(pa.json_(storage), pa.array(texts, storage))
    table = pa.table({"id": ids, "messages": column})
    pq.write_table(table, f"{out}/{name}.parquet")
    pq.write_table(table, f"{out}/{name}-bare.parquet", store_schema=False)
    with pa.ipc.new_stream(f"{out}/{name}.arrows", table.schema) as stream:
        stream.write_table(table)
broken = pa.ExtensionArray.from_storage(pa.json_(), pa.array(["[{" for _ in rows]))
pq.write_table(pa.table({"id": ids, "messages": broken}), f"{out}/broken.parquet")
"#;
    python_code(&python, write, &[&lines, &dir.at("")]).ok();
    let names = ["utf8", "large", "view"];
    let bare = names.map(|name| format!("{name}-bare.parquet"));
    let files = ["duckdb.parquet", "whole.parquet"].map(str::to_string).into_iter();
    let others = names.into_iter().flat_map(|n| [format!("{n}.parquet"), format!("{n}.arrows")]);
    for name in files.chain(bare).chain(others) {
        let run = tool("harmony-tok").args(&[&dir.at(&name)]).run().silent();
        assert!(without_places(&run.text()) == expected, "{name}");
        let through = dir.at("through.ndjson");
        tool("ds-cat").args(&[&dir.at(&name), "-o", &through, "--overwrite"]).run().ok();
        let run = tool("harmony-tok").args(&[&through]).run().silent();
        assert!(without_places(&run.text()) == expected, "{name}, through ds-cat");
    }
    tool("harmony-tok").args(&[&dir.at("broken.parquet")]).run().fails(1, &["JSON"]);
}

/// The text of a list of parts as the text of a message: what is left where the type JSON was lost.
#[test]
fn a_text_of_parts_is_refused() {
    let chat = |content: &str| {
        json!({"id": "a", "messages": [
            {"role": "user", "content": content},
            {"role": "assistant", "channel": "final", "content": "so"},
        ]})
        .to_string()
    };
    for parts in [
        r#"[{"type":"text","text":"x"}]"#,
        "\n [ {\"text\": \"x\", \"type\": \"text\"}, {\"type\": \"text\", \"text\": \"\"} ] ",
        r#"[{"type":"developer_content","instructions":"x"}]"#,
    ] {
        let run = tool("harmony-tok").input(chat(parts) + "\n").run();
        run.fails(
            1,
            &["message 0: content: the text is a JSON array of parts", "--content-is-text"],
        );
        let run = tool("harmony-tok")
            .args(&["--content-is-text"])
            .input(chat(parts) + "\n")
            .run()
            .silent();
        let text = tool("harmony-tok").args(&["--decode"]).input(run.text()).run().ok().text();
        assert!(
            serde_json::from_str::<Value>(&text).unwrap()["text"].as_str().unwrap().contains(parts)
        );
    }
    for other in
        ["[{}]", "[]", "[1]", r#"[{"type":"other"}]"#, "[{\"type\":", "{\"type\":\"text\"}"]
    {
        tool("harmony-tok").input(chat(other) + "\n").run().silent();
    }
}

#[test]
fn a_conversation_has_messages() {
    for (policy, cause) in [("chat", "no messages"), ("synth-kd-v1", "no assistant message")] {
        let none = "{\"id\":\"a\",\"messages\":[]}\n";
        let run = tool("harmony-tok").args(&["--policy", policy]).input(none).run();
        run.exits(1, &[cause]);
    }
}

/// Two columns of one name, or two fields of one struct, are an error of the file for every filter.
#[test]
fn no_column_is_there_twice() {
    let dir = TempDir::new();
    let text = |text: &str| Arc::new(StringArray::from(vec![text])) as ArrayRef;
    let (messages, other) = (messages(0), messages(1));
    let ids: [(&str, ArrayRef); 1] = [("id", text("a"))];
    let twice = [("messages_json", text(&messages)), ("messages_json", text(&other))];
    let field = |name| Arc::new(Field::new(name, DataType::Utf8, false));
    let inner = StructArray::from(vec![(field("x"), text("1")), (field("x"), text("2"))]);
    let inner = [("messages_json", text(&messages)), ("more", Arc::new(inner) as ArrayRef)];
    for (columns, name) in [(twice, "messages_json"), (inner, "more.x")] {
        let path = dir.at("twice.parquet");
        let batch = RecordBatch::try_from_iter(ids.clone().into_iter().chain(columns)).unwrap();
        let file = File::create(&path).unwrap();
        let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let stream = File::create(dir.at("twice.arrows")).unwrap();
        let mut writer = StreamWriter::try_new(stream, &batch.schema()).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        let cause = format!("column {name} is there twice; try: rename one");
        for filter in ["ds-cat", "harmony-tok", "ds-stat"] {
            for file in ["twice.parquet", "twice.arrows"] {
                tool(filter).args(&[&dir.at(file)]).run().fails(1, &[file, &cause]);
            }
        }
    }
}
