//! The structs in a footer and in the header of a page, and what their fields hold. Fields that are not here (later
//! versions of the format may add some) may hold anything.
//!
//! Source: parquet.thrift of the Parquet format.

use Kind::{Bool, Bytes, I8, I16, I32, I64, List, Struct};

/// The type of a field. Enums are numbers of 32 bits, and a union is a struct.
pub(super) enum Kind {
    Bool,
    I8,
    I16,
    I32,
    I64,
    Bytes,
    List(&'static Kind),
    Struct(&'static Shape),
}

/// The fields of a struct by their numbers.
pub(super) struct Shape(&'static [(i16, Kind)]);

impl Kind {
    /// Whether a type of the compact protocol is this one.
    pub fn is(&self, code: u8) -> bool {
        match self {
            // The value is in the type.
            Bool => matches!(code, 1 | 2),
            I8 => code == 3,
            I16 => code == 4,
            I32 => code == 5,
            I64 => code == 6,
            Bytes => code == 8,
            List(_) => code == 9,
            Struct(_) => code == 12,
        }
    }
}

impl Shape {
    pub fn field(&self, id: i16) -> Option<&'static Kind> {
        self.0.iter().find(|(known, _)| *known == id).map(|(_, kind)| kind)
    }
}

/// `FileMetaData`.
pub(super) static FOOTER: Shape = Shape(&[
    (1, I32),
    (2, List(&Struct(&SCHEMA_ELEMENT))),
    (3, I64),
    (4, List(&Struct(&ROW_GROUP))),
    (5, List(&Struct(&KEY_VALUE))),
    (6, Bytes),
    (7, List(&Struct(&COLUMN_ORDER))),
    (9, Bytes),
]);

/// `PageHeader`.
pub(super) static PAGE_HEADER: Shape = Shape(&[
    (1, I32),
    (2, I32),
    (PAGE_BYTES, I32),
    (4, I32),
    (5, Struct(&DATA_PAGE_HEADER)),
    (6, Struct(&EMPTY)),
    (7, Struct(&DICTIONARY_PAGE_HEADER)),
    (8, Struct(&DATA_PAGE_HEADER_V2)),
]);

/// The field of a page header that states how many bytes follow it.
pub(super) const PAGE_BYTES: i16 = 3;

static EMPTY: Shape = Shape(&[]);

static SCHEMA_ELEMENT: Shape = Shape(&[
    (1, I32),
    (2, I32),
    (3, I32),
    (4, Bytes),
    (5, I32),
    (6, I32),
    (7, I32),
    (8, I32),
    (9, I32),
    (10, Struct(&LOGICAL_TYPE)),
]);

static LOGICAL_TYPE: Shape = Shape(&[
    (1, Struct(&EMPTY)),
    (2, Struct(&EMPTY)),
    (3, Struct(&EMPTY)),
    (4, Struct(&EMPTY)),
    (5, Struct(&DECIMAL)),
    (6, Struct(&EMPTY)),
    (7, Struct(&TIME)),
    (8, Struct(&TIME)),
    (10, Struct(&INTEGER)),
    (11, Struct(&EMPTY)),
    (12, Struct(&EMPTY)),
    (13, Struct(&EMPTY)),
    (14, Struct(&EMPTY)),
    (15, Struct(&EMPTY)),
]);

static DECIMAL: Shape = Shape(&[(1, I32), (2, I32)]);

/// `TimeType` and `TimestampType`.
static TIME: Shape = Shape(&[(1, Bool), (2, Struct(&TIME_UNIT))]);

static TIME_UNIT: Shape = Shape(&[(1, Struct(&EMPTY)), (2, Struct(&EMPTY)), (3, Struct(&EMPTY))]);

static INTEGER: Shape = Shape(&[(1, I8), (2, Bool)]);

static COLUMN_ORDER: Shape = Shape(&[(1, Struct(&EMPTY))]);

static KEY_VALUE: Shape = Shape(&[(1, Bytes), (2, Bytes)]);

static ROW_GROUP: Shape = Shape(&[
    (1, List(&Struct(&COLUMN_CHUNK))),
    (2, I64),
    (3, I64),
    (4, List(&Struct(&SORTING_COLUMN))),
    (5, I64),
    (6, I64),
    (7, I16),
]);

static SORTING_COLUMN: Shape = Shape(&[(1, I32), (2, Bool), (3, Bool)]);

static COLUMN_CHUNK: Shape = Shape(&[
    (1, Bytes),
    (2, I64),
    (3, Struct(&COLUMN_METADATA)),
    (4, I64),
    (5, I32),
    (6, I64),
    (7, I32),
    (9, Bytes),
]);

static COLUMN_METADATA: Shape = Shape(&[
    (1, I32),
    (2, List(&I32)),
    (3, List(&Bytes)),
    (4, I32),
    (5, I64),
    (6, I64),
    (7, I64),
    (8, List(&Struct(&KEY_VALUE))),
    (9, I64),
    (10, I64),
    (11, I64),
    (12, Struct(&STATISTICS)),
    (13, List(&Struct(&PAGE_ENCODING_STATS))),
    (14, I64),
    (15, I32),
    (16, Struct(&SIZE_STATISTICS)),
]);

static STATISTICS: Shape = Shape(&[
    (1, Bytes),
    (2, Bytes),
    (3, I64),
    (4, I64),
    (5, Bytes),
    (6, Bytes),
    (7, Bool),
    (8, Bool),
]);

static PAGE_ENCODING_STATS: Shape = Shape(&[(1, I32), (2, I32), (3, I32)]);

static SIZE_STATISTICS: Shape = Shape(&[(1, I64), (2, List(&I64)), (3, List(&I64))]);

static DATA_PAGE_HEADER: Shape =
    Shape(&[(1, I32), (2, I32), (3, I32), (4, I32), (5, Struct(&STATISTICS))]);

static DICTIONARY_PAGE_HEADER: Shape = Shape(&[(1, I32), (2, I32), (3, Bool)]);

static DATA_PAGE_HEADER_V2: Shape = Shape(&[
    (1, I32),
    (2, I32),
    (3, I32),
    (4, I32),
    (5, I32),
    (6, I32),
    (7, Bool),
    (8, Struct(&STATISTICS)),
]);
