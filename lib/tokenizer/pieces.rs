//! Cuts a pre-token where no token of the vocabulary goes on. The pieces have the tokens that the
//! whole has, and a run of Chinese or Japanese, which no text has twice, becomes short pieces
//! that are met again and again.

use super::tables::may_be_joined;

/// Where the piece that starts at `start`, which is before the end of `word`, ends. Whether there
/// is a border between two characters depends on these two alone.
#[inline]
pub fn piece_end(word: &[u8], start: usize) -> usize {
    let (mut left, length) = character(word, start);
    let mut at = start + length;
    while at < word.len() {
        let (right, length) = character(word, at);
        if !may_be_joined((left, right), (word[at - 1], word[at])) {
            return at;
        }
        left = right;
        at += length;
    }
    word.len()
}

/// Code point and length of the character at `at`.
#[inline(always)]
fn character(word: &[u8], at: usize) -> (u32, usize) {
    let bits = |n: usize| word.get(at + n).map_or(0, |&byte| u32::from(byte & 0x3f));
    let first = u32::from(word[at]);
    match first {
        0..0x80 => (first, 1),
        0x80..0xe0 => ((first & 0x1f) << 6 | bits(1), 2),
        0xe0..0xf0 => ((first & 0x0f) << 12 | bits(1) << 6 | bits(2), 3),
        _ => ((first & 0x07) << 18 | bits(1) << 12 | bits(2) << 6 | bits(3), 4),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokenizer::tables::bytes_of;

    /// No token is cut, wherever in a text of whole characters it is.
    #[test]
    fn no_piece_ends_inside_a_token() {
        let mut whole = 0;
        for id in 0..199_998 {
            let token = bytes_of(id).unwrap();
            // Characters that begin before the token, or end after it, are made whole.
            let rest = token.iter().take_while(|&&byte| byte & 0xc0 == 0x80).count();
            let heads: &[&[u8]] = match rest {
                0 => &[b""],
                1 => &[b"\xc3", b"\xe4\xb8", b"\xe0\xa4", b"\xf0\x9f\x98"],
                2 => &[b"\xe4", b"\xe0", b"\xf0\x9f"],
                3 => &[b"\xf0"],
                _ => continue,
            };
            for head in heads {
                let text = [head, token].concat();
                for tail in [&b""[..], b"\x80", b"\xbf\x80", b"\x90\x80\x80"] {
                    let text = [&text, tail].concat();
                    if std::str::from_utf8(&text).is_err() {
                        continue;
                    }
                    whole += 1;
                    assert_eq!(piece_end(&text, 0), text.len(), "{id} {text:x?}");
                }
            }
        }
        assert!(whole > 199_000, "{whole}");
    }

    #[test]
    fn a_run_is_cut_into_pieces() {
        let text = "在该目录下的文件名必须以此为后缀，否则将被忽略。".as_bytes();
        let (mut at, mut count) = (0, 0);
        while at < text.len() {
            at = piece_end(text, at);
            assert!(text.get(at).is_none_or(|byte| byte & 0xc0 != 0x80));
            count += 1;
        }
        assert_eq!(at, text.len());
        assert!(count > 5, "{count}");
    }
}
