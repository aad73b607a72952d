//! The manifest of a file of rows or of an index of rows: JSON in the footer of the Parquet file.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Form;
use crate::batch::Parameters;
use crate::format::{RecordCounts, json_file};
use crate::packing::{Algorithm, Overflow, Packing, PackingChanges, RowUnit};
use crate::wording::{counted, exactly, grouped};

/// The key of the manifest in the footer.
pub const KEY: &str = "gristmill.rows";
pub const SCHEMA: &str = "gristmill_rows_v1";

/// The content of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Contents {
    /// Rows of tokens.
    Rows,
    /// The pieces of each row.
    Index,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RowsManifest {
    pub schema_version: String,
    pub contents: Contents,
    pub form: Form,
    #[serde(deserialize_with = "json_file::stated")]
    pub seq_length: Option<u32>,
    pub algorithm: Algorithm,
    pub overflow: Overflow,
    pub counted: RowUnit,
    pub keep_eod: bool,
    /// The most records that were packed together; null if all were.
    #[serde(deserialize_with = "json_file::stated")]
    pub window: Option<u64>,
    pub rows: u64,
    pub pieces: u64,
    /// The positions that pieces take, in units of `counted`, with their padding.
    pub used: u64,
    /// `used` as a share of all positions of all rows; null if rows have no common length.
    #[serde(deserialize_with = "json_file::stated")]
    pub share_used: Option<f64>,
    pub records: RecordCounts,
    pub tokens: TokenCounts,
    /// Only if pieces are padded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub padding: Option<Padding>,
    pub changed: PackingChanges,
    /// Null in an index.
    #[serde(deserialize_with = "json_file::stated")]
    pub labels: Option<Labels>,
    /// The sum of a hash of each piece, in hexadecimal: it depends on the content of the rows, not
    /// on their order. Null in an index.
    #[serde(deserialize_with = "json_file::stated")]
    pub hash: Option<String>,
    /// The datasets of the sequences, with one numbering; null for records from a pipe.
    #[serde(deserialize_with = "json_file::stated")]
    pub inputs: Option<Vec<RowsInput>>,
    /// What the header of the sequences stated: policy, spans, tokenizer.
    pub parameters: Parameters,
    pub provenance: Vec<Value>,
}

/// in sequences = in rows + end of documents + dropped + cut (see [`PackingChanges`]).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenCounts {
    pub in_sequences: u64,
    pub in_rows: u64,
    pub end_of_document: u64,
}

/// The padding after pieces, which fills each piece, or the last one of each row, up to a multiple of some positions.
/// These tokens are in no other count, and have no label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Padding {
    pub multiple: NonZeroU32,
    /// The multiple of whole rows; absent if it is 1.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub row_multiple: NonZeroU32,
    pub token: i32,
    /// The padding tokens of all rows.
    pub tokens: u64,
}

fn one() -> NonZeroU32 {
    NonZeroU32::MIN
}

fn is_one(multiple: &NonZeroU32) -> bool {
    multiple.get() == 1
}

/// Labels: positions that are trained on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Labels {
    pub in_rows: u64,
    /// Labels on the first token of a piece that continues a sequence: trainers that set the first
    /// label of each piece to -100 lose them. (Megatron-Bridge: masks of labels that are in the
    /// next piece, which are 0 here.)
    pub at_seams: u64,
    /// Labels of tokens that are in no row: ends of documents, and what was cut.
    pub lost: u64,
}

/// A dataset that has some of the sequences.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowsInput {
    /// The prefix, relative to the folder of the file.
    pub path: String,
    pub sequences: u64,
    pub tokens: u64,
    pub idx_sha256: String,
    /// For tokens, lossmask and span: the hash of the size and of blocks, see `sample.rs`.
    pub bin_samples: [String; 3],
}

impl RowsManifest {
    /// Returns a warning about rows in which nothing is trained on. (An index has no labels.)
    pub fn unsupervised(&self) -> Option<String> {
        let labels = self.labels.filter(|labels| self.rows > 0 && labels.in_rows == 0)?;
        Some(match labels.lost {
            0 => format!("nothing is supervised in its {}", exactly(self.rows, "row")),
            lost => format!(
                "nothing is supervised in its {}: {} of tokens that are in no row",
                exactly(self.rows, "row"),
                exactly(lost, "label"),
            ),
        })
    }

    /// Returns a warning for each fact that a trainer should know.
    pub fn warnings(&self) -> Vec<String> {
        self.unsupervised().into_iter().chain(self.wrong_ends()).collect()
    }

    /// Returns a warning about sequences that end, or go on, where a row ends.
    fn wrong_ends(&self) -> Option<String> {
        let PackingChanges { cut, split, .. } = self.changed;
        let split = if self.overflow == Overflow::Split { split.sequences } else { 0 };
        let count = cut.sequences + split;
        let verb = if count == 1 { "is" } else { "are" };
        (count > 0).then(|| {
            format!(
                "{} {verb} cut where a row ends, also within answers, which teaches wrong ends; chat-tok --max-length \
                 shortens chats where an answer ends",
                counted(count, "sequence")
            )
        })
    }

    pub fn packing(&self) -> Packing {
        let RowsManifest { seq_length, algorithm, overflow, counted, .. } = *self;
        let multiples = self.padding.map(|padding| (padding.multiple, padding.row_multiple));
        let (multiple, row_multiple) = multiples.unwrap_or((one(), one()));
        Packing { seq_length, algorithm, overflow, counted, multiple, row_multiple }
    }
}

/// Returns the share of positions that are used; `None` if rows are as long as their sequences, or
/// if there are none.
pub fn share(used: u64, rows: u64, packing: &Packing) -> Option<f64> {
    let length = packing.row_length().filter(|_| rows > 0)?;
    Some(used as f64 / (rows as f64 * f64::from(length)))
}

/// Describes the output in one line.
pub fn summary(manifest: &RowsManifest) -> String {
    let RowsManifest { rows, pieces, tokens, changed, .. } = manifest;
    let mut line = format!(
        "{} of {} ({})",
        counted(*rows, "row"),
        counted(*pieces, "piece"),
        counted(tokens.in_rows, "token"),
    );
    if let Some(share) = manifest.share_used {
        line += &format!(", {:.2} % of the positions used", share * 100.0);
    }
    if let Some(Padding { multiple, row_multiple, tokens, .. }) = manifest.padding {
        let text = |what: &str, of: NonZeroU32| {
            (!is_one(&of)).then(|| format!("{what} of {}", grouped(of.get().into())))
        };
        let multiples = [text("a multiple", multiple), text("rows", row_multiple)];
        let multiples: Vec<String> = multiples.into_iter().flatten().collect();
        line += &format!("; padded to {}: {}", multiples.join(", to "), counted(tokens, "token"));
    }
    if changed.split.sequences > 0 {
        let split = counted(changed.split.sequences, "sequence");
        line += &format!("; split: {split}, {}", counted(changed.split.tokens, "token"));
    }
    if let Some(Labels { at_seams, lost, .. }) = manifest.labels {
        if at_seams > 0 {
            line += &format!("; {} at seams", counted(at_seams, "label"));
        }
        if lost > 0 {
            line += &format!("; {} of tokens that are in no row", counted(lost, "label"));
        }
    }
    if let Some(window) = manifest.window {
        line += &format!("; packed in windows of {}", counted(window, "record"));
    }
    line
}

/// Returns which sequences are not whole in the rows; `None` if all are (but for their ends of documents).
pub fn left(manifest: &RowsManifest) -> Option<String> {
    let PackingChanges { empty, dropped, cut, .. } = manifest.changed;
    let all = counted(manifest.records.read.unwrap_or(manifest.records.written), "sequence");
    let mut parts = Vec::new();
    for (amount, what) in [(dropped, "longer than a row dropped"), (cut, "longer than a row cut")] {
        if amount.sequences > 0 {
            let (some, tokens) = (grouped(amount.sequences), counted(amount.tokens, "token"));
            parts.push(format!("{some} of {all} {what}: {tokens} left out"));
        }
    }
    if empty > 0 {
        parts.push(format!("{} of {all} without a token left out", grouped(empty)));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}
