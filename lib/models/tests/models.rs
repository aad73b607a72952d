//! Real models: our own engine beside the reference on texts that are easily got wrong. (All code points and
//! 100 MB of real text are compared with the Python package by hand: `tools/compare-models.py`.)

use std::path::PathBuf;

use gristmill_models::{Encoder, EngineChoice, EngineKind, Folder, Special, Tokenizer};

/// The models of `tools/models.sh`, or of `GRISTMILL_MODELS`.
pub fn path_of(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("GRISTMILL_MODELS").map(PathBuf::from);
    let root = root
        .unwrap_or_else(|| [env!("CARGO_MANIFEST_DIR"), "../../target/models"].iter().collect());
    let path = root.join(name);
    if path.join("tokenizer.json").is_file() {
        return Some(path);
    }
    eprintln!("skipped: no {} (tools/models.sh)", path.display());
    None
}

pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % end
    }
}

const PIECES: &[&str] = &[
    "a",
    "B",
    "ab",
    "The",
    " the",
    "'s",
    "'S",
    "'ll",
    "'LL",
    "'ſ",
    "'",
    "’s",
    "'re",
    "don't",
    "DON'T",
    "1",
    "12",
    "1234567",
    "٣",
    "½",
    "Ⅷ",
    " ",
    "  ",
    "   ",
    "\t",
    "\n",
    "\r\n",
    "\n\n",
    "\u{a0}",
    "\u{3000}",
    "\u{85}",
    "\u{200b}",
    "\u{feff}",
    "\u{1}",
    "\u{7f}",
    ".",
    "...",
    "//",
    "!",
    "(",
    "<",
    "<|",
    "|>",
    "$",
    "€",
    "+",
    "_",
    "\\",
    "é",
    "e\u{301}",
    "\u{301}",
    "\u{300}\u{327}",
    "中",
    "文字",
    "中文字幕",
    "の",
    "カ\u{3099}",
    "・",
    "゛",
    "しない",
    "한국",
    " 오후",
    "\u{1112}\u{1161}\u{11ab}",
    "ไทย",
    " เพราะ",
    "ประมาณ",
    "क\u{93c}",
    "द्ध",
    "ক\u{9be}",
    "\u{9c7}\u{9be}",
    "ʰ",
    "ǅ",
    "Б",
    "характер",
    "Việt",
    " việc",
    " nhiều",
    "deği\u{15f}",
    "ß",
    "ﬁ",
    "\u{212b}",
    "😀",
    "❤️",
    "👨‍👩‍👧",
    "𠀀",
    "龦",
    "龥",
    "\u{958}",
    "\u{344}",
    "\u{16121}",
    "\u{e000}",
    "\u{ffff}",
    "\u{378}",
    "\u{3097}",
    "x\u{3040}",
    "▁",
    "▁▁",
    ">",
    "> ",
    "</",
    "<0x0A>",
];

fn texts(tokenizer: &Tokenizer, count: usize) -> Vec<String> {
    let mut random = Random(count as u64);
    let added = tokenizer.added_tokens();
    let text = |round: usize| {
        let few: Vec<&str> =
            (0..1 + random.below(10)).map(|_| PIECES[random.below(PIECES.len())]).collect();
        let pieces = if round.is_multiple_of(2) { PIECES } else { &few };
        let mut text = String::new();
        for _ in 0..1 + random.below(30) {
            let piece = pieces[random.below(pieces.len())];
            let times = if random.below(20) == 0 { 1 + random.below(60) } else { 1 };
            text.push_str(&piece.repeat(times));
            if random.below(12) == 0 && !added.is_empty() {
                let content = &added[random.below(added.len())].content;
                let cut = content.char_indices().map(|(at, _)| at).nth(random.below(3) / 2);
                text.push_str(&content[cut.unwrap_or(0)..]);
            }
        }
        text
    };
    (0..count).map(text).collect()
}

/// Returns the ids of a text. The other encoder must give the same ids, which end at the same places.
#[track_caller]
pub fn compare_text(
    one: &mut Encoder,
    other: &mut Encoder,
    text: &str,
    special: Special,
) -> Vec<i32> {
    let (mut ids, mut ends) = (Vec::new(), Vec::new());
    one.encode_with_ends(text, special, &mut ids, &mut ends).unwrap();
    let (mut expected, mut expected_ends) = (Vec::new(), Vec::new());
    other.encode_with_ends(text, special, &mut expected, &mut expected_ends).unwrap();
    assert_eq!(ids, expected, "{text:?}");
    assert_eq!(ends, expected_ends, "{text:?}");
    assert_eq!(ends.last().copied().unwrap_or(0), text.len());
    let mut again = Vec::new();
    one.encode(text, special, &mut again).unwrap();
    assert_eq!(again, ids);
    ids
}

/// Ids and ends of both engines, and ids back to text.
fn compare(name: &str, kind: EngineKind) {
    let Some(path) = path_of(name) else { return };
    let fast = Folder::open(&path).unwrap();
    let reference = Folder::open_with(&path, EngineChoice::Reference).unwrap();
    assert_eq!(fast.tokenizer().engine(), kind, "{}", fast.tokenizer().engine_note());
    assert_eq!(reference.tokenizer().engine(), EngineKind::Reference);
    assert_eq!(fast.vocabulary_size(), reference.vocabulary_size());
    let mut one = fast.tokenizer().encoder();
    let mut other = reference.tokenizer().encoder();
    for (round, text) in texts(fast.tokenizer(), 1500).iter().enumerate() {
        let special = if round % 3 == 0 { Special::Text } else { Special::Tokens };
        let ids = compare_text(&mut one, &mut other, text, special);
        let mut bytes = Vec::new();
        fast.tokenizer().decode_into(&ids, &mut bytes).unwrap();
        // Qwen normalizes, Llama 2 puts in marks, and a mark in a text of Gemma comes back as a space.
        if !["qwen3", "llama2"].contains(&name) && (name != "gemma3" || !text.contains('▁')) {
            assert_eq!(String::from_utf8_lossy(&bytes), *text);
        }
        let mut joined = Vec::new();
        for &id in &ids {
            joined.extend_from_slice(&reference.tokenizer().token_bytes(id as u32).unwrap());
        }
        // (Llama 2's decoder takes the mark at the front away.)
        assert!(joined.ends_with(&bytes));
    }
    // What begins as others did is remembered.
    let (heads, ends) = (texts(fast.tokenizer(), 240), texts(fast.tokenizer(), 4));
    for head in heads.chunks(12).map(|lines| lines.join("\n")) {
        for end in &ends {
            let text = [&head[..], end].join("\n");
            compare_text(&mut one, &mut other, &text, Special::Tokens);
        }
    }
}

#[test]
fn qwen3() {
    compare("qwen3", EngineKind::Fast);
}

#[test]
fn llama3() {
    compare("llama3_1", EngineKind::Fast);
}

#[test]
fn deepseek_v3() {
    compare("deepseek_v3", EngineKind::Fast);
}

#[test]
fn gpt_oss() {
    compare("gptoss", EngineKind::Fast);
}

#[test]
fn gpt_4o() {
    compare("gpt4o", EngineKind::Fast);
}

#[test]
fn gemma_3() {
    compare("gemma3", EngineKind::Fast);
}

#[test]
fn llama_2() {
    compare("llama2", EngineKind::Fast);
}

/// Texts come back from ids, except for what the normalizer adds.
#[test]
fn those_of_sentencepiece_come_back() {
    for name in ["gemma3", "llama2"] {
        let Some(path) = path_of(name) else { continue };
        let folder = Folder::open(&path).unwrap();
        let tokenizer = folder.tokenizer();
        let mut encoder = tokenizer.encoder();
        for text in ["Hello world", "  two  \n\n", "中文 é \u{1f9ff}\t", "a <start_of_turn>b"] {
            let (mut ids, mut ends, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
            encoder.encode_with_ends(text, Special::Tokens, &mut ids, &mut ends).unwrap();
            tokenizer.decode_into(&ids, &mut bytes).unwrap();
            assert_eq!(String::from_utf8_lossy(&bytes), text, "{name}");
            assert_eq!(ends.last(), Some(&text.len()));
            assert!(ends.is_sorted());
        }
    }
}

/// Facts about the folders, compared with their files.
#[test]
fn the_folders_say_what_their_files_say() {
    for (name, size, eos, templates) in [
        ("qwen3", 151_669, "<|im_end|>", 1),
        ("llama3_1", 128_256, "<|eot_id|>", 1),
        ("deepseek_v3", 128_815, "<｜end▁of▁sentence｜>", 1),
    ] {
        let Some(path) = path_of(name) else { continue };
        let folder = Folder::open(&path).unwrap();
        assert_eq!(folder.vocabulary_size(), size, "{name}");
        assert_eq!(folder.special_token("eos_token"), Some(eos));
        assert_eq!(folder.stop_tokens()[0].text, eos);
        assert_eq!(folder.templates().len(), templates);
        assert_eq!(folder.tokenizer_sha256().len(), 64);
        assert!(folder.check_ids_fit(u32::MAX, "uint32").is_ok());
        let error = folder.check_ids_fit(0xffff, "uint16").unwrap_err().to_string();
        assert!(
            error.ends_with(&format!("ids up to {} do not fit in uint16", size - 1)),
            "{error}"
        );
    }
}
