//! The library of gristmill's filters. This page lists the modules.
//!
//! A filter is one file in `src/bin`: its arguments, and a `run` that opens a [`Reader`](stream::Reader)
//! with [`dataset::open`] and hands it, with a stage and a sink, to the [`Runner`](runner::Runner).
//!
//! | module | holds | uses |
//! |---|---|---|
//! | [`failure`] | how a failure travels in an Arrow stream | |
//! | [`chain`] | filters that run in one process, one after the other | `failure` |
//! | [`program`] | how the filter that runs was started | `chain` |
//! | [`wording`] | numbers as people read them | |
//! | [`error`] | the one error that leaves the library: kind, place, cause, hint | `failure`, `wording` |
//! | [`files`] | what is at a path, or why that cannot be known | `error` |
//! | [`gzip`] | gzip as gzip reads it | |
//! | [`inputs`] | what this run reads, which no output replaces | `files` |
//! | [`way_on`] | command lines that errors propose after `try:` | `inputs`, `program`, `wording` |
//! | [`mod@visible`] | what data and names contain, as it may be printed | |
//! | [`handed`] | lists that common code is handed by the program | |
//! | [`said`] | what the user says about records, for whom it concerns | |
//! | [`json`] | a pull reader over JSON text, for the hot paths; JSON and `repr` as Python writes them | |
//! | [`simd`] | all vector instructions, chosen in one way; plain code beside them | |
//! | [`digest`] | SHA-256 of files, hexadecimal | |
//! | [`file_entry`] | what a file is (path, bytes, SHA-256), and whether it still is that | `files`, `digest` |
//! | [`known_files`] | what one reading of files of rows has found, for later ones | `digest` |
//! | [`tokenizer`] | o200k: vocabulary, pre-tokenizer, byte-pair encoder | |
//! | [`game2048`] | boards, moves, evaluation, the rows of the three pools | |
//! | [`record`] | the record types: each declared once | `game2048`, `handed` |
//! | [`harmony`] | conversations: what is accepted, rendering, spans, and back | `json`, `tokenizer`, `record` |
//! | [`chat`] | chats of all common shapes, into conversations: a shape is an entry in a table | `json`, `harmony` |
//! | [`ordered`], [`walk`] | work on several threads with the results in order; walking folders | `error` |
//! | [`packing`] | which sequences stand together in a row: lengths in, rows out | |
//! | [`panics`] | panics of the crates that decode, caught at the readers' edge | |
//! | [`puzzle`] | ARC, Sudoku, Maze, Domino: a domain is a file | `record`, `ordered`, `walk` |
//! | [`signals`] | what a signal ends, and what it waits for | `error` |
//! | [`publish`] | outputs that are whole or not there: staging, locks, markers | `inputs`, `signals` |
//! | [`provenance`] | how a dataset was made: run, build, inputs | `program`, `publish` |
//! | [`cli`] | arguments, exit codes, progress, rejects | `publish`, `signals` |
//! | [`batch`] | what passes from reader to stage to sink: batches, headers, and the interfaces of all three | `cli`, `record` |
//! | [`model`] | folders of Hugging Face models: templates that render chats, texts into tokens | `chat`, `batch` |
//! | [`mod@format`] | the table of formats, and a folder for each: what it is ([`Format`](format::Format)), reader, writer, and its page `FORMAT.md` | `batch`, domain modules |
//! | [`stream`] | NDJSON, Arrow and Parquet as streams of batches; `SPEC.md` | `format` |
//! | [`check`] | what all checks share, and a folder for each family; a check is declared where it is used | all above |
//! | [`dataset`] | [`dataset::open`], which opens everything that holds records | all above |
//! | [`plan`] | a pipeline as tasks for many machines: slices, receipts, states, joining | `format` |
//! | [`stage`] | what filters do to batches | `batch`, domain modules |
//! | [`stat`] | numbers of records, by type | `stream`, `check::repeats` |
//! | [`view`] | what a record looks like to a person, in a terminal and on a page | `check`, `stat`, `stream` |
//! | [`pages`] | inputs as `ds-view` shows them: a page, a verdict | `dataset`, `view` |
//! | [`diff`] | whether two inputs hold the same records, and where not | `stream`, `check::repeats` |
//! | [`kinds`] | a folder for each record type: how it is counted, shown, compared, checked | `check`, `diff`, `stat`, `view` |
//! | [`subjects`] | the lists of all record types, families and kinds: what this program knows | all above |
//! | [`runner`] | the loop of every filter | `batch`, `stream` |
//!
//! A module imports only modules above it in the table (a test reads them; `record::tokens` and the segments of
//! `format::token_rows` alone use the encoding of `stream`). The library never exits, and prints only in `cli`.
//! CONTRIBUTING.md says where to add things.

pub use gristmill_json as json;
pub use gristmill_models::panics;
pub use gristmill_simd as simd;
pub use gristmill_tokenizer as tokenizer;

pub mod batch;
pub mod chain;
pub mod chat;
pub mod check;
pub mod cli;
pub mod dataset;
pub mod diff;
pub mod digest;
pub mod error;
pub mod failure;
pub mod file_entry;
pub mod files;
pub mod format;
pub mod game2048;
pub mod gzip;
pub mod handed;
pub mod harmony;
pub mod inputs;
pub mod kinds;
pub mod known_files;
pub mod model;
pub mod ordered;
pub mod packing;
pub mod pages;
pub mod plan;
pub mod program;
pub mod provenance;
pub mod publish;
pub mod puzzle;
pub mod record;
pub mod runner;
pub mod said;
pub mod signals;
pub mod stage;
pub mod stat;
pub mod stream;
pub mod subjects;
pub mod view;
pub mod visible;
pub mod walk;
pub mod way_on;
pub mod wording;

pub use subjects::main;

#[cfg(test)]
mod tests {
    use std::path::Path;

    /// The modules in the order of the table.
    fn modules() -> Vec<String> {
        let rows = include_str!("lib.rs").lines().filter_map(|line| line.strip_prefix("//! | "));
        let names =
            rows.filter_map(|row| row.split(" | ").next()).flat_map(|cell| cell.split(", "));
        let names = names.map(|name| name.trim_matches(['[', ']', '`']).replace("mod@", ""));
        names.filter(|name| name != "module").collect()
    }

    #[test]
    fn a_module_imports_only_modules_above_it() {
        let modules = modules();
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut wrong = Vec::new();
        for file in walkdir::WalkDir::new(root) {
            let path = file.unwrap().into_path();
            let name = path.strip_prefix(root).unwrap().with_extension("");
            let Some(own) = modules.iter().position(|module| name.starts_with(module)) else {
                continue;
            };
            if path.extension().is_none_or(|ending| ending != "rs") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap();
            let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
            for used in lines.flat_map(|line| line.split("crate::").skip(1)) {
                let used = used.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap();
                let is_above = |at: usize| at <= own;
                if !modules.iter().position(|module| module == used).is_none_or(is_above) {
                    wrong.push(format!("{} uses {used}", name.display()));
                }
            }
        }
        wrong.sort();
        assert_eq!(wrong, ["format/token_rows/segments uses stream", "record/tokens uses stream"]);
    }
}
