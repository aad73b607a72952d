//! Pairs as the columns of each form, and back.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Int32Array, Int64Array, ListArray, RecordBatch, StringArray,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

use super::PairForm;
use crate::record::pairs::{Identity, PairBuilder, Pairs};

const PROMPT: &str = "prompt_ids";
const CHOSEN: &str = "chosen_ids";
const REJECTED: &str = "rejected_ids";
const COMPLETION: &str = "completion_ids";
const LABEL: &str = "label";
/// The tokens of the prompt with which both answers of a row begin.
const PROMPT_LENGTH: &str = "prompt_length";
const ID: &str = "id";

impl PairForm {
    /// The columns of token ids.
    fn lists(self) -> &'static [&'static str] {
        match self {
            PairForm::TrlDpo => &[PROMPT, CHOSEN, REJECTED],
            PairForm::TrlReward => &[CHOSEN, REJECTED],
            PairForm::TrlKto => &[PROMPT, COMPLETION],
        }
    }

    /// Returns the columns of a file of this form. (Lists of int64, as TRL's own datasets have.)
    pub fn schema(self, with_ids: bool) -> SchemaRef {
        let lists = self.lists().iter().map(|name| Field::new(*name, list_of_int64(), false));
        let mut fields: Vec<Field> = lists.collect();
        match self {
            PairForm::TrlDpo => {}
            PairForm::TrlReward => fields.push(Field::new(PROMPT_LENGTH, DataType::Int32, false)),
            PairForm::TrlKto => fields.push(Field::new(LABEL, DataType::Boolean, false)),
        }
        fields.extend(with_ids.then(|| Field::new(ID, DataType::Utf8, true)));
        SchemaRef::new(Schema::new(fields))
    }
}

fn list_of_int64() -> DataType {
    DataType::List(Arc::new(Field::new("item", DataType::Int64, false)))
}

/// A column of lists of token ids.
#[derive(Default)]
struct TokenLists {
    values: Vec<i64>,
    lengths: Vec<usize>,
}

impl TokenLists {
    fn push(&mut self, parts: &[&[i32]]) {
        let before = self.values.len();
        for tokens in parts {
            self.values.extend(tokens.iter().map(|&id| i64::from(id)));
        }
        self.lengths.push(self.values.len() - before);
    }

    fn finish(self) -> Result<ArrayRef, ArrowError> {
        let DataType::List(item) = list_of_int64() else {
            return Err(ArrowError::SchemaError("no list".to_string()));
        };
        let offsets = OffsetBuffer::from_lengths(self.lengths);
        let values = Arc::new(Int64Array::from(self.values));
        Ok(Arc::new(ListArray::try_new(item, offsets, values, None)?))
    }
}

/// Returns a block of pairs as rows. Rows of [`PairForm::TrlKto`] are those of all chosen answers, then those of all
/// rejected ones, as TRL's `unpair_preference_dataset` has them.
pub fn columns_of(
    pairs: &Pairs<'_>,
    form: PairForm,
    with_ids: bool,
) -> Result<RecordBatch, ArrowError> {
    let count = pairs.len();
    let mut lists: Vec<TokenLists> = form.lists().iter().map(|_| TokenLists::default()).collect();
    for answer in 0..form.rows_of_pair() as usize {
        for row in 0..count {
            let [prompt, chosen, rejected] = pairs.parts(row);
            match form {
                PairForm::TrlDpo => {
                    let parts = [prompt, chosen, rejected];
                    lists.iter_mut().zip(parts).for_each(|(list, part)| list.push(&[part]));
                }
                PairForm::TrlReward => {
                    let parts = [chosen, rejected];
                    lists.iter_mut().zip(parts).for_each(|(list, part)| list.push(&[prompt, part]));
                }
                PairForm::TrlKto => {
                    let parts = [prompt, [chosen, rejected][answer]];
                    lists.iter_mut().zip(parts).for_each(|(list, part)| list.push(&[part]));
                }
            }
        }
    }
    let lists = lists.into_iter().map(TokenLists::finish);
    let mut columns = lists.collect::<Result<Vec<ArrayRef>, ArrowError>>()?;
    match form {
        PairForm::TrlDpo => {}
        PairForm::TrlReward => {
            let lengths = (0..count).map(|row| pairs.parts(row)[0].len() as i32);
            columns.push(Arc::new(Int32Array::from_iter_values(lengths)));
        }
        PairForm::TrlKto => {
            let labels: Vec<bool> = (0..2 * count).map(|row| row < count).collect();
            columns.push(Arc::new(BooleanArray::from(labels)));
        }
    }
    if with_ids {
        let rows = (0..form.rows_of_pair()).flat_map(|_| 0..count);
        let ids: StringArray = rows.map(|row| pairs.id(row)).collect();
        columns.push(Arc::new(ids));
    }
    RecordBatch::try_new(form.schema(with_ids), columns)
}

/// The columns of a block.
struct Block<'a> {
    lists: Vec<&'a ListArray>,
    ids: Option<&'a StringArray>,
}

impl<'a> Block<'a> {
    fn of(rows: &'a RecordBatch, form: PairForm) -> Result<Block<'a>, String> {
        let column = |name: &str| {
            let found = rows.column_by_name(name);
            found.ok_or_else(|| format!("has no column {name}, as {} has", form.name()))
        };
        let list = |name: &&str| {
            let list = column(name)?.as_list_opt::<i32>();
            let list = list.filter(|list| {
                let values = list.values();
                values.as_primitive_opt::<Int64Type>().is_some() && values.null_count() == 0
            });
            let list = list.filter(|list| list.null_count() == 0);
            list.ok_or_else(|| format!("column {name}: wanted lists of int64 without nulls"))
        };
        let lists = form.lists().iter().map(list).collect::<Result<_, String>>()?;
        Ok(Block { lists, ids: rows.column_by_name(ID).and_then(|ids| ids.as_string_opt()) })
    }

    /// Appends the tokens of a row of a list.
    fn tokens(&self, list: usize, row: usize, out: &mut Vec<i32>) -> Result<(), String> {
        let list = self.lists[list];
        let [start, end] = [0, 1].map(|next| list.value_offsets()[row + next] as usize);
        let values = list.values().as_primitive::<Int64Type>();
        for &id in &values.values()[start..end] {
            out.push(i32::try_from(id).map_err(|_| format!("row {row}: the token {id}"))?);
        }
        Ok(())
    }

    fn id(&self, row: usize) -> Option<&'a str> {
        self.ids.filter(|ids| ids.is_valid(row)).map(|ids| ids.value(row))
    }
}

/// Returns the pairs of a block of rows; rows of the block before it are `first`. The error says what no writer of ours
/// writes.
pub fn pairs_of(
    rows: &RecordBatch,
    form: PairForm,
    (input, first): (&str, u64),
) -> Result<RecordBatch, String> {
    let block = Block::of(rows, form)?;
    let count = rows.num_rows() / form.rows_of_pair() as usize;
    if form == PairForm::TrlKto {
        let labels = rows.column_by_name(LABEL).and_then(|labels| labels.as_boolean_opt());
        let labels = labels.ok_or_else(|| format!("column {LABEL}: wanted booleans"))?;
        let is_right = |row: usize| labels.is_valid(row) && labels.value(row) == (row < count);
        if !rows.num_rows().is_multiple_of(2) || !(0..rows.num_rows()).all(is_right) {
            return Err("a block is not as many chosen answers as rejected ones".to_string());
        }
    }
    let lengths = match form {
        PairForm::TrlReward => {
            let lengths = rows.column_by_name(PROMPT_LENGTH);
            let lengths = lengths.and_then(|lengths| lengths.as_primitive_opt::<Int32Type>());
            let lengths = lengths.filter(|lengths| lengths.null_count() == 0);
            Some(lengths.ok_or_else(|| format!("column {PROMPT_LENGTH}: wanted int32"))?)
        }
        _ => None,
    };
    let mut builder = PairBuilder::default();
    let mut parts: [Vec<i32>; 3] = Default::default();
    for row in 0..count {
        parts.iter_mut().for_each(Vec::clear);
        let [prompt, chosen, rejected] = &mut parts;
        match form {
            PairForm::TrlDpo => {
                block.tokens(0, row, prompt)?;
                block.tokens(1, row, chosen)?;
                block.tokens(2, row, rejected)?;
            }
            PairForm::TrlReward => {
                block.tokens(0, row, chosen)?;
                block.tokens(1, row, rejected)?;
                let length = lengths.map_or(0, |lengths| lengths.value(row));
                let length = usize::try_from(length).unwrap_or(usize::MAX);
                let begins = chosen.get(..length).zip(rejected.get(..length));
                if begins.is_none_or(|(a, b)| a != b) {
                    return Err(format!("row {row}: its answers do not begin with one prompt"));
                }
                prompt.extend_from_slice(&chosen[..length]);
                chosen.drain(..length);
                rejected.drain(..length);
            }
            PairForm::TrlKto => {
                let mut other = Vec::new();
                block.tokens(0, row, prompt)?;
                block.tokens(0, count + row, &mut other)?;
                if other != *prompt || block.id(row) != block.id(count + row) {
                    return Err(format!("rows {row} and {} are not of one pair", count + row));
                }
                block.tokens(1, row, chosen)?;
                block.tokens(1, count + row, rejected)?;
            }
        }
        let identity =
            Identity { id: block.id(row), input: Some(input), row: Some(first + row as u64) };
        let made = builder.push(identity, parts.each_ref().map(Vec::as_slice));
        made.map_err(|error| error.to_string())?;
    }
    builder.finish().map_err(|error| error.to_string())
}
