//! Rows of SYNTH into conversations, as the published converter makes them.

use std::sync::Arc;

use arrow_array::builder::{StringBuilder, UInt64Builder};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use clap::ValueEnum;
use serde_json::{Value, json};

use crate::batch::Batch;
use crate::error::Result;
use crate::json::{PythonFormatter, write_ascii_string};
use crate::record::columns::TextBuilder;
use crate::record::conversation::raw_place;
use crate::record::declare::ColumnBuilder;
use crate::record::python::PythonValues;
use crate::record::raw_synth::{ANSWER, ID, QUERY, REASONING, REFERENCE, columns};

/// The columns before the metadata fields.
pub const MESSAGES_JSON: &str = "messages_json";
pub const METADATA_JSON: &str = "metadata_json";

/// The text between a query and its reference.
const REFERENCE_TITLE: &str = "\n\nReference:\n";

/// How much the model is told to reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReasoningEffort {
    Low,
    Medium,
    High,
}

/// What happens to the reference text of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Reference {
    /// It is dropped, as the published converter does.
    Drop,
    /// It follows the query.
    Append,
}

impl Reference {
    pub fn name(self) -> &'static str {
        match self {
            Reference::Drop => "drop",
            Reference::Append => "append",
        }
    }
}

/// The common text of all conversations, and which rows become a conversation.
#[derive(Debug, Clone)]
pub struct SynthSettings {
    pub model_identity: String,
    pub reasoning_effort: ReasoningEffort,
    pub conversation_start_date: String,
    pub knowledge_cutoff: String,
    /// `None`: there is no developer message.
    pub developer_instructions: Option<String>,
    pub metadata_fields: Vec<String>,
    pub keep_without_reasoning: bool,
    pub reference: Reference,
}

impl SynthSettings {
    pub fn system_message(&self) -> Value {
        let effort = match self.reasoning_effort {
            ReasoningEffort::Low => "Low",
            ReasoningEffort::Medium => "Medium",
            ReasoningEffort::High => "High",
        };
        json!({
            "role": "system",
            "content": [{
                "type": "system_content",
                "model_identity": self.model_identity,
                "reasoning_effort": effort,
                "conversation_start_date": self.conversation_start_date,
                "knowledge_cutoff": self.knowledge_cutoff,
                "channel_config": {
                    "valid_channels": ["analysis", "commentary", "final"],
                    "channel_required": true,
                },
            }],
        })
    }

    pub fn developer_message(&self) -> Option<Value> {
        let instructions = self.developer_instructions.as_ref()?;
        let content = json!([{"type": "developer_content", "instructions": instructions}]);
        Some(json!({"role": "developer", "content": content}))
    }

    /// Returns the names of the columns that are read.
    pub fn wanted_columns(&self) -> SchemaRef {
        let texts = [QUERY, REASONING, ANSWER];
        let reference = (self.reference == Reference::Append).then_some(REFERENCE);
        let fields = self.metadata_fields.iter().map(String::as_str);
        columns(texts.into_iter().chain(reference).chain(fields))
    }

    /// Returns the schema of the conversations: all text.
    pub fn schema(&self) -> SchemaRef {
        let names = [MESSAGES_JSON, METADATA_JSON];
        let names = names.into_iter().chain(self.metadata_fields.iter().map(String::as_str));
        let fields = names.map(|name| Field::new(name, DataType::Utf8, true));
        SchemaRef::new(Schema::new(fields.collect::<Vec<Field>>()))
    }

    /// Returns the schema of the conversations, with the raw row's place if `places`.
    pub fn schema_with(&self, places: bool) -> SchemaRef {
        match places {
            true => SchemaRef::new(Schema::new(
                self.schema()
                    .fields()
                    .iter()
                    .cloned()
                    .chain(raw_place().map(Arc::new))
                    .collect::<Vec<_>>(),
            )),
            false => self.schema(),
        }
    }
}

/// Returns a name that two columns of conversations would have.
pub(super) fn repeated_column(schema: &Schema) -> Option<String> {
    let names: Vec<&String> = schema.fields().iter().map(|field| field.name()).collect();
    let repeated = names.iter().enumerate().find(|(place, name)| names[..*place].contains(name));
    repeated.map(|(_, name)| name.to_string())
}

/// Converts rows to conversations.
#[derive(Debug, Clone)]
pub struct SynthHarmony {
    settings: Arc<SynthSettings>,
    schema: SchemaRef,
    with_places: bool,
    /// The text of a conversation up to the query.
    begin: String,
    /// `"field": ` of each metadata field.
    labels: Vec<Vec<u8>>,
}

impl SynthHarmony {
    /// `with_places`: conversations state the raw row from which they are made.
    pub fn new(settings: SynthSettings, with_places: bool) -> SynthHarmony {
        let mut begin = "{\"messages\": [".to_string();
        for message in [Some(settings.system_message()), settings.developer_message()] {
            let text = message.map(|message| PythonFormatter::SPACED.text(&message));
            // A value in memory always has a text.
            if let Some(Ok(text)) = text {
                begin += &text;
                begin += ", ";
            }
        }
        begin += "{\"role\": \"user\", \"content\": [{\"type\": \"text\", \"text\": ";
        let label = |field: &String| {
            let mut label = Vec::new();
            write_ascii_string(&mut label, field);
            label.extend_from_slice(b": ");
            label
        };
        let labels = settings.metadata_fields.iter().map(label).collect();
        let schema = settings.schema_with(with_places);
        SynthHarmony { schema, with_places, settings: Arc::new(settings), begin, labels }
    }

    /// Converts a batch of rows to conversations.
    pub fn convert(&self, mut batch: Batch) -> Result<Batch> {
        let records = batch.records.clone();
        let rows = Rows::of(&records, &self.settings);
        let mut columns: Vec<TextBuilder> = Vec::new();
        columns.resize_with(self.settings.metadata_fields.len() + 2, TextBuilder::default);
        let (mut inputs, mut numbers) = (StringBuilder::new(), UInt64Builder::new());
        let mut made = 0;
        batch.progress = Some(records.num_rows() as u64);
        for row in 0..records.num_rows() {
            if let Some(reason) = rows.missing(row, self.settings.keep_without_reasoning) {
                batch.skipped.count(reason);
                continue;
            }
            match self.write(&rows, row, &mut columns) {
                Ok(()) => {
                    rows.end_row(row, &mut columns);
                    made += 1;
                    if self.with_places {
                        let (input, number) = batch.origin.in_file(row).unzip();
                        inputs.append_option(input);
                        numbers.append_option(number);
                    }
                }
                Err(reason) => {
                    columns.iter_mut().for_each(drop_unfinished);
                    batch.reject_row((&records, row), rows.id(row), reason, to_json);
                }
            }
        }
        let columns = columns.into_iter().map(ColumnBuilder::build);
        let mut columns = columns.collect::<Result<Vec<ArrayRef>, ArrowError>>()?;
        if self.with_places {
            columns.extend([Arc::new(inputs.finish()) as ArrayRef, Arc::new(numbers.finish())]);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(made));
        let schema = self.schema.clone();
        batch.records = RecordBatch::try_new_with_options(schema, columns, &options)?;
        Ok(batch)
    }

    /// Appends the texts of a row, without ending them. The error says why the row has no texts.
    fn write(&self, rows: &Rows, row: usize, columns: &mut [TextBuilder]) -> Result<(), String> {
        let [messages, metadata, fields @ ..] = columns else { return Ok(()) };
        self.write_messages(rows, row, &mut messages.bytes)?;
        let mut separator: &[u8] = b"{";
        for ((name, values), label) in rows.fields.iter().zip(&self.labels) {
            let Some(values) = values else { continue };
            metadata.bytes.extend_from_slice(separator);
            metadata.bytes.extend_from_slice(label);
            let written = values.write_json(&mut metadata.bytes, row);
            written.map_err(|cause| format!("{name}: {cause}"))?;
            separator = b", ";
        }
        let end: &[u8] = if separator == b"{" { b"{}" } else { b"}" };
        metadata.bytes.extend_from_slice(end);
        for ((_, values), column) in rows.fields.iter().zip(fields.iter_mut()) {
            if let Some(values) = values.as_ref().filter(|values| !values.is_none(row)) {
                values.write_str(&mut column.bytes, row)?;
            }
        }
        if columns.iter().any(|column| i32::try_from(column.bytes.len()).is_err()) {
            Err("longer than 2^31 - 1 bytes as JSON".to_string())
        } else {
            Ok(())
        }
    }

    fn write_messages(&self, rows: &Rows, row: usize, out: &mut Vec<u8>) -> Result<(), String> {
        out.extend_from_slice(self.begin.as_bytes());
        match rows.reference(row)? {
            None => write_value(&rows.query, QUERY, row, out)?,
            Some(reference) => {
                let query = rows.query.as_ref().and_then(|query| query.text(row));
                let query = query.ok_or_else(|| format!("{QUERY}: no text"))?;
                write_ascii_string(out, &[query, REFERENCE_TITLE, reference].concat());
            }
        }
        // An empty reasoning is written only if the user asks for it.
        let reasoning =
            (is_true(&rows.reasoning, row)).then_some((&rows.reasoning, REASONING, ANALYSIS));
        out.extend_from_slice(b"}]}");
        for (values, name, channel) in reasoning.into_iter().chain([(&rows.answer, ANSWER, FINAL)])
        {
            out.extend_from_slice(ASSISTANT);
            write_value(values, name, row, out)?;
            out.extend_from_slice(channel);
        }
        out.extend_from_slice(b"]}");
        Ok(())
    }
}

/// The JSON of an assistant's message around its text.
const ASSISTANT: &[u8] =
    b", {\"role\": \"assistant\", \"content\": [{\"type\": \"text\", \"text\": ";
const ANALYSIS: &[u8] = b"}], \"channel\": \"analysis\"}";
const FINAL: &[u8] = b"}], \"channel\": \"final\"}";

/// The columns of a batch; missing ones are `None`.
struct Rows<'a> {
    query: Option<PythonValues<'a>>,
    reasoning: Option<PythonValues<'a>>,
    answer: Option<PythonValues<'a>>,
    reference: Option<PythonValues<'a>>,
    /// The metadata fields.
    fields: Vec<(&'a str, Option<PythonValues<'a>>)>,
}

impl<'a> Rows<'a> {
    fn of(records: &'a RecordBatch, settings: &'a SynthSettings) -> Rows<'a> {
        let column = |name: &str| {
            let column = records.column_by_name(name)?;
            Some(PythonValues::of(column.as_ref()))
        };
        let appended = settings.reference == Reference::Append;
        let field = |name: &'a String| (name.as_str(), column(name));
        Rows {
            query: column(QUERY),
            reasoning: column(REASONING),
            answer: column(ANSWER),
            reference: if appended { column(REFERENCE) } else { None },
            fields: settings.metadata_fields.iter().map(field).collect(),
        }
    }

    /// Returns why a row is skipped: the first text that it lacks.
    fn missing(&self, row: usize, keep_without_reasoning: bool) -> Option<&'static str> {
        if !is_true(&self.query, row) {
            Some("without query")
        } else if !keep_without_reasoning && !is_true(&self.reasoning, row) {
            Some("without reasoning")
        } else if !is_true(&self.answer, row) {
            Some("without answer")
        } else {
            None
        }
    }

    /// Returns the text that follows the query, if there is one.
    fn reference(&self, row: usize) -> Result<Option<&'a str>, String> {
        let Some(values) = self.reference.as_ref().filter(|values| values.is_true(row)) else {
            return Ok(None);
        };
        values.text(row).map(Some).ok_or_else(|| format!("{REFERENCE}: no text"))
    }

    fn id(&self, row: usize) -> Option<&'a str> {
        let (_, values) = self.fields.iter().find(|(name, _)| *name == ID)?;
        values.as_ref()?.text(row)
    }

    /// Ends the texts of a row.
    fn end_row(&self, row: usize, columns: &mut [TextBuilder]) {
        let is_known = |values: &Option<PythonValues>| {
            values.as_ref().is_some_and(|values| !values.is_none(row))
        };
        let known = self.fields.iter().map(|(_, values)| is_known(values));
        for (column, known) in columns.iter_mut().zip([true, true].into_iter().chain(known)) {
            column.ends.push(column.bytes.len(), known);
        }
    }
}

fn is_true(values: &Option<PythonValues>, row: usize) -> bool {
    values.as_ref().is_some_and(|values| values.is_true(row))
}

fn write_value(
    values: &Option<PythonValues>,
    name: &str,
    row: usize,
    out: &mut Vec<u8>,
) -> Result<(), String> {
    let Some(values) = values else { return Ok(()) };
    values.write_json(out, row).map_err(|cause| format!("{name}: {cause}"))
}

/// Removes what was written after the last row that was ended.
fn drop_unfinished(column: &mut TextBuilder) {
    let end = column.ends.truncate(column.ends.rows());
    column.bytes.truncate(end);
}

/// Returns a row as it is written to the rejects; a value without JSON is null there.
fn to_json(batch: &RecordBatch, row: usize) -> String {
    let mut out = b"{".to_vec();
    for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        if out.len() > 1 {
            out.extend_from_slice(b", ");
        }
        write_ascii_string(&mut out, field.name());
        out.extend_from_slice(b": ");
        let start = out.len();
        if PythonValues::of(column.as_ref()).write_json(&mut out, row).is_err() {
            out.truncate(start);
            out.extend_from_slice(b"null");
        }
    }
    out.push(b'}');
    String::from_utf8_lossy(&out).into_owned()
}
