//! Fast writing and reading of the steps of games in NDJSON, in the one form that we write: all members in order,
//! nulls only in `branch_evs`, no white space. Nearly all bytes of games are such steps. Steps in any other form,
//! right or wrong, are left to the general writer and reader of NDJSON, which give the same results.

mod read;
mod write;

use std::sync::LazyLock;

use arrow_array::StructArray;
use arrow_schema::Fields;

use super::StepFields;
use crate::record::declare::schema_of;
use crate::record::quick::{QuickColumn, QuickItems, QuickTexts};

use self::read::{StepRows, read_steps};
use self::write::StepTexts;

/// Returns the fields of a step.
fn step_fields() -> &'static Fields {
    static FIELDS: LazyLock<Fields> = LazyLock::new(|| schema_of(StepFields::declared()).fields);
    &FIELDS
}

/// Steps of games as items of lists.
pub struct QuickSteps;

impl QuickItems for QuickSteps {
    fn fields(&self) -> &'static Fields {
        step_fields()
    }

    fn read(&self, text: &str, start: usize, columns: Vec<QuickColumn<'_>>) -> usize {
        StepRows::of(columns).map_or(start, |mut rows| read_steps(text, start, &mut rows))
    }

    fn texts<'a>(&self, array: &'a StructArray) -> Option<Box<dyn QuickTexts + 'a>> {
        Some(Box::new(StepTexts::of(array)?))
    }
}

#[cfg(test)]
mod tests;
