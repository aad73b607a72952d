//! Conversations into tokens.

use arrow_array::RecordBatch;

use crate::batch::{Batch, Counts, Sink, SinkSummary};
use crate::cli::Rejects;
use crate::error::Result;
use crate::harmony::{RenderOutput, Renderer};
use crate::ordered::Flow;
use crate::record::conversation::{self, Conversations};
use crate::record::pairs::Pairs;
use crate::record::tokens::{Identity, Tokens, TokensBuilder};

/// The most tokens for which a batch reserves memory.
const MOST_RESERVED: usize = 1 << 20;

/// Renders a batch of conversations to token sequences.
pub fn render(renderer: &mut Renderer, mut batch: Batch) -> Result<Batch> {
    let records = batch.records.clone();
    let conversations = Conversations::of(&records)?;
    let mut rendered = RenderOutput::default();
    let mut builder = TokensBuilder::default();
    // Most tokens are more than four bytes of text. Growing the memory later would copy, and
    // reserved memory that is not used costs nothing.
    builder.tokens.reserve((batch.bytes as usize / 4).min(MOST_RESERVED));
    for row in 0..conversations.len() {
        let id = conversations.id(row);
        let outcome = match (id, conversations.messages_json(row)) {
            (None, _) => Err(no_id(&conversations)),
            (_, None) => Err("messages is missing or null; try: chat-harmony before it, for chats of other shapes".to_string()),
            (Some(_), Some(messages)) => {
                // The tokens are appended directly to the batch's column.
                std::mem::swap(&mut rendered.tokens, &mut builder.tokens);
                let beside = renderer.beside_messages(&conversations.beside(row));
                let outcome = beside.and_then(|()| renderer.render(messages, &mut rendered));
                std::mem::swap(&mut rendered.tokens, &mut builder.tokens);
                outcome.map_err(|e| e.to_string())
            }
        };
        match outcome {
            Ok(()) => {
                rendered.segments.records().for_each(|segment| builder.segment(&segment));
                let here = batch.origin.in_file(row);
                let here = here.as_ref().map(|(name, row)| (&**name, *row));
                let (input, row) = conversations.raw_place(row).or(here).unzip();
                builder.finish_record(Identity { id, input, row })?;
            }
            Err(reason) => batch.reject_row((&records, row), id, reason, conversation::to_json),
        }
        rendered.segments.clear();
    }
    batch.records = builder.finish()?;
    Ok(batch)
}

/// Returns why a conversation has no id.
fn no_id(conversations: &Conversations<'_>) -> String {
    match conversations.id_names() {
        [name] => format!("{name} is missing or null; try: --id-field with another name"),
        _ => "the id is missing or null; try: --id-field NAME, or chat-harmony, which makes ids"
            .to_string(),
    }
}

/// Returns the number of tokens of each record: of sequences, or of pairs.
fn tokens_of(records: &RecordBatch) -> Result<Vec<usize>> {
    if records.schema_ref().column_with_name("tokens").is_some() {
        let view = Tokens::of(records)?;
        return Ok((0..view.len()).map(|row| view.tokens(row).len()).collect());
    }
    let pairs = Pairs::of(records)?;
    let tokens = |row| pairs.parts(row).iter().map(|part| part.len()).sum();
    Ok((0..pairs.len()).map(tokens).collect())
}

/// A sink of token sequences, or pairs, that ends the run after the record that reaches a number of tokens.
pub struct Budget<S> {
    pub sink: S,
    pub tokens: u64,
}

impl<S: Sink> Sink for Budget<S> {
    fn uses_stdout(&self) -> bool {
        self.sink.uses_stdout()
    }

    fn write(&mut self, mut batch: Batch, rejects: &mut Rejects) -> Result<Flow> {
        let records = batch.records.clone();
        for (row, tokens) in tokens_of(&records)?.into_iter().enumerate() {
            self.tokens = self.tokens.saturating_sub(tokens as u64);
            if self.tokens == 0 {
                batch.end_after(row);
                self.sink.write(batch, rejects)?;
                return Ok(Flow::Stop);
            }
        }
        self.sink.write(batch, rejects)
    }

    fn finish(self, counts: Counts) -> Result<SinkSummary> {
        self.sink.finish(counts)
    }
}
