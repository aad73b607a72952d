//! What is known of the sequences that are checked.

use gristmill_models::Tokenizer;

use crate::batch::Header;
use crate::harmony::{Alignment, Policy, Spans};
use crate::model::{Vocabulary, end_of, is_assumed, is_stated_by_records};
use crate::record::statements::{ALIGNMENT, TOKENIZER};

/// How the sequences were made, as far as it is known.
#[derive(Clone)]
pub struct SequenceRules {
    /// `None` if no policy is stated: then SYNTH is assumed, and a violation is a warning.
    pub policy: Option<Policy>,
    /// The supervised channels with their span ids; `None` if they are not known.
    pub spans: Option<Spans>,
    /// [`Alignment::Label`] for a Megatron dataset.
    pub alignment: Alignment,
    /// Whether messages may have no span because of weights that are not known: a message is then
    /// trained on as a whole or not at all.
    pub is_weighted: bool,
    /// If it is not o200k, only ids and masks are checked, and the texts if the tokenizer is at hand.
    pub vocabulary: Vocabulary,
    pub tokenizer: Option<Tokenizer>,
    /// The last token of each sequence, if the tokenizer is not o200k and one is stated.
    pub end: Option<i32>,
    /// Whether a last token may stand behind the messages of another tokenizer; where it is not known whether one was
    /// appended, it may.
    pub may_have_end: bool,
}

impl SequenceRules {
    /// Returns the rules for a dataset without a manifest; the user may state its policy.
    pub fn assumed(policy: Option<Policy>) -> SequenceRules {
        let spans = Some(Spans::synth_kd_v1(&[]));
        SequenceRules {
            policy,
            spans,
            alignment: Alignment::Label,
            is_weighted: false,
            vocabulary: Vocabulary::O200k,
            tokenizer: None,
            end: None,
            may_have_end: true,
        }
    }

    /// Returns the rules of records with this header.
    pub fn of_header(header: &Header) -> SequenceRules {
        let end = end_of(header);
        SequenceRules {
            spans: Spans::stated(&header.parameters),
            alignment: header.get(&ALIGNMENT).unwrap_or(Alignment::Label),
            vocabulary: Vocabulary::of(header.parameters.value(&TOKENIZER)),
            end,
            may_have_end: end.is_some() || is_stated_by_records(header) || is_assumed(header),
            ..SequenceRules::assumed(Policy::of_header(header))
        }
    }

    /// Whether every channel of the model's own output has a span: then the masks show each place at which the text
    /// may have been cut.
    pub(super) fn span_everything(&self) -> bool {
        let has_span = |name: &str, spans: &Spans| {
            spans.channels().iter().any(|span| span.channel == name && span.id > 0)
        };
        let named = ["analysis", "commentary", "final"];
        self.spans.as_ref().is_some_and(|spans| named.iter().all(|name| has_span(name, spans)))
    }

    pub(super) fn is_span(&self, id: u8) -> bool {
        let named = |spans: &Spans| spans.channels().iter().any(|span| span.id == id);
        id == 0 || self.spans.as_ref().is_none_or(named)
    }
}
