//! `==`, `<` and `in` with the results of Python.

use std::cmp::Ordering;

use super::number::{self, Number};
use super::{Value, View};
use crate::error::{Result, fault};

/// `a == b`.
pub fn equal(a: &Value, b: &Value) -> bool {
    if let (Some(a), Some(b)) = (a.as_text(), b.as_text()) {
        return a == b;
    }
    if let (Some(a), Some(b)) = (Number::of(a), Number::of(b)) {
        return number::order(&a, &b) == Some(Ordering::Equal);
    }
    let all =
        |a: &[Value], b: &[Value]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b));
    match (a, b) {
        (Value::Undefined(_), Value::Undefined(_)) | (Value::None, Value::None) => true,
        (Value::List(a), Value::List(b)) | (Value::Tuple(a), Value::Tuple(b)) => all(a, b),
        (Value::Dict(a), Value::Dict(b)) => {
            a.len() == b.len()
                && a.entries().iter().all(|(key, value)| {
                    b.get(key).ok().flatten().is_some_and(|other| equal(value, other))
                })
        }
        (Value::View(a, left), Value::View(b, right)) if a == b => match a {
            View::Values => std::sync::Arc::ptr_eq(left, right),
            View::Keys => {
                let has = |(key, _): &(Value, Value)| right.get(key).ok().flatten().is_some();
                left.len() == right.len() && left.entries().iter().all(has)
            }
            View::Items => equal(&Value::Dict(left.clone()), &Value::Dict(right.clone())),
        },
        (Value::Range(a), Value::Range(b)) => {
            let (count, other) = (super::range_length(a), super::range_length(b));
            count == other && (count == 0 || (a[0] == b[0] && (count == 1 || a[2] == b[2])))
        }
        (Value::Method(a), Value::Method(b)) => a.1 == b.1 && is_same(&a.0, &b.0),
        (Value::Function(a), Value::Function(b)) => a == b,
        (Value::Object(a), Value::Object(b)) => a == b,
        _ => false,
    }
}

/// `a is b`, where CPython gives the same result every time.
pub fn is_same(a: &Value, b: &Value) -> bool {
    use std::sync::Arc;
    match (a, b) {
        (Value::Text(a), Value::Text(b)) | (Value::Markup(a), Value::Markup(b)) => {
            Arc::ptr_eq(a, b) || (a == b && a.chars().count() <= 1)
        }
        (Value::List(a), Value::List(b)) => Arc::ptr_eq(a, b),
        (Value::Tuple(a), Value::Tuple(b)) => Arc::ptr_eq(a, b) || (a.is_empty() && b.is_empty()),
        (Value::Dict(a), Value::Dict(b)) => Arc::ptr_eq(a, b),
        (Value::None, Value::None) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Int(a), Value::Int(b)) => a == b && (-5..=256).contains(a),
        (Value::Function(a), Value::Function(b)) => a == b,
        (Value::Object(a), Value::Object(b)) => a == b,
        _ => false,
    }
}

/// Checks that Python can hash a value.
pub fn hashable(value: &Value) -> Result<()> {
    match value {
        Value::List(_) | Value::Dict(_) => {
            fault(format!("unhashable type: '{}'", value.type_name()))
        }
        Value::View(view, _) if *view != View::Values => {
            fault(format!("unhashable type: '{}'", value.type_name()))
        }
        Value::Tuple(items) => items.iter().try_for_each(hashable),
        _ => Ok(()),
    }
}

/// Compares two values; none if one is NaN. `sign` is the operator that an error names.
pub fn order(a: &Value, b: &Value, sign: &str) -> Result<Option<Ordering>> {
    for value in [a, b] {
        if let Value::Undefined(missing) = value {
            return fault(missing.message());
        }
    }
    if let (Some(a), Some(b)) = (a.as_text(), b.as_text()) {
        return Ok(Some(a.cmp(b)));
    }
    if let (Some(a), Some(b)) = (Number::of(a), Number::of(b)) {
        return Ok(number::order(&a, &b));
    }
    match (a, b) {
        (Value::List(left), Value::List(right)) | (Value::Tuple(left), Value::Tuple(right)) => {
            match left.iter().zip(right.iter()).find(|(a, b)| !equal(a, b)) {
                Some((a, b)) => order(a, b, sign),
                None => Ok(Some(left.len().cmp(&right.len()))),
            }
        }
        _ => fault(format!(
            "'{sign}' not supported between instances of '{}' and '{}'",
            a.type_name(),
            b.type_name()
        )),
    }
}

/// `a < b`.
pub fn less(a: &Value, b: &Value) -> Result<bool> {
    Ok(order(a, b, "<")? == Some(Ordering::Less))
}

/// `sorted(keys, reverse)`: returns the places of the keys in their new order. A merge sort with `<` alone, since an
/// inconsistent order makes `sort_by` of Rust panic.
pub fn sorted(keys: &[Value], reverse: bool) -> Result<Vec<usize>> {
    let mut order: Vec<usize> = (0..keys.len()).collect();
    if reverse {
        order.reverse();
    }
    let mut spare = order.clone();
    let mut width = 1;
    while width < order.len() {
        for start in (0..order.len()).step_by(2 * width) {
            let middle = (start + width).min(order.len());
            let end = (start + 2 * width).min(order.len());
            let (mut left, mut right) = (start, middle);
            for slot in &mut spare[start..end] {
                let takes_right = right < end
                    && (left >= middle || less(&keys[order[right]], &keys[order[left]])?);
                let from = if takes_right { &mut right } else { &mut left };
                *slot = order[*from];
                *from += 1;
            }
        }
        std::mem::swap(&mut order, &mut spare);
        width *= 2;
    }
    if reverse {
        order.reverse();
    }
    Ok(order)
}
