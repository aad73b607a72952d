//! Reads special tokens from `tokenizer_config.json` and `special_tokens_map.json`; and from `config.json` and
//! `generation_config.json` the ids at which a model stops.

use std::path::Path;

use serde_json::Value;

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
