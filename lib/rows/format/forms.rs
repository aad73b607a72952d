//! All forms that seq-pack writes.

use clap::ValueEnum;
use clap::builder::PossibleValue;

use super::pair_rows::PairForm;
use super::token_rows::{FolderForm, Form};

/// The form of rows: of sequences, of pairs, or of folders of sequences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnyForm {
    OfSequences(Form),
    OfPairs(PairForm),
    OfFolders(FolderForm),
}

impl ValueEnum for AnyForm {
    fn value_variants<'a>() -> &'a [AnyForm] {
        use AnyForm::{OfFolders, OfPairs, OfSequences};
        &[
            OfSequences(Form::Rows),
            OfSequences(Form::Trl),
            OfSequences(Form::MegatronBridge),
            OfPairs(PairForm::TrlDpo),
            OfPairs(PairForm::TrlReward),
            OfPairs(PairForm::TrlKto),
            OfFolders(FolderForm::LlamaFactory),
            OfFolders(FolderForm::OlmoCore),
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            AnyForm::OfSequences(form) => form.to_possible_value(),
            AnyForm::OfPairs(form) => form.to_possible_value(),
            AnyForm::OfFolders(form) => form.to_possible_value(),
        }
    }
}
