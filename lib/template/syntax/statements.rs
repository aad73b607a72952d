//! Statements, as jinja2's parser reads them.

use std::sync::Arc;

use super::lexer::Token;
use super::parser::Parser;
use super::{Block, Expr, For, LoopTest, Macro, Node, SetBlock, Slot, Target, With};
use crate::error::Result;
use crate::text::is_space;
use crate::value::Value;

impl Parser {
    /// Reads statements up to one of these tags, whose name is then the next token; to the end of the template if
    /// there are none.
    pub(super) fn statements(&mut self, ends: &[&str]) -> Result<Vec<Node>> {
        self.nested(|parser| {
            let mut nodes = Vec::new();
            loop {
                let line = parser.line();
                match parser.next() {
                    Token::Data(text) => nodes.push(Node::Text(text)),
                    Token::VariableBegin => {
                        let value = parser.tuple(true, false)?;
                        match parser.next() {
                            Token::VariableEnd => nodes.push(Node::Print(value, line)),
                            _ => {
                                parser.at -= 1;
                                return parser.fail(format!(
                                    "expected token 'end of print statement', got {}",
                                    parser.shown()
                                ));
                            }
                        }
                    }
                    Token::BlockBegin => {
                        if ends.iter().any(|end| parser.is_name(end)) {
                            return Ok(nodes);
                        }
                        parser.statement(&mut nodes)?;
                        parser.expect_block_end()?;
                    }
                    Token::End if ends.is_empty() => return Ok(nodes),
                    Token::End => {
                        return parser.fail(format!(
                            "Unexpected end of template. Jinja was looking for the following tags: '{}'.",
                            ends.join("' or '")
                        ));
                    }
                    _ => return parser.fail("unexpected token"),
                }
            }
        })
    }

    /// Reads the end of a tag, and statements up to one of these tags.
    fn body(&mut self, ends: &[&str]) -> Result<Vec<Node>> {
        self.take_operator(":");
        self.expect_block_end()?;
        self.statements(ends)
    }

    /// As [`Parser::body`]; takes the name of the end tag, too.
    fn whole_body(&mut self, end: &str) -> Result<Vec<Node>> {
        let body = self.body(&[end])?;
        self.next();
        Ok(body)
    }

    fn statement(&mut self, nodes: &mut Vec<Node>) -> Result<()> {
        let line = self.line();
        let Token::Name(tag) = self.peek().clone() else { return self.fail("tag name expected") };
        self.next();
        let node = match &*tag {
            "for" => self.for_loop(line)?,
            "if" => self.condition(line)?,
            "set" => self.set(line)?,
            "print" => {
                let mut is_first = true;
                while *self.peek() != Token::BlockEnd {
                    if !is_first {
                        self.expect_operator(",")?;
                    }
                    is_first = false;
                    nodes.push(Node::Print(self.expression(true)?, line));
                }
                return Ok(());
            }
            "macro" => {
                let name = self.expect_name()?;
                let (parameters, defaults) = self.signature()?;
                let body = self.whole_body("endmacro")?;
                Node::Macro(
                    Arc::new(function(name, parameters, defaults, body, line)),
                    Slot::default(),
                )
            }
            "call" => {
                let (parameters, defaults) = match self.is_operator("(") {
                    true => self.signature()?,
                    false => (Vec::new(), Vec::new()),
                };
                let call = self.expression(true)?;
                if !matches!(call, Expr::Call(_)) {
                    return self.fail("expected call");
                }
                let body = self.whole_body("endcall")?;
                let caller = function("caller".into(), parameters, defaults, body, line);
                Node::Call(Arc::new(caller), call, line)
            }
            "generation" => {
                let body = self.body(&["endgeneration"])?;
                self.next();
                self.program.has_generation = true;
                let caller = function("caller".into(), Vec::new(), Vec::new(), body, line);
                Node::Generation(Arc::new(caller), line)
            }
            "filter" => {
                let filter = self.filters(Expr::Body, true)?;
                let body = self.whole_body("endfilter")?;
                let filter = Some(filter);
                let block = SetBlock { target: None, filter, body, loads: Vec::new(), line };
                Node::FilterBlock(Box::new(block))
            }
            "with" => self.with(line)?,
            "block" => self.block()?,
            "break" => Node::Break(line),
            "continue" => Node::Continue(line),
            "autoescape" => {
                if !matches!(self.expression(true)?, Expr::Const(Value::Bool(false))) {
                    return self.fail("autoescape is not supported");
                }
                let body = self.whole_body("endautoescape")?;
                let (targets, values) = (Vec::new(), Vec::new());
                Node::With(Box::new(With { targets, values, body, loads: Vec::new(), line }))
            }
            "include" | "extends" => {
                self.expression(true)?;
                let is_pair = |parser: &Self, first: &[&str], next: &str| {
                    first.iter().any(|first| parser.is_name(first))
                        && matches!(parser.look(), Token::Name(name) if &**name == next)
                };
                for (first, next) in
                    [(&["ignore"][..], "missing"), (&["with", "without"], "context")]
                {
                    if &*tag == "include" && is_pair(self, first, next) {
                        self.next();
                        self.next();
                    }
                }
                Node::Refused("no loader for this environment specified", line)
            }
            "import" | "from" => {
                return self.fail("no loader for this environment specified: import is refused");
            }
            _ => return self.fail(format!("Encountered unknown tag '{tag}'.")),
        };
        nodes.push(node);
        Ok(())
    }

    fn for_loop(&mut self, line: usize) -> Result<Node> {
        let target = self.target(false)?;
        self.expect_word("in")?;
        let iter = self.tuple(false, false)?;
        let test = match self.take_name("if") {
            true => Some(LoopTest {
                test: self.expression(true)?,
                target: target.clone(),
                loads: Vec::new(),
            }),
            false => None,
        };
        let is_recursive = self.take_name("recursive");
        let body = self.body(&["endfor", "else"])?;
        let otherwise = match self.take_name("else") {
            true => self.whole_body("endfor")?,
            false => {
                self.next();
                Vec::new()
            }
        };
        Ok(Node::For(Arc::new(For {
            target,
            iter,
            test,
            body,
            loads: Vec::new(),
            otherwise,
            otherwise_loads: Vec::new(),
            loop_slot: None,
            is_recursive,
            slots: 0,
            line,
        })))
    }

    fn condition(&mut self, line: usize) -> Result<Node> {
        let mut branches = Vec::new();
        loop {
            let test = self.tuple(false, false)?;
            let body = self.body(&["elif", "else", "endif"])?;
            branches.push((test, body));
            if self.take_name("elif") {
                continue;
            }
            let otherwise = match self.take_name("else") {
                true => self.whole_body("endif")?,
                false => {
                    self.next();
                    Vec::new()
                }
            };
            return Ok(Node::If(branches, otherwise, line));
        }
    }

    fn set(&mut self, line: usize) -> Result<Node> {
        let target = self.target(true)?;
        if self.take_operator("=") {
            return Ok(Node::Set(target, self.tuple(true, false)?, line));
        }
        let filter = match self.is_operator("|") {
            true => Some(self.filters(Expr::Body, false)?),
            false => None,
        };
        let body = self.whole_body("endset")?;
        let block = SetBlock { target: Some(target), filter, body, loads: Vec::new(), line };
        Ok(Node::SetBlock(Box::new(block)))
    }

    fn with(&mut self, line: usize) -> Result<Node> {
        let (mut targets, mut values) = (Vec::new(), Vec::new());
        while *self.peek() != Token::BlockEnd {
            if !targets.is_empty() {
                self.expect_operator(",")?;
            }
            targets.push(self.target(false)?);
            self.expect_operator("=")?;
            values.push(self.expression(true)?);
        }
        let body = self.whole_body("endwith")?;
        Ok(Node::With(Box::new(With { targets, values, body, loads: Vec::new(), line })))
    }

    fn block(&mut self) -> Result<Node> {
        let name = self.expect_name()?;
        if self.take_name("scoped") {
            return self.fail("scoped blocks are not supported");
        }
        let is_required = self.take_name("required");
        let line = self.line();
        let body = self.whole_body("endblock")?;
        self.take_name(&name);
        if self.program.blocks.iter().any(|block| block.name == name) {
            return self.fail(format!("block '{name}' defined twice"));
        }
        if is_required {
            let is_empty =
                |node: &Node| matches!(node, Node::Text(text) if text.chars().all(is_space));
            if !body.iter().all(is_empty) {
                return self.fail("Required blocks can only contain comments or whitespace");
            }
            return Ok(Node::Refused("a required block is not found", line));
        }
        self.program.blocks.push(Block { name, body, loads: Vec::new(), slots: 0 });
        Ok(Node::Block(self.program.blocks.len() - 1))
    }

    fn signature(&mut self) -> Result<(Vec<Arc<str>>, Vec<Expr>)> {
        let (mut parameters, mut defaults) = (Vec::new(), Vec::new());
        self.expect_operator("(")?;
        while !self.is_operator(")") {
            if !parameters.is_empty() {
                self.expect_operator(",")?;
            }
            let name = self.expect_name()?;
            if is_constant(&name) {
                return self.fail("can't assign to 'const'");
            }
            parameters.push(name);
            if self.take_operator("=") {
                defaults.push(self.expression(true)?);
            } else if !defaults.is_empty() {
                return self.fail("non-default argument follows default argument");
            }
        }
        self.next();
        Ok((parameters, defaults))
    }

    /// Reads the target of an assignment.
    fn target(&mut self, with_namespace: bool) -> Result<Target> {
        let mut targets = Vec::new();
        let mut is_tuple = false;
        loop {
            if !targets.is_empty() {
                self.expect_operator(",")?;
            }
            if self.is_tuple_end() {
                break;
            }
            targets.push(self.one_target(with_namespace)?);
            match self.is_operator(",") {
                true => is_tuple = true,
                false => break,
            }
        }
        match targets.pop() {
            Some(target) if !is_tuple => Ok(target),
            Some(target) => {
                targets.push(target);
                Ok(Target::Tuple(targets))
            }
            None => self.fail(format!("Expected an expression, got {}", self.shown())),
        }
    }

    fn one_target(&mut self, with_namespace: bool) -> Result<Target> {
        if self.take_operator("(") {
            let target = self.nested(|parser| parser.target(false))?;
            self.expect_operator(")")?;
            return Ok(target);
        }
        let name = match self.peek() {
            Token::Name(name) if !is_constant(name) => name.clone(),
            _ => return self.fail(format!("can't assign to {}", self.shown())),
        };
        self.next();
        if with_namespace && self.take_operator(".") {
            let attribute = self.expect_name()?;
            return Ok(Target::Attribute(name, Slot::default(), attribute));
        }
        Ok(Target::Name(name, Slot::default()))
    }
}

fn is_constant(name: &str) -> bool {
    matches!(name, "true" | "false" | "none" | "True" | "False" | "None")
}

fn function(
    name: Arc<str>,
    parameters: Vec<Arc<str>>,
    defaults: Vec<Expr>,
    body: Vec<Node>,
    line: usize,
) -> Macro {
    let parameters = parameters.into_iter().map(|name| (name, Slot::default())).collect();
    Macro {
        name,
        parameters,
        defaults,
        body,
        loads: Vec::new(),
        slots: 0,
        caller: None,
        kwargs: None,
        varargs: None,
        line,
    }
}
