//! Chats into conversations.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::builder::{StringBuilder, UInt64Builder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::chats::{Chats, FromChats};
use super::synth::{MESSAGES_JSON, METADATA_JSON, repeated_column};
use crate::batch::Batch;
use crate::chat::{
    Conversations, EARLIER_THINKING, HarmonySettings, Json, KnownTools, LeftOutCounts, ReadSettings,
};
use crate::error::{Error, Result};
use crate::harmony::Policy;
use crate::json::write_ascii_string;
use crate::record::columns::TextBuilder;
use crate::record::conversation::{CONVERSATION, raw_place};
use crate::record::declare::ColumnBuilder;
use crate::record::identity::Identity;
use crate::record::statements::POLICY;
use crate::wording::{counted, grouped};

/// What helps if reasoning before answers was left out.
pub const WITHOUT_THINKING: &str =
    "; answers after it are trained on without it; --turns fit trains each turn with its own";

/// Converts chats to conversations.
pub struct ChatHarmony {
    conversations: Conversations,
    chats: Chats,
    metadata_fields: Vec<String>,
    with_places: bool,
    schema: SchemaRef,
}

impl ChatHarmony {
    /// `with_places`: conversations state the record from which they were made. Fails if two columns would
    /// have the same name.
    pub fn new(
        (mut read, settings): (ReadSettings, HarmonySettings),
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
            .chain([text(POLICY.name)])
            .chain(metadata)
            .chain(fields);
        let fields = fields.chain(raw_place().into_iter().filter(|_| with_places));
        let schema = SchemaRef::new(Schema::new(fields.collect::<Vec<Field>>()));
        if let Some(name) = repeated_column(&schema) {
            return Err(Error::usage(format!(
                "--metadata-fields: there would be two columns {name}"
            )));
        }
        let chats = Chats::new(id_field);
        read.read_elsewhere = [chats.ids.columns(), metadata_fields.clone()].concat();
        let conversations = Conversations::new(read, settings);
        Ok(ChatHarmony { conversations, chats, metadata_fields, with_places, schema })
    }

    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns a warning for each kind of data that did not become part of the conversations.
    pub fn warnings(&self) -> Vec<String> {
        self.chats.warnings(|name| match name {
            EARLIER_THINKING => WITHOUT_THINKING,
            _ => "",
        })
    }

    /// Returns the line that names what was not read.
    pub fn unread(&self) -> Option<String> {
        self.chats.unread()
    }

    /// Returns how many conversations the chats became, if these are more.
    pub fn summary(&self) -> Option<String> {
        let [chats, made] = self.chats.divided()?;
        let (few, many) = (counted(chats, "chat"), counted(made, "conversation"));
        Some(format!("{few}, {many} ({} with --turns all)", grouped(chats)))
    }

    /// Converts a batch of chats to conversations.
    pub fn convert(&self, batch: Batch) -> Result<Batch> {
        let rows = Rows::new(self.metadata_fields.len());
        let (texts, made, metadata) = Default::default();
        let mut maker = Maker { stage: self, rows, texts, made, metadata };
        let known = &mut KnownTools::default();
        self.chats.convert(batch, self.conversations.read_settings(), known, &mut maker)
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

/// Makes the conversations of a batch.
struct Maker<'s> {
    stage: &'s ChatHarmony,
    rows: Rows,
    /// The conversations of the last chat, and the place of each.
    texts: Vec<u8>,
    made: Vec<Range<usize>>,
    metadata: Vec<Option<String>>,
}

impl FromChats for Maker<'_> {
    fn make(&mut self, chat: Json<'_>, left_out: &mut LeftOutCounts) -> Result<usize, String> {
        self.texts.clear();
        self.metadata = self.stage.metadata(&chat)?;
        self.made = self.stage.conversations.of(chat, left_out, &mut self.texts)?;
        self.rows.has_room(self.texts.len())?;
        Ok(self.made.len())
    }

    fn add(&mut self, number: usize, identity: Identity<'_>) -> Result<()> {
        let messages = self.made.get(number).and_then(|place| self.texts.get(place.clone()));
        self.rows.push(messages.unwrap_or_default(), &self.metadata, identity);
        Ok(())
    }

    fn finish(&mut self) -> Result<RecordBatch> {
        let rows = std::mem::replace(&mut self.rows, Rows::new(0));
        rows.finish(&self.stage.schema, self.stage.with_places)
    }
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

    fn push(&mut self, messages: &[u8], metadata: &[Option<String>], identity: Identity<'_>) {
        self.ids.push(identity.id);
        self.messages.bytes.extend_from_slice(messages);
        self.messages.ends.push(self.messages.bytes.len(), true);
        for (column, text) in self.metadata.iter_mut().zip(metadata) {
            column.push(text.as_deref());
        }
        self.inputs.append_option(identity.input);
        self.numbers.append_option(identity.row);
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
