//! Rows that other tools made for trainers: read in every encoding, checked, compared with the chats.

use std::fs;
use std::ops::Range;

use serde_json::{Value, json};

use crate::checks::{found, found_on_stdin};
use crate::common::models::{CHATML, write_model};
use crate::common::{TempDir, bash, oracle, python, tool};

/// Templates of the tests and of TRL.
const TEMPLATES: [&str; 10] = [
    "chatml",
    "chatml_tools",
    "gemma",
    "llama3",
    "mistral",
    "r1",
    "trl_cohere",
    "trl_gptoss",
    "trl_phi3",
    "trl_qwen3",
];

/// 500 good rows have no finding, and each of 15 kinds of defects is found by its check, in its row, and nothing else.
#[test]
fn each_defect_is_found_in_its_row_and_nothing_else() {
    let Some(python) = python() else { return };
    let dir = TempDir::new();
    let arguments = ["make", &dir.at("rows"), "--count", "50", "--only", &TEMPLATES.join(",")];
    oracle(&python, "foreign_rows.py", &arguments).ok();
    let cases = fs::read_to_string(dir.at("rows/cases.jsonl")).unwrap();
    let (mut wrong, mut kinds, mut good) = (Vec::new(), Vec::new(), 0);
    for case in cases.lines() {
        let case: Value = serde_json::from_str(case).unwrap();
        let at = |name: &str| dir.at(&format!("rows/{}", case[name].as_str().unwrap()));
        let found = found(&[&at("file"), "--model", &at("model")]);
        match case["check"].as_str() {
            None => {
                good += usize::from(at("file").ends_with("good.jsonl"))
                    * fs::read_to_string(at("file")).unwrap().lines().count();
                if !found.findings.is_empty() {
                    wrong.push(format!("{case}: {:?}", found.run));
                }
            }
            Some(check) => {
                kinds.push(check.to_string());
                let is_right = found.findings.len() == 1
                    && found.findings[0]["check"] == check
                    && is_at(&found.findings[0], &case["line"]);
                if !is_right {
                    wrong.push(format!("{case}: {:?}", found.run));
                }
            }
        }
    }
    kinds.sort();
    kinds.dedup();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(good, 500);
    assert!(kinds.len() >= 15, "{kinds:?}");
}

/// Whether a finding is about a line.
fn is_at(finding: &Value, line: &Value) -> bool {
    finding["record"] == *line
}

/// Rows with these columns beside `input_ids`, of 20 rows.
fn rows(dir: &TempDir, name: &str, row: impl Fn(i64) -> Value) -> Vec<Value> {
    let rows: Vec<Value> = (0..20).map(row).collect();
    dir.write(name, rows.iter().map(|row| format!("{row}\n")).collect::<String>());
    rows
}

/// The sequences of a file: tokens, and for each token whether the next one is trained on.
fn sequences(path: &str) -> Vec<(Value, Value)> {
    let records = tool("ds-cat").args(&[path, "--to", "ndjson"]).run().ok().records();
    records.into_iter().map(|mut of| (of["tokens"].take(), of["loss_mask"].take())).collect()
}

/// What a row trains on, as `ds-cat` says it.
fn expected(ids: &[i64], trained: &[bool]) -> (Value, Value) {
    let next = trained.iter().skip(1).map(|of| i64::from(*of)).chain([0]);
    (json!(ids), json!(next.collect::<Vec<_>>()))
}

#[test]
fn every_encoding_has_the_same_sequences() {
    let Some(python) = python() else { return };
    let dir = TempDir::new();
    let ids = |number: i64| -> Vec<i64> { (0..number + 3).map(|at| 7 * number + at).collect() };
    rows(&dir, "rows.jsonl", |number| {
        let ids = ids(number);
        let labels: Vec<i64> = ids.iter().map(|id| if id % 3 == 0 { *id } else { -100 }).collect();
        json!({"text": format!("row {number}"), "input_ids": ids, "labels": labels, "score": 0.5})
    });
    oracle(&python, "foreign_rows.py", &["write", &dir.at("")]).ok();
    let wanted: Vec<_> = (0..20)
        .map(|number| {
            let ids = ids(number);
            expected(&ids, &ids.iter().map(|id| id % 3 == 0).collect::<Vec<_>>())
        })
        .collect();
    bash(&format!("cd {}; gzip -k all/lines.json; zstd -q all/i64.arrow", dir.at(""))).ok();
    let mut seen = 0;
    for name in fs::read_dir(dir.at("all")).unwrap() {
        let path = name.unwrap().path();
        let path = path.to_str().unwrap();
        if path.ends_with("/splits") {
            // (A filter that makes data wants one split.)
            assert_eq!(sequences(&format!("{path}/train")), wanted, "{path}");
        } else {
            assert_eq!(sequences(path), wanted, "{path}");
            let checked = found(&[path]);
            assert_eq!(checked.summary["records"], 20, "{path}");
        }
        seen += 1;
    }
    assert_eq!(seen, 19);
    // From pipes, too.
    for name in ["i64.parquet", "i64.arrow", "i64.arrows", "array.json", "lines.json"] {
        let bytes = fs::read(dir.at(&format!("all/{name}"))).unwrap();
        let run = tool("ds-cat").args(&["--count"]).input(&bytes).run().ok();
        assert_eq!(run.text(), "20\n", "{name}");
        assert_eq!(found_on_stdin(&[], &bytes).summary["records"], 20, "{name}");
    }
    // Slices of an Arrow file, and one that is cut.
    let file = dir.at("all/i64.arrow");
    let parts = (0..3).flat_map(|part| {
        let slice = format!("{part}/3");
        tool("ds-cat").args(&[&file, "--slice", &slice]).run().ok().records()
    });
    assert_eq!(parts.count(), 20);
    let whole = fs::read(&file).unwrap();
    for length in [8, 100, whole.len() / 2, whole.len() - 11, whole.len() - 1] {
        let cut = dir.write("cut.arrow", &whole[..length]);
        tool("ds-cat").args(&[&cut]).run().fails(1, &["cut.arrow: ", "truncated"]);
        assert_eq!(found(&[&cut]).ids(), ["stream.end"], "{length}");
    }
}

/// Lists of a fixed size, as `datasets` has them of rows that are padded or packed.
#[test]
fn lists_of_a_fixed_size_are_read() {
    let Some(python) = python() else { return };
    let dir = TempDir::new();
    let ids = |number: i64| (0..16).map(|at| 20 * number + at).collect::<Vec<i64>>();
    rows(&dir, "rows.jsonl", |number| {
        let ids = ids(number);
        let labels: Vec<i64> = ids.iter().map(|id| if id % 3 == 0 { *id } else { -100 }).collect();
        json!({"text": "a", "input_ids": ids, "labels": labels})
    });
    oracle(&python, "foreign_rows.py", &["write", &dir.at("")]).ok();
    let wanted: Vec<_> = (0..20)
        .map(|number| {
            let ids = ids(number);
            expected(&ids, &ids.iter().map(|id| id % 3 == 0).collect::<Vec<_>>())
        })
        .collect();
    for kind in ["int32", "int64"] {
        for ending in ["parquet", "arrow", "arrows"] {
            let path = dir.at(&format!("all/fixed_{kind}.{ending}"));
            assert_eq!(sequences(&path), wanted, "{path}");
            assert_eq!(found(&[&path]).summary["records"], 20, "{path}");
        }
    }
}

#[test]
fn every_mask_says_what_is_trained_on() {
    let dir = TempDir::new();
    let ids = [5, 6, 7, 8, 9];
    let all = [true; 5];
    let some = [false, false, true, true, false];
    let mask = json!([0, 0, 1, 1, 0]);
    let cases = [
        (json!({}), all),
        (json!({"labels": [-100, -100, 7, 8, -100]}), some),
        (json!({"loss_mask": mask}), some),
        (json!({"assistant_masks": mask}), some),
        (json!({"completion_mask": mask}), some),
        // What two say is what both say.
        (json!({"completion_mask": [0, 1, 1, 1, 1], "assistant_masks": [0, 0, 1, 1, 0]}), some),
        (json!({"labels": [-100, 6, 7, 8, 9], "loss_mask": mask}), some),
        // Megatron-Bridge's masks are about the next token.
        (json!({"loss_mask": [0, 1, 1, 0, 0], "seq_start_id": [0]}), some),
    ];
    for (columns, trained) in cases {
        let mut row = json!({"input_ids": ids});
        row.as_object_mut().unwrap().extend(columns.as_object().unwrap().clone());
        let path = dir.write("row.jsonl", format!("{row}\n"));
        assert_eq!(sequences(&path), [expected(&ids, &trained)], "{row}");
    }
    let path = dir.write("row.jsonl", "{\"input_ids\": [1, 2]}\n");
    assert_eq!(found(&[&path]).ids(), ["foreign.unmasked"]);
}

/// Rows are divided where lengths, starts, positions or numbers of sequences say so; padding is left out.
#[test]
fn packed_rows_are_divided() {
    let dir = TempDir::new();
    let ids = [1, 2, 3, 4, 5, 6, 7, 8];
    let labels = [-100, 2, 3, -100, 5, -100, 7, 8];
    let trained = |part: &[i64]| {
        expected(part, &part.iter().map(|id| labels[*id as usize - 1] != -100).collect::<Vec<_>>())
    };
    let whole = [trained(&ids[..3]), trained(&ids[3..5]), trained(&ids[5..])];
    for columns in [
        json!({"seq_lengths": [3, 2, 3]}),
        json!({"seq_start_id": [0, 3, 5]}),
        json!({"position_ids": [0, 1, 2, 0, 1, 0, 1, 2]}),
        json!({"attention_mask": [1, 1, 1, 2, 2, 3, 3, 3]}),
        json!({"seq_lengths": [3, 2, 3], "position_ids": [0, 1, 2, 0, 1, 0, 1, 2]}),
    ] {
        let mut row = json!({"id": "a", "input_ids": ids, "labels": labels});
        row.as_object_mut().unwrap().extend(columns.as_object().unwrap().clone());
        let path = dir.write("row.jsonl", format!("{row}\n"));
        assert_eq!(sequences(&path), whole, "{row}");
    }
    let padded = json!({
        "input_ids": [0, 0, 1, 2, 3, 0], "attention_mask": [0, 0, 1, 1, 1, 0], "labels": [-100, -100, -100, 2, 3, -100],
        "position_ids": [1, 1, 0, 1, 2, 1],
    });
    let path = dir.write("row.jsonl", format!("{padded}\n"));
    assert_eq!(sequences(&path), [trained(&ids[..3])]);
    // LLaMA-Factory's padding: its positions are 0, and no mask says so.
    let padded = json!({
        "input_ids": [1, 2, 3, 4, 5, 0, 0, 0], "labels": [-100, 2, 3, -100, 5, -100, -100, -100],
        "position_ids": [0, 1, 2, 0, 1, 0, 0, 0], "attention_mask": [1, 1, 1, 1, 1, 1, 1, 1],
    });
    let path = dir.write("row.jsonl", format!("{padded}\n"));
    assert_eq!(sequences(&path), whole[..2]);
    // What does not fit is refused, with its place.
    for (columns, cause) in [
        (json!({"seq_lengths": [3, 2]}), "the seq_lengths add up to 5 of 8 tokens"),
        (
            json!({"seq_lengths": [8], "position_ids": [0, 1, 2, 0, 1, 0, 1, 2]}),
            "seq_lengths divides the row into 1 sequence, position_ids into 3",
        ),
        (
            json!({"attention_mask": [1, 1, 0, 1, 1, 1, 1, 1]}),
            "attention_mask[2] is 0 between tokens",
        ),
        (json!({"loss_mask": [1, 1, 1, 1, 1, 1, 1, 3]}), "loss_mask[7] is 3, not 0 or 1"),
        (json!({"labels": [-100, 2, 3]}), "8 tokens, 3 in labels"),
        (
            json!({"labels": [2, 3, 4, 5, 6, 7, 8, -100]}),
            "each label is the next token, not its own",
        ),
        (json!({"attention_mask": [0, 0, 0, 0, 0, 0, 0, 0]}), "all of its tokens are padding"),
        (json!({"input_ids": []}), "has no tokens in input_ids"),
        (
            json!({"labels": ids, "position_ids": [0, 1, 2, 3, 4, 5, 0, 0]}),
            "position 6 is padding and trained on",
        ),
    ] {
        let mut row = json!({"input_ids": ids});
        row.as_object_mut().unwrap().extend(columns.as_object().unwrap().clone());
        let path = dir.write("row.jsonl", format!("{row}\n"));
        tool("ds-cat").args(&[&path]).run().fails(1, &["row.jsonl:1: ", cause]);
    }
}

/// Chats of a question and an answer, one a line.
fn chats(numbers: Range<usize>) -> String {
    let chat = |number: usize| {
        let message = |role: &str, text: String| json!({"role": role, "content": text});
        let (asked, said) = (format!("What is {number}?"), format!("It is {number}."));
        json!({"messages": [message("user", asked), message("assistant", said)]})
    };
    numbers.map(|number| format!("{}\n", chat(number))).collect()
}

/// The filter of jq that makes of a masked sequence the row of another tool.
const TO_ROW: &str = ". as $r | {input_ids: .tokens, \
     labels: [range(.tokens | length) | if . > 0 and $r.loss_mask[. - 1] == 1 then $r.tokens[.] else -100 end]}";

/// The rows of seq-pack without their manifest, which any other tool would lose, are those of the chats.
#[test]
fn rows_are_compared_with_their_chats() {
    let dir = TempDir::new();
    write_model(&dir, "model", CHATML);
    dir.write("chats.jsonl", chats(0..30));
    dir.bash(&format!(
        "set -o pipefail; export GRISTMILL_TO=arrow
         chat-tok -q --model model chats.jsonl | span-mask | tee t.arrows | seq-pack -q -o r.parquet
         ds-cat r.parquet --to ndjson | jq -c '{TO_ROW}' > rows.jsonl"
    ))
    .ok();
    let compare = |more: &str| {
        dir.bash(&format!(
            "ds-diff rows.jsonl --model model <(chat-tok -q --model model chats.jsonl --to arrow | span-mask --to arrow) {more}"
        ))
    };
    compare("").ok();
    found(&[&dir.at("rows.jsonl"), "--model", &dir.at("model")]).nothing();
    // Another answer, and another mask.
    let text = dir.text("rows.jsonl");
    let mut rows: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let length = rows[3]["labels"].as_array().unwrap().len();
    rows[3]["labels"][length - 2] = json!(-100);
    rows[7]["input_ids"][3] = json!(65);
    let written: String = rows.iter().map(|row| format!("{row}\n")).collect();
    dir.write("rows.jsonl", written);
    let run = compare("--format json");
    assert_eq!(run.code(), Some(1), "{run:?}");
    let told: Value = serde_json::from_str(&run.text()).unwrap();
    assert_eq!(told["differences"], json!({"mask": 1, "tokens": 1}), "{told}");
    let shown = compare("");
    assert!(shown.text().contains("It is 3.[[<|im_end|>]]"), "{shown:?}");
    // A packer reads them, and labels stay.
    let packed = dir.bash(
        "seq-pack -q rows.jsonl --model model -o p.parquet --form trl -n 64 && ds-cat p.parquet | jq -c '[.tokens, .loss_mask]' | sort > a
         ds-cat rows.jsonl | jq -c '[.tokens, .loss_mask]' | sort > b; cmp a b",
    );
    packed.ok();
}

/// The answer of `ds-diff --format json ROWS CHATS`, and what it says on stderr.
fn compared(dir: &TempDir, arguments: &str) -> (Value, String) {
    let run = dir.bash(&format!("ds-diff --format json --date 2026-03-09 {arguments}"));
    let answer: Value = serde_json::from_slice(&run.stdout).unwrap_or_else(|_| panic!("{run:?}"));
    assert_eq!(run.code(), Some(i32::from(answer["same"] == false)), "{run:?}");
    (answer, run.stderr)
}

/// The rows of the reference, which shares no code with the filters, are those that ds-diff makes of their chats.
#[test]
fn chats_are_prepared_and_compared() {
    let Some(python) = python() else { return };
    let dir = TempDir::new();
    let arguments = ["compare", &dir.at("m"), "--count", "40", "--only", &TEMPLATES.join(",")];
    oracle(&python, "foreign_rows.py", &arguments).ok();
    let of = |name: &str| {
        format!("m/{name}/rows.jsonl m/{name}/chats.jsonl --model m/{name} --arguments object")
    };
    let mut rows = 0;
    for name in TEMPLATES {
        let (answer, _) = compared(&dir, &of(name));
        assert_eq!(answer["same"], true, "{name}: {answer}");
        assert_eq!(answer["equal"], answer["a"]["records"], "{name}: {answer}");
        rows += answer["equal"].as_u64().unwrap();
    }
    assert!(rows > 400, "{rows}");
    // From a pipe, a folder, an array, a compressed file.
    let chats = "m/trl_qwen3/chats.jsonl";
    dir.bash(&format!(
        "mkdir f; cp {chats} f/; (echo [; paste -sd, {chats}; echo ]) > array.json; gzip -c {chats} > c.jsonl.gz"
    ))
    .ok();
    let way =
        |b: &str| format!("m/trl_qwen3/rows.jsonl {b} --model m/trl_qwen3 --arguments object");
    for b in [&format!("- < {chats}"), &format!("<(cat {chats})"), "f", "array.json", "c.jsonl.gz"]
    {
        assert_eq!(compared(&dir, &way(b)).0["same"], true, "{b}");
    }
    // Calls are trained on, if the user does not say otherwise.
    let (answer, _) = compared(&dir, &format!("{} --span commentary=0", of("trl_qwen3")));
    let masks = answer["differences"]["mask"].as_u64().unwrap();
    assert_eq!(answer["differences"], json!({"mask": masks}));
    assert_eq!(answer["equal"].as_u64().unwrap() + masks, answer["a"]["records"].as_u64().unwrap());
    // Several records of a chat, and one. (Some chats cannot be one.)
    let (_, told) = compared(&dir, &of("trl_qwen3"));
    assert!(told.contains(" sequences, ") && told.contains(" with --turns all)"), "{told}");
    let (answer, told) =
        compared(&dir, &format!("{} --turns all --on-error skip --rejects r", of("trl_qwen3")));
    let (all, refused) = (dir.text(chats).lines().count(), dir.text("r").lines().count());
    assert!(told.contains(&format!("{refused} bad record")), "{told}");
    assert_eq!(answer["b"]["records"].as_u64(), Some((all - refused) as u64));
    assert!(answer["equal"].as_u64() > Some(0), "{answer}");
    let refused = dir.bash(&format!("ds-diff {} --turns all", of("trl_qwen3")));
    refused.fails(1, &["chats.jsonl:"]);
}

/// Rows in another order and with other masks are found by their tokens.
#[test]
fn rows_in_another_order_are_compared_with_their_chats() {
    let dir = TempDir::new();
    write_model(&dir, "model", CHATML);
    dir.write("chats.jsonl", chats(0..300));
    dir.bash(&format!(
        "set -o pipefail
         chat-tok -q --model model chats.jsonl | span-mask | jq -c '{TO_ROW}' > rows.jsonl"
    ))
    .ok();
    let mut rows: Vec<Value> =
        dir.text("rows.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let write = |rows: &[Value]| {
        let lines: String = rows.iter().map(|row| format!("{row}\n")).collect();
        dir.write("rows.jsonl", lines);
        compared(&dir, "rows.jsonl chats.jsonl --model model").0
    };
    rows.reverse();
    assert_eq!(write(&rows)["differences"], json!({"order": 299}));
    // All of them also train on the newline behind the stop token.
    for row in &mut rows {
        let last = row["labels"].as_array().unwrap().len() - 1;
        row["labels"][last] = row["input_ids"][last].clone();
    }
    let answer = write(&rows);
    assert_eq!(answer["differences"], json!({"mask": 300, "order": 299}));
    assert_eq!(answer["equal"], 0);
    rows.reverse();
    let answer = write(&rows);
    assert_eq!(answer["differences"], json!({"mask": 300}));
    let shown = &answer["first"][0]["shown"];
    assert!(
        shown[0].as_str().unwrap().ends_with(", 1 in all: t is 0.<|im_end|>[[\\n]]"),
        "{shown}"
    );
    assert_eq!((&shown[1], &shown[2]), (&json!("A: trained on"), &json!("B: not trained on")));
    // A row less, another token. The first difference of each kind is shown.
    rows.remove(40);
    rows[7]["input_ids"][3] = json!(65);
    let answer = write(&rows);
    let counts = json!({"mask": 299, "only in B": 1, "tokens": 1});
    assert_eq!(answer["differences"], counts, "{answer}");
    let shown = answer["first"].as_array().unwrap();
    let has = |kind: &str| shown.iter().any(|of| of["kind"] == kind);
    assert!(shown.len() == 10 && ["mask", "only in B", "tokens"].into_iter().all(has), "{answer}");
}

#[test]
fn what_cannot_be_compared_with_rows_is_refused() {
    let dir = TempDir::new();
    let model = write_model(&dir, "model", CHATML);
    let ids = json!([65, 66, 67]);
    let rows = dir.write("rows.jsonl", format!("{}\n", json!({"input_ids": ids})));
    let diff = |b: &str, more: &[&str]| tool("ds-diff").args(&[&rows, b]).args(more).run();
    let chat = "{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}, {\"role\": \"assistant\", \"content\": \"b\"}]}\n";
    let chats = dir.write("chats.jsonl", format!("{chat}{{\"messages\": 3}}\n"));
    diff(&chats, &["--model", &model]).fails(1, &["chats.jsonl:2: "]);
    let pair = ["--model", &model, "--take", "pair"];
    diff(&chats, &pair).fails(2, &["--take pair: rows are compared with sequences"]);
    diff(&chats, &[]).fails(2, &["A has token sequences and B conversations"]);
    let game = dir.write("other.jsonl", "{\"a\": 1}\n");
    diff(&game, &["--model", &model]).fails(1, &["other.jsonl:1: "]);
    // gpt-oss: other tools write no end of a document.
    let chats = dir.write("chats.jsonl", chat);
    dir.bash("chat-tok -q --model gpt-oss chats.jsonl | span-mask | jq -c '{input_ids: .tokens[:-1], loss_mask: ([0] + .loss_mask[:-2])}' > rows.jsonl").ok();
    diff(&chats, &["--model", "gpt-oss"]).ok();
    // Our own have it.
    dir.bash("chat-tok -q --model gpt-oss chats.jsonl | span-mask > t.jsonl").ok();
    tool("ds-diff").args(&[&dir.at("t.jsonl"), &chats, "--model", "gpt-oss"]).run().ok();
}

/// Terminal and page show the texts of a model's rows, and what is trained on, though no messages are known.
#[test]
fn rows_are_shown_as_text() {
    let dir = TempDir::new();
    let model = write_model(&dir, "model", CHATML);
    let chat = json!({"messages": [{"role": "user", "content": "What?"}, {"role": "assistant", "content": "<That>"}]});
    dir.write("chats.jsonl", format!("{chat}\n"));
    dir.bash("set -o pipefail
         chat-tok -q --model model chats.jsonl | span-mask | jq -c '{input_ids: .tokens, assistant_masks: ([0] + .loss_mask[:-1])}' > rows.jsonl")
    .ok();
    let rows = dir.at("rows.jsonl");
    let view = tool("ds-view").args(&[&rows, "--model", &model, "--lines", "0"]).run().ok().text();
    let lines: Vec<&str> = view.lines().collect();
    assert!(lines.contains(&" T│ <That><|im_end|>"), "{view}");
    assert!(lines.contains(&" ·│ What?<|im_end|>"), "{view}");
    let page = dir.at("page.html");
    tool("ds-view").args(&[&rows, "--model", &model, "--html", &page]).run().ok();
    let page = dir.text("page.html");
    for text in ["What?", r#""text":"\u003cThat>""#] {
        assert!(page.contains(text), "{text}");
    }
    // Without a model its ids.
    let view = tool("ds-view").args(&[&rows, "--lines", "0"]).run().ok();
    assert!(view.text().contains("<84>") && !view.text().contains("What?"), "{view:?}");
}

/// The findings are the same with one thread and several.
#[test]
fn threads_find_the_same() {
    let dir = TempDir::new();
    let model = write_model(&dir, "model", CHATML);
    let path = dir.at("rows.jsonl");
    let text: String = (0..20_000i64)
        .map(|number| {
            let digit = |at: u32| 40 + number / 80i64.pow(at % 3) % 80;
            let mut ids: Vec<i64> = (0..20).map(digit).collect();
            // (One in a hundred has an id that is none.)
            ids[7] = if number % 100 == 0 { 100_000 } else { ids[7] };
            let labels: Vec<i64> =
                ids.iter().map(|id| if id % 11 == 0 { *id } else { -100 }).collect();
            format!("{}\n", json!({"input_ids": ids, "labels": labels}))
        })
        .collect();
    dir.write("rows.jsonl", text);
    let run = |jobs: &str, path: &str| {
        let run =
            tool("ds-check").args(&[path, "--model", &model, "--format", "json", "-j", jobs]).run();
        let mut records = run.records();
        records.pop();
        records
    };
    let one = run("1", &path);
    let last = one.iter().rfind(|finding| finding["check"] == "foreign.token");
    assert_eq!(last.unwrap()["record"], 1901, "{one:?}");
    assert_eq!(one, run("4", &path));
}
