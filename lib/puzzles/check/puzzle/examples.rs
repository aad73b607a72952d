//! Checks the examples of a set: tokens are in the vocabulary and keep the rules of their domain.

use std::ops::Range;

use super::DomainExample;
use super::arrays::ValidSet;
use crate::check::repeats::{Repeats, hash};
use crate::check::{CheckContext, CheckedChunk, FindingPlace, Findings, checks};
use crate::error::Result;
use crate::format::puzzle_dir::SetConstants;
use crate::puzzle::{Domain, Split};

checks! {
    TOKEN: Error Content "puzzle.token.range",
        "an input token outside [0, vocab_size): the embedding reads beyond its table";
    LABEL: Error Content "puzzle.label.range",
        "a label outside [0, vocab_size) that is not ignore_label_id: the loss reads beyond the logits";
    MINUS_100: Error Content "puzzle.label.minus_100",
        "a label of -100 in the file: only the loader may make it, from ignore_label_id";
    IGNORED: Warning Content "puzzle.label.ignored",
        "all labels of an example are ignored: it teaches nothing";
}

/// How many tokens a chunk has: 1 MB of them.
const CHUNK_TOKENS: u64 = 1 << 17;

/// The rules for the examples of a set.
pub(super) struct ExampleRules {
    pub constants: SetConstants,
    pub domain: Option<&'static dyn Domain>,
    pub split: Split,
    /// Whether one of our builders made the set. Breaking a rule that other builders do not keep is an error
    /// only then.
    pub ours: bool,
}

/// Checks all examples of a set, which is number `number` of its root, and adds their hashes to
/// `repeats`.
pub(super) fn check(
    set: &ValidSet,
    number: usize,
    rules: &ExampleRules,
    mut repeats: Option<&mut Repeats>,
    context: &mut CheckContext<'_>,
    findings: &mut Findings<'_>,
) -> Result<()> {
    let rows = (CHUNK_TOKENS / set.inputs.row_len().max(1) as u64).max(1);
    let chunks = (0..set.examples).step_by(rows as usize);
    let chunks = chunks.map(|start| Ok(start..set.examples.min(start + rows)));
    let hashed = repeats.is_some();
    let make_worker = || {
        let mut reader =
            ExampleReader { set, rules, hashed, inputs: Vec::new(), labels: Vec::new() };
        move |rows: Range<u64>, findings: &mut Findings<'_>| Ok(reader.check(rows, findings))
    };
    context.check_chunks(chunks, make_worker, findings, |chunk, _| match &mut repeats {
        Some(repeats) => repeats.extend(&chunk.summary.1, number, chunk.summary.0),
        None => Ok(()),
    })
}

/// Reads and checks examples; each thread has one.
struct ExampleReader<'a> {
    set: &'a ValidSet,
    rules: &'a ExampleRules,
    hashed: bool,
    inputs: Vec<i32>,
    labels: Vec<i32>,
}

impl ExampleReader<'_> {
    /// Checks some examples. The summary is the number of the first one, and the hashes.
    fn check(
        &mut self,
        rows: Range<u64>,
        findings: &mut Findings<'_>,
    ) -> CheckedChunk<(u64, Vec<u128>)> {
        let mut hashes = Vec::new();
        let mut bytes = 0;
        for example in rows.clone() {
            self.set.inputs.read_row(example, &mut self.inputs);
            self.set.labels.read_row(example, &mut self.labels);
            bytes += 8 * self.inputs.len() as u64;
            self.example(
                FindingPlace::file(&self.set.inputs_path).record("example", example),
                findings,
            );
            if self.hashed {
                hashes.push(hash_of(&self.inputs, &self.labels));
            }
        }
        self.set.inputs.release(rows.clone());
        self.set.labels.release(rows.clone());
        CheckedChunk { records: rows.end - rows.start, bytes, summary: (rows.start, hashes) }
    }

    fn example(&self, at: FindingPlace<'_>, findings: &mut Findings<'_>) {
        let ExampleRules { constants, domain, split, ours } = self.rules;
        let (inputs, labels, vocab_size) = (&self.inputs, &self.labels, constants.vocab_size);
        let is_token = |token: i32| (0..vocab_size).contains(&i64::from(token));
        let ignored = |label: i32| Some(i64::from(label)) == constants.ignore_label_id;
        let wrong_token = inputs.iter().position(|&token| !is_token(token));
        if let Some(place) = wrong_token {
            let token = inputs[place];
            let message = format_args!("inputs[{place}] is {token}; vocab_size is {vocab_size}");
            findings.add(&TOKEN, at, message);
        }
        let wrong_label = labels.iter().position(|&label| !is_token(label) && !ignored(label));
        if let Some(place) = wrong_label {
            let label = labels[place];
            let check = if label == -100 { &MINUS_100 } else { &LABEL };
            let message = format_args!("labels[{place}] is {label}; vocab_size is {vocab_size}");
            findings.add(check, at, message);
        }
        if constants.ignore_label_id.is_some() && labels.iter().all(|&label| ignored(label)) {
            findings.add(&IGNORED, at, "every label is ignore_label_id");
        }
        // The rules of a domain only hold within its vocabulary.
        if let (Some(domain), None, None) = (domain, wrong_token, wrong_label) {
            let example = DomainExample { inputs, labels, split: Some(*split), ours: *ours };
            example.check(*domain, at, findings);
        }
    }
}

fn hash_of(inputs: &[i32], labels: &[i32]) -> u128 {
    let bytes =
        |side: &[i32]| side.iter().flat_map(|token| token.to_le_bytes()).collect::<Vec<u8>>();
    hash(&[&bytes(inputs), &bytes(labels)])
}
