//! ds-plan: a pipeline as tasks for many machines: plans them, runs one, says what is done, joins.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args as Arguments, Parser, Subcommand};

use gristmill::cli::{self, Tool};
use gristmill::error::{Error, Result, shown};
use gristmill::plan::{
    self, Plan, PlanLimits, PlanRequest, Product, Sizing, State, TaskList, line, make,
};

/// Plan a pipeline as tasks for many machines, run them, and join what they made
///
/// A task is a slice of one source through the whole pipeline, into a directory of its own below
/// ROOT/tasks. Its line is a shell command for any engine: it may run anywhere, again, and twice at
/// once. The scripts with `plan`, `status` and `finish` call this.
#[derive(Parser)]
#[command(name = "ds-plan", version, after_long_help = HELP)]
#[command(subcommand_required = true, disable_help_subcommand = true)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Write the plan of ROOT, or add new sources to it; prints the line of each task
    Make(MakeArgs),
    /// Make one task, unless it is done. Prints nothing if all goes well
    Run {
        root: PathBuf,
        /// The plan's id
        id: String,
        /// The task's name
        task: String,
    },
    /// Say of each task: done, missing, running, stale or failed. Exit 0 if all are done, else 1
    Status {
        #[command(flatten)]
        of: TasksArgs,
        /// Print the lines of the tasks that are neither done nor running, to be run again
        #[arg(long)]
        todo: bool,
    },
    /// Print the directories of the parts in order, if all are done
    Parts {
        #[command(flatten)]
        of: TasksArgs,
    },
    /// Join the parts into ROOT, and write its manifest
    Finish {
        #[command(flatten)]
        of: TasksArgs,
        /// Print no summary
        #[arg(short, long)]
        quiet: bool,
    },
    /// Print the folder of the inputs
    Input { root: PathBuf },
}

#[derive(Arguments)]
struct MakeArgs {
    root: PathBuf,

    /// What the pipeline makes
    #[arg(long, value_enum)]
    product: Product,

    /// A source and its name (repeatable)
    #[arg(long = "source", value_name = "NAME=PATH", required = true, value_parser = source)]
    sources: Vec<(String, PathBuf)>,

    /// The folder of the sources, to be recorded
    #[arg(long, value_name = "DIR")]
    input: PathBuf,

    /// Which files of it are the sources, to be recorded
    #[arg(long)]
    glob: Option<String>,

    /// About N tasks of equal size; each source has at least one
    #[arg(long, value_name = "N", conflicts_with = "rows_per_task")]
    tasks: Option<u64>,

    /// Tasks of N rows
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    rows_per_task: Option<u64>,

    /// The first N rows of all sources together
    #[arg(long, value_name = "N")]
    max_rows: Option<u64>,

    /// The first N rows of each source
    #[arg(long, value_name = "N")]
    max_rows_per_shard: Option<u64>,

    /// About N tokens: each source is one task, which stops after the row that reaches its share
    #[arg(long, value_name = "N")]
    max_tokens: Option<u64>,

    /// Replace a plan with other options; its parts are then stale
    #[arg(long)]
    overwrite: bool,

    /// The sources were not compared with the manifest.json beside them
    #[arg(long)]
    no_input_check: bool,

    /// The script that makes a task, and its options
    #[arg(last = true, required = true)]
    script: Vec<String>,
}

#[derive(Arguments)]
struct TasksArgs {
    root: PathBuf,

    /// The task list; none: all tasks of the plan
    tasks: Option<PathBuf>,

    /// Threads [default: all processors]
    #[arg(short, long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
}

impl TasksArgs {
    fn jobs(&self) -> NonZeroUsize {
        self.jobs.or(std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN)
    }
}

/// Tasks are of about this size if nothing is said: a quarter of a minute of one core.
const TASK_BYTES: u64 = 1 << 30;

const HELP: &str = "\
Examples:
  scripts/synth-kd.sh plan data/synth_harmony out --tasks 400 > tasks.txt
  ds-plan status out tasks.txt | grep -v ' done$'
  ds-plan status out --todo | parallel --sshloginfile hosts

In: a plan in ROOT/tasks, its sources. Out: lines; parts in ROOT/tasks; with finish ROOT.
Exit codes: 0 done, 1 bad data or tasks that are not done, 2 usage or a missing input, 75 not now.";

fn main() -> ExitCode {
    cli::main(run)
}

fn run(args: Args, _: &Tool) -> Result<()> {
    match args.command {
        Command::Make(make) => self::plan(make),
        Command::Run { root, id, task } => plan::run(&root, &id, &task),
        Command::Status { of, todo } => status(&of, todo),
        Command::Parts { of } => {
            let plan = Plan::read(&of.root)?;
            let parts = plan::parts(&plan, &of.root, of.tasks.as_deref(), of.jobs())?;
            cli::print(&parts.iter().map(|part| shown(part) + "\n").collect::<String>())
        }
        Command::Finish { of, quiet } => {
            let plan = Plan::read(&of.root)?;
            let made = plan::finish(&plan, &of.root, of.tasks.as_deref(), of.jobs())?;
            if quiet { Ok(()) } else { cli::print(&made) }
        }
        Command::Input { root } => {
            let plan = Plan::read(&root)?;
            cli::print(&format!("{}\n", shown(&plan.directory.join(&plan.input))))
        }
    }
}

fn plan(args: MakeArgs) -> Result<()> {
    let sizing = match (args.tasks, args.rows_per_task) {
        (Some(tasks), _) => Sizing::Tasks(tasks),
        (_, Some(rows)) => Sizing::RowsPerTask(rows),
        _ => Sizing::BytesPerTask(TASK_BYTES),
    };
    let mut script = args.script.into_iter();
    let plan = make(&PlanRequest {
        product: args.product,
        script: script.next().unwrap_or_default(),
        options: script.collect(),
        input: args.input,
        glob: args.glob,
        root: args.root,
        limits: PlanLimits {
            rows: args.max_rows,
            rows_per_source: args.max_rows_per_shard,
            tokens: args.max_tokens,
        },
        sizing,
        sources: args.sources,
        overwrite: args.overwrite,
        compared: !args.no_input_check,
    })?;
    let program = program()?;
    cli::print(&plan.tasks().map(|task| line(&program, &task) + "\n").collect::<String>())
}

fn status(of: &TasksArgs, todo: bool) -> Result<()> {
    let Some(plan) = Plan::find(&of.root)? else { return finished(of, todo) };
    let read = |path| -> Result<(&Path, TaskList)> { Ok((path, TaskList::read(path, &plan)?)) };
    let list = of.tasks.as_deref().map(read).transpose()?;
    let program = program()?;
    let (mut text, mut open, mut all) = (String::new(), 0, 0);
    for (task, state) in plan::states(&plan, &of.root, of.jobs())? {
        let name = task.name();
        if list.as_ref().is_some_and(|(_, list)| !list.names.contains(&name)) {
            continue;
        }
        all += 1;
        open += u64::from(state != State::Done);
        if !todo {
            text += &format!("{name} {state}\n");
        } else if !matches!(state, State::Done | State::Running) {
            text += &(line(&program, &task) + "\n");
        }
    }
    cli::print(&text)?;
    if let Some((path, list)) = &list {
        list.check_whole(path, &plan)?;
    }
    if open == 0 || todo {
        return Ok(());
    }
    Err(Error::data(format!("{open} of {all} tasks are not done")).at(of.root.as_path()))
}

/// The status of a root whose plan was deleted with its parts, after it was joined and checked.
fn finished(of: &TasksArgs, todo: bool) -> Result<()> {
    if !plan::is_finished(&of.root)? {
        return Plan::read(&of.root).map(|_| ());
    }
    let names = of.tasks.as_deref().map(TaskList::names_in).transpose()?.unwrap_or_default();
    if todo {
        return Ok(());
    }
    cli::print(&names.iter().map(|name| format!("{name} done\n")).collect::<String>())
}

/// This program's own path, which is the same on all machines that share its disk.
fn program() -> Result<PathBuf> {
    std::env::current_exe().map_err(|e| Error::io("ds-plan", &e))
}

fn source(text: &str) -> Result<(String, PathBuf), String> {
    let (name, path) = text.split_once('=').ok_or("expected NAME=PATH")?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    match !name.is_empty() && !name.starts_with('.') && name.chars().all(is_plain) {
        true => Ok((name.to_string(), PathBuf::from(path))),
        false => Err(format!("{name:?} is not a plain name")),
    }
}
