//! Character classes of the pre-tokenizer in Unicode 16.0, from regex-syntax, whose tables the regular expressions of
//! the test oracles use, too. (std's tables depend on the compiler's version.)

use regex_syntax::Parser;
use regex_syntax::hir::{Class, HirKind};

use crate::hash::class;

/// A two-stage table for each family of patterns: the first `0x1100` bytes give, for each 256 code
/// points, the number of a block; the blocks of 256 class bytes follow.
pub fn class_tables() -> [(&'static str, Vec<u8>); 3] {
    assert_unicode_16();
    [("classes", o200k()), ("classes.cl100k", cl100k()), ("classes.deepseek", deepseek())]
        .map(|(name, classes)| (name, two_stage(&classes)))
}

fn o200k() -> Vec<u8> {
    let mut classes = cl100k();
    set(&mut classes, r"\p{M}", |_| {
        class::PUNCTUATION | class::PREFIX | class::UPPER | class::LOWER
    });
    classes
}

/// Marks are no letters.
fn cl100k() -> Vec<u8> {
    let mut classes = vec![class::PUNCTUATION | class::PREFIX; 0x11_0000];
    spaces(&mut classes);
    set(&mut classes, r"\p{N}", |_| class::NUMBER);
    set(&mut classes, r"[\p{Lu}\p{Lt}]", |_| class::LETTER | class::UPPER);
    set(&mut classes, r"\p{Ll}", |_| class::LETTER | class::LOWER);
    set(&mut classes, r"[\p{Lm}\p{Lo}]", |_| class::LETTER | class::UPPER | class::LOWER);
    classes
}

/// In this pattern marks are letters, punctuation is P and S, and some characters have no class. `UPPER` has another
/// meaning (see `class::ISOLATED`).
fn deepseek() -> Vec<u8> {
    let mut classes = vec![class::PREFIX; 0x11_0000];
    spaces(&mut classes);
    set(&mut classes, r"\p{N}", |_| class::NUMBER);
    set(&mut classes, r"[\p{P}\p{S}]", |_| class::PUNCTUATION);
    set(&mut classes, r"[\p{L}\p{M}]", |_| class::LETTER);
    set(&mut classes, r"[\x{4e00}-\x{9fa5}\x{3040}-\x{309f}\x{30a0}-\x{30ff}]", |known| {
        known | class::ISOLATED
    });
    classes
}

fn spaces(classes: &mut [u8]) {
    set(classes, r"\s", |_| class::SPACE | class::PREFIX);
    set(classes, r"[\r\n]", |_| class::SPACE | class::NEWLINE);
}

fn two_stage(classes: &[u8]) -> Vec<u8> {
    let mut stage_one = Vec::with_capacity(0x1100);
    let mut blocks: Vec<&[u8]> = Vec::new();
    for block in classes.chunks(256) {
        let number = blocks.iter().position(|known| *known == block).unwrap_or_else(|| {
            blocks.push(block);
            blocks.len() - 1
        });
        stage_one.push(u8::try_from(number).expect("fewer than 256 distinct blocks"));
    }
    stage_one.extend(blocks.concat());
    stage_one
}

fn set(classes: &mut [u8], pattern: &str, value: impl Fn(u8) -> u8) {
    for [first, last] in ranges(pattern) {
        for point in first..=last {
            let class = &mut classes[point as usize];
            *class = value(*class);
        }
    }
}

fn ranges(pattern: &str) -> Vec<[u32; 2]> {
    let hir = Parser::new().parse(pattern).expect("a class of regex-syntax");
    let HirKind::Class(Class::Unicode(ranges)) = hir.kind() else {
        panic!("{pattern} is not a Unicode class")
    };
    ranges.iter().map(|range| [range.start() as u32, range.end() as u32]).collect()
}

fn assert_unicode_16() {
    let knows = |pattern: &str| Parser::new().parse(pattern).is_ok();
    assert!(
        knows(r"\p{Age=16.0}") && !knows(r"\p{Age=17.0}"),
        "regex-syntax must carry Unicode 16.0, as the oracles do"
    );
}
