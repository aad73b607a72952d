//! What is to be built: the arguments of `ds-plan build` and `ds-plan plan` for each product.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::builder::RangedU64ValueParser;
use clap::{Args, Command, Subcommand};

use super::build::{BuildJob, Stop};
use super::make::TASK_BYTES;
use super::options::{PassedOption, of_filters};
use super::pipeline::Pipeline;
use super::row_files::{self, RowFiles, RowForm, refused};
use super::{PlanLimits, PlanRequest, Product, Sizing};
use crate::cli::{OnError, When, on_disk};
use crate::error::{Error, Result, shown};
use crate::files;
use crate::format::kd_root::{MANIFEST, ValidFraction};
use crate::format::parquet::compare_inputs;
use crate::format::synth_shards::{self, RecordedInput};
use crate::wording::exactly;

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
    paths: Vec<PathBuf>,

    /// INPUT holds raw rows of SYNTH
    #[arg(long, conflicts_with = "chat")]
    raw: bool,

    /// INPUT holds chats in common shapes
    #[arg(long)]
    chat: bool,

    /// Make tokens of this model, a Hugging Face folder, by its own chat template
    #[arg(long, value_name = "DIR")]
    model: Option<String>,

    /// Share of the ids that goes to valid
    #[arg(long, value_name = "F", default_value = "0.001", value_parser = fraction)]
    valid_fraction: String,

    /// Shards: whole files; fewer files of JSONL than N are cut at lines [default: 1]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<u64>::new().range(1..))]
    shards: Option<u64>,

    /// The first N rows of all shards together
    #[arg(long, value_name = "N", help_heading = "Limits")]
    max_rows: Option<u64>,

    /// The first N rows of each shard
    #[arg(long, value_name = "N", help_heading = "Limits")]
    max_rows_per_shard: Option<u64>,

    /// About N tokens: each shard stops after the row that reaches its share
    #[arg(long, value_name = "N", help_heading = "Limits")]
    max_tokens: Option<u64>,

    /// Do not compare the shards with INPUT/manifest.json
    #[arg(long)]
    no_input_check: bool,

    /// At the end also ROOT/rows/{train,valid}.FORM.parquet: rows, trl or megatron-bridge (repeatable)
    #[arg(long, value_enum, value_name = "FORM", hide_possible_values = true)]
    rows: Vec<RowForm>,

    #[command(flatten)]
    options: BuildOptions,
}

/// Shards of Harmony conversations in Parquet, and their manifest, of raw rows of SYNTH
#[derive(Debug, Clone, Args)]
#[command(after_long_help = CONVERSATIONS_HELP)]
#[command(override_usage = "ds-plan build conversations RAW_DIR... OUT_DIR [OPTIONS] -- FILTER")]
pub struct ConversationsArgs {
    /// Files, or folders with files in any depth, of raw rows (- is stdin); then the folder of the shards
    #[arg(value_name = "RAW_DIR... OUT_DIR")]
    paths: Vec<PathBuf>,

    /// Shards: whole files; fewer files of JSONL than N are cut at lines
    #[arg(long, value_name = "N", default_value = "1")]
    #[arg(value_parser = RangedU64ValueParser::<u64>::new().range(1..))]
    shards: u64,

    /// Rows of each row group [default: 1000]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<u64>::new().range(1..))]
    row_group_rows: Option<u64>,

    /// The first N rows of each shard
    #[arg(long, value_name = "N")]
    max_rows: Option<u64>,

    /// What the manifest says of the source [default: PleIAs/SYNTH]
    #[arg(long, value_name = "NAME")]
    dataset: Option<String>,

    /// And of its split [default: train]
    #[arg(long, value_name = "NAME")]
    split: Option<String>,

    #[command(flatten)]
    options: BuildOptions,
}

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
    paths: Vec<PathBuf>,

    /// The folder of the games
    #[arg(long, value_name = "RAW_DIR")]
    input: Option<PathBuf>,

    /// The pack
    #[arg(short, long, value_name = "PACK_DIR")]
    output: Option<PathBuf>,

    #[command(flatten)]
    options: BuildOptions,
}

/// Puzzle sets for the HRM loader: one for each domain for which inputs are given
///
/// OUT_DIR receives sudoku/, maze/, arc/ and domino/, each with train/, test/, identifiers.json and build.json.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = PUZZLES_HELP)]
#[command(override_usage = "ds-plan build puzzles OUT_DIR [OPTIONS] -- FILTER '|' FILTER")]
pub struct PuzzlesArgs {
    /// The folder of the sets; sets of other domains may be there already
    #[arg(value_name = "OUT_DIR")]
    paths: Vec<PathBuf>,

    /// train.csv and test.csv with the fields source,question,answer,rating
    #[arg(long, value_name = "DIR")]
    sudoku: Option<PathBuf>,

    /// The same of mazes
    #[arg(long, value_name = "DIR")]
    maze: Option<PathBuf>,

    /// Tasks of ARC (repeatable)
    #[arg(long, value_name = "DIR")]
    arc: Vec<PathBuf>,

    /// N states in each split; the games are played by the filter
    #[arg(long, value_name = "N")]
    domino: Option<u64>,

    /// Augmentations of each puzzle; at most 7 for mazes, 6 for Domino states
    #[arg(long, value_name = "K", default_value = "3")]
    num_aug: u64,

    /// N Sudokus of train, chosen at random
    #[arg(long, value_name = "N")]
    subsample: Option<u64>,

    /// Sudokus of that rating or more
    #[arg(long, value_name = "R")]
    min_difficulty: Option<u64>,

    /// Sudokus with exactly one solution
    #[arg(long)]
    unique: bool,

    /// Seed of all random choices
    #[arg(long, value_name = "S", default_value = "42")]
    seed: u64,

    #[command(flatten)]
    options: BuildOptions,
}

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

const CONVERSATIONS_HELP: &str = "\
Examples:
  scripts/synth-raw.sh data/raw data/synth_harmony --shards 8
  scripts/synth-raw.sh data/raw data/smoke --max-rows 1000 --on-error skip
  ds-plan build conversations raw out -- synth-harmony

In: raw rows of SYNTH.
Out: synth_harmony_shard_NN.parquet and manifest.json.
Exit codes: 0 done, 1 bad data, 2 usage or a missing input, 75 temporary failure,
try again.";

const PACK_HELP: &str = "\
Examples:
  scripts/macroxue.sh data/raw_games pack
  scripts/macroxue.sh data/raw_games pack --shard-rows 10000000 --resume
  ds-plan build pack raw_games pack -- mx-decode '|' npy-pack

In: logs of games.
Out: a pack.
Exit codes: 0 done, 1 bad data (what fails ds-check is kept), 2 usage or a missing
input, 75 temporary failure, try again.";

const PUZZLES_HELP: &str = "\
Examples:
  scripts/puzzles.sh puzzles --sudoku data/sudoku --arc data/arc --num-aug 10
  scripts/puzzles.sh puzzles --domino 1000 --seed 7
  ds-plan build puzzles out --domino 1000 -- puzzle-encode '|' npy-pack

In: puzzles, or a number of states that are played.
Out: puzzle sets.
Exit codes: 0 done, 1 bad data (what fails ds-check is kept), 2 usage or a missing
input, 75 temporary failure, try again.";

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

fn fraction(text: &str) -> Result<String, String> {
    let parsed = text.parse::<ValidFraction>();
    parsed.map(|_| text.to_string()).map_err(|error| error.to_string())
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
        ([input], Some(folder)) => **input = super::build::keep_stdin(folder)?,
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

    fn job(&self, pipeline: &mut Pipelined, asked: &Asked<'_>) -> Result<BuildJob> {
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

impl ConversationsArgs {
    fn job(&self, pipeline: &mut Pipelined, asked: &Asked<'_>) -> Result<BuildJob> {
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

impl PackArgs {
    fn job(&self, pipeline: &mut Pipelined) -> Result<BuildJob> {
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

impl PuzzlesArgs {
    fn job(&self, pipeline: &mut Pipelined) -> Result<BuildJob> {
        let [out] = self.paths.as_slice() else {
            return Err(Error::usage("OUT_DIR is required; see --help"));
        };
        let of_csv = |name: &str, folder: &Option<PathBuf>| {
            let files = folder
                .iter()
                .flat_map(|folder| ["train.csv", "test.csv"].map(|file| folder.join(file)));
            files.map(|file| (name.to_string(), file)).collect::<Vec<_>>()
        };
        let mut sources = [of_csv("sudoku", &self.sudoku), of_csv("maze", &self.maze)].concat();
        sources.extend(self.arc.iter().map(|folder| ("arc".to_string(), folder.clone())));
        sources.extend(self.domino.map(|states| ("domino".to_string(), states.to_string().into())));
        if sources.is_empty() {
            let cause = "nothing to build: give --sudoku, --maze, --arc or --domino";
            return Err(Error::usage(cause));
        }
        let number = |flag: &str, value: Option<u64>| {
            value.map_or(Vec::new(), |value| words(&[flag, &value.to_string()]))
        };
        let mut sudoku = number("--subsample", self.subsample);
        sudoku.extend(number("--min-difficulty", self.min_difficulty));
        sudoku.extend(self.unique.then(|| "--unique".to_string()));
        if let (Some(flag), None) = (sudoku.first(), &self.sudoku) {
            return Err(Error::usage(format!("{flag} is for --sudoku")));
        }
        pipeline.refuse_other_ends(&["puzzle-encode"], "npy-pack")?;
        let whole = pipeline.whole(|_| Vec::new(), |_| Vec::new());
        let mut request = self.options.request(Product::Puzzles, out, Path::new("."), whole);
        let (num_aug, seed) =
            (number("--num-aug", Some(self.num_aug)), number("--seed", Some(self.seed)));
        request.options = [num_aug, seed, sudoku, self.options.on_error()].concat();
        let mut targets: Vec<PathBuf> = sources.iter().map(|(name, _)| out.join(name)).collect();
        targets.dedup();
        request.sources = sources;
        Ok(BuildJob { targets, ..self.options.job(request) })
    }
}
