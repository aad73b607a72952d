//! Small vocabularies of characters: our own engine beside the reference, and what it leaves to the reference.

use gristmill_models::{EngineChoice, EngineKind, Special};
use serde_json::{Value, json};

use crate::models::{Random, compare_text};
use crate::small::{open, sentencepiece};

/// Merges of any tokens in any order, within words and across their ends, and texts of the same characters.
#[test]
fn any_merges_of_characters_give_equal_ids_and_ends() {
    let mut random = Random(4);
    for round in 0..400 {
        let letters = ["a", "b", "▁", "é", "中"];
        let mut tokens: Vec<String> = letters.map(str::to_owned).to_vec();
        let mut merges: Vec<[String; 2]> = Vec::new();
        for _ in 0..random.below(14) {
            let pair = [0; 2].map(|_| tokens[random.below(tokens.len())].clone());
            if pair.concat().chars().count() <= 6 && !merges.contains(&pair) {
                tokens.push(pair.concat());
                merges.push(pair);
            }
        }
        for at in 1..merges.len() {
            merges.swap(at, random.below(at + 1));
        }
        let pairs: Vec<[&str; 2]> =
            merges.iter().map(|[left, right]| [&**left, &**right]).collect();
        // Now and then a character that is no token.
        let characters = &letters[..letters.len() - random.below(2)];
        let mut file = sentencepiece(characters, &pairs, round % 2 == 0);
        let vocabulary = file["model"]["vocab"].as_object().unwrap();
        if pairs.iter().flatten().any(|part| !vocabulary.contains_key(*part)) {
            continue;
        }
        if round % 3 == 0 {
            file["pre_tokenizer"] = json!({"type": "Split", "pattern": {"String": " "},
                "behavior": "MergedWithPrevious", "invert": false});
        }
        let text = file.to_string();
        let [one, other] = [EngineChoice::Fastest, EngineChoice::Reference]
            .map(|choice| open(&text, choice).unwrap());
        assert_eq!(one.tokenizer().engine(), EngineKind::Fast, "{}", one.tokenizer().engine_note());
        let mut encoders = [&one, &other].map(|folder| folder.tokenizer().encoder());
        for round in 0..40 {
            let parts =
                ["a", "b", "▁", " ", "é", "中", "a", "b", " ", "x", "\n\n", "\n", "😀", "<s>"];
            let text: String =
                (0..random.below(40)).map(|_| parts[random.below(parts.len())]).collect();
            let special = if round % 2 == 0 { Special::Text } else { Special::Tokens };
            let [first, second] = &mut encoders;
            compare_text(first, second, &text, special);
        }
    }
}

/// A word that is longer than those that are kept, and more words than are kept.
#[test]
fn long_words_and_many_words_give_equal_ids() {
    let merges = [
        ["a", "a"],
        ["aa", "aa"],
        ["▁", "a"],
        ["a", "b"],
        ["a", "1"],
        ["0", "1"],
        ["1", "0"],
        ["1", "1"],
        ["0", "0"],
    ];
    let text = sentencepiece(&["a", "b", "▁", "0", "1"], &merges, true).to_string();
    let [one, other] =
        [EngineChoice::Fastest, EngineChoice::Reference].map(|choice| open(&text, choice).unwrap());
    let mut encoders = [&one, &other].map(|folder| folder.tokenizer().encoder());
    let [first, second] = &mut encoders;
    compare_text(
        first,
        second,
        &format!("{}b{}", "a".repeat(1000), "01".repeat(3000)),
        Special::Text,
    );
    for start in (0..15).chain(0..2) {
        let words: String =
            (0..10_000).map(|at| format!(" a{0:b} a{0:b}", start * 10_000 + at)).collect();
        compare_text(first, second, &words, Special::Text);
    }
}

/// Files with parts that our engine does not know, and the notes about them.
#[test]
fn what_is_not_known_goes_to_the_reference() {
    let base = || sentencepiece(&["a", "b", "▁"], &[["a", "b"], ["▁", "ab"]], false);
    let added = |name: &str| {
        let mut file = base();
        file["added_tokens"][0][name] = json!(true);
        file
    };
    let with = |path: &str, value: Value| {
        let mut file = base();
        *file.pointer_mut(path).unwrap() = value;
        file
    };
    let mut no_byte = base();
    no_byte["model"]["vocab"].as_object_mut().unwrap().remove("<0x0A>");
    no_byte["model"]["vocab"]["c"] = json!(12);
    let mut of_bytes = base();
    of_bytes["model"]["vocab"]["a<0x0A>"] = json!(263);
    of_bytes["added_tokens"][1]["id"] = json!(264);
    of_bytes["model"]["merges"].as_array_mut().unwrap().push(json!(["a", "<0x0A>"]));
    let mut to_byte = sentencepiece(
        &["<", "0", "x", "A", ">", "▁"],
        &[["<", "0"], ["<0", "x"], ["<0x", "0"], ["<0x0", "A"], ["<0x0A", ">"]],
        false,
    );
    to_byte["added_tokens"] = json!([]);
    let twice = with("/model/merges", json!([["a", "b"], ["▁", "ab"], ["a", "b"]]));
    let prepend = json!({"type": "Prepend", "prepend": "▁"});
    let replace = json!({"type": "Replace", "pattern": {"String": " "}, "content": "▁"});
    let split = |behavior: &str, invert: bool| {
        let pattern = json!({"String": " "});
        json!({"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert})
    };
    let mut both = with("/normalizer", Value::Null);
    both["pre_tokenizer"] = split("MergedWithPrevious", false);
    let normalizer = "another normalizer than that of SentencePiece";
    let pre_tokenizer = "pre-tokenizer beside a normalizer of spaces";
    for (file, why) in [
        (with("/normalizer", Value::Null), normalizer),
        (both, normalizer),
        (with("/normalizer", prepend.clone()), normalizer),
        (
            with("/normalizer", json!({"type": "Sequence", "normalizers": [replace, prepend]})),
            normalizer,
        ),
        (
            with(
                "/normalizer",
                json!({"type": "Replace", "pattern": {"Regex": " "}, "content": "▁"}),
            ),
            normalizer,
        ),
        (
            with(
                "/normalizer",
                json!({"type": "Replace", "pattern": {"String": " "}, "content": "_"}),
            ),
            normalizer,
        ),
        (with("/pre_tokenizer", split("Removed", true)), pre_tokenizer),
        (with("/pre_tokenizer", json!({"type": "Whitespace"})), pre_tokenizer),
        (with("/model/byte_fallback", json!(false)), "bytes that are not all tokens"),
        (with("/model/ignore_merges", json!(true)), "merges that are ignored"),
        (with("/model/end_of_word_suffix", json!("b")), "marks at the ends of words"),
        (with("/decoder", Value::Null), "decoder of another kind"),
        (no_byte, "bytes that are not all tokens"),
        (of_bytes, "a merge of bytes"),
        (to_byte, "a merge of bytes"),
        (twice, "a pair is merged twice"),
        (added("normalized"), "added token \"<s>\" of normalized text"),
        (added("lstrip"), "added token \"<s>\" takes what is beside it"),
        (added("rstrip"), "added token \"<s>\" takes what is beside it"),
        (added("single_word"), "added token \"<s>\" takes what is beside it"),
    ] {
        let folder = open(&file.to_string(), EngineChoice::Fastest).unwrap();
        let tokenizer = folder.tokenizer();
        assert_eq!(tokenizer.engine(), EngineKind::Reference, "{why}");
        assert_eq!(tokenizer.engine_note(), format!("tokenizers, for {why}"));
    }
    let known = open(&base().to_string(), EngineChoice::Fastest).unwrap();
    assert_eq!(known.tokenizer().engine_note(), "own engine, words of characters");
}
