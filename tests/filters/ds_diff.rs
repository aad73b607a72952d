//! ds-diff: equal datasets are equal in every encoding; each change is said as what it is.

use serde_json::{Value, json};

use crate::common::{Edit, TempDir, bash, conversations, data, tool};

fn diff(dir: &TempDir, a: &str, b: &str, flags: &[&str]) -> (Option<i32>, Value) {
    let run = tool("ds-diff").args(&["--format", "json", &dir.at(a), &dir.at(b)]).args(flags).run();
    let answer = serde_json::from_slice(&run.stdout).unwrap_or_else(|_| panic!("{run:?}"));
    assert_eq!(run.stderr.lines().count(), usize::from(run.code() != Some(0)), "{run:?}");
    (run.code(), answer)
}

#[track_caller]
fn differ(dir: &TempDir, a: &str, b: &str, counts: Value) -> Value {
    let (code, answer) = diff(dir, a, b, &[]);
    let same = counts.as_object().unwrap().is_empty();
    assert_eq!(
        (code, &answer["differences"]),
        (Some(i32::from(!same)), &counts),
        "{a} {b} {answer}"
    );
    assert_eq!(answer["same"], same);
    answer
}

/// Masked tokens of 300 conversations, with ids and without.
fn streams() -> (TempDir, Vec<String>) {
    let dir = TempDir::new();
    dir.write("c", conversations(300));
    dir.bash(
        "set -eo pipefail; harmony-tok c | span-mask > ids
         jq -c '.id = null' ids > none || sed 's/\"id\":\"[^\"]*\"/\"id\":null/' ids > none",
    )
    .ok();
    let lines = dir.text("ids").lines().map(str::to_string).collect();
    (dir, lines)
}

fn join(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn each_change_is_said_as_what_it_is() {
    let (dir, with_ids) = streams();
    let without: Vec<String> = dir.text("none").lines().map(str::to_string).collect();
    for (name, lines) in [("ids", with_ids), ("none", without)] {
        let write = |change: &dyn Fn(&mut Vec<String>)| {
            let mut changed = lines.clone();
            change(&mut changed);
            dir.write("b", join(&changed));
        };
        let edit = |field: &str, at: usize, value: i64| {
            let (field, lines) = (field.to_string(), &lines);
            move |changed: &mut Vec<String>| {
                let mut record: Value = serde_json::from_str(&lines[137]).unwrap();
                record[&field][at] = value.into();
                changed[137] = record.to_string();
            }
        };
        let check = |counts: Value| differ(&dir, name, "b", counts);
        write(&|_| ());
        check(json!({}));
        for at in [0, 150, 299] {
            write(&|changed| drop(changed.remove(at)));
            let answer = check(json!({"only in A": 1}));
            assert_eq!(answer["first"][0]["a"], at);
            let (_, answer) = diff(&dir, "b", name, &[]);
            assert_eq!(answer["differences"], json!({"only in B": 1}));
            assert_eq!(answer["first"][0]["b"], at);
        }
        write(&edit("tokens", 5, 17));
        let answer = check(json!({"tokens": 1}));
        let first = &answer["first"][0];
        assert_eq!((&first["a"], &first["b"]), (&json!(137), &json!(137)));
        assert!(first["shown"][0].as_str().unwrap().starts_with("at token 5, of "), "{first}");
        let bracket = first["shown"][1].as_str().unwrap().find("[[");
        assert!(bracket.is_some_and(|at| at < 40), "{first}");
        assert_eq!(first["id"].is_string(), name == "ids");
        write(&edit("loss_mask", 3, 1));
        check(json!({"mask": 1}));
        write(&edit("span_id", 3, 9));
        check(json!({"span": 1}));
        // Neighbours, and records far from each other.
        for (x, y) in [(150, 151), (0, 1), (20, 250), (298, 299)] {
            write(&|changed| changed.swap(x, y));
            let answer = diff(&dir, name, "b", &[]).1;
            assert_eq!(answer["swapped_pairs"], 1, "{x} {y}: {answer}");
            let moved = if y == x + 1 { 1 } else { 2 };
            assert_eq!(answer["differences"], json!({"order": moved}), "{x} {y}");
        }
        write(&|changed| changed.rotate_left(1));
        check(json!({"order": 1}));
        // Many of them at once.
        write(&|changed| {
            edit("tokens", 0, 3)(changed);
            changed.remove(250);
            changed.remove(10);
            changed.insert(77, lines[5].replace("id-5", "id-new"));
        });
        check(json!({"only in A": 2, "only in B": 1, "tokens": 1}));
        write(&|changed| changed.drain(40..200).for_each(drop));
        check(json!({"only in A": 160}));
        write(&|changed| changed.clear());
        bash(&format!("ds-cat --allow-empty {0} --to arrow > {0}.arrows", dir.at("b"))).ok();
        let all = tool("ds-diff").args(&[dir.at(name), dir.at("b.arrows")]).run();
        assert_ne!(all.code(), Some(0), "{all:?}");
    }
}

/// What segments say beyond the tokens is compared where both sides say it.
#[test]
fn segments_are_compared_where_both_state_them() {
    let (dir, with_ids) = streams();
    let without: Vec<String> = dir.text("none").lines().map(str::to_string).collect();
    for (name, lines) in [("ids", with_ids), ("none", without)] {
        let write = |change: Edit| {
            let mut changed = lines.clone();
            let mut record: Value = serde_json::from_str(&lines[137]).unwrap();
            change(&mut record["segments"]);
            changed[137] = record.to_string();
            dir.write("b", join(&changed));
        };
        let changes: [Edit; 5] = [
            &|segments| segments[1]["train"] = json!(false),
            &|segments| segments[1]["channel"] = json!("commentary"),
            &|segments| segments[0]["role"] = json!("tool"),
            &|segments| segments[0]["start"] = json!(1),
            &|segments| drop(segments.as_array_mut().unwrap().pop()),
        ];
        for change in changes {
            write(change);
            let answer = differ(&dir, name, "b", json!({"segments": 1}));
            let first = &answer["first"][0];
            assert_eq!((&first["a"], &first["b"]), (&json!(137), &json!(137)));
            assert!(first["shown"][0].as_str().unwrap().starts_with("at message "), "{first}");
        }
        write(&|segments| *segments = Value::Null);
        differ(&dir, name, "b", json!({}));
        differ(&dir, "b", name, json!({}));
        // Beside another difference, where records are found by what they hold.
        let mut changed: Vec<String> = dir.text("b").lines().map(str::to_string).collect();
        changed.remove(20);
        dir.write("b", join(&changed));
        differ(&dir, name, "b", json!({"only in A": 1}));
    }
    // A dataset on disk has no segments of its own.
    let messages = json!([
        {"role": "user", "content": "a"},
        {"role": "assistant", "weight": 0, "tool_calls": [{"name": "f", "arguments": "{}"}]},
        {"role": "tool", "content": "x"},
        {"role": "assistant", "weight": 0, "content": "b"},
        {"role": "user", "content": "c"},
        {"role": "assistant", "content": "d"},
    ]);
    dir.write("chat", json!({"id": "x", "messages": messages}).to_string() + "\n");
    dir.bash(
        "set -eo pipefail; export GRISTMILL_TO=arrow
         chat-harmony chat | harmony-tok | span-mask > weighted
         mmidx-write weighted --root weighted.root --shard shard_00",
    )
    .ok();
    differ(&dir, "weighted", "weighted.root", json!({}));
}

/// Spaces between the values of JSON and escapes in its texts are how it is written, not what it says.
#[test]
fn json_is_compared_by_what_it_says() {
    let dir = TempDir::new();
    let record = |messages: &str| format!("{{\"id\":\"a\",\"messages\":{messages}}}\n");
    dir.write("one", record(r#"[{"role":"user","content":"caf\u00e9 \"x\" 1.50"}]"#));
    dir.write(
        "spaced",
        record("[ { \"role\" :\t\"user\", \"content\": \"caf\u{e9} \\\"x\\\" 1.50\"} ]"),
    );
    for other in [
        r#"[{"role":"user","content":"café  \"x\" 1.50"}]"#,
        r#"[{"content":"café \"x\" 1.50","role":"user"}]"#,
        r#"[{"role":"user","content":"café \"x\" 1.5"}]"#,
    ] {
        dir.write("other", record(other));
        differ(&dir, "one", "other", json!({"messages": 1}));
    }
    let answer = differ(&dir, "one", "spaced", json!({}));
    assert_eq!(answer["rewritten"], true);
    assert_eq!(differ(&dir, "one", "one", json!({}))["rewritten"], false);
    let said = tool("ds-diff").args(&[dir.at("one"), dir.at("spaced")]).run().silent().text();
    assert!(said.contains("the text of JSON differs in spaces or escapes, which is no"), "{said}");
    assert!(said.contains("one: 1 conversation, NDJSON"), "{said}");
    let (code, answer) = diff(&dir, "one", "spaced", &["--strict"]);
    assert_eq!((code, &answer["differences"]), (Some(1), &json!({"messages": 1})));
    // Where records are found by what they hold, too.
    let records = |name: &str, order: [usize; 3]| {
        let text = dir.text(name);
        order.map(|number| text.replace("\"id\":\"a\"", &format!("\"id\":\"{number}\""))).concat()
    };
    dir.write("a", records("one", [0, 1, 2]));
    dir.write("b", records("spaced", [1, 2, 0]));
    differ(&dir, "a", "b", json!({"order": 1}));
    let tokens = tool("harmony-tok").args(&["--policy", "chat", &dir.at("one")]).run().ok().stdout;
    dir.write("tokens", tokens);
    let said = tool("ds-diff").args(&[dir.at("tokens"), dir.at("tokens")]).run().silent().text();
    assert!(said.contains("tokens: 1 token sequence, NDJSON"), "{said}");
}

#[test]
fn a_dropped_shard_is_said() {
    let dir = TempDir::new();
    for part in 0..4 {
        let lines: Vec<String> = conversations(400).lines().map(str::to_string).collect();
        dir.write(&format!("{part}.ndjson"), join(&lines[part * 100..part * 100 + 100]));
    }
    dir.bash(
        "set -eo pipefail; export GRISTMILL_TO=arrow
         for i in 0 1 2 3; do harmony-tok $i.ndjson | span-mask > m
             mmidx-write m --root whole --shard shard_0$i
             mmidx-write m --root bare --shard shard_0$i --no-ids; done
         for root in whole bare; do cp -r $root $root.less
             find $root.less -name 'shard_01*' -delete; done",
    )
    .ok();
    for root in ["whole", "bare"] {
        let less = format!("{root}.less");
        let answer = differ(&dir, root, &less, json!({"only in A": 100}));
        assert_eq!(answer["by"], if root == "whole" { "id" } else { "content" });
        differ(&dir, &less, root, json!({"only in B": 100}));
    }
    differ(&dir, "whole", "bare", json!({}));
}

/// What differs in the encoding only is said, and is a difference only where it is asked for.
#[test]
fn encodings_are_no_difference() {
    let (dir, _) = streams();
    dir.bash(
        "set -eo pipefail; ds-cat ids -o ids.arrows; ds-cat ids -o ids.parquet
         jq -c '.tokens |= map(. % 60000)' ids > small
         mmidx-write --no-check --tokens-only small --prefix i32
         mmidx-write --tokens-only small --prefix u16 --dtype uint16
         puzzle-encode domino --num-games 7 --seed 5 | npy-pack -o set
         puzzle-encode domino --num-games 8 --seed 5 | npy-pack -o more",
    )
    .ok();
    for (a, b) in [("ids", "ids.arrows"), ("ids.arrows", "ids.parquet"), ("i32", "u16")] {
        let answer = differ(&dir, a, b, json!({}));
        assert_ne!(answer["a"]["encoding"], answer["b"]["encoding"]);
        let (code, answer) = diff(&dir, a, b, &["--strict"]);
        assert_eq!((code, &answer["same"]), (Some(1), &json!(false)));
        let text = tool("ds-diff").args(&[dir.at(a), dir.at(b)]).run().silent().text();
        assert!(text.contains("the encoding differs, which is no difference"), "{text}");
    }
    assert_eq!(diff(&dir, "ids", "ids", &["--strict"]).0, Some(0));
    // A game more is its examples more, in both splits.
    let (code, answer) = diff(&dir, "set", "more", &[]);
    let counts = answer["differences"].as_object().unwrap();
    assert_eq!(code, Some(1));
    assert_eq!(counts.keys().collect::<Vec<_>>(), ["only in B"], "{answer}");
    differ(&dir, "set", "set", json!({}));
    let Some(python) = crate::common::python() else { return };
    // The files are others than those that build.json names.
    let script = "import sys, shutil, glob, json, numpy as np\nshutil.copytree(sys.argv[1], sys.argv[2])\n\
        path = sys.argv[2] + '/build.json'\nbuild = json.load(open(path)) | {'files': []}\n\
        json.dump(build, open(path, 'w'))\n\
        for f in glob.glob(sys.argv[2] + '/*/*puts.npy') + glob.glob(sys.argv[2] + '/*/*labels.npy'):\n    \
        np.save(f, np.load(f).astype('u1'))";
    let path = dir.write("narrow.py", script);
    bash(&format!("{} {path} {} {}", python.display(), dir.at("set"), dir.at("narrow"))).ok();
    let answer = differ(&dir, "set", "narrow", json!({}));
    assert_ne!(answer["a"]["encoding"], answer["b"]["encoding"], "{answer}");
    let label = "import sys, numpy as np\nf = sys.argv[1] + '/train/all__labels.npy'\n\
        a = np.load(f); a[2, 7] = 5 if a[2, 7] != 5 else 4; np.save(f, a)";
    let path = dir.write("label.py", label);
    bash(&format!("{} {path} {}", python.display(), dir.at("narrow"))).ok();
    let answer = differ(&dir, "set", "narrow", json!({"labels": 1}));
    assert!(answer["first"][0]["shown"][0].as_str().unwrap().starts_with("at cell 7"), "{answer}");
}

#[test]
fn packs_are_compared_by_their_games() {
    let Some(raw) = data("macroxue/raw_small") else { return };
    let dir = TempDir::new();
    dir.bash(&format!("set -eo pipefail; mx-decode {} > games; npy-pack games -o pack
         npy-pack games --layout macroxue-packed -o packed; npy-pack games --shard-rows 50 -o sharded
         sed 2d games | npy-pack -o less; ds-cat pack --to arrow > stream", raw.display()))
    .ok();
    for (a, b) in [("pack", "packed"), ("pack", "sharded"), ("pack", "stream")] {
        differ(&dir, a, b, json!({}));
    }
    assert_eq!(diff(&dir, "pack", "packed", &["--strict"]).0, Some(1));
    differ(&dir, "pack", "less", json!({"only in A": 1}));
    // A pack does not have the value of the move, which the games have.
    let (_, answer) = diff(&dir, "pack", "games", &[]);
    let counts = answer["differences"].as_object().unwrap();
    assert_eq!(counts.keys().collect::<Vec<_>>(), ["steps"], "{answer}");
    let mut games = tool("ds-cat").args(&[dir.at("pack")]).run().silent().records();
    games[1]["steps"][3]["move_dir"] =
        json!((games[1]["steps"][3]["move_dir"].as_u64().unwrap() + 1) % 4);
    dir.write("changed.ndjson", join(&games.iter().map(Value::to_string).collect::<Vec<_>>()));
    let answer = differ(&dir, "pack", "changed.ndjson", json!({"steps": 1}));
    assert!(answer["first"][0]["shown"][0].as_str().unwrap().starts_with("at step 3"), "{answer}");
}

#[test]
fn exit_codes_and_what_is_printed() {
    let (dir, lines) = streams();
    dir.write("b", join(&lines[1..]));
    let run = |arguments: &[&str]| tool("ds-diff").in_directory(dir.path()).args(arguments).run();
    let quiet = run(&["-q", "ids", "b"]).fails(1, &["ds-diff: the two differ"]);
    assert!(quiet.stdout.is_empty());
    assert!(run(&["-q", "ids", "ids"]).silent().stdout.is_empty());
    let text = run(&["ids", "ids"]).silent().text();
    assert!(text.contains("A: ids: 300 token sequences, NDJSON") && text.contains("are the same"));
    let text = run(&["ids", "b"]).text();
    assert!(
        text.contains("only in A                1") && text.contains("record 0 of A (id-0)"),
        "{text}"
    );
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    run(&["ids", "c"]).fails(2, &["A has token sequences and B conversations"]);
    run(&["ids", "nothing"]).fails(2, &["nothing: No such file"]);
    run(&["-", "-"]).fails(2, &["only one of the two can be stdin"]);
    let piped = dir.bash("cat ids | ds-diff - ids");
    piped.silent();
    let cut = dir.bash("head -c 20000 ids | ds-diff - ids");
    cut.fails(75, &["the last record is cut"]);
    dir.bash("ds-diff ids ids > /dev/full").says(75, "ds-diff: stdout: No space left on device");
    dir.write("bad", join(&lines) + "nonsense\n");
    run(&["ids", "bad"]).fails(1, &["bad:301: "]);
}

/// Text is shown as it is; only what would break the line is escaped, and it is not cut before the
/// token that differs.
#[test]
fn text_is_shown_as_it_is() {
    let dir = TempDir::new();
    let words = "nell'Adriatico \"extraordinarily\" straightforwardly";
    let record = |last: &str| {
        let content = format!("{words}\n{last}");
        let messages = json!([{"role": "user", "content": content}]);
        json!({"id": "l'id", "messages": messages}).to_string() + "\n"
    };
    for (name, last) in [("a", "one"), ("b", "two")] {
        dir.write(name, record(last));
        dir.bash(&format!("harmony-tok --policy chat {name} > {name}.t")).ok();
    }
    let text = |a: &str, b: &str| tool("ds-diff").args(&[&dir.at(a), &dir.at(b)]).run().text();
    let tokens = text("a.t", "b.t");
    assert!(tokens.contains("(l'id)") && tokens.contains("\\n[[one]]"), "{tokens}");
    assert!(tokens.contains("[[two]]") && tokens.contains("A: …"), "{tokens}");
    assert!(tokens.contains(r#"" straightforwardly"#), "{tokens}");
    assert!(!tokens.contains(r"\'") && !tokens.contains(r#"\""#), "{tokens}");
}
