//! Conversations for the page: messages in pieces
//! `{kind, class, name, text, first, ids, lengths, wrong, mark, left}`. `class` and `name` say what
//! the piece is trained on as, `wrong` what it ought to be; `first` is the number of its first token,
//! `lengths` has the length of each of its tokens in UTF-16, as JavaScript counts. A message may stand `beside` the one
//! before.

use serde_json::{Value, json};

use super::shown::{Border, Mark, Piece, ShownConversation, ShownMessage};
use super::training::{TokenTraining, TrainedCounts};
use crate::view::page::{Parts, beginning, short, visible};
use crate::wording::grouped;

/// About how many bytes a piece and a token of it need, beside the text.
const PIECE: usize = 120;
const TOKEN: usize = 12;

pub fn parts(of: &ShownConversation, bytes: usize) -> Parts {
    let mut facts = Vec::new();
    if let Some(tokens) = of.tokens {
        facts.push(("tokens", grouped(tokens as u64)));
    }
    if !of.counts.0.is_empty() {
        facts.push(("tokens by training target", counts(&of.counts)));
    }
    if let Some(place) = &of.place {
        facts.push(("in rows for trainers", place.clone()));
    }
    let fit = of.fit.and_then(|fit| fit.message());
    let notes = fit.into_iter().chain(of.notes.iter().cloned()).collect();
    (of.id.clone(), facts, notes, members(of, bytes))
}

fn counts(of: &TrainedCounts) -> String {
    let named = of.0.iter().filter(|(trained, _)| *trained != TokenTraining::Unknown);
    let named =
        named.map(|(trained, count)| format!("{} {}", grouped(*count as u64), trained.name()));
    named.collect::<Vec<String>>().join(", ")
}

/// Writes the messages in `bytes`: the long pieces are cut to the same length.
fn members(of: &ShownConversation, bytes: usize) -> Value {
    let pieces = || of.messages.iter().flat_map(|message| &message.pieces);
    let all = pieces().count();
    // Only as many pieces as can each be visible are kept.
    let kept = all.min(bytes / PIECE / 2);
    let size = |piece: &Piece| piece.text.len() + TOKEN * piece.tokens.len();
    let sizes: Vec<usize> = pieces().take(kept).map(size).collect();
    let limit = crate::view::page::limit(&sizes, bytes.saturating_sub(kept * PIECE));
    let (mut first, mut left_pieces, mut messages) = (0, kept, Vec::new());
    for message in &of.messages {
        if left_pieces == 0 && !message.pieces.is_empty() {
            break;
        }
        let shown: Vec<Value> = message
            .pieces
            .iter()
            .take(left_pieces)
            .map(|piece| {
                let json = piece_json(piece, first, limit);
                first += piece.tokens.len();
                json
            })
            .collect();
        left_pieces -= shown.len();
        messages.push(message_json(message, shown));
    }
    let more = all - kept;
    let left = (more > 0)
        .then(|| format!("{} more pieces of text are not on this page", grouped(more as u64)));
    json!({"kind": "conversation", "messages": messages, "left": left})
}

fn message_json(message: &ShownMessage, pieces: Vec<Value>) -> Value {
    let counts = counts(&message.counts);
    let counts = (!counts.is_empty()).then_some(counts);
    let mut json = json!({"title": short(&message.title()), "counts": counts, "pieces": pieces});
    if message.is_beside {
        json["beside"] = json!(true);
    }
    json
}

fn piece_json(piece: &Piece, first: usize, limit: usize) -> Value {
    let mut json = json!({"kind": piece.kind});
    if let Some(class) = class(piece.trained) {
        json["class"] = json!(class);
        json["name"] = json!(piece.trained.name());
    }
    if let Some(expected) = piece.expected {
        json["wrong"] = json!(expected.name());
    }
    let size = piece.text.len() + TOKEN * piece.tokens.len();
    // The text and its tokens are cut in the same proportion.
    let bytes = match size <= limit {
        true => piece.text.len(),
        false => piece.text.len() * limit / size.max(1),
    };
    let (text, left) = beginning(&piece.text, bytes);
    json["text"] = match piece.tokens.is_empty() {
        true => json!(visible(text)),
        false => {
            let (text, ids, lengths) = tokens(piece, text);
            (json["first"], json["ids"], json["lengths"]) =
                (json!(first), json!(ids), json!(lengths));
            json!(text)
        }
    };
    if let Some(left) = left {
        json["left"] = json!(left);
    }
    if let Some(mark) = &piece.mark {
        json["mark"] = mark_json(mark);
    }
    json
}

/// Returns the visible text, its tokens, and their lengths in that text.
fn tokens(piece: &Piece, text: &str) -> (String, Vec<i32>, Vec<usize>) {
    let (mut seen, mut ids, mut lengths, mut start) = (String::new(), Vec::new(), Vec::new(), 0);
    for token in &piece.tokens {
        if token.end > text.len() {
            break;
        }
        let part = visible(text.get(start..token.end).unwrap_or_default());
        ids.push(token.id);
        lengths.push(part.encode_utf16().count());
        seen += &part;
        start = token.end;
    }
    seen += &visible(text.get(start..).unwrap_or_default());
    (seen, ids, lengths)
}

fn mark_json(mark: &Mark) -> Value {
    let next = mark.next.name();
    let (sign, place) = match mark.border {
        Border::Before => ("▸", "the last token before the message"),
        Border::Last => ("◂", "the last token of the message"),
    };
    let should = mark.expected.map(|expected| format!(", should be {}", expected.name()));
    let says = format!("mask of {place}: {next}{}", should.clone().unwrap_or_default());
    let text = format!("{sign}{}{}", mark.next.letter(), should.unwrap_or_default());
    json!({"text": text, "says": says, "wrong": mark.expected.is_some()})
}

fn class(trained: TokenTraining) -> Option<&'static str> {
    Some(match trained {
        TokenTraining::Unknown => return None,
        TokenTraining::Not => "c-not",
        TokenTraining::ByWeight => "c-weight",
        TokenTraining::As(1) => "c-reasoning",
        TokenTraining::As(2) => "c-final",
        TokenTraining::Trained | TokenTraining::As(_) => "c-span",
        TokenTraining::Odd { .. } => "c-odd",
    })
}
