//! Which tokens of a conversation belong to which message.

use std::ops::Range;

use super::Role;
use crate::record::segment;

/// The tokens of one message, from `<|start|>` to its end token: `start..end`, counted from the
/// conversation's first token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    pub role: Role,
    pub channel: Option<Channel>,
    pub start: i32,
    pub end: i32,
    /// False if a weight keeps the message from being trained on.
    pub is_trained: bool,
}

/// The channel of a message. [`Segments::channel`] gives its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    Analysis,
    Commentary,
    Final,
    /// Any other text: a range of the bytes kept beside the segments.
    Other {
        start: usize,
        end: usize,
    },
}

/// Segments of any number of conversations, with the text of unusual channels.
#[derive(Clone, Debug, Default)]
pub struct Segments {
    pub list: Vec<Segment>,
    names: String,
}

impl Segments {
    /// Returns the channel of a segment of this list, as in the message.
    pub fn channel(&self, segment: &Segment) -> Option<&str> {
        match segment.channel? {
            Channel::Analysis => Some("analysis"),
            Channel::Commentary => Some("commentary"),
            Channel::Final => Some("final"),
            Channel::Other { start, end } => self.names.get(start..end),
        }
    }

    /// Returns all segments in the form of records.
    pub fn records(&self) -> impl ExactSizeIterator<Item = segment::Segment<'_>> + Clone {
        self.records_in(0..self.list.len())
    }

    /// Returns some of the segments in the form of records.
    pub fn records_in(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = segment::Segment<'_>> + Clone {
        self.list[range].iter().map(|segment| segment::Segment {
            role: segment.role.as_str(),
            channel: self.channel(segment),
            start: segment.start,
            end: segment.end,
            is_trained: segment.is_trained,
        })
    }

    /// Returns the channel with this name; it is kept for a segment that is added next.
    pub fn channel_of(&mut self, name: &str) -> Channel {
        match name {
            "analysis" => Channel::Analysis,
            "commentary" => Channel::Commentary,
            "final" => Channel::Final,
            other => {
                let start = self.names.len();
                self.names.push_str(other);
                Channel::Other { start, end: self.names.len() }
            }
        }
    }

    /// Clears everything and keeps the allocated memory.
    pub fn clear(&mut self) {
        self.list.clear();
        self.names.clear();
    }

    /// Returns a mark of the current state, for [`Segments::reset`].
    pub(super) fn mark(&self) -> (usize, usize) {
        (self.list.len(), self.names.len())
    }

    /// Removes what was added since the mark.
    pub(super) fn reset(&mut self, (list, names): (usize, usize)) {
        self.list.truncate(list);
        self.names.truncate(names);
    }
}
