//! Megatron's index caches beside the data, `X_tokens/cache/`. Their key is the path of the data, not the
//! content, so Megatron uses caches of older data without a message.

use std::path::Path;
use std::time::SystemTime;

use serde_json::Value;

use crate::check::{Findings, checks, inventory};
use crate::error::{At, Error, Result};
use crate::files;
use crate::format::kd_root::{KdPrefix, caches_of};
use crate::format::mmidx::with_suffix;
use crate::npy::Integers;
use crate::wording::exactly;

checks! {
    DOCUMENTS: Warning Structure "kd.cache.documents",
        "Megatron's index cache is of another number of documents: samples are not the data's",
        hint "remove the folder cache/; Megatron builds it anew";
    OLDER: Warning Structure "kd.cache.older",
        "Megatron's index cache is older than the .idx: it may be of other data of that name",
        hint "remove the folder cache/, unless the data were only copied";
}

/// The ending of the file of a cache that lists the documents.
const ENDING: &str = "-document_index.npy";
/// How many values are in memory at once.
const BLOCK: u64 = 1 << 20;

/// Checks the caches of a prefix that has `sequences`; Megatron calls each sequence a document.
pub(super) fn check(prefix: &KdPrefix, sequences: u64, findings: &mut Findings<'_>) -> Result<()> {
    let (suffix, ..) = prefix.layout.members()[0];
    let idx = with_suffix(&prefix.path, &format!("{suffix}.idx"));
    let written = modified(&idx)?;
    for path in caches_of(&prefix.path)? {
        let name = inventory::name_of(&path);
        let Some(key) = name.strip_suffix(ENDING) else { continue };
        let description = path.with_file_name(format!("{key}-description.txt"));
        let is_whole = is_whole(&description)?;
        let opened = files::open_member(&path).at(&path)?;
        let documents = Integers::open(&opened).map_err(|e| Error::from(e).at(path.as_path()));
        let Some(documents) = inventory::readable(documents, &path, findings, || Ok(&DOCUMENTS))?
        else {
            continue;
        };
        let found = count(&documents);
        if found > sequences || (is_whole && found != sequences) {
            let documents = exactly(found, "document");
            let message = format_args!("is of {documents}, the data have {sequences}");
            findings.add(&DOCUMENTS, &path, message);
        } else if modified(&path)? < written {
            findings.add(&OLDER, &path, format_args!("is older than {}", inventory::name_of(&idx)));
        }
    }
    Ok(())
}

fn modified(path: &Path) -> Result<Option<SystemTime>> {
    Ok(files::metadata(path)?.and_then(|found| found.modified().ok()))
}

/// Whether a cache is of all documents, not of a share of them (`--split`).
fn is_whole(description: &Path) -> Result<bool> {
    if !files::is_member(description)? {
        return Ok(false);
    }
    let text = inventory::read(description)?;
    let text: Value = serde_json::from_slice(&text).unwrap_or_default();
    Ok(text.get("split").is_some_and(Value::is_null))
}

/// Returns the number of documents that an index needs: one more than its largest value.
fn count(documents: &Integers) -> u64 {
    let mut largest = None;
    for first in (0..documents.rows()).step_by(BLOCK as usize) {
        let rows = first..documents.rows().min(first + BLOCK);
        largest = largest.max(rows.clone().filter_map(|row| documents.get(row, 0)).max());
        documents.release(rows);
    }
    largest.map_or(0, |largest| u64::try_from(largest).map_or(0, |largest| largest + 1))
}
