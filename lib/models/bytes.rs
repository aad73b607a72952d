//! The characters with which byte-level vocabularies write bytes, as in GPT-2: printable characters of Latin-1 stand
//! for themselves, all other bytes are written with characters from U+0100 on.

/// Returns the byte that a character stands for.
pub fn byte_of(character: char) -> Option<u8> {
    let point = u32::from(character);
    match point {
        0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff => Some(point as u8),
        0x100..=0x120 => Some((point - 0x100) as u8),
        0x121..=0x142 => Some((point - 0x121 + 0x7f) as u8),
        0x143 => Some(0xad),
        _ => None,
    }
}

/// Appends the bytes of a token of the vocabulary; returns false if a character stands for no byte.
#[must_use]
pub fn append_bytes(token: &str, out: &mut Vec<u8>) -> bool {
    let start = out.len();
    for character in token.chars() {
        let Some(byte) = byte_of(character) else {
            out.truncate(start);
            return false;
        };
        out.push(byte);
    }
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
