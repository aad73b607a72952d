//! Writes `filters.rs` to `OUT_DIR`: every filter as a module of the program that holds all of them.

use std::path::Path;
use std::{env, fs};

/// The filters that need a feature (as `required-features` in Cargo.toml say).
const FEATURES: [(&str, &[&str]); 4] = [
    ("ds-plan", &["PLANS"]),
    ("mx-decode", &["GAMES"]),
    ("npy-pack", &["GAMES", "PUZZLES"]),
    ("puzzle-encode", &["PUZZLES"]),
];

fn is_of_features(path: &Path) -> bool {
    let needed =
        FEATURES.iter().find(|(name, _)| path.file_stem().is_some_and(|stem| stem == *name));
    let mut needed = needed.into_iter().flat_map(|(_, needed)| needed.iter());
    needed.all(|name| env::var_os(format!("CARGO_FEATURE_{name}")).is_some())
}

pub fn write() {
    // As it is now: a checkout may have been moved, and this program with it.
    let package = env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    let directory = Path::new(&package).join("src/bin");
    println!("cargo::rerun-if-changed=src/bin");
    let entries = fs::read_dir(&directory).expect("src/bin can be listed");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    paths.retain(|path| is_of_features(path));
    paths.sort();
    let (mut modules, mut table) = (String::new(), String::new());
    for path in paths {
        let name = path.file_stem().and_then(|name| name.to_str()).expect("a name in UTF-8");
        let module = name.replace('-', "_");
        modules += &format!("#[path = {path:?}]\nmod {module};\n");
        table += &format!(
            "    ({name:?}, {module}::main, <{module}::Args as clap::CommandFactory>::command),\n"
        );
    }
    let text = format!("{modules}\nconst FILTERS: &[Filter] = &[\n{table}];\n");
    let out = Path::new(&env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("filters.rs");
    // Written only when it changes: it is a source.
    if !fs::read_to_string(&out).is_ok_and(|found| found == text) {
        fs::write(&out, text).expect("OUT_DIR can be written");
    }
}
