//! The tree of a template, as jinja2's parser makes it. The parser leaves slots empty; `names` fills them.

mod expression;
mod lexer;
mod literal;
mod names;
mod parser;
mod statements;
mod symbols;

use std::sync::Arc;

pub use parser::program;

use crate::filters::Filter;
use crate::tests_of::Test;
use crate::value::Value;
use crate::value::number::Operator;

/// A parsed template.
#[derive(Debug, Default)]
pub struct Program {
    pub body: Vec<Node>,
    /// The loads before the body.
    pub loads: Vec<Load>,
    /// The number of slots for the template's own names.
    pub slots: usize,
    pub blocks: Vec<Block>,
    /// The names that the template sets, which its blocks see.
    pub exports: Vec<(Arc<str>, Slot)>,
    /// Whether `{% generation %}` is in it.
    pub has_generation: bool,
    /// Its own texts: what stands outside of tags, and constants; with a null character between two.
    pub literals: String,
}

/// `{% block %}`, which is run where it stands, with names of its own.
#[derive(Debug)]
pub struct Block {
    pub name: Arc<str>,
    pub body: Vec<Node>,
    pub loads: Vec<Load>,
    pub slots: usize,
}

/// The place of a variable: how many functions up, and which slot of that function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Slot {
    pub up: u32,
    pub index: u32,
}

/// Sets a slot when its scope is entered.
#[derive(Debug, Clone)]
pub enum Load {
    /// To a variable of the chat or of the environment.
    Resolve(Slot, Arc<str>),
    /// To the value of a slot of the outer scope.
    Alias(Slot, Slot),
    /// To undefined.
    Undefined(Slot),
}

#[derive(Debug)]
pub enum Node {
    Text(Arc<str>),
    Print(Expr, usize),
    If(Vec<(Expr, Vec<Node>)>, Vec<Node>, usize),
    For(Arc<For>),
    Set(Target, Expr, usize),
    SetBlock(Box<SetBlock>),
    Macro(Arc<Macro>, Slot),
    /// `{% call %}`: the macro is the `caller`.
    Call(Arc<Macro>, Expr, usize),
    /// `{% generation %}`.
    Generation(Arc<Macro>, usize),
    FilterBlock(Box<SetBlock>),
    With(Box<With>),
    /// A block, by its place.
    Block(usize),
    /// A statement that needs another template: the cause of the error.
    Refused(&'static str, usize),
    Break(usize),
    Continue(usize),
}

#[derive(Debug)]
pub struct For {
    pub target: Target,
    pub iter: Expr,
    pub test: Option<LoopTest>,
    pub body: Vec<Node>,
    pub loads: Vec<Load>,
    pub otherwise: Vec<Node>,
    pub otherwise_loads: Vec<Load>,
    /// The slot of the special variable `loop`, if it is used.
    pub loop_slot: Option<Slot>,
    pub is_recursive: bool,
    /// The number of slots of a recursive loop, which is a function.
    pub slots: usize,
    pub line: usize,
}

/// The `if` of a loop, with a target of its own.
#[derive(Debug)]
pub struct LoopTest {
    pub test: Expr,
    pub target: Target,
    pub loads: Vec<Load>,
}

/// `{% set %}` or `{% filter %}` with a body.
#[derive(Debug)]
pub struct SetBlock {
    pub target: Option<Target>,
    pub filter: Option<Expr>,
    pub body: Vec<Node>,
    pub loads: Vec<Load>,
    pub line: usize,
}

#[derive(Debug)]
pub struct With {
    pub targets: Vec<Target>,
    pub values: Vec<Expr>,
    pub body: Vec<Node>,
    pub loads: Vec<Load>,
    pub line: usize,
}

#[derive(Debug)]
pub struct Macro {
    pub name: Arc<str>,
    /// Names of the parameters and their slots.
    pub parameters: Vec<(Arc<str>, Slot)>,
    /// Default values of the last parameters.
    pub defaults: Vec<Expr>,
    pub body: Vec<Node>,
    pub loads: Vec<Load>,
    pub slots: usize,
    /// The slots of the special variables, if they are used.
    pub caller: Option<Slot>,
    pub kwargs: Option<Slot>,
    pub varargs: Option<Slot>,
    pub line: usize,
}

/// The target of an assignment.
#[derive(Debug, Clone)]
pub enum Target {
    Name(Arc<str>, Slot),
    /// An attribute of a namespace.
    Attribute(Arc<str>, Slot, Arc<str>),
    Tuple(Vec<Target>),
}

#[derive(Debug)]
pub enum Expr {
    Const(Value),
    Name(Arc<str>, Slot),
    Tuple(Vec<Expr>),
    List(Vec<Expr>),
    Dict(Vec<(Expr, Expr)>),
    Negative(Box<Expr>),
    Positive(Box<Expr>),
    Not(Box<Expr>),
    Binary(Operator, Box<(Expr, Expr)>),
    And(Box<(Expr, Expr)>),
    Or(Box<(Expr, Expr)>),
    Compare(Box<Expr>, Vec<(Comparison, Expr)>),
    Concat(Vec<Expr>),
    /// `value if test else other`: test, value, other.
    Condition(Box<(Expr, Expr, Option<Expr>)>),
    Attribute(Box<Expr>, Arc<str>),
    Item(Box<(Expr, Expr)>),
    Slice(Box<Expr>, Box<[Option<Expr>; 3]>),
    Call(Box<Call>),
    Filter(Box<Apply<Filter>>),
    Test(Box<Apply<Test>>),
    /// The text of the block that a filter is applied to.
    Body,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    NotIn,
}

#[derive(Debug)]
pub struct Call {
    pub function: Expr,
    pub arguments: Arguments,
    pub line: usize,
}

/// A filter or test and the expression that it is applied to. `function` is none if the name is unknown.
#[derive(Debug)]
pub struct Apply<F> {
    pub to: Expr,
    pub name: Arc<str>,
    pub function: Option<F>,
    pub arguments: Arguments,
    pub line: usize,
}

#[derive(Debug, Default)]
pub struct Arguments {
    pub list: Vec<Expr>,
    pub named: Vec<(Arc<str>, Expr)>,
    /// `*list`.
    pub rest: Option<Expr>,
    /// `**dict`.
    pub named_rest: Option<Expr>,
}
