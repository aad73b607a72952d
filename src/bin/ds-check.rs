//! ds-check: datasets in, findings out.

use std::io::BufWriter;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use gristmill::check::{
    self, BytesRead, CheckContext, CheckNames, CheckOptions, ModelSaid, Report, ReportFormat,
    ReportStyle, Selection,
};
use gristmill::cli::{self, ColorWhen, CommonArgs, JobsArgs, Tool};
use gristmill::dataset;
use gristmill::error::{Error, Result};
use gristmill::harmony::Policy;
use gristmill::said::Said;

/// Find the defects of datasets that a trainer would not notice
///
/// PATHs are Megatron roots, directories and prefixes, packs and other pools of 2048 games, puzzle
/// sets, folders of Parquet shards, folders of such datasets, and files and streams of records; the
/// format is recognised. Every rule of the format and of the content is checked: masks are derived
/// again from the tokens, texts are encoded again, manifests are compared. The findings are grouped
/// by check, and the first few of each are shown; --list prints every check and why it matters.
#[derive(Parser)]
#[command(name = "ds-check", version, after_long_help = HELP)]
pub struct Args {
    /// Datasets; `-` is a stream on stdin
    #[arg(value_name = "PATH", required_unless_present = "list")]
    paths: Vec<PathBuf>,

    /// Check names, sizes, headers, indices, manifests: no values
    #[arg(long)]
    structure: bool,

    /// Run only these checks: names, or how they begin (kd.mask)
    #[arg(long, value_name = "ID,...", value_delimiter = ',')]
    #[arg(value_parser = CheckNames(check::catalogue), hide_possible_values = true)]
    only: Vec<String>,

    /// Do not run these checks
    #[arg(long, value_name = "ID,...", value_delimiter = ',')]
    #[arg(value_parser = CheckNames(check::catalogue), hide_possible_values = true)]
    skip: Vec<String>,

    /// Print every check, its severity and what it finds
    #[arg(long)]
    list: bool,

    #[command(flatten)]
    options: CheckOptions,

    /// Policy for conversations if the dataset does not state it: synth-kd-v1, chat
    #[arg(long, value_name = "NAME", value_enum, help_heading = "Checks")]
    #[arg(hide_possible_values = true)]
    policy: Option<Policy>,

    /// The model of the tokens, for streams that do not state it: gpt-oss, a folder, or a tokenizer.json
    #[arg(long, value_name = "DIR", help_heading = "Checks")]
    model: Option<PathBuf>,

    /// Domain of puzzle sets that do not state it: sudoku, arc, maze, domino; none: check no rules
    #[cfg(feature = "puzzles")]
    #[arg(long, value_name = "NAME", help_heading = "Checks")]
    domain: Option<String>,

    /// Text for people, or JSON: one object a line, a summary
    #[arg(long, value_enum, default_value = "text", value_name = "text|json")]
    #[arg(hide_possible_values = true)]
    format: ReportFormat,

    /// Show the first N findings of each check; all are counted
    #[arg(long, value_name = "N", default_value = "20", help_heading = "Report")]
    max_findings: usize,

    #[command(flatten)]
    jobs: JobsArgs,
    #[command(flatten)]
    common: CommonArgs,
}

const HELP: &str = "\
Examples:
  ds-check out
  ds-check out --structure && echo whole
  ds-check out/train/shard_00 --only kd.mask
  ds-check out --format json | jq -c 'select(.level == \"error\")'

In: datasets on disk, files of records, or - for a stream of records on stdin.
Out: findings {check, level, file, record, message, hint}, and a summary.
Exit codes: 0 no error, 1 errors were found, 2 usage or a missing input,
75 temporary failure (I/O error).";

pub fn main() -> ExitCode {
    gristmill::main(
        gristmill::sources!(),
        |args: Args, tool| if args.list { list(&args) } else { run(args, tool) },
    )
}

fn list(args: &Args) -> Result<()> {
    let json = args.format == ReportFormat::Json;
    cli::print(&check::print_catalogue(&check::catalogue(), json))
}

fn run(args: Args, tool: &Tool) -> Result<()> {
    let mut options = args.options;
    let said = Said::default().with(args.policy).with(args.model.map(ModelSaid));
    #[cfg(feature = "puzzles")]
    let said = {
        let named = |name: String| gristmill::check::DomainSaid::named("--domain", &name);
        said.with(args.domain.map(named).transpose()?)
    };
    options.said = said;
    let selection = Selection::new(check::catalogue(), args.only, args.skip, args.structure)?;
    cli::refuse_closed_stdout()?;
    let stdout = std::io::stdout().lock();
    let colour = ColorWhen::Auto.on_stdout();
    let (format, quiet, strict) = (args.format, args.common.quiet, options.strict);
    let style = ReportStyle { format, colour, quiet, strict };
    let mut report = Report::new(BufWriter::new(stdout), style);
    let mut progress = args.common.progress(tool, "records", None, true)?;
    let paths = args.paths.iter().map(|path| dataset::each_dataset(path));
    for path in paths.collect::<Result<Vec<_>>>()?.concat() {
        let mut context = CheckContext {
            selection: &selection,
            options: &options,
            jobs: args.jobs.jobs,
            max_findings: args.max_findings,
            progress: &mut progress,
            read: BytesRead::default(),
        };
        let outcome = dataset::check(&path, &mut context)?;
        report.add(outcome).map_err(|e| Error::write("stdout", &e))?;
    }
    progress.finish();
    match report.finish().map_err(|e| Error::write("stdout", &e))? {
        0 => Ok(()),
        1 => Err(Error::data("1 error")),
        errors => Err(Error::data(gristmill::wording::counted(errors, "error"))),
    }
}
