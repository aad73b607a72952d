//! Objects with a state that changes while a template runs.

use std::sync::Arc;

use super::iterate::{Source, Stage};
use crate::error::{Result, fault, unsupported};
use crate::syntax::{For, Macro};
use crate::value::{Value, print};

#[derive(Debug, Clone)]
pub enum Object {
    Namespace(Vec<(Value, Value)>),
    Macro {
        of: Arc<Macro>,
        frame: usize,
    },
    Loop(Box<Loop>),
    Generator(Box<Generator>),
    /// The place of a generator that is running.
    Busy,
}

/// An iterator that gives each item once.
#[derive(Debug, Clone)]
pub struct Generator {
    pub source: Source,
    pub stage: Stage,
}

/// The special variable `loop`.
#[derive(Debug, Clone)]
pub struct Loop {
    pub of: Arc<For>,
    pub source: Source,
    /// The frame in which the test is evaluated.
    pub frame: usize,
    /// The number of items so far: 0 before the first item.
    pub index: usize,
    pub length: Option<usize>,
    /// Whether the items of the source have passed the test.
    pub is_tested: bool,
    /// The next item, if it was asked for; `Some(None)` at the end.
    pub after: Option<Option<Value>>,
    pub current: Option<Value>,
    pub before: Option<Value>,
    pub last_changed: Option<Vec<Value>>,
    pub depth: usize,
    /// The outer frame of a recursive loop.
    pub parent: usize,
}

impl Object {
    /// The number of attributes of a namespace, which are looked through.
    pub fn size(&self) -> usize {
        match self {
            Object::Namespace(attributes) => attributes.len(),
            _ => 0,
        }
    }

    /// Sets an attribute of a namespace.
    pub fn set(&mut self, name: &Arc<str>, value: Value) {
        if let Object::Namespace(attributes) = self {
            match attributes.iter_mut().find(|(other, _)| other.as_text() == Some(name)) {
                Some((_, old)) => *old = value,
                None => attributes.push((Value::Text(name.clone()), value)),
            }
        }
    }
}

/// Checks the name of an attribute of a namespace, as transformers does.
pub fn check_attribute(name: &str) -> Result<()> {
    match name.starts_with('_') {
        true => fault(format!(
            "Chat templates cannot store underscore-prefixed attributes on a namespace, but got '{name}'"
        )),
        false => Ok(()),
    }
}

/// Appends `repr(object)`.
pub fn write(objects: &[Object], place: u32, out: &mut String, depth: usize) -> Result<()> {
    if depth > 50 {
        return fault("maximum recursion depth exceeded while getting the repr of an object");
    }
    match &objects[place as usize] {
        Object::Namespace(attributes) => {
            let inner = |place: u32, out: &mut String| write(objects, place, out, depth + 1);
            out.push_str("<Namespace {");
            for (index, (name, value)) in attributes.iter().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                print::write_repr(out, name, &inner)?;
                out.push_str(": ");
                print::write_repr(out, value, &inner)?;
            }
            out.push_str("}>");
            Ok(())
        }
        Object::Macro { of, .. } => {
            out.push_str("<Macro ");
            print::quoted(out, &of.name);
            out.push('>');
            Ok(())
        }
        Object::Loop(of) => match of.length {
            Some(length) => {
                out.push_str(&format!("<LoopContext {}/{length}>", of.index));
                Ok(())
            }
            None => unsupported("a loop of unknown length is printed"),
        },
        _ => unsupported("an object is printed, with its address in memory"),
    }
}
