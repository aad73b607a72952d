//! Files that were made to take much time or memory, or to make the crate `tokenizers` panic: each is refused in
//! one line, or costs little.

use std::time::{Duration, Instant};

use base64::prelude::{BASE64_STANDARD, Engine};
use gristmill_models::{EngineChoice, Folder, Special};
use serde_json::{Value, json};

use crate::small::{MERGES, open, tokenizer};

fn whole(change: impl FnOnce(&mut Value)) -> String {
    let mut file = tokenizer(&MERGES);
    change(&mut file);
    file.to_string()
}

/// Opens a text with both engines; each must give this error.
#[track_caller]
fn refused(text: &str, cause: &str) {
    let begin = Instant::now();
    for choice in [EngineChoice::Fastest, EngineChoice::Reference] {
        let message = match open(text, choice) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("it is opened, where this is wanted: {cause}"),
        };
        assert!(message.contains(cause) && !message.contains('\n'), "{message}, not {cause}");
        assert!(message.len() < 500, "{message}");
    }
    assert!(begin.elapsed() < Duration::from_secs(20));
}

/// A whole file with a part that only the reference reads, and with a model of Unigram.
fn unigram(part: &str, value: Value) -> String {
    whole(|file| {
        file["added_tokens"] = json!([]);
        file["model"] =
            json!({"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.0]]});
        file[part] = value;
    })
}

#[test]
fn ids_that_are_none_are_refused() {
    let id = |id: Value| whole(|file| file["model"]["vocab"]["a"] = id);
    refused(&id(json!(-1)), "-1 is no id of a token");
    refused(&id(json!(1_u64 << 32)), "4294967296 is no id of a token");
    refused(&id(json!(1_u32 << 31)), "id 2147483648 is above 4194303");
    refused(&id(json!(1.5)), "1.5 is no id of a token");
    refused(&id(json!("7")), "expected a number at byte");
    refused(&id(json!(98)), "has id 98, as another token");
    let text = whole(|file| file["added_tokens"] = json!([]));
    let text = text.replacen(r#""a":97"#, r#""a":97,"a":5000"#, 1);
    refused(&text, "token \"a\" is there twice");
    let added = |id: Value| whole(|file| file["added_tokens"][0]["id"] = id);
    refused(&added(json!(-5)), "invalid value: integer `-5`, expected u32");
    refused(&added(json!(0)), "added token \"<|end|>\" has id 0, but its place is 264");
}

/// Ids without a token are no error; they have no bytes.
#[test]
fn ids_may_have_holes() {
    let text = whole(|file| {
        file["added_tokens"] = json!([]);
        file["model"]["vocab"]["far"] = json!(300_000);
    });
    for choice in [EngineChoice::Fastest, EngineChoice::Reference] {
        let folder = open(&text, choice).unwrap();
        assert_eq!(folder.vocabulary_size(), 300_001);
        let unknown = folder.tokenizer().decode_into(&[97, 299_999], &mut Vec::new()).unwrap_err();
        assert_eq!(
            unknown.to_string(),
            "token 299999 at position 1: no id of the model's vocabulary"
        );
        let mut ids = Vec::new();
        folder.tokenizer().encoder().encode("hello", Special::Tokens, &mut ids).unwrap();
        assert_eq!(ids, [259]);
    }
}

#[test]
fn dropout_is_refused() {
    let dropout = |dropout: Value| whole(|file| file["model"]["dropout"] = dropout);
    for other in [json!(0.1), json!(1), json!(1e-9), json!(-1.0), json!("0.1"), json!([0.0])] {
        refused(&dropout(other), "dropout: each run would make other tokens of a text");
    }
    for none in [json!(null), json!(0), json!(0.0), json!(-0.0)] {
        open(&dropout(none), EngineChoice::Fastest).unwrap();
    }
    let model = json!({"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0]], "dropout": 0.5});
    refused(&unigram("model", model), "dropout");
}

#[test]
fn merges_of_no_token_are_refused() {
    let merge = |merge: Value| whole(|file| file["model"]["merges"][3] = merge);
    refused(&merge(json!(["zz", "a"])), "`zz` out of vocabulary");
    refused(&merge(json!(["a", "b"])), "`ab` out of vocabulary");
    refused(&merge(json!(["hello", "hello"])), "merge 3 (\"hello\", \"hello\") makes no token");
    let untyped = whole(|file| {
        file["model"].as_object_mut().unwrap().remove("type");
        file["model"]["merges"][3] = json!(["hello", "hello"]);
    });
    refused(&untyped, "merge 3 (\"hello\", \"hello\") makes no token");
    refused(&merge(json!(["a"])), "merge 3 has not two tokens");
    refused(&merge(json!(["a", "b", "c"])), "merge 3 has not two tokens");
    refused(&merge(json!(["a", 7])), "expected a string at byte");
    refused(&merge(json!("a b c")), "merge \"a b c\" has not two tokens");
    refused(&merge(json!(7)), "merge 3 is a number, and not two tokens");
}

/// (Some readers of JSON take the first of two fields, others the last.)
#[test]
fn lists_that_are_there_twice_are_refused() {
    let text = whole(|_| {});
    for other in ["\"vocab\":{}", "\"merges\":null", "\"merges\":[]"] {
        let name = other.split('"').nth(1).unwrap();
        let twice = text.replacen("\"model\":{", &format!("\"model\":{{{other},"), 1);
        refused(&twice, &format!("duplicate field `{name}`"));
    }
    let twice = text.replacen("\"model\":{", "\"model\":{\"vocab\":{}},\"model\":{", 1);
    refused(&twice, "duplicate field");
}

#[test]
fn counts_and_lengths_are_bounded() {
    let mut many = String::with_capacity(30 << 20);
    (0..5_000_000).for_each(|_| many.push_str("\"a b\","));
    many.pop();
    let text = whole(|file| file["model"]["merges"] = json!(["merges"]));
    refused(&text.replacen("\"merges\"]", &format!("{many}]"), 1), "more than 4194304 merges");

    let token = |id: usize, content: &str| {
        json!({"id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false,
               "normalized": false, "special": true})
    };
    let added = |list: Vec<Value>| whole(|file| file["added_tokens"] = json!(list));
    refused(&added(vec![token(264, "")]), "added token 264 has no content");
    refused(
        &added(vec![token(264, &"x".repeat(5000))]),
        "added token 264 has more than 1024 bytes",
    );
    let all = (0..70_000).map(|number| token(264 + number, &format!("<{number}>"))).collect();
    refused(&added(all), "more than 65536 added tokens");

    let long = json!({"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a".repeat(1 << 20), -1.0]]});
    refused(&unigram("model", long), "token 1 has more than 1024 bytes");

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokenizer.json");
    std::fs::File::create(&path).unwrap().set_len(1 << 40).unwrap();
    let message = Folder::open(&path).err().unwrap().to_string();
    assert!(message.ends_with("tokenizer.json: longer than 268435456 bytes"), "{message}");
}

#[test]
fn parts_that_multiply_text_are_refused() {
    let doubling = json!({"type": "Replace", "pattern": {"String": "a"}, "content": "aa"});
    let normalizer = json!({"type": "Sequence", "normalizers": vec![doubling.clone(); 40]});
    refused(
        &unigram("normalizer", normalizer),
        "normalizer that makes more than 16384 bytes of one",
    );
    let decoder = json!({"type": "Sequence", "decoders": vec![doubling; 40]});
    refused(&unigram("decoder", decoder), "decoder that makes more than 16384 bytes of one");
    let long = json!({"type": "Replace", "pattern": {"Regex": ""}, "content": "x".repeat(1 << 20)});
    refused(&unigram("normalizer", long), "normalizer that makes more than 16384 bytes of one");
    let level = json!({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true});
    let levels = json!({"type": "Sequence", "pretokenizers": vec![level; 30]});
    refused(
        &unigram("pre_tokenizer", levels),
        "normalizer that makes more than 16384 bytes of one",
    );
}

/// A map in which `a` becomes `bc`, with one unit changed.
fn map(change: impl FnOnce(&mut Vec<u32>)) -> String {
    // Of the unit of `a`: where its children are, that there is a text, and its label.
    let mut units = vec![0_u32; 512];
    units[0x61] = 0x161 << 10 | 1 << 8 | 0x61;
    change(&mut units);
    let mut bytes = (4 * units.len() as u32).to_le_bytes().to_vec();
    bytes.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
    bytes.extend(b"bc\0d\0");
    BASE64_STANDARD.encode(bytes)
}

#[test]
fn character_maps_are_checked() {
    let file = |map: Value| {
        unigram("normalizer", json!({"type": "Precompiled", "precompiled_charsmap": map}))
    };
    let good = open(&file(json!(map(|_| ()))), EngineChoice::Reference).unwrap();
    let mut ids = Vec::new();
    good.tokenizer().encoder().encode("xaa", Special::Tokens, &mut ids).unwrap();
    assert_eq!(ids, [0]);
    refused(&file(json!("!")), "normalizer Precompiled: Invalid");
    refused(&file(json!("")), "normalizer Precompiled: no length");
    refused(&file(json!("/////w==")), "normalizer Precompiled: shorter than its length");
    refused(&file(json!("AAAAAA==")), "normalizer Precompiled: no units");
    refused(&file(Value::Null), "normalizer Precompiled without a text");
    refused(&file(json!(map(|units| units.truncate(0x60)))), "leads out of its array");
    refused(&file(json!(map(|units| units[0] = 0x3ff << 10))), "leads out of its array");
    refused(&file(json!(map(|units| units[0x61] |= 1 << 9))), "leads out of its array");
    refused(&file(json!(map(|units| units[0x100] = 99))), "a place of no text");
    let bare = json!({"type": "Precompiled"});
    refused(&unigram("normalizer", bare), "normalizer Precompiled without its map");
    let strip = json!({"type": "Strip", "content": "a", "start": 0, "stop": 3});
    refused(&unigram("decoder", strip), "decoder Strip with a stop above 0");
}

/// Expressions that backtrack are given up after a million steps.
#[test]
fn expressions_that_backtrack_end() {
    for expression in [
        "(a*)*b",
        "(?=(a+)+b)c",
        "(?:(?!z)(?:a|a))*b",
        "(a|aa)+(?!a)b",
        "(?:a{1,1000}){1,1000}(?=b)",
        r"(a+)\1+b",
        "(?<=a)*b",
    ] {
        let split = json!({"type": "Split", "pattern": {"Regex": expression}, "behavior": "Isolated", "invert": false});
        let begin = Instant::now();
        if let Ok(folder) = open(&unigram("pre_tokenizer", split), EngineChoice::Reference) {
            let mut encoder = folder.tokenizer().encoder();
            let _ = encoder.encode(&"a".repeat(300), Special::Tokens, &mut Vec::new());
        }
        assert!(begin.elapsed() < Duration::from_secs(20), "{expression}");
    }
    let deep = format!("{}a{}", "(".repeat(100_000), ")".repeat(100_000));
    let split = json!({"type": "Split", "pattern": {"Regex": deep}, "behavior": "Isolated", "invert": false});
    assert!(open(&unigram("pre_tokenizer", split), EngineChoice::Reference).is_err());
}

#[test]
fn nested_parts_end() {
    for (part, kind, list) in [
        ("normalizer", "Sequence", "normalizers"),
        ("pre_tokenizer", "Sequence", "pretokenizers"),
        ("decoder", "Sequence", "decoders"),
    ] {
        for is_typed in [true, false] {
            let mut value = json!([]);
            for _ in 0..55 {
                value = match is_typed {
                    true => json!([{"type": kind, list: value}]),
                    false => json!([{list: value}]),
                };
            }
            let begin = Instant::now();
            let _ = open(&unigram(part, value[0].clone()), EngineChoice::Reference);
            assert!(begin.elapsed() < Duration::from_secs(5), "{part}");
        }
    }
    let deep = format!("{{\"version\": \"1.0\", \"model\": {}", "[".repeat(1_000_000));
    refused(&deep, "damaged JSON");
}
