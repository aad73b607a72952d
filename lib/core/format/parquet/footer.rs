//! The footer, looked at before the crate reads it: Thrift's compact protocol, in which a list states how
//! many elements it has. The crate passes over a list of booleans in a loop of as many turns as the list
//! states, without a byte for any of them: 3 KB of them take minutes. (Page headers are the crate's alone.)

/// How deep a footer may be nested; that of a sound file is eight deep.
const MOST_DEPTH: u32 = 64;

/// Why a footer cannot be one of the format.
const DAMAGED: &str = "the footer is damaged";
/// No structure of the footer has such a list.
const BOOLEANS: &str = "the footer is damaged: a list of booleans";

/// Whether the bytes are one struct of the compact protocol whose lists can be in them, and hold no
/// booleans. What follows the struct is not looked at.
pub(super) fn check(footer: &[u8]) -> Result<(), &'static str> {
    Walk { rest: footer }.structure(MOST_DEPTH)
}

struct Walk<'a> {
    rest: &'a [u8],
}

impl Walk<'_> {
    fn byte(&mut self) -> Result<u8, &'static str> {
        let (byte, rest) = self.rest.split_first().ok_or(DAMAGED)?;
        self.rest = rest;
        Ok(*byte)
    }

    fn skip(&mut self, bytes: u64) -> Result<(), &'static str> {
        let bytes = usize::try_from(bytes).map_err(|_| DAMAGED)?;
        self.rest = self.rest.get(bytes..).ok_or(DAMAGED)?;
        Ok(())
    }

    /// A variable-length integer: seven bits in each byte, the lowest first.
    fn varint(&mut self) -> Result<u64, &'static str> {
        let mut value = 0;
        for shift in (0..70).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(DAMAGED)
    }

    fn structure(&mut self, depth: u32) -> Result<(), &'static str> {
        let depth = depth.checked_sub(1).ok_or(DAMAGED)?;
        loop {
            let header = self.byte()?;
            match header & 15 {
                0 => return Ok(()),
                // The value of a boolean field is its type.
                1 | 2 => self.field_id(header)?,
                kind => {
                    self.field_id(header)?;
                    self.value(kind, depth)?;
                }
            }
        }
    }

    /// The number of a field, where it is not in the header as a difference.
    fn field_id(&mut self, header: u8) -> Result<(), &'static str> {
        if header >> 4 == 0 { self.varint().map(|_| ()) } else { Ok(()) }
    }

    fn value(&mut self, kind: u8, depth: u32) -> Result<(), &'static str> {
        match kind {
            1 | 2 => Err(BOOLEANS),
            3 => self.skip(1),
            4..=6 => self.varint().map(|_| ()),
            7 => self.skip(8),
            8 => {
                let bytes = self.varint()?;
                self.skip(bytes)
            }
            9 | 10 => {
                let header = self.byte()?;
                let count = match header >> 4 {
                    15 => self.varint()?,
                    count => u64::from(count),
                };
                self.elements(count, &[header & 15], depth)
            }
            11 => match self.varint()? {
                0 => Ok(()),
                count => {
                    let kinds = self.byte()?;
                    self.elements(count, &[kinds >> 4, kinds & 15], depth)
                }
            },
            12 => self.structure(depth),
            13 => self.skip(16),
            _ => Err(DAMAGED),
        }
    }

    fn elements(&mut self, count: u64, kinds: &[u8], depth: u32) -> Result<(), &'static str> {
        let depth = depth.checked_sub(1).ok_or(DAMAGED)?;
        if count > self.rest.len() as u64 {
            return Err(DAMAGED);
        }
        for _ in 0..count {
            for kind in kinds {
                self.value(*kind, depth)?;
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
        // Field 1, a list; then the end of the struct.
        let list = |list: &[u8]| [&[0x19], list, &[0]].concat();
        for sound in [
            vec![0],
            list(&[0x00]),
            list(&[0x25, 2, 4]),
            list(&[0xf3, 2, 7, 7]),
            list(&[0x1c, 0x15, 2, 0]),
            vec![0x11, 0x12, 0],
            vec![0x18, 2, b'a', b'b', 0],
            vec![0x1b, 0, 0],
            vec![0x1b, 1, 0x85, 1, b'k', 2, 0],
        ] {
            assert_eq!(check(&sound), Ok(()), "{sound:x?}");
        }
        // 2^31 - 1 booleans, which take no bytes in the crate.
        assert_eq!(check(&list(&[0xf1, 0xff, 0xff, 0xff, 0xff, 0x07, 0])), Err(DAMAGED));
        assert_eq!(check(&list(&[0x11, 1])), Err(BOOLEANS));
        for damaged in [
            vec![],
            list(&[0xfc, 0xff, 0xff, 0xff, 0xff, 0x07]),
            list(&[0x28, 0]),
            vec![0x18, 9, b'a', 0],
            vec![0x1f, 0],
            vec![0x15, 0xff],
            [0x1c; 100].to_vec(),
            list(&[0x19; 100]),
        ] {
            assert_eq!(check(&damaged), Err(DAMAGED), "{damaged:x?}");
        }
    }
}
