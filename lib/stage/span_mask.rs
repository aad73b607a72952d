//! Tokens into masked tokens: `loss_mask` and `span_id` from the segments.

use arrow_array::BooleanArray;
use arrow_select::filter::filter_record_batch;
use serde_json::{Map, Value, json};

use crate::batch::{Batch, Header};
use crate::error::Result;
use crate::harmony::{Alignment, Spans, loss_mask};
use crate::record::tokens::{self, Tokens, with_masks};

/// Which masks are made.
pub struct Masking {
    pub spans: Spans,
    pub alignment: Alignment,
}

impl Masking {
    /// Records in a header how the masks are made.
    pub fn describe(&self, header: &mut Header) {
        let channels = self.spans.channels().iter();
        let ids: Map<String, Value> =
            channels.map(|span| (span.channel.clone(), json!(span.id))).collect();
        header.set("alignment", self.alignment.name());
        header.set("spans", ids);
    }

    /// The batch with its masks, without the rejected rows.
    pub fn mask(&self, mut batch: Batch) -> Result<Batch> {
        let records = batch.records.clone();
        let view = Tokens::of(&records)?;
        let mut kept = Vec::with_capacity(view.len());
        let mut span_id = Vec::with_capacity(view.all_tokens());
        for row in 0..view.len() {
            let outcome = match view.segments(row) {
                _ if view.loss_mask(row).is_some() || view.span_id(row).is_some() => {
                    Err("has masks already".to_string())
                }
                None => Err("has no segments; try: harmony-tok".to_string()),
                Some(segments) => {
                    let length = view.tokens(row).len();
                    self.spans.append(segments, length, self.alignment, &mut span_id)
                }
            };
            kept.push(outcome.is_ok());
            if let Err(reason) = outcome {
                batch.reject_row((&records, row), view.id(row), reason, tokens::to_json);
            }
        }
        let kept_records = match kept.contains(&false) {
            true => filter_record_batch(&records, &BooleanArray::from(kept))?,
            false => records,
        };
        batch.records = with_masks(&kept_records, loss_mask(&span_id), span_id)?;
        Ok(batch)
    }
}
