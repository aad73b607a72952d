//! The `pair` record: a prompt, and what the model would generate for the chosen and for the rejected answer, in tokens.

use super::prelude::*;
use super::stated::StatedMember;
use super::statements::TOKENIZER;
use crate::model::state_id;
use crate::tokenizer::START;

pub use super::identity::Identity;

/// Pairs of answers, for trainers of preferences.
pub const PAIR: RecordType = RecordType {
    name: "pair",
    singular: "pair",
    plural: "pairs",
    fields: PairFields::declared,
    // (Preference data in text have these names, too, but no rows.)
    marking_fields: &[&["prompt", "chosen", "rejected", "row"]],
    made_by: "chat-tok --take pair",
    taken_by: Some("seq-pack --form trl-dpo"),
    is_derived: true,
    stated: Some(StatedMember { name: TOKENIZER.name, state: state_id, column: None }),
    ..RecordType::PLAIN
};

record_fields! {
    /// A pair of answers.
    PairFields(PairColumns, PairBuilder) {
        /// The id of the record that it was made of.
        id: Option<String>,
        /// What the model is given: the chat before the answers, with the generation prompt. Ids as in `tokens`.
        prompt: List<i32>,
        /// What the model would generate for the chosen answer, with the stop token.
        chosen: List<i32>,
        /// The same for the rejected answer.
        rejected: List<i32>,
        /// The name of the file that the record came from.
        input: Option<String>,
        /// Its row in that file, from 0; of NDJSON, its line.
        row: Option<u64>,
        /// The tokenizer, as in `tokens`.
        tokenizer: Rare<String>,
    }
}

/// The parts of a pair, by their names.
pub const PARTS: [&str; 3] = ["prompt", "chosen", "rejected"];

/// A batch of pairs, by column.
#[derive(Debug)]
pub struct Pairs<'a> {
    rows: usize,
    columns: PairColumns<'a>,
}

impl<'a> Pairs<'a> {
    /// Returns the view of a batch in the schema of [`PAIR`]. Other schemas are an error.
    pub fn of(batch: &'a RecordBatch) -> Result<Pairs<'a>, ArrowError> {
        let columns = PairColumns::of_columns(batch.columns())?;
        Ok(Pairs { rows: batch.num_rows(), columns })
    }

    pub fn len(&self) -> usize {
        self.rows
    }

    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    pub fn id(&self, row: usize) -> Option<&'a str> {
        self.columns.id.get(row)
    }

    pub fn identity(&self, row: usize) -> Identity<'a> {
        let PairColumns { id, input, row: rows, .. } = &self.columns;
        Identity { id: id.get(row), input: input.get(row), row: rows.get(row) }
    }

    /// Whether Harmony may have made a pair.
    pub fn may_be_harmony(&self, row: usize) -> bool {
        let [prompt, ..] = self.parts(row);
        prompt.contains(&START)
    }

    /// Returns the tokens of the prompt, the chosen and the rejected answer.
    pub fn parts(&self, row: usize) -> [&'a [i32]; 3] {
        let PairColumns { prompt, chosen, rejected, .. } = &self.columns;
        [prompt.row(row), chosen.row(row), rejected.row(row)]
    }

    /// Returns how many tokens the prompt has with the longer answer.
    pub fn longest(&self, row: usize) -> usize {
        let [prompt, chosen, rejected] = self.parts(row).map(<[i32]>::len);
        prompt + chosen.max(rejected)
    }
}

impl PairBuilder {
    /// Adds a pair. Fails if a batch would pass 2^31 tokens.
    pub fn push(&mut self, identity: Identity<'_>, parts: [&[i32]; 3]) -> Result<(), ArrowError> {
        let PairBuilder { id, prompt, chosen, rejected, input, row, tokenizer } = self;
        id.push(identity.id);
        input.push(identity.input);
        row.push(identity.row);
        tokenizer.push(None);
        for (list, tokens) in [prompt, chosen, rejected].into_iter().zip(parts) {
            list.items.extend_known(tokens.iter().copied());
            list.end_row(true);
            list.ends.check()?;
        }
        Ok(())
    }

    /// Returns the batch of the pairs so far; the builder is empty again.
    pub fn finish(&mut self) -> Result<RecordBatch, ArrowError> {
        RecordBatch::try_new(PAIR.schema(), std::mem::take(self).columns()?)
    }
}
