//! Tokens into masked tokens: `loss_mask` and `span_id` from the segments.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use arrow_array::BooleanArray;
use arrow_select::filter::filter_record_batch;

use crate::batch::{Batch, Header};
use crate::error::Result;
use crate::harmony::{Alignment, ChannelSpan, Spans, loss_mask, unsupervised};
use crate::record::tokens::{self, Segment, Tokens, with_masks};

/// Which masks are made.
pub struct Masking {
    spans: Spans,
    alignment: Alignment,
    /// The channels that were asked for by name and have not come yet.
    awaited: Mutex<BTreeSet<String>>,
    /// Whether there are none: nobody has to look.
    none_awaited: AtomicBool,
    /// Sequences so far, and those of them in which nothing is supervised.
    sequences: AtomicU64,
    unsupervised: AtomicU64,
}

impl Masking {
    /// The contract's spans, changed and extended by the given ones.
    pub fn new(named: &[ChannelSpan], alignment: Alignment) -> Masking {
        Masking {
            spans: Spans::synth_kd_v1(named),
            alignment,
            awaited: Mutex::new(named.iter().map(|span| span.channel.clone()).collect()),
            none_awaited: AtomicBool::new(named.is_empty()),
            sequences: AtomicU64::new(0),
            unsupervised: AtomicU64::new(0),
        }
    }

    /// A warning for each channel that was asked for by name and never came, and one for sequences
    /// in which nothing is supervised.
    pub fn warnings(&self) -> Vec<String> {
        let warning = |channel: &String| {
            format!("--span {channel}: no assistant message came in this channel")
        };
        let counts = [&self.unsupervised, &self.sequences];
        let [without, all] = counts.map(|count| count.load(Ordering::Relaxed));
        let awaited = self.awaited();
        awaited.iter().map(warning).chain(unsupervised(without, all)).collect()
    }

    fn awaited(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.awaited.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn came<'a>(&self, segments: impl Iterator<Item = Segment<'a>>) {
        let mut awaited = self.awaited();
        let of_assistants = segments.filter(|segment| segment.role == "assistant");
        for channel in of_assistants.filter_map(|segment| segment.channel) {
            awaited.remove(channel);
        }
        self.none_awaited.store(awaited.is_empty(), Ordering::Relaxed);
    }

    /// Records in a header how the masks are made.
    pub fn describe(&self, header: &mut Header) {
        header.set("alignment", self.alignment.name());
        header.set("spans", self.spans.to_json());
    }

    /// The batch with its masks, without the rejected rows.
    pub fn mask(&self, mut batch: Batch) -> Result<Batch> {
        let records = batch.records.clone();
        let view = Tokens::of(&records)?;
        let mut kept = Vec::with_capacity(view.len());
        let mut span_id = Vec::with_capacity(view.all_tokens());
        let mut unsupervised = 0;
        for row in 0..view.len() {
            let outcome = match view.segments(row) {
                _ if view.loss_mask(row).is_some() || view.span_id(row).is_some() => {
                    Err("has masks already".to_string())
                }
                None => Err("has no segments; try: harmony-tok".to_string()),
                Some(segments) => {
                    let (length, start) = (view.tokens(row).len(), span_id.len());
                    let done = self.spans.append(segments, length, self.alignment, &mut span_id);
                    let is_supervised = span_id[start..].iter().any(|&id| id > 0);
                    unsupervised += u64::from(done.is_ok() && !is_supervised);
                    done
                }
            };
            if !self.none_awaited.load(Ordering::Relaxed) {
                view.segments(row).into_iter().for_each(|segments| self.came(segments));
            }
            kept.push(outcome.is_ok());
            if let Err(reason) = outcome {
                batch.reject_row((&records, row), view.id(row), reason, tokens::to_json);
            }
        }
        let masked = kept.iter().filter(|kept| **kept).count() as u64;
        self.sequences.fetch_add(masked, Ordering::Relaxed);
        self.unsupervised.fetch_add(unsupervised, Ordering::Relaxed);
        let kept_records = if kept.contains(&false) {
            filter_record_batch(&records, &BooleanArray::from(kept))?
        } else {
            records
        };
        batch.records = with_masks(&kept_records, loss_mask(&span_id), span_id)?;
        Ok(batch)
    }
}
