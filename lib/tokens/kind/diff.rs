//! What is compared of token sequences.

use super::texts::{TokenRow, around};
use super::{TokenTexts, TokensKind};
use crate::batch::Header;
use crate::diff::{DiffRecord, DiffView, PARTS, first_different, hash, in_a_line, pair};
use crate::error::Result;
use crate::harmony::Alignment;
use crate::record::statements::ALIGNMENT;
use crate::record::tokens::{Segment, Tokens};

/// What is known of all sequences of a side.
#[derive(Default)]
pub struct TokenFacts {
    texts: TokenTexts,
    /// Whether masks are about the token at their position, and not about the next one.
    of_tokens: bool,
}

impl DiffView for TokensKind {
    type Facts = TokenFacts;

    const NAMES: &'static [&'static str] = &["tokens", "mask", "span", "segments"];
    const IF_STATED: usize = 2;
    const DERIVED: &'static [&'static str] = &["segments"];

    fn facts(header: &Header) -> Result<TokenFacts> {
        let of_tokens = header.get(&ALIGNMENT) == Some(Alignment::Token);
        Ok(TokenFacts { texts: TokenTexts::of(header, None)?, of_tokens })
    }

    fn hashes(one: &DiffRecord<'_, Tokens<'_>, TokenFacts>) -> Result<[u64; PARTS]> {
        let (rows, row) = (one.rows, one.row);
        let segments = rows.segments(row).map_or(0, |segments| hash(&segments.collect::<Vec<_>>()));
        let (mask, span) = (hash(&rows.loss_mask(row)), rows.span_id(row).map_or(0, hash));
        Ok([hash(rows.tokens(row)), mask, span, segments])
    }

    fn are_equal(
        a: &DiffRecord<'_, Tokens<'_>, TokenFacts>,
        b: &DiffRecord<'_, Tokens<'_>, TokenFacts>,
    ) -> Result<bool> {
        let spans = a.rows.span_id(a.row).zip(b.rows.span_id(b.row));
        Ok(a.rows.tokens(a.row) == b.rows.tokens(b.row)
            && a.rows.loss_mask(a.row) == b.rows.loss_mask(b.row)
            && spans.is_none_or(|(a, b)| a == b)
            && match (a.rows.segments(a.row), b.rows.segments(b.row)) {
                (Some(x), Some(y)) => x.len() == y.len() && x.zip(y).all(|(x, y)| x == y),
                // One side does not state them.
                _ => true,
            })
    }

    fn shown(
        part: &str,
        a: &DiffRecord<'_, Tokens<'_>, TokenFacts>,
        b: &DiffRecord<'_, Tokens<'_>, TokenFacts>,
    ) -> Result<Vec<String>> {
        let (x, y) = (a.rows, b.rows);
        let of_a = TokenRow { tokens: x.tokens(a.row), texts: a.facts.texts.of_record(x, a.row) };
        let of_b = TokenRow { tokens: y.tokens(b.row), texts: b.facts.texts.of_record(y, b.row) };
        Ok(match part {
            "tokens" => shown_tokens(of_a, of_b),
            "mask" => {
                let ahead = usize::from(!a.facts.of_tokens);
                shown_mask([x.loss_mask(a.row), y.loss_mask(b.row)], of_a, ahead)
            }
            "span" => shown_values(x.span_id(a.row), y.span_id(b.row), of_a),
            "segments" => shown_segments(
                &x.segments(a.row).into_iter().flatten().collect::<Vec<_>>(),
                &y.segments(b.row).into_iter().flatten().collect::<Vec<_>>(),
            ),
            _ => Vec::new(),
        })
    }
}

fn shown_segments(a: &[Segment<'_>], b: &[Segment<'_>]) -> Vec<String> {
    let at = first_different(a, b);
    let text = |side: &[Segment<'_>]| {
        let Some(segment) = side.get(at) else { return "the end".to_string() };
        let Segment { role, channel, start, end, is_trained } = segment;
        let channel = channel.map_or("no channel".to_string(), |name| format!("channel {name}"));
        let trained = if *is_trained { "" } else { ", train: false" };
        in_a_line(&format!("{role}, {channel}, tokens {start} to {end}{trained}"))
    };
    let mut lines = vec![format!("at message {at}, of {} and {}", a.len(), b.len())];
    lines.extend(pair(&text(a), &text(b)));
    lines
}

pub(super) fn shown_tokens(a: TokenRow<'_>, b: TokenRow<'_>) -> Vec<String> {
    let at = first_different(a.tokens, b.tokens);
    let mut lines = vec![format!("at token {at}, of {} and {}", a.tokens.len(), b.tokens.len())];
    lines.extend(pair(&around(a, at), &around(b, at)));
    lines
}

/// Shows the first token that one side trains on and the other does not; a mask is about the token so far ahead.
fn shown_mask(masks: [Option<&[u8]>; 2], tokens: TokenRow<'_>, ahead: usize) -> Vec<String> {
    let [Some(a), Some(b)] = masks else { return shown_values(masks[0], masks[1], tokens) };
    let at = first_different(a, b);
    let is_trained = |side: &[u8]| match side.get(at) {
        Some(0) => "not trained on",
        Some(_) => "trained on",
        None => "the end",
    };
    let differing = a.iter().zip(b).filter(|(a, b)| a != b).count();
    let token = at + ahead;
    let mut lines =
        vec![format!("at token {token}, {differing} in all: {}", around(tokens, token))];
    lines.extend(pair(is_trained(a), is_trained(b)));
    lines
}

fn shown_values(a: Option<&[u8]>, b: Option<&[u8]>, tokens: TokenRow<'_>) -> Vec<String> {
    let (Some(a), Some(b)) = (a, b) else {
        let has = |side: Option<&[u8]>| if side.is_some() { "there" } else { "not there" };
        return pair(has(a), has(b));
    };
    let at = first_different(a, b);
    let value = |side: &[u8]| side.get(at).map_or("the end".to_string(), u8::to_string);
    let differing = a.iter().zip(b).filter(|(a, b)| a != b).count();
    let mut lines = vec![format!("at position {at}, {differing} in all: {}", around(tokens, at))];
    lines.extend(pair(&value(a), &value(b)));
    lines
}
