//! What headers state of puzzles.

use crate::batch::statements;

statements! {
    pub DOMAIN: String = "domain",
        "puzzle-encode, ds-cat": "the domain of the puzzles; absent if none is known";
    pub DOMAIN_ASSUMED: bool = "domain_assumed",
        "ds-cat": "true if a set states no domain, and the domain of the records is a guess from its constants";
    pub SEQ_LEN: i64 = "seq_len",
        "puzzle-encode, ds-cat": "the tokens of each side of an example; absent if sets differ in it";
    pub VOCAB_SIZE: i64 = "vocab_size",
        "puzzle-encode, ds-cat": "tokens and labels are below it";
    pub PAD_ID: i64 = "pad_id",
        "puzzle-encode, ds-cat": "the token of padding";
    pub IGNORE_LABEL_ID: i64 = "ignore_label_id",
        "puzzle-encode, ds-cat": "the label that stands for no label, or null: every label counts";
    pub BLANK_IDENTIFIER_ID: i64 = "blank_identifier_id",
        "puzzle-encode, ds-cat": "the identifier of puzzles without a name";
}
