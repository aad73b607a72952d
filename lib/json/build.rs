//! Writes `unprintable` to `OUT_DIR`: the code points beyond ASCII that Python's `repr` escapes, which are the
//! categories C and Z of Unicode 16.0, taken from regex-syntax. The file has ranges of code points, the first and the
//! last of each as little-endian `u32`. (Surrogates are in no text. std's tables depend on the compiler's version.)

use std::path::Path;
use std::{env, fs};

use regex_syntax::Parser;
use regex_syntax::hir::{Class, HirKind};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let knows = |pattern: &str| Parser::new().parse(pattern).is_ok();
    assert!(
        knows(r"\p{Age=16.0}") && !knows(r"\p{Age=17.0}"),
        "regex-syntax must carry Unicode 16.0, as the oracles do"
    );
    let hir = Parser::new().parse(r"[\p{C}\p{Z}]").expect("a class of regex-syntax");
    let HirKind::Class(Class::Unicode(ranges)) = hir.kind() else { panic!("not a Unicode class") };
    let ends = ranges.iter().flat_map(|range| [range.start(), range.end()]);
    let bytes: Vec<u8> = ends.flat_map(|end| u32::from(end).to_le_bytes()).collect();
    let out = env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    fs::write(Path::new(&out).join("unprintable"), bytes).expect("OUT_DIR can be written");
}
