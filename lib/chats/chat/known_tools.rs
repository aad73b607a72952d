//! Declarations of tools that come again: the chats of a file share some of them, which are read, and made values of,
//! once.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use gristmill_template::Value;
use xxhash_rust::xxh3::xxh3_64;

use super::tools::is_read_as_it_is;
use super::value::{self, Json};
use crate::json::{self, Reader};

/// A declaration in OpenAI's form.
#[derive(Debug)]
pub struct KnownTool {
    /// Its JSON as it was given.
    text: String,
    json: Json<'static>,
    value: OnceLock<Result<Value, String>>,
}

/// The declarations that one thread has seen twice. (Chats of Qwen 3 with the same 8 tools of 1 kB: 0.77 million
/// instructions a chat and not 2.0, with what is printed of them; where all tools differ, a thousandth more or less.)
#[derive(Debug, Default)]
pub struct KnownTools {
    /// By the hash of their first bytes.
    tools: HashMap<u64, Vec<Arc<KnownTool>>>,
    /// The bytes of all.
    bytes: usize,
    /// Bits of the hashes of declarations that were read.
    seen: Vec<u32>,
}

/// By how many first bytes a declaration is looked for: they should reach into its name. Shorter ones are not kept.
const HEAD: usize = 96;

/// The most bytes that are kept, and the most declarations of one head.
const MOST_BYTES: usize = 1 << 20;
const MOST_ALIKE: usize = 8;

impl PartialEq for KnownTool {
    fn eq(&self, other: &KnownTool) -> bool {
        self.json == other.json
    }
}

impl KnownTool {
    pub fn json(&self) -> &Json<'static> {
        &self.json
    }

    /// Returns the value of the declaration, which is made once.
    pub fn value(&self, make: impl FnOnce() -> Result<Value, String>) -> Result<Value, String> {
        self.value.get_or_init(|| make().map(Value::with_json)).clone()
    }
}

impl KnownTools {
    /// Reads a declaration at this depth; it is known if it was read before.
    pub fn read<'a>(
        &mut self,
        reader: &mut Reader<'a>,
        depth: usize,
    ) -> Result<Json<'a>, json::Error> {
        reader.peek()?;
        let (text, start) = (reader.text(), reader.position());
        let head = text.as_bytes().get(start..start + HEAD).map(xxh3_64);
        let alike = head.and_then(|head| self.tools.get(&head)).map_or(&[][..], Vec::as_slice);
        if let Some(known) = alike.iter().find(|known| reader.accept(&known.text)) {
            return Ok(Json::Known(known.clone()));
        }
        let read = value::read(reader, depth, None)?;
        let text = &text[start..reader.position()];
        if let Some(head) = head
            && text.len() >= HEAD
            && alike.len() < MOST_ALIKE
            && self.comes_again(text)
            && is_read_as_it_is(&read)
        {
            self.keep(head, text, read.clone().into_owned());
        }
        Ok(read)
    }

    fn comes_again(&mut self, text: &str) -> bool {
        const PLACES: usize = 1 << 12;
        self.seen.resize(PLACES, 0);
        let hash = xxh3_64(text.as_bytes());
        let tag = (hash >> 32) as u32;
        std::mem::replace(&mut self.seen[hash as usize % PLACES], tag) == tag
    }

    fn keep(&mut self, head: u64, text: &str, json: Json<'static>) {
        if self.bytes + text.len() > MOST_BYTES {
            self.tools.clear();
            self.bytes = 0;
        }
        self.bytes += text.len();
        let (text, value) = (text.to_string(), OnceLock::new());
        self.tools.entry(head).or_default().push(Arc::new(KnownTool { text, json, value }));
    }
}
