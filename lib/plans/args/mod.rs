//! What is to be built: the arguments of `ds-plan build` and `ds-plan plan` for each product.

mod conversations;
mod kd_root;
mod pack;
mod puzzles;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::builder::RangedU64ValueParser;
use clap::{Args, Command, Subcommand};

use crate::cli::{OnError, When, on_disk};
use crate::error::{Error, Result};
use crate::files;
use crate::format::synth_shards::RecordedInput;
use crate::jobs::{BuildJob, Stop};
use crate::make::TASK_BYTES;
use crate::options::{PassedOption, of_filters};
use crate::pipeline::Pipeline;
use crate::row_files::RowFiles;
use crate::{PlanLimits, PlanRequest, Product, Sizing};

pub use conversations::ConversationsArgs;
pub use kd_root::KdRootArgs;
pub use pack::PackArgs;
pub use puzzles::PuzzlesArgs;

/// A product, and how it is to be made.
#[derive(Debug, Clone, Subcommand)]
pub enum ProductArgs {
    KdRoot(KdRootArgs),
    Conversations(ConversationsArgs),
    Pack(PackArgs),
    Puzzles(PuzzlesArgs),
}

/// The filters whose options each product takes, in the order in which they explain an option that several have,
/// and with what each comes into the pipeline.
const FILTERS: [(&str, &[(&str, &str)]); 4] = [
    (
        "kd-root",
        &[
            ("synth-harmony", "--raw"),
            ("chat-harmony", "--chat"),
            ("chat-tok", "--model"),
            ("harmony-tok", "a pipeline with harmony-tok"),
            ("span-mask", "a pipeline with span-mask"),
            ("mmidx-write", "a pipeline with mmidx-write"),
            ("seq-pack", "--rows"),
        ],
    ),
    ("conversations", &[("synth-harmony", "a pipeline with synth-harmony")]),
    (
        "pack",
        &[("mx-decode", "a pipeline with mx-decode"), ("npy-pack", "a pipeline with npy-pack")],
    ),
    ("puzzles", &[]),
];

/// Returns the names of the filters whose options a product takes.
pub fn filters_of(product: &str) -> impl Iterator<Item = &'static str> {
    let found = FILTERS.iter().find(|(name, _)| *name == product);
    found.into_iter().flat_map(|(_, filters)| filters.iter().map(|(name, _)| *name))
}

/// Finds a filter's declaration by its name.
pub type FindFilter = fn(&str) -> Option<Command>;

/// What all products share.
#[derive(Debug, Clone, Args)]
pub struct BuildOptions {
    /// Replace what is there
    #[arg(long)]
    overwrite: bool,

    /// Keep what is finished with the same settings, of the same input
    #[arg(long, conflicts_with = "overwrite")]
    resume: bool,

    /// Processors to use; for a plan, threads of each task [default: all]
    #[arg(short, long, value_name = "N", visible_alias = "workers")]
    jobs: Option<NonZeroUsize>,

    /// End at a bad record, or skip it [default: fail]
    #[arg(long, value_enum, value_name = "fail|skip", hide_possible_values = true)]
    #[arg(help_heading = "Bad records")]
    on_error: Option<OnError>,

    /// Write skipped records and their reasons as NDJSON (none for what --resume keeps)
    #[arg(long, value_name = "FILE", value_parser = on_disk(), help_heading = "Bad records")]
    rejects: Option<PathBuf>,

    /// Do not run ds-check on what was made
    #[arg(long)]
    no_check: bool,

    /// Print only errors, and what ds-check finds
    #[arg(short, long)]
    quiet: bool,

    /// Show progress: a line on a terminal, else a line for each shard
    #[arg(long, value_enum, default_value = "auto", value_name = "auto|always|never")]
    #[arg(hide_possible_values = true, help_heading = "Messages")]
    progress: When,

    /// About N tasks of equal size [default: tasks of about 1 GiB; on one machine whole shards]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<u64>::new().range(1..))]
    #[arg(help_heading = "Tasks")]
    tasks: Option<u64>,

    /// Tasks of N rows
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<u64>::new().range(1..))]
    #[arg(help_heading = "Tasks", alias = "games-per-task", conflicts_with = "tasks")]
    rows_per_task: Option<u64>,

    /// The pipeline: filters with '|' between them
    ///
    /// The first reads slices of the input, the last writes the product. A program of your own between them
    /// reads and writes Arrow streams, and keeps the metadata of their schema.
    #[arg(last = true, required = true, value_name = "FILTER '|' FILTER")]
    pipeline: Vec<String>,
}

impl BuildOptions {
    fn check(&self, is_plan: bool) -> Result<()> {
        let refused = match () {
            _ if self.rejects.is_some() && self.on_error != Some(OnError::Skip) => {
                "--rejects needs --on-error skip"
            }
            _ if is_plan && self.resume => "plan --resume: a plan keeps what is done anyway",
            _ if is_plan && self.rejects.is_some() => {
                "plan --rejects: each task keeps its own; try: finish --rejects"
            }
            _ => return Ok(()),
        };
        Err(Error::usage(refused))
    }

    fn sizing(&self) -> Sizing {
        match (self.tasks, self.rows_per_task) {
            (Some(tasks), _) => Sizing::Tasks(tasks),
            (_, Some(rows)) => Sizing::RowsPerTask(rows),
            _ => Sizing::BytesPerTask(TASK_BYTES),
        }
    }

    fn on_error(&self) -> Vec<String> {
        let name = |on_error| if on_error == OnError::Skip { "skip" } else { "fail" };
        self.on_error.map_or(Vec::new(), |on_error| words(&["--on-error", name(on_error)]))
    }

    fn request(
        &self,
        product: Product,
        root: &Path,
        input: &Path,
        pipeline: Pipeline,
    ) -> PlanRequest {
        PlanRequest {
            product,
            pipeline,
            options: Vec::new(),
            input: input.to_path_buf(),
            recorded: RecordedInput { glob: None, dataset: None, split: None },
            raw_shards: None,
            root: root.to_path_buf(),
            limits: PlanLimits::default(),
            sizing: self.sizing(),
            sources: Vec::new(),
            threads: None,
            here: None,
            overwrite: self.overwrite,
            resume: self.resume,
            compared: true,
        }
    }

    fn job(&self, request: PlanRequest) -> BuildJob {
        BuildJob {
            targets: vec![request.root.clone()],
            request,
            jobs: self.jobs,
            rows: RowFiles::default(),
            check: !self.no_check,
            input_manifest: None,
            rejects: self.rejects.clone(),
            quiet: self.quiet,
            progress: self.progress,
            unit: "shard",
        }
    }
}

/// What the arguments are looked at for.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    pub is_plan: bool,
    /// The options of filters that are given.
    pub passed: &'a [PassedOption],
    pub find: FindFilter,
    /// The folder in which stdin is kept.
    pub stdin: Option<&'a Path>,
}

impl ProductArgs {
    fn options(&self) -> &BuildOptions {
        match self {
            ProductArgs::KdRoot(KdRootArgs { options, .. })
            | ProductArgs::Conversations(ConversationsArgs { options, .. })
            | ProductArgs::Pack(PackArgs { options, .. })
            | ProductArgs::Puzzles(PuzzlesArgs { options, .. }) => options,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            ProductArgs::KdRoot(_) => "kd-root",
            ProductArgs::Conversations(_) => "conversations",
            ProductArgs::Pack(_) => "pack",
            ProductArgs::Puzzles(_) => "puzzles",
        }
    }

    fn paths(&self) -> &[PathBuf] {
        match self {
            ProductArgs::KdRoot(KdRootArgs { paths, .. })
            | ProductArgs::Conversations(ConversationsArgs { paths, .. })
            | ProductArgs::Pack(PackArgs { paths, .. })
            | ProductArgs::Puzzles(PuzzlesArgs { paths, .. }) => paths,
        }
    }

    /// Whether stdin is an input.
    pub fn reads_stdin(&self) -> bool {
        let takes = matches!(self, ProductArgs::KdRoot(_) | ProductArgs::Conversations(_));
        takes && self.paths().iter().any(|path| path.as_os_str() == "-")
    }

    /// Returns what a stopped build says of what is kept.
    pub fn last_words(&self, signal: &str) -> Option<String> {
        let root = match self {
            ProductArgs::Pack(PackArgs { output: Some(root), .. }) => root,
            other => other.paths().last()?,
        };
        let stop = Stop { root, unit: self.unit(), overwrites: self.options().overwrite };
        stop.line(signal)
    }

    /// Returns the number of tasks that are wanted, if it is given.
    pub fn tasks(&self) -> Option<u64> {
        self.options().tasks
    }

    fn unit(&self) -> &'static str {
        if matches!(self, ProductArgs::Puzzles(_)) { "set" } else { "shard" }
    }

    /// Returns what is to be done, after looking at all that can be wrong with the arguments.
    pub fn job(&self, asked: &Asked<'_>) -> Result<BuildJob> {
        self.options().check(asked.is_plan)?;
        let given = Pipeline::parse(&self.options().pipeline)?;
        let mut filters: Vec<Option<Command>> = given.names().map(asked.find).collect();
        // What makes rows comes after the pipeline.
        let end = matches!(self, ProductArgs::KdRoot(_)).then(|| (asked.find)("seq-pack"));
        filters.extend(end);
        let ways = FILTERS.iter().filter(|(name, _)| *name == self.name());
        let ways = ways.flat_map(|(_, ways)| ways.iter());
        let ways: Vec<(Command, &str)> =
            ways.filter_map(|(name, way)| Some(((asked.find)(name)?, *way))).collect();
        // (With a model of one's own nothing else makes conversations or tokens.)
        let has_model =
            matches!(self, ProductArgs::KdRoot(KdRootArgs { model: Some(_), chat: true, .. }));
        let ways = if has_model { &[] } else { ways.as_slice() };
        let options = of_filters(asked.passed, &filters, ways, "--model")?;
        let mut pipeline = Pipelined { pipeline: given, options };
        let job = match self {
            ProductArgs::KdRoot(args) => args.job(&mut pipeline, asked),
            ProductArgs::Conversations(args) => args.job(&mut pipeline, asked),
            ProductArgs::Pack(args) => args.job(&mut pipeline),
            ProductArgs::Puzzles(args) => args.job(&mut pipeline),
        }?;
        Ok(BuildJob { unit: self.unit(), ..job })
    }
}

/// A pipeline as it was given, and the options that go to each of its filters (and to what comes after it).
struct Pipelined {
    pipeline: Pipeline,
    options: Vec<Vec<String>>,
}

impl Pipelined {
    fn has(&self, name: &str) -> bool {
        self.pipeline.names().any(|own| own == name)
    }

    /// Returns the options that go to the filters of the pipeline.
    fn passed(&self) -> Vec<String> {
        self.options.iter().take(self.pipeline.0.len()).flatten().cloned().collect()
    }

    /// Returns the options that go to this filter.
    fn options_of(&self, name: &str) -> Vec<String> {
        let own = self.pipeline.names().zip(&self.options).filter(|(own, _)| *own == name);
        own.flat_map(|(_, words)| words).cloned().collect()
    }

    /// Returns the pipeline with its options: of each filter what `before` gives, the options that were given, and what
    /// `after` gives.
    fn whole(
        &self,
        before: impl Fn(&str) -> Vec<String>,
        after: impl Fn(&str) -> Vec<String>,
    ) -> Pipeline {
        let filters = self.pipeline.0.iter().zip(&self.options);
        let whole = filters.map(|(words, options)| {
            let name = words.first().map(String::as_str).unwrap_or_default();
            [words.clone(), before(name), options.clone(), after(name)].concat()
        });
        Pipeline(whole.collect())
    }

    fn refuse_other_ends(&self, first: &[&str], last: &str) -> Result<()> {
        let names: Vec<&str> = self.pipeline.names().collect();
        match (names.first(), names.last()) {
            (Some(name), _) if !first.contains(name) => {
                let all = first.join(" or ");
                Err(Error::usage(format!("the pipeline begins with {name}, not with {all}")))
            }
            (_, Some(name)) if *name != last => {
                Err(Error::usage(format!("the pipeline ends with {name}, not with {last}")))
            }
            _ => Ok(()),
        }
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| word.to_string()).collect()
}

/// Divides paths into inputs and the output; of `-` stdin is kept.
fn divided(paths: &[PathBuf], names: &str, asked: &Asked<'_>) -> Result<(Vec<PathBuf>, PathBuf)> {
    let Some((output, inputs)) = paths.split_last().filter(|(_, inputs)| !inputs.is_empty()) else {
        return Err(Error::usage(format!("{names} are required; see --help")));
    };
    let mut inputs = inputs.to_vec();
    let is_stdin = |path: &&mut PathBuf| path.as_os_str() == "-";
    let mut stdin: Vec<&mut PathBuf> = inputs.iter_mut().filter(is_stdin).collect();
    match (stdin.as_mut_slice(), asked.stdin) {
        ([], _) => {}
        ([_], None) => return Err(Error::usage("plan -: tasks read files")),
        ([input], Some(folder)) => **input = super::jobs::keep_stdin(folder)?,
        _ => return Err(Error::usage("- is given twice")),
    }
    Ok((inputs, output.clone()))
}

/// Fails unless all inputs are files or folders; returns them as the sources of a plan if there are several.
fn named_sources(inputs: &[PathBuf]) -> Result<Vec<(String, PathBuf)>> {
    for input in inputs {
        if !files::metadata(input)?.is_some_and(|found| found.is_dir() || found.is_file()) {
            return Err(Error::usage("no such file or directory").at(input.as_path()));
        }
    }
    let several = inputs.iter().filter(|_| inputs.len() > 1);
    Ok(several.map(|input| ("input".to_string(), input.clone())).collect())
}
