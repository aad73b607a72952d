//! What is printed when a plan is joined: what was made, and a last line of one form for all products.

use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::error::{Result, shown};
use crate::format::RecordCounts;
use crate::format::kd_root::KdRootManifest;
use crate::format::pack::PackManifest;
use crate::format::synth_shards::SynthManifest;
use crate::visible;
use crate::wording::{exactly, grouped, of_plural, size};

/// The inputs and the output of a plan, in words.
pub(super) struct Summary {
    /// Lines about the output.
    pub made: String,
    /// The unit of the input, in the plural.
    pub unit: &'static str,
    pub read: Option<u64>,
    /// Lines about records that were skipped (with reasons where they are known) and rejected.
    pub lost: Vec<String>,
    /// For what the tasks of this run have rejected records, and how many.
    pub reasons: Vec<(String, u64)>,
    pub bytes: u64,
    /// A note for the user.
    pub note: Option<String>,
}

/// Summarizes the pack in `directory`. `since` is when the work began; `None` means now.
pub fn summary_of_pack(directory: &Path, since: Option<SystemTime>) -> Result<String> {
    let took = since.and_then(|since| SystemTime::now().duration_since(since).ok());
    Ok(Summary::from(&PackManifest::read(directory)?).lines(directory, took.unwrap_or_default()))
}

impl From<&KdRootManifest> for Summary {
    fn from(manifest: &KdRootManifest) -> Summary {
        let shards = manifest.splits.values().flat_map(|split| &split.shards);
        let bytes = shards.flat_map(|shard| shard.files.bytes.values()).sum();
        let made = manifest.summary();
        let records = manifest.records.clone().unwrap_or_default();
        let note = manifest.nothing_in_valid();
        Summary { note, ..Summary::of(made, "rows", records, bytes) }
    }
}

impl From<&PackManifest> for Summary {
    fn from(manifest: &PackManifest) -> Summary {
        let made = manifest.summary() + "\n";
        let bytes = manifest.files.iter().map(|file| file.bytes).sum();
        Summary::of(made, "games", manifest.records.clone(), bytes)
    }
}

impl From<&SynthManifest> for Summary {
    fn from(manifest: &SynthManifest) -> Summary {
        let records = &manifest.records;
        let made = format!(
            "{}, {}\n",
            exactly(manifest.storage.shards.len(), "shard"),
            exactly(records.written, "conversation")
        );
        let counts = RecordCounts::from(records.clone());
        Summary::of(made, "rows", counts, manifest.storage.total_bytes)
    }
}

impl Summary {
    fn of(made: String, unit: &'static str, records: RecordCounts, bytes: u64) -> Summary {
        let RecordCounts { read, skipped, rejected, .. } = records;
        let mut lost = Vec::new();
        if let Some(skipped) = skipped.filter(|skipped| !skipped.is_empty()) {
            lost.push(format!("{} skipped ({skipped})", skipped.records()));
        }
        if let Some(rejected) = rejected.filter(|rejected| *rejected > 0) {
            lost.push(format!("{} rejected", grouped(rejected)));
        }
        Summary { made, unit, read, lost, reasons: Vec::new(), bytes, note: None }
    }

    /// Returns the lines for a dataset at `place` that took this long.
    pub(super) fn lines(&self, place: &Path, took: Duration) -> String {
        let Summary { made, unit, read, lost, reasons, bytes, note: _ } = self;
        let reasons = reasons.iter().map(|(reason, count)| {
            let line = format!("rejected: {}: {reason}", exactly(*count, "record"));
            visible::line(&line).into_owned() + "\n"
        });
        let made = format!("{made}{}", reasons.collect::<String>());
        let lost: String = lost.iter().map(|lost| format!(", {lost}")).collect();
        let unit = read.map_or(unit.to_string(), |read| of_plural(read, unit));
        let read = read.map_or("unknown".to_string(), grouped);
        let bytes = size(*bytes as f64);
        let seconds = took.as_secs_f64();
        format!("{made}{}: {read} {unit} read{lost}; {bytes} in {seconds:.1} s\n", shown(place))
    }
}
