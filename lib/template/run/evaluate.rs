//! Expressions.

use std::cmp::Ordering;
use std::sync::Arc;

use super::Run;
use crate::error::{Result, fault};
use crate::format;
use crate::methods::marked;
use crate::syntax::{Comparison, Expr, Slot};
use crate::text::escaped;
use crate::value::compare::{equal, order};
use crate::value::number::{self, Number, Operator};
use crate::value::{Dict, Value};

impl Run<'_> {
    pub fn evaluate(&mut self, expression: &Expr) -> Result<Value> {
        self.step(1)?;
        match expression {
            Expr::Const(value) => Ok(value.clone()),
            Expr::Name(name, slot) => Ok(self.named(name, *slot)),
            _ => self.deeper(|run| run.compound(expression)),
        }
    }

    fn named(&self, name: &Arc<str>, slot: Slot) -> Value {
        self.slot(slot).cloned().unwrap_or_else(|| Self::undefined_name(name))
    }

    pub fn is_true(&mut self, expression: &Expr) -> Result<bool> {
        Ok(self.evaluate(expression)?.is_true())
    }

    fn all(&mut self, items: &[Expr]) -> Result<Vec<Value>> {
        items.iter().map(|item| self.evaluate(item)).collect()
    }

    fn compound(&mut self, expression: &Expr) -> Result<Value> {
        match expression {
            Expr::Const(value) => Ok(value.clone()),
            Expr::Name(name, slot) => Ok(self.named(name, *slot)),
            Expr::Body => Ok(self.bodies.last().cloned().unwrap_or_default()),
            Expr::Tuple(items) => Value::tuple_of(self.all(items)?),
            Expr::List(items) => {
                let items = self.all(items)?;
                self.list(items)
            }
            Expr::Dict(items) => {
                let mut dict = Dict::default();
                for (key, value) in items {
                    let key = self.evaluate(key)?;
                    dict.insert(key, self.evaluate(value)?)?;
                }
                self.charge(dict.len() * 64)?;
                Ok(Value::Dict(Arc::new(dict)))
            }
            Expr::Negative(of) => {
                let value = self.evaluate(of)?;
                match (&value, Number::of(&value)) {
                    (Value::Float(value), _) => Ok(Value::Float(-value)),
                    (_, Some(number)) => {
                        number::apply(Operator::Subtract, &Number::Int(0), &number)
                    }
                    _ => no_unary("-", &value),
                }
            }
            Expr::Positive(of) => {
                let value = self.evaluate(of)?;
                match value {
                    Value::Bool(value) => Ok(Value::Int(i64::from(value))),
                    Value::Int(_) | Value::Big(_) | Value::Float(_) => Ok(value),
                    other => no_unary("+", &other),
                }
            }
            Expr::Not(of) => Ok(Value::Bool(!self.is_true(of)?)),
            Expr::Binary(Operator::Add, _) => {
                let mut texts = Vec::new();
                let sum = self.sum(expression, &mut texts)?;
                self.behind(&texts, sum)
            }
            Expr::Binary(operator, pair) => {
                let left = self.evaluate(&pair.0)?;
                let right = self.evaluate(&pair.1)?;
                self.binary(*operator, &left, &right)
            }
            Expr::And(pair) => {
                let left = self.evaluate(&pair.0)?;
                if left.is_true() { self.evaluate(&pair.1) } else { Ok(left) }
            }
            Expr::Or(pair) => {
                let left = self.evaluate(&pair.0)?;
                if left.is_true() { Ok(left) } else { self.evaluate(&pair.1) }
            }
            Expr::Compare(first, rest) => self.comparison(first, rest),
            Expr::Concat(items) => {
                let mut text = String::new();
                for item in items {
                    let value = self.evaluate(item)?;
                    self.append(&mut text, &value)?;
                }
                Ok(Value::from(text))
            }
            Expr::Condition(parts) => match (self.is_true(&parts.0)?, &parts.2) {
                (true, _) => self.evaluate(&parts.1),
                (false, Some(other)) => self.evaluate(other),
                (false, None) => Ok(Value::hint(
                    "the inline if-expression evaluated to false and no else section was defined.",
                )),
            },
            Expr::Attribute(of, name) => {
                if let Expr::Name(_, slot) = &**of
                    && let Some(Value::Dict(dict)) = self.slot(*slot)
                {
                    // (Most often a member of a message: the slot is not cloned as an undefined value would be.)
                    let dict = dict.clone();
                    return self.attribute(&Value::Dict(dict), name);
                }
                let of = self.evaluate(of)?;
                self.attribute(&of, name)
            }
            Expr::Item(pair) => {
                let of = self.evaluate(&pair.0)?;
                let key = self.evaluate(&pair.1)?;
                self.item(&of, &key)
            }
            Expr::Slice(of, parts) => {
                let of = self.evaluate(of)?;
                let mut values = [None, None, None];
                for (value, part) in values.iter_mut().zip(parts.iter()) {
                    if let Some(part) = part {
                        *value = Some(self.evaluate(part)?);
                    }
                }
                self.slice(&of, values)
            }
            Expr::Call(_) => self.call_with(expression, None),
            Expr::Filter(apply) => {
                let value = self.evaluate(&apply.to)?;
                let given = self.given(&apply.arguments)?;
                self.line = apply.line;
                self.spoil_by(&apply.name, &value, &given);
                match apply.function {
                    Some(filter) => filter(self, value, given),
                    None => fault(format!("No filter named '{}' found.", apply.name)),
                }
            }
            Expr::Test(apply) => {
                let value = self.evaluate(&apply.to)?;
                let given = self.given(&apply.arguments)?;
                self.line = apply.line;
                match apply.function {
                    Some(test) => test(self, value, given).map(Value::Bool),
                    None => fault(format!("No test named '{}' found.", apply.name)),
                }
            }
        }
    }

    /// Prints an expression. The terms of a sum of texts are printed one by one, without joining them.
    pub fn print_expression(&mut self, expression: &Expr) -> Result<()> {
        match expression {
            Expr::Binary(Operator::Add, _) => {
                let mut texts = Vec::new();
                let sum = self.sum(expression, &mut texts)?;
                for text in &texts {
                    self.print(text)?;
                }
                self.print(&sum)
            }
            Expr::Concat(items) => {
                for item in items {
                    let value = self.evaluate(item)?;
                    self.print(&value)?;
                }
                Ok(())
            }
            other => {
                let value = self.evaluate(other)?;
                self.print(&value)
            }
        }
    }

    /// Adds the terms of a sum from the left. Texts are joined where another value follows them: those before the last term
    /// are left in `texts`.
    fn sum(&mut self, expression: &Expr, texts: &mut Vec<Value>) -> Result<Value> {
        let Expr::Binary(Operator::Add, pair) = expression else {
            return self.evaluate(expression);
        };
        let sum = self.deeper(|run| run.sum(&pair.0, texts))?;
        let value = self.evaluate(&pair.1)?;
        if let (Value::Text(_), Value::Text(_)) = (&sum, &value) {
            texts.push(sum);
            return Ok(value);
        }
        let sum = self.behind(&std::mem::take(texts), sum)?;
        self.binary(Operator::Add, &sum, &value)
    }

    /// Joins a text to others before it; returns a value before which there are none.
    fn behind(&mut self, texts: &[Value], value: Value) -> Result<Value> {
        match &value {
            Value::Text(last) if !texts.is_empty() => {
                let texts = texts.iter().filter_map(Value::as_text);
                self.joined(&texts.chain([&**last]).collect::<Vec<_>>())
            }
            _ => Ok(value),
        }
    }

    fn comparison(&mut self, first: &Expr, rest: &[(Comparison, Expr)]) -> Result<Value> {
        let mut left = self.evaluate(first)?;
        for (comparison, right) in rest {
            let right = self.evaluate(right)?;
            if !self.compare(*comparison, &left, &right)? {
                return Ok(Value::Bool(false));
            }
            left = right;
        }
        Ok(Value::Bool(true))
    }

    pub fn compare(&mut self, by: Comparison, left: &Value, right: &Value) -> Result<bool> {
        self.step((left.weight().min(right.weight()) / 16) as usize)?;
        Ok(match by {
            Comparison::Equal => equal(left, right),
            Comparison::NotEqual => !equal(left, right),
            Comparison::Less => order(left, right, "<")? == Some(Ordering::Less),
            Comparison::LessOrEqual => {
                matches!(order(left, right, "<=")?, Some(Ordering::Less | Ordering::Equal))
            }
            Comparison::Greater => order(left, right, ">")? == Some(Ordering::Greater),
            Comparison::GreaterOrEqual => {
                matches!(order(left, right, ">=")?, Some(Ordering::Greater | Ordering::Equal))
            }
            Comparison::In => self.contains(right, left)?,
            Comparison::NotIn => !self.contains(right, left)?,
        })
    }

    pub fn binary(&mut self, operator: Operator, left: &Value, right: &Value) -> Result<Value> {
        if let (Some(a), Some(b)) = (Number::of(left), Number::of(right)) {
            return number::apply(operator, &a, &b);
        }
        if !matches!((operator, left, right), (Operator::Add, Value::Text(_), Value::Text(_))) {
            // (Lists are joined and repeated with their items; a format has its arguments in a tuple.)
            let is_made =
                |value: &&Value| operator == Operator::Modulo || value.as_text().is_some();
            [left, right].into_iter().filter(is_made).for_each(|value| self.spoil(value));
        }
        match (operator, left, right) {
            (Operator::Modulo, Value::Text(text), arguments) => {
                format::percent(self, text, arguments, false)
            }
            (Operator::Modulo, Value::Markup(text), arguments) => {
                format::percent(self, text, arguments, true).map(marked)
            }
            (_, Value::Undefined(missing), _) | (_, _, Value::Undefined(missing)) => {
                fault(missing.message())
            }
            (Operator::Add, Value::Text(a), Value::Text(b)) => self.joined(&[a, b]),
            (Operator::Add, Value::Markup(a), Value::Markup(b)) => self.joined(&[a, b]).map(marked),
            (Operator::Add, Value::Markup(a), Value::Text(b)) => {
                self.joined(&[a, &escaped(b)]).map(marked)
            }
            (Operator::Add, Value::Text(a), Value::Markup(b)) => {
                self.joined(&[&escaped(a), b]).map(marked)
            }
            (Operator::Add, Value::List(a), Value::List(b)) => {
                let items = a.iter().chain(b.iter()).cloned().collect();
                self.list(items)
            }
            (Operator::Add, Value::Tuple(a), Value::Tuple(b)) => {
                self.charge((a.len() + b.len()) * 24)?;
                Value::tuple_of(a.iter().chain(b.iter()).cloned().collect())
            }
            (
                Operator::Multiply,
                value,
                count @ (Value::Int(_) | Value::Bool(_) | Value::Big(_)),
            )
            | (
                Operator::Multiply,
                count @ (Value::Int(_) | Value::Bool(_) | Value::Big(_)),
                value,
            ) => self.repeated(value, super::arguments::index(count)?),
            _ => fault(format!(
                "unsupported operand type(s) for {}: '{}' and '{}'",
                operator.sign(),
                left.type_name(),
                right.type_name()
            )),
        }
    }

    /// Concatenates texts, whose bytes are charged before.
    fn joined(&mut self, texts: &[&str]) -> Result<Value> {
        self.charge(texts.iter().map(|text| text.len()).sum())?;
        let text: Arc<str> = texts.concat().into();
        self.note_joined(&text, texts);
        Ok(Value::Text(text))
    }

    /// Appends `str(value)` to a text, and charges its bytes.
    pub fn append(&mut self, text: &mut String, value: &Value) -> Result<()> {
        match value.as_text() {
            Some(part) => {
                self.spoil(value);
                self.append_text(text, part)
            }
            None => {
                let part = self.printed(value)?;
                self.append_text(text, &part)
            }
        }
    }

    /// Appends to a text, and charges the bytes before.
    pub fn append_text(&mut self, text: &mut String, part: &str) -> Result<()> {
        self.charge(part.len())?;
        text.push_str(part);
        Ok(())
    }

    fn repeated(&mut self, value: &Value, count: i64) -> Result<Value> {
        let count = usize::try_from(count).unwrap_or(0);
        match value {
            Value::Text(text) | Value::Markup(text) => {
                // (Charged before the text is made.)
                self.charge(text.len().saturating_mul(count))?;
                let text =
                    Value::from(if text.is_empty() { String::new() } else { text.repeat(count) });
                Ok(if matches!(value, Value::Markup(_)) { marked(text) } else { text })
            }
            Value::List(items) | Value::Tuple(items) => {
                let size = items.len().saturating_mul(count);
                self.charge(size.saturating_mul(24))?;
                let items: Vec<Value> = items.iter().cycle().take(size).cloned().collect();
                match value {
                    Value::List(_) => Value::list_of(items),
                    _ => Value::tuple_of(items),
                }
            }
            other => fault(format!(
                "unsupported operand type(s) for *: '{}' and 'int'",
                other.type_name()
            )),
        }
    }
}

fn no_unary(sign: &str, value: &Value) -> Result<Value> {
    match value {
        Value::Undefined(missing) => fault(missing.message()),
        other => fault(format!("bad operand type for unary {sign}: '{}'", other.type_name())),
    }
}
