//! Checks the footer and the headers of pages before the crate reads them. They are in Thrift's compact protocol:
//! a list states its number of elements, a field states its type. The crate departs from the protocol in two
//! points. It reads the fields that it knows by number, whatever type they state; other readers skip a field of
//! another type (a private field). And it skips a list of booleans without reading a byte of it, in a loop with as
//! many turns as the list states: 3 KB take minutes.

use super::shapes::{FOOTER, Kind, PAGE_BYTES, PAGE_HEADER, Shape};

/// The deepest nesting of a footer. Valid footers have eight levels.
const MOST_DEPTH: u32 = 64;

/// The cause for a footer that does not follow the format.
const DAMAGED: &str = "the footer is damaged";
const DAMAGED_PAGE: &str = "the header of a page is damaged";

/// Why bytes are not a struct.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// The bytes end before the struct does.
    Ends,
    Damaged,
}

/// Returns the footer in a form that the crate reads correctly: without fields of types that the
/// format does not have there, and with lists of bytes in place of lists of booleans, which have
/// the same layout. Bytes after the struct are left out. Fails if a list is longer than the bytes.
pub(super) fn readable(footer: &[u8]) -> Result<Vec<u8>, &'static str> {
    let mut walk = Walk::over(footer);
    walk.structure(Some(&FOOTER), MOST_DEPTH).map_err(|_| DAMAGED)?;
    Ok(walk.copy)
}

/// Returns the length of the page header at the start of `bytes`, and of the page after it; `None`
/// if the bytes end before the header does.
pub(super) fn page(bytes: &[u8]) -> Result<Option<(u64, u64)>, &'static str> {
    let mut walk = Walk::over(bytes);
    match walk.structure(Some(&PAGE_HEADER), MOST_DEPTH) {
        // (It is read in place, so that nothing can be left out.)
        Ok(()) if walk.is_changed => return Err(DAMAGED_PAGE),
        Ok(()) => {}
        Err(Fault::Ends) if !walk.is_changed => return Ok(None),
        Err(_) => return Err(DAMAGED_PAGE),
    }
    let header = bytes.len() - walk.rest.len();
    let size = Walk::over(bytes).number(PAGE_BYTES).map_err(|_| DAMAGED_PAGE)?;
    let size = u64::try_from(size).map_err(|_| DAMAGED_PAGE)?;
    Ok(Some((header as u64, size)))
}

struct Walk<'a> {
    rest: &'a [u8],
    /// The bytes so far as they are to be read.
    copy: Vec<u8>,
    /// Whether `copy` differs from the original.
    is_changed: bool,
}

impl Walk<'_> {
    fn over(bytes: &[u8]) -> Walk<'_> {
        Walk { rest: bytes, copy: Vec::with_capacity(bytes.len()), is_changed: false }
    }

    fn byte(&mut self) -> Result<u8, Fault> {
        let (byte, rest) = self.rest.split_first().ok_or(Fault::Ends)?;
        self.rest = rest;
        self.copy.push(*byte);
        Ok(*byte)
    }

    fn skip(&mut self, bytes: u64) -> Result<(), Fault> {
        let bytes = usize::try_from(bytes).map_err(|_| Fault::Damaged)?;
        let (skipped, rest) = self.rest.split_at_checked(bytes).ok_or(Fault::Ends)?;
        self.rest = rest;
        self.copy.extend_from_slice(skipped);
        Ok(())
    }

    /// Reads a variable-length integer: seven bits in each byte, the lowest first.
    fn varint(&mut self) -> Result<u64, Fault> {
        let mut value = 0;
        for shift in (0..70).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Fault::Damaged)
    }

    /// Reads a variable-length integer that may be negative.
    fn zigzag(&mut self) -> Result<i64, Fault> {
        let value = self.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// Reads the type and the number of the next field; `None` at the end of a struct.
    fn field(&mut self, before: i16) -> Result<Option<(u8, i16)>, Fault> {
        let header = self.byte()?;
        let id = match (header & 15, header >> 4) {
            (0, 0) => return Ok(None),
            (0, _) => return Err(Fault::Damaged),
            (_, 0) => i16::try_from(self.zigzag()?).ok(),
            (_, difference) => before.checked_add(difference.into()),
        };
        Ok(Some((header & 15, id.ok_or(Fault::Damaged)?)))
    }

    /// Walks over a struct of a known shape, or of any shape.
    fn structure(&mut self, shape: Option<&Shape>, depth: u32) -> Result<(), Fault> {
        let depth = depth.checked_sub(1).ok_or(Fault::Damaged)?;
        let (mut last, mut kept) = (0, 0);
        loop {
            let start = self.copy.len();
            let Some((code, id)) = self.field(last)? else { return Ok(()) };
            last = id;
            self.copy.truncate(start);
            self.begin_field(code, id, kept);
            let kind = shape.and_then(|shape| shape.field(id));
            let fits = kind.is_none_or(|kind| self.is_of(kind, code));
            self.is_changed |= !fits;
            // The value of a boolean field is in its type.
            if !matches!(code, 1 | 2) {
                self.value(code, kind.filter(|_| fits), depth)?;
            }
            if fits {
                kept = id;
            } else {
                self.copy.truncate(start);
            }
        }
    }

    /// Writes the type and the number of a field, relative to the number of the field before.
    fn begin_field(&mut self, code: u8, id: i16, before: i16) {
        if let Some(difference @ 1..=15) = id.checked_sub(before) {
            self.copy.push((difference as u8) << 4 | code);
            return;
        }
        self.copy.push(code);
        let mut number = (id << 1 ^ id >> 15) as u16;
        while number >= 0x80 {
            self.copy.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.copy.push(number as u8);
    }

    /// Whether the next value, which has this type in the protocol, is of a kind.
    fn is_of(&self, kind: &Kind, code: u8) -> bool {
        kind.is(code)
            && match (kind, self.rest.first()) {
                (Kind::List(item), Some(header)) => header >> 4 == 0 || item.is(header & 15),
                _ => true,
            }
    }

    /// Returns the number in a field of a valid struct.
    fn number(&mut self, wanted: i16) -> Result<i64, Fault> {
        let mut last = 0;
        while let Some((code, id)) = self.field(last)? {
            last = id;
            if id == wanted {
                return self.zigzag();
            }
            if !matches!(code, 1 | 2) {
                self.value(code, None, MOST_DEPTH)?;
            }
        }
        Err(Fault::Damaged)
    }

    fn value(&mut self, code: u8, kind: Option<&Kind>, depth: u32) -> Result<(), Fault> {
        match code {
            // (In a list; the value of a boolean field is in its type.)
            1..=3 => self.skip(1),
            4..=6 => self.varint().map(|_| ()),
            7 => self.skip(8),
            8 => {
                let bytes = self.varint()?;
                self.skip(bytes)
            }
            9 | 10 => {
                let header = self.byte()?;
                if matches!(header & 15, 1 | 2) {
                    self.copy.pop();
                    self.copy.push(header & 0xf0 | 3);
                    self.is_changed = true;
                }
                let count = match header >> 4 {
                    15 => self.varint()?,
                    count => u64::from(count),
                };
                let item = if let Some(Kind::List(item)) = kind { Some(*item) } else { None };
                self.elements(count, &[(header & 15, item)], depth)
            }
            11 => match self.varint()? {
                0 => Ok(()),
                count => {
                    let codes = self.byte()?;
                    if [codes >> 4, codes & 15].iter().any(|code| matches!(code, 1 | 2)) {
                        return Err(Fault::Damaged);
                    }
                    self.elements(count, &[(codes >> 4, None), (codes & 15, None)], depth)
                }
            },
            12 => {
                let shape = if let Some(Kind::Struct(shape)) = kind { Some(*shape) } else { None };
                self.structure(shape, depth)
            }
            13 => self.skip(16),
            _ => Err(Fault::Damaged),
        }
    }

    fn elements(
        &mut self,
        count: u64,
        of: &[(u8, Option<&Kind>)],
        depth: u32,
    ) -> Result<(), Fault> {
        let depth = depth.checked_sub(1).ok_or(Fault::Damaged)?;
        if count > self.rest.len() as u64 {
            return Err(Fault::Ends);
        }
        for _ in 0..count {
            for (code, kind) in of {
                self.value(*code, *kind, depth)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_fit_into_their_bytes() {
        // Field 15, which the format does not have, is a list; then the struct ends.
        let list = |list: &[u8]| [&[0xf9], list, &[0]].concat();
        for sound in [
            vec![0],
            list(&[0x00]),
            list(&[0x25, 2, 4]),
            list(&[0xf3, 2, 7, 7]),
            list(&[0x1c, 0x15, 2, 0]),
            vec![0xf1, 0xf2, 0],
            vec![0xf8, 2, b'a', b'b', 0],
            vec![0xfb, 0, 0],
            vec![0xfb, 1, 0x85, 1, b'k', 2, 0],
        ] {
            assert_eq!(readable(&sound).as_ref(), Ok(&sound), "{sound:x?}");
        }
        // Booleans take no bytes in the crate: a list of two, and a list that states 2^31 - 1 and
        // has one.
        assert_eq!(readable(&list(&[0x21, 1, 2])), Ok(list(&[0x23, 1, 2])));
        assert_eq!(readable(&list(&[0xf1, 0xff, 0xff, 0xff, 0xff, 0x07, 0])), Err(DAMAGED));
        for damaged in [
            vec![],
            list(&[0xfc, 0xff, 0xff, 0xff, 0xff, 0x07]),
            list(&[0x28, 0]),
            vec![0xf8, 9, b'a', 0],
            vec![0xff, 0],
            vec![0xf5, 0xff],
            [0xfc; 100].to_vec(),
            list(&[0x19; 100]),
            // The end of a struct, with a number.
            vec![0x10],
        ] {
            assert_eq!(readable(&damaged), Err(DAMAGED), "{damaged:x?}");
        }
    }
    #[test]
    fn fields_are_of_their_types() {
        // A version, a schema of one name, 5 rows, and a pair of texts.
        let sound =
            [0x15, 4, 0x19, 0x1c, 0x48, 1, b's', 0, 0x16, 10, 0x29, 0x1c, 0x18, 1, b'k', 0, 0];
        assert_eq!(readable(&sound).unwrap(), sound);
        // A field of another type is left out; the numbers of later fields are relative to the
        // field before it.
        let (version, schema) = (&[0x15, 4][..], &sound[2..8]);
        let other = [&[0x18, 1, b'x'], schema, &[0x16, 10, 0]].concat();
        let kept = [&[0x29], &schema[1..], &[0x16, 10, 0]].concat();
        assert_eq!(readable(&other), Ok(kept));
        // A list of numbers where structs should be, then a list of structs in an unknown field.
        let other = [version, &[0x19, 0x15, 6, 0x16, 10, 0x09, 0x80, 1, 0x1c, 0, 0]].concat();
        let kept = [version, &[0x26, 10, 0x09, 0x80, 1, 0x1c, 0, 0]].concat();
        assert_eq!(readable(&other), Ok(kept));
    }

    #[test]
    fn headers_of_pages() {
        // A data page of 9 bytes: kind, two sizes, and 3 values in plain encoding.
        let sound = [0x15, 0, 0x15, 18, 0x15, 18, 0x2c, 0x15, 6, 0x15, 0, 0x15, 6, 0x15, 6, 0, 0];
        assert_eq!(page(&sound), Ok(Some((17, 9))));
        assert_eq!(page(&[&sound[..], &[1; 9]].concat()), Ok(Some((17, 9))));
        for end in 0..sound.len() {
            assert_eq!(page(&sound[..end]), Ok(None), "{end}");
        }
        for at in [0, 2, 4, 6, 7, 9, 11, 13] {
            for code in (1..16).filter(|code| *code != sound[at] & 15) {
                let mut other = sound;
                other[at] = sound[at] & 0xf0 | code;
                assert_eq!(page(&other), Err(DAMAGED_PAGE), "{at}: {code}");
            }
        }
        // A negative size.
        let mut other = sound;
        other[5] = 17;
        assert_eq!(page(&other), Err(DAMAGED_PAGE));
    }
}
