//! The page and the terminal of every kind of data. With GRISTMILL_SCREENSHOTS=DIR there are pictures of
//! the pages to look at, of a desk and of a phone, light and dark (tools/page-pictures.sh --all DIR).

use super::browser::{assert_good, page};
use super::{sample, width_of};
use crate::checks::{games, puzzles};
use crate::common::browser::{Browser, Window};
use crate::common::{TempDir, bash, conversations, tool, write_parquet};
use serde_json::{Value, json};

/// Everything that a page can be of: its name, and where it is.
fn kinds(dir: &TempDir) -> Vec<(String, String)> {
    dir.write("conversations.ndjson", sample("conversations"));
    dir.write("many.ndjson", conversations(60));
    let chat = |n: usize| {
        let user = json!({"role": "user", "content": format!("What is {n} + {n}?")});
        let answer = json!({"role": "assistant", "content": format!("It is {}.", 2 * n)});
        json!({"id": format!("chat-{n}"), "messages": [user, answer]}).to_string() + "\n"
    };
    dir.write("chats.jsonl", (0..9).map(chat).collect::<String>());
    let raw = |n: usize| {
        json!({"synth_id": format!("synth_memory_{n}"), "language": "en", "exercise": "memorization",
            "query": "What is a mill?", "synthetic_reasoning": "A mill grinds.\nSo …",
            "synthetic_answer": "**A mill** grinds grain."})
        .to_string()
            + "\n"
    };
    write_parquet(dir.at("raw.parquet").as_ref(), &(0..9).map(raw).collect::<String>());
    bash(&format!(
        "set -e -o pipefail; cd {}; chat-harmony -q chats.jsonl > chats.ndjson; export GRISTMILL_TO=arrow
         harmony-tok -q conversations.ndjson --policy chat > tokens.arrows
         harmony-tok -q many.ndjson | span-mask | mmidx-write -q --root root --shard s --valid-fraction 0.2
         seq-pack -q root/train -o rows.parquet --seq-length 4096",
        dir.path().display()
    ))
    .ok();
    games::make(dir);
    puzzles::make(dir);
    // Of the sample what no set above has.
    for (name, domain) in [("chess", json!("chess")), ("unnamed", Value::Null)] {
        let is_own = |line: &&str| serde_json::from_str::<Value>(line).unwrap()["domain"] == domain;
        let lines = sample("puzzles");
        let own = lines.lines().filter(is_own).map(|line| format!("{line}\n"));
        dir.write(&format!("{name}.ndjson"), own.collect::<String>());
    }
    let inputs = "conversations.ndjson tokens.arrows root rows.parquet pack sudoku arc maze domino \
                  chess.ndjson unnamed.ndjson raw.parquet chats.ndjson";
    let name = |input: &str| input.split('.').next().unwrap().to_string();
    inputs.split_whitespace().map(|input| (name(input), dir.at(input))).collect()
}

#[test]
fn every_kind_of_data_has_a_page() {
    let Some(mut browser) = Browser::start() else { return };
    let dir = TempDir::new();
    for (name, input) in kinds(&dir) {
        let path = page(&dir, &format!("{name}.html"), &[&input, "--check"]);
        assert_good(&mut browser, &path);
        for (scheme, is_dark) in [("light", false), ("dark", true)] {
            for (width, height) in [(1280, 1600), (380, 1600)] {
                browser.open(&path, Window { width, height, is_dark });
                browser.picture(&format!("{name}-{width}-{scheme}"));
            }
        }
        // Nothing is wider than its place, but what scrolls in itself.
        browser.open(&path, Window { width: 380, height: 780, is_dark: false });
        let cut = browser.eval(
            "[...document.querySelectorAll('header *, .card > *, #record > *')]
                 .filter((node) => node.checkVisibility() && node.scrollWidth > node.clientWidth + 1)
                 .filter((node) => getComputedStyle(node).display !== 'inline')
                 .filter((node) => getComputedStyle(node).overflowX === 'hidden')
                 .map((node) => node.outerHTML.slice(0, 100))",
        );
        assert_eq!(cut, json!([]), "{name}");
    }
}

#[test]
fn every_kind_of_data_fits_a_terminal() {
    let dir = TempDir::new();
    for (name, input) in kinds(&dir) {
        for columns in [80, 50] {
            let view = tool("ds-view").env("COLUMNS", &columns.to_string()).env("LINES", "60");
            let shown = view.args(&[&input, "--check"]).run().silent().text();
            let widest = shown.lines().map(width_of).max();
            assert!(widest <= Some(columns), "{name}: {widest:?}\n{shown}");
            // The head is never cut.
            let head: Vec<&str> =
                shown.lines().take_while(|line| !line.is_empty()).skip(1).collect();
            assert!(head.iter().all(|line| !line.ends_with('…')), "{name}: {shown}");
            assert!(head.iter().any(|line| line.contains("ds-check: ")), "{name}: {shown}");
            if let Some(directory) = std::env::var_os("GRISTMILL_SCREENSHOTS") {
                let file = std::path::Path::new(&directory).join(format!("{name}-{columns}.txt"));
                std::fs::write(file, shown).unwrap();
            }
        }
    }
}
