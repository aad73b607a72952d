//! The filters whose results are compared with rows.

mod prepared;

pub use gristmill_tokens::stage::*;
pub use prepared::{Preparation, PreparationArgs};
