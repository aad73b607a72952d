//! The examples of a set: tokens within the vocabulary, and the rules of their domain.

use std::ops::Range;

use super::arrays::Set;
use super::{check_of, level};
use crate::check::repeats::{Repeats, hash};
use crate::check::{At, Check, Context, Findings};
use crate::cli::{Error, Flow, Result, ordered_map};
use crate::format::puzzle_dir::SetConstants;
use crate::puzzle::{Domain, Split};

static TOKEN: Check = Check::error(
    "puzzle.token.range",
    "an input token outside [0, vocab_size): the embedding reads beyond its table",
);
static LABEL: Check = Check::error(
    "puzzle.label.range",
    "a label outside [0, vocab_size) that is not ignore_label_id: the loss reads beyond the logits",
);
static MINUS_100: Check = Check::error(
    "puzzle.label.minus_100",
    "a label of -100 in the file: the loader makes it of ignore_label_id, here it is not in any range",
);
static IGNORED: Check = Check::warning(
    "puzzle.label.ignored",
    "all labels of an example are ignored: it teaches nothing",
);
pub(super) static CHECKS: &[&Check] = &[&TOKEN, &LABEL, &MINUS_100, &IGNORED];

/// 1 MB of tokens.
const CHUNK_TOKENS: u64 = 1 << 17;

/// What is known of the examples of a set.
pub(super) struct Rules {
    pub constants: SetConstants,
    pub domain: Option<&'static dyn Domain>,
    pub split: Split,
    /// Whether our builders made it: what only they keep is an error then.
    pub ours: bool,
}

/// Checks all examples of a set; `place` makes of an example's number what [`Repeats`] are to
/// know it by.
pub(super) fn check(
    set: &Set,
    rules: &Rules,
    mut repeats: Option<&mut Repeats>,
    place: impl Fn(u64) -> u64,
    context: &mut Context<'_>,
    findings: &mut Findings<'_>,
) -> Result<()> {
    let rows = (CHUNK_TOKENS / set.inputs.row_len().max(1) as u64).max(1);
    let chunks = (0..set.examples).step_by(rows as usize);
    let chunks = chunks.map(|start| Ok::<_, Error>(start..set.examples.min(start + rows)));
    let hashed = repeats.is_some();
    let (selection, most) = (context.selection, context.max_findings);
    let progress = &mut *context.progress;
    ordered_map(
        context.jobs,
        chunks,
        || {
            let mut worker = Worker { set, rules, hashed, inputs: Vec::new(), labels: Vec::new() };
            move |rows: Range<u64>| worker.check(rows, Findings::new(selection, most))
        },
        |looked: Looked<'_>| {
            findings.merge(looked.findings);
            if let Some(repeats) = &mut repeats {
                for (example, hash) in (looked.rows.start..).zip(looked.hashes) {
                    repeats.add(hash, place(example))?;
                }
            }
            progress.add(looked.rows.end - looked.rows.start, looked.bytes);
            Ok(Flow::Continue)
        },
    )
}

struct Looked<'s> {
    findings: Findings<'s>,
    rows: Range<u64>,
    bytes: u64,
    hashes: Vec<u128>,
}

struct Worker<'a> {
    set: &'a Set,
    rules: &'a Rules,
    hashed: bool,
    inputs: Vec<i32>,
    labels: Vec<i32>,
}

impl Worker<'_> {
    fn check<'s>(&mut self, rows: Range<u64>, mut findings: Findings<'s>) -> Looked<'s> {
        let mut hashes = Vec::new();
        let mut bytes = 0;
        for example in rows.clone() {
            self.set.inputs.read_row(example, &mut self.inputs);
            self.set.labels.read_row(example, &mut self.labels);
            bytes += 8 * self.inputs.len() as u64;
            let at = At::file(&self.set.inputs_path).record("example", example);
            self.example(at, &mut findings);
            if self.hashed {
                hashes.push(hash_of(&self.inputs, &self.labels));
            }
        }
        self.set.inputs.release(rows.clone());
        self.set.labels.release(rows.clone());
        Looked { findings, rows, bytes, hashes }
    }

    fn example(&self, at: At<'_>, findings: &mut Findings<'_>) {
        let Rules { constants, domain, split, ours } = self.rules;
        let is_token = |token: i32| (0..constants.vocab_size).contains(&i64::from(token));
        let ignored = |label: i32| Some(i64::from(label)) == constants.ignore_label_id;
        let mut in_range = true;
        if let Some(place) = self.inputs.iter().position(|&token| !is_token(token)) {
            in_range = false;
            findings.add(&TOKEN, at, || {
                let vocab = constants.vocab_size;
                format!("inputs[{place}] is {}; vocab_size is {vocab}", self.inputs[place])
            });
        }
        let wrong = |&label: &i32| !is_token(label) && !ignored(label);
        if let Some(place) = self.labels.iter().position(wrong) {
            in_range = false;
            let label = self.labels[place];
            let check = if label == -100 { &MINUS_100 } else { &LABEL };
            findings.add(check, at, || {
                format!("labels[{place}] is {label}; vocab_size is {}", constants.vocab_size)
            });
        }
        if constants.ignore_label_id.is_some() && self.labels.iter().all(|&label| ignored(label)) {
            findings.add(&IGNORED, at, || "every label is ignore_label_id".to_string());
        }
        // Elsewhere than in its vocabulary a domain has no rules.
        let Some(domain) = domain.filter(|_| in_range) else { return };
        let told = domain.check(&self.inputs, &self.labels, Some(*split));
        for finding in &told {
            let Some(check) = check_of(finding.rule) else { continue };
            let foreign = if *ours { finding.rule.level } else { finding.rule.foreign };
            findings.add_as(check, level(foreign), at, || finding.message.clone());
        }
    }
}

fn hash_of(inputs: &[i32], labels: &[i32]) -> u128 {
    let mut bytes = Vec::with_capacity(4 * inputs.len());
    bytes.extend(inputs.iter().flat_map(|token| token.to_le_bytes()));
    let split = bytes.len();
    bytes.extend(labels.iter().flat_map(|token| token.to_le_bytes()));
    hash(&[&bytes[..split], &bytes[split..]])
}
