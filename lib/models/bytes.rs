//! The characters with which byte-level vocabularies write bytes, as in GPT-2: printable characters of Latin-1 stand
//! for themselves, all other bytes are written with characters from U+0100 on.

/// Returns the byte that a character stands for.
pub const fn byte_of(character: char) -> Option<u8> {
    let point = character as u32;
    match point {
        0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff => Some(point as u8),
        0x100..=0x120 => Some((point - 0x100) as u8),
        0x121..=0x142 => Some((point - 0x121 + 0x7f) as u8),
        0x143 => Some(0xad),
        _ => None,
    }
}

/// The byte of each character up to the last that stands for one; [`NONE`] if it stands for none.
static BYTES: [u16; 0x144] = {
    let mut bytes = [NONE; 0x144];
    let mut point = 0;
    while point < bytes.len() {
        if let Some(character) = char::from_u32(point as u32)
            && let Some(byte) = byte_of(character)
        {
            bytes[point] = byte as u16;
        }
        point += 1;
    }
    bytes
};
const NONE: u16 = u16::MAX;

/// Appends the bytes of a token of the vocabulary; returns false if a character stands for no byte.
#[must_use]
pub fn append_bytes(token: &str, out: &mut Vec<u8>) -> bool {
    let start = out.len();
    out.resize(start + token.len(), 0);
    let mut end = start;
    let mut rest = token.as_bytes();
    while let [first, others @ ..] = rest {
        // (Characters of three and four bytes stand for none.)
        let (point, others) = match others {
            _ if *first < 0x80 => (usize::from(*first), others),
            [second, others @ ..] if *first < 0xe0 => {
                (usize::from(first & 0x1f) << 6 | usize::from(second & 0x3f), others)
            }
            _ => (BYTES.len(), others),
        };
        let byte = BYTES.get(point).copied().unwrap_or(NONE);
        if byte == NONE {
            out.truncate(start);
            return false;
        }
        out[end] = byte as u8;
        end += 1;
        rest = others;
    }
    out.truncate(end);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_one_character() {
        let mut bytes: Vec<u8> = ('\0'..='\u{200}').filter_map(byte_of).collect();
        bytes.sort_unstable();
        assert_eq!(bytes, (0..=255).collect::<Vec<u8>>());
        for (character, byte) in
            [('Ġ', b' '), ('Ċ', b'\n'), ('ĉ', b'\t'), ('Ń', 0xad), ('ġ', 0x7f), ('ł', 0xa0)]
        {
            assert_eq!(byte_of(character), Some(byte));
        }
    }
}
