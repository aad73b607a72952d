//! A window of records, held in memory, from which rows are packed.

use std::ops::Range;

use serde_json::json;

use super::segments::SegmentStore;
use super::store::{Ids, OF_MODEL, Sequences, Starts, end_inside, no_end_in_words, wrong_mask};
use crate::cli::RejectedContent;
use crate::error::{Place, Result};
use crate::format::kd_root::RowRule;
use crate::record::tokens::{Segment, Tokens};
use crate::tokenizer::EOD;
use crate::wording::exactly;

/// Records that are packed together, with all of their tokens.
#[derive(Debug, Default)]
pub(super) struct Window {
    /// The number of its first sequence.
    pub first: u64,
    starts: Starts,
    pub lengths: Vec<u32>,
    tokens: Vec<i32>,
    masks: Vec<u8>,
    spans: Vec<u8>,
    ids: Ids,
    segments: SegmentStore,
    places: Vec<Place>,
}

impl Window {
    pub fn len(&self) -> usize {
        self.lengths.len()
    }

    pub fn tokens_len(&self) -> usize {
        self.tokens.len()
    }

    /// Takes a record. Returns the cause of a refusal: masks are missing or have another length or wrong
    /// values; span ids are wanted and missing; an end of document is not exactly at its end (unless ends
    /// of documents are kept); or the record breaks the rule.
    pub fn push(
        &mut self,
        view: &Tokens<'_>,
        row: usize,
        place: Place,
        (keep_eod, with_spans, with_segments): (bool, bool, bool),
        rule: &mut Option<RowRule>,
    ) -> std::result::Result<(), String> {
        let tokens = view.tokens(row);
        let mask = view.loss_mask(row).ok_or("has no loss mask: rows have labels")?;
        let spans = match (view.span_id(row), with_spans) {
            (None, true) => return Err("has no span ids".to_string()),
            (spans, _) => spans,
        };
        if mask.len() != tokens.len() || spans.is_some_and(|spans| spans.len() != tokens.len()) {
            let spans = spans.map(|spans| format!(", {} span ids", spans.len()));
            return Err(format!(
                "{}, {} in the loss mask{}",
                exactly(tokens.len(), "token"),
                mask.len(),
                spans.unwrap_or_default()
            ));
        }
        if let Some(other) = mask.iter().find(|value| **value > 1) {
            return Err(wrong_mask(*other));
        }
        if let (false, Some((last, before))) = (keep_eod, tokens.split_last()) {
            let no_end = (*last != EOD).then(no_end_in_words);
            if let Some(cause) = no_end.or_else(|| end_inside(before)) {
                return Err(format!("{cause}; try: {OF_MODEL}"));
            }
        }
        let length = u32::try_from(tokens.len()).map_err(|_| "has 2^32 tokens".to_string())?;
        rule.as_mut().map_or(Ok(()), |rule| rule(view, row))?;
        self.starts.push(self.tokens.len() as u64);
        self.lengths.push(length);
        self.tokens.extend_from_slice(tokens);
        self.masks.extend_from_slice(mask);
        self.spans.extend_from_slice(spans.filter(|_| with_spans).unwrap_or_default());
        self.ids.push(view.id(row));
        self.segments.push(view.segments(row).filter(|_| with_segments));
        self.places.push(place);
        Ok(())
    }

    /// The tokens and the mask of all of its records, one after another.
    pub fn values_of_all(&self) -> (&[i32], &[u8]) {
        (&self.tokens, &self.masks)
    }

    /// Makes the window empty and keeps its memory.
    pub fn clear(&mut self) {
        let first = self.first + self.len() as u64;
        let Window { starts, lengths, tokens, masks, spans, places, .. } = self;
        starts.clear();
        lengths.clear();
        tokens.clear();
        masks.clear();
        spans.clear();
        places.clear();
        (self.first, self.ids, self.segments) = (first, Ids::default(), SegmentStore::default());
    }

    fn at(&self, sequence: u64) -> usize {
        (sequence - self.first) as usize
    }

    fn values(&self, sequence: u64, range: &Range<u32>) -> Range<usize> {
        let start = self.starts[self.at(sequence)] as usize;
        start + range.start as usize..start + range.end as usize
    }
}

impl Sequences for Window {
    fn tokens(&self, sequence: u64, range: Range<u32>, into: &mut Vec<i32>) -> Result<()> {
        into.extend_from_slice(&self.tokens[self.values(sequence, &range)]);
        Ok(())
    }

    fn masks(
        &self,
        sequence: u64,
        range: Range<u32>,
        mask: &mut Vec<u8>,
        spans: Option<&mut Vec<u8>>,
    ) -> Result<()> {
        let values = self.values(sequence, &range);
        mask.extend_from_slice(&self.masks[values.clone()]);
        if let Some(spans) = spans {
            spans.extend_from_slice(&self.spans[values]);
        }
        Ok(())
    }

    fn segments(&self, sequence: u64) -> Option<Vec<Segment<'_>>> {
        Some(self.segments.of(self.at(sequence))?.collect())
    }

    fn has_segments(&self) -> bool {
        self.segments.is_known()
    }

    fn id(&self, sequence: u64) -> Option<&str> {
        self.ids.get(self.at(sequence))
    }

    fn place(&self, sequence: u64) -> Place {
        self.places[self.at(sequence)].clone()
    }

    fn rejected(&self, sequence: u64) -> RejectedContent {
        let values = self.values(sequence, &(0..self.lengths[self.at(sequence)]));
        let spans = self.spans.get(values.clone()).filter(|spans| !spans.is_empty());
        let record = json!({
            "id": self.id(sequence),
            "tokens": self.tokens[values.clone()],
            "loss_mask": self.masks[values],
            "span_id": spans,
        });
        RejectedContent::Text(record.to_string())
    }
}
