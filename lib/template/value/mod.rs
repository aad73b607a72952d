//! Python's values in a template. They are immutable. Objects with a state (namespaces, generators, loops, macros)
//! are in the renderer; a value has only their place there. So values can be kept, shared between threads, and
//! dropped in any order.

pub mod compare;
mod dict;
pub mod number;
pub mod print;
mod read;
mod window;

use std::sync::Arc;

use num_bigint::BigInt;
use window::Window;

pub use dict::Dict;
pub use number::integer;
pub(crate) use window::Extent;

use crate::error::{Result, fault, limit};

/// A value of a chat or of a template.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Value {
    /// The value of a name or attribute that does not exist.
    Undefined(MissingValue),
    /// `None`.
    #[default]
    None,
    /// `bool`.
    Bool(bool),
    /// `int`.
    Int(i64),
    /// An `int` beyond 64 bits.
    Big(Arc<BigInt>),
    /// `float`.
    Float(f64),
    /// `str`.
    Text(Arc<str>),
    /// `markupsafe.Markup`, a `str` that escapes what is added to it.
    Markup(Arc<str>),
    /// `list`.
    List(Arc<Items>),
    /// `tuple`.
    Tuple(Arc<Items>),
    /// `dict`.
    Dict(Arc<Dict>),
    /// `range`: start, stop, step.
    Range(Arc<[i64; 3]>),
    /// The result of `dict.keys`, `dict.values` or `dict.items`.
    View(View, Arc<Dict>),
    /// A method of a value: the value and the name.
    Method(Arc<(Value, Arc<str>)>),
    /// A function of the environment.
    Function(Function),
    /// An object with a state, by its place in the renderer.
    Object(u32),
}

/// A global function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Function {
    Range,
    Dict,
    DictFromKeys,
    Namespace,
    RaiseException,
    StrftimeNow,
    Unused(&'static str),
    /// `self`, which has the blocks of the template by name.
    Blocks,
}

/// The part of a dict that a view shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum View {
    Keys,
    Values,
    Items,
}

/// The items of a list or tuple.
#[derive(Debug, Clone, Default)]
pub struct Items {
    /// Empty if there is a window.
    items: Vec<Value>,
    /// The items that are seen of a list that is longer.
    window: Option<Box<Window>>,
    depth: u16,
    weight: u64,
}

/// Why a value is undefined.
#[derive(Debug, Clone, PartialEq)]
pub struct MissingValue {
    pub(crate) of: MissingFrom,
    pub(crate) name: Arc<str>,
}

/// Where a name was looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MissingFrom {
    /// Among the variables.
    Scope,
    /// Among the attributes of a value of this type.
    Type(Type),
    /// Among the items of a value of this type.
    Element(Type),
    /// Among the attributes that the sandbox refuses.
    Unsafe(Type),
    /// Nowhere: the name is the message.
    Hint,
}

/// The types of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    Undefined,
    None,
    Bool,
    Int,
    Float,
    Text,
    Markup,
    List,
    Tuple,
    Dict,
    Range,
    Keys,
    Values,
    Items,
    Method,
    Function,
    Object,
}

impl Type {
    pub fn name(self) -> &'static str {
        match self {
            Type::Undefined => "Undefined",
            Type::None => "None",
            Type::Bool => "bool",
            Type::Int => "int",
            Type::Float => "float",
            Type::Text => "str",
            Type::Markup => "Markup",
            Type::List => "list",
            Type::Tuple => "tuple",
            Type::Dict => "dict",
            Type::Range => "range",
            Type::Keys => "dict_keys",
            Type::Values => "dict_values",
            Type::Items => "dict_items",
            Type::Method => "builtin_function_or_method",
            Type::Function => "function",
            Type::Object => "object",
        }
    }
}

/// Maximum nesting: values are compared, printed and dropped by recursion.
pub(crate) const DEEPEST: u16 = 400;

/// Maximum weight of a value. A part that stands in a value several times counts each time, since code that walks
/// the value visits it each time.
pub(crate) const HEAVIEST: u64 = 1 << 29;

impl Items {
    pub(crate) fn new(items: Vec<Value>) -> Result<Items> {
        let depth = items.iter().map(Value::depth).max().unwrap_or(0) + 1;
        if depth > DEEPEST {
            return limit("a value that is nested too deeply");
        }
        let weight = items.iter().map(Value::weight).fold(1, u64::saturating_add);
        if weight > HEAVIEST {
            return limit("a value that is too large");
        }
        Ok(Items { items, depth, weight, ..Items::default() })
    }
}

impl MissingValue {
    pub(crate) fn message(&self) -> String {
        let name = &self.name;
        match self.of {
            MissingFrom::Scope => format!("'{name}' is undefined"),
            MissingFrom::Type(of) => {
                let object = if of == Type::None { "" } else { " object" };
                format!("'{}{object}' has no attribute '{name}'", of.name())
            }
            MissingFrom::Element(of) => format!("{} object has no element {name}", of.name()),
            MissingFrom::Unsafe(of) => {
                format!("access to attribute '{name}' of '{}' object is unsafe.", of.name())
            }
            MissingFrom::Hint => name.to_string(),
        }
    }
}

impl Value {
    /// A `str`.
    pub fn text(text: &str) -> Value {
        Value::Text(text.into())
    }

    /// A `list`; it is an error if it is nested deeper than 400 levels.
    pub fn list(items: Vec<Value>) -> std::result::Result<Value, crate::Error> {
        Value::list_of(items).map_err(|error| *error)
    }

    pub(crate) fn list_of(items: Vec<Value>) -> Result<Value> {
        Ok(Value::List(Arc::new(Items::new(items)?)))
    }

    pub(crate) fn tuple_of(items: Vec<Value>) -> Result<Value> {
        Ok(Value::Tuple(Arc::new(Items::new(items)?)))
    }

    /// A `dict` with these keys, in this order; if a key stands there twice, the last value counts.
    pub fn dict(
        entries: impl IntoIterator<Item = (Arc<str>, Value)>,
    ) -> std::result::Result<Value, crate::Error> {
        let mut dict = Dict::default();
        for (key, value) in entries {
            dict.insert(Value::Text(key), value).map_err(|error| *error)?;
        }
        Ok(Value::Dict(Arc::new(dict)))
    }

    /// The value; a `dict` remembers its JSON as it is printed first. (That is for one that many chats have:
    /// printing 8 tools of 1 kB twice takes a third of the time of a chat.)
    pub fn with_json(self) -> Value {
        match self {
            Value::Dict(dict) => Value::Dict(Arc::new(Arc::unwrap_or_clone(dict).with_json())),
            other => other,
        }
    }

    /// Whether this is a `dict` that remembers its JSON.
    pub fn has_json(&self) -> bool {
        self.as_dict().is_some_and(|dict| dict.json().is_some())
    }

    /// Whether two values are one `dict`, and not only equal.
    pub fn is_same(&self, other: &Value) -> bool {
        matches!((self, other), (Value::Dict(a), Value::Dict(b)) if Arc::ptr_eq(a, b))
    }

    pub(crate) fn hint(message: &str) -> Value {
        Value::Undefined(MissingValue { of: MissingFrom::Hint, name: message.into() })
    }

    /// The text of a `str`.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Value::Text(text) | Value::Markup(text) => Some(text),
            _ => None,
        }
    }

    /// The items of a `list` or `tuple`.
    pub fn as_list(&self) -> Option<&[Value]> {
        match self {
            Value::List(items) | Value::Tuple(items) => Some(items),
            _ => None,
        }
    }

    /// The entries of a `dict`.
    pub fn as_dict(&self) -> Option<&Dict> {
        match self {
            Value::Dict(dict) => Some(dict),
            _ => None,
        }
    }

    /// The value of a key, if this is a `dict` that has it.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_dict()?.get_text(key)
    }

    pub(crate) fn is_undefined(&self) -> bool {
        matches!(self, Value::Undefined(_))
    }

    pub(crate) fn depth(&self) -> u16 {
        match self {
            Value::List(items) | Value::Tuple(items) => items.depth,
            Value::Dict(dict) | Value::View(_, dict) => dict.depth(),
            Value::Method(bound) => bound.0.depth() + 1,
            _ => 0,
        }
    }

    /// The number of values and bytes of text in the value, see [`HEAVIEST`].
    pub(crate) fn weight(&self) -> u64 {
        match self {
            Value::Text(text) | Value::Markup(text) => text.len() as u64 + 1,
            Value::List(items) | Value::Tuple(items) => items.weight,
            Value::Dict(dict) | Value::View(_, dict) => dict.weight(),
            _ => 1,
        }
    }

    pub(crate) fn kind(&self) -> Type {
        match self {
            Value::Undefined(_) => Type::Undefined,
            Value::None => Type::None,
            Value::Bool(_) => Type::Bool,
            Value::Int(_) | Value::Big(_) => Type::Int,
            Value::Float(_) => Type::Float,
            Value::Text(_) => Type::Text,
            Value::Markup(_) => Type::Markup,
            Value::List(_) => Type::List,
            Value::Tuple(_) => Type::Tuple,
            Value::Dict(_) => Type::Dict,
            Value::Range(_) => Type::Range,
            Value::View(View::Keys, _) => Type::Keys,
            Value::View(View::Values, _) => Type::Values,
            Value::View(View::Items, _) => Type::Items,
            Value::Method(_) => Type::Method,
            Value::Function(_) => Type::Function,
            Value::Object(_) => Type::Object,
        }
    }

    /// `bool(value)`.
    pub fn is_true(&self) -> bool {
        match self {
            Value::Undefined(_) | Value::None => false,
            Value::Bool(value) => *value,
            Value::Int(value) => *value != 0,
            Value::Float(value) => *value != 0.0,
            Value::Text(text) | Value::Markup(text) => !text.is_empty(),
            Value::List(items) | Value::Tuple(items) => !items.is_empty(),
            Value::Dict(dict) | Value::View(_, dict) => !dict.is_empty(),
            Value::Range(range) => range_length(range) > 0,
            Value::Big(_) | Value::Method(_) | Value::Function(_) | Value::Object(_) => true,
        }
    }

    /// `len(value)`; for loops, which the renderer has, see `Run::length`.
    pub(crate) fn length(&self) -> Result<usize> {
        Ok(match self {
            Value::Undefined(_) => 0,
            Value::Text(text) | Value::Markup(text) => crate::text::length(text),
            Value::List(items) | Value::Tuple(items) => items.len(),
            Value::Dict(dict) | Value::View(_, dict) => dict.len(),
            Value::Range(range) => range_length(range),
            other => return fault(format!("object of type '{}' has no len()", other.type_name())),
        })
    }

    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Value::None => "NoneType",
            other => other.kind().name(),
        }
    }
}

impl Eq for MissingValue {}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::text(text)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text.into())
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Bool(value)
    }
}

impl From<usize> for Value {
    fn from(value: usize) -> Value {
        integer(BigInt::from(value))
    }
}

/// An item of a range. (The product may wrap around; the sum then wraps back.)
pub(crate) fn item_of_range([start, _, step]: &[i64; 3], at: usize) -> i64 {
    start.wrapping_add(step.wrapping_mul(at as i64))
}

/// `len(range)`.
pub(crate) fn range_length([start, stop, step]: &[i64; 3]) -> usize {
    let (start, stop, step) = (i128::from(*start), i128::from(*stop), i128::from(*step));
    let span = if step > 0 { stop - start } else { start - stop };
    let step = step.abs().max(1);
    usize::try_from((span.max(0) + step - 1) / step).unwrap_or(usize::MAX)
}
