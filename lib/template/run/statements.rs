//! Statements.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::object::{self, Object};
use super::{Flow, Run};
use crate::error::{Result, fault};
use crate::syntax::{Expr, Macro, Node, SetBlock, Slot, Target, With};
use crate::value::{Value, print};

impl Run<'_> {
    pub(super) fn nodes(&mut self, nodes: &[Node]) -> Result<Flow> {
        self.deeper(|run| {
            for node in nodes {
                match run.node(node)? {
                    Flow::On => {}
                    flow => return Ok(flow),
                }
            }
            Ok(Flow::On)
        })
    }

    pub(super) fn write(&mut self, text: &str) -> Result<()> {
        self.charge(text.len())?;
        self.out.push_str(text);
        Ok(())
    }

    pub(super) fn print(&mut self, value: &Value) -> Result<()> {
        if let Some(text) = value.as_text() {
            self.note_printed(text);
            return self.write(text);
        }
        self.spoil(value);
        self.measure_loops(value)?;
        let start = self.out.len();
        let objects = &self.objects;
        print::write(&mut self.out, value, &|place, out| object::write(objects, place, out, 0))?;
        self.charge(self.out.len() - start)
    }

    pub(super) fn node(&mut self, node: &Node) -> Result<Flow> {
        self.step(1)?;
        match node {
            Node::Text(text) => self.write(text)?,
            Node::Print(value, line) => {
                self.line = *line;
                self.print_expression(value)?;
            }
            Node::If(branches, otherwise, line) => {
                self.line = *line;
                for (test, body) in branches {
                    if self.is_true(test)? {
                        return self.nodes(body);
                    }
                }
                return self.nodes(otherwise);
            }
            Node::For(of) => return self.for_loop(of),
            Node::Set(target, value, line) => {
                self.line = *line;
                self.check_target(target)?;
                let value = self.evaluate(value)?;
                self.assign(target, value)?;
            }
            Node::SetBlock(block) => return self.set_block(block),
            Node::FilterBlock(block) => return self.filter_block(block),
            Node::Macro(of, slot) => {
                let value = self.macro_value(of)?;
                self.set_slot(*slot, Some(value));
            }
            Node::Call(of, call, line) => {
                self.line = *line;
                let caller = self.macro_value(of)?;
                let value = self.call_with(call, Some(caller))?;
                self.print(&value)?;
            }
            Node::Generation(of, line) => {
                self.line = *line;
                self.generation(of)?;
            }
            Node::With(with) => return self.with(with),
            Node::Block(place) => return self.block(*place),
            Node::Refused(cause, line) => {
                self.line = *line;
                return fault(*cause);
            }
            Node::Break(_) => return Ok(Flow::Break),
            Node::Continue(_) => return Ok(Flow::Continue),
        }
        Ok(Flow::On)
    }

    fn macro_value(&mut self, of: &Arc<Macro>) -> Result<Value> {
        self.is_captured |= self.frame != 0;
        self.object(Object::Macro { of: of.clone(), frame: self.frame })
    }

    /// Notes the range of a `{% generation %}` in the whole text. In a macro or `{% set %}` block, the range begins
    /// where that begins, as in transformers.
    fn generation(&mut self, of: &Arc<Macro>) -> Result<()> {
        let text = self.call_macro(of, self.frame, Default::default())?;
        let start = self.written().len();
        let length = text.as_text().map_or(0, str::len);
        self.generations.push(start..start + length);
        self.print(&text)
    }

    /// Runs the body of a block; returns its text, or how the body ended early.
    fn body(&mut self, block: &SetBlock) -> Result<ControlFlow<Flow, Value>> {
        self.line = block.line;
        let (text, flow) = self.captured(|run| {
            run.enter(&block.loads);
            run.nodes(&block.body)
        })?;
        match flow {
            Flow::On => Ok(ControlFlow::Continue(text)),
            other => Ok(ControlFlow::Break(other)),
        }
    }

    fn set_block(&mut self, block: &SetBlock) -> Result<Flow> {
        let mut value = match self.body(block)? {
            ControlFlow::Continue(value) => value,
            ControlFlow::Break(flow) => return Ok(flow),
        };
        if let Some(filter) = &block.filter {
            value = self.filtered(filter, value)?;
        }
        if let Some(target) = &block.target {
            self.check_target(target)?;
            self.assign(target, value)?;
        }
        Ok(Flow::On)
    }

    fn filter_block(&mut self, block: &SetBlock) -> Result<Flow> {
        let value = match self.body(block)? {
            ControlFlow::Continue(value) => value,
            ControlFlow::Break(flow) => return Ok(flow),
        };
        if let Some(filter) = &block.filter {
            let value = self.filtered(filter, value)?;
            self.print(&value)?;
        }
        Ok(Flow::On)
    }

    fn filtered(&mut self, filter: &Expr, body: Value) -> Result<Value> {
        self.bodies.push(body);
        let value = self.evaluate(filter);
        self.bodies.pop();
        value
    }

    fn with(&mut self, with: &With) -> Result<Flow> {
        self.line = with.line;
        self.enter(&with.loads);
        for (target, value) in with.targets.iter().zip(&with.values) {
            let value = self.evaluate(value)?;
            self.assign(target, value)?;
        }
        self.nodes(&with.body)
    }

    /// Runs a block, which has names of its own and sees the template's.
    fn block(&mut self, place: usize) -> Result<Flow> {
        let block = &self.program.blocks[place];
        let exports = self.program.exports.iter();
        let root = |slot: &Slot| self.slots.get(slot.index as usize).cloned().flatten();
        let exported = exports.filter_map(|(name, slot)| Some((name.clone(), root(slot)?)));
        let exported = exported.collect();
        let around = std::mem::replace(&mut self.exported, exported);
        let flow = self.in_frame(0, block.slots, |run| {
            run.enter(&block.loads);
            run.nodes(&block.body)
        })?;
        self.exported = around;
        Ok(flow)
    }

    /// Checks that an attribute is set of a namespace only.
    fn check_target(&self, target: &Target) -> Result<()> {
        match target {
            Target::Name(..) => Ok(()),
            Target::Attribute(_, slot, _) => match self.slot(*slot) {
                Some(Value::Object(place))
                    if matches!(self.objects[*place as usize], Object::Namespace(_)) =>
                {
                    Ok(())
                }
                _ => fault("cannot assign attribute on non-namespace object"),
            },
            Target::Tuple(targets) => {
                targets.iter().try_for_each(|target| self.check_target(target))
            }
        }
    }

    pub(super) fn assign(&mut self, target: &Target, value: Value) -> Result<()> {
        match target {
            Target::Name(_, slot) => self.set_slot(*slot, Some(value)),
            Target::Attribute(_, slot, name) => {
                object::check_attribute(name)?;
                if let Some(Value::Object(place)) = self.slot(*slot).cloned() {
                    self.step(self.objects[place as usize].size() / 16)?;
                    self.object_mut(place).set(name, value);
                    if let Some(stored) = &mut self.stored {
                        stored.push((*slot, name.clone()));
                    }
                }
            }
            Target::Tuple(targets) => {
                let mut source = self.iter(&value)?;
                let mut values = Vec::with_capacity(targets.len());
                while let Some(item) = self.next(&mut source)? {
                    if values.len() == targets.len() {
                        return fault(format!(
                            "too many values to unpack (expected {})",
                            targets.len()
                        ));
                    }
                    values.push(item);
                }
                if values.len() < targets.len() {
                    return fault(format!(
                        "not enough values to unpack (expected {}, got {})",
                        targets.len(),
                        values.len()
                    ));
                }
                for (target, value) in targets.iter().zip(values) {
                    self.assign(target, value)?;
                }
            }
        }
        Ok(())
    }
}
