//! ds-view: what it prints is what stands in tests/view, which a person has looked at.
//! GRISTMILL_BLESS=1 writes those files anew; `git diff` shows what has changed.

mod browser;
mod kinds;
mod page;
mod picture;
mod verdict;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::common::{TempDir, bash, data, installed, tool};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/view")
}

/// Compares with a golden file.
#[track_caller]
fn golden(name: &str, found: &str) {
    let path = folder().join(name);
    if std::env::var_os("GRISTMILL_BLESS").is_some() {
        fs::write(&path, found).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "{} is not what was printed:\n{found}", path.display());
}

/// What is printed of an input at a width.
fn view(columns: usize, input: &str, flags: &[&str]) -> String {
    let run = tool("ds-view").args(flags).env("COLUMNS", &columns.to_string()).input(input).run();
    run.silent().text()
}

/// An input at 80 and 50 columns, and with colours.
#[track_caller]
fn compare(name: &str, input: &str, flags: &[&str]) {
    for columns in [80, 50] {
        let found = view(columns, input, flags);
        let widest = found.lines().map(width_of).max();
        assert!(widest <= Some(columns), "{name}: a line of {widest:?} columns\n{found}");
        golden(&format!("{name}.{columns}.txt"), &found);
    }
    let coloured = view(80, input, &[flags, &["--color", "always"]].concat());
    golden(&format!("{name}.ansi"), &coloured);
    // Colours say nothing that is not said without them.
    let plain: Vec<String> =
        without_colours(&coloured).lines().map(|l| l.trim_end().into()).collect();
    assert_eq!(plain, view(80, input, flags).lines().collect::<Vec<_>>(), "{name}");
}

/// Columns, as far as the samples need it.
fn width_of(line: &str) -> usize {
    let wide = |c: char| matches!(c, '\u{2e80}'..='\u{ffdc}' | '\u{1f300}'..='\u{1faff}');
    line.chars().map(|c| if wide(c) { 2 } else { 1 }).sum()
}

fn without_colours(text: &str) -> String {
    let mut parts = text.split('\x1b');
    let mut plain = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let (code, rest) = part.split_once('m').unwrap();
        let digits = code.strip_prefix('[').unwrap();
        assert!(digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b';'), "{part:?}");
        plain += rest;
    }
    plain
}

fn sample(name: &str) -> String {
    fs::read_to_string(folder().join(format!("{name}.ndjson"))).unwrap()
}

/// The first sample conversation as tokens, its masks `by` positions later, or earlier below 0.
fn masked(by: isize) -> String {
    let line = sample("conversations").lines().next().unwrap().to_string();
    let rendered = tool("harmony-tok").input(line + "\n").run().ok();
    let mut record: Value = tool("span-mask").input(rendered.stdout).run().ok().records().remove(0);
    for name in ["loss_mask", "span_id"] {
        let list = record[name].as_array_mut().unwrap();
        match by {
            0.. => list.rotate_right(by.unsigned_abs()),
            _ => list.rotate_left(by.unsigned_abs()),
        }
    }
    record.to_string() + "\n"
}

#[test]
fn conversations_look_as_they_should() {
    compare("conversations", &sample("conversations"), &["--limit", "9"]);
    compare("conversations-whole", &sample("conversations"), &["--nth", "0"]);
}

#[test]
fn sequences_look_as_they_should() {
    compare("tokens", &masked(0), &[]);
    compare("tokens-late", &masked(1), &[]);
    compare("tokens-early", &masked(-1), &["--tokens"]);
}

/// Both answers of a pair stand side by side where there is room, on the page, too.
#[test]
fn answers_of_a_pair_stand_side_by_side() {
    let words = |word: &str| [word; 40].join(" ");
    let record = json!({"id": "p", "prompt": "Which?", "chosen": words("north"), "rejected": words("south")});
    let made = tool("chat-tok").args(&["-q", "--model", "gpt-oss", "--take", "pair"]);
    let pairs = made.input(format!("{record}\n")).run().ok().text();
    let is_both = |line: &str| line.contains("north") && line.contains("south");
    let narrow = view(80, &pairs, &[]);
    let has_title = |name: &str| narrow.lines().any(|line| line.starts_with(name));
    assert!(has_title("chosen") && has_title("rejected"), "{narrow}");
    assert!(!narrow.lines().any(is_both), "{narrow}");
    for columns in [100, 140] {
        for flags in [&[][..], &["--tokens"]] {
            let wide = view(columns, &pairs, flags);
            assert!(wide.lines().filter(|line| is_both(line)).count() >= 2, "{wide}");
            assert!(wide.lines().all(|line| width_of(line) <= columns), "{wide}");
            let titles = wide.lines().find(|line| line.contains("chosen")).unwrap();
            assert!(titles.contains("rejected"), "{wide}");
        }
    }
    let page = tool("ds-view").args(&["-q", "--html", "-"]).input(pairs).run().silent().text();
    assert_eq!(page.matches("\"beside\":true").count(), 1);
}

#[test]
fn games_look_as_they_should() {
    compare("games", &sample("games"), &["--limit", "3"]);
    compare("games-step", &sample("games"), &["--nth", "0", "--step", "3,1,7-9"]);
}

#[test]
fn puzzles_look_as_they_should() {
    compare("puzzles", &sample("puzzles"), &["--limit", "20"]);
}

/// What of the data a terminal would obey is shown instead.
#[test]
fn nothing_of_the_data_reaches_the_terminal_raw() {
    let inputs = ["conversations", "games", "puzzles"].map(sample);
    let odd = json!({"id": "a\u{1b}[2J", "text": "\u{1b}]0;x\u{7}", "messages": [], "spans": null});
    let tokens =
        json!({"id": "\u{202e}", "tokens": [188, 220, 197, -5, 200_005], "segments": null});
    for input in inputs.into_iter().chain([odd, tokens].map(|record| format!("{record}\n"))) {
        for flags in [&["--lines", "0"][..], &["--tokens", "--lines", "0"], &["--lines", "1"]] {
            let shown = view(60, &input, flags);
            let is_bad =
                |c: char| (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c);
            assert!(!shown.contains(is_bad), "{shown:?}");
        }
    }
    // Nor do names on disk.
    let dir = TempDir::new();
    let path = dir.write("a\u{1b}[31m.ndjson", sample("conversations"));
    assert!(!tool("ds-view").args(&[path]).run().silent().text().contains('\x1b'));
}

/// As much as a screen holds, a blank line and the prompt's left out; a record is always shown.
#[test]
fn what_is_not_chosen_fits_the_screen() {
    let long: String = (0..9).map(|n| crate::common::conversation(n).to_string() + "\n").collect();
    for (input, most) in [(long.as_str(), 8), (&sample("games"), 3), (&sample("puzzles"), 9)] {
        for (columns, lines) in [10, 24, 50, 200].iter().flat_map(|n| [(80, *n), (50, *n)]) {
            let view = tool("ds-view").env("LINES", &lines.to_string());
            let shown =
                view.env("COLUMNS", &columns.to_string()).input(input).run().silent().text();
            let records = shown.lines().filter(|line| line.starts_with('#')).count();
            assert!((1..=most).contains(&records) || lines == 200, "{shown}");
            // A puzzle is drawn whole; of the others there is less where there is less room.
            let is_long = records == 1 && (lines == 10 || most == 9);
            assert!(shown.lines().count() < lines || is_long, "{lines} lines: {shown}");
            assert!(lines < 200 || records > 2, "{shown}");
        }
    }
}

#[test]
fn records_are_chosen_as_ds_cat_chooses_them() {
    let dir = TempDir::new();
    let file = dir.write("in.ndjson", crate::common::conversations(30));
    dir.bash("ds-cat in.ndjson -o in.parquet").ok();
    for input in [file, dir.at("in.parquet")] {
        for flags in
            ["--nth 3,17-19", "--sample 4 --seed 3", "--skip 5 --limit 2", "--tail 2", "--id id-11"]
        {
            let flags: Vec<&str> = flags.split(' ').chain([input.as_str()]).collect();
            let records = tool("ds-cat").args(&flags).run().ok().records();
            let ids: Vec<&str> =
                records.iter().map(|record| record["id"].as_str().unwrap()).collect();
            let shown = tool("ds-view").args(&flags).run().ok().text();
            let heads: Vec<&str> = shown
                .lines()
                .filter_map(|line| line.split_whitespace().find(|word| word.starts_with("id-")))
                .filter(|word| word.len() < 6)
                .collect();
            assert_eq!(heads, ids, "{flags:?}\n{shown}");
            // The number is the one of --nth, where it is known.
            for line in shown.lines().filter(|line| line.starts_with('#')) {
                let (number, id) = line[1..].split_once(" id-").unwrap();
                assert_eq!(number, id, "{flags:?}");
            }
        }
    }
}

/// Every defect of masks is seen in the first screen; a good one is not called bad.
#[test]
fn shifted_masks_are_seen_at_once() {
    let Some(folder) = data("malformed/kd") else { return };
    let at = |columns: usize, path: &str| {
        let view = tool("ds-view").env("LINES", "24").env("COLUMNS", &columns.to_string());
        let text = view.args(&[folder.join(path).to_str().unwrap()]).run().ok().text();
        assert!(text.lines().count() < 24, "{path}: {text}");
        assert!(
            text.contains("the next token is reasoning") && text.contains("label-aligned masks"),
            "{text}"
        );
        text
    };
    let first = |name: &str| at(80, &format!("{name}/shard_00"));
    // What a dataset is named by does not change what is said of it.
    let without_name = |text: String| text.split_once('\n').map(|(_, rest)| rest.to_string());
    let by_index = at(80, "ok/shard_00_tokens.idx");
    assert_eq!(without_name(by_index), without_name(first("ok")));
    for (name, said) in [
        ("mask_unshifted", "! the masks are shifted: 1 token too late"),
        ("mask_double_shift", "! the masks are shifted: 1 token too early"),
        ("mask_span_swapped", "! the masks do not fit the messages"),
        ("mask1_span0", "! the masks do not fit the messages"),
        ("mask_value_255", "! the masks do not fit the messages in token 501"),
    ] {
        for columns in [80, 50] {
            let shown = at(columns, &format!("{name}/shard_00"));
            assert!(shown.contains(said), "{name}: {shown}");
            let marked = |line: &str| line.starts_with('!') && line.contains('│');
            assert!(shown.lines().any(marked), "{name}: {shown}");
        }
    }
    assert!(!first("ok").contains('!'), "{}", first("ok"));
    let prefix = folder.join("last_position_supervised/shard_00");
    let all = tool("ds-view").args(&["--limit", "99", prefix.to_str().unwrap()]).run().ok().text();
    assert!(all.contains("\n! the last position is trained on, and no token follows it\n"));
}

/// An Arrow stream says how its masks are aligned, NDJSON does not: there a flag says it.
#[test]
fn aligned_masks_look_the_same_in_every_encoding() {
    let sample = folder().join("conversations.ndjson");
    let masked = |align: &str, to: &str| {
        let pipe = format!(
            "harmony-tok --limit 1 {} | span-mask --align {align} --to {to}",
            sample.display()
        );
        bash(&format!("set -o pipefail; {pipe}")).silent().stdout
    };
    let view = |input: &[u8], flags: &[&str]| tool("ds-view").args(flags).input(input).run();
    for align in ["label", "token"] {
        let (arrow, ndjson) = (masked(align, "arrow"), masked(align, "ndjson"));
        for flags in [&["--limit", "3"][..], &["-q", "--html", "-"]] {
            let expected = view(&arrow, flags).silent().text();
            assert!(!expected.contains("the masks are shifted"), "{align}");
            let given = view(&ndjson, &[flags, &["--align", align]].concat()).silent().text();
            // The encoding is named, and the lines of NDJSON are.
            let records = |text: &str| {
                let text = text.split_once("id=\"data\">").map_or(text, |(_, records)| records);
                text.replace("· Arrow", "· NDJSON").replace("stdin:1", "stdin")
            };
            assert_eq!(records(&given), records(&expected), "{align}");
            let other = if align == "label" { "token" } else { "label" };
            let wrong = view(&ndjson, &[flags, &["--align", other]].concat()).silent().text();
            assert!(wrong.contains("the masks are shifted"), "{align}");
            let refused = view(&arrow, &[flags, &["--align", other]].concat());
            let cause = format!("the header says that the masks are {align}-aligned");
            refused.fails(2, &[&format!("--align {other}: {cause}")]);
        }
    }
}

/// NDJSON does not say which spans its masks were made with: those that they have are no fault.
#[test]
fn masks_of_unknown_spans_are_not_accused() {
    let messages = json!([
        {"role": "user", "content": "Which?"},
        {"role": "assistant", "channel": "analysis", "content": "Look."},
        {"role": "assistant", "channel": "commentary", "recipient": "functions.f", "content": "{}"},
        {"role": "tool", "name": "functions.f", "recipient": "assistant", "channel": "commentary", "content": "1"},
        {"role": "assistant", "channel": "final", "content": "That."},
    ]);
    let record = json!({"id": "a", "messages": messages});
    for spans in ["--span commentary=3", "--span analysis=0", "--span final=9 --span commentary=1"]
    {
        let masked = bash(&format!(
            "set -o pipefail; echo '{record}' | harmony-tok --policy chat | span-mask {spans}"
        ));
        let masked = masked.ok().stdout;
        let shown = tool("ds-view").input(masked).run().ok().text();
        assert!(!shown.contains("do not fit") && !shown.contains("shifted"), "{spans}: {shown}");
    }
}

/// The ink of everything printed can be read on black and on white, and is the same in every theme.
#[test]
fn colours_can_be_read_on_black_and_on_white() {
    let luminance = |number: u32| {
        let step = |n: u32| if n == 0 { 0.0 } else { f64::from(55 + 40 * n) / 255.0 };
        let linear = |c: f64| if c <= 0.04 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) };
        let [r, g, b] = [number / 36, number / 6 % 6, number % 6].map(|n| linear(step(n)));
        0.2126 * r + 0.7152 * g + 0.0722 * b
    };
    let mut seen = std::collections::BTreeSet::new();
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "ansi") {
            continue;
        }
        for part in fs::read_to_string(&path).unwrap().split('\x1b').skip(1) {
            let codes = part.split_once('m').unwrap().0.trim_start_matches('[');
            // What has a ground of its own is read on that.
            if codes.contains("48;5;") {
                continue;
            }
            let attributes = match codes.split_once("38;5;") {
                None => codes,
                Some((before, number)) => {
                    seen.insert(number.parse::<u32>().unwrap());
                    before.trim_end_matches(';')
                }
            };
            let is_plain = |code: &str| ["", "0", "1", "2", "4", "7"].contains(&code);
            assert!(attributes.split(';').all(is_plain), "{}: {codes}", path.display());
        }
    }
    assert!(seen.len() > 4, "{seen:?}");
    for number in seen {
        let own = luminance(number - 16);
        let (on_black, on_white) = ((own + 0.05) / 0.05, 1.05 / (own + 0.05));
        assert!(on_black >= 3.5 && on_white >= 3.5, "{number}: {on_black:.2} {on_white:.2}");
    }
}

#[test]
fn colours_are_for_terminals() {
    let input = sample("games");
    let coloured = |variables: &[(&str, &str)], flags: &[&str]| {
        let mut run = tool("ds-view").args(flags).input(&input);
        for (name, value) in variables {
            run = run.env(name, value);
        }
        run.run().silent().text().contains('\x1b')
    };
    assert!(!coloured(&[], &[]));
    assert!(coloured(&[], &["--color", "always"]));
    assert!(coloured(&[("NO_COLOR", "1")], &["--color", "always"]));
    assert!(coloured(&[("CLICOLOR_FORCE", "1")], &[]));
    assert!(!coloured(&[("CLICOLOR_FORCE", "1")], &["--color", "never"]));
    assert!(!coloured(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], &[]));
    assert!(!coloured(&[("CLICOLOR_FORCE", "0")], &[]));
    if !installed("script") {
        return;
    }
    let file = folder().join("games.ndjson");
    for (variables, expected) in
        [("TERM=xterm", true), ("TERM=dumb", false), ("TERM=xterm NO_COLOR=1", false)]
    {
        let command = format!("script -qec '{variables} ds-view {}' /dev/null", file.display());
        assert_eq!(bash(&command).text().contains('\x1b'), expected, "{variables}");
    }
}

/// Span 3 has a name, the legend has every letter; rows show what their file has; a turn is found by the id of its chat.
#[test]
fn spans_bins_and_ends_are_those_of_the_data() {
    let dir = TempDir::new();
    let call = json!({"type": "function", "function": {"name": "weather", "arguments": "{}"}});
    let messages = json!([
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": "", "reasoning_content": "Look.", "tool_calls": [call]},
        {"role": "tool", "content": "Sun."},
        {"role": "assistant", "content": "Sunny."},
    ]);
    let lines: String = [("a", ""), ("b", "It is a longer question. ")]
        .map(|(id, more)| {
            let mut messages = messages.clone();
            messages[0]["content"] = json!(format!("{}Weather?", more.repeat(40)));
            format!("{}\n", json!({"id": id, "messages": messages}))
        })
        .concat();
    let chats = dir.write("chats.jsonl", lines);
    let all = messages.as_array().unwrap();
    let twice = [&all[..], &all[..]].concat();
    dir.write("twice.jsonl", format!("{}\n", json!({"id": "a", "messages": twice})));
    let folder = dir.path().display();
    let run = |command: &str| bash(&format!("cd {folder}; {command}")).ok().text();
    run(&format!(
        "chat-harmony {chats} | harmony-tok | span-mask --span commentary=3 > masked; \
         mmidx-write masked --prefix p/x; \
         seq-pack -q p/x -o plain.parquet; seq-pack -q p/x -o kept.parquet --keep-eod; \
         chat-harmony -q twice.jsonl > split"
    ));
    let shown = run("ds-view masked");
    for letter in ["R│ reasoning", "F│ final", "3│ commentary", "·│ not trained on"] {
        assert!(shown.contains(letter), "{letter}: {shown}");
    }
    assert!(shown.contains(" commentary, ") && !shown.contains("span 3"), "{shown}");
    let weighted = json!({"id": "w", "messages": [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b", "weight": 0},
        {"role": "user", "content": "c"},
        {"role": "assistant", "content": "d"},
    ]});
    dir.write("weighted.jsonl", format!("{weighted}\n"));
    let weighted = run("chat-harmony weighted.jsonl | harmony-tok | span-mask | ds-view");
    assert_eq!(weighted.matches("W│ not trained on, by weight\n").count(), 1, "{weighted}");
    let numbers = run("ds-stat masked");
    assert!(numbers.contains("  3 commentary "), "{numbers}");
    let lengths = numbers.split("tokens of a sequence").nth(1).unwrap();
    let empty = lengths.lines().filter(|line| line.split_whitespace().last() == Some("0")).count();
    assert!(empty <= 1, "{numbers}");
    let ends =
        |rows: &str| run(&format!("ds-view {rows} --limit 2")).matches("<|endoftext|>").count();
    assert_eq!((ends("plain.parquet"), ends("kept.parquet"), ends("masked")), (0, 2, 2));
    bash(&format!("cd {folder}; ds-view split --id a"))
        .says(1, "ds-view: no record has the id \"a\"; try: --id 'a#1'");
}
