//! Tokens into text.

use crate::batch::Batch;
use crate::error::Result;
use crate::harmony::{self, DecodedMessage};
use crate::record::decoded::{DecodedBuilder, Message};
use crate::record::tokens::{self, Tokens};

/// One batch of tokens records as decoded records.
pub fn decode(mut batch: Batch) -> Result<Batch> {
    let records = batch.records.clone();
    let view = Tokens::of(&records)?;
    let mut builder = DecodedBuilder::default();
    for row in 0..view.len() {
        match harmony::decode(view.tokens(row)) {
            Ok(decoded) => {
                let messages = decoded.messages.into_iter().map(message).collect();
                builder.push(view.id(row), decoded.text, messages);
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

fn message(message: DecodedMessage) -> Message {
    Message {
        role: message.role.as_str().to_string(),
        channel: message.channel,
        recipient: message.recipient,
        content_type: message.content_type,
        text: message.text,
    }
}
