//! The tokenizer that a header or a manifest states.

use std::path::{Path, PathBuf};

use gristmill_models::Folder;
use serde_json::{Value, json};

use super::{files_of, of_folder, open_folder};
use crate::batch::{Header, TokenizerLocation};
use crate::error::{Error, Result, shown};
use crate::file_entry::FileEntry;
use crate::files;
use crate::record::statements::{END, TOKENIZER};
use crate::tokenizer::{EOD, PADDED_VOCABULARY_SIZE, VOCABULARY_SHA256};
use crate::visible;

/// Whose ids tokens are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenizerName {
    /// The vocabulary that is part of this program.
    O200k,
    /// A `tokenizer.json`.
    HuggingFace,
    /// Something that is not known here.
    Other,
}

impl TokenizerName {
    pub const fn name(self) -> &'static str {
        match self {
            TokenizerName::O200k => "o200k_harmony",
            TokenizerName::HuggingFace => "huggingface",
            TokenizerName::Other => "other",
        }
    }

    /// Returns the name of the tokenizer that a header states; `None` if it states none.
    pub fn of(stated: Option<&Value>) -> Option<TokenizerName> {
        let stated = stated.filter(|stated| !stated.is_null())?;
        let known = [TokenizerName::O200k, TokenizerName::HuggingFace];
        let name = stated.get("type").and_then(Value::as_str);
        Some(known.into_iter().find(|of| name == Some(of.name())).unwrap_or(TokenizerName::Other))
    }
}

/// The vocabulary of tokens, as far as it is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Vocabulary {
    /// o200k, whose control tokens and texts are known here.
    #[default]
    O200k,
    /// The vocabulary of another tokenizer; `size` is its number of ids, if that is stated.
    Other { size: Option<i32> },
}

impl Vocabulary {
    /// Returns the vocabulary of the tokenizer that a header states: o200k if it states none, or a name that
    /// is not known here.
    pub fn of(stated: Option<&Value>) -> Vocabulary {
        match TokenizerName::of(stated) {
            None | Some(TokenizerName::O200k | TokenizerName::Other) => Vocabulary::O200k,
            Some(TokenizerName::HuggingFace) => {
                let size = stated.and_then(|stated| stated.get("vocab_size")?.as_i64());
                Vocabulary::Other { size: size.and_then(|size| size.try_into().ok()) }
            }
        }
    }

    pub fn is_o200k(self) -> bool {
        self == Vocabulary::O200k
    }

    /// Returns the number of its ids, if it is known.
    pub fn size(self) -> Option<i32> {
        match self {
            Vocabulary::O200k => Some(PADDED_VOCABULARY_SIZE),
            Vocabulary::Other { size } => size,
        }
    }

    /// Whether an id may be in it.
    pub fn has(self, id: i32) -> bool {
        id >= 0 && self.size().is_none_or(|size| id < size)
    }
}

/// Says what cannot be checked here if the tokens are of another tokenizer.
pub const NOT_CHECKED: &str = "tokens of another tokenizer than o200k: their ids and masks are checked, \
     not their texts, control tokens and ends of documents; try: --model DIR";

/// States the model of the tokens in a header, if the user names one (NDJSON has no header). Returns the model. A
/// header that states another `tokenizer.json` is refused.
pub fn state_model(header: &mut Header, model: Option<&Path>) -> Result<Option<Folder>> {
    let Some(path) = model else { return Ok(None) };
    let stated = header.parameters.value(&TOKENIZER);
    if is_built_in(path, stated)? {
        let known = stated.cloned().unwrap_or_else(|| o200k(None));
        header.set(&TOKENIZER, known);
        return Ok(None);
    }
    let folder = open_stated(path, stated)?;
    if stated.is_none_or(|stated| stated.get("model_sha256").is_none()) {
        header.set(&TOKENIZER, of_folder_tokenizer(&folder));
    }
    Ok(Some(folder))
}

/// States the model of the tokens in a header, and where it is, if the user names one and nothing is stated.
pub fn state_location(header: &mut Header, model: Option<&Path>) -> Result<()> {
    let Some(folder) = model.filter(|_| is_assumed(header)) else { return Ok(()) };
    state_model(header, model)?;
    header.tokenizer_location = locate(header, Some(folder), None);
    Ok(())
}

/// Describes the tokenizer of a folder, for headers.
pub(super) fn of_folder_tokenizer(folder: &Folder) -> Value {
    json!({
        "type": TokenizerName::HuggingFace.name(),
        "model_sha256": folder.tokenizer_sha256(),
        "vocab_size": folder.vocabulary_size(),
        "bos_token": folder.special_token("bos_token"),
        "eos_token": folder.special_token("eos_token"),
    })
}

/// The name of the model whose tokenizer, o200k, is built in. (A folder of this name is `./gpt-oss`.)
pub const GPT_OSS: &str = "gpt-oss";

/// Whether the user names the model that is built in; refuses it for the tokens of another.
fn is_built_in(model: &Path, stated: Option<&Value>) -> Result<bool> {
    let is_named = model.as_os_str() == GPT_OSS;
    if is_named && !Vocabulary::of(stated).is_o200k() {
        let cause = format!("--model {GPT_OSS}: these are tokens of another tokenizer");
        return Err(Error::usage(cause).hint(MODEL));
    }
    Ok(is_named)
}

/// Describes o200k, for headers: the embedded vocabulary, or a file that is equal to it.
pub fn o200k(path: Option<&Path>) -> Value {
    json!({
        "type": TokenizerName::O200k.name(),
        "model_path": path.map_or("embedded".to_string(), shown),
        "model_sha256": VOCABULARY_SHA256,
        "vocab_size": PADDED_VOCABULARY_SIZE,
    })
}

/// States the tokenizer of new tokens in a header, and where its files are; sequences of o200k end in a token.
pub fn state_tokenizer(header: &mut Header, tokenizer: Value, location: Option<TokenizerLocation>) {
    if Vocabulary::of(Some(&tokenizer)).is_o200k() {
        header.set(&END, EOD);
    }
    header.set(&TOKENIZER, tokenizer);
    header.tokenizer_location = location;
}

/// The member of a stated tokenizer with the short name that records of NDJSON carry, if nothing else is known.
const ID: &str = "id";

/// Returns the short name of the tokenizer that a header states; `None` for o200k, and if it states none.
pub fn tokenizer_id(header: &Header) -> Option<String> {
    let stated = header.parameters.value(&TOKENIZER);
    let is_named = TokenizerName::of(stated) == Some(TokenizerName::HuggingFace);
    stated.filter(|_| is_named).and_then(short_name_of)
}

/// Returns the short name of a tokenizer that is stated.
fn short_name_of(stated: &Value) -> Option<String> {
    let text = |name: &str| stated.get(name).and_then(Value::as_str);
    text("model_sha256").map(short_name).or_else(|| text(ID).map(str::to_string))
}

/// States in a header the tokenizer whose short name the records carry.
pub fn state_id(header: &mut Header, id: &str) {
    header.set(&TOKENIZER, json!({"type": TokenizerName::HuggingFace.name(), ID: id}));
}

/// Whether only the records themselves say whose tokens they are.
pub fn is_stated_by_records(header: &Header) -> bool {
    header.parameters.value(&TOKENIZER).is_some_and(|stated| stated.get(ID).is_some())
}

/// Whether nothing is stated about the tokenizer: then it is o200k, if Harmony can have made the tokens.
pub fn is_assumed(header: &Header) -> bool {
    header.parameters.value(&TOKENIZER).is_none()
}

/// Fails if different tokenizers are stated.
pub fn refuse_two(stated: [Option<&Value>; 2]) -> Result<()> {
    let name = |stated: Option<&Value>| match TokenizerName::of(stated)? {
        TokenizerName::HuggingFace => stated.and_then(short_name_of),
        of => Some(of.name().to_string()),
    };
    match stated.map(name) {
        [Some(own), Some(other)] if own != other => {
            Err(Error::usage(format!("tokens of two tokenizers, {own} and {other}"))
                .hint("each alone"))
        }
        _ => Ok(()),
    }
}

/// Returns the short name of a `tokenizer.json`.
fn short_name(sha256: &str) -> String {
    format!("hf:{}", sha256.get(..16).unwrap_or(sha256))
}

/// Says so of a record for whose tokens no tokenizer is stated.
pub const NOT_HARMONY: &str =
    "these are no tokens of Harmony, and it is not known whose they are; try: --model DIR";

/// Opens the folder of the tokenizer that a header states; refuses another `tokenizer.json`.
pub fn open_stated(path: &Path, stated: Option<&Value>) -> Result<Folder> {
    let folder = open_folder(path)?;
    match other_sha256(stated, "model_sha256", folder.tokenizer_sha256()) {
        Some(cause) => Err(Error::usage(cause).at(folder.tokenizer_path())),
        None => Ok(folder),
    }
}

/// Returns the cause if the stated SHA-256 is not the one that was found.
fn other_sha256(stated: Option<&Value>, name: &str, found: &str) -> Option<String> {
    let text = |name: &str| stated?.get(name)?.as_str();
    let (sha256, is_other) = match (text(name), text(ID).filter(|_| name == "model_sha256")) {
        (Some(sha256), _) => (sha256, sha256 != found),
        (None, Some(id)) => (id, id != short_name(found)),
        (None, None) => return None,
    };
    is_other.then(|| format!("its sha256 is {found}; the tokens are of {sha256}"))
}

/// Returns the place of a header's tokenizer: the one that the user names, or else the one that the stream names;
/// `None` if there is neither.
pub fn locate(
    header: &Header,
    model: Option<&Path>,
    template: Option<&Path>,
) -> Option<TokenizerLocation> {
    let stated = header.tokenizer_location.as_ref();
    let folder = model.or(stated.map(|stated| &*stated.folder))?.to_path_buf();
    let template = template.or(stated.and_then(|stated| stated.template.as_deref()));
    let sha256 = stated.map(|stated| stated.sha256.clone()).unwrap_or_default();
    Some(TokenizerLocation { folder, template: template.map(Path::to_path_buf), sha256 })
}

/// Opens the tokenizer of a header's tokens, if it is not o200k, from the folder that the user names, or else from
/// the folder that the stream names. `None` if no folder is known, or nothing is there any more.
pub fn open_of_header(header: &Header, model: Option<&Path>) -> Result<Option<Folder>> {
    let stated = header.parameters.value(&TOKENIZER);
    if let Some(path) = model {
        return match is_built_in(path, stated)? {
            true => Ok(None),
            false => open_stated(path, stated).map(Some),
        };
    }
    let location = header.tokenizer_location.as_ref();
    let Some(location) = location.filter(|_| !Vocabulary::of(stated).is_o200k()) else {
        return Ok(None);
    };
    match files::exists(&location.folder)? {
        true => open_stated(&location.folder, stated).map(Some),
        false => Ok(None),
    }
}

/// Returns the id of the `eos_token` for a header's tokens, from `model` or else from the model that the stream
/// names. `what` is the beginning of the error, which says what needs it.
pub fn eos_of(header: &Header, model: Option<Folder>, what: &str) -> Result<i32> {
    let model = model.map_or_else(|| open_of_header(header, None), |model| Ok(Some(model)))?;
    let Some(model) = model else {
        let cause = format!("{what} the eos_token of the tokens' model, which is not at hand");
        return Err(Error::usage(cause).hint(MODEL));
    };
    let eos = model.special_token("eos_token").and_then(|token| model.tokenizer().id_of(token));
    eos.and_then(|eos| eos.try_into().ok()).ok_or_else(|| {
        Error::usage(format!("{what} the eos_token, and the model has none")).at(model.path())
    })
}

/// States in a header that each sequence ends in a token of its model; returns the token's id. The user names the
/// token for an option, by its text or its id.
pub fn state_end(
    header: &mut Header,
    model: Option<Folder>,
    (option, token): (&str, &str),
) -> Result<i32> {
    let usage = |cause: &str| Error::usage(format!("{option} {}: {cause}", visible::line(token)));
    let model = model.map_or_else(|| open_of_header(header, None), |model| Ok(Some(model)))?;
    let model = match model {
        Some(model) => model,
        None if Vocabulary::of(header.parameters.value(&TOKENIZER)).is_o200k() => {
            return Err(usage(
                "o200k sequences end in <|endoftext|>; for other tokens give --model DIR",
            ));
        }
        None => return Err(usage("the tokens' model is not at hand").hint(MODEL)),
    };
    if let Some(end) = end_of(header) {
        return Err(usage(&format!("each sequence has an end already, the token {end}")));
    }
    let is_token = |id: &u32| model.tokenizer().token_bytes(*id).is_some();
    let by_id = || token.parse().ok().filter(is_token);
    let id = model.tokenizer().id_of(token).or_else(by_id).and_then(|id| i32::try_from(id).ok());
    let id = id.ok_or_else(|| usage("no token of the model"))?;
    header.set(&END, id);
    Ok(id)
}

/// Returns the last token of each sequence, if the header states one and its tokenizer is not o200k.
pub fn end_of(header: &Header) -> Option<i32> {
    let stated = header.parameters.value(&TOKENIZER);
    header.get(&END).filter(|_| !Vocabulary::of(stated).is_o200k())
}

/// What helps where a tokenizer is not found.
const MODEL: &str = "--model DIR, the folder of their model";

/// Returns the files that a root keeps of a model: their names below the folder and their paths, `tokenizer.json` last.
fn files_to_keep(location: &TokenizerLocation) -> Result<Vec<(String, PathBuf)>> {
    let mut files = files_of(&location.folder)?;
    if let Some(template) = &location.template {
        // That template took the place of all templates of the folder.
        files.retain(|(name, _)| !name.ends_with(".jinja"));
        let last = files.len().saturating_sub(1);
        files.insert(last, ("chat_template.jinja".to_string(), template.clone()));
    }
    Ok(files)
}

/// States the files of a model as they are, for those who keep them later. (A template that is a pipe cannot be kept.)
pub(super) fn state_files(location: &mut TokenizerLocation, folder: &Folder) -> Result<()> {
    for (name, path) in files_to_keep(location)? {
        if path == folder.tokenizer_path() {
            // (It was hashed when it was read: 33 MB of Gemma 3 take 22 ms.)
            location.sha256.insert(name, folder.tokenizer_sha256().to_owned());
        } else if files::is_file(&path)? {
            location.sha256.extend(FileEntry::of(&path)?.sha256.map(|sha256| (name, sha256)));
        }
    }
    Ok(())
}

/// Finds the files of a model's tokenizer and chat templates. Returns their names below the folder and their
/// entries, `tokenizer.json` last. They must be the stated ones.
pub fn stated_files(
    location: &TokenizerLocation,
    stated: Option<&Value>,
) -> Result<Vec<(String, FileEntry)>> {
    let TokenizerLocation { folder, template, sha256 } = location;
    let files = files_to_keep(location)?;
    if let Some(gone) = sha256.keys().find(|name| files.iter().all(|(other, _)| other != *name)) {
        let cause = "is not there any more; the tokens were made with it";
        return Err(Error::usage(cause).at(folder.join(gone).as_path()).hint(MODEL));
    }
    let (_, path) = files.last().ok_or_else(|| Error::usage("no file").at(&**folder))?;
    if !files::is_member(path)? {
        return Err(Error::usage("is not there").at(path.as_path()).hint(MODEL));
    }
    let found = FileEntry::of(path)?.sha256.unwrap_or_default();
    if let Some(cause) = other_sha256(stated, "model_sha256", &found) {
        return Err(Error::usage(cause).at(path.as_path()).hint(MODEL));
    }
    for (name, has_tools) in [("template_sha256", false), ("tools_template_sha256", true)] {
        if stated.and_then(|stated| stated.get(name)).is_none() {
            continue;
        }
        let used = match template {
            Some(path) => gristmill_models::Template::read("default", path),
            None => Folder::template_in(folder, has_tools),
        };
        let used = used.map_err(of_folder)?;
        if let Some(cause) = other_sha256(stated, name, &used.sha256) {
            let cause = format!("the chat template: {cause}");
            return Err(Error::usage(cause).at(used.path.as_path()).hint("--template FILE"));
        }
    }
    let entry = |(name, path): (String, PathBuf)| {
        if template.as_ref() != Some(&path) {
            refuse_foreign(folder, &path)?;
        }
        let entry = FileEntry::of(&path)?;
        let cause = match (sha256.get(&name), &entry.sha256) {
            (Some(stated), Some(found)) if stated != found => {
                format!("its sha256 is {found}; the tokens were made with {stated}")
            }
            (None, _) if !sha256.is_empty() => {
                "was not there when the tokens were made".to_string()
            }
            _ => return Ok((name, entry)),
        };
        Err(Error::usage(cause).at(path.as_path()).hint("the tokens again"))
    };
    files.into_iter().map(entry).collect()
}

/// Refuses a link that leads out of a model's folder: a root would publish a file that is no part of the model. (In the
/// cache of the Hub, the files of `snapshots/REVISION` are links to `../../blobs/HASH`.)
fn refuse_foreign(folder: &Path, path: &Path) -> Result<()> {
    let (Some(inside), Some(target)) = (files::resolved(folder)?, files::resolved(path)?) else {
        return Ok(());
    };
    let cache = inside.parent().filter(|above| above.ends_with("snapshots")).and_then(Path::parent);
    let hash = target.file_name().unwrap_or_default().as_encoded_bytes();
    let is_blob = matches!(hash.len(), 40 | 64)
        && hash.iter().all(u8::is_ascii_hexdigit)
        && cache.map(|cache| cache.join("blobs")).as_deref() == target.parent();
    // (A folder may be one file.)
    if target.starts_with(&inside) || is_blob {
        return Ok(());
    }
    let cause = "is a link that leads out of the model's folder, so a root does not keep it";
    Err(Error::usage(cause).at(path).hint("a copy of it in the folder"))
}
