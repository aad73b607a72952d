//! The `decoded` record: a token sequence as text, as `harmony-tok --decode` writes it.

use std::ops::Range;

use super::prelude::*;

pub const DECODED: RecordType = RecordType {
    name: "decoded",
    singular: "sequence",
    plural: "decoded sequences",
    fields: DecodedFields::declared,
    marking_fields: &[&["text", "messages"]],
    made_by: "harmony-tok --decode",
    made_into: &[],
    is_derived: true,
    ..RecordType::PLAIN
};

record_fields! {
    /// A token sequence as text.
    DecodedFields(DecodedColumns, DecodedColumnsBuilder) {
        /// The id of the token sequence.
        id: Option<String>,
        /// The whole sequence, control tokens by their names.
        text: String,
        /// The text by message, one struct for each.
        messages: List<MessageFields>,
        /// The masks of the sequence, one struct for each run of tokens in one message that are
        /// trained on with one span id; null if it has none.
        spans: Option<List<SpanFields>>,
        /// The control tokens, one struct for each: the same characters elsewhere in the text are text; null if it is not
        /// known.
        control: Option<List<ControlFields>>,
    }
}

record_fields! {
    /// A control token in the text.
    ControlFields(ControlColumns, ControlBuilder) {
        /// Where it begins in the text of the sequence, in characters.
        start: u64,
        /// Where it ends there.
        end: u64,
    }
}

record_fields! {
    /// One message.
    MessageFields(MessageColumns, MessageBuilder) {
        /// The message's role.
        role: String,
        /// The name of a tool, or the name beside another role; else null.
        name: Rare<String>,
        /// The message's channel.
        channel: Option<String>,
        /// The message's recipient.
        recipient: Option<String>,
        /// The content type in the message's header.
        content_type: Option<String>,
        /// The message's content.
        text: String,
        /// False if it is not trained on, by its weight, whatever its channel; else null.
        train: Rare<bool>,
    }
}

record_fields! {
    /// What of the text is trained on, and as what.
    SpanFields(SpanColumns, SpanBuilder) {
        /// The number of its message, from 0; null if it is in none.
        message: Option<u32>,
        /// Where it begins in the text of the sequence, in characters.
        start: u64,
        /// Where it ends there.
        end: u64,
        /// The id of the span.
        span_id: u8,
    }
}

/// One message; see [`MessageFields`].
#[derive(Debug, Default)]
pub struct Message {
    pub role: String,
    pub name: Option<String>,
    pub channel: Option<String>,
    pub recipient: Option<String>,
    pub content_type: Option<String>,
    pub text: String,
    /// False if a weight keeps the message from being trained on.
    pub train: Option<bool>,
}

/// A span of the text that is trained on; see [`SpanFields`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub message: Option<u32>,
    pub start: u64,
    pub end: u64,
    pub span_id: u8,
}

/// Builds a batch.
#[derive(Debug, Default)]
pub struct DecodedBuilder(DecodedColumnsBuilder);

impl DecodedBuilder {
    pub fn push(
        &mut self,
        id: Option<&str>,
        text: String,
        messages: Vec<Message>,
        spans: Option<&[Span]>,
        control: &[Range<u64>],
    ) {
        let columns = &mut self.0;
        columns.id.push(id);
        columns.text.push(Some(&text));
        for message in messages {
            let columns = &mut columns.messages.items;
            columns.role.push(Some(&message.role));
            columns.name.push(message.name.as_deref());
            columns.channel.push(message.channel.as_deref());
            columns.recipient.push(message.recipient.as_deref());
            columns.content_type.push(message.content_type.as_deref());
            columns.text.push(Some(&message.text));
            columns.train.push(message.train);
        }
        columns.messages.end_row(true);
        for span in spans.unwrap_or_default() {
            let columns = &mut columns.spans.items;
            columns.message.push(span.message);
            columns.start.push(Some(span.start));
            columns.end.push(Some(span.end));
            columns.span_id.push(Some(span.span_id));
        }
        columns.spans.end_row(spans.is_some());
        for place in control {
            columns.control.items.start.push(Some(place.start));
            columns.control.items.end.push(Some(place.end));
        }
        columns.control.end_row(true);
    }

    pub fn finish(self) -> Result<RecordBatch, ArrowError> {
        RecordBatch::try_new(DECODED.schema(), self.0.columns()?)
    }
}

/// A batch of decoded records, by column.
#[derive(Debug)]
pub struct DecodedBatch<'a>(DecodedColumns<'a>);

impl<'a> DecodedBatch<'a> {
    /// Returns the view of a batch in the schema of [`DECODED`]. Other schemas are an error (the
    /// stream readers conform every batch first).
    pub fn of(batch: &'a RecordBatch) -> Result<DecodedBatch<'a>, ArrowError> {
        DecodedColumns::of_columns(batch.columns()).map(DecodedBatch)
    }

    pub fn id(&self, row: usize) -> Option<&'a str> {
        self.0.id.get(row)
    }

    /// Returns the whole sequence, with control tokens by their names.
    pub fn text(&self, row: usize) -> &'a str {
        self.0.text.value(row)
    }

    pub fn messages(&self, row: usize) -> Vec<Message> {
        let columns = &self.0.messages.items;
        let message = |index: usize| Message {
            role: columns.role.value(index).to_string(),
            name: columns.name.get(index).map(str::to_string),
            channel: columns.channel.get(index).map(str::to_string),
            recipient: columns.recipient.get(index).map(str::to_string),
            content_type: columns.content_type.get(index).map(str::to_string),
            text: columns.text.value(index).to_string(),
            train: columns.train.get(index),
        };
        self.0.messages.range(row..row + 1).map(message).collect()
    }

    /// Returns the spans of a row; `None` if its sequence has no masks.
    pub fn spans(&self, row: usize) -> Option<Vec<Span>> {
        let spans = &self.0.spans;
        if spans.is_null(row) {
            return None;
        }
        let SpanColumns { message, start, end, span_id } = spans.items;
        let (start, end, span_id) = (start.values(), end.values(), span_id.values());
        let span = |index: usize| Span {
            message: message.get(index),
            start: start[index],
            end: end[index],
            span_id: span_id[index],
        };
        Some(spans.range(row..row + 1).map(span).collect())
    }
}
