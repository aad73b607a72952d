//! What gristmill needs from npyz's types: fields with their offsets, and single numbers.

use npyz::{DType, Endianness, Field, TypeChar};

/// The type of a number or a text of fixed width, and how its bytes are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scalar {
    pub kind: TypeChar,
    pub is_big_endian: bool,
    pub bytes: usize,
}

impl Scalar {
    /// `None` for structures and arrays.
    pub fn of(dtype: &DType) -> Option<Scalar> {
        let DType::Plain(text) = dtype else { return None };
        let is_big_endian = text.endianness() == Endianness::Big;
        Some(Scalar { kind: text.type_char(), is_big_endian, bytes: text.num_bytes()? })
    }

    pub fn is_integer(&self) -> bool {
        matches!(self.kind, TypeChar::Int | TypeChar::Uint)
    }

    /// Returns the bits of a number of 1, 2, 4 or 8 bytes, sign-extended if it is signed; 0 for
    /// other widths.
    #[inline]
    pub fn bits(&self, bytes: &[u8]) -> u64 {
        let ordered = |bytes: [u8; 8], size: usize| {
            if self.is_big_endian {
                u64::from_be_bytes(bytes) >> (64 - 8 * size)
            } else {
                u64::from_le_bytes(bytes)
            }
        };
        let value = match *bytes {
            [a] => u64::from(a),
            [a, b] => ordered([a, b, 0, 0, 0, 0, 0, 0], 2),
            [a, b, c, d] => ordered([a, b, c, d, 0, 0, 0, 0], 4),
            [a, b, c, d, e, f, g, h] => ordered([a, b, c, d, e, f, g, h], 8),
            _ => 0,
        };
        match (self.kind, bytes.len()) {
            (TypeChar::Int, size @ 1..8) => {
                let shift = 64 - 8 * size;
                ((value << shift) as i64 >> shift) as u64
            }
            _ => value,
        }
    }

    /// Returns the value of an integer. Values above 2^63 - 1 are read as 2^63 - 1: no index, token or
    /// score is that large.
    #[inline]
    pub fn integer(&self, bytes: &[u8]) -> i64 {
        let value = self.bits(bytes);
        match self.kind {
            TypeChar::Int => value as i64,
            _ => i64::try_from(value).unwrap_or(i64::MAX),
        }
    }
}

/// Returns a field's own shape, empty for a single value, and the type of its elements.
pub fn elements(mut dtype: &DType) -> (Vec<u64>, &DType) {
    let mut shape = Vec::new();
    while let DType::Array(length, inner) = dtype {
        shape.push(*length);
        dtype = inner;
    }
    (shape, dtype)
}

/// Whether this is padding: raw bytes without a name.
pub fn is_padding(field: &Field) -> bool {
    let (_, element) = elements(&field.dtype);
    field.name.is_empty()
        && matches!(element, DType::Plain(text) if text.type_char() == TypeChar::RawData)
}

/// Returns the offset and type of the field with this name.
pub fn field<'a>(dtype: &'a DType, name: &str) -> Option<(usize, &'a DType)> {
    let DType::Record(fields) = dtype else { return None };
    let mut offset = 0usize;
    for field in fields {
        if field.name == name && !is_padding(field) {
            return Some((offset, &field.dtype));
        }
        offset = offset.checked_add(field.dtype.num_bytes()?)?;
    }
    None
}

/// Returns the text that `numpy.save` writes as `descr`: npyz's text, except for a comma at the end
/// of lists.
pub fn descr(dtype: &DType) -> String {
    dtype.descr().replace("), ]", ")]")
}
