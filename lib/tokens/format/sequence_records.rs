//! What readers of token sequences share: the messages in the tokens of a sequence become the segments of
//! its record.

use crate::harmony::Spans;
use crate::record::tokens::{Segment, TokensBuilder};

/// Adds the segments of the record that ends next and whose tokens begin at `begin`. `weighted`: the
/// spans, if some messages have none because of their weights.
pub fn add_segments<'a>(
    builder: &mut TokensBuilder,
    begin: usize,
    segments: impl Iterator<Item = Segment<'a>> + Clone,
    weighted: Option<&Spans>,
) {
    let spans = builder.span_id.get(begin..).unwrap_or_default();
    let is_trained = |segment: &Segment<'_>| {
        let position = (segment.start - 1).max(0) as usize;
        let has_span = spans.get(position).is_none_or(|&id| id > 0);
        has_span || weighted.is_none_or(|spans| spans.of(segment) == 0)
    };
    let all: Vec<bool> = segments.clone().map(|segment| is_trained(&segment)).collect();
    for (segment, is_weighted) in segments.zip(all) {
        builder.segment(&Segment { is_trained: is_weighted && segment.is_trained, ..segment });
    }
}
