//! How decoded sequences are shown.

use std::ops::Range;

use arrow_array::RecordBatch;

use super::DecodedKind;
use crate::batch::{Batch, Header};
use crate::error::Result;
use crate::kinds::conversation::{
    Piece, PieceKind, ShownConversation, ShownMessage, TokenTraining,
};
use crate::record::DECODED;
use crate::record::decoded::{DecodedBatch, Span};
use crate::said::Said;
use crate::view::{Look, Shown, ViewKind};

impl ViewKind for DecodedKind {
    fn name(&self) -> &'static str {
        DECODED.name
    }

    fn look(&self, _: &Header, _: &Said) -> Result<Box<dyn Look>> {
        Ok(Box::new(DecodedKind))
    }
}

impl Look for DecodedKind {
    fn show(&self, batch: &Batch, row: usize) -> Result<Box<dyn Shown>> {
        Ok(Box::new(of_decoded(&batch.records, row)?))
    }
}

/// Shows a sequence as `harmony-tok --decode` writes it, with its spans.
pub fn of_decoded(batch: &RecordBatch, row: usize) -> Result<ShownConversation> {
    let decoded = DecodedBatch::of(batch)?;
    let text = decoded.text(row);
    let trained = Runs::of(text, decoded.spans(row));
    let mut shown = ShownConversation {
        id: decoded.id(row).map(str::to_string),
        ..ShownConversation::default()
    };
    let mut from = 0;
    for message in decoded.messages(row) {
        let content = format!("<|message|>{}", message.text);
        let Some(start) = text[from..].find(&content).map(|at| from + at + "<|message|>".len())
        else {
            shown.notes.push("its text is not that of its messages".to_string());
            break;
        };
        let end = start + message.text.len();
        let ends = ["<|end|>", "<|return|>", "<|call|>"];
        let last = ends.iter().find(|name| text[end..].starts_with(**name));
        let after = end + last.map_or(0, |name| name.len());
        let mut pieces = trained.pieces(text, from..start, PieceKind::Control);
        pieces.extend(trained.pieces(text, start..end, PieceKind::Text));
        pieces.extend(trained.pieces(text, end..after, PieceKind::Control));
        if message.train == Some(false) {
            let not = pieces.iter_mut().filter(|piece| piece.trained == TokenTraining::Not);
            not.for_each(|piece| piece.trained = TokenTraining::ByWeight);
        }
        from = after;
        shown.messages.push(ShownMessage {
            role: Some(message.role),
            channel: message.channel,
            recipient: message.recipient,
            content_type: message.content_type,
            pieces,
            ..ShownMessage::default()
        });
    }
    if from < text.len() {
        let kind = match &text[from..] {
            "<|endoftext|>" => PieceKind::Eod,
            _ => PieceKind::Text,
        };
        let pieces = trained.pieces(text, from..text.len(), kind);
        shown.messages.push(ShownMessage { pieces, ..ShownMessage::default() });
    }
    Ok(shown)
}

/// How each part of a text is trained on: the end of each part in bytes, ascending.
struct Runs(Vec<(usize, TokenTraining)>);

impl Runs {
    fn of(text: &str, spans: Option<Vec<Span>>) -> Runs {
        let Some(spans) = spans else { return Runs(vec![(text.len(), TokenTraining::Unknown)]) };
        let offsets: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        let offset = |character: u64| {
            let place = usize::try_from(character).ok().and_then(|place| offsets.get(place));
            place.copied().unwrap_or(text.len())
        };
        let mut runs: Vec<(usize, TokenTraining)> = Vec::new();
        for span in spans {
            let before = runs.last().map_or(0, |(end, _)| *end);
            let (start, end) = (offset(span.start).max(before), offset(span.end).max(before));
            if before < start {
                runs.push((start, TokenTraining::Not));
            }
            runs.push((end.max(start), TokenTraining::of(1, span.span_id)));
        }
        runs.push((text.len(), TokenTraining::Not));
        Runs(runs)
    }

    /// Cuts a range of the text into pieces where a run ends.
    fn pieces(&self, text: &str, range: Range<usize>, kind: PieceKind) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut start = range.start;
        for &(end, trained) in self.0.iter().filter(|(end, _)| *end > range.start) {
            let end = end.min(range.end);
            if start < end {
                let text = text.get(start..end).unwrap_or_default();
                pieces.push(Piece { kind, trained, ..Piece::plain(text) });
                start = end;
            }
        }
        pieces
    }
}
