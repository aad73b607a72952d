//! What all of it is, and how large.

use std::path::{Path, PathBuf};

use super::line::{Line, Style, counted, facts};
use crate::cli::size;
use crate::error::{Error, Result, shown};
use crate::files;
use crate::format::kd_root::prefix_of;
use crate::format::token_rows::PACKED;
use crate::harmony::Alignment;
use crate::publish::directory_of;
use crate::stream::Reader;
use crate::view::Viewer;
use crate::walk;

/// What is known of the inputs.
#[derive(Debug, Clone)]
pub struct Head {
    pub inputs: Vec<PathBuf>,
    /// What they are, for people.
    pub what: String,
    pub records: Option<u64>,
    /// In the singular, as records of the type are called.
    pub record: &'static str,
    pub bytes: Option<u64>,
    pub encoding: String,
    /// Of tokens: how their masks are aligned, if they have any.
    pub alignment: Option<Alignment>,
    /// Whether the first record says what of it is trained on.
    pub has_masks: bool,
}

impl Head {
    /// Of a reader from which nothing was chosen yet; nothing is known of masks.
    pub fn of(reader: &Reader, viewer: &Viewer, inputs: &[PathBuf]) -> Result<Head> {
        let domain = reader.header().text("domain").map(|name| format!(" of {name}"));
        let form = if reader.is_dataset() { Form::Dataset } else { Form::Records };
        let (what, record) = match (viewer.kind(), form) {
            (Some("tokens"), _) => {
                let is_packed = reader.header().parameters.contains_key(PACKED);
                let dataset = match form {
                    Form::Dataset if is_packed => "rows for trainers: ",
                    Form::Dataset => "Megatron dataset: ",
                    Form::Records => "",
                };
                (format!("{dataset}token sequences"), "sequence")
            }
            (Some("conversation"), _) => ("conversations".to_string(), "conversation"),
            (Some("decoded"), _) => ("decoded sequences".to_string(), "sequence"),
            (Some("game"), Form::Dataset) => ("pool of games of 2048".to_string(), "game"),
            (Some("game"), Form::Records) => ("games of 2048".to_string(), "game"),
            (Some("puzzle"), Form::Dataset) => {
                (format!("puzzle set{}", domain.unwrap_or_default()), "example")
            }
            (Some("puzzle"), Form::Records) => ("puzzles".to_string(), "example"),
            _ => ("records".to_string(), "record"),
        };
        let mut bytes = Some(0u64);
        for path in inputs {
            bytes = bytes.zip(bytes_of(path)?).map(|(sum, more)| sum.saturating_add(more));
        }
        Ok(Head {
            inputs: inputs.to_vec(),
            what,
            records: reader.total(),
            record,
            bytes: bytes.filter(|_| !inputs.is_empty()),
            encoding: reader.encoding().to_string(),
            alignment: (viewer.kind() == Some("tokens")).then_some(viewer.alignment()),
            has_masks: false,
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Dataset,
    Records,
}

/// The bytes of a file, of all files below a directory, or of those with a prefix; `None` of a pipe.
fn bytes_of(path: &Path) -> Result<Option<u64>> {
    let Some(metadata) = files::metadata(path)? else {
        return files::size_of(with_prefix(path)?).map(Some);
    };
    let prefix = prefix_of(path)?;
    if prefix != path {
        return files::size_of(with_prefix(&prefix)?).map(Some);
    }
    if metadata.is_dir() {
        let found = walk::files(path, |_| true).map(|found| found.map_err(Error::from));
        return files::size_of(found.collect::<Result<Vec<_>>>()?).map(Some);
    }
    Ok(metadata.is_file().then_some(metadata.len()))
}

/// The files beside a prefix whose names begin with it: `shard_00_tokens.bin`, `shard_00.bin`.
fn with_prefix(prefix: &Path) -> Result<Vec<PathBuf>> {
    let Some(name) = prefix.file_name() else { return Ok(Vec::new()) };
    let mut paths = files::paths_in(&directory_of(prefix))?;
    paths.retain(|path| {
        let own = path.file_name().unwrap_or_default().as_encoded_bytes();
        let rest = own.strip_prefix(name.as_encoded_bytes());
        rest.is_some_and(|rest| rest.starts_with(b"_") || rest.starts_with(b"."))
    });
    Ok(paths)
}

/// The lines of it, in so many columns.
pub fn head(head: &Head, width: usize) -> Vec<Line> {
    let inputs: Vec<String> = head.inputs.iter().map(|path| shown(path)).collect();
    let inputs = if inputs.is_empty() { "stdin".to_string() } else { inputs.join(" ") };
    let facts = facts(&[
        match head.records {
            Some(records) => counted(records, head.record),
            None => format!("{}s as they come", head.record),
        },
        head.bytes.map(|bytes| size(bytes as f64)).unwrap_or_default(),
        head.encoding.clone(),
    ]);
    let masks = match head.alignment.filter(|_| head.has_masks) {
        None => "",
        Some(Alignment::Label) => " with label-aligned masks",
        Some(Alignment::Token) => " with token-aligned masks",
    };
    let mut lines = vec![Line::new().add(Style::BOLD, &inputs)];
    lines.extend(Line::new().add(Style::PLAIN, &format!("{}{masks}", head.what)).wrapped(width));
    lines.extend(Line::new().add(Style::PLAIN, &facts).wrapped(width));
    if head.has_masks {
        let signs = Line::new()
            .add(Style::REASONING, "R│ reasoning")
            .add(Style::FINAL, "  F│ final")
            .add(Style::PLAIN, "  ·│ not trained on")
            .add(Style::DIM, "  →R: the next token is");
        lines.extend(signs.wrapped(width));
    }
    lines
}
