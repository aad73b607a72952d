//! Every row by itself.

use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::Int8Type;
use arrow_array::{Array, RecordBatch};

use super::sequences::{Pieces, Place};
use super::{FORM, readable};
use crate::check::{CheckContext, CheckedChunk, FindingPlace, Findings, checks};
use crate::error::{At, Error, Result};
use crate::format::token_rows::{
    DecodedRows, Form, IGNORED, OpenedRows, PAD, PieceSegments, RowPiece, RowsManifest,
    SegmentReader, piece_hash,
};
use crate::harmony::{Alignment, Spans};
use crate::model::Vocabulary;
use crate::packing::Packing;
use crate::record::statements::TOKENIZER;
use crate::record::tokens::Segment;
use crate::tokenizer::EOD;
use crate::wording::exactly;

checks! {
    VALUE: Error Content "rows.value",
        "a label that is neither its token nor -100, a loss mask other than 0 or 1, or an attention mask that is not 1 for tokens and 0 for padding";
    LENGTH: Error Content "rows.length",
        "a row with more positions than it may have: trainers cut it";
    PIECES: Error Content "rows.pieces",
        "the lengths or starts of pieces, or other lists, do not fit their row";
    SEAM: Error Content "rows.seam",
        "a label on the first token of a sequence, or a mask on the last of a piece: the loss would cross a seam";
    pub(super) PADDING: Error Content "rows.padding",
        "padding behind a piece that is not <|return|> (200002) with masks of 0, up to the next multiple";
    MASK: Error Content "rows.mask",
        "labels, masks or span ids that do not follow from the roles and channels of the messages";
    SEGMENTS: Error Content "rows.segments",
        "messages that do not cover the tokens of their piece: masks are made from them";
    TOKEN: Error Content "rows.token",
        "a token that is not in the vocabulary, or an <|endoftext|> where none is kept";
    UNSUPERVISED: Warning Content "rows.unsupervised",
        "rows in which nothing is trained on: they cost time and teach nothing";
}

/// The counts of rows.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RowSums {
    pub pieces: u64,
    pub tokens: u64,
    pub used: u64,
    pub padding: u64,
    pub labels: u64,
    pub at_seams: u64,
    pub hash: u64,
}

impl RowSums {
    fn add(&mut self, other: &RowSums) {
        self.pieces += other.pieces;
        self.tokens += other.tokens;
        self.used += other.used;
        self.padding += other.padding;
        self.labels += other.labels;
        self.at_seams += other.at_seams;
        self.hash = self.hash.wrapping_add(other.hash);
    }
}

/// Checks the columns alone.
pub(super) fn columns(opened: &OpenedRows, manifest: &RowsManifest, findings: &mut Findings<'_>) {
    let empty = RecordBatch::new_empty(opened.file.schema().clone());
    if let Err(cause) = DecodedRows::of(&empty, (manifest.form, manifest.padding.is_some())) {
        findings.add(&FORM, opened.path.as_path(), cause);
    }
}

/// Checks every row; `None` if they cannot be read.
pub(super) fn rows(
    opened: &OpenedRows,
    manifest: &RowsManifest,
    context: &mut CheckContext<'_>,
    findings: &mut Findings<'_>,
    pieces: &mut Pieces,
) -> Result<Option<RowSums>> {
    let path = opened.path.as_path();
    let batches = readable(path, opened.rows(0..opened.file.rows()), findings)?;
    let Some(batches) = batches else { return Ok(None) };
    let Some(mut stored) = readable(path, SegmentReader::open(opened), findings)? else {
        return Ok(None);
    };
    let mut first = 0;
    let numbered = batches.map(|batch| {
        let batch = batch.at(path)?;
        let row = first;
        first += batch.num_rows() as u64;
        let pieces = stored.as_mut().map_or(0, |_| pieces_of(&batch, manifest.form));
        let next = |_| stored.as_mut().map(SegmentReader::next_piece);
        let segments = (0..pieces).filter_map(next).collect::<Result<Vec<PieceSegments>>>()?;
        Ok((row, batch, segments))
    });
    let spans = Spans::stated(&manifest.parameters);
    let spans = spans.as_ref();
    let make_worker = || {
        move |(first, batch, segments): (u64, RecordBatch, Vec<PieceSegments>),
              findings: &mut Findings<'_>| {
            let columns = (manifest.form, manifest.padding.is_some());
            let rows = DecodedRows::of(&batch, columns).map_err(Error::data)?;
            let mut checker = RowChecker {
                path,
                manifest,
                packing: manifest.packing(),
                findings,
                sums: RowSums::default(),
                places: Vec::new(),
                spans,
                segments: segments.into_iter(),
            };
            attention(&batch, &rows, first, &mut checker);
            for row in 0..rows.len() {
                checker.row(first + row as u64, &rows, row);
            }
            let summary = (checker.sums, checker.places);
            let bytes = 8 * summary.0.tokens;
            Ok(CheckedChunk { records: rows.len() as u64, bytes, summary })
        }
    };
    let mut sums = RowSums::default();
    let outcome = context.check_chunks(numbered, make_worker, findings, |chunk, _| {
        let (own, places) = chunk.summary;
        sums.add(&own);
        pieces.extend(places);
        Ok(())
    });
    readable(path, outcome.map(|()| sums), findings)
}

/// Returns how many pieces a batch of rows has.
fn pieces_of(batch: &RecordBatch, form: Form) -> usize {
    let list = |name: &str| batch.column_by_name(name).and_then(|c| c.as_list_opt::<i32>());
    match form {
        Form::Rows => batch.num_rows(),
        _ => list("seq_lengths")
            .or_else(|| list("seq_start_id"))
            .map_or(0, |list| list.values().len()),
    }
}

/// Checks that every position of a row is attended to.
fn attention(
    batch: &RecordBatch,
    rows: &DecodedRows<'_>,
    first: u64,
    checker: &mut RowChecker<'_, '_, '_>,
) {
    let Some(list) = batch.column_by_name("attention_mask").and_then(|c| c.as_list_opt::<i32>())
    else {
        return;
    };
    let Some(tokens) = batch.column_by_name("input_ids").and_then(|c| c.as_list_opt::<i32>())
    else {
        return;
    };
    for row in 0..list.len() {
        let values = list.value(row);
        let ones = values.as_primitive_opt::<Int8Type>();
        let own = rows.own_length(row);
        let is_seen = ones.is_some_and(|ones| {
            let mut values = ones.values().iter().enumerate();
            values.all(|(place, &value)| value == i8::from(place < own))
        });
        let at = FindingPlace::file(checker.path).record("row", first + row as u64);
        if values.len() as i32 != tokens.value_length(row) {
            let message = format!(
                "{}, {} in attention_mask",
                exactly(tokens.value_length(row), "token"),
                values.len()
            );
            checker.findings.add(&PIECES, at, message);
        } else if !is_seen {
            checker.findings.add(
                &VALUE,
                at,
                "an attention mask that is not 1 for tokens and 0 for padding",
            );
        }
    }
}

struct RowChecker<'a, 'f, 's> {
    path: &'a Path,
    manifest: &'a RowsManifest,
    packing: Packing,
    findings: &'f mut Findings<'s>,
    sums: RowSums,
    /// The place of each piece in its sequence, if the rows state it.
    places: Vec<Place>,
    spans: Option<&'a Spans>,
    /// The messages of the pieces that come next, if they stand in the file.
    segments: std::vec::IntoIter<PieceSegments>,
}

impl RowChecker<'_, '_, '_> {
    fn row(&mut self, number: u64, rows: &DecodedRows<'_>, row: usize) {
        let at = FindingPlace::file(self.path).record("row", number);
        let tokens = rows.tokens(row);
        if let Some(labels) = rows.labels(row) {
            let differ = |(&label, &token): (&i32, &i32)| label != IGNORED && label != token;
            if let Some(place) = labels.iter().zip(tokens).position(differ) {
                let message = format_args!(
                    "position {place}: the label of the token {} is {}",
                    tokens[place], labels[place]
                );
                self.findings.add(&VALUE, at, message);
            }
        }
        let vocabulary = Vocabulary::of(self.manifest.parameters.value(&TOKENIZER));
        let keep_eod = self.manifest.keep_eod;
        let is_wrong = |&token: &i32| !vocabulary.has(token) || token == EOD && !keep_eod;
        if let Some(place) = tokens.iter().position(is_wrong) {
            self.findings.add(
                &TOKEN,
                at,
                format_args!("position {place}: the token {}", tokens[place]),
            );
        }
        let pieces = match rows.pieces(row) {
            Ok(pieces) => pieces,
            Err(cause) => {
                self.findings.add(&PIECES, at, cause);
                // (Which messages belong to the pieces behind it is not known.)
                self.segments = Vec::new().into_iter();
                return;
            }
        };
        if pieces.iter().all(|piece| piece.mask.iter().all(|&mask| mask == 0)) {
            self.findings.add(&UNSUPERVISED, at, "nothing is trained on");
        }
        let used = self.packing.row_weight(pieces.iter().map(|piece| piece.tokens.len() as u32));
        let more = self.packing.row_padding(used);
        let used = used + u64::from(more);
        for (place, piece) in pieces.iter().enumerate() {
            self.padding(number, piece, if place + 1 == pieces.len() { more } else { 0 });
            self.piece(number, piece);
        }
        if let Some(most) = self.packing.seq_length.filter(|&most| used > u64::from(most)) {
            self.findings.add(
                &LENGTH,
                at,
                format_args!("{}, more than {most}", exactly(used, "position")),
            );
        }
        self.sums.used += used;
    }

    /// Checks the padding after a piece, and so much more at the end of a row.
    fn padding(&mut self, number: u64, piece: &RowPiece<'_>, more: u32) {
        let (tokens, mask) = piece.padding;
        self.sums.padding += tokens.len() as u64;
        let wanted = (self.packing.padding(piece.tokens.len() as u32) + more) as usize;
        let pad = self.manifest.padding.map_or(PAD, |padding| padding.token);
        let cause = match (tokens.iter().find(|&&token| token != pad), mask.iter().max()) {
            _ if tokens.len() != wanted => {
                format!("{} of padding, not {wanted}", exactly(tokens.len(), "token"))
            }
            (Some(token), _) => format!("padding of the token {token}"),
            (None, Some(1..)) => "a mask in the padding".to_string(),
            _ => return,
        };
        let at = FindingPlace::file(self.path).record("row", number);
        self.findings.add(&PADDING, at, format_args!("piece {}: {cause}", piece.number));
    }

    /// Checks the masks of a piece, which follow from its messages.
    fn messages(&mut self, at: FindingPlace<'_>, piece: &RowPiece<'_>) {
        let Some(stored) = self.segments.next() else { return };
        let Some(segments) = stored.list() else { return };
        let start = piece.place.map_or(0, |(_, start, _)| start);
        let length = piece.tokens.len() as i32;
        let inside = |position: i32| (position - start).clamp(0, length);
        let within = segments.iter().map(|segment| Segment {
            start: inside(segment.start),
            end: inside(segment.end),
            ..*segment
        });
        let mut end = 0;
        for segment in within.clone() {
            if segment.start != end || segment.end <= end {
                let cause =
                    format!("piece {}: a message begins at {}", piece.number, segment.start);
                self.findings.add(&SEGMENTS, at, format_args!("{cause}, not at {end}"));
                return;
            }
            end = segment.end;
        }
        // (Behind the last message an appended end may stand.)
        if end != length && end + 1 != length {
            let cause = format!("piece {}: its messages end at {end} of {length}", piece.number);
            self.findings.add(&SEGMENTS, at, cause);
            return;
        }
        let is_token_aligned = self.manifest.form.is_token_aligned();
        let alignment = if is_token_aligned { Alignment::Token } else { Alignment::Label };
        let stated = piece.spans.unwrap_or(piece.mask);
        let mut derived = Vec::new();
        if let Err(cause) =
            Spans::derive(self.spans, within, (stated, false), alignment, &mut derived)
        {
            self.findings.add(&SEGMENTS, at, format_args!("piece {}: {cause}", piece.number));
            return;
        }
        // (Nothing predicts the first token of a sequence, and the last of a piece has nothing to predict.)
        let ends = if is_token_aligned { derived.first_mut() } else { derived.last_mut() };
        ends.filter(|_| !is_token_aligned || start == 0).into_iter().for_each(|id| *id = 0);
        let is_right = |place: &usize| match piece.spans {
            Some(spans) => spans[*place] == derived[*place],
            None => (piece.mask[*place] > 0) == (derived[*place] > 0),
        };
        if let Some(place) = (0..derived.len()).find(|place| !is_right(place)) {
            let (position, expected) = (piece.at + place, derived[place]);
            let message = match piece.spans {
                Some(spans) => format!("has span id {}; its message has {expected}", spans[place]),
                None if expected > 0 => "is not trained on; its message is".to_string(),
                None => "is trained on; its message is not".to_string(),
            };
            self.findings.add(&MASK, at, format_args!("position {position} {message}"));
        }
    }

    fn piece(&mut self, number: u64, piece: &RowPiece<'_>) {
        self.messages(FindingPlace::file(self.path).record("row", number), piece);
        let at = FindingPlace::file(self.path).record("row", number);
        let RowPiece { tokens, mask, place, .. } = piece;
        if let Some(&other) = mask.iter().find(|mask| **mask > 1) {
            self.findings.add(&VALUE, at, format_args!("a loss mask of {}", other as i8));
        }
        let start = place.map_or(0, |(_, start, _)| start);
        match self.manifest.form.is_token_aligned() {
            true if mask.first() == Some(&1) && start == 0 => {
                let message = format_args!("piece {}: its first token has a label", piece.number);
                self.findings.add(&SEAM, at, message);
            }
            false if mask.last() == Some(&1) => {
                let message = format_args!("piece {}: its last position has a mask", piece.number);
                self.findings.add(&SEAM, at, message);
            }
            _ => {}
        }
        let RowSums { pieces, tokens: all, labels, at_seams, hash, .. } = &mut self.sums;
        *pieces += 1;
        *all += tokens.len() as u64;
        *labels += mask.iter().filter(|mask| **mask > 0).count() as u64;
        *at_seams += u64::from(start > 0 && mask.first() == Some(&1));
        *hash = hash.wrapping_add(piece_hash(tokens, mask));
        let length = tokens.len() as u32;
        let place_of =
            |&(sequence, start, left)| Place { sequence, start, length, left, row: number };
        self.places.extend(place.as_ref().map(place_of));
    }
}
