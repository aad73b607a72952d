//! The commands of README.md and of docs/ are run as printed.

use crate::common;

use std::path::Path;
use std::process::Command;

/// The code blocks after a marker, with what stands in the marker's line after its name.
fn blocks<'a>(page: &'a str, marker: &str, language: &str) -> Vec<(&'a str, &'a str)> {
    let fence = format!("```{language}\n");
    page.split(marker)
        .skip(1)
        .filter_map(|rest| {
            let (told, rest) = rest.split_once(" -->\n")?;
            Some((told.trim(), rest.strip_prefix(&fence)?.split("\n```").next()?))
        })
        .collect()
}

/// A checkout of its own, as far as the commands can see: what they write goes to a new target.
struct Place(common::TempDir);

impl Place {
    fn new() -> Place {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let dir = common::TempDir::new();
        for name in ["scripts", "Cargo.toml"] {
            std::os::unix::fs::symlink(root.join(name), dir.path().join(name)).unwrap();
        }
        let place = Place(dir);
        // What scripts/quickstart.sh leaves, without the build.
        place.run(
            "bash",
            "mkdir -p target/quickstart/input && cp scripts/example/manifest.json \
             target/quickstart/input && ds-cat scripts/example/conversations.ndjson --to parquet \
             -o target/quickstart/input/synth_harmony_shard_00.parquet && \
             scripts/synth-kd.sh target/quickstart/input target/quickstart/dataset",
        );
        place
    }

    fn run(&self, program: &str, code: &str) {
        let filters = Path::new(env!("CARGO_BIN_EXE_harmony-tok")).parent().unwrap();
        let mut command = Command::new(program);
        if program == "bash" {
            command.args(["-euo", "pipefail"]);
        }
        let output = command
            .args(["-c", code])
            .current_dir(self.0.path())
            .env("PATH", format!("{}:{}", filters.display(), std::env::var("PATH").unwrap()))
            .env_remove("GRISTMILL_TO")
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{code}\n{stderr}");
    }
}

/// Runs a page's commands one after the other, and its Python where the modules are there.
fn page_works(name: &str, commands: usize) {
    for tool in ["jq", "parallel"] {
        if Command::new(tool).arg("--version").output().is_err() {
            println!("skipped: {tool} is not installed");
            return;
        }
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    let page = std::fs::read_to_string(page).unwrap();
    let shell = blocks(&page, "<!-- run", "bash");
    assert_eq!(shell.len(), commands, "{name}");
    let place = Place::new();
    for (_, block) in shell {
        place.run("bash", block);
    }
    for (modules, block) in blocks(&page, "<!-- run-python:", "python") {
        let python = std::env::var("GRISTMILL_PYTHON").unwrap_or_else(|_| "python3".into());
        let imports = format!("import {}", modules.replace(' ', ", "));
        let found = Command::new(&python).args(["-c", &imports]).output();
        if !found.is_ok_and(|output| output.status.success()) {
            println!("skipped: {python} has not all of {modules}");
            continue;
        }
        place.run(&python, block);
    }
}

#[test]
fn the_readme_works() {
    page_works("README.md", 9);
}

#[test]
fn the_page_of_chats_works() {
    page_works("docs/your-chats.md", 3);
}

#[test]
fn the_page_of_conversations_works() {
    page_works("docs/chat.md", 5);
}

#[test]
fn the_page_of_games_works() {
    page_works("docs/games.md", 4);
}

#[test]
fn the_page_of_puzzles_works() {
    page_works("docs/puzzles.md", 2);
}

#[test]
fn the_recipes_work() {
    page_works("docs/recipes.md", 5);
}

#[test]
fn the_page_of_trainers_works() {
    page_works("docs/trainers/README.md", 1);
}

#[test]
fn the_page_of_errors_works() {
    page_works("docs/errors.md", 2);
}
