//! How a record type is declared: each field once, with its type and its documentation.
//! `record_fields!` makes the schema, the view and the builder from that.

use arrow_array::ArrayRef;
use arrow_schema::{ArrowError, DataType, Field, Schema};

use super::{JsonForm, ndjson_name};

/// A type that a field may have: its form in an Arrow schema, and how its columns are read and
/// built.
pub trait FieldType {
    type View<'a>: Copy;
    type Builder: ColumnBuilder + Default;

    /// Returns the field of that name in a schema.
    fn field(name: &str) -> Field;

    /// Returns a view of a column; `None` if the column has another type.
    fn view(column: &ArrayRef) -> Option<Self::View<'_>>;

    /// Returns the fields of the structs that it holds.
    fn members() -> Vec<DeclaredField> {
        Vec::new()
    }
}

/// A column that is being built.
pub trait ColumnBuilder {
    /// Returns the rows so far.
    fn rows(&self) -> usize;

    fn build(self) -> Result<ArrayRef, ArrowError>;
}

/// A field as it is declared.
#[derive(Debug, Clone)]
pub struct DeclaredField {
    /// The field of the schema.
    pub field: Field,
    /// The meaning of its values: lines of Markdown.
    pub documentation: &'static [&'static str],
    /// The fields of its structs, if it has any.
    pub members: fn() -> Vec<DeclaredField>,
}

impl DeclaredField {
    pub fn of<T: FieldType>(name: &str, documentation: &'static [&'static str]) -> DeclaredField {
        DeclaredField { field: T::field(name), documentation, members: T::members }
    }

    /// Returns its row in the tables of `lib/stream/stream/SPEC.md`, and a row for each of its
    /// members.
    pub fn table_rows(&self, parent: &str) -> String {
        let name = format!("{parent}{}", self.field.name());
        let mut kind = type_name(&self.field);
        if JsonForm::of(&self.field).is_some() {
            kind += &format!(" (NDJSON: `{}`)", ndjson_name(&self.field));
        }
        let meaning = self.documentation.concat();
        let mut rows = format!("| `{name}` | {kind} |{meaning} |\n");
        for member in (self.members)() {
            rows += &member.table_rows(&format!("{name}."));
        }
        rows
    }
}

/// Returns the type of a field as written in SPEC.md; `?` if a value may be null.
fn type_name(field: &Field) -> String {
    let name = match field.data_type() {
        DataType::List(item) => format!("list&lt;{}&gt;", type_name(item)),
        DataType::Struct(_) => "struct".to_string(),
        other => other.to_string().to_lowercase(),
    };
    if field.is_nullable() { name + "?" } else { name }
}

/// Returns the schema of declared fields.
pub fn schema_of(declared: impl IntoIterator<Item = DeclaredField>) -> Schema {
    Schema::new(declared.into_iter().map(|declared| declared.field).collect::<Vec<Field>>())
}

/// Declares the fields of a record, or of the structs in one:
///
/// ```text
/// record_fields! {
///     /// One message's place among the tokens.
///     SegmentFields(SegmentColumns, SegmentBuilder) {
///         /// Who speaks.
///         role: String,
///         /// Null where there is none.
///         channel: Option<String>,
///     }
/// }
/// ```
///
/// - `SegmentFields` is the declaration: a [`FieldType`], so that other declarations may hold it
///   (`segments: List<SegmentFields>`). `SegmentFields::declared()` lists its fields. The types
///   that a field may have are in `columns`.
/// - `SegmentColumns` is a view of a batch or struct array: each field is the view of a column.
/// - `SegmentBuilder` builds one: each field is the builder of a column.
///
/// View and builder are made for every declaration, also if only one of them is used.
#[macro_export]
macro_rules! record_fields {
    ($(#[$attribute:meta])* $name:ident($view:ident, $builder:ident) {
        $($(#[doc = $doc:literal])* $field:ident: $type:ty,)+
    }) => {
        $(#[$attribute])*
        #[derive(Debug)]
        pub enum $name {}

        impl $name {
            /// Returns the fields, in the order of the schema.
            pub fn declared() -> Vec<DeclaredField> {
                vec![$(DeclaredField::of::<$type>(stringify!($field), &[$($doc),*])),+]
            }
        }

        impl FieldType for $name {
            type View<'a> = $view<'a>;
            type Builder = $builder;

            fn field(name: &str) -> Field {
                Field::new(name, DataType::Struct(schema_of($name::declared()).fields), false)
            }

            fn view(column: &ArrayRef) -> Option<$view<'_>> {
                $view::of_columns(column.as_struct_opt()?.columns()).ok()
            }

            fn members() -> Vec<DeclaredField> {
                $name::declared()
            }
        }

        #[doc = concat!("A view of the columns of [`", stringify!($name), "`].")]
        #[derive(Debug, Clone, Copy)]
        pub struct $view<'a> {
            $($(#[doc = $doc])* pub $field: <$type as FieldType>::View<'a>,)+
        }

        impl<'a> $view<'a> {
            /// Returns a view of columns that begin with the columns of this record. Other columns are an error
            /// (the stream readers convert every batch first).
            pub fn of_columns(columns: &'a [ArrayRef]) -> Result<$view<'a>, ArrowError> {
                let mut columns = columns.iter();
                $(let $field = columns.next().and_then(<$type as FieldType>::view);)+
                Ok($view { $($field: $field.ok_or_else(|| wrong_column(stringify!($field)))?,)+ })
            }
        }

        #[doc = concat!("Builds the columns of [`", stringify!($name), "`].")]
        #[derive(Debug, Default)]
        pub struct $builder {
            $($(#[doc = $doc])* pub $field: <$type as FieldType>::Builder,)+
        }

        impl $builder {
            /// Returns the columns, in the order of the schema.
            pub fn columns(self) -> Result<Vec<ArrayRef>, ArrowError> {
                Ok(vec![$(self.$field.build()?),+])
            }
        }

        impl ColumnBuilder for $builder {
            fn rows(&self) -> usize {
                [$(self.$field.rows()),+][0]
            }

            fn build(self) -> Result<ArrayRef, ArrowError> {
                let fields = schema_of($name::declared()).fields;
                Ok(Arc::new(StructArray::try_new(fields, self.columns()?, None)?))
            }
        }
    };
}

pub use crate::record_fields;
