//! Reads tokens that stand beside `tokenizer.json`: in `tokenizer_config.json`, `special_tokens_map.json` and
//! `added_tokens.json`; and from `config.json` and `generation_config.json` the ids at which a model stops.

use std::path::Path;

use serde_json::Value;

use crate::added::AddedToken;
use crate::error::FolderError;

/// Returns the names (`bos_token`) and texts of special tokens, in the order of the file.
///
/// As in transformers, `special_tokens_map.json` counts only if `tokenizer_config.json` has no
/// `added_tokens_decoder`.
pub fn special_tokens(
    config: Option<(&Path, &Value)>,
    map: Option<(&Path, &Value)>,
) -> Result<Vec<(String, String)>, FolderError> {
    let mut tokens = Vec::new();
    let mut has_decoder = false;
    if let Some((path, config)) = config {
        has_decoder = config.get("added_tokens_decoder").is_some();
        take(path, config, &mut tokens)?;
    }
    if let Some((path, map)) = map.filter(|_| !has_decoder) {
        take(path, map, &mut tokens)?;
    }
    Ok(tokens)
}

/// An added token that a configuration states.
pub struct StatedToken {
    pub token: AddedToken,
    /// Whether the configuration states the id.
    pub has_id: bool,
    /// Whether its properties count, and not those that `tokenizer.json` states.
    pub overrides: bool,
    /// Whether a name of a special token has it.
    pub is_named: bool,
}

/// A file of JSON, and its path.
type JsonFile<'a> = Option<(&'a Path, &'a Value)>;

/// The member of `tokenizer_config.json` that has added tokens by their ids.
const DECODER: &str = "added_tokens_decoder";

/// Returns the added tokens that configurations state, in the order in which transformers adds those that
/// `tokenizer.json` does not have (`tokenization_utils_base.py`, `tokenization_utils_tokenizers.py` of 5.24): by their
/// ids; then special tokens by name, and the others. `special` are the names and texts of special tokens.
pub fn stated_tokens(
    [config, map, added]: [JsonFile<'_>; 3],
    special: &[(String, String)],
) -> Result<Vec<StatedToken>, FolderError> {
    const NAMES: [&str; 7] = [
        "bos_token",
        "eos_token",
        "unk_token",
        "sep_token",
        "pad_token",
        "cls_token",
        "mask_token",
    ];
    let decoder = config.and_then(|(path, config)| Some((path, config.get(DECODER)?)));
    let is_special = |content: &str| special.iter().any(|(_, text)| text == content);
    let mut stated = Vec::new();
    if let Some((path, decoder)) = decoder {
        for (id, value) in decoder.as_object().into_iter().flatten() {
            let bad =
                || FolderError::other(path, format!("{DECODER}: {id} is not an id with a token"));
            let id = id.parse().map_err(|_| bad())?;
            let token = token_of(value, None).ok_or_else(bad)?;
            let is_named = is_special(&token.content);
            let token = AddedToken { id, ..token };
            stated.push(StatedToken { token, has_id: true, overrides: true, is_named });
        }
    } else if let Some((path, added)) = added {
        for (content, id) in added.as_object().into_iter().flatten() {
            let bad = || FolderError::other(path, format!("{content:?} has no id"));
            let id = id.as_u64().and_then(|id| u32::try_from(id).ok()).ok_or_else(bad)?;
            let is_named = is_special(content);
            let token = AddedToken { id, ..named(content, is_named) };
            stated.push(StatedToken { token, has_id: true, overrides: false, is_named });
        }
    }
    stated.sort_by_key(|stated| stated.token.id);
    let mut files = [config, map.filter(|_| decoder.is_none())].into_iter().flatten().rev();
    // How a file states a token with its properties.
    let of_files = |name: &str, content: &str| {
        let mut values =
            files.clone().filter_map(|(_, file)| token_of(file.get(name)?, Some(true)));
        values.find(|token| token.content == content)
    };
    let rank = |name: &str| NAMES.iter().position(|of| *of == name).unwrap_or(NAMES.len());
    let mut by_name: Vec<&(String, String)> = special.iter().collect();
    by_name.sort_by_key(|(name, _)| rank(name));
    for (name, content) in by_name {
        let token = of_files(name, content).unwrap_or_else(|| named(content, true));
        stated.push(StatedToken { token, has_id: false, overrides: false, is_named: true });
    }
    let extra = files.find_map(|(path, file)| {
        let mut lists = ["extra_special_tokens", "additional_special_tokens"].into_iter();
        lists.find_map(|name| {
            Some((path, name, file.get(name)?.as_array().filter(|list| !list.is_empty())?))
        })
    });
    if let Some((path, name, list)) = extra {
        for value in list {
            let bad = || FolderError::other(path, format!("{name}: not a list of tokens"));
            let token = token_of(value, Some(true)).ok_or_else(bad)?;
            stated.push(StatedToken { token, has_id: false, overrides: false, is_named: false });
        }
    }
    Ok(stated)
}

/// Makes a token of its text alone.
fn named(content: &str, special: bool) -> AddedToken {
    AddedToken {
        id: 0,
        content: content.to_owned(),
        single_word: false,
        lstrip: false,
        rstrip: false,
        normalized: !special,
        special,
    }
}

/// Returns the token that a text or an object states; `special` is what it does not state itself.
fn token_of(value: &Value, special: Option<bool>) -> Option<AddedToken> {
    let flag = |name: &str| value.get(name).and_then(Value::as_bool);
    let content = value.as_str().or_else(|| value.get("content")?.as_str())?;
    let special = special.or(flag("special")).unwrap_or(false);
    let token = named(content, special);
    Some(AddedToken {
        single_word: flag("single_word").unwrap_or(false),
        lstrip: flag("lstrip").unwrap_or(false),
        rstrip: flag("rstrip").unwrap_or(false),
        normalized: flag("normalized").unwrap_or(token.normalized),
        ..token
    })
}

fn take(path: &Path, from: &Value, to: &mut Vec<(String, String)>) -> Result<(), FolderError> {
    let Some(fields) = from.as_object() else {
        return Err(FolderError::other(path, "not a JSON object"));
    };
    // A model's own tokens stand in a dict: `{"image_token": "<image>"}`.
    let own = fields.get("extra_special_tokens").and_then(Value::as_object);
    for (name, value) in fields.iter().chain(own.into_iter().flatten()) {
        let is_own = own.is_some_and(|own| own.contains_key(name));
        if !name.ends_with("_token") && !is_own {
            continue;
        }
        let content = match value {
            Value::String(text) => Some(text),
            Value::Object(token) => match token.get("content") {
                Some(Value::String(text)) => Some(text),
                _ => return Err(FolderError::other(path, format!("{name} has no content"))),
            },
            _ => None,
        };
        match content {
            Some(content) => {
                to.retain(|(known, _)| known != name);
                to.push((name.clone(), content.clone()));
            }
            // `add_bos_token` and others are flags.
            None if value.is_boolean() => {}
            None if value.is_null() => to.retain(|(known, _)| known != name),
            None => {
                return Err(FolderError::other(path, format!("{name} is not a token")));
            }
        }
    }
    Ok(())
}

/// Returns `chat_control_tokens` of a configuration.
pub fn control_tokens((path, config): (&Path, &Value)) -> Result<Option<Vec<String>>, FolderError> {
    const NAME: &str = "chat_control_tokens";
    let Some(value) = config.get(NAME).filter(|value| !value.is_null()) else { return Ok(None) };
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let tokens = value.as_array().and_then(|list| list.iter().map(text).collect());
    let bad = || FolderError::other(path, format!("{NAME} is not a list of texts"));
    tokens.map(Some).ok_or_else(bad)
}

/// Returns `eos_token_id` of a configuration: a number or a list. A model of several parts may have it in
/// `text_config`.
pub fn stop_ids(path: &Path, config: &Value) -> Result<Vec<u32>, FolderError> {
    let value = match &config["eos_token_id"] {
        Value::Null => &config["text_config"]["eos_token_id"],
        value => value,
    };
    let id = |value: &Value| value.as_u64().and_then(|id| u32::try_from(id).ok());
    let ids = match value {
        Value::Null => Some(Vec::new()),
        Value::Array(list) => list.iter().map(id).collect(),
        value => id(value).map(|id| vec![id]),
    };
    let bad = || FolderError::other(path, "eos_token_id is neither an id nor a list of ids");
    ids.ok_or_else(bad)
}
