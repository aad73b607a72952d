//! The arguments that decide how raw rows become conversations.

use arrow_schema::{DataType, Field};
use clap::Args;

use super::synth::{ReasoningEffort, Reference, SynthSettings, repeated_column};
use crate::batch::WantedRecords;
use crate::cli::ForPipelines;
use crate::error::{Error, Result};
use crate::record::RAW_SYNTH;

const INSTRUCTIONS: &str = "\
Follow the user's request. When you provide an answer, produce both:
- reasoning in the analysis channel
- the user-facing answer in the final channel";

/// The common text of all conversations, and which rows become a conversation.
#[derive(Debug, Clone, Args)]
pub struct SynthArgs {
    /// Reasoning effort in the system message: low, medium, high
    #[arg(long, add = ForPipelines, value_enum, default_value = "high", value_name = "LEVEL")]
    #[arg(hide_possible_values = true, help_heading = "Conversations")]
    pub reasoning_effort: ReasoningEffort,

    /// Who the system message says the model is
    #[arg(long, value_name = "TEXT", help_heading = "Conversations")]
    #[arg(add = ForPipelines)]
    #[arg(default_value = "You are vpMoE, a large language model trained by Veer Pareek.")]
    pub model_identity: String,

    /// The knowledge cutoff in the system message
    #[arg(long, value_name = "TEXT", default_value = "2024-06", help_heading = "Conversations")]
    #[arg(add = ForPipelines)]
    pub knowledge_cutoff: String,

    /// The start date in the system message
    #[arg(long, value_name = "TEXT", default_value = "2026-01-01", alias = "current-date")]
    #[arg(add = ForPipelines, help_heading = "Conversations")]
    pub conversation_start_date: String,

    /// The text of the developer message
    #[arg(long, value_name = "TEXT", default_value = INSTRUCTIONS, hide_default_value = true)]
    #[arg(add = ForPipelines, help_heading = "Conversations")]
    pub developer_instructions: String,

    /// Leave the developer message out
    #[arg(long, add = ForPipelines, help_heading = "Conversations")]
    pub omit_developer: bool,

    /// The fields that are kept beside the messages, in this order
    ///
    /// By default: synth_id, language, exercise, model, constraints, seed_license, query_seed_url.
    #[arg(long, add = ForPipelines, value_name = "A,B,...", help_heading = "Conversations")]
    #[arg(
        hide_default_value = true,
        default_value = "synth_id,language,exercise,model,constraints,seed_license,query_seed_url"
    )]
    pub metadata_fields: String,

    /// Columns, with or without TYPE (text, integer, float, boolean), that a pipe shows only after its
    /// first 10 MiB, or that the first file lacks
    ///
    /// Columns come from the first input. An NDJSON file is read twice if its first 10 MiB do not show
    /// all columns. Records without a column have null in it.
    #[arg(long, value_name = "NAME[:TYPE],...", value_delimiter = ',', help_heading = "Input")]
    #[arg(add = ForPipelines)]
    pub columns: Vec<String>,

    /// Keep rows without reasoning: they have only the answer
    #[arg(long, add = ForPipelines, help_heading = "Conversations")]
    pub keep_without_reasoning: bool,

    /// What to do with query_seed_text, which a query is about
    ///
    /// `append` puts it after the query: a blank line, `Reference:`, a new line and the text.
    #[arg(
        long,
        add = ForPipelines,
        value_enum,
        default_value = "drop",
        value_name = "append|drop",
        help_heading = "Conversations"
    )]
    #[arg(hide_possible_values = true)]
    pub reference: Reference,
}

/// The types that `--columns` knows.
const TYPES: [(&str, DataType); 4] = [
    ("text", DataType::Utf8View),
    ("integer", DataType::Int64),
    ("float", DataType::Float64),
    ("boolean", DataType::Boolean),
];

/// Reads a column of `--columns`; its type is Null if none is stated.
fn stated_column(text: &str) -> Field {
    let typed = text.rsplit_once(':').and_then(|(name, named)| {
        let (_, data_type) = TYPES.iter().find(|(known, _)| *known == named)?;
        Some(Field::new(name, data_type.clone(), true))
    });
    typed.unwrap_or_else(|| Field::new(text, DataType::Null, true))
}

impl SynthArgs {
    /// Returns which columns are read for these settings; fails if a stated column is not read.
    pub fn wanted(&self, settings: &SynthSettings) -> Result<WantedRecords> {
        let schema = settings.wanted_columns();
        let stated: Vec<Field> = self.columns.iter().map(|text| stated_column(text)).collect();
        if let Some(other) = stated.iter().find(|field| schema.index_of(field.name()).is_err()) {
            let names: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
            let cause = format!(
                "--columns: {} is not read, only {}; a TYPE is text, integer, float or boolean",
                other.name(),
                names.join(", ")
            );
            return Err(Error::usage(cause).hint("--metadata-fields"));
        }
        Ok(WantedRecords { schema, any_types: true, stated, ..WantedRecords::records(&RAW_SYNTH) })
    }

    /// What the arguments ask for; fails if two columns would have one name.
    pub fn settings(&self) -> Result<SynthSettings> {
        let fields = self.metadata_fields.split(',').map(str::trim).filter(|name| !name.is_empty());
        let metadata_fields: Vec<String> = fields.map(str::to_string).collect();
        if metadata_fields.is_empty() {
            return Err(Error::usage("No metadata fields specified."));
        }
        let instructions = self.developer_instructions.clone();
        let settings = SynthSettings {
            model_identity: self.model_identity.clone(),
            reasoning_effort: self.reasoning_effort,
            conversation_start_date: self.conversation_start_date.clone(),
            knowledge_cutoff: self.knowledge_cutoff.clone(),
            developer_instructions: (!self.omit_developer).then_some(instructions),
            metadata_fields,
            keep_without_reasoning: self.keep_without_reasoning,
            reference: self.reference,
        };
        match repeated_column(&settings.schema()) {
            Some(name) => {
                Err(Error::usage(format!("--metadata-fields: there would be two columns {name}")))
            }
            None => Ok(settings),
        }
    }
}
