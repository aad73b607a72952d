//! Writes the table that tells whether text is in Normalization Form C. It is made from the crate with which
//! `tokenizers` normalizes.

use std::path::PathBuf;
use std::{env, fs};

use unicode_normalization_alignments::char::canonical_combining_class;
use unicode_normalization_alignments::{IsNormalized, is_nfc_quick};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let directory = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let classes: Vec<u8> = (0..0x11_0000).map(class_of).collect();
    let mut table: Vec<u8> = (0..=255).map(|first| plain_length(&classes, first)).collect();
    let mut blocks: Vec<&[u8]> = Vec::new();
    for block in classes.chunks(256) {
        let number = blocks.iter().position(|known| *known == block).unwrap_or_else(|| {
            blocks.push(block);
            blocks.len() - 1
        });
        table.push(u8::try_from(number).expect("fewer than 256 distinct blocks"));
    }
    table.extend(blocks.concat());
    fs::write(directory.join("nfc"), table).expect("a file in OUT_DIR");
}

/// The length in bytes of the characters that begin with this byte, if none of them is combined with another
/// character; else 0. For a byte within a character it is 1.
fn plain_length(classes: &[u8], first: u8) -> u8 {
    let (start, count, length) = match u32::from(first) {
        first @ 0..0x80 => (first, 1, 1),
        0x80..0xc0 => return 1,
        first @ 0xc2..0xe0 => ((first & 0x1f) << 6, 1 << 6, 2),
        first @ 0xe0..0xf0 => ((first & 0x0f) << 12, 1 << 12, 3),
        _ => return 0,
    };
    let classes = &classes[start as usize..(start + count) as usize];
    if classes.iter().all(|&class| class == 0) { length } else { 0 }
}

/// Returns the combining class of a character; 254 if it may be combined with the character before it, 255 if
/// its normal form is another.
fn class_of(point: u32) -> u8 {
    let Some(character) = char::from_u32(point) else { return 0 };
    match is_nfc_quick(std::iter::once(character)) {
        IsNormalized::Yes => canonical_combining_class(character),
        IsNormalized::Maybe => 254,
        IsNormalized::No => 255,
    }
}
