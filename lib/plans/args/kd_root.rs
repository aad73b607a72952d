//! The arguments of roots of Megatron datasets.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::RangedU64ValueParser;

use super::{Asked, BuildOptions, Pipelined, divided, named_sources, words};
use crate::error::{Error, Result, shown};
use crate::files;
use crate::format::MANIFEST;
use crate::format::kd_root::ValidFraction;
use crate::format::parquet::compare_inputs;
use crate::jobs::BuildJob;
use crate::row_files::{RowFiles, RowForm, refused};
use crate::{Pipeline, PlanLimits, Product, row_files};

const KD_ROOT_HELP: &str = "\
Examples:
  scripts/synth-kd.sh data/synth_harmony out --valid-fraction 0.001
  scripts/synth-kd.sh data/raw out --raw --shards 8 --resume
  scripts/synth-kd.sh chats.jsonl out --chat --span commentary=3
  scripts/synth-kd.sh chats out --chat --model Qwen3-8B --turns split
  scripts/synth-kd.sh plan data/synth_harmony out --tasks 400 > tasks.txt
  ds-plan build kd-root in out -- harmony-tok '|' span-mask '|' mmidx-write

In: conversations, raw rows or chats.
Out: a root.
Exit codes: 0 done, 1 bad data (what fails ds-check is kept), 2 usage or a missing
input, 75 temporary failure, try again.";

/// A root of Megatron datasets: tokens, masks and ids of conversations, raw rows or chats
///
/// INPUT is a file or folder of conversations (Parquet, NDJSON, Arrow streams), or - for stdin. A folder with
/// manifest.json and synth_harmony_shard_NN.parquet has these shards, which are compared with the manifest. ROOT
/// receives parts/, manifest.json and {train,valid}/shard_NN_{tokens,lossmask,span}.{bin,idx}.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = KD_ROOT_HELP)]
#[command(override_usage = "ds-plan build kd-root INPUT... ROOT [OPTIONS] -- FILTER '|' FILTER...")]
pub struct KdRootArgs {
    /// The inputs, then the root
    #[arg(value_name = "INPUT... ROOT")]
    pub(super) paths: Vec<PathBuf>,

    /// INPUT holds raw rows of SYNTH
    #[arg(long, conflicts_with = "chat")]
    pub(super) raw: bool,

    /// INPUT holds chats in common shapes
    #[arg(long)]
    pub(super) chat: bool,

    /// Make tokens of this model, a Hugging Face folder, by its own chat template
    #[arg(long, value_name = "DIR")]
    pub(super) model: Option<String>,

    /// Share of the ids that goes to valid
    #[arg(long, value_name = "F", default_value = "0.001", value_parser = fraction)]
    pub(super) valid_fraction: String,

    /// Shards: whole files; fewer files of JSONL than N are cut at lines [default: 1]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<u64>::new().range(1..))]
    pub(super) shards: Option<u64>,

    /// The first N rows of all shards together
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub(super) max_rows: Option<u64>,

    /// The first N rows of each shard
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub(super) max_rows_per_shard: Option<u64>,

    /// About N tokens: each shard stops after the row that reaches its share
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub(super) max_tokens: Option<u64>,

    /// Do not compare the shards with INPUT/manifest.json
    #[arg(long)]
    pub(super) no_input_check: bool,

    /// At the end also ROOT/rows/{train,valid}.FORM.parquet: rows, trl or megatron-bridge (repeatable)
    #[arg(long, value_enum, value_name = "FORM", hide_possible_values = true)]
    pub(super) rows: Vec<RowForm>,

    #[command(flatten)]
    pub(super) options: BuildOptions,
}

fn fraction(text: &str) -> Result<String, String> {
    let parsed = text.parse::<ValidFraction>();
    parsed.map(|_| text.to_string()).map_err(|error| error.to_string())
}

/// What makes tokens, and what makes conversations before it.
const TOKENIZERS: [&str; 2] = ["harmony-tok", "chat-tok"];
const READERS: [&str; 2] = ["synth-harmony", "chat-harmony"];
const SHARDS: &str = "synth_harmony_shard_*.parquet";

/// What the input of a root is.
#[derive(Clone, Copy, PartialEq)]
enum RootInput {
    /// Shards of synth_harmony, with their manifest.
    Shards,
    Conversations,
    Raw,
    Chats,
}

impl KdRootArgs {
    fn input(&self, inputs: &[PathBuf]) -> Result<RootInput> {
        match inputs {
            _ if self.raw => Ok(RootInput::Raw),
            _ if self.chat => Ok(RootInput::Chats),
            [input] if !shards_in(input)?.is_empty() => {
                if files::exists(&input.join(MANIFEST))? {
                    return Ok(RootInput::Shards);
                }
                if self.no_input_check {
                    return Ok(RootInput::Conversations);
                }
                let cause = "is missing: the input's manifest must be recorded";
                let error = Error::usage(cause).at(input.join(MANIFEST).as_path());
                Err(error.hint("--no-input-check, without it"))
            }
            _ => Ok(RootInput::Conversations),
        }
    }

    /// Fails if an option is for another input, or for another pipeline.
    fn check(&self, input: RootInput, inputs: &[PathBuf], pipeline: &Pipelined) -> Result<()> {
        let name = inputs.first().map(|input| shown(input)).unwrap_or_default();
        let cause = match () {
            _ if input == RootInput::Shards && self.shards.is_some() => {
                format!("--shards: {name} has shards of its own")
            }
            _ if self.raw && pipeline.options.iter().flatten().any(|word| word == "--id-field") => {
                "--id-field is not for --raw".to_string()
            }
            _ if self.model.is_some() && !self.chat => "--model is for --chat".to_string(),
            _ if self.model.is_some() != pipeline.has("chat-tok") => {
                "--model DIR is for a pipeline with chat-tok, which needs it".to_string()
            }
            _ if !TOKENIZERS.iter().any(|name| pipeline.has(name)) => {
                "the pipeline has neither harmony-tok nor chat-tok".to_string()
            }
            _ => return Ok(()),
        };
        Err(Error::usage(cause))
    }

    pub(super) fn job(&self, pipeline: &mut Pipelined, asked: &Asked<'_>) -> Result<BuildJob> {
        let (inputs, root) = divided(&self.paths, "INPUT and ROOT", asked)?;
        if asked.is_plan && !self.rows.is_empty() {
            let cause = "plan --rows: rows are made of the whole; try: finish --rows";
            return Err(Error::usage(cause));
        }
        let input = self.input(&inputs)?;
        self.check(input, &inputs, pipeline)?;
        let reader = match input {
            RootInput::Raw => "synth-harmony",
            RootInput::Chats if self.model.is_some() => "chat-tok",
            RootInput::Chats => "chat-harmony",
            RootInput::Shards | RootInput::Conversations => "harmony-tok",
        };
        pipeline.refuse_other_ends(&[reader], "mmidx-write")?;
        let rows = pipeline.options.last().cloned().unwrap_or_default();
        let rows = RowFiles::new(&self.rows, rows, &pipeline.passed())?;
        if let Some(model) = &self.model {
            // Of an input without a byte: only what is wrong with the model or the options ends with 1 or 2.
            let words =
                [self::words(&["--model", model]), pipeline.options_of("chat-tok")].concat();
            refused("chat-tok", words.into_iter().chain(["/dev/null".to_string()]), &[1, 2])?;
        }
        let first = inputs.first().cloned().unwrap_or_default();
        let mut request =
            self.options.request(Product::KdRoot, &root, &first, self.whole(pipeline, input));
        request.options = self.recorded(pipeline, input);
        request.limits = PlanLimits {
            rows: self.max_rows,
            rows_per_source: self.max_rows_per_shard,
            tokens: self.max_tokens,
        };
        if input == RootInput::Shards {
            request.recorded.glob = Some(SHARDS.to_string());
            request.compared = !self.no_input_check;
            request.sources = shards_in(&first)?;
        } else {
            request.sources = named_sources(&inputs)?;
            request.raw_shards = Some(self.shards.unwrap_or(1));
        }
        row_files::refuse_linked(&root)?;
        let mut job = self.options.job(request);
        job.refuse_taken(asked.is_plan)?;
        if input == RootInput::Shards && !self.no_input_check {
            // A shard that the manifest names and that is not there would be missed by nobody.
            compare_inputs(&[first.as_path()])?;
        }
        (job.rows, job.input_manifest) = (rows, Some(first.join(MANIFEST)));
        Ok(job)
    }

    /// Returns the pipeline with all that is the same in each task.
    fn whole(&self, pipeline: &Pipelined, input: RootInput) -> Pipeline {
        let model = self.model.as_deref().map_or(Vec::new(), |model| words(&["--model", model]));
        let before = |name: &str| match name {
            "chat-tok" => model.clone(),
            "mmidx-write" => words(&["--valid-fraction", &self.valid_fraction]),
            _ => Vec::new(),
        };
        let compares = input == RootInput::Conversations || self.no_input_check;
        let is_read_by = |name: &str| READERS.contains(&name) || TOKENIZERS.contains(&name);
        let after = |name: &str| match name {
            "mmidx-write" => model.clone(),
            name if is_read_by(name) => {
                let is_first = pipeline.pipeline.names().next() == Some("harmony-tok");
                let unchecked = (compares && is_first && name == "harmony-tok")
                    .then(|| "--no-input-check".to_string());
                self.on_error().into_iter().chain(unchecked).collect()
            }
            _ => Vec::new(),
        };
        pipeline.whole(before, after)
    }

    fn on_error(&self) -> Vec<String> {
        match self.options.on_error() {
            given if given.is_empty() => words(&["--on-error", "fail"]),
            given => given,
        }
    }

    /// Returns the options as manifests record them.
    fn recorded(&self, pipeline: &Pipelined, input: RootInput) -> Vec<String> {
        let mut all = words(&["--valid-fraction", &self.valid_fraction]);
        all.extend(self.on_error());
        all.extend(self.no_input_check.then(|| "--no-input-check".to_string()));
        all.extend(self.model.iter().flat_map(|model| words(&["--model", model])));
        all.extend(pipeline.passed());
        all.extend(match input {
            RootInput::Shards => None,
            RootInput::Conversations => Some("--conversations".to_string()),
            RootInput::Raw => Some("--raw".to_string()),
            RootInput::Chats => Some("--chat".to_string()),
        });
        all
    }
}

/// Returns the shards of synth_harmony in a folder, with their names.
fn shards_in(folder: &Path) -> Result<Vec<(String, PathBuf)>> {
    if !files::is_directory(folder)? {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for path in files::paths_in(folder)? {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let shard =
            name.strip_prefix("synth_harmony_").and_then(|name| name.strip_suffix(".parquet"));
        if let Some(shard) = shard.filter(|shard| shard.starts_with("shard_")) {
            found.push((plain_name(shard)?.to_string(), path.clone()));
        }
    }
    Ok(found)
}

/// Fails if a name would be another in a path or on a command line.
fn plain_name(name: &str) -> Result<&str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    match name.chars().all(is_plain) {
        true => Ok(name),
        false => Err(Error::usage(format!("{name:?} is not a plain name"))),
    }
}
