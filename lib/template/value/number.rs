//! Arithmetic as in Python: integers of any size, division that rounds down, and Python's errors.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;

use num_bigint::{BigInt, Sign};

use super::Value;
use crate::error::{Result, fault, limit};

/// A number; booleans are integers.
#[derive(Debug, Clone)]
pub enum Number<'v> {
    Int(i64),
    Big(Cow<'v, BigInt>),
    Float(f64),
}

/// The most bits of an integer that a template may make.
const MAX_BITS: u64 = 1 << 20;

/// An `int`.
pub fn integer(value: BigInt) -> Value {
    match i64::try_from(&value) {
        Ok(value) => Value::Int(value),
        Err(_) => Value::Big(Arc::new(value)),
    }
}

impl<'v> Number<'v> {
    pub fn of(value: &'v Value) -> Option<Number<'v>> {
        Some(match value {
            Value::Bool(value) => Number::Int(i64::from(*value)),
            Value::Int(value) => Number::Int(*value),
            Value::Big(value) => Number::Big(Cow::Borrowed(value)),
            Value::Float(value) => Number::Float(*value),
            _ => return None,
        })
    }

    fn big(&self) -> Option<Cow<'_, BigInt>> {
        match self {
            Number::Int(value) => Some(Cow::Owned(BigInt::from(*value))),
            Number::Big(value) => Some(Cow::Borrowed(value)),
            Number::Float(_) => None,
        }
    }

    /// `float(number)`; an error where an integer is too large.
    pub fn float(&self) -> Result<f64> {
        match self {
            Number::Int(value) => Ok(*value as f64),
            Number::Float(value) => Ok(*value),
            // (The decimal text is read back to the nearest float, as Python rounds.)
            Number::Big(value) => match value.to_string().parse::<f64>() {
                Ok(value) if value.is_finite() => Ok(value),
                _ => fault("int too large to convert to float"),
            },
        }
    }
}

/// Compares two numbers exactly, also an integer with a float; none if one is NaN.
pub fn order(a: &Number<'_>, b: &Number<'_>) -> Option<Ordering> {
    match (a, b) {
        (Number::Int(a), Number::Int(b)) => Some(a.cmp(b)),
        (Number::Float(a), Number::Float(b)) => a.partial_cmp(b),
        (Number::Float(a), b) => with_float(*a, b),
        (a, Number::Float(b)) => with_float(*b, a).map(Ordering::reverse),
        (a, b) => Some(a.big()?.cmp(&b.big()?)),
    }
}

fn with_float(a: f64, b: &Number<'_>) -> Option<Ordering> {
    if a.is_nan() {
        return None;
    }
    if a.is_infinite() {
        return Some(if a > 0.0 { Ordering::Greater } else { Ordering::Less });
    }
    let whole = from_float(a.trunc())?;
    let fraction = a.fract().partial_cmp(&0.0)?;
    Some(whole.cmp(&*b.big()?).then(fraction))
}

/// The integer of a float that has no fraction; none if the float is not finite.
pub fn from_float(value: f64) -> Option<BigInt> {
    if !value.is_finite() {
        return None;
    }
    let bits = value.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i64 - 1075;
    let mantissa = bits & ((1 << 52) - 1) | 1 << 52;
    let magnitude = match exponent {
        ..=-53 => BigInt::ZERO,
        -52..=-1 => BigInt::from(mantissa >> -exponent),
        _ => BigInt::from(mantissa) << exponent,
    };
    Some(if value < 0.0 { -magnitude } else { magnitude })
}

/// An arithmetic operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Modulo,
    Power,
}

impl Operator {
    pub fn sign(self) -> &'static str {
        match self {
            Operator::Add => "+",
            Operator::Subtract => "-",
            Operator::Multiply => "*",
            Operator::Divide => "/",
            Operator::FloorDivide => "//",
            Operator::Modulo => "%",
            Operator::Power => "** or pow()",
        }
    }
}

/// Applies an operator to two numbers.
pub fn apply(operator: Operator, a: &Number<'_>, b: &Number<'_>) -> Result<Value> {
    if let (Number::Int(a), Number::Int(b)) = (a, b)
        && let Some(value) = small(operator, *a, *b)
    {
        return Ok(Value::Int(value));
    }
    match (a.big(), b.big()) {
        (Some(a), Some(b)) => integers(operator, &a, &b),
        _ => floats(operator, a.float()?, b.float()?),
    }
}

fn small(operator: Operator, a: i64, b: i64) -> Option<i64> {
    match operator {
        Operator::Add => a.checked_add(b),
        Operator::Subtract => a.checked_sub(b),
        Operator::Multiply => a.checked_mul(b),
        Operator::FloorDivide if b != 0 => {
            let quotient = a.checked_div(b)?;
            Some(if a % b != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient })
        }
        Operator::Modulo if b != 0 => {
            let rest = a.checked_rem(b)?;
            Some(if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest })
        }
        _ => None,
    }
}

fn integers(operator: Operator, a: &BigInt, b: &BigInt) -> Result<Value> {
    if a.bits() + b.bits() > MAX_BITS {
        return limit("an integer that is too large");
    }
    let is_zero = b.sign() == Sign::NoSign;
    Ok(integer(match operator {
        Operator::Add => a + b,
        Operator::Subtract => a - b,
        Operator::Multiply => a * b,
        Operator::Divide if is_zero => return fault("division by zero"),
        Operator::FloorDivide | Operator::Modulo if is_zero => {
            return fault("integer division or modulo by zero");
        }
        Operator::Divide => return divided(a, b),
        Operator::FloorDivide | Operator::Modulo => {
            let (mut quotient, mut rest) = (a / b, a % b);
            if rest.sign() != Sign::NoSign && rest.sign() != b.sign() {
                quotient -= 1;
                rest += b;
            }
            if operator == Operator::Modulo { rest } else { quotient }
        }
        Operator::Power => match u32::try_from(b) {
            Ok(power) => {
                if a.bits().saturating_mul(u64::from(power)) > MAX_BITS && a.bits() > 1 {
                    return limit("an integer that is too large");
                }
                a.pow(power)
            }
            Err(_) if b.sign() == Sign::Minus => {
                let (a, b) = (Number::Big(Cow::Borrowed(a)), Number::Big(Cow::Borrowed(b)));
                return floats(Operator::Power, a.float()?, b.float()?);
            }
            Err(_) if a.bits() <= 1 => {
                let is_odd = b.bit(0);
                if a.sign() == Sign::Minus && !is_odd { -a } else { a.clone() }
            }
            Err(_) => return limit("an integer that is too large"),
        },
    }))
}

/// Divides two integers; returns the nearest float.
fn divided(a: &BigInt, b: &BigInt) -> Result<Value> {
    let is_exact = |value: &BigInt| value.bits() <= 53;
    if is_exact(a) && is_exact(b) {
        let float = |value: &BigInt| i64::try_from(value).unwrap_or(0) as f64;
        return Ok(Value::Float(float(a) / float(b)));
    }
    // 66 bits of the quotient and a sticky one are rounded once.
    let negative = (a.sign() == Sign::Minus) != (b.sign() == Sign::Minus);
    let (a, b) = (a.magnitude(), b.magnitude());
    let shift = 66 + b.bits() as i64 - a.bits() as i64;
    let (high, low) =
        if shift >= 0 { (a.clone() << shift, b.clone()) } else { (a.clone(), b.clone() << -shift) };
    let mut quotient = &high / &low;
    if &quotient * &low != high {
        quotient |= num_bigint::BigUint::from(1u8);
    }
    let bits = quotient.bits() as i64;
    let drop = (bits - 53).max(0);
    let mut mantissa = u64::try_from(&quotient >> drop).unwrap_or(0);
    let rest = &quotient - (num_bigint::BigUint::from(mantissa) << drop);
    let half = num_bigint::BigUint::from(1u8) << (drop - 1).max(0);
    if rest > half || (rest == half && mantissa & 1 == 1) {
        mantissa += 1;
    }
    let exponent = drop - shift;
    let value = mantissa as f64 * 2f64.powi(i32::try_from(exponent).unwrap_or(i32::MAX));
    match value.is_finite() {
        true => Ok(Value::Float(if negative { -value } else { value })),
        false => fault("integer division result too large for a float"),
    }
}

fn floats(operator: Operator, a: f64, b: f64) -> Result<Value> {
    Ok(Value::Float(match operator {
        Operator::Add => a + b,
        Operator::Subtract => a - b,
        Operator::Multiply => a * b,
        Operator::Divide if b == 0.0 => return fault("float division by zero"),
        Operator::FloorDivide if b == 0.0 => return fault("float floor division by zero"),
        Operator::Modulo if b == 0.0 => return fault("float modulo"),
        Operator::Divide => a / b,
        Operator::Modulo => modulo(a, b),
        Operator::FloorDivide => {
            // As CPython: from the rest, which is exact.
            let rest = a % b;
            let mut quotient = (a - rest) / b;
            if rest != 0.0 && (b < 0.0) != (rest < 0.0) {
                quotient -= 1.0;
            }
            if quotient == 0.0 {
                0.0f64.copysign(a / b)
            } else {
                let floor = quotient.floor();
                if quotient - floor > 0.5 { floor + 1.0 } else { floor }
            }
        }
        Operator::Power if a == 0.0 && b < 0.0 => {
            return fault("0.0 cannot be raised to a negative power");
        }
        Operator::Power if a < 0.0 && a.is_finite() && b.is_finite() && b.fract() != 0.0 => {
            return fault("a complex number, which is not known here");
        }
        Operator::Power => {
            let value = a.powf(b);
            if value.is_infinite() && a.is_finite() && b.is_finite() {
                return fault("(34, 'Numerical result out of range')");
            }
            value
        }
    }))
}

fn modulo(a: f64, b: f64) -> f64 {
    let rest = a % b;
    match rest == 0.0 {
        true => 0.0f64.copysign(b),
        false if (rest < 0.0) != (b < 0.0) => rest + b,
        false => rest,
    }
}
