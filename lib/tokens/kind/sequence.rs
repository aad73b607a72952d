//! A token sequence as a conversation: text in pieces, with what the masks say about each piece.

use std::ops::Range;

use super::texts::TokenTexts;
use crate::harmony::{Alignment, Spans, loss_mask};
use crate::kinds::conversation::{
    Border, Mark, MaskFit, Piece, PieceKind, SHIFTS, ShownConversation, ShownMessage, TokenBorder,
    TokenTraining,
};
use crate::record::tokens::{Segment, Tokens};
use crate::tokenizer::{CALL, CHANNEL, CONSTRAIN, END, EOD, MESSAGE, RETURN, START, token_bytes};

/// The place of a message, and what its header says.
struct Place {
    role: Option<String>,
    channel: Option<String>,
    tokens: Range<usize>,
    /// False if a weight keeps the message from being trained on.
    is_trained: bool,
}

impl Place {
    fn new(tokens: Range<usize>) -> Place {
        Place { role: None, channel: None, tokens, is_trained: true }
    }
}

/// Shows a record, even if its tokens, masks and segments are wrong. `spans` are the spans with which its
/// masks were made, if known.
pub fn of_tokens(
    rows: &Tokens<'_>,
    row: usize,
    alignment: Alignment,
    spans: Option<&Spans>,
    texts: &TokenTexts,
) -> ShownConversation {
    let tokens = rows.tokens(row);
    let mut shown = ShownConversation {
        id: rows.id(row).map(str::to_string),
        tokens: Some(tokens.len()),
        ..ShownConversation::default()
    };
    let stated = rows.segments(row).map(|segments| stated_places(segments.collect(), tokens.len()));
    let is_invalid = matches!(stated, Some(None));
    if is_invalid {
        shown.notes.push("its segments are not messages one after another".to_string());
    }
    let places = stated.flatten().filter(|places| !places.is_empty() || tokens.is_empty());
    let places = places.unwrap_or_else(|| match texts.is_o200k() {
        true => find_places(tokens),
        false => vec![Place::new(0..tokens.len())],
    });
    // (Where the spans are not known, the mask alone is shown.)
    let has_spans = rows.span_id(row).is_some();
    let masks = rows.loss_mask(row).map(|mask| (mask, rows.span_id(row).unwrap_or(mask)));
    shown.notes.extend(masks.and_then(|masks| wrong_masks(masks, alignment, tokens.len())));
    let mut trained = masks.map(|masks| by_token(masks, alignment, tokens.len()));
    if let Some(trained) = &mut trained {
        for place in places.iter().filter(|place| !place.is_trained) {
            let not = trained[place.tokens.clone()].iter_mut();
            not.filter(|trained| **trained == TokenTraining::Not)
                .for_each(|t| *t = TokenTraining::ByWeight);
        }
    }
    let stated = masks.map(|(_, span)| span).zip(trained.as_deref());
    let mut expected = expected_masks(&places, spans, stated, alignment, tokens.len());
    if !has_spans {
        let all = trained.iter_mut().flatten().chain(&mut expected);
        all.for_each(|training| *training = training.without_span());
    }
    let has_messages = places.iter().any(|place| place.role.is_some());
    // Without messages the masks cannot be checked.
    let expected = match &trained {
        Some(trained) if !has_messages => trained,
        _ => &expected,
    };
    if let Some(trained) = &trained {
        let fit = if has_messages { MaskFit::of(trained, expected) } else { MaskFit::Unknown };
        shown.fit = Some(fit);
    }
    let sequence = Sequence { tokens, texts, trained: trained.as_deref(), expected };
    let end = places.iter().rfind(|place| place.role.is_some()).map(|last| last.tokens.end);
    for place in &places {
        let message = sequence.message(place, end);
        for (trained, count) in &message.counts.0 {
            shown.counts.add(*trained, *count);
        }
        shown.messages.push(message);
    }
    shown
}

/// Returns the segments of a record and what is between them; `None` if they do not follow one
/// another.
fn stated_places(segments: Vec<Segment<'_>>, length: usize) -> Option<Vec<Place>> {
    let (mut places, mut end) = (Vec::new(), 0);
    for segment in segments {
        let from = usize::try_from(segment.start).ok().filter(|from| *from >= end)?;
        let to = usize::try_from(segment.end).ok().filter(|to| (from..=length).contains(to))?;
        if end < from {
            places.push(Place::new(end..from));
        }
        let (role, channel) = (Some(segment.role.to_string()), segment.channel.map(str::to_string));
        places.push(Place { role, channel, tokens: from..to, is_trained: segment.is_trained });
        end = to;
    }
    if end < length {
        places.push(Place::new(end..length));
    }
    Some(places)
}

/// Finds the messages among tokens: each from `<|start|>` to its end.
fn find_places(tokens: &[i32]) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let rest = &tokens[at + 1..];
        let is_message = tokens[at] == START;
        let ends = |id: &i32| is_message && [END, RETURN, CALL].contains(id);
        let next = rest.iter().position(|id| [START, EOD].contains(id)).unwrap_or(rest.len());
        let end = rest[..next].iter().position(ends).map_or(next, |end| end + 1);
        let range = at..at + 1 + end;
        let role = is_message.then(|| text_of(tokens, at + 1));
        let channel = tokens[range.clone()].iter().position(|id| *id == CHANNEL);
        let channel = channel.filter(|_| is_message).map(|place| text_of(tokens, at + place + 1));
        at = range.end;
        places.push(Place { role, channel, ..Place::new(range) });
    }
    places
}

/// Returns the first word of the text that begins at a token and ends at the next control token.
fn text_of(tokens: &[i32], start: usize) -> String {
    let is_header = |id: &&i32| ![CHANNEL, CONSTRAIN, MESSAGE].contains(*id);
    let ids = tokens.iter().skip(start).take_while(is_header).take(64);
    let bytes: Vec<u8> = ids.filter_map(|id| token_bytes(*id)).flatten().copied().collect();
    let text = String::from_utf8_lossy(&bytes);
    text.split_whitespace().next().unwrap_or_default().to_string()
}

/// Returns defects of the masks that cannot be shown at a single token.
fn wrong_masks(
    (mask, span): (&[u8], &[u8]),
    alignment: Alignment,
    length: usize,
) -> Option<String> {
    if (mask.len(), span.len()) != (length, length) {
        let (mask, span) = (mask.len(), span.len());
        return Some(format!("loss_mask is {mask} long and span_id {span}, the tokens {length}"));
    }
    let last = mask.last().zip(span.last()).filter(|_| alignment == Alignment::Label)?;
    let is_trained = (*last.0, *last.1) != (0, 0);
    is_trained.then(|| "the last position is trained on, and no token follows it".to_string())
}

/// Returns how each token is trained on.
fn by_token(
    (mask, span): (&[u8], &[u8]),
    alignment: Alignment,
    length: usize,
) -> Vec<TokenTraining> {
    let shift = usize::from(alignment == Alignment::Label);
    let of = |token: usize| {
        let position = token.checked_sub(shift)?;
        Some(TokenTraining::of(*mask.get(position)?, *span.get(position)?))
    };
    (0..length).map(|token| of(token).unwrap_or(TokenTraining::Not)).collect()
}

/// Returns how each token should be trained on: as span-mask makes it from the messages. If the spans are
/// not known, the id at the beginning of a message holds for the whole message, perhaps in shifted masks,
/// as in ds-check. If no such masks equal the stated ones, the contract's spans are assumed.
fn expected_masks(
    places: &[Place],
    spans: Option<&Spans>,
    stated: Option<(&[u8], &[TokenTraining])>,
    alignment: Alignment,
    length: usize,
) -> Vec<TokenTraining> {
    let by_token = |derive: &dyn Fn(&mut Vec<u8>) -> Result<(), String>| {
        let mut ids = Vec::new();
        // (Tokens that are not messages one after another have no spans; another note says so.)
        let _ = derive(&mut ids);
        let mut expected = by_token((&loss_mask(&ids), &ids), alignment, length);
        for place in places.iter().filter(|place| !place.is_trained) {
            expected[place.tokens.clone()].fill(TokenTraining::ByWeight);
        }
        expected
    };
    let of =
        |spans: &Spans| by_token(&|ids| spans.append(segments(places), length, alignment, ids));
    if let Some(spans) = spans {
        return of(spans);
    }
    if let Some((span, trained)) = stated.filter(|(span, _)| span.len() == length) {
        for by in [0].into_iter().chain(SHIFTS) {
            let back =
                |at: usize| at.checked_add_signed(by as isize).and_then(|at| span.get(at)).copied();
            let span: Vec<u8> = (0..length).map(|at| back(at).unwrap_or(0)).collect();
            let expected =
                by_token(&|ids| Spans::append_stated(segments(places), &span, alignment, ids));
            match MaskFit::of(trained, &expected) {
                MaskFit::Fits | MaskFit::Shifted { .. } => return expected,
                _ => {}
            }
        }
    }
    of(&Spans::synth_kd_v1(&[]))
}

/// Returns the messages at places.
fn segments(places: &[Place]) -> impl Iterator<Item = Segment<'_>> {
    places.iter().filter_map(|place| {
        Some(Segment {
            role: place.role.as_deref()?,
            channel: place.channel.as_deref(),
            start: i32::try_from(place.tokens.start).ok()?,
            end: i32::try_from(place.tokens.end).ok()?,
            is_trained: place.is_trained,
        })
    })
}

struct Sequence<'a> {
    tokens: &'a [i32],
    texts: &'a TokenTexts,
    trained: Option<&'a [TokenTraining]>,
    expected: &'a [TokenTraining],
}

impl Sequence<'_> {
    /// Returns the message at a place; the last one ends at `end`.
    fn message(&self, place: &Place, end: Option<usize>) -> ShownMessage {
        let mut message = ShownMessage {
            role: place.role.clone(),
            channel: place.channel.clone(),
            ..ShownMessage::default()
        };
        let mut pieces = Pieces::default();
        for at in place.tokens.clone() {
            let id = self.tokens[at];
            let trained = self.trained.map_or(TokenTraining::Unknown, |trained| trained[at]);
            let kind = self.texts.kind(id);
            let expected = self.expected_unless(at);
            pieces.add(id, self.texts, Piece { kind, trained, expected, ..Piece::plain("") });
            message.counts.add(trained, 1);
        }
        message.pieces = pieces.finish();
        let next = place.tokens.end;
        if let (Some(trained), Some(last)) = (self.trained, message.pieces.last_mut())
            && place.role.is_some()
        {
            let border = if Some(next) == end { Border::Last } else { Border::Before };
            let expected = self.expected_unless(next);
            let next = trained.get(next).copied().unwrap_or(TokenTraining::Not);
            last.mark = Some(Mark { border, next, expected });
        }
        message
    }

    /// Returns how a token should be trained on; `None` if the masks say the same.
    fn expected_unless(&self, at: usize) -> Option<TokenTraining> {
        let (found, expected) = (self.trained?.get(at)?, self.expected.get(at)?);
        (found != expected).then_some(*expected)
    }
}

/// Returns tokens as text in pieces, without masks.
pub fn pieces_of(tokens: &[i32], texts: &TokenTexts) -> Vec<Piece> {
    let mut pieces = Pieces::default();
    for &id in tokens {
        pieces.add(id, texts, Piece { kind: texts.kind(id), ..Piece::plain("") });
    }
    pieces.finish()
}

/// Collects tokens into pieces.
#[derive(Default)]
struct Pieces {
    list: Vec<Piece>,
    /// The bytes of a character that is not complete yet.
    open: Vec<u8>,
}

impl Pieces {
    /// Adds a token. `like` is the piece that would begin with it.
    fn add(&mut self, id: i32, texts: &TokenTexts, like: Piece) {
        let goes_on = self.list.last().is_some_and(|last| {
            let same = (last.kind, last.trained, last.expected);
            like.kind == PieceKind::Text && same == (like.kind, like.trained, like.expected)
        });
        if !goes_on {
            self.close();
            self.list.push(like);
        }
        let bytes = texts.bytes(id);
        let bytes = bytes.unwrap_or_else(|| format!("<|unknown {id}|>").into_bytes().into());
        self.open.extend_from_slice(&bytes);
        let bytes = (!texts.is_o200k()).then(|| bytes.into_owned());
        let Some(piece) = self.list.last_mut() else { return };
        // Complete characters are added; bytes that can never become a character are replaced.
        loop {
            match str::from_utf8(&self.open) {
                Ok(text) => {
                    piece.text += text;
                    self.open.clear();
                    break;
                }
                Err(error) => {
                    let valid = error.valid_up_to();
                    piece.text += str::from_utf8(&self.open[..valid]).unwrap_or_default();
                    let Some(bad) = error.error_len() else {
                        self.open.drain(..valid);
                        break;
                    };
                    piece.text.push(char::REPLACEMENT_CHARACTER);
                    self.open.drain(..valid + bad);
                }
            }
        }
        piece.tokens.push(TokenBorder { id, bytes, end: piece.text.len() });
    }

    /// Ends the last piece and replaces an incomplete character.
    fn close(&mut self) {
        let Some(piece) = self.list.last_mut() else { return };
        if !std::mem::take(&mut self.open).is_empty() {
            piece.text.push(char::REPLACEMENT_CHARACTER);
            if let Some(last) = piece.tokens.last_mut() {
                last.end = piece.text.len();
            }
        }
    }

    fn finish(mut self) -> Vec<Piece> {
        self.close();
        self.list
    }
}
