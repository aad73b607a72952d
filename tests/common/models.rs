//! Small folders of models: byte-level BPE with a few merges, special tokens, and a chat template.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::TempDir;

/// ChatML with reasoning, calls and tools.
pub const CHATML: &str = "{%- if tools %}<|im_start|>tools\n{% for tool in tools %}{{ tool | tojson }}\n{% endfor %}<|im_end|>\n{% endif %}\
{%- for m in messages %}{{ '<|im_start|>' + m.role + '\n' }}\
{%- if m.role == 'assistant' %}\
{%- if m.reasoning_content %}{{ '<think>\n' + m.reasoning_content + '\n</think>\n\n' }}{% endif %}\
{{- m.content or '' }}\
{%- for call in m.tool_calls or [] %}{{ '\n<call>' + call.function.name + ' ' + (call.function.arguments | tojson) + '</call>' }}{% endfor %}\
{%- else %}{{ m.content }}{% endif %}{{ '<|im_end|>\n' }}{% endfor %}\
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

/// Plain marks, without special tokens but the end.
pub const PLAIN: &str = "{{ bos_token }}{% for m in messages %}\
{% if m.role == 'user' %}Q:{{ m.content }}\n{% elif m.role == 'system' %}{{ m.content }}\n{% else %}A:{{ m.content }}{{ eos_token }}{% endif %}{% endfor %}\
{% if add_generation_prompt %}A:{% endif %}";

/// The characters that stand for bytes in byte-level BPE (`bytes_to_unicode` of GPT-2).
fn characters() -> Vec<char> {
    let is_own = |byte: u32| matches!(byte, 33..=126 | 161..=172 | 174..=255);
    let mut others = 256..;
    (0..256)
        .map(|byte| if is_own(byte) { byte } else { others.next().unwrap() })
        .map(|code| char::from_u32(code).unwrap())
        .collect()
}

/// Special tokens, in the order of their ids after the others.
const SPECIAL: [&str; 5] = ["<s>", "</s>", "<|im_start|>", "<|im_end|>", "<pad>"];

/// Writes a folder of a model with this template.
pub fn write_model(dir: &TempDir, name: &str, template: &str) -> String {
    write_model_with(dir, name, template, &[])
}

/// The same with more merges, each of two texts.
pub fn write_model_with(
    dir: &TempDir,
    name: &str,
    template: &str,
    more: &[(&str, &str)],
) -> String {
    write_model_at(&dir.path().join(name), template, more);
    dir.at(name)
}

/// Writes the files of a model into a folder, which it makes.
pub fn write_model_at(folder: &Path, template: &str, more: &[(&str, &str)]) {
    let characters = characters();
    let shown =
        |text: &str| -> String { text.bytes().map(|byte| characters[usize::from(byte)]).collect() };
    let mut vocabulary: Map<String, Value> = Map::new();
    for (id, character) in characters.iter().enumerate() {
        vocabulary.insert(character.to_string(), id.into());
    }
    let usual = [("h", "e"), ("l", "l"), ("he", "ll"), ("\n", "\n"), (" ", "t")];
    let mut merges = Vec::new();
    for (first, second) in usual.iter().chain(more) {
        let (first, second) = (shown(first), shown(second));
        vocabulary.insert(format!("{first}{second}"), vocabulary.len().into());
        merges.push(json!([first, second]));
    }
    let first = vocabulary.len();
    let special = SPECIAL.iter().enumerate().map(|(number, content)| {
        json!({
            "id": first + number, "content": content, "special": true, "single_word": false,
            "lstrip": false, "rstrip": false, "normalized": false,
        })
    });
    let level = json!({
        "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false,
    });
    let tokenizer = json!({
        "version": "1.0", "truncation": null, "padding": null,
        "added_tokens": special.collect::<Vec<_>>(),
        "normalizer": null, "pre_tokenizer": level, "post_processor": null, "decoder": level,
        "model": {
            "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false,
            "ignore_merges": false, "vocab": vocabulary, "merges": merges,
        },
    });
    let is_chatml = template.contains("im_end");
    let config = json!({
        "tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "pad_token": "<pad>",
        "eos_token": if is_chatml { "<|im_end|>" } else { "</s>" }, "chat_template": template,
        "clean_up_tokenization_spaces": false, "model_max_length": 1_000_000,
    });
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("tokenizer.json"), tokenizer.to_string()).unwrap();
    fs::write(folder.join("tokenizer_config.json"), config.to_string()).unwrap();
}

/// The folder of a real model's tokenizer; `None`, with a line on stderr, if it is not laid out.
pub fn real_model(name: &str) -> Option<String> {
    let path = format!("{}/target/models/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::path::Path::new(&path).join("tokenizer.json").exists() {
        return Some(path);
    }
    super::skip(&format!("no tokenizer of {name} (tools/models.sh lays them out)"));
    None
}
