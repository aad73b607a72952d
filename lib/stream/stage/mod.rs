//! Stages for any records.

mod json_members;

pub use json_members::check_json_members;
