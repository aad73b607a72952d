//! The record types: their names, their fields, and typed views of their
//! columns. Plain data: nothing here reads or writes.
//!
//! A batch of records is an Arrow `RecordBatch` in the record type's schema; NDJSON and Arrow IPC are its
//! encodings (`lib/stream/stream`). A new record type is one file here, with its fields declared (see
//! `declare`), and a line in `lib/core/subjects.rs`. A test then prints the table that SPEC.md must have for it.
//! How records of the type are counted, shown, compared and checked is said in `lib/chats/kinds`.

pub mod columns;
pub mod declare;
pub mod identity;
mod kind;
pub mod nullable;
pub mod part_id;
pub mod prelude;
pub mod python;
pub mod quick;
pub mod stated;
mod twice;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};

use self::declare::{DeclaredField, schema_of};
use self::quick::QuickItems;
use self::stated::StatedMember;
use crate::batch::Statement;
use crate::error::Result;
use crate::handed::Handed;

pub use kind::{OtherKind, RecordKind};
pub use twice::column_twice;

/// A record type: the contract that its two encodings share.
pub struct RecordType {
    /// The name in the stream's header.
    pub name: &'static str,
    /// The word for one such record, and for several.
    pub singular: &'static str,
    pub plural: &'static str,
    /// The version, which is raised when the meaning of a field changes.
    pub version: u64,
    /// Whether fields that the type does not declare are kept with the record: people write such records, with fields
    /// of their own. Of other types such fields are skipped.
    pub has_others: bool,
    /// All fields; a nullable one may be absent from a stream.
    pub fields: fn() -> Vec<DeclaredField>,
    /// Lists of fields: an NDJSON record is recognised as this type if it has all fields of one
    /// list.
    pub marking_fields: &'static [&'static [&'static str]],
    /// The filter or source of such records, for error messages.
    pub made_by: &'static str,
    /// The types that filters make from such records: the name of each type, and the filters.
    pub made_into: &'static [(&'static str, &'static str)],
    /// The filter that takes such records if none makes other ones of them.
    pub taken_by: Option<&'static str>,
    /// Whether only filters make such records: then records that these filters dropped belong to the
    /// counts. Other records are also written by people, and the counts begin with a file of them.
    pub is_derived: bool,
    /// Whether people write such records in any shape.
    pub is_of_people: bool,
    /// The member of NDJSON records that the header of other encodings states.
    pub stated: Option<StatedMember>,
    /// The records that are mistaken for these, because they have the same members.
    pub look_alike: Option<LookAlike>,
    /// A struct in their lists that is read and written many at once.
    pub quick: Option<&'static dyn QuickItems>,
    /// How they are written as grids, for people.
    pub grids: Option<Grids>,
}

/// Records as grids.
#[derive(Clone, Copy)]
pub struct Grids {
    pub schema: fn() -> SchemaRef,
    /// Returns the rows of a batch as grids; so many rows came before.
    pub of: fn(&RecordBatch, u64) -> Result<RecordBatch>,
}

/// Records of people that have the members of another type: chats beside conversations.
pub struct LookAlike {
    /// The type of these records.
    pub record: &'static RecordType,
    /// The column after those of ids, which the other type has.
    pub column: &'static str,
    /// What only headers of the other type state.
    pub statement: &'static Statement<String>,
    /// Returns the filter that makes the other type from the text of a record; `None` if it is no such record.
    pub filter_of: fn(&str) -> Option<String>,
}

impl fmt::Debug for RecordType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// The column of all fields that the type does not have, in the form [`JsonForm::Rest`]; null if
/// there are none.
pub const OTHERS: &str = "gristmill_others";

impl RecordType {
    /// A type with nothing of its own, from which others are made.
    pub const PLAIN: RecordType = RecordType {
        name: "",
        singular: "",
        plural: "",
        version: 1,
        has_others: false,
        fields: Vec::new,
        marking_fields: &[],
        made_by: "",
        made_into: &[],
        taken_by: None,
        is_derived: false,
        is_of_people: false,
        stated: None,
        look_alike: None,
        quick: None,
        grids: None,
    };

    /// Whether a record with these fields is known to be of this type.
    pub fn is_known_by(&self, has: impl Fn(&str) -> bool) -> bool {
        self.marking_fields.iter().any(|names| names.iter().all(|name| has(name)))
    }

    /// Returns the filters, one after another, that make records of another type from these; `None`
    /// if there are none.
    pub fn way_to(&self, wanted: &RecordType) -> Option<String> {
        self.way_within(wanted, RECORD_TYPES.len())
    }

    fn way_within(&self, wanted: &RecordType, steps: usize) -> Option<String> {
        let steps = steps.checked_sub(1)?;
        self.made_into.iter().find_map(|(name, filters)| {
            if *name == wanted.name {
                return Some(filters.to_string());
            }
            let rest = record_type(name)?.way_within(wanted, steps)?;
            Some(format!("{filters} | {rest}"))
        })
    }

    pub fn schema(&self) -> SchemaRef {
        Arc::new(schema_of((self.fields)()))
    }

    /// Returns the schema in which nothing of a record is lost.
    pub fn whole_schema(&self) -> SchemaRef {
        let schema = self.schema();
        if !self.has_others {
            return schema;
        }
        let others = JsonForm::Rest.mark(Field::new(OTHERS, DataType::Utf8, true));
        let fields = schema.fields().iter().cloned().chain([Arc::new(others)]);
        Arc::new(Schema::new(fields.collect::<Vec<FieldRef>>()))
    }
}

/// Every record type, in the order in which records are recognised.
pub static RECORD_TYPES: Handed<&'static RecordType> = Handed::new();

/// Every type of raw rows. Such rows may lack any field, and any single one of their fields may be another type's.
pub static RAW_TYPES: Handed<&'static RecordType> = Handed::new();

/// Returns the record type that is recognised by one of the fields for which `has` is true.
pub fn record_type_with(has: impl Fn(&str) -> bool) -> Option<&'static RecordType> {
    RECORD_TYPES.iter().find(|record| record.is_known_by(&has)).copied()
}

/// Returns the record type that is recognised by these fields, or raw rows, for an error that names
/// the type of the input.
pub fn named_type_with(has: impl Fn(&str) -> bool) -> Option<&'static RecordType> {
    let has_all = |raw: &&&RecordType| {
        raw.marking_fields.iter().flat_map(|names| names.iter()).all(|name| has(name))
    };
    record_type_with(&has).or_else(|| RAW_TYPES.iter().find(has_all).copied())
}

/// Returns how items with these fields are read and written many at once, if they have a usual text.
pub fn quick_items(fields: &Fields) -> Option<&'static dyn QuickItems> {
    let mut all = RECORD_TYPES.iter().filter_map(|record| record.quick);
    all.find(|items| items.fields() == fields)
}

/// Returns the type that a record, by its text, is mistaken for, with the filter that makes records of that type.
pub fn look_alike(text: &str) -> Option<(&'static RecordType, String)> {
    let filter = |record: &&'static RecordType| {
        Some((*record, (record.look_alike.as_ref()?.filter_of)(text)?))
    };
    RECORD_TYPES.iter().find_map(filter)
}

/// Returns the word for records of that type; "records" for an unknown type.
pub fn plural_of(name: &str) -> &'static str {
    record_type(name).map_or("records", |record| record.plural)
}

/// Returns the record type with that name.
pub fn record_type(name: &str) -> Option<&'static RecordType> {
    RECORD_TYPES.iter().find(|record| record.name == name).copied()
}

/// Field metadata: the text of this column is JSON. NDJSON has the value itself, under the field's
/// name without `_json`; the value of the metadata says how (see [`JsonForm`]).
const JSON: &str = "gristmill.json";

/// Field metadata: NDJSON leaves out this field if it is null.
const RARE: &str = "gristmill.rare";

/// Marks a field that few records have.
fn mark_rare(field: Field) -> Field {
    field.with_metadata(HashMap::from([(RARE.to_string(), "true".to_string())]))
}

/// Whether NDJSON leaves out a field if it is null.
pub fn is_rare(field: &Field) -> bool {
    field.metadata().contains_key(RARE)
}

/// How a JSON column's text is made from its NDJSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonForm {
    /// The text is the value, an object.
    Value,
    /// The text is the value, of any kind.
    Any,
    /// The text is an object with one member, named as the NDJSON field: `{"messages": [...]}`.
    Member,
    /// The text is the whole record, an object: the only column of its schema.
    Record,
    /// The text is an object of the members that have no column; NDJSON has them as members of the record.
    Rest,
}

impl JsonForm {
    /// Returns the form of a field, if it holds JSON.
    pub fn of(field: &Field) -> Option<JsonForm> {
        match field.metadata().get(JSON).map(String::as_str) {
            Some("value") => Some(JsonForm::Value),
            Some("any") => Some(JsonForm::Any),
            Some("member") => Some(JsonForm::Member),
            Some("record") => Some(JsonForm::Record),
            Some("rest") => Some(JsonForm::Rest),
            _ => None,
        }
    }

    /// Whether records in this schema are one column of their whole texts.
    pub fn is_of_records(schema: &Schema) -> bool {
        let [field] = &schema.fields()[..] else { return false };
        JsonForm::of(field) == Some(JsonForm::Record)
    }

    /// Whether a field holds the fields that have no column of their own.
    pub fn is_rest(field: &Field) -> bool {
        JsonForm::of(field) == Some(JsonForm::Rest)
    }

    /// Whether all columns of an input go into the columns of this schema.
    pub fn takes_all(schema: &Schema) -> bool {
        let mut forms = schema.fields().iter().filter_map(|field| JsonForm::of(field));
        forms.any(|form| matches!(form, JsonForm::Record | JsonForm::Rest))
    }

    /// Marks a utf8 field as one that holds JSON.
    pub fn mark(self, field: Field) -> Field {
        let form = match self {
            JsonForm::Value => "value",
            JsonForm::Any => "any",
            JsonForm::Member => "member",
            JsonForm::Record => "record",
            JsonForm::Rest => "rest",
        };
        field.with_metadata(HashMap::from([(JSON.to_string(), form.to_string())]))
    }
}

/// Whether a text column of another program holds JSON: Parquet's logical type JSON, Arrow's
/// extension type `arrow.json` (which the Parquet crate makes of it). DuckDB writes members of
/// mixed types in this way.
pub fn is_json_text(field: &Field) -> bool {
    use arrow_schema::DataType::{LargeUtf8, Utf8, Utf8View};
    let is_text = matches!(field.data_type(), Utf8 | LargeUtf8 | Utf8View);
    is_text && field.extension_type_name() == Some("arrow.json")
}

/// Returns the name of a field in NDJSON: for a JSON column the name without `_json`.
pub fn ndjson_name(field: &Field) -> &str {
    match JsonForm::of(field) {
        Some(_) => field.name().strip_suffix("_json").unwrap_or(field.name()),
        None => field.name(),
    }
}
