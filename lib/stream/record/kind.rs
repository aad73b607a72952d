//! How the rows of a batch are read, for code that does not know the type of the records.

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use super::RecordType;

/// A kind of records: an empty type that stands for all views of one record type, each of which borrows a batch.
pub trait RecordKind: Sync + 'static {
    const RECORD: &'static RecordType;

    /// The view of a batch.
    type Rows<'a>;

    /// Returns the view of a batch in the schema of the record type.
    fn rows(batch: &RecordBatch) -> Result<Self::Rows<'_>, ArrowError>;

    /// Returns the id of a record, if records of its type have one.
    fn id<'r>(_rows: &'r Self::Rows<'_>, _row: usize) -> Option<&'r str> {
        None
    }
}

/// Records of a type that is not known: their columns.
pub struct OtherKind;

/// The type of all records of which nothing is known.
static OTHER: RecordType =
    RecordType { name: "other", singular: "record", plural: "records", ..RecordType::PLAIN };

impl RecordKind for OtherKind {
    const RECORD: &'static RecordType = &OTHER;

    type Rows<'a> = &'a RecordBatch;

    fn rows(batch: &RecordBatch) -> Result<&RecordBatch, ArrowError> {
        Ok(batch)
    }
}
