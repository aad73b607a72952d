//! ds-stat: the numbers are those of an independent computation, of parts those of the whole.

use serde_json::{Value, json};

use crate::common::{TempDir, bash, conversations, data, oracle, python, tool};

fn stat(arguments: &[&str]) -> Value {
    let run = tool("ds-stat").args(&["--format", "json", "-q"]).args(arguments).run().silent();
    serde_json::from_slice(&run.stdout).unwrap()
}

/// All that the oracle says stands in the answer; floats may differ in the last digits.
#[track_caller]
fn assert_has(found: &Value, expected: &Value, place: &str) {
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => {
            for (name, value) in expected {
                let at = format!("{place}.{name}");
                assert_has(found.get(name).unwrap_or(&Value::Null), value, &at);
            }
        }
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            assert!((a - b).abs() <= 1e-9 * b.abs(), "{place}: {a}, not {b}");
        }
        _ => assert_eq!(found, expected, "{place}"),
    }
}

fn expected(arguments: &[&str]) -> Option<Value> {
    let python = python()?;
    Some(oracle(&python, "stat.py", arguments).ok().records().remove(0))
}

/// Moves what the oracle has beside the numbers.
fn take(from: &mut Value, name: &str) -> Value {
    from.as_object_mut().unwrap().remove(name).unwrap()
}

#[test]
fn roots_are_as_numpy_counts_them() {
    let roots = ["synth_kd/valid_0.1", "kd_wild/smoke"];
    let Some(roots) = roots.iter().map(|name| data(name)).collect::<Option<Vec<_>>>() else {
        return;
    };
    let roots: Vec<&str> = roots.iter().map(|path| path.to_str().unwrap()).collect();
    for roots in [&roots[..1], &roots[1..], &roots] {
        let Some(mut expected) = expected(&[&["root"], roots].concat()) else { return };
        let found = stat(&[roots, &["--seq-length", "800"]].concat());
        assert_eq!(found["records"], take(&mut expected, "records"));
        assert_eq!(found["repeated"]["texts"], take(&mut expected, "repeated_texts"));
        let messages = take(&mut expected, "messages").as_u64().unwrap();
        let numbers = &found["numbers"]["tokens"];
        let roles = numbers["messages"]["roles"].as_object().unwrap();
        let counted: u64 = roles.values().map(|of| of["count"].as_u64().unwrap()).sum();
        assert_eq!(counted, messages);
        let inside: u64 = roles.values().map(|of| of["sum"].as_u64().unwrap()).sum();
        assert_eq!(inside + numbers["outside"].as_u64().unwrap(), numbers["tokens"]);
        assert_has(numbers, &expected, "tokens");
        assert_eq!(found["bytes"].as_u64(), numbers["tokens"].as_u64().map(|n| 6 * n));
    }
}

#[test]
fn conversations_are_as_pyarrow_reads_them() {
    let Some(shard) = data("synth_harmony/synth_harmony_shard_00.parquet") else { return };
    let shard = shard.to_str().unwrap();
    let Some(expected) = expected(&["conversations", shard]) else { return };
    let found = stat(&[shard, "--by", "language"]);
    let numbers = &found["numbers"]["conversation"];
    for name in ["records", "bytes"] {
        assert_eq!(found[name], expected[name]);
    }
    assert_has(&numbers["lengths"], &expected["lengths"], "lengths");
    assert_has(&numbers["messages"]["roles"], &expected["roles"], "roles");
    assert_eq!(found["repeated"]["ids"], expected["repeated_ids"]);
    assert_eq!(found["repeated"]["texts"], expected["repeated_texts"]);
    let groups = found["by"]["groups"].as_object().unwrap();
    assert_eq!(groups.len(), expected["languages"].as_object().unwrap().len());
    for (language, lengths) in expected["languages"].as_object().unwrap() {
        let own = &groups[language]["numbers"]["conversation"]["lengths"];
        assert_has(own, lengths, language);
    }
}

#[test]
fn packs_and_puzzles_are_as_numpy_counts_them() {
    let Some(raw) = data("macroxue/raw_small") else { return };
    let dir = TempDir::new();
    dir.bash(&format!(
        "set -eo pipefail; mx-decode {} > games; npy-pack games -o pack
         puzzle-encode domino --num-games 9 --seed 3 | npy-pack -o domino",
        raw.display()
    ))
    .ok();
    let Some(mut pack) = expected(&["pack", &dir.at("pack")]) else { return };
    for input in ["pack", "games"] {
        let found = stat(&[&dir.at(input), "--by", "depth"]);
        let mut pack = pack.clone();
        assert_eq!(found["records"], take(&mut pack, "records"));
        assert_has(&found["numbers"]["game"], &pack, input);
        let groups = found["by"]["groups"].as_object().unwrap().values();
        assert_eq!(
            groups.map(|group| group["records"].as_u64().unwrap()).sum::<u64>(),
            found["records"]
        );
    }
    take(&mut pack, "records");
    let Some(wild) = data("hrm/wild") else { return };
    let mut sets = vec![(dir.at("domino"), "0")];
    for entry in std::fs::read_dir(wild).unwrap() {
        let path = entry.unwrap().path();
        let name = path.to_str().unwrap().to_string();
        let blank = if name.contains("sudoku") || name.contains("arc") { "1" } else { "0" };
        sets.push((name, blank));
    }
    for (set, blank) in sets {
        let Some(mut expected) = expected(&["puzzles", &set, blank]) else { return };
        let found = stat(&[&set]);
        assert_eq!(found["records"], take(&mut expected, "records"), "{set}");
        assert_eq!(found["repeated"]["texts"], take(&mut expected, "repeated_texts"), "{set}");
        let numbers = &found["numbers"]["puzzle"];
        for name in ["puzzles", "groups"] {
            assert_eq!(numbers[name]["count"], take(&mut expected, name), "{set}");
        }
        assert_has(numbers, &expected, &set);
    }
}

/// A dataset of each kind with something in it twice.
fn inputs(dir: &TempDir) -> Vec<String> {
    dir.write("c.ndjson", conversations(40) + &conversations(11));
    dir.bash(
        "set -eo pipefail; ds-cat c.ndjson -o c.parquet; harmony-tok c.ndjson | span-mask > m
         ds-cat m --to arrow > m.arrows; mmidx-write m --root root --shard s --valid-fraction 0.4
         puzzle-encode domino --num-games 5 --seed 2 > p; npy-pack p -o set",
    )
    .ok();
    let mut names = vec!["c.ndjson", "c.parquet", "m", "m.arrows", "root", "p", "set"];
    if let Some(raw) = data("macroxue/raw_small") {
        dir.bash(&format!(
            "set -eo pipefail; mx-decode {} > games; npy-pack games -o pack",
            raw.display()
        ))
        .ok();
        names.extend(["games", "pack"]);
    }
    names.into_iter().map(|name| dir.at(name)).collect()
}

#[test]
fn parts_add_up_to_the_whole() {
    let dir = TempDir::new();
    for input in inputs(&dir) {
        let flags = ["--seq-length", "60"];
        let whole = stat(&[&[input.as_str()], &flags[..]].concat());
        let texts = &whole["repeated"]["texts"];
        match whole["kind"].as_str() {
            Some("game") => assert!(texts.is_null(), "{input}"),
            Some("puzzle") => assert!(texts.is_u64(), "{input}"),
            _ => assert!(texts.as_u64() > Some(0), "{input}"),
        }
        // However many threads.
        assert_eq!(stat(&[&[input.as_str(), "-j", "3"], &flags[..]].concat()), whole, "{input}");
        for slices in [1, 3, 7] {
            let parts: Vec<String> = (0..slices)
                .map(|i| {
                    let slice = format!("{i}/{slices}");
                    let flags = [&flags[..], &["--slice", &slice]].concat();
                    let format = if i == 0 { "--part" } else { "--format=json" };
                    let run = tool("ds-stat").args(&[&input, format]).args(&flags).run().silent();
                    dir.write(&format!("part{i}"), run.stdout)
                })
                .collect();
            let mut arguments: Vec<&str> = vec!["--merge"];
            arguments.extend(parts.iter().map(String::as_str));
            assert_eq!(stat(&arguments), whole, "{input} {slices}");
            // And merged parts are parts.
            if slices == 3 {
                let run = tool("ds-stat").args(&["--merge", "--part", &parts[0], &parts[1]]).run();
                let first = dir.write("first", run.silent().stdout);
                assert_eq!(stat(&["--merge", &first, &parts[2]]), whole, "{input}");
                // (Slices do not have a size on disk.)
                let text = |arguments: &[&str]| -> String {
                    let text = tool("ds-stat").args(arguments).run().silent().text();
                    let lines = text.split_inclusive('\n');
                    lines.filter(|line| !line.starts_with("  size on disk")).collect()
                };
                assert_eq!(text(&arguments), text(&[&[input.as_str()], &flags[..]].concat()));
            }
        }
    }
}

/// The same records have the same numbers in every encoding.
#[test]
fn numbers_do_not_depend_on_the_encoding() {
    let dir = TempDir::new();
    inputs(&dir);
    let numbers = |name: &str| {
        let mut answer = stat(&[&dir.at(name)]);
        answer["inputs"] = Value::Null;
        answer
    };
    assert_eq!(numbers("c.ndjson"), numbers("c.parquet"));
    assert_eq!(numbers("m"), numbers("m.arrows"));
    // A set has numbers for names of groups, which may begin with another.
    let unnamed = |mut answer: Value| {
        for runs in ["puzzles", "groups"] {
            answer["numbers"]["puzzle"][runs]["first"] = Value::Null;
            answer["numbers"]["puzzle"][runs]["last"] = Value::Null;
        }
        answer
    };
    assert_eq!(unnamed(numbers("p")), unnamed(numbers("set")));
    let piped = bash(&format!("cat {} | ds-stat --format json", dir.at("m"))).silent().records();
    assert_eq!(piped[0]["numbers"], numbers("m")["numbers"]);
    // A choice of the records has its own numbers.
    let some = stat(&[&dir.at("root"), "--nth", "0-9"]);
    assert_eq!(some["records"], 10);
}

#[test]
fn text_fits_the_columns() {
    let dir = TempDir::new();
    for input in inputs(&dir) {
        for by in [&[][..], &["--by", "role"], &["--by", "id"], &["--by", "group"]] {
            let run = |columns: usize| {
                let stat = tool("ds-stat").env("COLUMNS", &columns.to_string());
                stat.args(&[&input]).args(by).run()
            };
            if run(80).code() == Some(2) {
                continue;
            }
            for columns in [80, 50] {
                let text = run(columns).silent().text();
                assert!(text.lines().all(|line| line.chars().count() <= columns), "{text}");
                assert!(!text.contains('\x1b') && text.contains("records"), "{text}");
            }
            // As many numbers at each width.
            let numbers = |text: String| -> Vec<String> {
                let words = text.split_whitespace().skip_while(|word| *word != "records");
                let numbers = words.filter(|word| word.starts_with(|c: char| c.is_ascii_digit()));
                let mut numbers: Vec<String> = numbers.map(str::to_string).collect();
                numbers.sort();
                numbers
            };
            let [wide, narrow] = [80, 50].map(|columns| numbers(run(columns).silent().text()));
            assert!(wide.len() > 2);
            assert_eq!(wide, narrow, "{input} {by:?}");
        }
    }
    let line = r#"{"id":"a","messages":[{"role":"assis\u001b[31mtant\u202e","content":"x"}]}"#;
    let text = tool("ds-stat").args(&["--by", "role"]).input(format!("{line}\n")).run().silent();
    let text = text.text();
    assert!(text.contains(r"assis\u{1b}[31mtant\u…") && !text.contains('\x1b'), "{text}");
}

#[test]
fn what_cannot_be_measured_is_said() {
    let dir = TempDir::new();
    let file = dir.write("in.ndjson", conversations(5));
    let run = |flags: &[&str]| tool("ds-stat").args(flags).run();
    run(&[&file, "--by", "nothing"])
        .fails(2, &["--by: no column \"nothing\"; there are: synth_id"]);
    let part = dir.write("part", run(&[&file, "--no-repeats", "--format", "json"]).silent().stdout);
    run(&["--merge", &part, &part]).fails(2, &["part: has no keys", "try: --part"]);
    run(&["--merge", "--no-repeats", &part, &part]).silent();
    run(&["--merge", &file]).fails(1, &["in.ndjson: is no answer of ds-stat"]);
    assert_eq!(run(&["--merge"]).code(), Some(2));
    let games = dir.write(
        "games",
        tool("ds-stat").args(&["--format", "json"]).input("{\"steps\":[]}\n").run().silent().stdout,
    );
    let own = dir.write("own", run(&[&file, "--format", "json"]).silent().stdout);
    run(&["--merge", &own, &games]).fails(2, &["games: is of other records"]);
    let answer = dir.text("own");
    let damaged = dir.write("damaged", &answer[..answer.len() - 40]);
    run(&["--merge", &own, &damaged]).fails(1, &["damaged: is no answer of ds-stat: EOF"]);
    let damaged = dir.write("damaged", answer.replace("_keys\":[\"", "_keys\":[\"x"));
    run(&["--merge", &damaged]).fails(1, &["damaged: is no answer of ds-stat: keys that are not"]);
    let bad = dir.write("bad.ndjson", conversations(2) + "nonsense\n");
    run(&[&bad]).fails(1, &["ds-stat: ", "bad.ndjson:3: "]);
    let cut = dir.write("cut.ndjson", conversations(2).trim_end_matches(['}', '\n']));
    run(&[&cut]).fails(1, &["the last record is cut"]);
    bash(&format!("ds-stat {file} > /dev/full"))
        .says(75, "ds-stat: stdout: No space left on device");
    let most = own.clone();
    let text = dir.text("own").replace("\"records\":5", "\"records\":18446744073709551615");
    dir.write("own", text);
    run(&["--merge", &most, &most]).silent();
}

/// The longest records by their ids, whatever parts they are counted in.
#[test]
fn the_longest_are_named() {
    let dir = TempDir::new();
    let line = |id: &str, words: usize| {
        let messages = json!([
            {"role": "user", "content": "a ".repeat(words)},
            {"role": "assistant", "channel": "final", "content": "b"},
        ]);
        json!({"id": id, "messages": messages}).to_string() + "\n"
    };
    let all: Vec<String> = (0..20)
        .map(|number| line(&format!("chat-{number}\u{1b}"), number * 7 % 20))
        .chain([line(&"x".repeat(1000), 30)])
        .collect();
    let input = dir.write("c.ndjson", all.concat());
    let text = tool("ds-stat").args(&[&input]).run().ok().text();
    let named = text.split("characters of the longest conversations\n").nth(1).unwrap();
    let named: Vec<&str> = named.lines().take_while(|line| !line.is_empty()).collect();
    assert!(named[0].trim_start().starts_with("xxx") && named[0].ends_with(" 61"), "{named:?}");
    assert!(named[1].contains("chat-17") && named[1].ends_with(" 39"), "{named:?}");
    assert!(named.len() == 5 && !text.contains('\u{1b}'), "{named:?}");
    let longest = |found: &Value| found["numbers"]["conversation"]["longest"].clone();
    let whole = stat(&[&input]);
    assert_eq!(longest(&whole)[1], json!({"length": 39, "id": "chat-17\u{1b}"}), "{whole}");
    assert_eq!(longest(&whole)[0]["id"].as_str().unwrap().len(), 256);
    let parts = ["0/3", "1/3", "2/3"].map(|slice| {
        let part = dir.at(&slice.replace('/', "-"));
        let made = tool("ds-stat").args(&[&input, "--slice", slice, "--format", "json"]).run().ok();
        std::fs::write(&part, made.text()).unwrap();
        part
    });
    let merged = stat(&[&["--merge"][..], &parts.each_ref().map(String::as_str)].concat());
    assert_eq!(longest(&merged), longest(&whole));
    // Of sequences the same, in tokens; and how many come of which file.
    dir.bash("set -o pipefail; harmony-tok -q --policy chat c.ndjson --to arrow > t.arrows").ok();
    let text = dir.bash("ds-stat t.arrows --by input").ok().text();
    assert!(
        text.contains("tokens of the longest sequences\n") && text.contains("chat-17"),
        "{text}"
    );
    assert!(text.contains("records by input, and their tokens"), "{text}");
}
