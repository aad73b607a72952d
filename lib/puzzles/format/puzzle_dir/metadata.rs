//! `dataset.json`: read strictly, written as the published builders write it; and the source of
//! the constants in it.

use std::str::FromStr;

use clap::Args;
use serde::{Deserialize, Serialize};

use crate::batch::{Header, Statement};
use crate::error::{Error, Result};
use crate::format::json_file;
use crate::puzzle::{self, Constants, SeqLen};
use crate::record::statements::{
    BLANK_IDENTIFIER_ID, IGNORE_LABEL_ID, PAD_ID, SEQ_LEN, VOCAB_SIZE,
};
use crate::wording::exactly;

/// A split's `dataset.json`, in the published builders' order. All fields must be there with the
/// right type; their values are not checked here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SplitMetadata {
    #[serde(flatten)]
    pub constants: SetConstants,
    pub num_puzzle_identifiers: i64,
    /// The sum over all sets of the split, as is the next field.
    pub total_groups: i64,
    /// The mean number of examples of a puzzle.
    pub mean_puzzle_examples: f64,
    pub sets: Vec<String>,
}

/// Constants that all examples of a set share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetConstants {
    pub pad_id: i64,
    /// The label that means "no label"; `None` if every label counts.
    #[serde(deserialize_with = "json_file::stated")]
    pub ignore_label_id: Option<i64>,
    pub blank_identifier_id: i64,
    /// Tokens and labels are in 0..vocab_size.
    pub vocab_size: i64,
    /// The number of tokens of one side of an example.
    pub seq_len: i64,
}

impl SetConstants {
    fn of_domain(domain: &Constants, seq_len: i64) -> SetConstants {
        SetConstants {
            pad_id: domain.pad_id.into(),
            ignore_label_id: Some(domain.ignore_label_id.into()),
            blank_identifier_id: domain.blank_identifier_id.into(),
            vocab_size: domain.vocab_size.into(),
            seq_len,
        }
    }

    /// Whether these are the constants of that domain.
    pub fn are_of(&self, domain: &Constants) -> bool {
        usize::try_from(self.seq_len).is_ok_and(|length| domain.seq_len.allows(length))
            && *self == SetConstants::of_domain(domain, self.seq_len)
    }

    /// Returns the domain that has these constants.
    pub fn domain(&self) -> Option<&'static dyn puzzle::Domain> {
        let (seq_len, vocab_size) =
            (usize::try_from(self.seq_len).ok()?, usize::try_from(self.vocab_size).ok()?);
        puzzle::guess(seq_len, vocab_size).filter(|domain| self.are_of(&domain.constants()))
    }

    /// Returns these constants for examples of another length.
    pub fn with_seq_len(&self, seq_len: i64) -> SetConstants {
        SetConstants { seq_len, ..self.clone() }
    }

    /// Returns what a stream's header states of them.
    pub fn statements(&self) -> [(&'static Statement<i64>, Option<i64>); 5] {
        [
            (&SEQ_LEN, Some(self.seq_len)),
            (&VOCAB_SIZE, Some(self.vocab_size)),
            (&PAD_ID, Some(self.pad_id)),
            (&IGNORE_LABEL_ID, self.ignore_label_id),
            (&BLANK_IDENTIFIER_ID, Some(self.blank_identifier_id)),
        ]
    }
}

/// Constants that the user or a stream's header names, of an unknown puzzle domain; for a known one
/// they must be its own.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Puzzles of a domain that is not known")]
pub struct AssertedConstants {
    /// Tokens of each side of an example [default: as in the first of each split]
    #[arg(long, value_name = "N")]
    pub seq_len: Option<i64>,

    /// Tokens lie in 0..N (required)
    #[arg(long, value_name = "N")]
    pub vocab_size: Option<i64>,

    /// Token of padding [default: 0]
    #[arg(long, value_name = "TOKEN")]
    pub pad_id: Option<i64>,

    /// Label that stands for no label, or none [default: 0]
    #[arg(long, value_name = "TOKEN|none")]
    pub ignore_label_id: Option<IgnoredLabel>,

    /// Identifier of puzzles without a name [default: 0]
    #[arg(long, value_name = "ID")]
    pub blank_identifier_id: Option<i64>,
}

/// The label that is ignored; `None` if no label is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IgnoredLabel(pub Option<i64>);

impl FromStr for IgnoredLabel {
    type Err = String;

    fn from_str(text: &str) -> Result<IgnoredLabel, String> {
        match text {
            "none" => Ok(IgnoredLabel(None)),
            _ => text.parse().map(|id| IgnoredLabel(Some(id))).map_err(|_| "no token".to_string()),
        }
    }
}

impl AssertedConstants {
    /// Returns every flag and its value, in the order of [`SetConstants::statements`].
    fn flags(&self) -> [(&'static str, Option<Option<i64>>); 5] {
        [
            ("--seq-len", self.seq_len.map(Some)),
            ("--vocab-size", self.vocab_size.map(Some)),
            ("--pad-id", self.pad_id.map(Some)),
            ("--ignore-label-id", self.ignore_label_id.map(|label| label.0)),
            ("--blank-identifier-id", self.blank_identifier_id.map(Some)),
        ]
    }

    /// Returns the first of these flags that is given, for the error that it does not belong here.
    pub fn first_given(&self) -> Option<&'static str> {
        self.flags().into_iter().find_map(|(flag, value)| value.map(|_| flag))
    }

    /// Fills missing values from a header.
    pub fn or_header(self, header: &Header) -> AssertedConstants {
        let ignored = || IgnoredLabel(header.get(&IGNORE_LABEL_ID));
        let is_stated = header.parameters.has(&IGNORE_LABEL_ID);
        AssertedConstants {
            seq_len: self.seq_len.or(header.get(&SEQ_LEN)),
            vocab_size: self.vocab_size.or(header.get(&VOCAB_SIZE)),
            pad_id: self.pad_id.or(header.get(&PAD_ID)),
            ignore_label_id: self.ignore_label_id.or(is_stated.then(ignored)),
            blank_identifier_id: self.blank_identifier_id.or(header.get(&BLANK_IDENTIFIER_ID)),
        }
    }

    /// Returns the constants of a set of this domain whose first example has `length` tokens. A known
    /// domain has them in its table, and flags must agree with it. For another domain the vocabulary size
    /// must be given; the default of `seq_len` is `length`, the default of all others is 0.
    pub fn resolve(&self, domain: Option<&str>, length: usize) -> Result<SetConstants> {
        let length = i64::try_from(length).unwrap_or(i64::MAX);
        match domain.and_then(puzzle::domain) {
            Some(domain) => self.of_known(&domain.constants(), length),
            None => self.of_unknown(domain, length),
        }
    }

    fn of_known(&self, domain: &Constants, length: i64) -> Result<SetConstants> {
        let found = SetConstants::of_domain(domain, length);
        let name = domain.name;
        if !found.are_of(domain) {
            let expected = match domain.seq_len {
                SeqLen::Fixed(length) => length.to_string(),
                SeqLen::Square => "n x n".to_string(),
            };
            return Err(Error::data(format!(
                "the first example has {length}, {name} has {expected}",
                length = exactly(length, "token")
            )));
        }
        for ((flag, given), (_, table)) in self.flags().into_iter().zip(found.statements()) {
            if let Some(given) = given.filter(|given| *given != table) {
                let [given, table] =
                    [given, table].map(|id| id.map_or("none".to_string(), |id| id.to_string()));
                return Err(Error::usage(format!("{flag} {given}: {name} has {table}")));
            }
        }
        Ok(found)
    }

    fn of_unknown(&self, domain: Option<&str>, length: i64) -> Result<SetConstants> {
        let seq_len = self.seq_len.unwrap_or(length);
        let pad_id = self.pad_id.unwrap_or_default();
        let ignore_label_id = self.ignore_label_id.map_or(Some(0), |label| label.0);
        let blank = self.blank_identifier_id.unwrap_or_default();
        let Some(vocab_size) = self.vocab_size else {
            let known: Vec<&str> =
                puzzle::DOMAINS.iter().map(|domain| domain.constants().name).collect();
            let what = domain
                .map_or("no domain".to_string(), |name| format!("domain {name:?} is not known"));
            let known = known.join(", ");
            return Err(Error::usage(format!(
                "{what} (known: {known}), so its number of tokens must be given"
            ))
            .hint("--vocab-size V"));
        };
        let in_vocabulary = |flag: &str, id: i64| match (0..vocab_size).contains(&id) {
            true => Ok(()),
            false => Err(Error::usage(format!("{flag} {id}: not below --vocab-size {vocab_size}"))),
        };
        if !(1..=i64::from(i32::MAX)).contains(&vocab_size) {
            return Err(Error::usage(format!("--vocab-size {vocab_size}: not a number of tokens")));
        }
        in_vocabulary("--pad-id", pad_id)?;
        if let Some(id) = ignore_label_id {
            in_vocabulary("--ignore-label-id", id)?;
        }
        if !(0..i64::from(i32::MAX)).contains(&blank) {
            return Err(Error::usage(format!("--blank-identifier-id {blank}: not an identifier")));
        }
        Ok(SetConstants {
            pad_id,
            ignore_label_id,
            blank_identifier_id: blank,
            vocab_size,
            seq_len,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::PythonFormatter;

    const TEXT: &str = r#"{"pad_id": 0, "ignore_label_id": null, "blank_identifier_id": 0, "vocab_size": 12, "seq_len": 900, "num_puzzle_identifiers": 241, "total_groups": 60, "mean_puzzle_examples": 3.816666666666667, "sets": ["all", "\u00e9\ud83d\ude00\"\\"]}"#;

    #[test]
    fn a_dataset_json_comes_back_as_python_wrote_it() {
        let metadata: SplitMetadata = serde_json::from_str(TEXT).unwrap();
        assert_eq!(metadata.sets, ["all", "é😀\"\\"]);
        assert_eq!(PythonFormatter::SPACED.text(&metadata).unwrap(), TEXT);
        let whole = SplitMetadata { mean_puzzle_examples: 4.0, ..metadata };
        assert!(PythonFormatter::SPACED.text(&whole).unwrap().contains("_examples\": 4.0,"));
    }

    #[test]
    fn fields_are_there_and_of_their_kind() {
        for (from, to, message) in [
            ("\"ignore_label_id\": null, ", "", "missing field `ignore_label_id`"),
            ("\"vocab_size\": 12, ", "", "missing field `vocab_size`"),
            ("\"seq_len\": 900", "\"seq_len\": \"900\"", "invalid type: string \"900\""),
            ("\"total_groups\": 60", "\"total_groups\": 60.5", "invalid type: floating point"),
        ] {
            let broken: Result<SplitMetadata, _> = serde_json::from_str(&TEXT.replace(from, to));
            let error = broken.unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn constants_are_the_tables_or_given() {
        let none = AssertedConstants::default();
        assert_eq!(none.resolve(Some("maze"), 225).unwrap().seq_len, 225);
        assert!(none.resolve(Some("maze"), 224).is_err());
        let wrong = AssertedConstants { vocab_size: Some(12), ..AssertedConstants::default() };
        let error = wrong.resolve(Some("sudoku"), 81).unwrap_err();
        assert_eq!(error.to_string(), "--vocab-size 12: sudoku has 11");
        let error = none.resolve(Some("chess"), 64).unwrap_err().to_string();
        assert!(error.starts_with("domain \"chess\" is not known (known: sudoku,"), "{error}");
        assert!(error.contains("try: --vocab-size V"), "{error}");
        let told = AssertedConstants { vocab_size: Some(13), ..AssertedConstants::default() };
        let constants = told.resolve(Some("chess"), 64).unwrap();
        let zeros = (constants.pad_id, constants.ignore_label_id, constants.blank_identifier_id);
        assert_eq!((constants.seq_len, zeros), (64, (0, Some(0), 0)));
        let mut given = AssertedConstants {
            seq_len: Some(64),
            vocab_size: Some(13),
            pad_id: Some(0),
            ignore_label_id: Some(IgnoredLabel(None)),
            blank_identifier_id: Some(0),
        };
        let constants = given.resolve(None, 64).unwrap();
        assert_eq!((constants.ignore_label_id, constants.domain().is_none()), (None, true));
        given.pad_id = Some(13);
        assert!(given.resolve(None, 64).is_err());
    }
}
