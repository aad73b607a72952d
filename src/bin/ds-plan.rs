//! ds-plan: a pipeline as tasks for many machines: plans them, runs one, says what is done, joins.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, UNIX_EPOCH};

use clap::{Args as Arguments, Parser, Subcommand};

use gristmill::cli::{self, Tool};
use gristmill::error::{Error, Result, shown};
use gristmill::plan::{
    self, Finish, Plan, PlanArgs, RunOptions, State, TaskList, Work, line, make,
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
        /// Make again what the root holds already
        #[arg(long)]
        again: bool,
        /// Print only errors
        #[arg(short, long)]
        quiet: bool,
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
        /// What the root holds already needs no parts
        #[arg(long)]
        here: bool,
        /// Join again what the root holds already
        #[arg(long)]
        again: bool,
        /// When all of it began, in seconds since 1970, for the summary [default: with this]
        #[arg(long, value_name = "SECONDS")]
        since: Option<f64>,
        /// Print no summary
        #[arg(short, long)]
        quiet: bool,
    },
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
        self.jobs.unwrap_or_else(processors)
    }
}

fn processors() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

const HELP: &str = "\
Examples:
  scripts/synth-kd.sh plan data/synth_harmony out --tasks 400 > tasks.txt
  ds-plan status out tasks.txt | grep -v ' done$'
  ds-plan status out --todo | parallel --sshloginfile hosts

In: a plan in ROOT/tasks, its sources. Out: lines; parts in ROOT/tasks; with finish ROOT.
Exit codes: 0 done, 1 bad data or tasks that are not done, 2 usage or a missing input, 75 not now.";

pub fn main() -> ExitCode {
    cli::main(run)
}

fn run(args: Args, _: &Tool) -> Result<()> {
    match args.command {
        Command::Make(make) => self::plan(make),
        Command::Run { root, id, task, options } => plan::run(&root, &id, &task, &options),
        Command::Work { root, jobs, again, quiet } => {
            let work = Work { jobs: jobs.unwrap_or_else(processors), again, quiet };
            work.run(&Plan::read(&root)?, &root)
        }
        Command::Status { of, todo } => status(&of, todo),
        Command::Parts { of } => {
            let plan = Plan::read(&of.root)?;
            let parts = plan::parts(&plan, &of.root, of.tasks.as_deref(), of.jobs())?;
            cli::print(&parts.iter().map(|part| shown(part) + "\n").collect::<String>())
        }
        Command::Finish { of, here, again, since, quiet } => {
            let plan = Plan::read(&of.root)?;
            let since = since.and_then(|since| Duration::try_from_secs_f64(since).ok());
            let since = since.map(|since| UNIX_EPOCH + since);
            let finish = Finish { jobs: of.jobs(), list: of.tasks, here, again, since };
            let made = finish.run(&plan, &of.root)?;
            if quiet { Ok(()) } else { cli::print(&made) }
        }
        Command::Input { root } => {
            let plan = Plan::read(&root)?;
            cli::print(&format!("{}\n", shown(&plan.directory.join(&plan.input))))
        }
    }
}

fn plan(args: PlanArgs) -> Result<()> {
    let plan = make(&args.into())?;
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

/// The path of ds-plan, which is the same on all machines that share its disk.
fn program() -> Result<PathBuf> {
    gristmill::program::filter("ds-plan").map_err(|e| Error::io("ds-plan", &e))
}
