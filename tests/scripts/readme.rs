//! The commands of README.md and of every other page are run as printed: each block twice, in an order
//! drawn at random, each time in a folder of its own. A block starts with a marker before its fence: `<!-- run -->`;
//! `<!-- run: MODULES -->` if it needs modules of Python; or `<!-- not run: WHY -->`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use crate::common::{Random, TempDir};

/// A block of a page.
#[derive(Debug, Clone)]
pub struct Block {
    pub page: String,
    pub language: String,
    /// Modules of Python that it needs.
    pub modules: Vec<String>,
    pub code: String,
}

/// All pages that are for users.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut pages = vec![root.join("README.md"), root.join("python/README.md")];
    for folder in ["docs", "docs/trainers"] {
        let entries = std::fs::read_dir(root.join(folder)).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        pages.extend(paths.filter(|path| path.extension().is_some_and(|ending| ending == "md")));
    }
    pages.sort();
    pages
}

/// The blocks of a page that are run. One of shell without a marker is an error, and one of Python in docs.
pub fn blocks(page: &Path) -> Vec<Block> {
    let name = page.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap_or(page).display().to_string();
    let text = std::fs::read_to_string(page).unwrap();
    let (mut blocks, mut before) = (Vec::new(), "");
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let code: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            let marker = before.strip_prefix("<!-- ").and_then(|text| text.strip_suffix(" -->"));
            let modules = match marker.unwrap_or_default().split_once(':') {
                None if marker == Some("run") => Some(""),
                Some(("run", modules)) => Some(modules),
                _ => None,
            };
            let is_left = marker.is_some_and(|marker| marker.starts_with("not run: "));
            let is_marked = language == "bash" || language == "python" && name.starts_with("docs/");
            assert!(
                modules.is_some() || is_left || !is_marked,
                "{name}: a block has no marker: {code:?}"
            );
            blocks.extend(modules.map(|modules| Block {
                page: name.clone(),
                language: language.to_string(),
                modules: modules.split_whitespace().map(str::to_string).collect(),
                code: code.join("\n"),
            }));
        }
        before = line;
    }
    blocks
}

/// A checkout of its own, as far as the commands can see, with what scripts/quickstart.sh leaves.
struct Place(TempDir);

impl Place {
    fn new() -> Place {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let dir = TempDir::new();
        for name in ["scripts", "python", "Cargo.toml"] {
            std::os::unix::fs::symlink(root.join(name), dir.path().join(name)).unwrap();
        }
        std::fs::create_dir_all(dir.path().join("home/tmp")).unwrap();
        let place = Place(dir);
        let quickstart = place.command("bash").arg("scripts/quickstart.sh").output().unwrap();
        let stderr = String::from_utf8_lossy(&quickstart.stderr);
        assert!(quickstart.status.success(), "{stderr}");
        place
    }

    /// A new folder that shows what is in this place, so that blocks do not see what others have made.
    fn room(&self) -> TempDir {
        let room = TempDir::new();
        for entry in std::fs::read_dir(self.0.path()).unwrap() {
            let entry = entry.unwrap();
            std::os::unix::fs::symlink(entry.path(), room.path().join(entry.file_name())).unwrap();
        }
        room
    }

    fn command(&self, program: &str) -> Command {
        let filters = Path::new(env!("CARGO_BIN_EXE_harmony-tok")).parent().unwrap();
        let mut command = Command::new(program);
        command
            .current_dir(self.0.path())
            .env("PATH", format!("{}:{}", filters.display(), std::env::var("PATH").unwrap()))
            .env("HOME", self.0.path().join("home"))
            .env("TMPDIR", self.0.path().join("home/tmp"))
            .env("PYTHONPATH", self.0.path().join("python"))
            .env("GRISTMILL_BUILT", "1")
            .env_remove("GRISTMILL_TO");
        command
    }

    /// Runs a block; of shell with the Python that has what it needs in front of the path.
    fn run(&self, block: &Block, python: Option<&Path>) {
        let mut command = match (block.language.as_str(), python) {
            ("bash", _) => self.command("bash"),
            (_, Some(python)) => self.command(&python.display().to_string()),
            (_, None) => self.command("python3"),
        };
        if block.language == "bash" {
            command.args(["-euo", "pipefail"]);
        }
        if let Some(folder) = python.and_then(Path::parent) {
            let path = command.get_envs().find(|(name, _)| *name == "PATH").and_then(|(_, v)| v);
            let path = format!("{}:{}", folder.display(), path.unwrap().display());
            command.env("PATH", path);
        }
        let room = self.room();
        command.current_dir(room.path());
        let output = command.args(["-c", &block.code]).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{}\n{}\n{stdout}\n{stderr}", block.page, block.code);
    }
}

/// The first Python that has some modules.
fn python_with(modules: &[String]) -> Option<PathBuf> {
    let named = ["GRISTMILL_PYTHON", "GRISTMILL_TORCH_PYTHON"].map(std::env::var_os);
    let all = named.into_iter().flatten().chain(["python3".into()]);
    let imports = format!("import {}", modules.join(", "));
    let has = |python: &PathBuf| {
        let found = Command::new(python).args(["-c", &imports]).output();
        found.is_ok_and(|output| output.status.success())
    };
    all.map(PathBuf::from).find(has)
}

#[test]
fn every_block_of_every_page_runs_twice_in_any_order() {
    for tool in ["jq", "parallel"] {
        if Command::new(tool).arg("--version").output().is_err() {
            println!("skipped: {tool} is not installed");
            return;
        }
    }
    let pages: Vec<Vec<Block>> = pages().iter().map(|page| blocks(page)).collect();
    assert!(pages.iter().filter(|blocks| !blocks.is_empty()).count() >= 9, "{pages:?}");
    let mut runs: Vec<(Block, Option<PathBuf>)> = Vec::new();
    for block in pages.into_iter().flatten() {
        let python = match block.modules.is_empty() {
            true => None,
            false => python_with(&block.modules),
        };
        if python.is_none() && !block.modules.is_empty() {
            println!("skipped: {}: no Python here has {:?}", block.page, block.modules);
            continue;
        }
        runs.extend([(block.clone(), python.clone()), (block, python)]);
    }
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos() as u64;
    let seed = std::env::var("GRISTMILL_SEED").map_or(now, |seed| seed.parse().unwrap());
    println!("GRISTMILL_SEED={seed} draws this order again");
    let mut random = Random(seed | 1);
    for last in (1..runs.len()).rev() {
        runs.swap(last, random.below(last + 1));
    }
    let place = Place::new();
    let (one, other) = runs.split_at(runs.len() / 2);
    // Side by side, as they have nothing to do with each other.
    std::thread::scope(|scope| {
        for half in [one, other] {
            scope.spawn(|| {
                half.iter().for_each(|(block, python)| place.run(block, python.as_deref()))
            });
        }
    });
}

/// The contents list the page of every format.
#[test]
fn every_format_is_in_the_contents() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let contents = std::fs::read_to_string(root.join("docs/SUMMARY.md")).unwrap();
    let lib = root.join("lib");
    let pages = gristmill::walk::files(&lib, |_| true).map(|path| path.unwrap());
    for page in pages.filter(|path| path.ends_with("FORMAT.md")) {
        let link = format!("(../{})", page.strip_prefix(root).unwrap().display());
        assert!(contents.contains(&link), "docs/SUMMARY.md lacks {link}");
    }
}
