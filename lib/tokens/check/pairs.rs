//! The rules of pairs of answers: in streams, in rows for trainers, and for what writes these.

use std::path::Path;

use super::kd::sequences::{self, SequenceChecker, SequenceRules};
use super::{Check, FindingPlace, Findings, Selection, Severity, checks};
use crate::batch::Header;
use crate::error::Result;
use crate::harmony::Policy;
use crate::model::{NOT_CHECKED, NOT_HARMONY, is_assumed, open_of_header, state_model};
use crate::record::pairs::PARTS;
use crate::record::tokens::Segment;
use crate::tokenizer::{EOD, START};

checks! {
    pub EMPTY: Error Content "stream.pair.empty",
        "a pair without a prompt, or without one of its answers: there is nothing to compare";
    pub SAME: Error Content "stream.pair.same",
        "a pair whose chosen and rejected answer are the same: it teaches nothing";
    pub PROMPT: Error Content "stream.pair.prompt",
        "a prompt of gpt-oss that does not end in <|start|>assistant: the model gets another one",
        hint "chat-tok --take pair";
    pub UNKNOWN: Error Content "stream.pair.unknown",
        "tokens that Harmony does not make, in a stream that does not state their tokenizer",
        hint "--model DIR, the folder of their model";
}

/// All checks that are about pairs alone.
pub const PAIR_CHECKS: &[&Check] = CHECKS;

/// The token `assistant` of o200k.
const ASSISTANT: i32 = 173_781;

/// What is known of pairs.
pub struct PairRules {
    sequences: SequenceRules,
    /// Whether nothing is stated about the tokenizer.
    is_assumed: bool,
}

impl PairRules {
    /// Returns the rules of records with this header; `named` is the folder of their model, if the user names one.
    pub fn of(header: &Header, named: Option<&Path>) -> Result<PairRules> {
        let mut header = header.clone();
        let model = match state_model(&mut header, named)? {
            None => open_of_header(&header, None)?,
            model => model,
        };
        let mut rules = PairRules::without_texts(&header);
        rules.sequences.tokenizer = model.map(|model| model.tokenizer().clone());
        Ok(rules)
    }

    /// The same without the tokenizer of a model: all that is an error, since its texts only give warnings.
    fn without_texts(header: &Header) -> PairRules {
        // (Nothing is appended to an answer.)
        let (policy, end, may_have_end) = (Some(Policy::Chat), None, false);
        let stated = SequenceRules::of_header(header);
        let sequences = SequenceRules { policy, end, may_have_end, ..stated };
        PairRules { sequences, is_assumed: is_assumed(header) }
    }

    /// Returns what is to be said if texts are not checked.
    pub fn not_checked(&self) -> Option<&'static str> {
        let SequenceRules { vocabulary, tokenizer, .. } = &self.sequences;
        (!vocabulary.is_o200k() && tokenizer.is_none()).then_some(NOT_CHECKED)
    }
}

/// Checks one pair after another; each thread has one.
pub struct PairChecker {
    sequences: SequenceChecker,
    is_o200k: bool,
    is_assumed: bool,
    /// A prompt with an answer.
    whole: Vec<i32>,
}

impl PairChecker {
    pub fn new(rules: &PairRules) -> PairChecker {
        PairChecker {
            sequences: SequenceChecker::new(&rules.sequences),
            is_o200k: rules.sequences.vocabulary.is_o200k(),
            is_assumed: rules.is_assumed,
            whole: Vec::new(),
        }
    }

    /// Checks the prompt, the chosen and the rejected answer of a pair.
    pub fn pair(
        &mut self,
        at: FindingPlace<'_>,
        parts @ [prompt, chosen, rejected]: [&[i32]; 3],
        findings: &mut Findings<'_>,
    ) {
        if let Some(number) = parts.iter().position(|tokens| tokens.is_empty()) {
            findings.add(&EMPTY, at, format_args!("{} has no tokens", PARTS[number]));
            return;
        }
        if chosen == rejected {
            findings.add(&SAME, at, "both answers have the same tokens");
        }
        if self.is_assumed && !prompt.contains(&START) {
            findings.add(&UNKNOWN, at, NOT_HARMONY);
            return;
        }
        if self.is_o200k && !prompt.ends_with(&[START, ASSISTANT]) {
            findings.add(&PROMPT, at, "its prompt does not end in <|start|>assistant");
            return;
        }
        for answer in [chosen, rejected] {
            self.whole.clear();
            self.whole.extend_from_slice(prompt);
            self.whole.extend_from_slice(answer);
            let (begin, end) = (prompt.len() as i32, self.whole.len() as i32);
            let is_trained = true;
            let segments = [
                Segment { role: "user", channel: None, start: 0, end: begin, is_trained },
                Segment {
                    role: "assistant",
                    channel: Some("final"),
                    start: begin,
                    end,
                    is_trained,
                },
            ];
            // (The tokens of Harmony show its messages, with the end of the document.)
            let segments = (!self.is_o200k).then_some(segments.into_iter());
            self.whole.extend(self.is_o200k.then_some(EOD));
            self.sequences.check(at, &self.whole, None, segments, findings);
        }
    }
}

/// Refuses pairs in which the checks would find an error.
pub struct PairGate {
    checker: PairChecker,
    selection: Selection,
}

impl PairGate {
    /// Makes the gate for records with this header.
    pub fn of(header: &Header) -> Result<PairGate> {
        let all = [sequences::all(), PAIR_CHECKS.to_vec()].concat();
        let warnings = all.iter().filter(|check| check.severity != Severity::Error);
        let skipped = warnings.map(|check| check.id.to_string()).collect();
        let selection = Selection::new(all, Vec::new(), skipped, false)?;
        let checker = PairChecker::new(&PairRules::without_texts(header));
        Ok(PairGate { checker, selection })
    }

    /// Checks whether a pair may be written; the error is the cause.
    pub fn check(&mut self, parts: [&[i32]; 3]) -> Result<(), String> {
        let mut findings = Findings::of_gate(&self.selection);
        self.checker.pair(FindingPlace::file(Path::new("")), parts, &mut findings);
        findings.refusal()
    }
}
