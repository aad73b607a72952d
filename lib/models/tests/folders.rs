//! Folders as `save_pretrained` writes them and as older ones are, and what is wrong with others.

use gristmill_models::{EngineChoice, EngineKind, Folder, Special};

use crate::models::compare_text;
use crate::small::{MERGES, folder, open, sentencepiece, tokenizer};

fn text() -> String {
    tokenizer(&MERGES).to_string()
}

#[track_caller]
fn fails(files: &[(&str, &str)], cause: &str) {
    let text = text();
    let mut all = vec![("tokenizer.json", &*text)];
    all.retain(|(name, _)| files.iter().all(|(other, _)| other != name));
    all.extend_from_slice(files);
    let folder = folder(&all);
    let message = match Folder::open(folder.path()) {
        Err(error) => error.to_string(),
        Ok(opened) => opened.template(None, false).unwrap_err().to_string(),
    };
    let path = format!("{}", folder.path().display());
    assert!(message.starts_with(&path) && !message.contains('\n'), "{message}");
    assert!(message.contains(cause), "{message}, not {cause}");
}

#[test]
fn what_is_wrong_is_said_with_the_file() {
    fails(&[], "no chat template");
    fails(&[("tokenizer_config.json", "{")], "tokenizer_config.json: damaged JSON: EOF");
    fails(
        &[("tokenizer.json", "{\"version\": \"1.0\"}")],
        "tokenizer.json: damaged JSON: missing field `model`",
    );
    fails(&[("tokenizer_config.json", "{\"chat_template\": 1}")], "chat_template is neither");
    let several =
        r#"{"chat_template": [{"name": "a", "template": "1"}, {"name": "b", "template": "2"}]}"#;
    fails(
        &[("tokenizer_config.json", several)],
        "several chat templates and no default, choose one: a, b",
    );
    fails(
        &[("tokenizer_config.json", r#"{"added_tokens_decoder": {"9": {"content": "</s>"}}}"#)],
        "states 9 as the id of the added token \"</s>\", but its place is",
    );
    fails(&[("added_tokens.json", r#"{"</s>": "x"}"#)], "\"</s>\" has no id");
    fails(
        &[("config.json", r#"{"eos_token_id": 9999}"#)],
        "config.json: eos_token_id 9999 is no id",
    );
    fails(&[("generation_config.json", r#"{"eos_token_id": ["a"]}"#)], "neither an id nor a list");
    fails(&[("tokenizer_config.json", r#"{"bos_token": {"x": 1}}"#)], "bos_token has no content");
    let change = |path: &str, value: serde_json::Value| {
        let mut file = tokenizer(&MERGES);
        *file.pointer_mut(path).unwrap() = value;
        file.to_string()
    };
    let other = |path, value, cause| fails(&[("tokenizer.json", &change(path, value))], cause);
    other("/version", "2.0".into(), "version \"2.0\" of the format is not known");
    other("/model/type", "Other".into(), "model of type \"Other\" is not known");
    other("/added_tokens/0/id", 7.into(), "added token \"<|end|>\" has id 7, but its place is 264");
    other("/model/vocab/a", 4_000_000_000_u32.into(), "id 4000000000 is above");
    let folder = folder(&[]);
    let message = Folder::open(folder.path()).err().unwrap().to_string();
    assert!(message.contains("tokenizer.json: cannot read it"), "{message}");
}

#[test]
fn templates_have_the_precedence_of_transformers() {
    let text = text();
    let config = r#"{"chat_template": "config"}"#;
    let files = [("tokenizer.json", &*text), ("tokenizer_config.json", config)];
    let opened = folder(&files);
    let one = Folder::open(opened.path()).unwrap();
    assert_eq!(one.template(None, true).unwrap().text, "config");
    assert_eq!(one.template(Some("default"), false).unwrap().name, "default");
    let message = one.template(Some("rag"), false).unwrap_err().to_string();
    assert!(message.ends_with("no chat template \"rag\"; there are: default"), "{message}");

    let more = [
        ("chat_template.jinja", "file\r\n"),
        ("additional_chat_templates/tool_use.jinja", "tools"),
    ];
    let opened = folder(&[&files[..], &more[..]].concat());
    let several = Folder::open(opened.path()).unwrap();
    assert_eq!(several.template(None, false).unwrap().text, "file\n");
    assert_eq!(several.template(None, true).unwrap().text, "tools");
    assert_eq!(several.templates().len(), 2);

    // Where there is a file, the template of the configuration is not looked at.
    let opened = folder(&[&files[..], &more[1..]].concat());
    let tools = Folder::open(opened.path()).unwrap();
    assert!(tools.template(None, false).is_err());
}

#[test]
fn special_tokens_and_stop_tokens_come_from_all_files() {
    let text = text();
    let opened = folder(&[
        ("tokenizer.json", &text),
        (
            "tokenizer_config.json",
            r#"{"bos_token": {"__type": "AddedToken", "content": "<think>"}, "add_bos_token": true,
                "eos_token": "a", "pad_token": null, "extra_special_tokens": {"image": "<image>"}}"#,
        ),
        ("special_tokens_map.json", r#"{"eos_token": {"content": "<|end|>"}}"#),
        ("config.json", r#"{"eos_token_id": [264, 97], "x": Infinity}"#),
        ("generation_config.json", r#"{"eos_token_id": 98}"#),
    ]);
    let folder = Folder::open(opened.path()).unwrap();
    assert_eq!(folder.special_token("bos_token"), Some("<think>"));
    assert_eq!(folder.special_token("eos_token"), Some("<|end|>"));
    assert_eq!(folder.special_token("image"), Some("<image>"));
    assert_eq!(folder.special_token("pad_token"), None);
    let stops: Vec<_> = folder.stop_tokens().iter().map(|stop| (stop.id, &*stop.text)).collect();
    assert_eq!(stops, [(264, "<|end|>"), (97, "a"), (98, "b")]);
    // (Named, and in no file: <image>.)
    assert_eq!(folder.vocabulary_size(), 267);
}

#[test]
fn both_engines_encode_a_small_file() {
    for choice in [EngineChoice::Fastest, EngineChoice::Reference] {
        let folder = open(&text(), choice).unwrap();
        let tokenizer = folder.tokenizer();
        let is_fast = choice == EngineChoice::Fastest;
        assert_eq!(tokenizer.engine() == EngineKind::Fast, is_fast, "{}", tokenizer.engine_note());
        let mut encoder = tokenizer.encoder();
        let (mut ids, mut ends) = (Vec::new(), Vec::new());
        encoder.encode_with_ends("hello wo<|end|>é", Special::Tokens, &mut ids, &mut ends).unwrap();
        assert_eq!(ids, [259, 261, 264, 0xc3, 0xa9]);
        // Both bytes of é end with it.
        assert_eq!(ends, [5, 8, 15, 17, 17]);
        let mut bytes = Vec::new();
        tokenizer.decode_into(&ids, &mut bytes).unwrap();
        assert_eq!(bytes, "hello wo<|end|>é".as_bytes());
        assert_eq!(tokenizer.decode_into(&[97, 266], &mut bytes).unwrap_err().at, 1);
        ids.clear();
        encoder.encode("<|end|><think>", Special::Text, &mut ids).unwrap();
        assert_eq!((ids.len(), ids[7]), (8, 265));

        ids.clear();
        ends.clear();
        let text = "hello<|end|>hello";
        let counts = encoder.encode_pieces(text, &[2, 12], Special::Tokens, &mut ids, &mut ends);
        assert_eq!(counts.unwrap(), [1, 4]);
        assert_eq!(ids, [256, 257, 111, 264, 259]);
        assert_eq!(ends, [2, 4, 5, 12, 17]);
        let error = encoder.encode_pieces("é", &[1], Special::Tokens, &mut ids, &mut ends);
        assert!(error.is_err());
        let finder = tokenizer.finder(|token| token.content != "<image>");
        let spelled: Vec<_> = finder.find_all("a<think><|end|>").collect();
        assert_eq!(spelled, [(265, 1..8), (264, 8..15)]);
        assert_eq!(tokenizer.finder(|token| token.special).find_all("<think>").count(), 0);

        // A text that spells added tokens, in the middle of another.
        for (special, expected) in
            [(Special::Tokens, 1), (Special::Text, 1), (Special::Plain, "<think>".len())]
        {
            ids.clear();
            ends.clear();
            encoder.encode_within("<think>", special, &mut ids, &mut ends).unwrap();
            assert_eq!((ids.len(), ends.len(), ends.last()), (expected, expected, Some(&7)));
        }
    }
}

/// Long texts that begin alike: what was encoded before is remembered, line by line.
#[test]
fn texts_that_come_again_have_the_same_ids_and_ends() {
    let characters = ["h", "e", "l", "o", "a", "\n"];
    let merges = [["h", "e"], ["l", "l"], ["\n", "he"]];
    for file in [text(), sentencepiece(&characters, &merges, false).to_string()] {
        let [own, reference] = [EngineChoice::Fastest, EngineChoice::Reference]
            .map(|choice| open(&file, choice).unwrap());
        assert_eq!(own.tokenizer().engine(), EngineKind::Fast, "{}", own.tokenizer().engine_note());
        let mut one = own.tokenizer().encoder();
        let mut other = reference.tokenizer().encoder();
        let lines = ["hello", "he", "/hell", "é hello", "    oh", "\"a\""];
        for number in 0..60 {
            let count = 50 + number % 5 * 60;
            let lines = (0..count).map(|at| lines[(at * at + at / 7) % lines.len()]);
            let text = lines
                .chain([["", "hello", "/", "<|end|>é"][number % 4]])
                .collect::<Vec<_>>()
                .join("\n");
            compare_text(&mut one, &mut other, &text, Special::Tokens);
        }
    }
}
