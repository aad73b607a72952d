//! Whether all is well, said before any record: on a terminal as on a page.

use serde_json::json;

use crate::common::{TempDir, bash, conversations, tool};

/// What a terminal says before the first record, and what the page has.
fn told(columns: usize, path: &str, flags: &[&str]) -> (Vec<String>, String) {
    let view = tool("ds-view").env("COLUMNS", &columns.to_string()).args(&[path, "--limit", "1"]);
    let shown = view.args(flags).run().silent().text();
    let head = shown.lines().take_while(|line| !line.is_empty()).skip(1).map(str::to_string);
    // (A page of what is bad is written, and the exit code says so.)
    let page = tool("ds-view").args(&[path, "--html", "-", "-q"]).args(flags).run_whatever().text();
    (head.collect(), page)
}

/// A root, and sequences of which nothing is trained on or whose masks are late.
fn place() -> TempDir {
    let dir = TempDir::new();
    dir.write("in.ndjson", conversations(20));
    dir.bash(
        "set -e; export GRISTMILL_TO=arrow
         harmony-tok -q in.ndjson | span-mask | mmidx-write -q --root kd --shard shard_00
         harmony-tok -q in.ndjson | span-mask --to ndjson > masked.ndjson",
    )
    .ok();
    let records = dir.text("masked.ndjson");
    let changed = |change: &dyn Fn(usize, &mut Vec<serde_json::Value>)| -> String {
        let lines = records.lines().enumerate().map(|(number, line)| {
            let mut record: serde_json::Value = serde_json::from_str(line).unwrap();
            for name in ["loss_mask", "span_id"] {
                change(number, record[name].as_array_mut().unwrap());
            }
            record.to_string() + "\n"
        });
        lines.collect()
    };
    dir.write("none.ndjson", changed(&|_, mask| mask.fill(json!(0))));
    dir.write(
        "one.ndjson",
        changed(&|n, mask| {
            if n == 3 {
                mask.fill(json!(0))
            }
        }),
    );
    dir.write("late.ndjson", changed(&|_, mask| mask.rotate_right(1)));
    dir
}

#[test]
fn it_is_said_first_and_as_on_the_page() {
    let dir = place();
    let unchecked = "Not checked: ds-view --check does.";
    let good = "✓ ds-check: no problems found.";
    let none = "✗ Nothing is trained on in any sequence.";
    let cases: [(&str, &[&str], &[&str]); 5] = [
        ("kd", &[], &[unchecked]),
        ("kd", &["--check"], &[good]),
        ("none.ndjson", &[], &[unchecked, none]),
        ("one.ndjson", &[], &[unchecked, "! Nothing is trained on in 1 of 20 sequences."]),
        ("late.ndjson", &["--check", "-j", "2"], &["✗ ds-check: "]),
    ];
    for (path, flags, lines) in cases {
        for columns in [80, 50] {
            let (head, page) = told(columns, &dir.at(path), flags);
            // What it is, and how large; the verdict; the numbers.
            let place = head.iter().position(|line| line.starts_with(lines[0]));
            let place = place.unwrap_or_else(|| panic!("{path}: {head:?}"));
            for (found, line) in head[place..].iter().zip(lines) {
                assert!(found.starts_with(line), "{path}: {head:?}");
            }
            assert!(place >= 2 && head[..place].join(" ").contains("sequence"), "{head:?}");
            let numbers = &head[place + lines.len()];
            assert!(numbers.contains("tokens ") && numbers.contains(" · trained on "), "{head:?}");
            for line in lines {
                assert!(page.contains(&format!(">{line}")), "{path}: {line}");
            }
        }
    }
}

/// A large set is shown at once, and it is said what was not done; a stream cannot be read twice.
#[test]
fn what_would_take_long_is_not_done_unasked() {
    let dir = TempDir::new();
    let record = |n: usize| {
        let user = json!({"role": "user", "content": "x".repeat(10_000)});
        json!({"id": n.to_string(), "messages": [user]}).to_string() + "\n"
    };
    let large = dir.write("large.ndjson", (0..1_700).map(record).collect::<String>());
    let unasked = "More than 16.8 MB, neither checked nor counted: --check does both.";
    let (head, _) = told(80, &large, &[]);
    assert!(head.iter().any(|line| line == unasked), "{head:?}");
    // Few bytes may be many.
    let packed = dir.at("large.ndjson.gz");
    bash(&format!("gzip -k {large}")).ok();
    let (head, _) = told(80, &packed, &[]);
    assert!(head.iter().any(|line| line == unasked), "{head:?}");
    let (head, _) = told(80, &packed, &["--check"]);
    let numbers = "conversations 1,700 · characters 17,000,000 · characters, median 10,000";
    assert!(head.iter().any(|line| line == numbers), "{head:?}");
    let piped = |flags: &[&str]| tool("ds-view").args(flags).input(record(0)).run();
    let shown = piped(&[]).silent().text();
    assert!(!shown.contains("hecked"), "{shown}");
    piped(&["--check"]).fails(2, &["--check: a stream is read only once"]);
    // Threads are for what reads all.
    assert_eq!(piped(&["-j", "2"]).code(), Some(2));
}
