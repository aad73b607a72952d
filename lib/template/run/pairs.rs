//! Whether two renderings are in the same state.

use std::sync::Arc;

use super::object::Object;
use crate::value::Value;

/// The objects of two renderings, and those that stand for each other.
pub struct Pairs<'o> {
    ours: &'o [Object],
    theirs: &'o [Object],
    known: Vec<(u32, u32)>,
}

/// How deep values are compared.
const DEEPEST: usize = 50;

impl<'o> Pairs<'o> {
    /// The objects of both renderings.
    pub fn new(ours: &'o [Object], theirs: &'o [Object]) -> Pairs<'o> {
        Pairs { ours, theirs, known: Vec::new() }
    }

    /// Whether two values of the two renderings cannot be told apart.
    pub fn are_same(&mut self, a: &Value, b: &Value, depth: usize) -> bool {
        let depth = depth + 1;
        match (a, b) {
            _ if depth > DEEPEST => false,
            (Value::List(a), Value::List(b)) | (Value::Tuple(a), Value::Tuple(b)) => {
                // (There is one list of messages.)
                Arc::ptr_eq(a, b)
                    || match (a.offset(), b.offset()) {
                        (None, None) => {
                            a.len() == b.len()
                                && a.iter().zip(b.iter()).all(|(a, b)| self.are_same(a, b, depth))
                        }
                        (a, b) => a == b,
                    }
            }
            (Value::Dict(a), Value::Dict(b)) => {
                Arc::ptr_eq(a, b) || self.have_same(a.entries(), b.entries(), depth)
            }
            (Value::Object(a), Value::Object(b)) => {
                let mut known = self.known.iter();
                if let Some(pair) = known.find(|pair| pair.0 == *a || pair.1 == *b) {
                    return *pair == (*a, *b);
                }
                self.known.push((*a, *b));
                match (&self.ours[*a as usize], &self.theirs[*b as usize]) {
                    (Object::Namespace(a), Object::Namespace(b)) => self.have_same(a, b, depth),
                    (Object::Macro { of: a, frame }, Object::Macro { of: b, frame: other }) => {
                        Arc::ptr_eq(a, b) && frame == other
                    }
                    _ => false,
                }
            }
            (Value::Method(a), Value::Method(b)) => a.1 == b.1 && self.are_same(&a.0, &b.0, depth),
            (Value::View(kind, a), Value::View(other, b)) => kind == other && Arc::ptr_eq(a, b),
            (Value::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits(),
            (a, b) => a == b,
        }
    }

    fn have_same(&mut self, a: &[(Value, Value)], b: &[(Value, Value)], depth: usize) -> bool {
        a.len() == b.len()
            && a.iter().zip(b).all(|((key, a), (other, b))| {
                self.are_same(key, other, depth) && self.are_same(a, b, depth)
            })
    }
}
