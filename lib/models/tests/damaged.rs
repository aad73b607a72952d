//! Files that are damaged at random places: an error or a tokenizer, no panic, and not for long.

use std::panic::catch_unwind;
use std::time::Instant;

use gristmill_models::{EngineChoice, Special};
use serde_json::{Value, json};

use crate::models::Random;
use crate::small::{MERGES, open, sentencepiece, tokenizer};

/// Opens a file with both engines and, if it can be opened, encodes; both must give the same.
#[track_caller]
fn check(text: &str) -> bool {
    let begin = Instant::now();
    let ids = [EngineChoice::Fastest, EngineChoice::Reference].map(|choice| {
        catch_unwind(|| {
            let folder = open(text, choice).ok()?;
            let mut encoder = folder.tokenizer().encoder();
            let mut ids = Vec::new();
            for special in [Special::Tokens, Special::Text, Special::Plain] {
                let text = "hello world, da<|end|>hello <think>é中\u{301}\n";
                encoder.encode(text, special, &mut ids).ok()?;
            }
            let _ = folder.tokenizer().decode_into(&ids, &mut Vec::new());
            Some(ids)
        })
        .unwrap_or_else(|_| panic!("a panic with {choice:?}: {text}"))
    });
    // Our own engine does not check parts that it does not need.
    if let [Some(fast), Some(reference)] = &ids {
        assert_eq!(fast, reference, "{text}");
    }
    assert!(begin.elapsed().as_secs() < 5, "{text}");
    ids[0].is_some()
}

#[test]
fn bytes_that_are_changed_give_an_error_or_a_tokenizer() {
    let whole = tokenizer(&MERGES).to_string();
    let mut random = Random(1);
    let mut opened = 0;
    for round in 0..200 {
        let mut bytes = whole.clone().into_bytes();
        for _ in 0..1 + round % 3 {
            let at = random.below(bytes.len());
            match round % 4 {
                0 => bytes.truncate(at),
                1 => bytes[at] = b"\"{}[],:0eE-\\x"[random.below(13)],
                2 => drop(bytes.splice(at..at, *b"null").collect::<Vec<_>>()),
                _ => drop(bytes.drain(at..(at + 5).min(bytes.len()))),
            }
            if bytes.is_empty() {
                break;
            }
        }
        let Ok(text) = String::from_utf8(bytes) else { continue };
        opened += usize::from(check(&text));
    }
    assert!(opened > 5, "{opened}");
}

/// Every value by another one.
#[test]
fn values_that_are_changed_give_an_error_or_a_tokenizer() {
    let characters = ["h", "e", "l", "o", "▁", "w", "r", "d", "a"];
    let merges = [["h", "e"], ["l", "l"], ["he", "ll"], ["hell", "o"], ["▁", "w"], ["d", "a"]];
    for whole in [tokenizer(&MERGES), sentencepiece(&characters, &merges, true)] {
        change_values(&whole);
    }
}

fn change_values(whole: &Value) {
    let mut paths = Vec::new();
    list(whole, String::new(), &mut paths);
    let others = [
        Value::Null,
        json!(true),
        json!(-1),
        json!(0),
        json!(1e300),
        json!(4_294_967_295_u32),
        json!(""),
        json!("Ġ"),
        json!("a b c"),
        json!([]),
        json!({}),
        json!(["a", "b"]),
        json!({"type": "Sequence"}),
        json!("ByteLevel"),
        json!("Unigram"),
    ];
    let mut random = Random(2);
    // Of the ids of single bytes, which are many, some.
    paths.retain(|path| !path.starts_with("/model/vocab/") || random.below(16) == 0);
    for path in paths {
        for other in &others {
            let mut file = whole.clone();
            *file.pointer_mut(&path).unwrap() = other.clone();
            check(&file.to_string());
        }
    }
}

fn list(value: &Value, path: String, paths: &mut Vec<String>) {
    let escaped = |name: &str| name.replace('~', "~0").replace('/', "~1");
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                list(value, format!("{path}/{}", escaped(name)), paths);
            }
        }
        Value::Array(list_of) => {
            for (at, value) in list_of.iter().enumerate() {
                list(value, format!("{path}/{at}"), paths);
            }
        }
        _ => {}
    }
    if !path.is_empty() {
        paths.push(path);
    }
}

/// Merges in any order and of any tokens. Our engine accepts them only if it gives the same as the reference.
#[test]
fn any_merges_give_equal_ids() {
    let mut random = Random(3);
    let mut own = 0;
    for _ in 0..300 {
        let letters = ["a", "b", "c"];
        let mut tokens: Vec<String> = letters.map(str::to_owned).to_vec();
        let mut merges: Vec<[String; 2]> = Vec::new();
        for _ in 0..1 + random.below(12) {
            let pair = [0; 2].map(|_| tokens[random.below(tokens.len())].clone());
            if pair.concat().len() > 8 || merges.contains(&pair) {
                continue;
            }
            tokens.push(pair.concat());
            merges.push(pair);
        }
        let pairs: Vec<[&str; 2]> =
            merges.iter().map(|[left, right]| [&**left, &**right]).collect();
        let mut file = tokenizer(&pairs);
        file["model"]["ignore_merges"] = json!(random.below(2) == 0);
        // Now and then a token that no merge makes.
        if random.below(2) == 0 {
            let word: String = (0..3 + random.below(6)).map(|_| letters[random.below(3)]).collect();
            let count = file["model"]["vocab"].as_object().unwrap().len();
            if file["model"]["vocab"].get(&word).is_none() {
                file["model"]["vocab"][word] = json!(count);
                for added in file["added_tokens"].as_array_mut().unwrap() {
                    added["id"] = json!(added["id"].as_u64().unwrap() + 1);
                }
            }
        }
        let text = file.to_string();
        let [one, other] = [EngineChoice::Fastest, EngineChoice::Reference]
            .map(|choice| open(&text, choice).unwrap());
        let kind = one.tokenizer().engine();
        own += usize::from(kind == gristmill_models::EngineKind::Fast);
        for _ in 0..60 {
            let text: String = (0..1 + random.below(40))
                .map(|_| ["a", "b", "c", "a", "b", "c", "a", "b", "c", " "][random.below(10)])
                .collect();
            let [mut ids, mut expected] = [Vec::new(), Vec::new()];
            one.tokenizer().encoder().encode(&text, Special::Tokens, &mut ids).unwrap();
            other.tokenizer().encoder().encode(&text, Special::Tokens, &mut expected).unwrap();
            assert_eq!(ids, expected, "{text:?} {}", file["model"]);
        }
    }
    assert!(own > 100, "{own}");
}

/// Other models and parts, whole and wrong, which only the reference has.
#[test]
fn other_models_give_an_error_or_a_tokenizer() {
    let models = [
        json!({"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.0]], "byte_fallback": false}),
        json!({"type": "Unigram", "unk_id": 9, "vocab": [["<unk>", 0.0], ["a", -1.0]], "byte_fallback": true}),
        json!({"type": "Unigram", "unk_id": null, "vocab": [["a", -1.0]]}),
        json!({"type": "Unigram", "unk_id": null, "vocab": []}),
        json!({"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": {"[UNK]": 0, "hell": 1, "##o": 2}}),
        json!({"type": "WordPiece", "unk_token": "x", "continuing_subword_prefix": "é",
            "max_input_chars_per_word": 0, "vocab": {}}),
        json!({"type": "WordLevel", "unk_token": "?", "vocab": {"hello": 0}}),
        json!({"type": "WordLevel", "unk_token": "?", "vocab": {"hello": 5, "?": 5}}),
        json!({"type": "BPE", "vocab": {}, "merges": []}),
        json!({"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "ba"]], "continuing_subword_prefix": "b"}),
        json!({"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"], "unk_token": "?", "dropout": 0.0}),
        json!({"type": "BPE", "vocab": {"a": 0, "é": 1}, "merges": [["a", "é"]], "continuing_subword_prefix": "a"}),
        json!({"type": "BPE", "vocab": {"a": 0}, "merges": [["aaaaaaaa", "aaaaaaaa"]]}),
    ];
    let parts = [
        ("normalizer", json!({"type": "Precompiled", "precompiled_charsmap": "AAAA"})),
        ("normalizer", json!({"type": "Precompiled", "precompiled_charsmap": "/////wAAAAA="})),
        ("normalizer", json!({"type": "Precompiled", "precompiled_charsmap": ""})),
        ("normalizer", json!({"type": "Replace", "pattern": {"Regex": "("}, "content": ""})),
        ("normalizer", json!({"type": "Replace", "pattern": {"String": ""}, "content": "x"})),
        ("normalizer", json!({"type": "Prepend", "prepend": ""})),
        (
            "pre_tokenizer",
            json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true}),
        ),
        (
            "pre_tokenizer",
            json!({"type": "Split", "pattern": {"String": ""}, "behavior": "Removed", "invert": false}),
        ),
        (
            "pre_tokenizer",
            json!({"type": "Split", "pattern": {"Regex": "(a*)*b"}, "behavior": "Isolated", "invert": false}),
        ),
        ("decoder", json!({"type": "Strip", "content": "a", "start": 99, "stop": 99})),
        (
            "decoder",
            json!({"type": "CTC", "pad_token": "", "word_delimiter_token": "", "cleanup": true}),
        ),
        ("decoder", Value::Null),
    ];
    for model in models {
        for (part, value) in &parts {
            let mut file = tokenizer(&MERGES);
            file["added_tokens"] = json!([]);
            file["model"] = model.clone();
            file[*part] = value.clone();
            check(&file.to_string());
        }
    }
}
