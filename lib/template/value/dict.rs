//! `dict`: keys in the order in which they came.

use std::sync::{Arc, OnceLock};

use foldhash::HashMap;

use super::compare::{equal, hashable};
use super::{DEEPEST, HEAVIEST, Value};
use crate::error::{Result, limit};
use crate::json::PrintedJson;

/// A `dict`.
#[derive(Debug, Clone, Default)]
pub struct Dict {
    entries: Vec<(Value, Value)>,
    depth: u16,
    weight: u64,
    /// The places of keys that are texts, once there are more than [`FEW`] keys.
    places: HashMap<Arc<str>, usize>,
    /// Its JSON, once it was printed, if it is to be remembered.
    json: Option<Arc<OnceLock<PrintedJson>>>,
}

/// Up to this number of keys, each key is compared.
const FEW: usize = 12;

impl PartialEq for Dict {
    fn eq(&self, other: &Dict) -> bool {
        self.entries == other.entries
    }
}

impl Dict {
    /// All keys with their values, in the order of the keys.
    pub fn entries(&self) -> &[(Value, Value)] {
        &self.entries
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The dict, which remembers its JSON as it is printed first.
    pub(crate) fn with_json(self) -> Dict {
        Dict { json: Some(Arc::default()), ..self }
    }

    pub(crate) fn json(&self) -> Option<&OnceLock<PrintedJson>> {
        self.json.as_deref()
    }

    pub(crate) fn depth(&self) -> u16 {
        self.depth.max(1)
    }

    pub(crate) fn weight(&self) -> u64 {
        self.weight + 1
    }

    /// The value of a key that is a text; none if the key is missing.
    pub fn get_text(&self, key: &str) -> Option<&Value> {
        self.place_of_text(key).map(|place| &self.entries[place].1)
    }

    fn place_of_text(&self, key: &str) -> Option<usize> {
        if self.entries.len() <= FEW {
            return self.entries.iter().position(|(name, _)| name.as_text() == Some(key));
        }
        self.places.get(key).copied()
    }

    fn place(&self, key: &Value) -> Option<usize> {
        match key.as_text() {
            Some(text) => self.place_of_text(text),
            None => self.entries.iter().position(|(name, _)| equal(name, key)),
        }
    }

    /// The steps of a lookup: keys that are not texts are compared one by one.
    pub(crate) fn steps(&self, key: &Value) -> usize {
        if key.as_text().is_some() { 0 } else { self.entries.len() / 16 }
    }

    /// The value of a key; none if the key is missing, an error if the key cannot be hashed.
    pub(crate) fn get(&self, key: &Value) -> Result<Option<&Value>> {
        hashable(key)?;
        Ok(self.place(key).map(|place| &self.entries[place].1))
    }

    pub(crate) fn insert(&mut self, key: Value, value: Value) -> Result<()> {
        hashable(&key)?;
        self.json = None;
        self.depth = self.depth.max(value.depth().max(key.depth()) + 1);
        if self.depth > DEEPEST {
            return limit("a value that is nested too deeply");
        }
        self.weight = self.weight.saturating_add(key.weight()).saturating_add(value.weight());
        if self.weight > HEAVIEST {
            return limit("a value that is too large");
        }
        match self.place(&key) {
            Some(place) => self.entries[place].1 = value,
            None => {
                self.entries.push((key, value));
                let count = self.entries.len();
                let unseen = if count == FEW + 1 { 0 } else { count - 1 };
                if count > FEW {
                    for (place, (key, _)) in self.entries.iter().enumerate().skip(unseen) {
                        if let Value::Text(text) | Value::Markup(text) = key {
                            self.places.insert(text.clone(), place);
                        }
                    }
                }
            }
        }
        Ok(())
    }
}
