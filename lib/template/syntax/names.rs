//! Gives each name of a template its slot, and refuses what jinja2's compiler refuses.

use std::sync::Arc;

use super::symbols::{Symbols, walk};
use super::{Arguments, Expr, For, Macro, Node, Program, SetBlock, Target, With};
use crate::error::{Error, Result};

/// Fills all slots and loads of a program.
pub fn find(program: &mut Program) -> Result<()> {
    let mut symbols = Symbols::of_function(None);
    symbols.visit_all(&program.body);
    program.loads = symbols.loads();
    Scope { symbols: &symbols, is_soft: false, is_loop: false }.nodes(&mut program.body)?;
    program.exports = symbols.stored();
    program.slots = symbols.count();
    for block in &mut program.blocks {
        let mut symbols = Symbols::of_function(None);
        symbols.visit_all(&block.body);
        block.loads = symbols.loads();
        Scope { symbols: &symbols, is_soft: false, is_loop: false }.nodes(&mut block.body)?;
        block.slots = symbols.count();
    }
    Ok(())
}

/// The scope in which names are looked up.
#[derive(Clone, Copy)]
struct Scope<'s, 'p> {
    symbols: &'s Symbols<'p>,
    /// Whether an unknown filter is an error only when it runs.
    is_soft: bool,
    /// Whether Python accepts a `break` here.
    is_loop: bool,
}

impl Scope<'_, '_> {
    fn nodes(self, nodes: &mut [Node]) -> Result<()> {
        nodes.iter_mut().try_for_each(|node| self.node(node))
    }

    fn node(self, node: &mut Node) -> Result<()> {
        match node {
            Node::Text(_) | Node::Block(_) | Node::Refused(..) => Ok(()),
            Node::Break(line) | Node::Continue(line) if !self.is_loop => {
                Err(syntax(*line, "break or continue outside of a loop"))
            }
            Node::Break(_) | Node::Continue(_) => Ok(()),
            Node::Print(value, _) => self.expression(value),
            Node::If(branches, otherwise, _) => {
                let soft = Scope { is_soft: true, ..self };
                for (test, body) in branches {
                    soft.expression(test)?;
                    soft.nodes(body)?;
                }
                soft.nodes(otherwise)
            }
            Node::For(of) => match Arc::get_mut(of) {
                Some(of) => self.for_loop(of),
                None => Err(syntax(0, "a loop that is shared")),
            },
            Node::Set(target, value, _) => {
                self.target(target);
                self.expression(value)
            }
            Node::SetBlock(block) => {
                if let Some(target) = &mut block.target {
                    self.target(target);
                }
                self.block(block, false)
            }
            Node::FilterBlock(block) => self.block(block, true),
            Node::Macro(of, slot) => {
                *slot = self.symbols.slot(&of.name);
                self.function(of)
            }
            Node::Call(of, call, _) => {
                self.function(of)?;
                self.expression(call)
            }
            Node::Generation(of, _) => self.function(of),
            Node::With(with) => self.with(with),
        }
    }

    fn for_loop(self, of: &mut For) -> Result<()> {
        let loop_name: Arc<str> = "loop".into();
        if names_in(&of.target).iter().any(|name| **name == *"loop") || stores_loop(&of.body) {
            let cause = "Can't assign to special loop variable in for-loop target";
            return Err(syntax(of.line, cause));
        }
        let new = |parent| match of.is_recursive {
            true => Symbols::of_function(Some(parent)),
            false => Symbols::within(parent),
        };
        let mut symbols = new(self.symbols);
        let is_extended = of.is_recursive || loads_name(&of.body, "loop") == Some(true);
        if is_extended {
            symbols.parameter(&loop_name);
        }
        symbols.parameters(&of.target);
        symbols.visit_all(&of.body);
        of.loads = symbols.loads();
        if is_extended {
            of.loop_slot = Some(symbols.slot("loop"));
        }
        self.expression(&mut of.iter)?;
        let scope = Scope { symbols: &symbols, is_soft: false, is_loop: true };
        scope.target(&mut of.target);
        scope.nodes(&mut of.body)?;
        // The test and the `else` are scopes of the same function as the body.
        if let Some(test) = &mut of.test {
            let mut symbols = symbols.beside();
            symbols.parameters(&test.target);
            symbols.expression(&test.test);
            test.loads = symbols.loads();
            let scope = Scope { symbols: &symbols, is_soft: false, is_loop: false };
            scope.target(&mut test.target);
            scope.expression(&mut test.test)?;
        }
        let mut others = symbols.beside();
        others.visit_all(&of.otherwise);
        of.otherwise_loads = others.loads();
        let is_loop = self.is_loop && !of.is_recursive;
        let scope = Scope { symbols: &others, is_soft: false, is_loop };
        scope.nodes(&mut of.otherwise)?;
        of.slots = symbols.count();
        Ok(())
    }

    fn block(self, block: &mut SetBlock, filter_is_inside: bool) -> Result<()> {
        let mut symbols = Symbols::within(self.symbols);
        if filter_is_inside && let Some(filter) = &block.filter {
            symbols.expression(filter);
        }
        symbols.visit_all(&block.body);
        if !filter_is_inside && let Some(filter) = &block.filter {
            symbols.expression(filter);
        }
        block.loads = symbols.loads();
        let scope = Scope { symbols: &symbols, is_soft: false, ..self };
        scope.nodes(&mut block.body)?;
        match &mut block.filter {
            Some(filter) => scope.expression(filter),
            None => Ok(()),
        }
    }

    fn with(self, with: &mut With) -> Result<()> {
        let mut symbols = Symbols::within(self.symbols);
        with.targets.iter().for_each(|target| symbols.parameters(target));
        symbols.visit_all(&with.body);
        with.loads = symbols.loads();
        with.values.iter_mut().try_for_each(|value| self.expression(value))?;
        let scope = Scope { symbols: &symbols, is_soft: false, ..self };
        with.targets.iter_mut().for_each(|target| scope.target(target));
        scope.nodes(&mut with.body)
    }

    fn function(self, of: &mut Arc<Macro>) -> Result<()> {
        let line = of.line;
        let Some(of) = Arc::get_mut(of) else { return Err(syntax(line, "a macro that is shared")) };
        let mut symbols = Symbols::of_function(Some(self.symbols));
        of.parameters.iter().for_each(|(name, _)| symbols.parameter(name));
        of.defaults.iter().for_each(|value| symbols.expression(value));
        let has = |name: &str| of.parameters.iter().any(|(other, _)| **other == *name);
        let mut special = |name: &str, slot: &mut Option<super::Slot>| {
            if !has(name) && loads_name(&of.body, name) == Some(true) {
                symbols.parameter(&name.into());
                *slot = Some(symbols.slot(name));
            }
        };
        if has("caller")
            && loads_name(&of.body, "caller") == Some(true)
            && of.parameters.iter().position(|(name, _)| **name == *"caller")
                < Some(of.parameters.len() - of.defaults.len())
        {
            let cause = "When defining macros or call blocks the special \"caller\" argument must be omitted or be given a default.";
            return Err(syntax(line, cause));
        }
        special("caller", &mut of.caller);
        special("kwargs", &mut of.kwargs);
        special("varargs", &mut of.varargs);
        symbols.visit_all(&of.body);
        of.loads = symbols.loads();
        for (name, slot) in &mut of.parameters {
            *slot = symbols.slot(name);
        }
        let scope = Scope { symbols: &symbols, is_soft: false, is_loop: false };
        of.defaults.iter_mut().try_for_each(|value| scope.expression(value))?;
        scope.nodes(&mut of.body)?;
        of.slots = symbols.count();
        Ok(())
    }

    fn target(self, target: &mut Target) {
        match target {
            Target::Name(name, slot) | Target::Attribute(name, slot, _) => {
                *slot = self.symbols.slot(name);
            }
            Target::Tuple(targets) => targets.iter_mut().for_each(|target| self.target(target)),
        }
    }

    fn expression(self, expression: &mut Expr) -> Result<()> {
        match expression {
            Expr::Const(_) | Expr::Body => Ok(()),
            Expr::Name(name, slot) => {
                *slot = self.symbols.slot(name);
                Ok(())
            }
            Expr::Tuple(items) | Expr::List(items) | Expr::Concat(items) => {
                items.iter_mut().try_for_each(|item| self.expression(item))
            }
            Expr::Dict(items) => items.iter_mut().try_for_each(|(key, value)| {
                self.expression(key)?;
                self.expression(value)
            }),
            Expr::Negative(of) | Expr::Positive(of) | Expr::Not(of) | Expr::Attribute(of, _) => {
                self.expression(of)
            }
            Expr::Binary(_, pair) | Expr::And(pair) | Expr::Or(pair) | Expr::Item(pair) => {
                self.expression(&mut pair.0)?;
                self.expression(&mut pair.1)
            }
            Expr::Compare(first, rest) => {
                self.expression(first)?;
                rest.iter_mut().try_for_each(|(_, item)| self.expression(item))
            }
            Expr::Condition(parts) => {
                let soft = Scope { is_soft: true, ..self };
                soft.expression(&mut parts.0)?;
                soft.expression(&mut parts.1)?;
                parts.2.iter_mut().try_for_each(|part| soft.expression(part))
            }
            Expr::Slice(of, parts) => {
                self.expression(of)?;
                parts.iter_mut().flatten().try_for_each(|part| self.expression(part))
            }
            Expr::Call(call) => {
                self.expression(&mut call.function)?;
                self.arguments(&mut call.arguments)
            }
            Expr::Filter(apply) => {
                if apply.function.is_none() && !self.is_soft {
                    return Err(syntax(apply.line, format!("No filter named '{}'.", apply.name)));
                }
                self.expression(&mut apply.to)?;
                self.arguments(&mut apply.arguments)
            }
            Expr::Test(apply) => {
                if apply.function.is_none() && !self.is_soft {
                    return Err(syntax(apply.line, format!("No test named '{}'.", apply.name)));
                }
                self.expression(&mut apply.to)?;
                self.arguments(&mut apply.arguments)
            }
        }
    }

    fn arguments(self, arguments: &mut Arguments) -> Result<()> {
        arguments.list.iter_mut().try_for_each(|value| self.expression(value))?;
        arguments.named.iter_mut().try_for_each(|(_, value)| self.expression(value))?;
        arguments.rest.iter_mut().try_for_each(|value| self.expression(value))?;
        arguments.named_rest.iter_mut().try_for_each(|value| self.expression(value))
    }
}

fn syntax(line: usize, cause: impl Into<String>) -> Box<Error> {
    Box::new(Error::Syntax { line, cause: cause.into() })
}

fn names_in(target: &Target) -> Vec<Arc<str>> {
    match target {
        Target::Name(name, _) => vec![name.clone()],
        Target::Attribute(..) => Vec::new(),
        Target::Tuple(targets) => targets.iter().flat_map(names_in).collect(),
    }
}

/// Whether a body assigns to `loop`, at any depth.
fn stores_loop(nodes: &[Node]) -> bool {
    let is_loop = |target: &Target| names_in(target).iter().any(|name| **name == *"loop");
    nodes.iter().any(|node| match node {
        Node::Set(target, ..) => is_loop(target),
        Node::SetBlock(block) => {
            block.target.as_ref().is_some_and(is_loop) || stores_loop(&block.body)
        }
        Node::FilterBlock(block) => stores_loop(&block.body),
        Node::If(branches, otherwise, _) => {
            branches.iter().any(|(_, body)| stores_loop(body)) || stores_loop(otherwise)
        }
        Node::For(of) => is_loop(&of.target) || stores_loop(&of.body) || stores_loop(&of.otherwise),
        Node::Macro(of, _) | Node::Call(of, ..) | Node::Generation(of, _) => stores_loop(&of.body),
        Node::With(with) => stores_loop(&with.body),
        _ => false,
    })
}

/// Whether nodes load a name before they store it, in the order of the source and in all scopes, as `find_undeclared`
/// of jinja2 does. `None` if the name does not occur.
fn loads_name(nodes: &[Node], name: &str) -> Option<bool> {
    nodes.iter().find_map(|node| loads_name_in(node, name))
}

fn loads_name_in(node: &Node, name: &str) -> Option<bool> {
    let load = |expression: &Expr| {
        let mut found = None;
        walk(expression, &mut |other| {
            if **other == *name {
                found = Some(true);
            }
        });
        found
    };
    let store = |target: &Target| match target {
        Target::Attribute(other, ..) if **other == *name => None,
        target => names_in(target).iter().any(|other| **other == *name).then_some(false),
    };
    let function = |of: &Macro| {
        let parameter = of.parameters.iter().any(|(other, _)| **other == *name).then_some(false);
        parameter
            .or_else(|| of.defaults.iter().find_map(load))
            .or_else(|| loads_name(&of.body, name))
    };
    match node {
        Node::Text(_) | Node::Block(_) | Node::Refused(..) | Node::Break(_) | Node::Continue(_) => {
            None
        }
        Node::Print(value, _) => load(value),
        Node::If(branches, otherwise, _) => branches
            .iter()
            .find_map(|(test, body)| load(test).or_else(|| loads_name(body, name)))
            .or_else(|| loads_name(otherwise, name)),
        Node::For(of) => store(&of.target)
            .or_else(|| load(&of.iter))
            .or_else(|| loads_name(&of.body, name))
            .or_else(|| loads_name(&of.otherwise, name))
            .or_else(|| load(&of.test.as_ref()?.test)),
        Node::Set(target, value, _) => store(target).or_else(|| load(value)),
        Node::SetBlock(block) | Node::FilterBlock(block) => block
            .target
            .as_ref()
            .and_then(store)
            .or_else(|| block.filter.as_ref().and_then(load).filter(|_| block.target.is_some()))
            .or_else(|| loads_name(&block.body, name))
            .or_else(|| block.filter.as_ref().and_then(load)),
        Node::Macro(of, _) | Node::Generation(of, _) => function(of),
        Node::Call(of, call, _) => load(call).or_else(|| function(of)),
        Node::With(with) => with
            .targets
            .iter()
            .find_map(store)
            .or_else(|| with.values.iter().find_map(load))
            .or_else(|| loads_name(&with.body, name)),
    }
}
