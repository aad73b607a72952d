//! Rows that other tools made for trainers: whether what they train on is what the model says.
//!
//! | file | what |
//! |---|---|
//! | `roles.rs` | where the messages of a model stand among tokens |
//! | `model.rs` | the model of the tokens, and their texts |
//! | `masks.rs` | what is trained on, compared with the messages |

mod masks;
mod model;
mod roles;

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_buffer::ToByteSlice;

use self::masks::MaskChecker;
use self::model::{RowModel, RowTexts};
use crate::batch::Header;
use crate::check::{
    BatchCheck, Check, CheckKind, FindingPlace, Findings, ModelSaid, RecordChecker, RecordRules,
    TextFault, checks,
};
use crate::error::Result;
use crate::kind::{TokenRow, around};
use crate::record::ROW;
use crate::record::row::{RowFault, RowParts, Rows};
use crate::said::Said;

checks! {
    EMPTY: Error Content "foreign.empty", "a row without tokens: trainers fail on it, or skip it";
    LENGTHS: Error Content "foreign.lengths",
        "labels, a mask or positions that are longer or shorter than the tokens: trainers fail, or shift all that follows";
    VALUE: Error Content "foreign.value",
        "a label that is neither its token nor -100, or a mask that is neither 0 nor 1";
    SHIFTED: Error Content "foreign.shifted",
        "what is trained on is shifted by one token: trainers shift labels themselves",
        hint "labels and masks about the token at their own position";
    POSITIONS: Error Content "foreign.positions",
        "position ids, lengths or an attention mask that do not fit the tokens: sequences see each other, or not themselves";
    PADDING: Error Content "foreign.padding",
        "padding that is trained on: the model learns to write padding";
    UNMASKED: Warning Content "foreign.unmasked",
        "rows without labels and masks: a trainer trains on all of their tokens, also on what users say";
    NOTHING: Warning Content "foreign.nothing",
        "a row in which nothing is trained on: it costs time and teaches nothing";
    UNTRAINED: Error Content "foreign.untrained",
        "nothing in any row is trained on: training on it teaches nothing";
    ALL: Warning Content "foreign.all",
        "a row in which all is trained on, though it has labels or a mask: also what users say";
    ROLE: Error Content "foreign.role",
        "what the system, a user or a tool says is trained on: the model learns to speak for them";
    PROMPT: Error Content "foreign.prompt",
        "the generation prompt, or a part of it, is trained on: the model never writes it";
    NO_STOP: Error Content "foreign.stop.missing",
        "an answer that is trained on and that no stop token ends before the next message: the model learns to go on";
    STOP: Error Content "foreign.stop.untrained",
        "an answer that is trained on without its stop token: the model does not learn to stop";
    BEHIND: Warning Content "foreign.stop.behind",
        "what the template writes behind the stop token is trained on (a newline): nearly harmless, the model stops before it";
    CUT: Warning Content "foreign.cut",
        "a last answer that is trained on and that no stop token ends: the row is cut, or the stop token is missing";
    BOS: Error Content "foreign.bos",
        "two tokens of the beginning, one behind the other: a tokenizer added one before a text that has it";
    TOKEN: Error Content "foreign.token",
        "an id that is not in the vocabulary: the embedding reads beyond its table, or the rows are another model's";
    TEXT: Warning Content "foreign.text",
        "tokens that the model's tokenizer does not make of their text: the model never meets these again";
    PAIR: Error Content "foreign.pair",
        "a pair whose chosen and rejected answers are equal: there is nothing to prefer";
}

/// Rows of other tools.
pub struct RowKind;

impl CheckKind for RowKind {
    fn name(&self) -> &'static str {
        ROW.name
    }

    fn checks(&self) -> Vec<&'static Check> {
        CHECKS.to_vec()
    }

    fn rules(&self, _: &Header, said: &Said) -> Result<Box<dyn RecordRules>> {
        let named = said.get().map(|ModelSaid(folder)| folder.as_path());
        let (rows, masked, trained) = Default::default();
        let model = RowModel::open(named)?;
        Ok(Box::new(RowRules(Arc::new(Shared { model, rows, masked, trained }))))
    }
}

/// What is known of all rows, and counted over them.
struct Shared {
    model: RowModel,
    /// All rows, those with labels or a mask, and those of these in which something is trained on.
    rows: AtomicU64,
    masked: AtomicU64,
    trained: AtomicU64,
}

struct RowRules(Arc<Shared>);

impl RecordRules for RowRules {
    fn checker(&self) -> Box<dyn RecordChecker> {
        let shared = self.0.clone();
        let (texts, parts) = (shared.model.texts(), RowParts::default());
        Box::new(RowChecker { shared, texts, parts, masks: MaskChecker::default() })
    }

    fn remark(&self) -> Option<&str> {
        self.0.model.remark.as_deref()
    }

    fn finish(&self, path: &Path, findings: &mut Findings<'_>) {
        let Shared { rows, masked, trained, .. } = &*self.0;
        let [rows, masked, trained] = [rows, masked, trained].map(|of| of.load(Ordering::Relaxed));
        if rows > 0 && masked == 0 {
            findings.add(&UNMASKED, path, "no row has labels or a mask");
        }
        if masked > 0 && trained == 0 {
            findings.add(&UNTRAINED, path, "no row has a token that is trained on");
        }
    }
}

/// Checks rows; each thread has one.
struct RowChecker {
    shared: Arc<Shared>,
    texts: RowTexts,
    parts: RowParts,
    masks: MaskChecker,
}

impl RecordChecker for RowChecker {
    fn check(&mut self, batch: &mut BatchCheck<'_, '_>) -> Result<()> {
        let rows = Rows::of(&batch.batch.records)?;
        let mut counts = [0u64; 3];
        for row in 0..rows.len() {
            let at = batch.at(row).id(rows.id(row));
            if let Some([chosen, rejected]) = rows.pair(row) {
                self.pair(at, chosen, rejected, batch.findings);
                continue;
            }
            let (tokens, has_mask) = (rows.tokens(row), rows.has_mask(row));
            if let Err(fault) = rows.parts(row, &mut self.parts) {
                let check = match fault {
                    RowFault::Empty(_) => &EMPTY,
                    RowFault::Lengths(_) => &LENGTHS,
                    RowFault::Value(_) => &VALUE,
                    RowFault::Shifted(_) => &SHIFTED,
                    RowFault::Padding(_) => &PADDING,
                    RowFault::Positions(_) => &POSITIONS,
                };
                batch.findings.add(check, at, fault.cause());
                // (What is trained on in it is not known: that is its finding.)
                counts[2] += 1;
                continue;
            }
            batch.content(row, &[tokens.to_byte_slice()]);
            let is_trained = self.parts.trained.contains(&1);
            let own = [1, u64::from(has_mask), u64::from(has_mask && is_trained)];
            counts.iter_mut().zip(own).for_each(|(count, own)| *count += own);
            let row = CheckedRow { tokens, has_mask, has_attention: rows.has_attention(row) };
            self.row(at, &row, batch.findings);
        }
        let Shared { rows, masked, trained, .. } = &*self.shared;
        for (of, count) in [rows, masked, trained].into_iter().zip(counts) {
            of.fetch_add(count, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// A row whose lists fit.
struct CheckedRow<'a> {
    tokens: &'a [i32],
    has_mask: bool,
    has_attention: bool,
}

impl RowChecker {
    /// Checks both answers of a pair.
    fn pair(
        &mut self,
        at: FindingPlace<'_>,
        chosen: &[i32],
        rejected: &[i32],
        findings: &mut Findings<'_>,
    ) {
        if chosen == rejected {
            let shown = self.shown(chosen, 0);
            findings.add(&PAIR, at, format_args!("both answers begin with {shown}"));
        }
        for tokens in [chosen, rejected] {
            self.text(at, tokens, (0, tokens.len()), &[], findings);
        }
    }

    fn row(&mut self, at: FindingPlace<'_>, row: &CheckedRow<'_>, findings: &mut Findings<'_>) {
        let CheckedRow { tokens, has_mask, has_attention } = *row;
        let shared = self.shared.clone();
        let RowParts { trained, sequences } = std::mem::take(&mut self.parts);
        let is_trained = trained.contains(&1);
        // (Nothing predicts the first token.)
        let are_all = trained.len() > 1 && trained.iter().skip(1).all(|trained| *trained == 1);
        if has_mask && !is_trained {
            findings.add(&NOTHING, at, "nothing is trained on");
        } else if has_mask && are_all {
            findings.add(&ALL, at, "all is trained on");
        }
        for sequence in &sequences {
            let own = match has_attention {
                true => sequence.clone(),
                false => shared.model.without_padding(tokens, sequence.clone()),
            };
            if let Some(place) = (own.end..sequence.end).find(|place| trained[*place] == 1)
                && has_mask
            {
                let shown = self.shown(tokens, place);
                let message = format_args!("padding is trained on, position {place}: {shown}");
                findings.add(&PADDING, at, message);
            }
            for own in shared.model.divided(tokens, own) {
                self.sequence(at, row, &trained, own, findings);
            }
        }
        self.parts = RowParts { trained, sequences };
    }

    /// Checks a sequence of a row, without its padding.
    fn sequence(
        &mut self,
        at: FindingPlace<'_>,
        row: &CheckedRow<'_>,
        trained: &[u8],
        own: Range<usize>,
        findings: &mut Findings<'_>,
    ) {
        let shared = self.shared.clone();
        let (tokens, trained) = (&row.tokens[own.clone()], &trained[own.clone()]);
        if shared.model.begins_twice(tokens) {
            let (place, shown) = (own.start + 1, self.shown(tokens, 1));
            findings.add(&BOS, at, format_args!("begins twice, position {place}: {shown}"));
        }
        let is_cut = match &shared.model.roles {
            Some(roles) => {
                self.masks.check(roles, &shared.model, (tokens, trained));
                for fault in self.masks.faults.iter().filter(|_| row.has_mask) {
                    let (place, shown) = (own.start + fault.place, self.shown(tokens, fault.place));
                    let message = format_args!("{}, position {place}: {shown}", fault.what);
                    findings.add(fault.check, at, message);
                }
                self.masks.is_cut
            }
            // (Any sequence may be cut.)
            None => true,
        };
        let trained = if row.has_mask { trained } else { &[] };
        let ignored = if is_cut { tokens.len().saturating_sub(CUT_TOKENS) } else { tokens.len() };
        self.text(at, tokens, (own.start, ignored), trained, findings);
    }

    /// Checks the ids and the text of a sequence, which begins at a position of its row. A text that is encoded otherwise
    /// from `ignored` on is no finding.
    fn text(
        &mut self,
        at: FindingPlace<'_>,
        tokens: &[i32],
        (start, ignored): (usize, usize),
        trained: &[u8],
        findings: &mut Findings<'_>,
    ) {
        let encodes = findings.wants(&TEXT);
        let (check, place, what) = match self.texts.fault(tokens, trained, encodes) {
            None => return,
            Some(TextFault::Unknown(place)) => {
                (&TOKEN, place, format!("the id {} is not in the vocabulary", tokens[place]))
            }
            Some(TextFault::NotText) if ignored < tokens.len() => return,
            Some(TextFault::NotText) => (&TEXT, 0, "its tokens together are not UTF-8".to_string()),
            Some(TextFault::Different(place)) if place >= ignored => return,
            Some(TextFault::Different(place)) => {
                (&TEXT, place, "the text is encoded otherwise".to_string())
            }
        };
        let shown = self.shown(tokens, place);
        findings.add(check, at, format_args!("{what}, position {}: {shown}", start + place));
    }

    /// Returns the tokens around a place as text.
    fn shown(&self, tokens: &[i32], place: usize) -> String {
        around(TokenRow { tokens, texts: &self.shared.model.shown }, place)
    }
}

/// The last tokens of a cut text are not those of the text that was cut.
const CUT_TOKENS: usize = 8;

/// Something that is wrong with what is trained on in a sequence.
struct MaskFault {
    check: &'static Check,
    place: usize,
    what: &'static str,
}
