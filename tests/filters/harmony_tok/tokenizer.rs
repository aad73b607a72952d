//! The encoder against tiktoken-rs, token for token: every code point, every token of the
//! vocabulary, and random texts made of what a hand-written scanner gets wrong.

use std::cell::RefCell;

use gristmill::tokenizer::{Encoder, decode_into, token_bytes};
use tiktoken_rs::CoreBPE;

fn oracle() -> &'static CoreBPE {
    tiktoken_rs::o200k_base_singleton()
}

fn encode(encoder: &mut Encoder, text: &str) -> Vec<i32> {
    let mut tokens = Vec::new();
    encoder.encode(text, &mut tokens);
    tokens
}

/// Encodes with both and compares; decoding must give the text back. Every text is also encoded
/// without the instructions that only some processors have.
#[track_caller]
fn same(encoder: &mut Encoder, text: &str) {
    thread_local!(static PORTABLE: RefCell<Encoder> = RefCell::new(Encoder::portable()));
    let ours = encode(encoder, text);
    let theirs: Vec<i32> =
        oracle().encode_ordinary(text).into_iter().map(|rank| rank as i32).collect();
    assert_eq!(ours, theirs, "{:?}", text.chars().take(400).collect::<String>());
    let portable = PORTABLE.with_borrow_mut(|encoder| encode(encoder, text));
    assert!(ours == portable, "{:?}", text.chars().take(400).collect::<String>());
    let mut bytes = Vec::new();
    decode_into(&ours, &mut bytes).expect("ranks decode");
    assert!(bytes == text.as_bytes(), "decoding changed {text:?}");
}

/// xorshift64*: the texts are the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    fn below(&mut self, end: usize) -> usize {
        self.next() as usize % end
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

fn code_points() -> impl Iterator<Item = char> {
    '\0'..=char::MAX
}

/// Most contexts are joined into one text (the boundary of a code point's text is a letter
/// and a newline), so that the oracle is called often enough and not too often. Of large blocks of one kind (ideographs,
/// syllables of Hangul, private use, planes 2 to 16) one of 16 is tried; alone, each is.
#[test]
fn every_code_point_in_every_context() {
    let mut encoder = Encoder::new();
    let mut text = String::new();
    let is_tried = |c: &char| {
        let blocks = [
            '\u{3400}'..='\u{9fff}',
            '\u{ac00}'..='\u{d7a3}',
            '\u{e000}'..='\u{f8ff}',
            '\u{20000}'..=char::MAX,
        ];
        u32::from(*c).is_multiple_of(16) || !blocks.iter().any(|block| block.contains(c))
    };
    for (number, c) in code_points().filter(is_tried).enumerate() {
        text.push_str(&format!(
            "a{c}b\n{c}\n {c}x\n  {c}\n{c}'s\nA{c}\n{c}AB\nA{c}b{c}C\n1{c}2\n!{c}a\n!!{c}/\n\t{c}{c}\n'{c}\nb'{c}e\nb'r{c}d\n"
        ));
        if number % 64 == 63 {
            same(&mut encoder, &text);
            text.clear();
        }
    }
    same(&mut encoder, &text);
}

/// Alone, and first and last in its text.
#[test]
fn every_code_point_alone() {
    let mut encoder = Encoder::new();
    for c in code_points() {
        same(&mut encoder, c.encode_utf8(&mut [0; 4]));
    }
    for c in code_points().filter(|c| !('\u{4e00}'..'\u{fb00}').contains(c)).take(0x9000) {
        for text in [format!("{c}a"), format!("{c}A"), format!(" {c}"), format!("x{c}{c}")] {
            same(&mut encoder, &text);
        }
    }
}

#[test]
fn every_token_of_the_vocabulary_encodes_to_itself() {
    let mut encoder = Encoder::new();
    let mut whole = 0;
    for id in 0..199_998 {
        let bytes = token_bytes(id).expect("a rank");
        assert_eq!(oracle().decode_bytes(&[id as u32]).expect("a rank"), bytes);
        let Ok(text) = std::str::from_utf8(bytes) else { continue };
        same(&mut encoder, text);
        whole += usize::from(encode(&mut encoder, text) == [id]);
    }
    // A few tokens are longer than a pre-token can be (`\n\n\n\ta` and the like).
    assert!(whole > 195_000, "{whole}");
}

const PIECES: [&[&str]; 9] = [
    // Letters of every case, marks, and the long s.
    &["a", "b", "A", "B", "ǅ", "ʰ", "中", "\u{301}", "\u{fe0f}", "é", "É", "ß", "ſ", "я", "Я", "ª"],
    &[
        "'s", "'S", "'ſ", "'t", "'re", "'VE", "'m", "'ll", "'LL", "'d", "'l", "'", "’s", "don",
        "I", "\u{301}",
    ],
    &[
        " ", "  ", "\t", "\n", "\r\n", "\r", "\u{a0}", "\u{85}", "\u{3000}", "\u{2028}", "\u{1c}",
        "\u{200b}", "\u{feff}", "\u{b}", "x", "X",
    ],
    &[".", ",", "!", "/", "//", "-", "'", "\"", "_", "{", "…", "—", "\n", "\r\n", " ", "a"],
    &["1", "23", "456", "٣", "Ⅷ", "½", "²", "𝟘", "๓", "a", " ", ".", ",", "\n"],
    &["😀", "❤️", "👩\u{200d}💻", "🇫🇷", "\u{301}", "a", "A", " ", "!", "\n", "\u{e000}", "𠀀"],
    &["<|end|>", "<|start|>", "<|endoftext|>", "<|", "|>", "end", " ", "\n", "<|reserved_200000|>"],
    &[
        "the",
        " the",
        " Hello",
        "World",
        " tokenization",
        "ING",
        " été",
        "naïve",
        " straße",
        "日本語",
        "한국어",
        " ",
        ".",
        "\n",
    ],
    &[
        "http://", "https://", "www.", "/path", "?q=", "%20", "&", "==", "0x", "deadbeef", "a1b2",
        "\\n", "\t", "()", ";\n", "}\n\n",
    ],
];

fn random_text(random: &mut Random, most_pieces: usize) -> String {
    let first = PIECES[random.below(PIECES.len())];
    let second = PIECES[random.below(PIECES.len())];
    (0..random.below(most_pieces))
        .map(|_| {
            let from = if random.below(4) == 0 { second } else { first };
            random.pick(from)
        })
        .collect()
}

#[test]
fn random_texts() {
    let mut random = Random(0x5eed);
    let mut encoder = Encoder::new();
    for _ in 0..60_000 {
        same(&mut encoder, &random_text(&mut random, 24));
    }
    for _ in 0..500 {
        same(&mut encoder, &random_text(&mut random, 2000));
    }
}

#[test]
fn random_characters() {
    let mut random = Random(77);
    let mut encoder = Encoder::new();
    for _ in 0..10_000 {
        let top = [0x80, 0x250, 0x3000, 0x1_0000, 0x2_0000][random.below(5)];
        let text: String = (0..random.below(40))
            .filter_map(|_| char::from_u32(random.below(top) as u32))
            .collect();
        same(&mut encoder, &text);
    }
}

/// Random words of letters: what merging does when no whole word is in the vocabulary.
#[test]
fn random_words() {
    let mut random = Random(99);
    let mut encoder = Encoder::new();
    for _ in 0..30_000 {
        let alphabet: &[u8] =
            [&b"etaoinshr"[..], b"abcdefghijklmnopqrstuvwxyz", b"ab", b"ACGT", b"=-*#"]
                [random.below(5)];
        let longest = [6, 15, 16, 17, 60, 130][random.below(6)];
        let word: String = (0..random.below(longest))
            .map(|_| alphabet[random.below(alphabet.len())] as char)
            .collect();
        same(&mut encoder, &word);
        same(&mut encoder, &format!(" {word} {word}"));
    }
}

#[test]
fn long_runs() {
    let mut random = Random(5);
    let mut encoder = Encoder::new();
    for unit in [
        "a", "A", "中", " ", "\n", "\t", "\r\n", "=", "-", "/", "\u{301}", "😀", "1", "ab", "ACGT",
        "\u{a0}", "aA", "'s", "Я",
    ] {
        for length in [
            1, 2, 3, 14, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65, 127, 128, 129, 255, 256,
            257, 5000, 5003,
        ] {
            let run = unit.repeat(length);
            same(&mut encoder, &run);
            same(&mut encoder, &format!("x{run}y"));
            same(&mut encoder, &format!(" {run} \n"));
            same(&mut encoder, &format!("A{run}.a"));
        }
    }
    for alphabet in [
        "ACGT",
        "abcdefghijklmnopqrstuvwxyz",
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
        "=-_.*#",
    ] {
        let text: String = (0..20_000)
            .map(|_| alphabet.as_bytes()[random.below(alphabet.len())] as char)
            .collect();
        same(&mut encoder, &text);
    }
}

/// Pre-tokens that are longer than the windows they are merged in, and their borders.
#[test]
fn words_of_many_kilobytes() {
    let mut random = Random(8);
    let mut encoder = Encoder::new();
    for alphabet in [
        &["a", "b", "c", "d", "e", "th", "ing", "tion"][..],
        &["A", "C", "G", "T"],
        &["日", "本", "語", "の", "は", "𠀀"],
        &["я", "н", "в", "ст", "ова", "э"],
        &["=", "-", "==", "_", "*"],
        &["\u{301}", "\u{fe0f}", "👩", "\u{200d}"],
        &["กา", "น", "ที่", "ക്ക", "的"],
    ] {
        for length in [4000, 4096, 4100, 9000, 15_000] {
            let mut word = String::new();
            while word.len() < length {
                word.push_str(random.pick(alphabet));
            }
            same(&mut encoder, &word);
            same(&mut encoder, &format!("x {word} y{word}"));
        }
    }
}

/// A run of millions of characters takes time in proportion: a quadratic encoder would need
/// hours for this.
#[test]
fn huge_runs_are_not_quadratic() {
    let mut encoder = Encoder::new();
    for unit in ["a", "A", " ", "\n", "=", "中", "ACGGT", "\u{301}"] {
        let text = unit.repeat(2_000_000 / unit.len());
        let tokens = encode(&mut encoder, &text);
        let mut bytes = Vec::new();
        decode_into(&tokens, &mut bytes).expect("ranks decode");
        assert!(bytes == text.as_bytes(), "{unit:?}");
    }
}

/// What an encoder has seen before changes nothing, also when its cache overflows.
#[test]
fn the_cache_never_shows() {
    let mut random = Random(31);
    let texts: Vec<String> = (0..3000).map(|_| random_text(&mut random, 60)).collect();
    let mut used = Encoder::new();
    for number in 0..600_000 {
        encode(&mut used, &format!(" w{number:x}q{}", number % 7));
    }
    for text in &texts {
        let first = encode(&mut used, text);
        assert_eq!(first, encode(&mut used, text), "{text:?}");
        assert_eq!(first, encode(&mut Encoder::new(), text), "{text:?}");
    }
    for text in texts.iter().rev() {
        same(&mut used, text);
    }
}
