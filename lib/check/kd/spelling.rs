//! Tokens back into text, for sequences that are checked one after another.

use crate::tokenizer::{PADDED_VOCABULARY_SIZE, UnknownToken, token_bytes};

/// The bytes of a token of up to 15 bytes, and in the last byte how many they are; 0 until it was met.
type Spelled = [u8; 16];

/// The bytes of the tokens that were met. A token lies in one place and is copied whole, whatever its
/// length: to copy as many bytes as each has took two fifths of the time of `ds-check` (2026-11-22,
/// mostly wrong guesses of the processor at the lengths).
pub(super) struct Spelling {
    tokens: Vec<Spelled>,
}

impl Spelling {
    pub fn new() -> Spelling {
        // Memory is taken where a token was met.
        Spelling { tokens: vec![[0; 16]; PADDED_VOCABULARY_SIZE as usize] }
    }

    /// Appends the bytes of all tokens, as `decode_into` does.
    pub fn append(&mut self, tokens: &[i32], out: &mut Vec<u8>) -> Result<(), UnknownToken> {
        for (at, &id) in tokens.iter().enumerate() {
            let known = usize::try_from(id).ok().and_then(|id| self.tokens.get_mut(id));
            let known = known.ok_or(UnknownToken { id, at })?;
            let length = usize::from(known[15]);
            if length > 0 {
                out.extend_from_slice(known);
                out.truncate(out.len() - known.len() + length);
                continue;
            }
            let bytes = token_bytes(id).ok_or(UnknownToken { id, at })?;
            out.extend_from_slice(bytes);
            if let Some(place) = known[..15].get_mut(..bytes.len()) {
                place.copy_from_slice(bytes);
                known[15] = bytes.len() as u8;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokenizer::decode_into;

    #[test]
    fn every_token_is_what_decoding_says() {
        let mut spelling = Spelling::new();
        // Each is met twice, beside others.
        for step in [1, 7] {
            let all: Vec<i32> = (0..PADDED_VOCABULARY_SIZE).step_by(step).collect();
            let (mut ours, mut theirs) = (b"before".to_vec(), b"before".to_vec());
            assert_eq!(spelling.append(&all, &mut ours), decode_into(&all, &mut theirs));
            assert_eq!(ours, theirs);
        }
        for id in [-1, i32::MIN, PADDED_VOCABULARY_SIZE, i32::MAX] {
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            let tokens = [17, id, 17];
            assert_eq!(spelling.append(&tokens, &mut ours), decode_into(&tokens, &mut theirs));
            assert_eq!(ours, theirs);
        }
    }
}
