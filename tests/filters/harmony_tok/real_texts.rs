//! The tokens of real documents, in many languages, against tiktoken's.
//!
//! `GRISTMILL_TEXTS` (a directory that benches/suite/real_texts.py has made) and `GRISTMILL_PYTHON`
//! (a Python with tiktoken) switch it on. benches/results/real-texts.md has the result over all documents.

use crate::common::{TempDir, bash_with, python, texts, write_vocabulary};

/// A tenth of the documents, drawn with a fixed seed, or one of as many as `GRISTMILL_PART` says.
/// Decoding gives them back.
#[test]
fn real_documents() {
    let (Some(texts), Some(python)) = (texts(), python()) else { return };
    let part = std::env::var("GRISTMILL_PART").unwrap_or_else(|_| "10".to_string());
    let directory = TempDir::new();
    write_vocabulary(directory.path());
    let script = "
        set -euo pipefail
        oracle() { \"$python\" tests/oracle/real_texts.py \"$1\" \"$part\" \"$texts/real.ndjson\"; }
        oracle give | harmony-tok -q -j 2 --policy chat >\"$scratch/tokens\"
        oracle check <\"$scratch/tokens\"
        harmony-tok -q --decode \"$scratch/tokens\" | oracle decoded";
    let scratch = directory.path().to_str().unwrap();
    let variables = [
        ("python", python.to_str().unwrap()),
        ("part", &part),
        ("texts", texts.to_str().unwrap()),
        ("scratch", scratch),
        ("TIKTOKEN_ENCODINGS_BASE", scratch),
        ("PYTHONDONTWRITEBYTECODE", "1"),
    ];
    let said = bash_with(script, &variables).ok().text();
    println!("{said}");
    assert_eq!(said.matches(": equal\n").count(), 2, "{said}");
    assert!(!said.starts_with("0 documents"), "{said}");
}
