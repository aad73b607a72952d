//! Parameters: what headers and manifests state about all records. Each statement is declared once, with the type of its
//! value and its line in SPEC.md, by the crate that knows what it means.

use std::marker::PhantomData;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::error::{Error, Result};

/// A statement: its name, and the type of its value.
#[derive(Debug)]
pub struct Statement<T> {
    pub name: &'static str,
    value: PhantomData<fn() -> T>,
}

impl<T> Statement<T> {
    pub const fn new(name: &'static str) -> Statement<T> {
        Statement { name, value: PhantomData }
    }
}

/// Declares the statements of a file: a `static` for the code that makes or reads each, and in `STATEMENTS` its lines
/// of the table in SPEC.md: the name, who states it, and what it means.
///
/// ```text
/// statements! {
///     pub SHARD: String = "shard", "--shard": "which part of the files these are the records of";
/// }
/// ```
#[macro_export]
macro_rules! statements {
    ($($vis:vis $name:ident: $type:ty = $text:literal, $($by:literal: $meaning:literal),+;)+) => {
        $($vis static $name: $crate::batch::Statement<$type> = $crate::batch::Statement::new($text);)+

        pub static STATEMENTS: &[[&str; 3]] = &[$($([$text, $by, $meaning]),+),+];
    };
}

/// What is stated, in the order in which it was. Statements that are not known here stay as they are.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Parameters(Map<String, Value>);

impl Parameters {
    pub(super) fn of(map: Map<String, Value>) -> Parameters {
        Parameters(map)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.0.iter()
    }

    /// Returns what is stated, as JSON; `None` if nothing is, or null, which is: not known.
    pub fn value<T>(&self, of: &Statement<T>) -> Option<&Value> {
        self.0.get(of.name).filter(|value| !value.is_null())
    }

    /// Returns what is stated; fails if that is of another type.
    pub fn read<T: DeserializeOwned>(&self, of: &Statement<T>) -> Result<Option<T>> {
        let value = self.value(of).map(T::deserialize).transpose();
        value.map_err(|e| Error::data(format!("the stream's header: {}: {e}", of.name)))
    }

    /// Returns what is stated, if it is of its type.
    pub fn get<T: DeserializeOwned>(&self, of: &Statement<T>) -> Option<T> {
        self.read(of).ok().flatten()
    }

    /// Whether it is stated, be it as not known.
    pub fn has<T>(&self, of: &Statement<T>) -> bool {
        self.0.contains_key(of.name)
    }

    /// States a value; `None` is: not known.
    pub fn set<T: Serialize>(&mut self, of: &Statement<T>, value: impl Into<Option<T>>) {
        self.0.insert(of.name.to_string(), json!(value.into()));
    }

    /// Joins what two inputs state, each name once. A value that differs becomes null.
    pub fn and(&self, next: &Parameters) -> Parameters {
        let (first, second) = (&self.0, &next.0);
        let names = first.keys().chain(second.keys().filter(|name| !first.contains_key(*name)));
        let value = |name: &String| {
            let value = first.get(name).filter(|own| second.get(name) == Some(own));
            (name.clone(), value.cloned().unwrap_or_default())
        };
        Parameters(names.map(value).collect())
    }
}
