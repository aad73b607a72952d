//! What comes with a model: its template and its tokenizer.

use std::cell::RefCell;
use std::sync::LazyLock;

use gristmill_models::{EngineChoice, Folder, Special};
use gristmill_template::{Chat, Date, Finder, Limits, Records, Template, Value};
use tempfile::TempDir;

use super::memory;

/// Reads the bytes; an error is as good as any other outcome, if it is one line.
pub type Target = fn(&[u8]) -> Result<(), String>;

/// Each target with the name of its corpus.
pub const MODELS: [(&str, Target); 2] = [
    ("template", template), // chat templates
    ("tokenizer", tokenizer),
];

/// The most memory that an input took so far.
#[allow(dead_code)]
pub fn most_memory() -> usize {
    memory::most()
}

/// Runs a target; panics if it does, if it takes too much memory, or if its error is not one line.
pub fn run(target: Target, bytes: &[u8]) {
    memory::check(bytes.len(), 0, || {
        if let Err(error) = target(bytes) {
            assert!(!error.is_empty() && !error.contains('\n'), "not one line: {error:?}");
        }
    });
}

/// A fraction of what chats may take, so that an input ends in a fraction of a second.
const LIMITS: Limits = Limits { steps: 100_000, bytes: 4 << 20 };

const MESSAGES: &str = r#"[
    {"role": "system", "content": "Be <brief>."},
    {"role": "user", "content": [{"type": "text", "text": " Größe?\n"}, {"type": "image"}], "n": 7},
    {"role": "assistant", "reasoning_content": "Hm.", "content": "", "tool_calls": [
        {"id": "1", "type": "function", "function": {"name": "f", "arguments": {"a": [1.5, null, true], "b": "x y"}}}]},
    {"role": "tool", "name": "f", "tool_call_id": "1", "content": "{\"x\": 1e3}"},
    {"role": "user", "content": "and\r\nnow"},
    {"role": "assistant", "content": "🌾 <|im_end|>", "thinking": "why"}]"#;

const TOOLS: &str = r#"[{"type": "function", "function": {"name": "f", "description": "It's",
    "parameters": {"type": "object", "properties": {"a": {"type": ["array", "null"]}}, "required": ["a"]}}}]"#;

static CHAT: LazyLock<Chat> = LazyLock::new(|| {
    let list = |text| Value::from_json(text).expect("JSON").as_list().expect("a list").to_vec();
    let chat = Chat::new(list(MESSAGES)).and_then(|chat| chat.with_tools(list(TOOLS)));
    chat.expect("a chat")
});

/// Renders a chat, and finds its turns.
fn template(bytes: &[u8]) -> Result<(), String> {
    let source = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
    let mut template = Template::new(source).map_err(|error| error.to_string())?;
    template.set_limits(LIMITS);
    template.set_date(Date::parse("2026-02-28").expect("a date"));
    template.set("bos_token", Value::text("<s>")).expect("a name of its own");
    let rendered = template.render_marked(&CHAT, true);
    let finder = Finder::new(template, vec!["<|im_end|>".to_owned(), "</s>".to_owned()]);
    let fewest = finder.find(&CHAT, Records::Fewest, |_| true);
    let one = finder.find(&CHAT, Records::One, |_| true);
    for found in fewest.iter().chain(&one).flatten() {
        let mut at = 0;
        for segment in &found.segments {
            assert_eq!(segment.range.start, at);
            assert!(found.text.get(segment.range.clone()).is_some());
            at = segment.range.end;
        }
        assert_eq!(at, found.text.len());
    }
    rendered.map(drop).and(fewest.map(drop)).and(one.map(drop)).map_err(|error| error.to_string())
}

thread_local! {
    static FOLDER: RefCell<TempDir> = RefCell::new(match std::env::var_os("TMPDIR") {
        None => TempDir::new_in("/dev/shm").or_else(|_| TempDir::new()).expect("a directory"),
        Some(_) => TempDir::new().expect("a directory"),
    });
}

const TEXT: &str = "Hello hello  world, don't 1234!\n\n<|end|>hello <think>é中\u{301} ▁x Ñaab 🌾\t";

/// Opens a `tokenizer.json` with both engines and encodes a text; the ids must be equal.
fn tokenizer(bytes: &[u8]) -> Result<(), String> {
    FOLDER.with_borrow(|folder| {
        let path = folder.path().join("tokenizer.json");
        std::fs::write(&path, bytes).expect("a file");
        let [fast, reference] = [EngineChoice::Fastest, EngineChoice::Reference].map(|choice| {
            let folder = Folder::open_with(&path, choice).map_err(|error| error.to_string())?;
            let mut encoder = folder.tokenizer().encoder();
            let (mut ids, mut ends) = (Vec::new(), Vec::new());
            for special in [Special::Tokens, Special::Text, Special::Plain] {
                encoder
                    .encode_with_ends(TEXT, special, &mut ids, &mut ends)
                    .map_err(|error| error.to_string())?;
            }
            assert_eq!(ids.len(), ends.len());
            let mut decoded = Vec::new();
            let outcome = folder.tokenizer().decode_into(&ids, &mut decoded);
            ids.iter().for_each(|id| drop(folder.tokenizer().token_bytes(*id as u32)));
            outcome.map(|()| ids).map_err(|error| error.to_string())
        });
        // Our own engine does not look at what it does not need.
        if let (Ok(fast), Ok(reference)) = (&fast, &reference) {
            assert_eq!(fast, reference);
        }
        fast.and(reference).map(drop)
    })
}
