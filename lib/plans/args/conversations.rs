//! The arguments of folders of conversations.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::RangedU64ValueParser;

use super::{Asked, BuildOptions, Pipelined, divided, named_sources, words};
use crate::Product;
use crate::error::{Error, Result};
use crate::files;
use crate::format::synth_shards;
use crate::format::synth_shards::RecordedInput;
use crate::jobs::BuildJob;
use crate::wording::exactly;

const CONVERSATIONS_HELP: &str = "\
Examples:
  scripts/synth-raw.sh data/raw data/synth_harmony --shards 8
  scripts/synth-raw.sh data/raw data/smoke --max-rows 1000 --on-error skip
  ds-plan build conversations raw out -- synth-harmony

In: raw rows of SYNTH.
Out: synth_harmony_shard_NN.parquet and manifest.json.
Exit codes: 0 done, 1 bad data, 2 usage or a missing input, 75 temporary failure,
try again.";

/// Shards of Harmony conversations in Parquet, and their manifest, of raw rows of SYNTH
#[derive(Debug, Clone, Args)]
#[command(after_long_help = CONVERSATIONS_HELP)]
#[command(override_usage = "ds-plan build conversations RAW_DIR... OUT_DIR [OPTIONS] -- FILTER")]
pub struct ConversationsArgs {
    /// Files, or folders with files in any depth, of raw rows (- is stdin); then the folder of the shards
    #[arg(value_name = "RAW_DIR... OUT_DIR")]
    pub(super) paths: Vec<PathBuf>,

    /// Shards: whole files; fewer files of JSONL than N are cut at lines
    #[arg(long, value_name = "N", default_value = "1")]
    #[arg(value_parser = RangedU64ValueParser::<u64>::new().range(1..))]
    pub(super) shards: u64,

    /// Rows of each row group [default: 1000]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<u64>::new().range(1..))]
    pub(super) row_group_rows: Option<u64>,

    /// The first N rows of each shard
    #[arg(long, value_name = "N")]
    pub(super) max_rows: Option<u64>,

    /// What the manifest says of the source [default: PleIAs/SYNTH]
    #[arg(long, value_name = "NAME")]
    pub(super) dataset: Option<String>,

    /// And of its split [default: train]
    #[arg(long, value_name = "NAME")]
    pub(super) split: Option<String>,

    #[command(flatten)]
    pub(super) options: BuildOptions,
}

impl ConversationsArgs {
    pub(super) fn job(&self, pipeline: &mut Pipelined, asked: &Asked<'_>) -> Result<BuildJob> {
        let (inputs, out) = divided(&self.paths, "RAW_DIR and OUT_DIR", asked)?;
        pipeline.refuse_other_ends(&["synth-harmony"], "synth-harmony")?;
        let sources = named_sources(&inputs)?;
        let groups = self.row_group_rows.map(|rows| rows.to_string());
        let groups = groups.map_or(Vec::new(), |rows| words(&["--row-group-rows", &rows]));
        let whole = pipeline.whole(|_| groups.clone(), |_| self.options.on_error());
        let first = inputs.first().cloned().unwrap_or_default();
        let mut request = self.options.request(Product::Conversations, &out, &first, whole);
        request.options = [groups, pipeline.passed(), self.options.on_error()].concat();
        let (dataset, split) = (self.dataset.clone(), self.split.clone());
        request.recorded = RecordedInput { glob: None, dataset, split };
        (request.sources, request.raw_shards) = (sources, Some(self.shards));
        request.limits.rows_per_source = self.max_rows;
        if self.options.no_check {
            return Err(Error::usage(
                "--no-check: conversations are not checked, as they may lack ids",
            ));
        }
        let job = BuildJob { check: false, ..self.options.job(request) };
        job.refuse_taken(asked.is_plan)?;
        self.refuse_surplus(&out)?;
        Ok(job)
    }

    /// Shards of an earlier run with more of them would be among these.
    fn refuse_surplus(&self, out: &Path) -> Result<()> {
        let wanted =
            (0..self.shards).map(|shard| synth_shards::file_name(&format!("shard_{shard:02}")));
        let wanted: Vec<String> = wanted.collect();
        for path in files::paths_if_there(out)? {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.ends_with(".parquet") && !wanted.iter().any(|wanted| *wanted == name) {
                let cause = format!("is none of {}", exactly(self.shards, "shard"));
                let error = Error::usage(cause).at(path.as_path());
                return Err(error.hint("another directory, or remove it"));
            }
        }
        Ok(())
    }
}
