//! Reads an answer in JSON: its keys, which may be very many, piece by piece.

use std::fmt;
use std::io::BufReader;
use std::path::Path;

use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::{Map, Value};

use super::keys::{Keys, MEMBERS};
use crate::error::{At, Error, Kind, Result};
use crate::files;

/// Reads the members of an answer except its keys, which are added to `keys` if that is given.
pub(super) fn read(path: &Path, keys: Option<&mut Keys>) -> Result<Value> {
    let file = files::open_member(path).at(path)?;
    let mut json = serde_json::Deserializer::from_reader(BufReader::with_capacity(1 << 16, file));
    let mut failure = None;
    let members = Members { keys, failure: &mut failure }.deserialize(&mut json);
    let members = members.and_then(|members| json.end().map(|()| members));
    members.map(Value::Object).map_err(|error| match failure {
        Some(failure) => failure,
        None if error.is_io() => Error::io(path, &error.into()),
        None => bad(&error).at(path),
    })
}

/// Returns the error for a text that is not an answer.
pub(super) fn bad(error: &serde_json::Error) -> Error {
    Error::data(format!("is no answer of ds-stat: {error}"))
}

/// Reads the members of an answer.
struct Members<'a> {
    keys: Option<&'a mut Keys>,
    /// Why the keys could not be kept.
    failure: &'a mut Option<Error>,
}

impl<'de> DeserializeSeed<'de> for Members<'_> {
    type Value = Map<String, Value>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Members<'_> {
    type Value = Map<String, Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Self::Value, A::Error> {
        let Members { mut keys, failure } = self;
        let mut members = Map::new();
        while let Some(name) = from.next_key::<String>()? {
            match (MEMBERS.into_iter().find(|member| *member == name), keys.as_deref_mut()) {
                (Some(member), Some(keys)) => {
                    from.next_value_seed(Pieces { member, keys, failure: &mut *failure })?;
                }
                (Some(_), None) => drop(from.next_value::<IgnoredAny>()?),
                (None, _) => drop(members.insert(name, from.next_value()?)),
            }
        }
        Ok(members)
    }
}

/// Reads an array of keys.
struct Pieces<'a> {
    member: &'static str,
    keys: &'a mut Keys,
    failure: &'a mut Option<Error>,
}

impl<'de> DeserializeSeed<'de> for Pieces<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Pieces<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of keys")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<(), A::Error> {
        while let Some(piece) = from.next_element::<String>()? {
            if let Err(error) = self.keys.add_written(self.member, &piece) {
                let cause = A::Error::custom(error.cause());
                // The error that a piece is not a key is reported with its place.
                *self.failure = (error.kind() != Kind::Data).then_some(error);
                return Err(cause);
            }
        }
        Ok(())
    }
}
