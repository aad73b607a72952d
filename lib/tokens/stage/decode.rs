//! Tokens into text, by o200k or by the tokenizer of a model.

use std::collections::HashSet;
use std::iter::repeat;

use gristmill_models::Tokenizer;

use crate::batch::Batch;
use crate::error::Result;
use crate::harmony::{
    self, Alignment, DecodedConversation, DecodedMessage, StructureError, control_places,
    places_of, spans_of, text_spans,
};
use crate::model::{NOT_HARMONY, may_be_control};
use crate::record::decoded::{DecodedBuilder, Message, Span};
use crate::record::tokens::Tokens;
use crate::stream::row_json;
use crate::wording::exactly;

/// Decodes a batch of token sequences, with a model's tokenizer if one is given. `alignment` is the alignment of their
/// masks; `is_assumed`: nothing is stated about their tokenizer.
pub fn decode(
    mut batch: Batch,
    alignment: Alignment,
    (tokenizer, is_assumed): (Option<&Tokenizer>, bool),
) -> Result<Batch> {
    let records = batch.records.clone();
    let view = Tokens::of(&records)?;
    let mut builder = DecodedBuilder::default();
    let added = tokenizer.map(Tokenizer::added_tokens).unwrap_or_default().iter();
    let added =
        added.filter(|token| may_be_control(token)).filter_map(|token| token.id.try_into().ok());
    let added: HashSet<i32> = added.collect();
    for row in 0..view.len() {
        if let Some(tokenizer) = tokenizer {
            if let Err(reason) =
                push_of_model(&mut builder, &view, row, alignment, (tokenizer, &added))
            {
                batch.reject_row((&records, row), view.id(row), reason, row_json);
            }
            continue;
        }
        if is_assumed && !view.may_be_harmony(row) {
            let reason = NOT_HARMONY.to_string();
            batch.reject_row((&records, row), view.id(row), reason, row_json);
            continue;
        }
        match decode_sequence(&view, row, alignment) {
            Ok((decoded, spans)) => {
                let weights = view.segments(row).into_iter().flatten().map(|s| s.is_trained);
                let messages = decoded.messages.into_iter().zip(weights.chain(repeat(true)));
                let messages = messages.map(message).collect();
                let control = control_places(view.tokens(row));
                builder.push(view.id(row), decoded.text, messages, spans.as_deref(), &control);
            }
            Err(error) => {
                let reason = error.to_string();
                batch.reject_row((&records, row), view.id(row), reason, row_json);
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

/// Adds a sequence of a model's tokenizer. Its messages are its segments, including the text that the template puts
/// around them.
fn push_of_model(
    builder: &mut DecodedBuilder,
    view: &Tokens<'_>,
    row: usize,
    alignment: Alignment,
    (tokenizer, added): (&Tokenizer, &HashSet<i32>),
) -> Result<(), String> {
    let tokens = view.tokens(row);
    let mut bytes = Vec::new();
    tokenizer.decode_into(tokens, &mut bytes).map_err(|error| error.to_string())?;
    let text = String::from_utf8(bytes);
    let text = text.map_err(|_| "the tokens together are not UTF-8".to_string())?;
    let (mut messages, mut ranges) = (Vec::new(), Vec::new());
    for segment in view.segments(row).into_iter().flatten() {
        let range = usize::try_from(segment.start).ok().zip(usize::try_from(segment.end).ok());
        let range = range.map(|(start, end)| start..end);
        let Some((range, of)) = range.and_then(|range| Some((range.clone(), tokens.get(range)?)))
        else {
            let (start, end, length) = (segment.start, segment.end, tokens.len());
            return Err(format!(
                "segment [{start}, {end}) is not within {}",
                exactly(length, "token")
            ));
        };
        let mut bytes = Vec::new();
        tokenizer.decode_into(of, &mut bytes).map_err(|error| error.to_string())?;
        messages.push(Message {
            role: segment.role.to_string(),
            channel: segment.channel.map(str::to_string),
            // (A character may be divided between two segments.)
            text: String::from_utf8_lossy(&bytes).into_owned(),
            train: (!segment.is_trained).then_some(false),
            ..Message::default()
        });
        ranges.push(range);
    }
    let add_bytes = |token: i32, bytes: &mut Vec<u8>| {
        let of = u32::try_from(token).ok().and_then(|id| tokenizer.token_bytes(id));
        of.is_some_and(|of| {
            bytes.extend_from_slice(&of);
            true
        })
    };
    let masks = view.loss_mask(row).zip(view.span_id(row));
    let spans = masks.map(|masks| spans_of(&text, &ranges, tokens, masks, alignment, add_bytes));
    let spans = spans.transpose().map_err(|error| error.to_string())?;
    let control = places_of(tokens, |token| added.contains(&token), add_bytes);
    builder.push(view.id(row), text, messages, spans.as_deref(), &control);
    Ok(())
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
