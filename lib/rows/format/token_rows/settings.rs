//! How rows are made, and where they go.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::ValueEnum;

use super::MOST_POSITIONS;
use super::columns::{ExtraColumn, Form};
use crate::error::{Error, Result};
use crate::model::Vocabulary;
use crate::packing::{Algorithm, Overflow, Packing};
use crate::publish::{StandingFiles, Target, directory_of, is_there, refuse_existing};

/// How the columns of a file of rows are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RowCompression {
    None,
    Zstd,
}

/// How rows are made.
#[derive(Debug, Clone)]
pub struct RowsSettings {
    pub form: Form,
    pub packing: Packing,
    pub keep_eod: bool,
    /// The vocabulary of the tokens.
    pub vocabulary: Vocabulary,
    /// The token that pieces are padded with.
    pub pad: i32,
    pub extras: Vec<ExtraColumn>,
    pub compression: RowCompression,
    pub overwrite: bool,
    pub jobs: NonZeroUsize,
    /// Whether tokens may be outside of the vocabulary.
    pub no_check: bool,
    /// Whether rows may be published in which nothing is trained on.
    pub allow_unsupervised: bool,
    /// How many records of a stream are packed together.
    pub window: u64,
}

/// The files that are written.
#[derive(Debug, Clone)]
pub struct RowsTarget {
    pub rows: Option<PathBuf>,
    pub index: Option<PathBuf>,
    /// The file of metadata for Megatron-Bridge, as JSON.
    pub metadata: Option<PathBuf>,
}

impl RowsTarget {
    /// Returns all files; the one that makes them complete is the last.
    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        [&self.metadata, &self.index, &self.rows].into_iter().flatten()
    }
}

impl Target for RowsTarget {
    fn directory(&self) -> PathBuf {
        directory_of(&self.manifest())
    }

    fn manifest(&self) -> PathBuf {
        self.files().last().cloned().unwrap_or_default()
    }

    fn standing(&self) -> Result<StandingFiles> {
        let mut standing = StandingFiles::default();
        for path in self.files() {
            if is_there(path)? {
                standing.files.push(path.clone());
            }
        }
        Ok(standing)
    }
}

impl RowsSettings {
    /// Refuses settings that exclude each other.
    pub fn check(&self, target: &RowsTarget) -> Result<()> {
        let Packing { seq_length, algorithm, .. } = self.packing;
        let usage = |cause: &str| Err(Error::usage(cause));
        match (self.form, algorithm, seq_length) {
            (_, _, Some(length)) if !(2..=MOST_POSITIONS).contains(&length) => {
                let cause =
                    format!("--seq-length {length}: a row has 2 to {MOST_POSITIONS} positions");
                return usage(&cause);
            }
            (Form::Rows, Algorithm::None, _) => {}
            (Form::Rows, ..) => {
                return usage(
                    "--form rows has one sequence a row; packed rows are --form trl or megatron-bridge",
                );
            }
            (Form::MegatronBridge, Algorithm::Wrapped, _) => {
                return usage(
                    "--algorithm wrapped: a row of Megatron-Bridge holds whole sequences",
                );
            }
            (_, Algorithm::None, _) => {}
            (.., None) => return usage("give --seq-length N: the positions of a row"),
            _ => {}
        }
        if algorithm == Algorithm::Wrapped && self.packing.overflow != Overflow::Error {
            return usage(
                "--algorithm wrapped cuts at each row's end, whatever --overflow says: leave it out",
            );
        }
        if target.rows.is_none() && !self.extras.is_empty() {
            return usage("--columns are columns of rows: give -o FILE");
        }
        if target.rows.is_none() && self.compression != RowCompression::None {
            return usage("--compression is of rows: give -o FILE");
        }
        if target.metadata.is_some() && self.form != Form::MegatronBridge {
            return usage("--metadata is for --form megatron-bridge");
        }
        self.check_padding(target)?;
        let outputs: Vec<&PathBuf> = target.files().collect();
        for (at, output) in outputs.iter().enumerate() {
            if outputs[..at].contains(output) {
                return Err(Error::usage("is named twice").at(output.as_path()));
            }
            if directory_of(output) != target.directory() {
                let cause = "is in another folder than the other outputs of this run";
                return Err(Error::usage(cause).at(output.as_path()));
            }
        }
        refuse_existing(target, self.overwrite)
    }

    fn check_padding(&self, target: &RowsTarget) -> Result<()> {
        let Packing { seq_length, multiple, row_multiple, .. } = self.packing;
        if row_multiple.get() > 1 {
            check_row_multiple(&self.packing, target)?;
        }
        if multiple.get() == 1 {
            return Ok(());
        }
        let usage = |cause: String| Err(Error::usage(cause));
        let option = format!("--pad-seq-to-mult {multiple}");
        if self.form != Form::MegatronBridge {
            return usage(format!("{option} is for --form megatron-bridge"));
        }
        refuse_index(&option, target)?;
        match seq_length {
            Some(length) if length < multiple.get() => {
                usage(format!("{option}: a row has only {length} positions"))
            }
            None if multiple.get() > MOST_POSITIONS => {
                usage(format!("{option}: a row has at most {MOST_POSITIONS} positions"))
            }
            _ => Ok(()),
        }
    }

    /// Whether pieces may be parts of sequences.
    pub(super) fn has_parts(&self) -> bool {
        self.packing.algorithm == Algorithm::Wrapped
            || matches!(self.packing.overflow, Overflow::Split | Overflow::Cut)
    }
}

/// Refuses multiples of rows that the rows cannot have.
fn check_row_multiple(packing: &Packing, target: &RowsTarget) -> Result<()> {
    let Packing { seq_length, multiple, row_multiple, .. } = *packing;
    let option = format!("--row-multiple {row_multiple}");
    refuse_index(&option, target)?;
    if let Some(length) = seq_length.filter(|length| *length % row_multiple != 0) {
        let fitting = length - length % row_multiple;
        let cause = format!("{option}: --seq-length {length} is no multiple of it");
        let way = if fitting > 0 { fitting } else { row_multiple.get() };
        return Err(Error::usage(cause).hint(format!("--seq-length {way}")));
    }
    if row_multiple.get() > MOST_POSITIONS {
        return Err(Error::usage(format!(
            "{option}: a row has at most {MOST_POSITIONS} positions"
        )));
    }
    if row_multiple.get() % multiple.get() != 0 {
        let cause = format!("{option} is no multiple of --pad-seq-to-mult {multiple}");
        return Err(Error::usage(cause).hint("the least common multiple of both"));
    }
    Ok(())
}

/// Refuses an index of padded rows.
fn refuse_index(option: &str, target: &RowsTarget) -> Result<()> {
    let Some(index) = &target.index else { return Ok(()) };
    let cause = format!("{option}: an index has no tokens, and no padding");
    Err(Error::usage(cause).at(index.as_path()))
}
