//! The tests of jinja2, as in `value is defined`.

use crate::error::{Result, fault};
use crate::run::Run;
use crate::run::arguments::CallArguments;
use crate::run::object::Object;
use crate::syntax::Comparison;
use crate::value::compare::is_same;
use crate::value::number::Operator;
use crate::value::{Type, Value};
use crate::{filters, methods};

/// A test of a value.
pub type Test = fn(&mut Run<'_>, Value, CallArguments) -> Result<bool>;

/// The test with this name.
pub fn find(name: &str) -> Option<Test> {
    Some(match name {
        "odd" => |run, value, given| remainder(run, value, given, 2, 1),
        "even" => |run, value, given| remainder(run, value, given, 2, 0),
        "divisibleby" => |run, value, given| {
            let [by] = given.bind("divisibleby", ["num"], 1)?;
            let rest = run.binary(Operator::Modulo, &value, &by.unwrap_or_default())?;
            Ok(crate::value::compare::equal(&rest, &Value::Int(0)))
        },
        "defined" => |_, value, given| alone(given, !value.is_undefined()),
        "undefined" => |_, value, given| alone(given, value.is_undefined()),
        "filter" => {
            |_, value, given| alone(given, value.as_text().and_then(filters::find).is_some())
        }
        "test" => |_, value, given| alone(given, value.as_text().and_then(find).is_some()),
        "none" => |_, value, given| alone(given, value == Value::None),
        "boolean" => |_, value, given| alone(given, matches!(value, Value::Bool(_))),
        "false" => |_, value, given| alone(given, value == Value::Bool(false)),
        "true" => |_, value, given| alone(given, value == Value::Bool(true)),
        "integer" => |_, value, given| alone(given, matches!(value, Value::Int(_) | Value::Big(_))),
        "float" => |_, value, given| alone(given, matches!(value, Value::Float(_))),
        "lower" => |run, value, given| of_text(run, value, given, "islower"),
        "upper" => |run, value, given| of_text(run, value, given, "isupper"),
        "string" => |_, value, given| alone(given, value.as_text().is_some()),
        "mapping" => |_, value, given| alone(given, matches!(value, Value::Dict(_))),
        "number" => |_, value, given| {
            alone(given, matches!(value.kind(), Type::Int | Type::Bool | Type::Float))
        },
        "sequence" => |_, value, given| {
            let is = matches!(
                value.kind(),
                Type::Undefined
                    | Type::Text
                    | Type::Markup
                    | Type::List
                    | Type::Tuple
                    | Type::Dict
                    | Type::Range
            );
            alone(given, is)
        },
        "iterable" => |run, value, given| {
            let is = run.iter(&value).is_ok() || run.is_loop(&value);
            alone(given, is)
        },
        "callable" => |run, value, given| {
            let is = match &value {
                Value::Undefined(_) | Value::Method(_) | Value::Function(_) => true,
                Value::Object(_) => run.is_callable(&value),
                _ => false,
            };
            alone(given, is)
        },
        "sameas" => |_, value, given| {
            let [other] = given.bind("sameas", ["other"], 1)?;
            Ok(is_same(&value, &other.unwrap_or_default()))
        },
        "escaped" => |_, value, given| alone(given, matches!(value, Value::Markup(_))),
        "in" => |run, value, given| compared(run, value, given, Comparison::In),
        "==" | "eq" | "equalto" => {
            |run, value, given| compared(run, value, given, Comparison::Equal)
        }
        "!=" | "ne" => |run, value, given| compared(run, value, given, Comparison::NotEqual),
        ">" | "gt" | "greaterthan" => {
            |run, value, given| compared(run, value, given, Comparison::Greater)
        }
        "ge" | ">=" => |run, value, given| compared(run, value, given, Comparison::GreaterOrEqual),
        "<" | "lt" | "lessthan" => {
            |run, value, given| compared(run, value, given, Comparison::Less)
        }
        "<=" | "le" => |run, value, given| compared(run, value, given, Comparison::LessOrEqual),
        _ => return None,
    })
}

fn alone(given: CallArguments, is: bool) -> Result<bool> {
    given.positional::<0>("test", 0)?;
    Ok(is)
}

fn remainder(
    run: &mut Run<'_>,
    value: Value,
    given: CallArguments,
    by: i64,
    wanted: i64,
) -> Result<bool> {
    given.positional::<0>("test", 0)?;
    let rest = run.binary(Operator::Modulo, &value, &Value::Int(by))?;
    Ok(crate::value::compare::equal(&rest, &Value::Int(wanted)))
}

fn of_text(run: &mut Run<'_>, value: Value, given: CallArguments, name: &str) -> Result<bool> {
    let text = run.printed(&value)?;
    Ok(methods::call(run, &Value::from(text), name, given)?.is_true())
}

fn compared(run: &mut Run<'_>, value: Value, given: CallArguments, by: Comparison) -> Result<bool> {
    let [other] = given.positional("test", 1)?;
    match other {
        Some(other) => run.compare(by, &value, &other),
        None => fault("a test without what to compare with"),
    }
}

impl Run<'_> {
    fn is_loop(&self, value: &Value) -> bool {
        matches!(self.object_of(value), Some(Object::Loop(_)))
    }

    fn is_callable(&self, value: &Value) -> bool {
        matches!(self.object_of(value), Some(Object::Macro { .. } | Object::Loop(_)))
    }
}
