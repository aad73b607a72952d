//! ds-plan: datasets by pipelines of filters: whole builds, and tasks for many machines, which it plans, runs, shows
//! the states of, and joins.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{ArgMatches, Args as Arguments, CommandFactory, FromArgMatches, Parser, Subcommand};

use gristmill::cli::{self, Line, Tool};
use gristmill::error::{At, Result, shown};
use gristmill::plan::{
    self, Asked, Finish, FinishJob, MergeArgs, PassedOption, Plan, ProductArgs, RowFiles, RowForm,
    RunOptions, Status, filters_of, line,
};

/// Build datasets: on this machine, or as tasks for many machines
///
/// A task sends a slice of one source through the whole pipeline, into a directory of its own below
/// ROOT/tasks. Its line is a shell command for any engine. It may run on any machine, run again, and
/// run twice at once. The scripts call ds-plan, with the pipelines that they show.
#[derive(Parser)]
#[command(name = "ds-plan", version, after_long_help = HELP)]
#[command(subcommand_required = true, disable_help_subcommand = true)]
struct Declared {
    /// This run belongs to another one, which passes signals on to it
    #[arg(long, hide = true)]
    supervised: bool,

    /// The folder in which stdin is kept
    #[arg(long, value_name = "DIR", hide = true)]
    stdin: Option<PathBuf>,

    #[command(subcommand)]
    command: Command,
}

/// The arguments, and among them the options of filters.
pub struct Args {
    declared: Declared,
    passed: Vec<PassedOption>,
}

#[derive(Subcommand)]
enum Command {
    /// Make a whole dataset on this machine: in tasks side by side, joined and checked
    #[command(subcommand_required = true, disable_help_subcommand = true)]
    Build {
        #[command(subcommand)]
        product: ProductArgs,
    },
    /// Write the plan of ROOT, or add new sources to it; prints the line of each task
    #[command(subcommand_required = true, disable_help_subcommand = true)]
    Plan {
        #[command(subcommand)]
        product: ProductArgs,
    },
    /// Make one task, unless it is done. Prints nothing if all goes well
    Run {
        root: PathBuf,
        /// The plan's id
        id: String,
        /// The task's name
        task: String,
        #[command(flatten)]
        options: RunOptions,
        /// The pipeline of the task [default: as planned]
        #[arg(last = true, value_name = "FILTER '|' FILTER")]
        pipeline: Vec<String>,
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
    /// Join the parts into ROOT, write its manifest, and check it
    Finish {
        #[command(flatten)]
        of: TasksArgs,
        /// Delete the parts when all is checked
        #[arg(long)]
        delete_parts: bool,
        /// Do not run ds-check on ROOT
        #[arg(long)]
        no_check: bool,
        /// Collect the rejected records of all tasks (rejects*.ndjson beside each part)
        #[arg(long, value_name = "FILE")]
        rejects: Option<PathBuf>,
        /// Of a kd-root also ROOT/rows/{train,valid}.FORM.parquet: rows, trl or megatron-bridge (repeatable)
        #[arg(long, value_enum, value_name = "FORM", hide_possible_values = true)]
        rows: Vec<RowForm>,
        /// Print only errors, and what ds-check finds
        #[arg(short, long)]
        quiet: bool,
    },
    /// Merge packs of games into one: runs are numbered anew, and names of valuations unified
    Merge(MergeArgs),
}

#[derive(Arguments)]
struct TasksArgs {
    root: PathBuf,

    /// The task list; none: all tasks of the plan
    tasks: Option<PathBuf>,

    /// Threads [default: all processors]
    #[arg(short, long, value_name = "N", visible_alias = "workers")]
    jobs: Option<NonZeroUsize>,
}

impl TasksArgs {
    fn jobs(&self) -> NonZeroUsize {
        self.jobs.unwrap_or_else(plan::processors)
    }
}

/// Returns the declaration of a filter.
fn filter(name: &str) -> Option<clap::Command> {
    let found = crate::FILTERS.iter().find(|(known, ..)| *known == name);
    found.map(|(_, _, command)| command())
}

impl CommandFactory for Args {
    /// The filters' options are added to what makes pipelines of them.
    fn command() -> clap::Command {
        let with = |command: clap::Command, names: &mut dyn Iterator<Item = &'static str>| {
            plan::with_options_of(command, &names.filter_map(filter).collect::<Vec<_>>())
        };
        let of_products = |command: clap::Command| {
            command.mut_subcommands(|product| {
                let name = product.get_name().to_string();
                // (The last one counts, as a user adds to a line that others wrote.)
                let product = product.args_override_self(true);
                with(product, &mut filters_of(&name))
            })
        };
        let declared = Declared::command().mut_subcommand("build", of_products);
        // (Copied, since every start declares them: it takes a millisecond less.)
        let build = declared.find_subcommand("build").cloned().unwrap_or_default();
        let copied = |product: clap::Command| {
            build.find_subcommand(product.get_name()).cloned().unwrap_or(product)
        };
        declared
            .mut_subcommand("plan", |plan| plan.mut_subcommands(copied))
            .mut_subcommand("finish", |finish| with(finish, &mut ["seq-pack"].into_iter()))
    }

    fn command_for_update() -> clap::Command {
        Args::command()
    }
}

impl FromArgMatches for Args {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Args, clap::Error> {
        let declared = Declared::from_arg_matches(matches)?;
        let (all, mut own) = (Args::command(), matches);
        let mut command = &all;
        while let Some((name, matches)) = own.subcommand() {
            let Some(found) = command.find_subcommand(name) else { break };
            (command, own) = (found, matches);
        }
        Ok(Args { declared, passed: plan::given(command, own) })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Args::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Parser for Args {}

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
    gristmill::main(gristmill::sources!(), run)
}

fn run(args: Args, tool: &Tool) -> Result<()> {
    let Args { declared: Declared { supervised, stdin, command }, passed } = args;
    let asked = |is_plan| Asked { is_plan, passed: &passed, find: filter, stdin: stdin.as_deref() };
    if supervised {
        plan::end_with_parent();
    }
    match command {
        Command::Build { product } if supervised => product.job(&asked(false))?.run(),
        Command::Build { product } => build(&product),
        Command::Plan { product } => {
            let plan = product.job(&asked(true))?.plan()?;
            print_plan(&plan, &product, tool)
        }
        Command::Run { root, id, task, options, pipeline } => {
            plan::run(&root, &id, &task, &pipeline, &options)
        }
        Command::Status { of, watch: Some(seconds), .. } => watch(&of, seconds, tool),
        Command::Status { of, todo, watch: None } => status(&of, todo, tool),
        Command::Parts { of } => {
            let plan = Plan::read(&of.root)?;
            let parts = plan::parts(&plan, &of.root, of.tasks.as_deref(), of.jobs())?;
            cli::print(&parts.iter().map(|part| shown(part) + "\n").collect::<String>())
        }
        Command::Finish { of, delete_parts, no_check, rejects, rows, quiet } if supervised => {
            let words = plan::of_filters(&passed, &[filter("seq-pack")], &[], "finish")?.concat();
            let (jobs, list, root) = (of.jobs(), of.tasks, of.root);
            let rows = RowFiles::new(&rows, words, &[])?;
            let finish = Finish { jobs, list, here: false, again: false, rejects, since: None };
            FinishJob { root, finish, rows, check: !no_check, delete_parts, quiet }.run()
        }
        Command::Merge(merge) if supervised => merge.run(),
        Command::Finish { .. } | Command::Merge(_) => supervise(&[], |_| None),
    }
}

/// Runs this command line, with these words before it, in a group of processes of its own.
fn supervise(
    words: &[OsString],
    ended: impl FnOnce(Option<&str>) -> Option<String>,
) -> Result<()> {
    let given = gristmill::program::command_line().into_iter().skip(1);
    let own = std::iter::once("--supervised".into()).chain(words.iter().cloned());
    plan::supervise(&own.chain(given).collect::<Vec<_>>(), ended)
}

fn build(product: &ProductArgs) -> Result<()> {
    let ended = |signal: Option<&str>| product.last_words(signal?);
    if !product.reads_stdin() {
        return supervise(&[], ended);
    }
    // It is removed however the build ends.
    let folder = plan::folder_for_stdin()?;
    let words = ["--stdin".into(), folder.path().as_os_str().to_os_string()];
    supervise(&words, |signal| {
        drop(folder);
        ended(signal)
    })
}

fn print_plan(plan: &Plan, product: &ProductArgs, tool: &Tool) -> Result<()> {
    let made = plan.tasks().count() as u64;
    plan.notes.iter().for_each(|note| tool.tell(note));
    let wanted = product.tasks().unwrap_or(0);
    if made < wanted {
        let tasks = if made == 1 { "task" } else { "tasks" };
        tool.tell(&format!("{made} {tasks}, not {wanted}: the inputs cannot be divided into more"));
    }
    let program = gristmill::program::filter("ds-plan").at("ds-plan")?;
    let lines = plan.tasks().map(|task| Ok(line(&program, &task)? + "\n"));
    cli::print(&lines.collect::<Result<String>>()?)
}

fn status(of: &TasksArgs, todo: bool, tool: &Tool) -> Result<()> {
    let status = Status::of(&of.root, of.tasks.as_deref(), of.jobs(), todo)?;
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
        let status = Status::of(&of.root, of.tasks.as_deref(), of.jobs(), false)?;
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
