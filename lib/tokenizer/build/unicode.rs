//! Character classes of the pre-tokenizer in Unicode 16.0, out of regex-syntax, the very
//! tables that the oracles' regular expressions use. std's tables follow the compiler.

use regex_syntax::Parser;
use regex_syntax::hir::{Class, HirKind};

use crate::hash::class;

/// Two-stage table: the first `0x1100` bytes give, for each 256 code points, the number of
/// a block; the blocks of 256 class bytes follow.
pub fn class_table() -> Vec<u8> {
    assert_unicode_16();
    let mut classes = vec![class::PUNCTUATION | class::PREFIX; 0x11_0000];
    set(&mut classes, r"\s", |_| class::SPACE | class::PREFIX);
    set(&mut classes, r"[\r\n]", |_| class::SPACE | class::NEWLINE);
    set(&mut classes, r"\p{N}", |_| class::NUMBER);
    set(&mut classes, r"[\p{Lu}\p{Lt}]", |_| class::LETTER | class::UPPER);
    set(&mut classes, r"\p{Ll}", |_| class::LETTER | class::LOWER);
    set(&mut classes, r"[\p{Lm}\p{Lo}]", |_| class::LETTER | class::UPPER | class::LOWER);
    set(&mut classes, r"\p{M}", |_| {
        class::PUNCTUATION | class::PREFIX | class::UPPER | class::LOWER
    });

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

fn set(classes: &mut [u8], pattern: &str, value: impl Fn(u32) -> u8) {
    for [first, last] in ranges(pattern) {
        for point in first..=last {
            classes[point as usize] = value(point);
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
