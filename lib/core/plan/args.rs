//! The arguments of ds-plan make.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use clap::builder::RangedU64ValueParser;

use super::make::TASK_BYTES;
use super::{PlanLimits, PlanRequest, Product, Sizing};
use crate::format::synth_shards::RecordedInput;

#[derive(Debug, Clone, Args)]
pub struct PlanArgs {
    /// Where the dataset is made
    root: PathBuf,

    /// What the pipeline makes
    #[arg(long, value_enum, value_name = "KIND")]
    product: Product,

    /// A source and its name (repeatable)
    ///
    /// A puzzle domain may have several paths.
    #[arg(long = "source", value_name = "NAME=PATH", value_parser = source)]
    #[arg(required_unless_present = "raw_shards")]
    sources: Vec<(String, PathBuf)>,

    /// Take raw rows: the files of the input, or of the sources that are given, are divided into N
    /// shards
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<u64>::new().range(1..))]
    raw_shards: Option<u64>,

    /// Record this folder of the sources
    #[arg(long, value_name = "DIR")]
    input: PathBuf,

    #[command(flatten)]
    recorded: RecordedInput,

    /// About N tasks of equal size; each source has at least one
    #[arg(long, value_name = "N", conflicts_with = "rows_per_task")]
    pub tasks: Option<u64>,

    /// Tasks of N rows
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<u64>::new().range(1..))]
    #[arg(help_heading = "Tasks")]
    rows_per_task: Option<u64>,

    /// Tasks for one machine with N processors
    ///
    /// Whole sources, unless they are huge, or too few for N.
    #[arg(long, value_name = "N")]
    here: Option<NonZeroUsize>,

    /// Threads of each task
    #[arg(long, value_name = "N", help_heading = "Tasks")]
    threads: Option<NonZeroUsize>,

    /// The first N rows of all sources together
    #[arg(long, value_name = "N", help_heading = "Limits")]
    max_rows: Option<u64>,

    /// The first N rows of each source
    #[arg(long, value_name = "N", help_heading = "Limits")]
    max_rows_per_shard: Option<u64>,

    /// About N tokens: each source is one task, which stops after the row that reaches its share
    #[arg(long, value_name = "N", help_heading = "Limits")]
    max_tokens: Option<u64>,

    /// Replace a plan with other options
    ///
    /// All parts are then stale.
    #[arg(long)]
    overwrite: bool,

    /// Go on with what this plan began and made
    ///
    /// Packs and puzzle sets with other settings are refused; shards with other settings are made again.
    #[arg(long, conflicts_with = "overwrite")]
    resume: bool,

    /// Do not say which sources cannot be divided
    #[arg(short, long)]
    pub quiet: bool,

    /// Record that the sources were not compared with the manifest.json beside them
    #[arg(long, help_heading = "Recorded")]
    no_input_check: bool,

    /// The script that makes a task, and its options
    #[arg(last = true, required = true, value_name = "CMD")]
    script: Vec<String>,
}

impl From<PlanArgs> for PlanRequest {
    fn from(args: PlanArgs) -> PlanRequest {
        let mut script = args.script.into_iter();
        PlanRequest {
            product: args.product,
            script: script.next().unwrap_or_default(),
            options: script.collect(),
            input: args.input,
            recorded: args.recorded,
            raw_shards: args.raw_shards,
            root: args.root,
            limits: PlanLimits {
                rows: args.max_rows,
                rows_per_source: args.max_rows_per_shard,
                tokens: args.max_tokens,
            },
            sizing: match (args.tasks, args.rows_per_task) {
                (Some(tasks), _) => Sizing::Tasks(tasks),
                (_, Some(rows)) => Sizing::RowsPerTask(rows),
                _ => Sizing::BytesPerTask(TASK_BYTES),
            },
            sources: args.sources,
            here: args.here,
            threads: args.threads,
            overwrite: args.overwrite,
            resume: args.resume,
            compared: !args.no_input_check,
        }
    }
}

fn source(text: &str) -> Result<(String, PathBuf), String> {
    let (name, path) = text.split_once('=').ok_or("expected NAME=PATH")?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    if !name.is_empty() && !name.starts_with('.') && name.chars().all(is_plain) {
        Ok((name.to_string(), PathBuf::from(path)))
    } else {
        Err(format!("{name:?} is not a plain name"))
    }
}
