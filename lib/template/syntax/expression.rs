//! Expressions, as jinja2's parser reads them.

use std::sync::Arc;

use super::lexer::Token;
use super::parser::Parser;
use super::{Apply, Arguments, Call, Comparison, Expr};
use crate::error::Result;
use crate::value::Value;
use crate::value::number::Operator;
use crate::{filters, tests_of};

/// Maximum number of keyword arguments in a call, which are looked through for each new one.
const MOST_NAMED: usize = 1000;

impl Parser {
    /// Whether the next token ends a tuple. (The names that jinja2's parser is given for this have no effect there.)
    pub(super) fn is_tuple_end(&self) -> bool {
        matches!(self.peek(), Token::VariableEnd | Token::BlockEnd | Token::Operator(")"))
    }

    /// Reads an expression, or a tuple of several with commas between them.
    pub(super) fn tuple(&mut self, with_condition: bool, may_be_empty: bool) -> Result<Expr> {
        let mut items = Vec::new();
        let mut is_tuple = false;
        loop {
            if !items.is_empty() {
                self.expect_operator(",")?;
            }
            if self.is_tuple_end() {
                break;
            }
            items.push(self.expression(with_condition)?);
            match self.is_operator(",") {
                true => is_tuple = true,
                false => break,
            }
        }
        if !is_tuple {
            match items.pop() {
                Some(item) => return Ok(item),
                None if !may_be_empty => {
                    return self.fail(format!("Expected an expression, got {}", self.shown()));
                }
                None => {}
            }
        }
        Ok(Expr::Tuple(items))
    }

    pub(super) fn expression(&mut self, with_condition: bool) -> Result<Expr> {
        self.nested(|parser| match with_condition {
            true => parser.conditional(),
            false => parser.or(),
        })
    }

    fn conditional(&mut self) -> Result<Expr> {
        let mut value = self.or()?;
        while self.take_name("if") {
            self.link()?;
            let test = self.or()?;
            let other = match self.take_name("else") {
                true => Some(self.nested(Parser::conditional)?),
                false => None,
            };
            value = Expr::Condition(Box::new((test, value, other)));
        }
        Ok(value)
    }

    fn or(&mut self) -> Result<Expr> {
        let mut left = self.and()?;
        while self.take_name("or") {
            self.link()?;
            left = Expr::Or(Box::new((left, self.and()?)));
        }
        Ok(left)
    }

    fn and(&mut self) -> Result<Expr> {
        let mut left = self.not()?;
        while self.take_name("and") {
            self.link()?;
            left = Expr::And(Box::new((left, self.not()?)));
        }
        Ok(left)
    }

    fn not(&mut self) -> Result<Expr> {
        match self.take_name("not") {
            true => Ok(Expr::Not(Box::new(self.nested(Parser::not)?))),
            false => self.comparison(),
        }
    }

    fn comparison(&mut self) -> Result<Expr> {
        let first = self.sum()?;
        let mut rest = Vec::new();
        loop {
            let comparison = match self.peek() {
                Token::Operator("==") => Comparison::Equal,
                Token::Operator("!=") => Comparison::NotEqual,
                Token::Operator("<") => Comparison::Less,
                Token::Operator("<=") => Comparison::LessOrEqual,
                Token::Operator(">") => Comparison::Greater,
                Token::Operator(">=") => Comparison::GreaterOrEqual,
                Token::Name(name) if &**name == "in" => Comparison::In,
                Token::Name(name)
                    if &**name == "not"
                        && matches!(self.look(), Token::Name(next) if &**next == "in") =>
                {
                    self.next();
                    Comparison::NotIn
                }
                _ => break,
            };
            self.next();
            rest.push((comparison, self.sum()?));
        }
        Ok(if rest.is_empty() { first } else { Expr::Compare(Box::new(first), rest) })
    }

    fn sum(&mut self) -> Result<Expr> {
        let mut left = self.concat()?;
        loop {
            let operator = match self.peek() {
                Token::Operator("+") => Operator::Add,
                Token::Operator("-") => Operator::Subtract,
                _ => return Ok(left),
            };
            self.next();
            self.link()?;
            left = Expr::Binary(operator, Box::new((left, self.concat()?)));
        }
    }

    fn concat(&mut self) -> Result<Expr> {
        let first = self.product()?;
        if !self.is_operator("~") {
            return Ok(first);
        }
        let mut items = vec![first];
        while self.take_operator("~") {
            items.push(self.product()?);
        }
        Ok(Expr::Concat(items))
    }

    fn product(&mut self) -> Result<Expr> {
        let mut left = self.power()?;
        loop {
            let operator = match self.peek() {
                Token::Operator("*") => Operator::Multiply,
                Token::Operator("/") => Operator::Divide,
                Token::Operator("//") => Operator::FloorDivide,
                Token::Operator("%") => Operator::Modulo,
                _ => return Ok(left),
            };
            self.next();
            self.link()?;
            left = Expr::Binary(operator, Box::new((left, self.power()?)));
        }
    }

    fn power(&mut self) -> Result<Expr> {
        let mut left = self.unary(true)?;
        while self.take_operator("**") {
            self.link()?;
            left = Expr::Binary(Operator::Power, Box::new((left, self.unary(true)?)));
        }
        Ok(left)
    }

    fn unary(&mut self, with_filter: bool) -> Result<Expr> {
        let mut value = if self.take_operator("-") {
            Expr::Negative(Box::new(self.nested(|parser| parser.unary(false))?))
        } else if self.take_operator("+") {
            Expr::Positive(Box::new(self.nested(|parser| parser.unary(false))?))
        } else {
            self.primary()?
        };
        value = self.postfix(value)?;
        if with_filter {
            value = self.filter_expression(value)?;
        }
        Ok(value)
    }

    fn primary(&mut self) -> Result<Expr> {
        match self.peek().clone() {
            Token::Name(name) => {
                self.next();
                Ok(match &*name {
                    "true" | "True" => Expr::Const(Value::Bool(true)),
                    "false" | "False" => Expr::Const(Value::Bool(false)),
                    "none" | "None" => Expr::Const(Value::None),
                    _ => Expr::Name(name, Default::default()),
                })
            }
            Token::Text(mut text) => {
                self.next();
                while let Token::Text(more) = self.peek() {
                    text.push_str(more);
                    self.next();
                }
                Ok(Expr::Const(Value::from(text)))
            }
            Token::Number(value) => {
                self.next();
                Ok(Expr::Const(value))
            }
            Token::Operator("(") => {
                self.next();
                let value = self.tuple(true, true)?;
                self.expect_operator(")")?;
                Ok(value)
            }
            Token::Operator("[") => {
                self.next();
                let mut items = Vec::new();
                while !self.is_operator("]") {
                    if !items.is_empty() {
                        self.expect_operator(",")?;
                    }
                    if self.is_operator("]") {
                        break;
                    }
                    items.push(self.expression(true)?);
                }
                self.next();
                Ok(Expr::List(items))
            }
            Token::Operator("{") => {
                self.next();
                let mut items = Vec::new();
                while !self.is_operator("}") {
                    if !items.is_empty() {
                        self.expect_operator(",")?;
                    }
                    if self.is_operator("}") {
                        break;
                    }
                    let key = self.expression(true)?;
                    self.expect_operator(":")?;
                    items.push((key, self.expression(true)?));
                }
                self.next();
                Ok(Expr::Dict(items))
            }
            _ => self.fail(format!("unexpected {}", self.shown())),
        }
    }

    fn postfix(&mut self, mut value: Expr) -> Result<Expr> {
        loop {
            value = match self.peek() {
                Token::Operator("." | "[") => self.subscript(value)?,
                Token::Operator("(") => self.call(value)?,
                _ => return Ok(value),
            };
            self.link()?;
        }
    }

    fn filter_expression(&mut self, mut value: Expr) -> Result<Expr> {
        loop {
            value = match self.peek() {
                Token::Operator("|") => self.filters(value, false)?,
                Token::Operator("(") => self.call(value)?,
                Token::Name(name) if &**name == "is" => self.test(value)?,
                _ => return Ok(value),
            };
            self.link()?;
        }
    }

    fn subscript(&mut self, value: Expr) -> Result<Expr> {
        if self.take_operator(".") {
            return match self.next() {
                Token::Name(name) => Ok(Expr::Attribute(Box::new(value), name)),
                Token::Number(number @ (Value::Int(_) | Value::Big(_))) => {
                    Ok(Expr::Item(Box::new((value, Expr::Const(number)))))
                }
                _ => self.fail("expected name or number"),
            };
        }
        self.expect_operator("[")?;
        let mut items = Vec::new();
        while !self.is_operator("]") {
            if !items.is_empty() {
                self.expect_operator(",")?;
            }
            items.push(self.subscribed()?);
        }
        self.next();
        match (items.pop(), items.is_empty()) {
            (Some(Ok(item)), true) => Ok(Expr::Item(Box::new((value, item)))),
            (Some(Err(slice)), true) => Ok(Expr::Slice(Box::new(value), Box::new(slice))),
            (last, _) => {
                let items = items.into_iter().chain(last);
                match items.collect::<std::result::Result<Vec<Expr>, _>>() {
                    Ok(items) => Ok(Expr::Item(Box::new((value, Expr::Tuple(items))))),
                    Err(_) => self.fail("slices in a tuple are not supported"),
                }
            }
        }
    }

    /// Reads an index (`Ok`) or a slice (`Err`).
    #[allow(clippy::type_complexity)]
    fn subscribed(&mut self) -> Result<std::result::Result<Expr, [Option<Expr>; 3]>> {
        let ends = |parser: &Parser| parser.is_operator("]") || parser.is_operator(",");
        let start = match self.is_operator(":") {
            true => None,
            false => {
                let index = self.expression(true)?;
                if !self.is_operator(":") {
                    return Ok(Ok(index));
                }
                Some(index)
            }
        };
        self.next();
        let stop = match self.is_operator(":") || ends(self) {
            true => None,
            false => Some(self.expression(true)?),
        };
        let step = match self.take_operator(":") && !ends(self) {
            true => Some(self.expression(true)?),
            false => None,
        };
        Ok(Err([start, stop, step]))
    }

    fn call(&mut self, value: Expr) -> Result<Expr> {
        let line = self.line();
        let arguments = self.nested(Parser::arguments)?;
        Ok(Expr::Call(Box::new(Call { function: value, arguments, line })))
    }

    fn arguments(&mut self) -> Result<Arguments> {
        let mut arguments = Arguments::default();
        let wrong = "invalid syntax for function call expression";
        self.expect_operator("(")?;
        let mut is_first = true;
        while !self.is_operator(")") {
            if !is_first {
                self.expect_operator(",")?;
                if self.is_operator(")") {
                    break;
                }
            }
            is_first = false;
            let has_rests = arguments.rest.is_some() || arguments.named_rest.is_some();
            if self.take_operator("*") {
                if has_rests {
                    return self.fail(wrong);
                }
                arguments.rest = Some(self.expression(true)?);
            } else if self.take_operator("**") {
                if arguments.named_rest.is_some() {
                    return self.fail(wrong);
                }
                arguments.named_rest = Some(self.expression(true)?);
            } else if let (Token::Name(name), Token::Operator("=")) = (self.peek(), self.look()) {
                let name = name.clone();
                if arguments.named_rest.is_some() {
                    return self.fail(wrong);
                }
                if arguments.named.len() == MOST_NAMED {
                    return self.fail("too many keyword arguments");
                }
                // (Jinja2 parses it, and Python's compiler refuses it.)
                if arguments.named.iter().any(|(other, _)| *other == name) {
                    return self.fail(format!("keyword argument repeated: {name}"));
                }
                self.next();
                self.next();
                arguments.named.push((name, self.expression(true)?));
            } else {
                if has_rests || !arguments.named.is_empty() {
                    return self.fail(wrong);
                }
                arguments.list.push(self.expression(true)?);
            }
        }
        self.next();
        Ok(arguments)
    }

    fn dotted_name(&mut self) -> Result<Arc<str>> {
        let mut names = vec![self.expect_name()?];
        while self.take_operator(".") {
            names.push(self.expect_name()?);
        }
        Ok(names.join(".").into())
    }

    /// Reads the filters after a value; with `is_begun`, the first has no bar before it.
    pub(super) fn filters(&mut self, mut value: Expr, mut is_begun: bool) -> Result<Expr> {
        while is_begun || self.take_operator("|") {
            is_begun = false;
            let line = self.line();
            let name = self.dotted_name()?;
            let arguments = match self.is_operator("(") {
                true => self.nested(Parser::arguments)?,
                false => Arguments::default(),
            };
            let function = filters::find(&name);
            value = Expr::Filter(Box::new(Apply { to: value, name, function, arguments, line }));
            self.link()?;
        }
        Ok(value)
    }

    fn test(&mut self, value: Expr) -> Result<Expr> {
        let line = self.line();
        self.next();
        let is_negated = self.take_name("not");
        let name = self.dotted_name()?;
        let mut arguments = Arguments::default();
        if self.is_operator("(") {
            arguments = self.nested(Parser::arguments)?;
        } else {
            let begins = match self.peek() {
                Token::Name(name) if &**name == "is" => {
                    return self.fail("You cannot chain multiple tests with is");
                }
                Token::Name(name) => !matches!(&**name, "else" | "or" | "and"),
                Token::Text(_) | Token::Number(_) | Token::Operator("[" | "{") => true,
                _ => false,
            };
            if begins {
                let argument = self.primary()?;
                arguments.list.push(self.postfix(argument)?);
            }
        }
        let function = tests_of::find(&name);
        let test = Expr::Test(Box::new(Apply { to: value, name, function, arguments, line }));
        Ok(if is_negated { Expr::Not(Box::new(test)) } else { test })
    }
}
