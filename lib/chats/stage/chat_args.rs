//! The arguments that decide how chats are read, what is trained on, and how they are rendered, for every model.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};

use crate::chat::{
    AnswerChoice, HarmonySettings, NamedFields, ReadSettings, TextCalls, TrainOn, Turns,
};
use crate::cli::ForPipelines;
use crate::error::{Error, Result};
use crate::visible;

/// How chats are read, what is trained on, and what is set for the model.
#[derive(Debug, Clone, Args)]
pub struct ChatArgs {
    /// Answers to train on, and the records of a chat: fit, all, last or completion [default: fit]
    ///
    /// fit: all answers, in the fewest records in which each stands as the model generates it (ids with #1, #2, ...
    /// if a chat becomes several: reasoning of earlier turns is not in the history). all: one record for a chat, in
    /// which answers are trained on as they stand in the history. last: only the last answer. completion: the last
    /// answer with the calls before it. Of a prompt with a completion, fit and all train on the completion;
    /// fit,prompts and all,prompts on the answers in the prompt, too. (split is the old name of fit.)
    #[arg(long, add = ForPipelines, value_parser = turns(), default_value = "fit", value_name = "WHICH")]
    #[arg(hide_default_value = true, hide_possible_values = true)]
    pub turns: Turns,

    /// Set a variable: reasoning_effort=high, enable_thinking=false
    ///
    /// gpt-oss has reasoning_effort (low, medium, high), model_identity, knowledge_cutoff, builtin_tools
    /// (browser,python) and keep_reasoning (true: all reasoning stays in the history); a folder has what its
    /// template names. The value is read as JSON, or else as text. Repeatable. A record's own win.
    #[arg(long, add = ForPipelines, value_name = "NAME=VALUE", value_parser = variable)]
    pub set: Vec<(String, String)>,

    /// The date that the model is told, if it is told one; never today's [default for gpt-oss: 2026-01-01]
    #[arg(long, add = ForPipelines, value_name = "YYYY-MM-DD", help_heading = "Conversations")]
    pub date: Option<String>,

    /// Take the id from this field [default: the first of id, synth_id, conversation_id, prompt_id,
    /// uuid and metadata_json.synth_id that is there, else a hash of the chat]
    #[arg(long, add = ForPipelines, value_name = "NAME", help_heading = "Conversations")]
    pub id_field: Option<String>,

    /// The old name of --turns completion, and of --turns fit,prompts (all)
    #[arg(long, add = ForPipelines, value_parser = train(), value_name = "WHICH", hide = true)]
    train: Option<TrainOn>,

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

    /// chosen: train only on the chosen answer of preference data. pair: make pairs of both answers, for DPO, KTO and
    /// reward models (chat-tok). wanted: drop records whose label is false. Without it such records are refused
    #[arg(long, add = ForPipelines, value_enum, value_name = "chosen|pair|wanted", value_delimiter = ',')]
    #[arg(hide_possible_values = true, hide_short_help = true, help_heading = "Conversations")]
    pub take: Vec<AnswerChoice>,

    /// Ignore this field of records and of messages (images, loss_mask, ...), and print how often
    /// it was there (repeatable)
    #[arg(long, add = ForPipelines, value_name = "NAME", hide_short_help = true)]
    #[arg(help_heading = "Conversations")]
    pub ignore_field: Vec<String>,
}

/// The options of earlier versions, of chat-harmony alone; `--turns`, `--set` and `--date` take their place.
#[derive(Debug, Clone, Args)]
pub struct OldChatArgs {
    /// The template's own words are those of --model DIR
    #[arg(long, add = ForPipelines, value_enum, value_name = "WHICH", hide = true)]
    style: Option<Style>,

    /// The old names: last is --turns all; split is --turns fit; all is --turns all --set keep_reasoning=true
    #[arg(long, add = ForPipelines, value_enum, value_name = "WHICH", hide = true)]
    #[arg(conflicts_with = "turns")]
    thinking: Option<Thinking>,

    /// --set reasoning_effort=LEVEL
    #[arg(long, add = ForPipelines, value_name = "LEVEL", hide = true)]
    reasoning_effort: Option<String>,

    /// --set model_identity=TEXT
    #[arg(long, add = ForPipelines, value_name = "TEXT", hide = true)]
    model_identity: Option<String>,

    /// --set knowledge_cutoff=TEXT
    #[arg(long, add = ForPipelines, value_name = "TEXT", hide = true)]
    knowledge_cutoff: Option<String>,

    /// --set builtin_tools=A,B
    #[arg(long, add = ForPipelines, value_name = "A,B", hide = true)]
    builtin_tools: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Style {
    Harmony,
    Exact,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Thinking {
    Last,
    All,
    Split,
}

fn turns() -> impl TypedValueParser<Value = Turns> {
    let names = Turns::names().map(|name| match name {
        "fit" => PossibleValue::new(name).alias("split"),
        name => PossibleValue::new(name),
    });
    PossibleValuesParser::new(names).map(|name| Turns::named(&name).unwrap_or_default())
}

fn train() -> impl TypedValueParser<Value = TrainOn> {
    PossibleValuesParser::new(["all", "completion"]).map(|name| match &*name {
        "completion" => TrainOn::Completion,
        _ => TrainOn::Prompts,
    })
}

/// Reads `NAME=VALUE`.
fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=').filter(|(name, _)| !name.is_empty()) {
        Some((name, value)) => Ok((name.to_string(), value.to_string())),
        None => Err("expected NAME=VALUE, as in enable_thinking=false".to_string()),
    }
}

impl ChatArgs {
    /// Returns how chats are read.
    pub fn read_settings(&self) -> ReadSettings {
        let turns = Turns { trained: self.train.unwrap_or(self.turns.trained), ..self.turns };
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
            turns,
            keeps_tags: false,
            calls: self.calls,
            read_elsewhere: Vec::new(),
        }
    }

    /// Refuses what does not go with pairs.
    pub fn check_pairs(&self) -> Result<()> {
        let usage = |cause: &str, way: &str| Err(Error::usage(cause).hint(way));
        if !self.take.contains(&AnswerChoice::Pair) {
            return Ok(());
        }
        if self.take.contains(&AnswerChoice::Chosen) {
            return usage("--take chosen,pair: a record becomes one of these", "--take pair");
        }
        match self.train.is_some() || self.turns != Turns::default() {
            true => usage("--turns: of a pair both answers are trained on", "--turns fit"),
            false => Ok(()),
        }
    }

    /// Returns what Harmony's system message says.
    pub fn harmony_settings(&self) -> Result<HarmonySettings> {
        let mut settings = HarmonySettings::default();
        if let Some(date) = &self.date {
            settings.date.clone_from(date);
        }
        for (name, value) in &self.set {
            let set = settings.set(name, value);
            set.map_err(|cause| Error::usage(format!("--set {}", visible::line(&cause))))?;
        }
        Ok(settings)
    }
}

impl OldChatArgs {
    /// Puts what they say into the arguments that have taken their place.
    pub fn put_into(self, args: &mut ChatArgs) -> Result<()> {
        if self.style == Some(Style::Exact) {
            let cause = "--style exact is not there any more: a chat template's own words come from its model's folder";
            return Err(Error::usage(cause).hint("chat-tok --model DIR"));
        }
        let old = [
            ("reasoning_effort", self.reasoning_effort),
            ("model_identity", self.model_identity),
            ("knowledge_cutoff", self.knowledge_cutoff),
            ("builtin_tools", self.builtin_tools),
            ("keep_reasoning", (self.thinking == Some(Thinking::All)).then(|| "true".to_string())),
        ];
        let old = old.into_iter().filter_map(|(name, value)| Some((name.to_string(), value?)));
        // (The last one counts.)
        args.set.splice(0..0, old);
        if let Some(thinking) = self.thinking {
            args.turns.is_one = thinking != Thinking::Split;
        }
        Ok(())
    }
}
