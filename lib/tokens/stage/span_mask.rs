//! Tokens into masked tokens: `loss_mask` and `span_id` from the segments.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use arrow_array::BooleanArray;
use arrow_select::filter::filter_record_batch;

use crate::batch::{Batch, Header};
use crate::error::Result;
use crate::harmony::{Alignment, ChannelSpan, Spans, loss_mask, unsupervised};
use crate::record::statements::{ALIGNMENT, SPANS};
use crate::record::tokens::{Segment, Tokens, with_masks};
use crate::stream::row_json;
use crate::wording::counted;

/// The masks that are made.
pub struct MaskRules {
    spans: Spans,
    alignment: Alignment,
    /// The channels that the user named and that have not come yet.
    awaited: Mutex<BTreeSet<String>>,
    /// Whether all of them have come, so that nobody has to look any more.
    none_awaited: AtomicBool,
    /// How many messages of the assistant came in each channel without a span.
    unnamed: Mutex<BTreeMap<String, u64>>,
    /// The number of sequences so far, and the number of sequences in which nothing is supervised.
    sequences: AtomicU64,
    unsupervised: AtomicU64,
}

impl MaskRules {
    /// Uses the contract's spans, changed and extended by `named`.
    pub fn new(named: &[ChannelSpan], alignment: Alignment) -> MaskRules {
        MaskRules {
            spans: Spans::synth_kd_v1(named),
            alignment,
            awaited: Mutex::new(named.iter().map(|span| span.channel.clone()).collect()),
            unnamed: Mutex::default(),
            none_awaited: AtomicBool::new(named.is_empty()),
            sequences: AtomicU64::new(0),
            unsupervised: AtomicU64::new(0),
        }
    }

    /// Returns a warning for each channel that the user named and that never came, for each channel
    /// that came and has no span, and for sequences in which nothing is supervised.
    pub fn warnings(&self) -> Vec<String> {
        let unnamed = self.unnamed.lock().unwrap_or_else(PoisonError::into_inner);
        let known = unnamed.keys().chain(self.spans.channels().iter().map(|span| &span.channel));
        let known: Vec<&String> = known.collect();
        let warning = |channel: &String| {
            let near = known.iter().find(|known| is_near(known, channel));
            let near = near.map_or(String::new(), |known| format!("; try: {known}"));
            format!("--span {channel}: no assistant message came in this channel{near}")
        };
        // The next id that no channel has.
        let taken = |id: &u8| self.spans.channels().iter().any(|span| span.id == *id);
        let free = (3..=u8::MAX).find(|id| !taken(id)).unwrap_or(u8::MAX);
        let left_out = |(channel, count): (&String, &u64)| {
            let what =
                if channel == "commentary" { " (tool calls, and text beside them)" } else { "" };
            let (are, messages) =
                (if *count == 1 { "is" } else { "are" }, counted(*count, "message"));
            format!(
                "{messages} of the assistant in {channel}{what} {are} not trained on; try: --span {channel}={free}"
            )
        };
        let counts = [&self.unsupervised, &self.sequences];
        let [without, all] = counts.map(|count| count.load(Ordering::Relaxed));
        let awaited = self.awaited();
        let left_out = unnamed.iter().map(left_out);
        awaited.iter().map(warning).chain(left_out).chain(unsupervised(without, all)).collect()
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

    /// Counts messages in channels that have no span.
    fn count_unnamed(&self, view: &Tokens<'_>) {
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for segment in (0..view.len()).filter_map(|row| view.segments(row)).flatten() {
            let channel =
                segment.channel.filter(|_| segment.role == "assistant" && segment.is_trained);
            let is_named =
                |channel: &&str| self.spans.channels().iter().any(|span| span.channel == *channel);
            if let Some(channel) = channel.filter(|channel| !is_named(channel)) {
                *counts.entry(channel).or_default() += 1;
            }
        }
        if counts.is_empty() {
            return;
        }
        let mut unnamed = self.unnamed.lock().unwrap_or_else(PoisonError::into_inner);
        for (channel, count) in counts {
            *unnamed.entry(channel.to_string()).or_default() += count;
        }
    }

    /// Records in a header how the masks are made.
    pub fn describe(&self, header: &mut Header) {
        header.set(&ALIGNMENT, self.alignment);
        header.set(&SPANS, self.spans.to_json());
    }

    /// Returns the batch with its masks, without the rejected rows.
    pub fn mask(&self, mut batch: Batch) -> Result<Batch> {
        let records = batch.records.clone();
        let view = Tokens::of(&records)?;
        self.count_unnamed(&view);
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
                batch.reject_row((&records, row), view.id(row), reason, row_json);
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

/// Whether two names differ by one letter that is changed, missing or added, or by two letters that
/// are swapped.
fn is_near(a: &str, b: &str) -> bool {
    let same = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a.as_bytes()[same..], &b.as_bytes()[same..]);
    match (a, b) {
        ([], rest) | (rest, []) => rest.len() == 1,
        ([_, a @ ..], b) if a == b => true,
        (a, [_, b @ ..]) if a == b => true,
        ([x, y, a @ ..], [v, w, b @ ..]) if (x, y) == (w, v) && a == b => true,
        ([_, a @ ..], [_, b @ ..]) => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_near_another_by_one_slip() {
        for near in ["comentary", "commentaryy", "xcommentary", "commentery", "commetnary"] {
            assert!(is_near("commentary", near) && is_near(near, "commentary"), "{near}");
        }
        for far in ["", "comment", "final", "commentary", "comentari"] {
            assert!(!is_near("commentary", far), "{far}");
        }
    }
}
