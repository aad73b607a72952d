//! The places of messages among the tokens of a sequence.

use super::prelude::*;

record_fields! {
    /// One message's place in a token sequence.
    SegmentFields(SegmentColumns, SegmentBuilder) {
        /// The message's role.
        role: String,
        /// The message's channel.
        channel: Option<String>,
        /// Its first token, counted from 0 in the record.
        start: i32,
        /// The token after its last.
        end: i32,
        /// False if it is not trained on, by its weight, whatever its channel; else null.
        train: Rare<bool>,
    }
}

/// One message's place in a token sequence; see [`SegmentFields`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Segment<'a> {
    pub role: &'a str,
    pub channel: Option<&'a str>,
    pub start: i32,
    pub end: i32,
    /// False if a weight keeps the message from being trained on.
    pub is_trained: bool,
}

/// Returns the segments in a row of a column; `None` if they are null.
pub fn row_segments<'a>(
    segments: ListView<'a, SegmentColumns<'a>>,
    row: usize,
) -> Option<impl ExactSizeIterator<Item = Segment<'a>> + Clone + use<'a>> {
    if segments.is_null(row) {
        return None;
    }
    let SegmentColumns { role, channel, start, end, train } = segments.items;
    let (start, end) = (start.values(), end.values());
    Some(segments.range(row..row + 1).map(move |index| Segment {
        role: role.value(index),
        channel: channel.get(index),
        start: start[index],
        end: end[index],
        is_trained: train.get(index).unwrap_or(true),
    }))
}

impl SegmentBuilder {
    pub fn push(&mut self, segment: &Segment<'_>) {
        self.role.push(Some(segment.role));
        self.channel.push(segment.channel);
        self.start.push(Some(segment.start));
        self.end.push(Some(segment.end));
        self.train.push((!segment.is_trained).then_some(false));
    }
}
