//! Tokens into text.

use std::iter::repeat;

use crate::batch::Batch;
use crate::error::Result;
use crate::harmony::{
    self, Alignment, DecodedConversation, DecodedMessage, StructureError, text_spans,
};
use crate::record::decoded::{DecodedBuilder, Message, Span};
use crate::record::tokens::{self, Tokens};

/// Decodes a batch of token sequences. `alignment` is the alignment of their masks.
pub fn decode(mut batch: Batch, alignment: Alignment) -> Result<Batch> {
    let records = batch.records.clone();
    let view = Tokens::of(&records)?;
    let mut builder = DecodedBuilder::default();
    for row in 0..view.len() {
        match decode_sequence(&view, row, alignment) {
            Ok((decoded, spans)) => {
                let weights = view.segments(row).into_iter().flatten().map(|s| s.is_trained);
                let messages = decoded.messages.into_iter().zip(weights.chain(repeat(true)));
                let messages = messages.map(message).collect();
                builder.push(view.id(row), decoded.text, messages, spans.as_deref());
            }
            Err(error) => {
                let reason = error.to_string();
                batch.reject_row((&records, row), view.id(row), reason, tokens::to_json);
            }
        }
    }
    batch.records = builder.finish()?;
    Ok(batch)
}

/// Decodes a sequence to text, and its masks, if it has any, to spans of that text.
fn decode_sequence(
    view: &Tokens<'_>,
    row: usize,
    alignment: Alignment,
) -> Result<(DecodedConversation, Option<Vec<Span>>), StructureError> {
    let tokens = view.tokens(row);
    let decoded = harmony::decode(tokens)?;
    let masks = view.loss_mask(row).zip(view.span_id(row));
    let spans = masks.map(|masks| text_spans(&decoded, tokens, masks, alignment)).transpose()?;
    Ok((decoded, spans))
}

fn message((message, is_trained): (DecodedMessage, bool)) -> Message {
    Message {
        role: message.role.as_str().to_string(),
        name: message.name,
        channel: message.channel,
        recipient: message.recipient,
        content_type: message.content_type,
        text: message.text,
        train: (!is_trained).then_some(false),
    }
}
