//! The page of ds-view as a file: small whatever the dataset's size, the same bytes every time, and
//! published as every output is. (tests/filters/ds_view/browser.rs opens it.)

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use serde_json::{Value, json};

use crate::common::{TempDir, bash, conversations, tool};

const MOST: usize = 2_000_000;

fn page(arguments: &[&str]) -> String {
    tool("ds-view").args(arguments).args(&["-q", "--html", "-"]).run().silent().text()
}

/// The records that the page steps through.
fn records(page: &str) -> Vec<Value> {
    let (_, rest) = page.split_once("id=\"data\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

fn titles(page: &str) -> Vec<String> {
    let title = |record: &Value| record["title"].as_str().unwrap().to_string();
    records(page).iter().map(title).collect()
}

/// A root of so many sequences, the same short ones again and again.
fn root(dir: &TempDir, repeated: usize, extra: &str) -> String {
    let input = dir.write("conversations.ndjson", conversations(50));
    let root = dir.at("root");
    bash(&format!(
        "set -e -o pipefail; export GRISTMILL_TO=arrow
         harmony-tok {input} | span-mask > {0}
         for i in $(seq {repeated}); do cat {0}; done | mmidx-write -q --root {root} --shard s {extra}",
        dir.at("masked.arrows")
    ))
    .ok();
    root
}

#[test]
fn a_large_root_makes_a_small_page() {
    let dir = TempDir::new();
    let root = root(&dir, 2000, "");
    let text = page(&[&root, "--sample", "100000", "-j", "2"]);
    assert!(text.len() < MOST, "{}", text.len());
    assert!(text.contains("<dt>sequences</dt><dd>100,000</dd>"));
    assert!(records(&text).len() >= 150, "{}", records(&text).len());
}

/// However long the records are, and whatever is in them, all of the sample is on the page.
#[test]
fn long_records_are_cut_and_said_to_be() {
    let dir = TempDir::new();
    for (name, unit) in [("plain", "word "), ("escaped", "<\"\u{202e}\\"), ("wide", "製粉🌾")] {
        let line = |number: usize| {
            json!({"id": format!("long-{number}"), "messages": [
                {"role": "user", "content": unit.repeat(20_000 + number)},
                {"role": "assistant", "channel": "final", "content": "Short."},
            ]})
            .to_string()
                + "\n"
        };
        let input = dir.write(&format!("{name}.ndjson"), (0..30).map(line).collect::<String>());
        let text = page(&[&input]);
        assert!(text.len() < MOST, "{name}: {}", text.len());
        let records = records(&text);
        assert_eq!(records.len(), 30, "{name}");
        for (number, record) in records.iter().enumerate() {
            let [user, answer] = [0, 1].map(|message| &record["messages"][message]["pieces"][0]);
            assert_eq!(answer["text"], "Short.");
            let all = unit.chars().count() * (20_000 + number);
            let left = user["left"].as_str().unwrap().replace(',', "");
            let left: usize = left.split(' ').next().unwrap().parse().unwrap();
            let shown = user["text"].as_str().unwrap().replace("<U+202E>", "x").chars().count();
            assert_eq!(shown + left, all, "{name}");
            assert!(shown > 1000, "{name}: {shown}");
        }
    }
}

#[test]
fn the_same_input_makes_the_same_bytes() {
    let dir = TempDir::new();
    let root = root(&dir, 1, "--valid-fraction 0.2");
    let first = page(&[&root, "--check"]);
    assert_eq!(page(&[&root, "--check", "-j", "3"]), first);
    assert_ne!(page(&[&root, "--check", "--seed", "1", "--sample", "5"]), first);
    assert!(first.contains("no problems found"));
    for foreign in ["http://", "https://", "src=", "@import", "url("] {
        let known = first.replace("http://www.w3.org/2000/svg", "");
        assert!(!known.contains(foreign), "{foreign}");
    }
}

/// The records are those that ds-cat gives, of a stream as of a file.
#[test]
fn the_sample_is_what_was_asked_for() {
    let dir = TempDir::new();
    let lines = conversations(60);
    let input = dir.write("c.ndjson", &lines);
    let choices: [&[&str]; 6] = [
        &["--sample", "7", "--seed", "3"],
        &["--nth", "3,50-52"],
        &["--tail", "2"],
        &["--skip", "50", "--limit", "4"],
        &["--id", "id-7", "--id", "id-40"],
        &["--sample", "50"],
    ];
    for choice in choices {
        let expected = tool("ds-cat").args(choice).args(&["-q", &input]).run().silent().records();
        // Each with its number, except where it was asked for by its id.
        let title = |id: &str| match choice[0] {
            "--id" => id.to_string(),
            _ => format!("{id} · #{}", id.trim_start_matches("id-")),
        };
        let expected: Vec<String> =
            expected.iter().map(|r| title(r["id"].as_str().unwrap())).collect();
        let of_stream = tool("ds-view").args(choice).args(&["-q", "--html", "-"]);
        let of_stream = of_stream.input(&lines).run().silent().text();
        for page in [page(&[choice, &[&input]].concat()), of_stream] {
            assert_eq!(titles(&page), expected, "{choice:?}");
        }
    }
    let all = page(&[&input]);
    assert_eq!(titles(&all).len(), 50);
}

/// A column of thirty texts.
fn strings(of: impl Fn(usize) -> String) -> ArrayRef {
    Arc::new(StringArray::from_iter_values((0..30).map(of)))
}

/// Languages, where there is a column of them, and what the records came through.
#[test]
fn columns_and_provenance_are_told() {
    let dir = TempDir::new();
    let columns: [(&str, ArrayRef); 3] = [
        ("synth_id", strings(|n| n.to_string())),
        ("language", strings(|n| ["fr", "de <b>"][usize::from(n % 3 == 0)].to_string())),
        ("messages_json", strings(|_| "{\"messages\": []}".to_string())),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let file = std::fs::File::create(dir.at("c.parquet")).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let text = page(&[&dir.at("c.parquet")]);
    assert!(text.contains("records by language, and their characters"));
    assert!(text.contains("<th scope=\"row\">fr</th><td>20</td>"), "{text}");
    assert!(text.contains("<th scope=\"row\">de &lt;b&gt;</th><td>10</td>"));
    let root = root(&dir, 1, "--valid-fraction 0.5");
    bash(&format!("ds-manifest -q {root}")).ok();
    let text = page(&[&root]);
    assert!(text.contains("<th scope=\"row\">config, valid fraction</th><td>0.5</td>"));
    // Whom the page is given to does not learn where it was made.
    let provenance = text.split("id=\"provenance-head\"").nth(1).unwrap();
    assert!(provenance.contains(".../") && !provenance.contains(&dir.at("")), "{provenance}");
}

#[test]
fn the_file_is_published_like_every_output() {
    let dir = TempDir::new();
    let input = dir.write("c.ndjson", conversations(3));
    let out = dir.at("page.html");
    let run =
        |more: &[&str]| tool("ds-view").args(&["-q", &input, "--html", &out]).args(more).run();
    run(&[]).silent();
    assert_eq!(dir.text("page.html"), page(&[&input]));
    let refused = run(&[]);
    assert_eq!(refused.code(), Some(2), "{refused:?}");
    assert!(refused.stderr.contains("page.html") && refused.stderr.contains("--overwrite"));
    run(&["--overwrite"]).silent();
    // A bad record, a stream to be checked, and a full disk leave no page.
    let bad = dir.write("bad.ndjson", conversations(2) + "{\"id\": 1, \"messages\": 5\n");
    let failed = tool("ds-view").args(&["-q", &bad, "--html", &dir.at("bad.html")]).run();
    assert_eq!(failed.code(), Some(1), "{failed:?}");
    let failed = tool("ds-view").args(&["--check", "--html", &dir.at("bad.html")]).input("").run();
    failed.exits(2, &["--check: a stream is read only once"]);
    for unused in
        [&["-j", "2"][..], &["--html", "x.html", "--step", "3"], &["--html", "x.html", "--tokens"]]
    {
        let refused = tool("ds-view").args(unused).args(&[&input]).run();
        assert_eq!(refused.code(), Some(2), "{refused:?}");
    }
    let full = std::fs::File::create("/dev/full").unwrap();
    let failed = tool("ds-view").args(&["-q", &input, "--html", "-"]).stdout(full).run();
    assert_eq!(failed.code(), Some(75), "{failed:?}");
    assert_eq!(dir.files(), ["bad.ndjson", "c.ndjson", "page.html"]);
}

/// What is found is on the page, with its place; data in it is text.
#[test]
fn findings_are_told() {
    let dir = TempDir::new();
    let root = root(&dir, 1, "");
    let path = format!("{root}/train/s_lossmask.bin");
    let mut mask = std::fs::read(&path).unwrap();
    mask[0] = 255;
    std::fs::write(&path, mask).unwrap();
    let run = tool("ds-view").args(&[&root, "--check", "-q", "--html", "-"]).run();
    run.exits(1, &["has not passed ds-check: 2 errors; the page has them"]);
    let text = run.text();
    let found = tool("ds-check").args(&["--format", "json", "-q", &root]).run().records();
    let checks: Vec<&str> = found.iter().filter_map(|finding| finding["check"].as_str()).collect();
    assert!(!checks.is_empty());
    for check in checks {
        assert!(text.contains(check), "{check}");
    }
    assert!(text.contains("train/s_lossmask.bin"));
    assert!(!page(&[&root]).contains("id=\"findings\""));
}

/// The last step of a game may state a move and no values.
#[test]
fn a_step_without_values_has_no_point() {
    let games = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/view/games.ndjson");
    let page = page(&[games]);
    assert_eq!(records(&page).len(), 3);
    assert!(page.contains("value of the move (EV) against step"));
}
