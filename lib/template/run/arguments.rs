//! The arguments of a call.

use std::sync::Arc;

use crate::error::{Result, fault};
use crate::value::Value;

/// The arguments of a function, method, filter or test.
#[derive(Debug, Clone, Default)]
pub struct CallArguments {
    pub list: Vec<Value>,
    pub named: Vec<(Arc<str>, Value)>,
}

impl CallArguments {
    /// All values.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.list.iter().chain(self.named.iter().map(|(_, value)| value))
    }

    /// Gives the values of these parameters, in their order; it is an error if one of the first `required` is
    /// missing.
    pub fn bind<const N: usize>(
        self,
        function: &str,
        names: [&str; N],
        required: usize,
    ) -> Result<[Option<Value>; N]> {
        let mut values: [Option<Value>; N] = [const { None }; N];
        if self.list.len() > N {
            return fault(format!(
                "{function}() takes at most {N} arguments ({} given)",
                self.list.len()
            ));
        }
        for (slot, value) in values.iter_mut().zip(self.list) {
            *slot = Some(value);
        }
        for (name, value) in self.named {
            let Some(place) = names.iter().position(|other| *other == &*name) else {
                return fault(format!("{function}() got an unexpected keyword argument '{name}'"));
            };
            if values[place].replace(value).is_some() {
                return fault(format!("{function}() got multiple values for argument '{name}'"));
            }
        }
        match (0..required).find(|place| values[*place].is_none()) {
            Some(place) => {
                fault(format!("{function}() missing required argument: '{}'", names[place]))
            }
            None => Ok(values),
        }
    }

    /// As [`CallArguments::bind`], for a function that takes no keyword arguments.
    pub fn positional<const N: usize>(
        self,
        function: &str,
        required: usize,
    ) -> Result<[Option<Value>; N]> {
        match self.named.is_empty() {
            true => self.bind(function, [""; N], required),
            false => fault(format!("{function}() takes no keyword arguments")),
        }
    }
}

/// The integer of an argument that is a count, which has at most 64 bits.
pub fn count(value: &Value) -> Result<i64> {
    match value {
        Value::Big(_) => fault("Python int too large to convert to C ssize_t"),
        other => index(other),
    }
}

/// The integer of an argument that is a place: `int` or `bool`. An integer beyond 64 bits becomes the nearest one
/// that fits.
pub fn index(value: &Value) -> Result<i64> {
    match value {
        Value::Int(value) => Ok(*value),
        Value::Bool(value) => Ok(i64::from(*value)),
        Value::Big(value) => {
            Ok(if value.sign() == num_bigint::Sign::Minus { i64::MIN } else { i64::MAX })
        }
        Value::Undefined(missing) => fault(missing.message()),
        other => {
            fault(format!("'{}' object cannot be interpreted as an integer", other.type_name()))
        }
    }
}

/// The text of an argument.
pub fn text(value: &Value) -> Result<&str> {
    match value.as_text() {
        Some(text) => Ok(text),
        None => fault(format!("must be str, not {}", value.type_name())),
    }
}
