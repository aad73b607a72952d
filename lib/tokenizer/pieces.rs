//! Cuts a pre-token at places that no merge crosses. The pieces have the same tokens as the whole. A run of Chinese or
//! Thai, which hardly comes twice, becomes short pieces that come again and again.

use super::tables::Tables;

/// Returns the end of the piece that starts at `start`, which is before the end of `word`. Nothing
/// before `start` may be merged with it: it is the start of the word or the end of another piece.
#[inline]
pub fn piece_end<T: Tables>(tables: &T, word: &[u8], start: usize) -> usize {
    let (mut left, mut length) = character(word, start);
    let mut at = start + length;
    while at < word.len() {
        let (right, next) = character(word, at);
        if !tables.are_neighbours(left, right)
            && !may_be_cut(tables, &word[start..], at - start, length)
            && tables.may_cut(word, start, at)
        {
            return at;
        }
        (left, length) = (right, next);
        at += length;
    }
    word.len()
}

/// Whether, at the border before `at` and after a character of `length` bytes, a part of one of the two
/// characters may be merged with the other character, before the first is whole or because it never is.
#[inline(always)]
pub fn may_be_cut<T: Tables>(tables: &T, piece: &[u8], at: usize, length: usize) -> bool {
    let (before, after) = (piece[at - 1], piece[at]);
    if !tables.is_cut_border(before, after) {
        return false;
    }
    let [left, right] = [at - length, at].map(|at| tables.character_at(piece, at));
    // The merges before the two are whole depend only on these two, if no merge from their other
    // sides takes a part of them.
    let is_alone = (at == length || tables.is_whole_after(left, piece[at - length - 1]))
        && piece.get(at + right.length).is_none_or(|&byte| tables.is_whole_before(right, byte));
    let is_whole = tables.is_whole_before(left, after) && tables.is_whole_after(right, before);
    !(is_alone && is_whole)
}

/// Returns the code point and length of the character at `at`.
#[inline(always)]
pub fn character(word: &[u8], at: usize) -> (u32, usize) {
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
    use crate::embedded::{O200kTables, bytes_of};
    use crate::merge::tests::{Random, plain};

    fn pieces(word: &[u8]) -> Vec<&[u8]> {
        let mut pieces = Vec::new();
        let mut at = 0;
        while at < word.len() {
            let end = at + piece_end(&O200kTables, &word[at..], 0);
            assert_eq!(piece_end(&O200kTables, word, at), end);
            pieces.push(&word[at..end]);
            at = end;
        }
        pieces
    }

    /// Returns the tokens of the pieces, which must be the tokens of the word, and the number of pieces.
    fn check(word: &[u8]) -> usize {
        let pieces = pieces(word);
        let tokens: Vec<i32> = pieces.iter().flat_map(|piece| plain(piece)).collect();
        assert_eq!(tokens, plain(word), "{:?}", String::from_utf8_lossy(word));
        pieces.len()
    }

    /// Every token, with characters that begin before it or end after it made whole, and beside
    /// characters whose bytes tokens share.
    #[test]
    fn pieces_of_tokens_have_the_tokens_of_the_whole() {
        let mut cut = 0;
        for id in 0..199_998 {
            let token = bytes_of(id).unwrap();
            if str::from_utf8(token).is_ok() {
                assert_eq!(piece_end(&O200kTables, token, 0), token.len(), "{id}");
            }
            let rest = token.iter().take_while(|&&byte| byte & 0xc0 == 0x80).count();
            let heads: &[&[u8]] = match rest {
                0 => &[b"", "า".as_bytes(), "ा".as_bytes()],
                1 => &[b"\xc3", b"\xe4\xb8", b"\xe0\xa4", b"\xe0\xb8", b"\xf0\x9f\x98"],
                2 => &[b"\xe4", b"\xe0", b"\xf0\x9f"],
                3 => &[b"\xf0"],
                _ => continue,
            };
            for head in heads {
                for tail in [&b""[..], b"\x80", b"\xbf\x80", b"\x90\x80\x80", "เก".as_bytes()] {
                    let text = [head, token, tail].concat();
                    if str::from_utf8(&text).is_ok() {
                        cut += check(&text) - 1;
                    }
                }
            }
        }
        assert!(cut > 200_000, "{cut}");
    }

    /// Characters of scripts whose letters share their first bytes, in any order.
    #[test]
    fn pieces_of_random_words_have_the_tokens_of_the_whole() {
        let mut random = Random(5);
        let blocks = [
            ' '..'~',
            '\u{370}'..'\u{700}',
            '\u{900}'..'\u{d80}',
            '\u{e01}'..'\u{e5b}',
            '\u{e80}'..'\u{1800}',
            '\u{2010}'..'\u{3100}',
            '\u{4e00}'..'\u{5200}',
            '\u{1f300}'..'\u{1f700}',
        ];
        let mut cut = 0;
        for round in 0..200_000 {
            let word: String = (0..2 + random.below(9))
                .map(|_| {
                    let other = random.below(3 * blocks.len());
                    let block = &blocks[if other < blocks.len() { other } else { round % 8 }];
                    let (start, end) = (block.start as usize, block.end as usize);
                    char::from_u32((start + random.below(end - start)) as u32).unwrap()
                })
                .collect();
            cut += check(word.as_bytes()) - 1;
        }
        assert!(cut > 400_000, "{cut}");
    }

    /// A neighbour takes a part of a character, and the rest of the character may be merged with the first or last
    /// byte of another: tried with all such bytes.
    #[test]
    fn what_is_left_of_a_character_is_not_cut_off() {
        let mut random = Random(6);
        let mut with_last = |byte: u8| match byte {
            0..0x80 => char::from(byte),
            _ => char::from_u32((2 + random.below(0xbe) as u32) << 6 | u32::from(byte & 0x3f))
                .unwrap(),
        };
        let mut random = Random(7);
        let mut with_first = |byte: u8| {
            let (start, count) = match byte {
                0..0x80 => (u32::from(byte), 1),
                0x80..0xe0 => (u32::from(byte & 0x1f) << 6, 1 << 6),
                0xe0 => (0x800, 0x800),
                0xe1..0xf0 => (u32::from(byte & 0x0f) << 12, 1 << 12),
                _ => (0x1_f000, 1 << 12),
            };
            // In place of a surrogate, which is no character, the last one before them.
            char::from_u32(start + random.below(count) as u32).unwrap_or('\u{d7ff}')
        };
        let first_bytes = || (b' '..=b'~').chain(0xc2..=0xf0);
        let last_bytes = || (b' '..=b'~').chain(0x80..=0xbf);
        for middle in ('\u{80}'..'\u{3000}').chain('\u{1f300}'..'\u{1f700}') {
            let character = O200kTables.character_at(middle.to_string().as_bytes(), 0);
            for taken in last_bytes().filter(|&byte| !O200kTables.is_whole_after(character, byte)) {
                for other in first_bytes().filter(|&byte| byte > b'~' || byte % 16 == 1) {
                    let word = [with_last(taken), middle, with_first(other)];
                    check(String::from_iter(word).as_bytes());
                }
            }
            for taken in first_bytes().filter(|&byte| !O200kTables.is_whole_before(character, byte))
            {
                for other in last_bytes() {
                    let word = [with_last(other), middle, with_first(taken)];
                    check(String::from_iter(word).as_bytes());
                }
            }
        }
    }

    #[test]
    fn a_run_is_cut_into_pieces() {
        for (text, least) in [
            ("在该目录下的文件名必须以此为后缀，否则将被忽略。", 12),
            ("แฟ้มนี้มีคำแปลข้อความของโปรแกรมสำหรับผู้ใช้ทั่วไป", 8),
        ] {
            let pieces = pieces(text.as_bytes());
            assert!(pieces.iter().all(|piece| str::from_utf8(piece).is_ok()));
            assert!(pieces.len() >= least, "{}", pieces.len());
        }
    }
}
