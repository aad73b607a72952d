//! The arguments that decide how chats become conversations.

use clap::{Args, ValueEnum};

use crate::chat::{
    AnswerChoice, NamedFields, ReadSettings, Settings, Style, TextCalls, TrainOn, Turns,
};
use crate::cli::ForPipelines;

/// Names of other times for [`Turns`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Thinking {
    Last,
    All,
    Split,
}

/// Settings of the conversations, for chats that do not state them themselves.
#[derive(Debug, Clone, Args)]
pub struct ChatArgs {
    /// Words of system and developer messages: openai-harmony's, or exactly the official template's
    ///
    /// vLLM renders with openai-harmony.
    #[arg(long, value_enum, default_value = "harmony", value_name = "harmony|exact")]
    #[arg(add = ForPipelines)]
    #[arg(hide_possible_values = true, help_heading = "Conversations")]
    pub style: Style,

    /// The answers that are trained on, and the conversations of a chat: fit, all, or last [default: fit]
    ///
    /// fit: all, in the fewest conversations in which each stands as the model generates it: one for each
    /// user's turn (ids with #1, #2, ... if a chat becomes several), which has the reasoning of that turn. all:
    /// one conversation for a chat, in which only the last turn has its reasoning. last: only the last
    /// answer is trained on. (split is the old name of fit.)
    #[arg(long, value_enum, default_value = "fit", value_name = "WHICH")]
    #[arg(add = ForPipelines)]
    #[arg(hide_default_value = true, hide_possible_values = true)]
    pub turns: Turns,

    /// The old names: last is --turns all; split is --turns fit; all is --turns all that keeps all reasoning
    #[arg(long, value_enum, value_name = "WHICH", hide_short_help = true)]
    #[arg(add = ForPipelines, conflicts_with = "turns")]
    #[arg(hide_possible_values = true, help_heading = "Conversations")]
    pub thinking: Option<Thinking>,

    /// Reasoning effort in the system message: low, medium or high (a record's own wins)
    #[arg(long, default_value = "medium", value_name = "LEVEL", help_heading = "Conversations")]
    #[arg(add = ForPipelines)]
    pub reasoning_effort: String,

    /// The date in the system message; never today's
    #[arg(long, default_value = "2026-01-01", value_name = "DATE", help_heading = "Conversations")]
    #[arg(add = ForPipelines)]
    pub date: String,

    /// Who the system message says the model is (a record's own wins)
    #[arg(long, value_name = "TEXT", help_heading = "Conversations")]
    #[arg(add = ForPipelines)]
    #[arg(default_value = "You are ChatGPT, a large language model trained by OpenAI.")]
    pub model_identity: String,

    /// The knowledge cutoff in the system message
    #[arg(long, value_name = "TEXT", default_value = "2024-06")]
    #[arg(add = ForPipelines)]
    #[arg(help_heading = "Conversations")]
    pub knowledge_cutoff: String,

    /// Harmony's own tools that the system message declares: browser, python (a record's own win)
    #[arg(long, value_name = "A,B", value_delimiter = ',', help_heading = "Conversations")]
    #[arg(add = ForPipelines)]
    #[arg(value_parser = ["browser", "python"])]
    #[arg(hide_possible_values = true)]
    pub builtin_tools: Vec<String>,

    #[command(flatten)]
    pub read: ChatReadArgs,
}

/// How records are read as chats.
#[derive(Debug, Clone, Args)]
pub struct ChatReadArgs {
    /// Train on all assistant messages, or on the completion, the last turn [default: all; completion
    /// for prompts with completions]
    #[arg(long, add = ForPipelines, value_enum, value_name = "WHICH", hide_possible_values = true)]
    #[arg(hide_short_help = true)]
    pub train: Option<TrainOn>,

    /// Take a content that looks like a JSON array of parts as plain text. Otherwise it is refused: a
    /// JSON column that was read as text looks like this
    #[arg(long, add = ForPipelines, help_heading = "Conversations")]
    pub content_is_text: bool,

    /// The list of messages is in this field, which no shape knows
    #[arg(long, add = ForPipelines, value_name = "NAME", hide_short_help = true)]
    #[arg(help_heading = "Conversations", conflicts_with_all = ["prompt_field", "completion_field"])]
    pub messages_field: Option<String>,

    /// The prompt, or question, is in this field: text, or messages
    #[arg(long, add = ForPipelines, value_name = "NAME", hide_short_help = true)]
    #[arg(help_heading = "Conversations")]
    pub prompt_field: Option<String>,

    /// The completion, or answer, is in this field
    #[arg(long, add = ForPipelines, value_name = "NAME", hide_short_help = true)]
    #[arg(help_heading = "Conversations")]
    pub completion_field: Option<String>,

    /// The reasoning before the answer is in this field
    #[arg(long, add = ForPipelines, value_name = "NAME", hide_short_help = true)]
    #[arg(help_heading = "Conversations")]
    pub reasoning_field: Option<String>,

    /// Calls and results that stand in texts as Hermes has them (<tool_call>..</tool_call>): hermes: they are
    /// calls; text: they are text; auto: calls in a chat with tools, unless the model's template writes calls so
    #[arg(long, add = ForPipelines, value_enum, default_value = "auto", value_name = "WHICH")]
    #[arg(hide_default_value = true, hide_possible_values = true, hide_short_help = true)]
    #[arg(help_heading = "Conversations")]
    pub calls: TextCalls,

    /// chosen: train only on the chosen answer of preference data. wanted: drop records whose label is
    /// false. Without it such records are refused
    #[arg(long, add = ForPipelines, value_enum, value_name = "chosen|wanted", value_delimiter = ',')]
    #[arg(hide_possible_values = true, hide_short_help = true, help_heading = "Conversations")]
    pub take: Vec<AnswerChoice>,

    /// Ignore this field of records and of messages (images, loss_mask, ...), and print how often
    /// it was there (repeatable)
    #[arg(long, add = ForPipelines, value_name = "NAME", hide_short_help = true)]
    #[arg(help_heading = "Conversations")]
    pub ignore_field: Vec<String>,
}

impl ChatArgs {
    pub fn settings(&self) -> Settings {
        Settings {
            read: self.read.settings(),
            style: self.style,
            turns: match self.thinking {
                None => self.turns,
                Some(Thinking::Split) => Turns::Fit,
                Some(Thinking::Last | Thinking::All) => Turns::All,
            },
            keeps_reasoning: self.thinking == Some(Thinking::All),
            identity: self.model_identity.clone(),
            effort: self.reasoning_effort.clone(),
            date: self.date.clone(),
            cutoff: self.knowledge_cutoff.clone(),
            builtin_tools: self.builtin_tools.clone(),
        }
    }
}

impl ChatReadArgs {
    pub fn settings(&self) -> ReadSettings {
        ReadSettings {
            content_is_text: self.content_is_text,
            fields: NamedFields {
                messages: self.messages_field.clone(),
                prompt: self.prompt_field.clone(),
                completion: self.completion_field.clone(),
                reasoning: self.reasoning_field.clone(),
            },
            ignored: self.ignore_field.clone(),
            take: self.take.clone(),
            train: self.train,
            keeps_tags: false,
            calls: self.calls,
            read_elsewhere: Vec::new(),
        }
    }
}
