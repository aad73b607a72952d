//! Fast writing and reading of the steps of games in NDJSON, in the one form that we write: all members in order,
//! nulls only in `branch_evs`, no white space. Nearly all bytes of games are such steps. Steps in any other form,
//! right or wrong, are left to the general writer and reader of NDJSON, which give the same results.

mod read;
mod write;

use std::sync::LazyLock;

use arrow_schema::Fields;

use super::StepFields;
use crate::record::declare::schema_of;

pub use self::read::{StepRows, read_steps};
pub use self::write::StepTexts;

/// Returns the fields of a step.
pub fn step_fields() -> &'static Fields {
    static FIELDS: LazyLock<Fields> = LazyLock::new(|| schema_of(StepFields::declared()).fields);
    &FIELDS
}
