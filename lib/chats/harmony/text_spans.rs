//! The masks of a token sequence as spans of its text.

use std::ops::Range;

use super::decode::DecodedConversation;
use super::header::StructureError;
use super::spans::Alignment;
use crate::record::decoded::Span;
use crate::tokenizer::{decode_into, special_name};

/// Returns the spans of a decoded sequence. The masks are as long as its tokens. (If only some bytes of a
/// character are trained on, the character is in the span.)
pub fn text_spans(
    decoded: &DecodedConversation,
    tokens: &[i32],
    masks: (&[u8], &[u8]),
    alignment: Alignment,
) -> Result<Vec<Span>, StructureError> {
    let messages: Vec<Range<usize>> =
        decoded.messages.iter().map(|message| message.tokens.clone()).collect();
    spans_of(&decoded.text, &messages, tokens, masks, alignment, add_bytes)
}

/// Returns the places of control tokens in the text of a decoded sequence, in characters.
pub fn control_places(tokens: &[i32]) -> Vec<Range<u64>> {
    places_of(tokens, |token| special_name(token).is_some(), add_bytes)
}

fn add_bytes(token: i32, bytes: &mut Vec<u8>) -> bool {
    decode_into(&[token], bytes).is_ok()
}

/// Does the same for tokens of any tokenizer. `messages` are the tokens of each message; `add_bytes` appends the
/// bytes of a token, if there is a token with this id.
pub fn spans_of(
    text: &str,
    messages: &[Range<usize>],
    tokens: &[i32],
    (loss_mask, span_id): (&[u8], &[u8]),
    alignment: Alignment,
    add_bytes: impl Fn(i32, &mut Vec<u8>) -> bool,
) -> Result<Vec<Span>, StructureError> {
    let shift = match alignment {
        Alignment::Label => 1,
        Alignment::Token => 0,
    };
    // The span id of a token, if it is trained on.
    let id_of = |token: usize| {
        let position = token.checked_sub(shift)?;
        let is_trained = loss_mask.get(position).is_some_and(|&mask| mask != 0);
        span_id.get(position).copied().filter(|_| is_trained)
    };
    let mut spans: Vec<Span> = Vec::new();
    let text = text.as_bytes();
    let (mut offset, mut characters, mut message) = (0, 0u64, 0);
    let (mut bytes, mut goes_on) = (Vec::new(), false);
    for (at, token) in tokens.iter().enumerate() {
        while messages.get(message).is_some_and(|known| known.end <= at) {
            message += 1;
            goes_on = false;
        }
        bytes.clear();
        if !add_bytes(*token, &mut bytes) {
            let cause = format!("unknown token {token}");
            return Err(StructureError { position: at, cause });
        }
        let begins_inside = text.get(offset).is_some_and(|byte| is_continuation(*byte));
        let start = characters - u64::from(begins_inside);
        characters += bytes.iter().filter(|byte| !is_continuation(**byte)).count() as u64;
        offset += bytes.len();
        let Some(id) = id_of(at) else {
            goes_on = false;
            continue;
        };
        match spans.last_mut().filter(|span| goes_on && span.span_id == id) {
            Some(span) => span.end = characters,
            None => {
                let inside = messages.get(message).filter(|message| message.contains(&at));
                let message = inside.and_then(|_| u32::try_from(message).ok());
                spans.push(Span { message, start, end: characters, span_id: id });
            }
        }
        goes_on = true;
    }
    Ok(spans)
}

/// Returns the places in the text, in characters, of the tokens that are so. `add_bytes` as above.
pub fn places_of(
    tokens: &[i32],
    is: impl Fn(i32) -> bool,
    add_bytes: impl Fn(i32, &mut Vec<u8>) -> bool,
) -> Vec<Range<u64>> {
    let (mut bytes, mut characters, mut places) = (Vec::new(), 0u64, Vec::new());
    for token in tokens {
        bytes.clear();
        add_bytes(*token, &mut bytes);
        let start = characters;
        characters += bytes.iter().filter(|byte| !is_continuation(**byte)).count() as u64;
        if is(*token) {
            places.push(start..characters);
        }
    }
    places
}

/// Whether a byte of UTF-8 is not the first of its character.
fn is_continuation(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}
