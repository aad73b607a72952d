//! The imports of a record type's file: `use crate::record::prelude::*`.

pub use super::RecordType;
pub use super::columns::*;
pub use super::declare::record_fields;
pub use super::declare::{ColumnBuilder, DeclaredField, FieldType, schema_of};
pub use arrow_array::{Array, ArrayRef, RecordBatch, StructArray, cast::AsArray};
pub use arrow_schema::{ArrowError, DataType, Field, Schema};
pub use std::sync::Arc;
