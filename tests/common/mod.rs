//! What the tests of the binaries share: running them as a user does, directories that go away,
//! and where the data and the Python of the oracles are.

#![allow(dead_code, unused_imports)] // every test file uses a part of it

pub mod arrays;
pub mod browser;
pub mod models;
pub mod oracle;
pub mod run;
pub mod samples;
pub mod shards;
pub mod vocabulary;
pub mod writers;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

pub use arrays::assert_npyz_reads;
pub use oracle::{oracle, python_code};
pub use run::{
    Outcome, Tool, bash, bash_with, bin_dir, is_counted, peak, peak_to_end, tool, unchecked_sink,
};
pub use samples::{
    Random, conversation, conversations, masked_answer, masked_line, tokens_line, without_places,
};
pub use shards::{
    copy_ds_plan, copy_scripts, wrap, write_parquet, write_saved, write_shard, write_shards,
};
pub use vocabulary::write_vocabulary;

/// What damages a record or a manifest.
pub type Edit<'a> = &'a dyn Fn(&mut serde_json::Value);

/// Every filter there is: a file of src/bin.
pub static FILTERS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let entries = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/bin")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut filters: Vec<String> =
        paths.map(|path| path.file_stem().unwrap().to_str().unwrap().to_string()).collect();
    filters.sort();
    assert!(filters.len() >= 9, "{filters:?}");
    filters
});

/// Says that a test does nothing, past the test harness's capture; scripts/test.sh counts these lines at the end.
pub fn skip(why: &str) {
    use std::io::Write;
    let name = std::thread::current().name().unwrap_or("test").to_string();
    let _ = writeln!(std::io::stderr(), "skipped {name}: {why}");
    if let Some(list) = std::env::var_os("GRISTMILL_SKIPPED") {
        let mut list = fs::OpenOptions::new().append(true).create(true).open(list).unwrap();
        list.write_all(format!("{why}\t{name}\n").as_bytes()).unwrap();
    }
}

/// A folder of the test data; `None`, with a line on stderr, if there is none.
pub fn data(name: &str) -> Option<PathBuf> {
    let Some(root) = std::env::var_os("GRISTMILL_DATA") else {
        skip("GRISTMILL_DATA is not set");
        return None;
    };
    let path = Path::new(&root).join(name);
    assert!(path.exists(), "{} is not there", path.display());
    Some(path)
}

/// The directory of the benchmark's real texts; `None`, with a line on stderr, if none is named.
pub fn texts() -> Option<PathBuf> {
    let path = std::env::var_os("GRISTMILL_TEXTS").map(PathBuf::from);
    if path.is_none() {
        skip("GRISTMILL_TEXTS is not set (benches/suite/real_texts.py makes the texts)");
    }
    path
}

/// The Python of the oracles (numpy, pyarrow); `None`, with a line on stderr, if none is named.
pub fn python() -> Option<PathBuf> {
    let python = std::env::var_os("GRISTMILL_PYTHON").map(PathBuf::from);
    if python.is_none() {
        skip("GRISTMILL_PYTHON is not set");
    }
    python
}

/// The script of axe-core, which looks for what bars people from a page; `None`, with a line on stderr, if
/// none is named.
pub fn axe() -> Option<String> {
    let path = std::env::var_os("GRISTMILL_AXE");
    if path.is_none() {
        skip("GRISTMILL_AXE is not set (tools/venv.sh fetches it)");
    }
    path.map(|path| std::fs::read_to_string(path).unwrap())
}

/// A Python with torch and Megatron's dataset classes; `None`, with a line on stderr, if none is
/// named.
pub fn torch_python() -> Option<PathBuf> {
    let python = std::env::var_os("GRISTMILL_TORCH_PYTHON").map(PathBuf::from);
    if python.is_none() {
        skip("GRISTMILL_TORCH_PYTHON is not set (tools/venv.sh makes target/venv-torch)");
    }
    python
}

/// Whether a program that a test can do without is installed; says so if not.
pub fn installed(program: &str) -> bool {
    let there = bash(&format!("command -v {program} >/dev/null")).code() == Some(0);
    if !there {
        skip(&format!("{program} is not installed (try: apt-get install {program})"));
    }
    there
}

/// A directory that is removed with its content.
pub struct TempDir(tempfile::TempDir);

impl TempDir {
    pub fn new() -> TempDir {
        TempDir(tempfile::Builder::new().prefix("gristmill-test-").tempdir().unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// A path in it, as text.
    pub fn at(&self, name: &str) -> String {
        self.path().join(name).to_str().unwrap().to_string()
    }

    /// A pipeline in bash that is run in it.
    pub fn bash(&self, script: &str) -> Outcome {
        run::shell(script).in_directory(self.path()).run()
    }

    /// Writes a file, with the directories above it.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_string()
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        let path = self.path().join(name);
        fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    pub fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).unwrap()
    }

    /// The lines of a file as JSON.
    pub fn records(&self, name: &str) -> Vec<serde_json::Value> {
        self.text(name).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub fn json(&self, name: &str) -> serde_json::Value {
        serde_json::from_slice(&self.read(name)).unwrap()
    }

    /// Every file in it, hidden ones too, by name.
    pub fn files(&self) -> Vec<String> {
        files_in(self.path())
    }
}

/// The files below a directory, hidden ones too, relative to it and sorted; none where it is not.
pub fn files_in(directory: &Path) -> Vec<String> {
    fn walk(base: &Path, directory: &Path, found: &mut Vec<String>) {
        let Ok(entries) = fs::read_dir(directory) else { return };
        for entry in entries.flatten() {
            let path = entry.path();
            if path.is_dir() {
                walk(base, &path, found);
            } else {
                found.push(path.strip_prefix(base).unwrap().to_str().unwrap().to_string());
            }
        }
    }
    let mut found = Vec::new();
    walk(directory, directory, &mut found);
    found.sort();
    found
}

/// The `.bin` and `.idx` files below a root.
pub fn datasets_in(root: &Path) -> Vec<String> {
    let is_dataset = |name: &String| name.ends_with(".bin") || name.ends_with(".idx");
    files_in(root).into_iter().filter(is_dataset).collect()
}

/// Two roots have the same datasets, byte for byte, and no temporaries.
#[track_caller]
pub fn assert_same_datasets(ours: &Path, theirs: &Path) {
    assert_eq!(datasets_in(ours), datasets_in(theirs));
    for name in datasets_in(ours) {
        let same = fs::read(ours.join(&name)).unwrap() == fs::read(theirs.join(&name)).unwrap();
        assert!(same, "{name} of {} differs from {}", ours.display(), theirs.display());
    }
    assert_no_temporaries(ours);
}

/// Two roots have the same files, byte for byte, but for `run` in their manifests; tasks are not looked at.
#[track_caller]
pub fn assert_same_roots(ours: &Path, theirs: &Path) {
    let files = |root: &Path| {
        let mut files = files_in(root);
        files.retain(|name| !name.starts_with("tasks/"));
        files
    };
    assert_eq!(files(ours), files(theirs));
    assert!(files(ours).len() > 3);
    for name in files(ours) {
        let [a, b] = [ours, theirs].map(|root| fs::read(root.join(&name)).unwrap());
        let bare = |text: &[u8]| {
            let mut json: serde_json::Value = serde_json::from_slice(text).unwrap();
            json.as_object_mut().unwrap().remove("run").unwrap();
            json
        };
        let is_manifest = name == "manifest.json" || name.starts_with("parts/");
        match is_manifest {
            true => assert_eq!(bare(&a), bare(&b), "{name}"),
            false => assert!(a == b, "{name} differs"),
        }
    }
    assert_no_temporaries(ours);
}

#[track_caller]
pub fn assert_no_temporaries(directory: &Path) {
    let left: Vec<String> =
        files_in(directory).into_iter().filter(|name| name.contains("gristmill-tmp")).collect();
    assert!(left.is_empty(), "temporaries are left: {left:?}");
}

/// Where the messages of an Arrow stream begin, and its end.
pub fn message_boundaries(stream: &[u8]) -> Vec<usize> {
    let number = |at: usize| i32::from_le_bytes(stream[at..at + 4].try_into().unwrap()) as usize;
    let mut boundaries = Vec::new();
    let mut at = 0;
    while at < stream.len() {
        boundaries.push(at);
        assert_eq!(stream[at..at + 4], [0xff; 4], "no message at {at}");
        let head = number(at + 4);
        at += 8;
        if head > 0 {
            let message = arrow_ipc::root_as_message(&stream[at..at + head]).unwrap();
            at += head + message.bodyLength() as usize;
        }
    }
    boundaries.push(at);
    boundaries
}
