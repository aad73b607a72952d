//! The manifest of a file of pairs: JSON in the footer of the Parquet file.

use arrow_buffer::ToByteSlice;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::PairForm;
use crate::batch::Parameters;
use crate::format::RecordCounts;
use crate::wording::counted;

/// The key of the manifest in the footer.
pub const KEY: &str = "gristmill.pairs";
pub const SCHEMA: &str = "gristmill_pairs_v1";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairRowsManifest {
    pub schema_version: String,
    pub form: PairForm,
    pub pairs: u64,
    pub rows: u64,
    pub tokens: PartTokens,
    pub records: RecordCounts,
    /// The sum of a hash of each pair, in hexadecimal: it depends on the pairs, not on their order.
    pub hash: String,
    /// What the header of the pairs stated: policy, tokenizer.
    pub parameters: Parameters,
    pub provenance: Vec<Value>,
}

/// The tokens of all prompts, chosen and rejected answers, each counted once for a pair.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartTokens {
    pub prompt: u64,
    pub chosen: u64,
    pub rejected: u64,
}

impl PartTokens {
    pub fn add(&mut self, parts: [&[i32]; 3]) {
        let [prompt, chosen, rejected] = parts.map(|tokens| tokens.len() as u64);
        self.prompt += prompt;
        self.chosen += chosen;
        self.rejected += rejected;
    }
}

impl PairRowsManifest {
    /// Describes the file in one line.
    pub fn summary(&self) -> String {
        let PartTokens { prompt, chosen, rejected } = self.tokens;
        let rows = match self.form.rows_of_pair() {
            1 => String::new(),
            _ => format!(" in {}", counted(self.rows, "row")),
        };
        format!(
            "{}{rows}: prompts of {}, chosen answers of {}, rejected answers of {}",
            counted(self.pairs, "pair"),
            counted(prompt, "token"),
            counted(chosen, "token"),
            counted(rejected, "token"),
        )
    }
}

/// Hashes a pair to 64 bits: the tokens (int32, little-endian) of its parts, each with the hash of the part before it as
/// the seed. The hash of a file is the sum of the hashes of its pairs.
pub fn pair_hash(parts: [&[i32]; 3]) -> u64 {
    parts.iter().fold(0, |seed, tokens| xxh3_64_with_seed(tokens.to_byte_slice(), seed))
}
