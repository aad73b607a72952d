//! Types of array elements, their sizes, and their text in a header.

use std::fmt::{self, Write as _};

/// The type of an array's elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dtype {
    Scalar(Scalar),
    Struct(Vec<Field>),
}

/// A type without fields, such as `<u4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scalar {
    pub order: ByteOrder,
    /// NumPy's letter: `b` bool, `i` and `u` integers, `f` float, `c` complex, `S` bytes,
    /// `U` text, `V` raw.
    pub kind: u8,
    /// Bytes; for `U` characters, of four bytes each.
    pub size: usize,
}

/// What the first character of a scalar's text says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteOrder {
    Little,
    Big,
    /// A type of single bytes has no order.
    None,
}

/// A field of a structure, or padding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Empty for padding.
    pub name: String,
    pub dtype: Dtype,
    /// The shape of the field's own array; empty for a single value.
    pub shape: Vec<usize>,
}

/// A field and where it stands in the structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldAt<'a> {
    pub offset: usize,
    pub field: &'a Field,
}

impl Scalar {
    pub fn bytes(&self) -> Option<usize> {
        if self.kind == b'U' { self.size.checked_mul(4) } else { Some(self.size) }
    }
}

impl Field {
    /// A field of one value; `descr` is a scalar's text.
    pub fn new(name: &str, dtype: Dtype) -> Field {
        Field { name: name.to_owned(), dtype, shape: Vec::new() }
    }

    /// Bytes of the field; `None` if they cannot be counted.
    pub fn bytes(&self) -> Option<usize> {
        self.shape.iter().try_fold(self.dtype.bytes()?, |bytes, &length| bytes.checked_mul(length))
    }

    /// Whether this is padding: raw bytes without a name.
    pub fn is_padding(&self) -> bool {
        self.name.is_empty() && matches!(self.dtype, Dtype::Scalar(Scalar { kind: b'V', .. }))
    }
}

impl Dtype {
    /// A little-endian scalar, or one of single bytes: `kind` is NumPy's letter.
    pub fn scalar(kind: u8, size: usize) -> Dtype {
        let single = size == 1 || matches!(kind, b'S' | b'V');
        let order = if single { ByteOrder::None } else { ByteOrder::Little };
        Dtype::Scalar(Scalar { order, kind, size })
    }

    /// Bytes of one element; `None` if they cannot be counted.
    pub fn bytes(&self) -> Option<usize> {
        match self {
            Dtype::Scalar(scalar) => scalar.bytes(),
            Dtype::Struct(fields) => {
                fields.iter().try_fold(0usize, |bytes, field| bytes.checked_add(field.bytes()?))
            }
        }
    }

    /// The field of this name and its offset.
    pub fn field(&self, name: &str) -> Option<FieldAt<'_>> {
        let Dtype::Struct(fields) = self else { return None };
        let mut offset = 0usize;
        for field in fields {
            if field.name == name && !field.is_padding() {
                return Some(FieldAt { offset, field });
            }
            offset = offset.checked_add(field.bytes()?)?;
        }
        None
    }
}

/// The text that `numpy.save` writes as `descr`.
impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dtype::Scalar(scalar) => {
                let order = match scalar.order {
                    ByteOrder::Little => '<',
                    ByteOrder::Big => '>',
                    ByteOrder::None => '|',
                };
                write!(f, "'{order}{}{}'", scalar.kind as char, scalar.size)
            }
            Dtype::Struct(fields) => {
                f.write_char('[')?;
                for (i, field) in fields.iter().enumerate() {
                    let comma = if i == 0 { "" } else { ", " };
                    write!(f, "{comma}('{}', {}", field.name, field.dtype)?;
                    if !field.shape.is_empty() {
                        f.write_str(", ")?;
                        write_tuple(f, &field.shape)?;
                    }
                    f.write_char(')')?;
                }
                f.write_char(']')
            }
        }
    }
}

/// Writes a tuple as Python does: `(4,)`, `(2, 3)`, `()`.
pub(super) fn write_tuple<T: fmt::Display>(out: &mut impl fmt::Write, values: &[T]) -> fmt::Result {
    out.write_char('(')?;
    for (i, value) in values.iter().enumerate() {
        let comma = if i == 0 { "" } else { ", " };
        write!(out, "{comma}{value}")?;
    }
    out.write_str(if values.len() == 1 { ",)" } else { ")" })
}

/// The 48-byte row of a Macroxue pack, padding included.
pub fn aligned_step_row() -> Dtype {
    step_row(true)
}

/// The same row packed to 46 bytes.
pub fn packed_step_row() -> Dtype {
    step_row(false)
}

fn step_row(aligned: bool) -> Dtype {
    let field = |name, kind, size| Field::new(name, Dtype::scalar(kind, size));
    let mut fields = vec![
        field("run_id", b'u', 4),
        field("step_index", b'u', 4),
        field("board", b'u', 8),
        field("board_eval", b'i', 4),
        field("tile_65536_mask", b'u', 2),
        field("move_dir", b'u', 1),
        field("valuation_type", b'u', 1),
        field("ev_legal", b'u', 1),
        field("max_rank", b'u', 1),
    ];
    if aligned {
        fields.push(field("", b'V', 2));
    }
    fields.push(field("seed", b'u', 4));
    fields.push(Field { shape: vec![4], ..field("branch_evs", b'f', 4) });
    Dtype::Struct(fields)
}

/// The 28-byte row of a self-play v1 pool.
pub fn selfplay_row() -> Dtype {
    Dtype::Struct(vec![
        Field::new("run_id", Dtype::scalar(b'u', 8)),
        Field::new("step_idx", Dtype::scalar(b'u', 4)),
        Field { shape: vec![16], ..Field::new("exps", Dtype::scalar(b'u', 1)) },
    ])
}
