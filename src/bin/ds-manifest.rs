//! ds-manifest: the manifest of a dataset root, made from the manifests of its parts.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;

use gristmill::cli::{self, Tool};
use gristmill::error::{Error, Result};
use gristmill::files;
use gristmill::format::kd_root::{KdRootManifest, RootSettings};
use gristmill::format::parquet::{MANIFEST, compare_inputs};
use gristmill::format::synth_shards::{
    RecordedInput, SynthManifest, SynthSource, is_folder_of_shards,
};
use gristmill::provenance::BuildRun;
use gristmill::publish::TargetLock;

/// Write ROOT/manifest.json from the part manifests
///
/// All parts must have the same config, policy, tokenizer and input manifest, and every file that
/// they name must exist with the stated size. The manifest is written last: a root that has one is
/// complete. A summary goes to stdout. For a folder of conversations, as synth-harmony writes it, the
/// manifest is made from the footers of the shards.
#[derive(Parser)]
#[command(name = "ds-manifest", version, after_long_help = HELP)]
pub struct Args {
    /// The dataset's root
    #[arg(required_unless_present = "check_input")]
    root: Option<PathBuf>,

    /// Write nothing; compare the shards in DIR with its manifest.json
    ///
    /// All shards that it names must be there, with the stated rows and bytes.
    #[arg(long, value_name = "DIR", conflicts_with = "root")]
    check_input: Option<PathBuf>,

    /// These shards, and no others, must be there (repeatable)
    #[arg(long = "expect", value_name = "SHARD")]
    expected: Vec<String>,

    /// Record this directory of the inputs
    #[arg(long, value_name = "DIR", help_heading = "Recorded")]
    dataset_dir: Option<PathBuf>,

    #[command(flatten)]
    recorded: RecordedInput,

    /// Record that the whole build was limited to N rows
    #[arg(long, value_name = "N", help_heading = "Recorded")]
    max_rows: Option<u64>,

    /// Record that the whole build was limited to about N tokens
    #[arg(long, value_name = "N", help_heading = "Recorded")]
    max_tokens: Option<u64>,

    /// Print no summary
    #[arg(short, long)]
    quiet: bool,
}

const HELP: &str = "\
Examples:
  ds-manifest out
  ds-manifest out --expect shard_00 --expect shard_01 \\
      --dataset-dir data/synth_harmony
  ds-manifest --check-input data/synth_harmony
  ds-manifest out -q && jq .splits.train.rows out/manifest.json
  ds-manifest data/synth_harmony && jq .records data/synth_harmony/manifest.json

In: ROOT/parts/*.json (and train|valid/*.part.json of concatenations), or
ROOT/*.parquet.
Out: ROOT/manifest.json.
Exit codes: 0 done, 1 the parts do not belong together, 2 usage or no parts,
75 temporary failure (I/O error).";

pub fn main() -> ExitCode {
    gristmill::main(gristmill::sources!(), run)
}

fn run(args: Args, tool: &Tool) -> Result<()> {
    if let Some(directory) = args.check_input.clone() {
        return check_input(&directory);
    }
    let Some(root) = args.root.clone() else { return Err(Error::usage("give the dataset's ROOT")) };
    let start = Instant::now();
    if is_folder_of_shards(&root)? {
        return describe_shards(&args, &root, start);
    }
    let settings = RootSettings {
        rows_per_shard: None,
        dataset_dir: args.dataset_dir,
        glob: args.recorded.glob,
        rows: args.max_rows,
        tokens: args.max_tokens,
        shards: args.expected,
    };
    // No part comes or goes between reading the parts and writing the manifest.
    let lock = TargetLock::take(&root)?;
    let manifest = KdRootManifest::collect(&root, &settings, BuildRun::since(start))?;
    manifest.publish(&root, &lock)?;
    gristmill::publish::sweep_below(&root);
    drop(lock);
    if !args.quiet {
        cli::print_text(&manifest.summary())?;
        if let Some(line) = manifest.nothing_in_valid() {
            tool.tell(&line);
        }
    }
    Ok(())
}

/// Compares a folder with the manifest in it, which must be there.
fn check_input(directory: &Path) -> Result<()> {
    let place = directory.join(MANIFEST);
    let found = match () {
        _ if files::is_directory(directory)? && files::is_member(&place)? => {
            return compare_inputs(&[directory]);
        }
        _ if files::is_directory(directory)? => "one without it",
        _ if files::exists(directory)? => "a file",
        _ => "nothing",
    };
    let cause = format!("expected a folder with {MANIFEST}, got {found}");
    Err(Error::usage(cause).at(directory).hint("the folder of the shards"))
}

/// Writes the manifest of a folder of conversations.
fn describe_shards(args: &Args, folder: &Path, start: Instant) -> Result<()> {
    let lock = TargetLock::take(folder)?;
    let source = SynthSource::new(&args.recorded);
    let manifest = SynthManifest::collect(folder, source, BuildRun::since(start))?;
    manifest.publish(folder, &lock)?;
    gristmill::publish::sweep_below(folder);
    drop(lock);
    if !args.quiet {
        cli::print_text(&manifest.summary())?;
    }
    Ok(())
}
