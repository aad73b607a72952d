//! ds-plan: a pipeline as tasks for many machines: plans tasks, runs them, shows their states, joins the parts.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::{Args as Arguments, Parser, Subcommand};

use gristmill::cli::{self, Line, Tool, When};
use gristmill::error::{Error, Result, shown};
use gristmill::plan::{self, Finish, MergeArgs, Plan, PlanArgs, RunOptions, Status, Work, line, make};

/// Plan a pipeline as tasks for many machines, run them, and join what they made
///
/// A task sends a slice of one source through the whole pipeline, into a directory of its own below
/// ROOT/tasks. Its line is a shell command for any engine. It may run on any machine, run again, and
/// run twice at once. The scripts call ds-plan for their `plan`, `status` and `finish`.
#[derive(Parser)]
#[command(name = "ds-plan", version, after_long_help = HELP)]
#[command(subcommand_required = true, disable_help_subcommand = true)]
pub struct Args {
    /// This run belongs to another one, which passes signals on to it
    #[arg(long, hide = true)]
    supervised: bool,

    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Write the plan of ROOT, or add new sources to it; prints the line of each task
    Make(PlanArgs),
    /// Make one task, unless it is done. Prints nothing if all goes well
    Run {
        root: PathBuf,
        /// The plan's id
        id: String,
        /// The task's name
        task: String,
        #[command(flatten)]
        options: RunOptions,
    },
    /// Make all tasks that are not done, side by side on this machine
    Work {
        root: PathBuf,
        /// Processors [default: all]
        #[arg(short, long, value_name = "N")]
        jobs: Option<NonZeroUsize>,
        /// Make outputs again that the root has
        #[arg(long)]
        again: bool,
        /// Print only errors
        #[arg(short, long)]
        quiet: bool,
        /// Show progress: a line on a terminal, else a line for each shard
        #[arg(long, value_enum, default_value = "auto", value_name = "WHEN")]
        progress: When,
    },
    /// Print each task's state: done, missing, running, stale, failed. Exit 0 if all are done, else 1
    Status {
        #[command(flatten)]
        of: TasksArgs,
        /// Print the lines of the tasks that must run: those neither done nor running
        #[arg(long)]
        todo: bool,
        /// Show the total again every SECONDS, until all are done
        #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "5")]
        #[arg(conflicts_with = "todo", value_parser = clap::value_parser!(u64).range(1..))]
        watch: Option<u64>,
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
        /// Need no parts for outputs that the root has
        #[arg(long)]
        here: bool,
        /// Join outputs again that the root has
        #[arg(long)]
        again: bool,
        /// Collect the rejected records of all tasks (rejects*.ndjson beside each part)
        #[arg(long, value_name = "FILE")]
        rejects: Option<PathBuf>,
        /// When the work began, in seconds since 1970, for the summary [default: now]
        #[arg(long, value_name = "SECONDS")]
        since: Option<f64>,
        /// Print no summary
        #[arg(short, long)]
        quiet: bool,
    },
    /// Merge packs of games into one: runs are numbered anew, and names of valuations unified
    Merge(MergeArgs),
    /// Print the folder of the inputs
    Input { root: PathBuf },
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
        self.jobs.unwrap_or_else(plan::processors)
    }
}

/// Runs this command line in a group of processes of its own.
fn supervise(last_words: impl FnOnce(&str) -> Option<String>) -> Result<()> {
    let given = gristmill::program::command_line().into_iter().skip(1);
    let words: Vec<OsString> = std::iter::once("--supervised".into()).chain(given).collect();
    plan::supervise(&words, last_words)
}

const HELP: &str = "\
Examples:
  scripts/synth-kd.sh plan data/synth_harmony out --tasks 400 > tasks.txt
  ds-plan status out tasks.txt | grep -v ' done$'
  ds-plan status out --todo | parallel --sshloginfile hosts

In: a plan in ROOT/tasks, its sources.
Out: lines; parts in ROOT/tasks; with finish ROOT.
Exit codes: 0 done, 1 bad data or tasks that are not done, 2 usage or a missing
input, 75 temporary failure.";

pub fn main() -> ExitCode {
    cli::main(gristmill::sources!(), run)
}

fn run(args: Args, tool: &Tool) -> Result<()> {
    match args.command {
        Command::Make(make) => self::plan(make, tool),
        Command::Run { root, id, task, options } => plan::run(&root, &id, &task, &options),
        Command::Work { root, jobs, again, quiet, progress } => {
            let shows_progress = progress.unless(quiet) != When::Never;
            let jobs = jobs.unwrap_or_else(plan::processors);
            let work = Work { jobs, again, warnings: !quiet, shows_progress };
            work.run(&Plan::read(&root)?, &root)
        }
        Command::Status { of, watch: Some(seconds), .. } => watch(&of, seconds, tool),
        Command::Status { of, todo, watch: None } => status(&of, todo, tool),
        Command::Parts { of } => {
            let plan = Plan::read(&of.root)?;
            let parts = plan::parts(&plan, &of.root, of.tasks.as_deref(), of.jobs())?;
            cli::print(&parts.iter().map(|part| shown(part) + "\n").collect::<String>())
        }
        Command::Finish { of, here, again, rejects, since, quiet } => {
            let plan = Plan::read(&of.root)?;
            let since = since.and_then(time);
            let finish = Finish { jobs: of.jobs(), list: of.tasks, here, again, rejects, since };
            let (made, note) = finish.run(&plan, &of.root)?;
            if quiet {
                return Ok(());
            }
            cli::print_text(&made)?;
            note.iter().for_each(|line| tool.tell(line));
            Ok(())
        }
        Command::Merge(merge) if args.supervised => {
            plan::end_with_parent();
            merge.run()
        }
        Command::Merge(_) => supervise(|_| None),
        Command::Input { root } => {
            let plan = Plan::read(&root)?;
            cli::print(&format!("{}\n", shown(&plan.directory.join(&plan.input))))
        }
    }
}

fn plan(args: PlanArgs, tool: &Tool) -> Result<()> {
    let (wanted, quiet) = (args.tasks.unwrap_or(0), args.quiet);
    let plan = make(&args.into())?;
    let made = plan.tasks().count() as u64;
    plan.replaced.iter().for_each(|line| tool.tell(line));
    plan.notes.iter().filter(|_| !quiet).for_each(|note| tool.tell(note));
    if made < wanted {
        let tasks = if made == 1 { "task" } else { "tasks" };
        tool.tell(&format!("{made} {tasks}, not {wanted}: the inputs cannot be divided into more"));
    }
    let program = program()?;
    cli::print(&plan.tasks().map(|task| line(&program, &task) + "\n").collect::<String>())
}

fn status(of: &TasksArgs, todo: bool, tool: &Tool) -> Result<()> {
    let program = if todo { Some(program()?) } else { None };
    let status = Status::of(&of.root, of.tasks.as_deref(), of.jobs(), program.as_deref())?;
    cli::print(&status.text)?;
    if std::io::stderr().is_terminal() && (todo || status.open() == 0) {
        tool.tell(&format!("{}: {}", shown(&of.root), status.total()));
    }
    status.check(&of.root, todo)
}

/// Shows the total again and again: in its place on a terminal, else as a line when it changes.
fn watch(of: &TasksArgs, seconds: u64, tool: &Tool) -> Result<()> {
    let mut line = std::io::stderr().is_terminal().then(Line::new);
    let mut last = String::new();
    loop {
        let status = Status::of(&of.root, of.tasks.as_deref(), of.jobs(), None)?;
        let total = format!("{}: {}", shown(&of.root), status.total());
        let is_last = status.open() == 0;
        match &mut line {
            Some(line) if !is_last => line.show(&total),
            _ if total != last => tool.tell(&total),
            _ => {}
        }
        if is_last {
            return status.check(&of.root, false);
        }
        last = total;
        std::thread::sleep(Duration::from_secs(seconds));
    }
}

/// Returns a time given in seconds since 1970.
fn time(seconds: f64) -> Option<SystemTime> {
    let since = Duration::try_from_secs_f64(seconds).ok()?;
    UNIX_EPOCH.checked_add(since)
}

/// Returns the path of ds-plan, which is the same on all machines that share its disk.
fn program() -> Result<PathBuf> {
    gristmill::program::filter("ds-plan").map_err(|e| Error::io("ds-plan", &e))
}
