//! Chats into conversations.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::builder::{StringBuilder, UInt64Builder};
use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::chat_ids::ChatIds;
use super::synth::{MESSAGES_JSON, METADATA_JSON, repeated_column};
use crate::batch::Batch;
use crate::chat::{
    Conversations, EARLIER_THINKING, Json, LeftOutCounts, ReadSettings, SharedLeftOutCounts,
    with_true_way,
};
use crate::error::{Error, Result};
use crate::harmony::Policy;
use crate::json::write_ascii_string;
use crate::record::columns::TextBuilder;
use crate::record::conversation::{CONVERSATION, POLICY, raw_place, turn_id};
use crate::record::declare::ColumnBuilder;
use crate::wording::{counted, grouped};

/// Converts chats to conversations.
pub struct ChatHarmony {
    conversations: Conversations,
    ids: ChatIds,
    metadata_fields: Vec<String>,
    with_places: bool,
    schema: SchemaRef,
    left_out: SharedLeftOutCounts,
    /// The chats that became conversations, and the conversations.
    counts: [AtomicU64; 2],
}

impl ChatHarmony {
    /// `with_places`: conversations state the record from which they were made. Fails if two columns would
    /// have the same name.
    pub fn new(
        mut conversations: Conversations,
        id_field: Option<String>,
        metadata_fields: Vec<String>,
        with_places: bool,
    ) -> Result<ChatHarmony> {
        let text = |name: &str| Field::new(name, DataType::Utf8, true);
        let is_messages = |field: &&Arc<Field>| field.name() == MESSAGES_JSON;
        let messages = CONVERSATION.schema();
        let messages =
            messages.fields().iter().find(is_messages).map(|field| field.as_ref().clone());
        let metadata = (!metadata_fields.is_empty()).then(|| text(METADATA_JSON));
        let fields = metadata_fields.iter().map(|name| text(name));
        let fields = [text("id")]
            .into_iter()
            .chain(messages)
            .chain([text(POLICY)])
            .chain(metadata)
            .chain(fields);
        let fields = fields.chain(raw_place().into_iter().filter(|_| with_places));
        let schema = SchemaRef::new(Schema::new(fields.collect::<Vec<Field>>()));
        if let Some(name) = repeated_column(&schema) {
            return Err(Error::usage(format!(
                "--metadata-fields: there would be two columns {name}"
            )));
        }
        let (ids, left_out) = (ChatIds::new(id_field), SharedLeftOutCounts::default());
        conversations.read_elsewhere([ids.columns(), metadata_fields.clone()].concat());
        let counts = Default::default();
        Ok(ChatHarmony {
            conversations,
            ids,
            metadata_fields,
            with_places,
            schema,
            left_out,
            counts,
        })
    }

    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns a warning for each kind of data that did not become part of the conversations.
    pub fn warnings(&self) -> Vec<String> {
        self.left_out.counts().warnings(way_on)
    }

    /// Returns the line that names what was not read.
    pub fn unread(&self) -> Option<String> {
        self.left_out.counts().unread()
    }

    /// Returns how many conversations the chats became, if these are more.
    pub fn summary(&self) -> Option<String> {
        let [chats, made] = self.counts.each_ref().map(|of| of.load(Ordering::Relaxed));
        let (few, many) = (counted(chats, "chat"), counted(made, "conversation"));
        (made > chats).then(|| format!("{few}, {many} ({} with --turns all)", grouped(chats)))
    }

    fn count(&self, made: &[Range<usize>]) {
        let [chats, conversations] = &self.counts;
        chats.fetch_add(u64::from(!made.is_empty()), Ordering::Relaxed);
        conversations.fetch_add(made.len() as u64, Ordering::Relaxed);
    }

    /// Converts a batch of chats to conversations.
    pub fn convert(&self, mut batch: Batch) -> Result<Batch> {
        let records = batch.records.clone();
        let texts = records.column(0).as_string::<i32>();
        let mut rows = Rows::new(self.metadata_fields.len());
        let mut all_left_out = LeftOutCounts::default();
        let mut buffer = Vec::new();
        batch.progress = Some(records.num_rows() as u64);
        for row in 0..records.num_rows() {
            let (mut left_out, mut id) = (LeftOutCounts::default(), None);
            buffer.clear();
            let text = texts.value(row);
            let done = Json::parse(text).map_err(|error| format!("invalid JSON: {error}"));
            let done = done.and_then(|record| {
                id = Some(self.ids.of(&record)?);
                let metadata = self.metadata(&record)?;
                let made = self.conversations.of(record, &mut left_out, &mut buffer)?;
                rows.has_room(buffer.len()).map(|()| (made, metadata))
            });
            match (done, &id) {
                (Ok((made, metadata)), Some(id)) => {
                    all_left_out.extend(&left_out);
                    self.count(&made);
                    for (number, text) in made.iter().enumerate() {
                        let place = batch.origin.in_file(row).filter(|_| self.with_places);
                        let number = (made.len() > 1).then_some(number + 1);
                        rows.push(id, (number, &buffer[text.clone()]), &metadata, place);
                    }
                }
                (done, id) => {
                    let reason = done.err().unwrap_or_default();
                    let reason = true_reason(reason, text, self.conversations.read_settings());
                    batch.reject_row((&records, row), id.as_deref(), reason, raw_json);
                }
            }
        }
        self.left_out.add(&all_left_out);
        batch.records = rows.finish(&self.schema, self.with_places)?;
        Ok(batch)
    }

    /// Returns the text of `metadata_json`, and of each field.
    fn metadata(&self, record: &Json<'_>) -> Result<Vec<Option<String>>, String> {
        if self.metadata_fields.is_empty() {
            return Ok(Vec::new());
        }
        let mut whole = b"{".to_vec();
        let mut columns = vec![None];
        for name in &self.metadata_fields {
            let Some(value) = record.get(name) else {
                columns.push(None);
                continue;
            };
            value.refuse_nan(name)?;
            whole.extend_from_slice(if whole.len() > 1 { b", " } else { b"" });
            write_ascii_string(&mut whole, name);
            whole.extend_from_slice(b": ");
            let text = match value {
                Json::Text(text) => Cow::Borrowed(&**text),
                other => Cow::Owned(other.python_json()),
            };
            match value {
                Json::Text(text) => write_ascii_string(&mut whole, text),
                _ => whole.extend_from_slice(text.as_bytes()),
            }
            columns.push(Some(text.into_owned()));
        }
        whole.push(b'}');
        columns[0] = Some(String::from_utf8_lossy(&whole).into_owned());
        Ok(columns)
    }
}

/// Returns why a record is refused, with options that help.
pub fn true_reason(reason: String, record: &str, settings: &ReadSettings) -> String {
    match Json::parse(record) {
        Ok(record) => with_true_way(reason, &record, settings),
        Err(_) => reason,
    }
}

/// Returns the option that keeps what was left out.
fn way_on(name: &str) -> &'static str {
    match name {
        EARLIER_THINKING => {
            "; answers after it are trained on without it; --turns fit trains each turn with its own"
        }
        _ => "",
    }
}

/// Returns a record as it is written to the rejects.
pub fn raw_json(batch: &RecordBatch, row: usize) -> String {
    batch.column(0).as_string::<i32>().value(row).to_string()
}

/// The columns of conversations.
struct Rows {
    ids: TextBuilder,
    messages: TextBuilder,
    metadata: Vec<TextBuilder>,
    inputs: StringBuilder,
    numbers: UInt64Builder,
}

impl Rows {
    fn new(metadata_fields: usize) -> Rows {
        let columns = if metadata_fields == 0 { 0 } else { metadata_fields + 1 };
        let mut metadata = Vec::new();
        metadata.resize_with(columns, TextBuilder::default);
        Rows {
            ids: TextBuilder::default(),
            messages: TextBuilder::default(),
            metadata,
            inputs: StringBuilder::new(),
            numbers: UInt64Builder::new(),
        }
    }

    /// Fails if this many bytes of conversations do not fit the columns.
    fn has_room(&self, bytes: usize) -> Result<(), String> {
        match i32::try_from(self.messages.bytes.len() + bytes) {
            Ok(_) => Ok(()),
            Err(_) => Err("longer than 2^31 - 1 bytes as JSON".to_string()),
        }
    }

    fn push(
        &mut self,
        id: &str,
        (turn, messages): (Option<usize>, &[u8]),
        metadata: &[Option<String>],
        place: Option<(String, u64)>,
    ) {
        match turn {
            Some(turn) => self.ids.push(Some(&turn_id(id, turn))),
            None => self.ids.push(Some(id)),
        }
        self.messages.bytes.extend_from_slice(messages);
        self.messages.ends.push(self.messages.bytes.len(), true);
        for (column, text) in self.metadata.iter_mut().zip(metadata) {
            column.push(text.as_deref());
        }
        let (input, number) = place.unzip();
        self.inputs.append_option(input);
        self.numbers.append_option(number);
    }

    fn finish(mut self, schema: &SchemaRef, with_places: bool) -> Result<RecordBatch> {
        let mut policies = TextBuilder::default();
        (0..self.ids.rows()).for_each(|_| policies.push(Some(Policy::Chat.name())));
        let texts = [self.ids, self.messages, policies].into_iter().chain(self.metadata);
        let mut columns = texts.map(ColumnBuilder::build).collect::<Result<Vec<ArrayRef>, _>>()?;
        if with_places {
            columns.extend([
                Arc::new(self.inputs.finish()) as ArrayRef,
                Arc::new(self.numbers.finish()),
            ]);
        }
        Ok(RecordBatch::try_new(schema.clone(), columns)?)
    }
}
