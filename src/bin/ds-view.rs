//! ds-view: any dataset or stream in, its records as a person wants to see them.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use gristmill::check::ModelSaid;
use gristmill::cli::{
    self, Choice, ColorArgs, CommonArgs, InputArgs, RecordRange, SelectArgs, Tool, screen_size,
};
use gristmill::dataset;
use gristmill::error::{Error, Result};
use gristmill::harmony::Alignment;
use gristmill::kinds::conversation::refuse_chats;
use gristmill::pages::PageArgs;
use gristmill::said::Said;
use gristmill::stream::{Reader, Request};
use gristmill::view::Viewer;
use gristmill::view::term::{Artist, DrawingOptions, Head, head};

/// Look at the records of a dataset or stream
///
/// FILEs may be anything that ds-cat reads. Shows what they are, how large they are, and the first few
/// records: conversations and tokens with their training targets, games of 2048 with the values of the
/// moves, puzzles as they are drawn on paper. By default as many records are shown as fit on the screen,
/// with long texts cut; records chosen by --id and --nth are shown whole.
#[derive(Parser)]
#[command(name = "ds-view", version, after_long_help = HELP)]
pub struct Args {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    select: SelectArgs,

    /// What position t of the masks is about, if the stream does not say it (NDJSON): the label
    /// tokens[t+1], or tokens[t] [default: label]
    #[arg(long, value_enum, value_name = "label|token", help_heading = "View")]
    #[arg(hide_possible_values = true)]
    align: Option<Alignment>,

    /// The model whose tokens these are, if they are not of o200k: a folder, or a tokenizer.json
    #[arg(long, value_name = "DIR", help_heading = "View")]
    model: Option<PathBuf>,

    /// Show token borders and token ids
    #[arg(long)]
    tokens: bool,

    /// The most lines of a message; 0: all [default: 4]
    ///
    /// Also the most lines of a value. With --id and --nth the default is all.
    #[arg(long, value_name = "N")]
    lines: Option<usize>,

    /// The steps of games, from 0: 17,500-510 [default: the first, the middle and the last]
    #[arg(long, value_name = "N,N-N", value_delimiter = ',')]
    step: Vec<RecordRange>,

    #[command(flatten)]
    color: ColorArgs,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    common: CommonArgs,
}

const HELP: &str = "\
Examples:
  ds-view out --check --nth 17
  ds-view out --sample 5 --seed 1 --color always | less -R
  mx-decode raw | ds-view --step 100-105
  ds-view pack --nth 3 --step 0-99
  ds-view out --html out.html --check

In: anything that holds records.
Out: text for people, cut to the terminal's width (else COLUMNS); with --html
one page that loads nothing and has at most 2 MB, whatever the dataset's size.
Exit codes: 0 done, 1 bad data, 2 usage or a missing input, 75 temporary failure
(I/O error, input cut short).";

pub fn main() -> ExitCode {
    gristmill::main(gristmill::sources!(), |args: Args, tool| run(args, tool))
}

fn run(mut args: Args, tool: &Tool) -> Result<()> {
    let said = Said::default().with(args.align).with(args.model.clone().map(ModelSaid));
    if let Some(path) = &args.page.html {
        let of = (&args.input, &args.select);
        return args.page.run(path, of, &said, &args.common, tool);
    }
    args.input.shows_at_once = true;
    let mut reader = dataset::open_with_plans(&args.input, Request::Any)?.uncompared();
    for note in reader.notes().iter().filter(|_| !args.common.quiet) {
        tool.tell(note);
    }
    let viewer = Viewer::of(&mut reader, &said)?;
    if let Some(remark) = viewer.remark().filter(|_| !args.common.quiet) {
        tool.tell(remark);
    }
    let bytes = dataset::size_on_disk(&args.input.files)?;
    let mut summary = Head::of(&reader, &viewer, &args.input.files, bytes);
    summary.verdict = args.page.verdict(&args.input, &args.common, tool)?;
    let numbers = args.select.numbers(reader.total())?;
    let reader = reader.selected(&args.select)?;
    print(&args, reader, &viewer, summary, numbers)
}

/// Prints the head, and the records; `numbers` are their numbers.
fn print(
    args: &Args,
    mut reader: Reader,
    viewer: &Viewer,
    mut summary: Head,
    mut numbers: impl Iterator<Item = u64>,
) -> Result<()> {
    let mut artist = Artist::new(drawing(args));
    // The head is printed with the first record, which shows whether there are masks.
    let (mut printed, mut left) = (None, None);
    let header = reader.header().clone();
    while let Some(batch) = reader.next_batch()? {
        if printed.is_none() {
            refuse_chats(&header, &batch)?;
        }
        for row in 0..batch.len() {
            let shown = viewer.show(&batch, row)?;
            if !args.step.is_empty() && !shown.has_steps() {
                return Err(Error::usage("--step: these are no games"));
            }
            let is_first = printed.is_none();
            let text = printed.get_or_insert_with(|| {
                summary.legend = shown.legend();
                let lines = artist.finish(&head(&summary, &artist.drawing));
                left = artist.fit_below(lines.len());
                text(&lines)
            });
            let drawn = artist.draw(shown, numbers.next());
            // Records that were not chosen end with the screen.
            if let Some(left) = &mut left {
                match left.checked_sub(drawn.len() + 1) {
                    Some(fewer) => *left = fewer,
                    None if is_first => *left = 0,
                    None => return Ok(()),
                }
            }
            *text += &format!("\n{}", self::text(&drawn));
            cli::print(&std::mem::take(text))?;
        }
        if let Some(rejection) = batch.rejected.first() {
            return Err(rejection.to_error());
        }
    }
    match printed {
        Some(_) => Ok(()),
        None => cli::print(&text(&artist.finish(&head(&summary, &artist.drawing)))),
    }
}

fn drawing(args: &Args) -> DrawingOptions {
    let (width, height) = screen_size();
    let is_named = !args.select.id.is_empty() || matches!(args.select.choice(), Choice::Named(_));
    let is_chosen = args.select.is_given() || args.lines.is_some() || !args.step.is_empty();
    let lines = match args.lines {
        Some(0) => None,
        None if is_named => None,
        given => Some(given.unwrap_or(4)),
    };
    DrawingOptions {
        width,
        colour: args.color.color.on_stdout(),
        height: (!is_chosen).then_some(height),
        lines,
        tokens: args.tokens,
        steps: args.step.clone(),
    }
}

fn text(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}
