//! `valuation_types.json`: what a pack's valuation ids mean. Three forms are in use: name to
//! id, id to name, and a list of names.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use crate::error::{At, Error, Result, shown};
use crate::files;

/// The names of a pack's valuation ids.
#[derive(Debug)]
pub struct Valuations {
    names: Vec<(u64, String)>,
    /// See [`Valuations::of_rows`].
    of_rows: Arc<[Option<String>]>,
    /// Whether the pool has the names in a file.
    pub stored: bool,
}

impl Valuations {
    /// Reads a pool's file. Without one no id has a name: ids are per pack, and older packers gave
    /// other numbers than ours.
    pub fn of_pool(directory: &Path) -> Result<Valuations> {
        let path = directory.join(crate::format::pack::VALUATION_TYPES);
        let no_text = |_| io::Error::new(ErrorKind::InvalidData, "is not valid UTF-8");
        let read = |text| String::from_utf8(text).map_err(no_text);
        if !files::is_member(&path)? {
            return Ok(Valuations::new(Vec::new(), false));
        }
        let text = files::read_member(&path).and_then(read);
        let text = text.at(&path)?;
        let names = parse(&text).map_err(|what| Error::data(what).at(shown(&path)))?;
        Ok(Valuations::new(names, true))
    }

    fn new(names: Vec<(u64, String)>, stored: bool) -> Valuations {
        let mut of_rows = vec![None; 1 << u8::BITS];
        for (id, name) in &names {
            if let Some(known) = usize::try_from(*id).ok().and_then(|id| of_rows.get_mut(id)) {
                *known = Some(name.clone());
            }
        }
        Valuations { names, of_rows: of_rows.into(), stored }
    }

    /// Returns the names of the ids that a row of a pack can have, by id.
    pub fn of_rows(&self) -> Arc<[Option<String>]> {
        self.of_rows.clone()
    }

    /// Returns ids and names, by ascending id.
    pub fn names(&self) -> &[(u64, String)] {
        &self.names
    }

    pub fn name(&self, id: u64) -> Option<&str> {
        let place = self.names.binary_search_by_key(&id, |(known, _)| *known).ok()?;
        Some(self.names[place].1.as_str())
    }
}

fn parse(text: &str) -> Result<Vec<(u64, String)>, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let named = |value: &Value| value.as_str().map(str::to_string);
    let names: Option<Vec<(u64, String)>> = match &value {
        Value::Array(names) => {
            (0..).zip(names).map(|(id, name)| Some((id, named(name)?))).collect()
        }
        Value::Object(members) if members.values().all(Value::is_u64) => {
            members.iter().map(|(name, id)| Some((id.as_u64()?, name.clone()))).collect()
        }
        Value::Object(members) => {
            members.iter().map(|(id, name)| Some((id.parse().ok()?, named(name)?))).collect()
        }
        _ => None,
    };
    let mut names = names.ok_or("neither name to id, nor id to name, nor a list of names")?;
    names.sort_by_key(|(id, _)| *id);
    match names.windows(2).find(|two| two[0].0 == two[1].0) {
        Some([_, (id, name)]) => Err(format!("the id {id} of {name:?} has another name too")),
        _ => Ok(names),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_forms_are_read() {
        let expected = vec![(0, "search".to_string()), (1, "tuple11".to_string())];
        for text in [
            r#"{"search": 0, "tuple11": 1}"#,
            r#"{"0": "search", "1": "tuple11"}"#,
            r#"["search", "tuple11"]"#,
        ] {
            assert_eq!(parse(text), Ok(expected.clone()), "{text}");
        }
        assert_eq!(parse("{}"), Ok(Vec::new()));
    }

    #[test]
    fn others_are_refused() {
        for text in [r#"{"search": "0"}"#, r#"{"a": -1}"#, "[1]", "3", "{", r#"{"a": 0, "b": 0}"#] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
