//! The `row` record: tokens that another tool has prepared for a trainer, with what it says of them. Such rows are read
//! and checked, and never written. Columns that are not declared here are not read.

use std::ops::Range;

use super::prelude::*;
use crate::wording::exactly;

/// A row of another tool. What is trained on is what all of its labels and masks say.
pub const ROW: RecordType = RecordType {
    name: "row",
    singular: "row of another tool",
    plural: "rows of other tools",
    fields: RowFields::declared,
    marking_fields: &[
        &["input_ids"],
        &["chosen_input_ids", "rejected_input_ids"],
        &["chosen_ids", "rejected_ids"],
    ],
    made_by: "a trainer's own preparation",
    made_into: &[("tokens", "ds-cat")],
    ..RecordType::PLAIN
};

/// The label of a token that is not trained on.
pub const IGNORED: i32 = -100;

record_fields! {
    /// A row of another tool.
    RowFields(RowColumns, RowBuilder) {
        /// The row's id.
        id: Option<String>,
        /// The tokens; of a pair of answers null.
        input_ids: Option<List<i32>>,
        /// For each token itself if it is trained on, else -100 (not shifted).
        labels: Option<List<i32>>,
        /// For each token 1 if it is trained on, else 0; beside `seq_start_id` about the next token.
        loss_mask: Option<List<i32>>,
        /// For each token 1 if the model says it, else 0.
        assistant_masks: Option<List<i32>>,
        /// For each token 1 if it belongs to the completion, else 0.
        completion_mask: Option<List<i32>>,
        /// For each token 0 if it is padding; else 1, or the number of its sequence.
        attention_mask: Option<List<i32>>,
        /// For each token its place in its sequence, from 0; more of 0 at the end are padding.
        position_ids: Option<List<i32>>,
        /// The tokens of each sequence in the row, in order.
        seq_lengths: Option<List<i32>>,
        /// Where each sequence of the row begins.
        seq_start_id: Option<List<i32>>,
        /// The number of the row's tokens, or a list of those of its sequences, without their padding.
        length_json: Option<AnyJson>,
        /// The tokens of the better answer of a pair.
        chosen_input_ids: Option<List<i32>>,
        /// The tokens of the other answer of a pair.
        rejected_input_ids: Option<List<i32>>,
        /// The tokens of the better answer, as TRL 1.16 names them.
        chosen_ids: Option<List<i32>>,
        /// The tokens of the other answer, as TRL 1.16 names them.
        rejected_ids: Option<List<i32>>,
    }
}

/// What is wrong with the lists of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowFault {
    /// It has no tokens, or only padding.
    Empty(String),
    /// A list is longer or shorter than the tokens.
    Lengths(String),
    /// A value that labels or masks cannot have.
    Value(String),
    /// All labels are the next or the last token: by how much they are shifted.
    Shifted(String),
    /// Padding is trained on.
    Padding(String),
    /// Positions or lengths that do not fit the tokens.
    Positions(String),
}

impl RowFault {
    pub fn cause(&self) -> &str {
        match self {
            RowFault::Empty(cause)
            | RowFault::Lengths(cause)
            | RowFault::Value(cause)
            | RowFault::Shifted(cause)
            | RowFault::Padding(cause)
            | RowFault::Positions(cause) => cause,
        }
    }
}

/// What a row says of its tokens.
#[derive(Debug, Default)]
pub struct RowParts {
    /// For each token 1 if it is trained on.
    pub trained: Vec<u8>,
    /// The sequences, in order; tokens in none of them are padding.
    pub sequences: Vec<Range<usize>>,
}

/// A batch of rows, by column.
#[derive(Debug)]
pub struct Rows<'a> {
    rows: usize,
    columns: RowColumns<'a>,
}

type Numbers<'a> = ListView<'a, NumberView<'a, i32>>;

impl<'a> Rows<'a> {
    /// Returns the view of a batch in the schema of [`ROW`].
    pub fn of(batch: &'a RecordBatch) -> Result<Rows<'a>, ArrowError> {
        let columns = RowColumns::of_columns(batch.columns())?;
        Ok(Rows { rows: batch.num_rows(), columns })
    }

    pub fn len(&self) -> usize {
        self.rows
    }

    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    pub fn id(&self, row: usize) -> Option<&'a str> {
        self.columns.id.get(row)
    }

    /// Returns the tokens of a row; none of a pair.
    pub fn tokens(&self, row: usize) -> &'a [i32] {
        list(self.columns.input_ids, row).unwrap_or_default()
    }

    /// Returns the tokens of both answers of a pair.
    pub fn pair(&self, row: usize) -> Option<[&'a [i32]; 2]> {
        let RowColumns { chosen_input_ids, rejected_input_ids, chosen_ids, rejected_ids, .. } =
            self.columns;
        let either = |one, other| list(one, row).or_else(|| list(other, row));
        Some([either(chosen_input_ids, chosen_ids)?, either(rejected_input_ids, rejected_ids)?])
    }

    /// Whether labels or a mask say what is trained on.
    pub fn has_mask(&self, row: usize) -> bool {
        list(self.columns.labels, row).is_some() || self.masks(row).next().is_some()
    }

    /// Whether a list says which tokens are padding.
    pub fn has_attention(&self, row: usize) -> bool {
        list(self.columns.attention_mask, row).is_some()
    }

    /// Returns the masks of a row, with their names.
    fn masks(&self, row: usize) -> impl Iterator<Item = (&'static str, &'a [i32])> {
        let RowColumns { loss_mask, assistant_masks, completion_mask, .. } = self.columns;
        let masks = [
            ("loss_mask", loss_mask),
            ("assistant_masks", assistant_masks),
            ("completion_mask", completion_mask),
        ];
        masks.into_iter().filter_map(move |(name, mask)| Some((name, list(mask, row)?)))
    }

    /// Finds what is trained on and where sequences begin. Stops at the first thing that is wrong.
    pub fn parts(&self, row: usize, parts: &mut RowParts) -> Result<(), RowFault> {
        let tokens = self.tokens(row);
        let RowParts { trained, sequences } = parts;
        trained.clear();
        sequences.clear();
        if tokens.is_empty() {
            let cause = match self.pair(row) {
                Some(_) => "is a pair of answers, not a sequence; ds-check compares pairs",
                None => "has no tokens in input_ids",
            };
            return Err(RowFault::Empty(cause.to_string()));
        }
        self.lengths(row, tokens.len())?;
        self.sequences(row, tokens.len(), sequences)?;
        trained.resize(tokens.len(), 1);
        if let Some(labels) = list(self.columns.labels, row) {
            trained_labels(tokens, labels, trained)?;
        }
        for (name, mask) in self.masks(row) {
            if let Some(place) = mask.iter().position(|value| !matches!(value, 0 | 1)) {
                let cause = format!("{name}[{place}] is {}, not 0 or 1", mask[place]);
                return Err(RowFault::Value(cause));
            }
            if name == "loss_mask" && list(self.columns.seq_start_id, row).is_some() {
                // (As Megatron-Bridge has it: position t is about token t + 1 of the same sequence.)
                for sequence in sequences.iter() {
                    trained[sequence.start] = 0;
                    let values = mask[sequence.clone()].iter();
                    let own = trained[sequence.clone()].iter_mut().skip(1);
                    own.zip(values).for_each(|(trained, value)| *trained &= *value as u8);
                }
                continue;
            }
            trained.iter_mut().zip(mask).for_each(|(trained, value)| *trained &= *value as u8);
        }
        let has_mask = self.has_mask(row);
        let ends = std::iter::once(0).chain(sequences.iter().map(|sequence| sequence.end));
        let starts = sequences.iter().map(|sequence| sequence.start).chain([tokens.len()]);
        for place in ends.zip(starts).flat_map(|(end, start)| end..start) {
            if has_mask && trained[place] != 0 {
                let cause = format!("position {place} is padding and trained on");
                return Err(RowFault::Padding(cause));
            }
            trained[place] = 0;
        }
        Ok(())
    }

    /// Fails if a list is not as long as the tokens.
    fn lengths(&self, row: usize, length: usize) -> Result<(), RowFault> {
        let RowColumns { labels, attention_mask, position_ids, .. } = self.columns;
        let of_tokens = [
            ("labels", labels),
            ("attention_mask", attention_mask),
            ("position_ids", position_ids),
        ];
        let lists = of_tokens.into_iter().filter_map(|(name, of)| Some((name, list(of, row)?)));
        for (name, values) in lists.chain(self.masks(row)) {
            if values.len() != length {
                let cause = format!("{}, {} in {name}", exactly(length, "token"), values.len());
                return Err(RowFault::Lengths(cause));
            }
        }
        Ok(())
    }

    /// Finds the sequences of a row by all that says where they begin.
    fn sequences(
        &self,
        row: usize,
        length: usize,
        sequences: &mut Vec<Range<usize>>,
    ) -> Result<(), RowFault> {
        let wrong = |cause: String| RowFault::Positions(cause);
        let RowColumns { attention_mask, position_ids, seq_lengths, seq_start_id, .. } =
            self.columns;
        let mut all = 0..length;
        // Whether only positions say where sequences begin.
        let is_alone = list(seq_lengths, row).or_else(|| list(seq_start_id, row)).is_none()
            && list(attention_mask, row).is_none_or(|mask| mask.iter().all(|value| *value <= 1));
        // What said where the sequences begin, and where.
        let mut found: Option<(&str, Vec<usize>)> = None;
        let mut agree = |name: &'static str, starts: Vec<usize>| match &found {
            Some((other, known)) if *known != starts => {
                let cause = format!(
                    "{name} divides the row into {}, {other} into {}",
                    exactly(starts.len(), "sequence"),
                    known.len()
                );
                Err(wrong(if starts.len() == known.len() {
                    format!("{name} and {other} divide the row at other places")
                } else {
                    cause
                }))
            }
            Some(_) => Ok(()),
            None => {
                found = Some((name, starts));
                Ok(())
            }
        };
        if let Some(mask) = list(attention_mask, row) {
            if let Some(place) = mask.iter().position(|value| *value < 0) {
                return Err(wrong(format!("attention_mask[{place}] is {}", mask[place])));
            }
            let is_seen = |value: &i32| *value != 0;
            let start = mask.iter().position(is_seen).unwrap_or(length);
            all = start..mask.iter().rposition(is_seen).map_or(start, |last| last + 1);
            if all.is_empty() {
                return Err(RowFault::Empty("all of its tokens are padding".to_string()));
            }
            if let Some(hole) = mask[all.clone()].iter().position(|value| *value == 0) {
                let place = all.start + hole;
                return Err(wrong(format!("attention_mask[{place}] is 0 between tokens")));
            }
            if mask.iter().any(|value| *value > 1) {
                let changes =
                    |place: &usize| *place == all.start || mask[*place] != mask[place - 1];
                agree("attention_mask", all.clone().filter(changes).collect())?;
            }
        }
        if let Some(positions) = list(position_ids, row) {
            let mut starts = Vec::new();
            for place in all.clone() {
                match positions[place] {
                    0 => starts.push(place),
                    next if place > all.start && next == positions[place - 1].wrapping_add(1) => {}
                    other => {
                        let cause = match place == all.start {
                            true => "not 0",
                            false => "neither 0 nor one more than before",
                        };
                        return Err(wrong(format!("position_ids[{place}] is {other}, {cause}")));
                    }
                }
            }
            // (Some trainers pad with 0. Nothing predicts the only token of a sequence.)
            while is_alone && starts.len() > 1 && starts.last() == Some(&(all.end - 1)) {
                starts.pop();
                all.end -= 1;
            }
            agree("position_ids", starts)?;
        }
        if let Some(lengths) = list(seq_lengths, row) {
            let sum: i64 = lengths.iter().map(|length| i64::from(*length)).sum();
            if lengths.iter().any(|length| *length <= 0) || sum != all.len() as i64 {
                let tokens = exactly(all.len(), "token");
                return Err(wrong(format!("the seq_lengths add up to {sum} of {tokens}")));
            }
            let mut at = all.start;
            let starts = lengths.iter().map(|length| {
                at += *length as usize;
                at - *length as usize
            });
            agree("seq_lengths", starts.collect())?;
        }
        if let Some(starts) = list(seq_start_id, row) {
            let is_right = starts.first() == Some(&0)
                && starts.is_sorted_by(|a, b| a < b)
                && starts.last().is_some_and(|last| (*last as usize) < all.len());
            if !is_right {
                return Err(wrong("seq_start_id has no ascending places from 0 on".to_string()));
            }
            let starts = starts.iter().map(|start| all.start + *start as usize);
            agree("seq_start_id", starts.collect())?;
        }
        let starts = found.map_or(vec![all.start], |(_, starts)| starts);
        let ends = starts.iter().skip(1).copied().chain([all.end]);
        sequences.extend(starts.iter().copied().zip(ends).map(|(start, end)| start..end));
        self.stated_length(row, length, sequences)
    }

    /// Leaves out the padding at the end of each sequence that the column `length` does not count; fails if it says another
    /// length.
    fn stated_length(
        &self,
        row: usize,
        length: usize,
        sequences: &mut [Range<usize>],
    ) -> Result<(), RowFault> {
        let stated = self.columns.length_json.get(row);
        let stated = stated.and_then(|text| serde_json::from_str::<serde_json::Value>(text).ok());
        let attended = || sequences.iter().map(Range::len).sum::<usize>();
        let is_right = match &stated {
            Some(serde_json::Value::Number(number)) => {
                let number = number.as_u64();
                number == Some(length as u64) || number == Some(attended() as u64)
            }
            Some(serde_json::Value::Array(lengths)) => {
                let own = |length: &serde_json::Value| usize::try_from(length.as_u64()?).ok();
                let lengths: Option<Vec<usize>> = lengths.iter().map(own).collect();
                let lengths = lengths.filter(|lengths| {
                    let mut all = lengths.iter().zip(sequences.iter());
                    lengths.len() == sequences.len()
                        && all.all(|(own, sequence)| (1..=sequence.len()).contains(own))
                });
                let ends = lengths.iter().flatten().zip(sequences.iter_mut());
                ends.for_each(|(own, sequence)| sequence.end = sequence.start + own);
                lengths.is_some()
            }
            _ => true,
        };
        match (is_right, stated) {
            (false, Some(stated)) => {
                let cause = format!("length is {stated} of {}", exactly(length, "token"));
                Err(RowFault::Positions(cause))
            }
            _ => Ok(()),
        }
    }
}

fn list<'a>(column: Numbers<'a>, row: usize) -> Option<&'a [i32]> {
    (!column.is_null(row)).then(|| column.row(row))
}

/// Sets what labels do not train on to 0.
fn trained_labels(tokens: &[i32], labels: &[i32], trained: &mut [u8]) -> Result<(), RowFault> {
    let is_wrong = |(label, token): (&i32, &i32)| *label != IGNORED && label != token;
    let Some(place) = labels.iter().zip(tokens).position(is_wrong) else {
        let all = trained.iter_mut().zip(labels);
        all.for_each(|(trained, label)| *trained &= u8::from(*label != IGNORED));
        return Ok(());
    };
    // (A label of the next token: labels of a trainer that does not shift them itself.)
    let equal_if = |by: isize| {
        let other = |place: usize| place.checked_add_signed(by).and_then(|at| tokens.get(at));
        let all = labels.iter().enumerate();
        all.clone().any(|(_, label)| *label != IGNORED)
            && all.into_iter().all(|(place, label)| {
                *label == IGNORED || other(place).is_none_or(|token| token == label)
            })
    };
    let shifted = [(1, "next"), (-1, "last")].into_iter().find(|(by, _)| equal_if(*by));
    Err(match shifted {
        Some((_, which)) => RowFault::Shifted(format!(
            "each label is the {which} token, not its own: trainers shift labels themselves"
        )),
        None => RowFault::Value(format!(
            "labels[{place}] is {}, neither its token {} nor -100",
            labels[place], tokens[place]
        )),
    })
}
