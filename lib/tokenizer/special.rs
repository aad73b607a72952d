//! The control tokens of o200k_harmony by name, and the bytes of ids. Encoding never makes a control token
//! from text.

use super::hash::{LONG, TOKEN_BYTES};
use super::{PADDED_VOCABULARY_SIZE, embedded};

/// `<|startoftext|>`: no text and no message contains it. Below it are the ids of text.
pub const START_OF_TEXT: i32 = 199_998;
/// `<|endoftext|>`, which follows every document.
pub const EOD: i32 = 199_999;
/// `<|return|>`, the end of an answer, which the model stops at.
pub const RETURN: i32 = 200_002;
/// `<|constrain|>`, before the type of a content: `<|constrain|>json`.
pub const CONSTRAIN: i32 = 200_003;
/// `<|channel|>`, before the name of a channel.
pub const CHANNEL: i32 = 200_005;
/// `<|start|>`, before the header of a message.
pub const START: i32 = 200_006;
/// `<|end|>`, the end of a message.
pub const END: i32 = 200_007;
/// `<|message|>`, between the header of a message and its content.
pub const MESSAGE: i32 = 200_008;
/// `<|call|>`, the end of a call of a tool.
pub const CALL: i32 = 200_012;

/// Every control token with a meaning, in the order of ids. The other ids from 200,000 to
/// 201,087 are reserved.
pub const SPECIAL_TOKENS: [(i32, &str); 9] = [
    (START_OF_TEXT, "<|startoftext|>"),
    (EOD, "<|endoftext|>"),
    (RETURN, "<|return|>"),
    (CONSTRAIN, "<|constrain|>"),
    (CHANNEL, "<|channel|>"),
    (START, "<|start|>"),
    (END, "<|end|>"),
    (MESSAGE, "<|message|>"),
    (CALL, "<|call|>"),
];

/// Returns the name of a control token, reserved ones included (`<|reserved_200000|>`).
pub fn special_name(id: i32) -> Option<&'static str> {
    if id < START_OF_TEXT {
        return None;
    }
    str::from_utf8(token_bytes(id)?).ok()
}

/// Returns the control token with this name, reserved ones included.
pub fn special_id(name: &str) -> Option<i32> {
    if let Some((id, _)) = SPECIAL_TOKENS.iter().find(|(_, known)| *known == name) {
        return Some(*id);
    }
    let id = name.strip_prefix("<|reserved_")?.strip_suffix("|>")?.parse().ok()?;
    (special_name(id) == Some(name)).then_some(id)
}

/// Returns the bytes of a token (possibly a part of a character), or the name of a control token.
/// `None` from 201,088 on and below 0.
pub fn token_bytes(id: i32) -> Option<&'static [u8]> {
    if id >= PADDED_VOCABULARY_SIZE {
        return None;
    }
    embedded::bytes_of(u32::try_from(id).ok()?)
}

/// Whether encoding or rendering can make this id: a rank or a control token with a meaning.
pub fn is_produced(id: i32) -> bool {
    (0..START_OF_TEXT).contains(&id) || SPECIAL_TOKENS.iter().any(|&(special, _)| special == id)
}

/// Appends the bytes of all tokens. On an error the bytes before the unknown token are in `out`.
///
/// A token is copied as a whole block, whatever its length. Copying exactly its bytes took two fifths of the time of
/// `ds-check`, since the processor cannot predict the lengths.
pub fn decode_into(tokens: &[i32], out: &mut Vec<u8>) -> Result<(), UnknownToken> {
    for (at, &id) in tokens.iter().enumerate() {
        let block = usize::try_from(id).ok().and_then(|id| embedded::blocks().get(id));
        match block {
            Some(block) if block[TOKEN_BYTES] != LONG && id < PADDED_VOCABULARY_SIZE => {
                out.extend_from_slice(block);
                out.truncate(out.len() - block.len() + usize::from(block[TOKEN_BYTES]));
            }
            _ => out.extend_from_slice(token_bytes(id).ok_or(UnknownToken { id, at })?),
        }
    }
    Ok(())
}

/// An id that the padded vocabulary does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "token {id} at position {at}: no id of o200k_harmony (0 to {})",
    PADDED_VOCABULARY_SIZE - 1
)]
pub struct UnknownToken {
    /// The id.
    pub id: i32,
    /// Its index among the tokens to be decoded.
    pub at: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_ids_are_inverse() {
        for id in START_OF_TEXT..PADDED_VOCABULARY_SIZE {
            assert_eq!(special_id(special_name(id).unwrap()), Some(id));
        }
        for (id, name) in SPECIAL_TOKENS {
            assert_eq!(special_name(id), Some(name));
        }
        assert_eq!(special_name(200_000), Some("<|reserved_200000|>"));
        assert_eq!(special_name(200_018), Some("<|reserved_200018|>"));
        assert_eq!(special_name(201_087), Some("<|reserved_201087|>"));
        assert_eq!(special_name(199_997), None);
        for none in ["<|reserved_200002|>", "<|reserved_0200000|>", "<|reserved_5|>", "end", ""] {
            assert_eq!(special_id(none), None, "{none}");
        }
    }

    #[test]
    fn decoding_names_the_unknown_token() {
        let mut out = Vec::new();
        decode_into(&[START, 0, END], &mut out).unwrap();
        assert_eq!(out, b"<|start|>!<|end|>");
        for id in [-1, 201_088, i32::MIN, i32::MAX] {
            let error = decode_into(&[0, id], &mut out).unwrap_err();
            assert_eq!(error, UnknownToken { id, at: 1 });
            assert_eq!(
                error.to_string(),
                format!("token {id} at position 1: no id of o200k_harmony (0 to 201087)")
            );
        }
    }

    #[test]
    fn a_token_decodes_to_its_bytes_whatever_stands_beside_it() {
        for step in [1, 7, 10_007] {
            let ids: Vec<i32> = (0..PADDED_VOCABULARY_SIZE).step_by(step).collect();
            let mut expected = b"before".to_vec();
            ids.iter().for_each(|&id| expected.extend_from_slice(token_bytes(id).unwrap()));
            let mut out = b"before".to_vec();
            decode_into(&ids, &mut out).unwrap();
            assert_eq!(out, expected);
        }
    }

    #[test]
    fn reserved_ids_are_not_produced() {
        let produced = (-5..201_100).filter(|&id| is_produced(id)).count();
        assert_eq!(produced, 199_998 + 9);
        assert!(is_produced(CALL) && !is_produced(200_000) && !is_produced(-1));
    }
}
