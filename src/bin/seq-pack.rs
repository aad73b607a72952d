//! seq-pack: masked sequences in, rows for trainers out, or an index of rows.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use gristmill::batch::{Header, WantedRecords};
use gristmill::check::SequenceGate;
use gristmill::cli::{
    self, CommonArgs, ForPipelines, InputArgs, JobsArgs, OnErrorArgs, Rejects, SinkArgs, Tool,
    WithoutEffect,
};
use gristmill::dataset;
use gristmill::error::{Error, Result, shown};
use gristmill::files;
use gristmill::format::forms::AnyForm;
use gristmill::format::kd_root;
use gristmill::format::kd_root::RowRule;
use gristmill::format::pair_rows::{PairForm, PairRowsSettings, PairRowsSink};
use gristmill::format::token_rows::{
    ExtraColumn, FolderForm, FolderSettings, FolderSink, Form, PAD, RowCompression, RowsSettings,
    RowsTarget, SequenceRule, Triples, WindowSink, left, pack_triples, summary,
};
use gristmill::inputs;
use gristmill::model::{Vocabulary, eos_of, state_model};
use gristmill::packing::{Algorithm, Overflow, Packing};
use gristmill::publish::refuse_existing_file;
use gristmill::record::statements::TOKENIZER;
use gristmill::record::{PAIR, TOKENS};
use gristmill::runner::Runner;
use gristmill::stream::Reader;

/// Write masked sequences as rows for trainers
///
/// Writes one Parquet file. --form rows has one sequence a row (TRL, Axolotl, Unsloth, transformers);
/// trl and megatron-bridge put several sequences into a row of N positions. Triples on disk (.bin and
/// .idx) are packed all together, in two passes; other records in windows. --index writes only which
/// sequences make which row: gristmill_data.packed reads the tokens from the .bin files. trl-dpo, trl-reward
/// and trl-kto take pairs, of chat-tok --take pair, and pack nothing. llama-factory (tokenized_path; load_from_disk of
/// datasets) and olmo-core are folders with one sequence a row.
#[derive(Parser)]
#[command(name = "seq-pack", version, after_long_help = HELP)]
pub struct Args {
    #[command(flatten)]
    input: InputArgs,

    /// The file of rows (.parquet), or their folder
    ///
    /// llama-factory and olmo-core are folders.
    #[arg(short, long, value_name = "FILE", required_unless_present = "index")]
    #[arg(add = WithoutEffect, value_parser = cli::on_disk())]
    output: Option<PathBuf>,

    /// Which sequences make which row (.parquet)
    #[arg(long, value_name = "FILE", add = WithoutEffect, value_parser = cli::on_disk())]
    index: Option<PathBuf>,

    /// Megatron-Bridge's packed_metadata_path
    #[arg(long, value_name = "FILE", add = WithoutEffect, value_parser = cli::on_disk())]
    #[arg(help_heading = "Rows")]
    metadata: Option<PathBuf>,

    /// Form: rows, trl, trl-dpo and others (see --help)
    /// [default: rows]
    ///
    /// rows (unpacked), trl, megatron-bridge; folders llama-factory, olmo-core; of pairs trl-dpo, trl-reward, trl-kto. The
    /// default for --index alone is trl.
    #[arg(long, value_enum, value_name = "FORM", hide_possible_values = true)]
    form: Option<AnyForm>,

    /// Positions of a row
    ///
    /// Rows that are not packed have one sequence, of at most N tokens.
    #[arg(short = 'n', long, add = ForPipelines, value_name = "N")]
    seq_length: Option<u32>,

    /// bfd, ffd, wrapped or none [default: bfd; for --form rows none]
    ///
    /// bfd: best fit decreasing, as TRL does it; ffd: first fit decreasing; wrapped: all tokens in one line,
    /// cut every N; none: one sequence a row.
    #[arg(long, value_enum, value_name = "NAME", hide_possible_values = true, add = ForPipelines)]
    algorithm: Option<Algorithm>,

    /// A sequence longer than a row: error, drop, split into pieces, or cut off its end
    ///
    /// Pieces and cut sequences end within answers; chat-tok --max-length shortens chats where an answer ends.
    #[arg(long, value_enum, value_name = "HOW", default_value = "error")]
    #[arg(hide_possible_values = true, add = ForPipelines)]
    overflow: Overflow,

    /// Keep the <|endoftext|> of each sequence
    ///
    /// Renderings of other tools have none.
    #[arg(long, add = ForPipelines, help_heading = "Rows")]
    keep_eod: bool,

    /// The model of the tokens, which NDJSON does not state: gpt-oss, a folder, or a tokenizer.json
    #[arg(long, value_name = "DIR", help_heading = "Rows")]
    model: Option<PathBuf>,

    /// Pad each sequence to a multiple of M positions, as Megatron-Bridge's pad_seq_to_mult
    ///
    /// M is 2 CP for context parallelism, CP TP for sequence parallelism, and the least common multiple for both. The
    /// padding is <|return|>, or the eos_token of another tokenizer, with masks 0. Rows are filled by padded lengths.
    #[arg(long, value_name = "M", default_value = "1", add = ForPipelines)]
    #[arg(help_heading = "Rows")]
    pad_seq_to_mult: NonZeroU32,

    /// Pad each row to a multiple of N positions: 16 for FP8, 32 for MXFP8, times TP for sequence parallelism
    ///
    /// The last piece of a row is padded, as by --pad-seq-to-mult, with labels of -100. Its length in seq_lengths has the
    /// padding, the column length has not; in rows and llama-factory the attention_mask is 0 there.
    #[arg(long, value_name = "N", default_value = "1", add = ForPipelines)]
    #[arg(help_heading = "Rows")]
    row_multiple: NonZeroU32,

    /// More columns: id, span_id, sequence (and start and left of each piece)
    #[arg(long, value_enum, value_name = "NAME,...", value_delimiter = ',')]
    #[arg(hide_possible_values = true, help_heading = "Rows")]
    columns: Vec<ExtraColumn>,

    /// Records that are packed together, from a pipe or NDJSON (fewer if they reach 16.8 M tokens
    /// before)
    #[arg(long, value_name = "N", default_value = "10000")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..), help_heading = "Rows")]
    window: u64,

    /// Compression of the columns: none or zstd
    #[arg(long, value_enum, value_name = "HOW", default_value = "none")]
    #[arg(hide_possible_values = true, help_heading = "Rows", add = ForPipelines)]
    compression: RowCompression,

    /// Also write sequences that ds-check calls wrong (of other programs)
    #[arg(long, help_heading = "Checks")]
    no_check: bool,

    /// Write rows in which nothing is supervised
    #[arg(long, add = ForPipelines, help_heading = "Checks")]
    allow_unsupervised: bool,

    /// Print what was made of datasets on disk to stdout, with its file
    #[arg(long, help_heading = "Messages", add = WithoutEffect)]
    summary: bool,

    #[command(flatten)]
    sink: SinkArgs,
    #[command(flatten)]
    jobs: JobsArgs,
    #[command(flatten)]
    on_error: OnErrorArgs,
    #[command(flatten)]
    common: CommonArgs,
}

const HELP: &str = "\
Examples:
  seq-pack ROOT/train -o train.parquet --form trl --seq-length 8192 \\
      --overflow split
  seq-pack ROOT/train -o train.idx.parquet --form megatron-bridge \\
      --seq-length 8192 --overflow drop
  seq-pack ROOT/train --index packs.parquet --seq-length 8192 --overflow drop
  chat-tok --model gpt-oss --take pair dpo.jsonl |
      seq-pack --form trl-dpo -o pairs.parquet
  seq-pack ROOT/train --form llama-factory -o tokenized

In: triples, or token sequences {id, tokens, loss_mask, span_id}; pairs {id,
prompt, chosen, rejected}.
Out: files, nothing on stdout. --rejects also keeps what --overflow drop leaves
out. Labels stand at their own token.
Exit codes: 0 done, 1 bad data, 2 usage or a missing input, 75 temporary failure
(I/O error, input cut short).";

pub fn main() -> ExitCode {
    cli::keep_freed_memory();
    gristmill::main(gristmill::sources!(), run)
}

fn run(args: Args, tool: &Tool) -> Result<()> {
    let form = match args.form {
        Some(AnyForm::OfPairs(form)) => return of_pairs(&args, form, tool),
        Some(AnyForm::OfFolders(form)) => return folder(&args, form, tool),
        Some(AnyForm::OfSequences(form)) => Some(form),
        None => None,
    };
    let (mut settings, target) = (args.settings(form), args.target());
    inputs::name(&args.input.files);
    settings.check(&target)?;
    named(&target)?;
    let reader = dataset::open_with_plans(&args.input, WantedRecords::records(&TOKENS))?;
    let mut header = reader.header().through(&TOKENS, Some(tool.entry()));
    let model = state_model(&mut header, args.model.as_deref())?;
    settings.vocabulary = Vocabulary::of(header.parameters.value(&TOKENIZER));
    if !settings.vocabulary.is_o200k() {
        if settings.packing.is_padded() {
            settings.pad = eos_of(&header, model, args.what_pads())?;
        }
        // (Which token ends a document, if one does, is not known.)
        settings.keep_eod = true;
    }
    if are_triples(&args.input.files)? {
        from_triples(&args, &settings, &target, header, &reader, tool)
    } else {
        from_records(&args, &settings, &target, header, reader, tool)
    }
}

/// Writes pairs as they come.
fn of_pairs(args: &Args, form: PairForm, tool: &Tool) -> Result<()> {
    let settings = args.of_pairs(form)?;
    inputs::name(&args.input.files);
    refuse_existing_file(&settings.path, settings.overwrite)?;
    let reader = dataset::open_with_plans(&args.input, WantedRecords::records(&PAIR))?;
    if reader.lacks_header() {
        tool.advise_arrow(&args.common);
    }
    let mut header = reader.header().through(&PAIR, Some(tool.entry()));
    state_model(&mut header, args.model.as_deref())?;
    let sink = PairRowsSink::create(settings, header)?;
    let rejects = Rejects::open_for_any(&args.on_error)?;
    Runner::new(tool, &args.common, "pairs")
        .rejects(rejects)
        .expect(args.sink.expect_records)
        .copy(reader, sink)
}

/// Writes sequences into a folder as they come.
fn folder(args: &Args, form: FolderForm, tool: &Tool) -> Result<()> {
    let mut settings = args.of_folder(form)?;
    inputs::name(&args.input.files);
    settings.refuse_existing()?;
    let reader = dataset::open_with_plans(&args.input, WantedRecords::records(&TOKENS))?;
    if reader.lacks_header() {
        tool.advise_arrow(&args.common);
    }
    let mut header = reader.header().through(&TOKENS, Some(tool.entry()));
    let model = state_model(&mut header, args.model.as_deref())?;
    if !Vocabulary::of(header.parameters.value(&TOKENIZER)).is_o200k() {
        // (Which token ends a document, if one does, is not known.)
        settings.keep_eod = true;
        if settings.row_multiple.get() > 1 {
            settings.pad = eos_of(&header, model, args.what_pads())?;
        }
    }
    let gate = match are_triples(&args.input.files)? {
        true => SequenceGate::of_triples(&header, settings.keep_eod),
        false => SequenceGate::of_rows(&header, settings.keep_eod),
    };
    let mut gate = gate?;
    let rule: RowRule = Box::new(move |view, row| gate.check(view, row));
    let sink = FolderSink::create(settings, header, (!args.no_check).then_some(rule))?;
    let rejects = Rejects::open_for_any(&args.on_error)?;
    Runner::new(tool, &args.common, "sequences")
        .rejects(rejects)
        .expect(args.sink.expect_records)
        .copy(reader, sink)
}

/// Reads lengths, then tokens in the order of the rows.
fn from_triples(
    args: &Args,
    settings: &RowsSettings,
    target: &RowsTarget,
    header: Header,
    reader: &Reader,
    tool: &Tool,
) -> Result<()> {
    cli::expect_records(args.sink.expect_records, reader.total().unwrap_or(0))?;
    let mut rejects = Rejects::open_for_any(&args.on_error)?;
    let mut progress = args.common.progress(tool, "rows", None, false)?;
    let (stated, keep_eod) = (header.clone(), settings.keep_eod);
    let make_rule = || -> Result<SequenceRule> {
        let mut gate = SequenceGate::of_triples(&stated, keep_eod)?;
        Ok(Box::new(move |tokens, masks, segments| gate.check_stored(tokens, masks, segments)))
    };
    let rule = (!settings.no_check).then_some(&make_rule as _);
    let triples = Triples { paths: &args.input.files, slice: args.input.slice, rule };
    let made = pack_triples(triples, settings, target, header, &mut rejects, &mut progress)?;
    progress.finish();
    match (args.summary, &target.rows) {
        (true, Some(path)) => {
            cli::print_text(&format!("{}: {}\n", shown(path), summary(&made)))?;
        }
        _ => tool.tell_made(Some(&summary(&made)), &args.common),
    }
    tool.warn(&made.warnings(), &args.common);
    tool.tell_left(left(&made).as_deref(), &args.common);
    Ok(())
}

/// Reads records as they come, one window after the other.
fn from_records(
    args: &Args,
    settings: &RowsSettings,
    target: &RowsTarget,
    header: Header,
    reader: Reader,
    tool: &Tool,
) -> Result<()> {
    if reader.lacks_header() {
        tool.advise_arrow(&args.common);
    }
    let mut gate = SequenceGate::of_rows(&header, settings.keep_eod)?;
    let mut sink = WindowSink::create(settings, target, header)?;
    if !settings.no_check {
        sink = sink.rule(Box::new(move |view, row| gate.check(view, row)));
    }
    let rejects = Rejects::open_for_any(&args.on_error)?;
    Runner::new(tool, &args.common, "sequences")
        .rejects(rejects)
        .expect(args.sink.expect_records)
        .copy(reader, sink)
}

impl Args {
    /// Returns the output of a form that packs nothing; refuses options of packing, and others that it has no place for.
    fn unpacked(&self, name: &str, what: &str, others: &[(&str, bool)]) -> Result<PathBuf> {
        let of_packing = [
            ("--index", self.index.is_some()),
            ("--metadata", self.metadata.is_some()),
            ("--seq-length", self.seq_length.is_some()),
            ("--algorithm", self.algorithm.is_some()),
            ("--overflow", self.overflow != Overflow::Error),
            ("--pad-seq-to-mult", self.pad_seq_to_mult.get() > 1),
        ];
        let mut options = of_packing.iter().chain(others);
        if let Some((option, _)) = options.find(|(_, is_given)| *is_given) {
            let cause = format!("{option} is for rows of sequences; --form {name} has {what}");
            return Err(
                Error::usage(cause).hint("chat-tok --max-length for a limit; leave it out here")
            );
        }
        let no_output = || Error::usage(format!("--form {name}: give -o"));
        self.output.clone().ok_or_else(no_output)
    }

    /// Returns what needs a token of padding, for an error.
    fn what_pads(&self) -> &'static str {
        match self.pad_seq_to_mult.get() {
            1 => "--row-multiple pads with",
            _ => "--pad-seq-to-mult pads with",
        }
    }

    /// Refuses padded rows of a form whose trainer makes rows itself.
    fn refuse_row_multiple(&self, name: &str) -> Result<()> {
        if self.row_multiple.get() == 1 {
            return Ok(());
        }
        let cause = format!("--row-multiple: the trainer of --form {name} makes its rows itself");
        Err(Error::usage(cause).hint("the trainer's own option"))
    }

    fn of_folder(&self, form: FolderForm) -> Result<FolderSettings> {
        if !form.has_padding() {
            self.refuse_row_multiple(form.name())?;
        }
        let columns = [
            ("--columns", !self.columns.is_empty()),
            ("--compression", self.compression != RowCompression::None),
        ];
        Ok(FolderSettings {
            form,
            path: self.unpacked(form.name(), "a row for each sequence, as it is", &columns)?,
            keep_eod: self.keep_eod,
            row_multiple: self.row_multiple,
            pad: PAD,
            overwrite: self.sink.overwrite,
            allow_unsupervised: self.allow_unsupervised,
        })
    }

    fn of_pairs(&self, form: PairForm) -> Result<PairRowsSettings> {
        self.refuse_row_multiple(form.name())?;
        let of_sequences = [
            ("--keep-eod", self.keep_eod),
            ("--columns span_id,sequence", self.columns.iter().any(|of| *of != ExtraColumn::Id)),
        ];
        let path = self.unpacked(form.name(), "a row for each answer or pair", &of_sequences)?;
        Ok(PairRowsSettings {
            form,
            path,
            with_ids: self.columns.contains(&ExtraColumn::Id),
            compression: self.compression,
            overwrite: self.sink.overwrite,
            no_check: self.no_check,
        })
    }

    fn settings(&self, form: Option<Form>) -> RowsSettings {
        let is_index_alone = self.output.is_none();
        let form = form.unwrap_or(if is_index_alone { Form::Trl } else { Form::Rows });
        let algorithm = self.algorithm.unwrap_or(match form {
            Form::Rows => Algorithm::None,
            Form::Trl | Form::MegatronBridge => Algorithm::Bfd,
        });
        let (seq_length, overflow, counted) = (self.seq_length, self.overflow, form.counted());
        let (multiple, row_multiple) = (self.pad_seq_to_mult, self.row_multiple);
        RowsSettings {
            form,
            packing: Packing { seq_length, algorithm, overflow, counted, multiple, row_multiple },
            keep_eod: self.keep_eod,
            vocabulary: Vocabulary::O200k,
            pad: PAD,
            extras: self.columns.clone(),
            compression: self.compression,
            overwrite: self.sink.overwrite,
            no_check: self.no_check,
            allow_unsupervised: self.allow_unsupervised,
            jobs: self.jobs.jobs,
            window: self.window,
        }
    }

    fn target(&self) -> RowsTarget {
        let (rows, index) = (self.output.clone(), self.index.clone());
        RowsTarget { rows, index, metadata: self.metadata.clone() }
    }
}

/// Whether the inputs are triples on disk, which are read in two passes.
fn are_triples(paths: &[PathBuf]) -> Result<bool> {
    let is = |path: &PathBuf| Ok(path.as_os_str() != "-" && (kd_root::FORMAT.knows)(path)?);
    Ok(files::find(paths, is)?.is_some())
}

/// Refuses an output with a name that readers would not recognise.
fn named(target: &RowsTarget) -> Result<()> {
    for path in [&target.rows, &target.index].into_iter().flatten() {
        if path.extension().is_none_or(|ending| ending != "parquet" && ending != "pq") {
            let cause = "a name of rows ends in .parquet (or .pq)";
            return Err(Error::usage(cause).at(path.as_path()));
        }
    }
    Ok(())
}
