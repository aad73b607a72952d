//! The table of record types, and the columns of a batch of records of any of them.

/// Declares the record types, in the order in which records are recognised. A type with a view of its rows must
/// be shown, counted, compared and checked: each of these four modules has a trait for views, and nothing compiles
/// before the view implements it.
///
/// (The macro is given a `$`, from which the macros inside it are made.)
macro_rules! record_types {
    ($d:tt $($type:ident $(=> $kind:ident($module:ident::$view:ident))?;)+) => {
        /// A view of a batch.
        #[expect(clippy::large_enum_variant, reason = "one for a batch, not for a record")]
        pub enum Rows<'a> {
            $($($kind($module::$view<'a>),)?)+
            /// A batch of a type that has no view here.
            Other(&'a RecordBatch),
        }

        impl<'a> Rows<'a> {
            /// Returns the view of a batch in the schema of the record type with this name.
            pub fn of(name: &str, batch: &'a RecordBatch) -> Result<Rows<'a>, ArrowError> {
                Ok(match name {
                    $($(name if name == $type.name => Rows::$kind($module::$view::of(batch)?),)?)+
                    _ => Rows::Other(batch),
                })
            }

            /// Returns the id of a record, if records of its type have one.
            pub fn id(&self, row: usize) -> Option<&'a str> {
                match self {
                    $($(Rows::$kind(rows) => rows.id(row),)?)+
                    Rows::Other(_) => None,
                }
            }
        }

        /// Evaluates one expression with whichever view it is, `each_rows!(rows, view =>
        /// view.bytes(row))`; if a second one is given, evaluates that with a batch that has no
        /// view.
        macro_rules! each_rows {
            ($d rows:expr, $d view:ident => $d done:expr) => {
                $crate::record::each_rows!($d rows, $d view => $d done, $d view => $d done)
            };
            ($d rows:expr, $d view:ident => $d done:expr, $d other:pat => $d otherwise:expr) => {
                match $d rows {
                    $($($crate::record::Rows::$kind($d view) => $d done,)?)+
                    $crate::record::Rows::Other($d other) => $d otherwise,
                }
            };
        }
        pub(crate) use each_rows;

        /// Passes the table to a macro: for each type with a view its name in [`Rows`], the type,
        /// and the view.
        macro_rules! each_kind {
            ($d then:ident) => {
                $d then! { $($($kind $type $module $view;)?)+ }
            };
        }
        pub(crate) use each_kind;
    };
}

pub(super) use record_types;
