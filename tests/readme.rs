//! The README's pipelines are run as printed.

mod common;

use std::path::Path;
use std::process::Command;

/// The code blocks after `<!-- run -->`.
fn blocks(readme: &str) -> Vec<&str> {
    readme
        .split("<!-- run -->\n```bash\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect()
}

#[test]
fn the_pipelines_of_the_readme_work() {
    if Command::new("jq").arg("--version").output().is_err() {
        println!("skipped: jq is not installed");
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let blocks = blocks(&readme);
    assert_eq!(blocks.len(), 10);
    // A checkout of its own, as far as the commands can see: what they write goes to a new target.
    let place = common::TempDir::new();
    for name in ["scripts", "Cargo.toml"] {
        std::os::unix::fs::symlink(root.join(name), place.path().join(name)).unwrap();
    }
    let filters = Path::new(env!("CARGO_BIN_EXE_harmony-tok")).parent().unwrap();
    let prepare = "mkdir -p target/quickstart/input && cp scripts/example/manifest.json \
                   target/quickstart/input && ds-cat scripts/example/conversations.ndjson --to \
                   parquet -o target/quickstart/input/synth_harmony_shard_00.parquet && \
                   scripts/synth-kd.sh target/quickstart/input target/quickstart/dataset";
    for block in [prepare].iter().chain(&blocks) {
        let output = Command::new("bash")
            .args(["-euo", "pipefail", "-c", block])
            .current_dir(place.path())
            .env("PATH", format!("{}:{}", filters.display(), std::env::var("PATH").unwrap()))
            .env_remove("GRISTMILL_TO")
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{block}\n{stderr}");
    }
}
