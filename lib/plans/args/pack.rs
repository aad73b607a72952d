//! The arguments of packs of games.

use std::path::PathBuf;

use clap::Args;

use super::{BuildOptions, Pipelined};
use crate::Product;
use crate::error::{Error, Result};
use crate::format::MANIFEST;
use crate::jobs::BuildJob;

const PACK_HELP: &str = "\
Examples:
  scripts/macroxue.sh data/raw_games pack
  scripts/macroxue.sh data/raw_games pack --shard-rows 10000000 --resume
  ds-plan build pack raw_games pack -- mx-decode '|' npy-pack

In: logs of games.
Out: a pack.
Exit codes: 0 done, 1 bad data (what fails ds-check is kept), 2 usage or a missing
input, 75 temporary failure, try again.";

/// A pack of rows and metadata.db, of raw self-play logs of 2048
///
/// RAW_DIR holds games, X.meta.json[.gz] and X.jsonl.gz, in any folders. PACK_DIR receives steps.npy (or
/// steps-00000.npy, ...), valuation_types.json, metadata.db and manifest.json.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = PACK_HELP)]
#[command(override_usage = "ds-plan build pack RAW_DIR PACK_DIR [OPTIONS] -- FILTER '|' FILTER")]
pub struct PackArgs {
    /// The folder of the games, then the pack
    #[arg(value_name = "RAW_DIR PACK_DIR")]
    pub(super) paths: Vec<PathBuf>,

    /// The folder of the games
    #[arg(long, value_name = "RAW_DIR")]
    pub(super) input: Option<PathBuf>,

    /// The pack
    #[arg(short, long, value_name = "PACK_DIR")]
    pub(super) output: Option<PathBuf>,

    #[command(flatten)]
    pub(super) options: BuildOptions,
}

impl PackArgs {
    pub(super) fn job(&self, pipeline: &mut Pipelined) -> Result<BuildJob> {
        let all: Vec<&PathBuf> = self.input.iter().chain(&self.paths).chain(&self.output).collect();
        let [input, out] = all.as_slice() else {
            return Err(Error::usage("RAW_DIR and PACK_DIR are required; see --help"));
        };
        pipeline.refuse_other_ends(&["mx-decode"], "npy-pack")?;
        let on_error = |name: &str| match name {
            "mx-decode" => self.options.on_error(),
            _ => Vec::new(),
        };
        let whole = pipeline.whole(|_| Vec::new(), on_error);
        let mut request = self.options.request(Product::Pack, out, input, whole);
        request.options = [pipeline.passed(), self.options.on_error()].concat();
        request.sources = vec![("games".to_string(), input.to_path_buf())];
        let mut job = self.options.job(request);
        job.input_manifest = Some(input.join(MANIFEST));
        Ok(job)
    }
}
