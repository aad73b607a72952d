//! Runs a template: the statements, and what has a state while they run.

pub mod arguments;
mod attribute;
mod call;
mod evaluate;
pub mod iterate;
mod loops;
pub mod object;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use crate::error::{Error, Result, fault, limit};
use crate::globals;
use crate::syntax::{Expr, Load, Macro, Node, Program, SetBlock, Slot, Target, With};
use crate::value::{Missing, Of, Value, print};
use crate::{Date, Limits};
use object::Object;

/// What a template sees beside the environment.
pub struct Context<'c> {
    /// Of this rendering.
    pub given: &'c [(&'static str, Value)],
    /// Of the template.
    pub variables: &'c HashMap<Arc<str>, Value>,
    /// What `strftime_now` says.
    pub date: Option<Date>,
    pub limits: Limits,
}

/// A rendering.
pub struct Run<'c> {
    program: &'c Program,
    context: &'c Context<'c>,
    /// What is written now.
    out: String,
    /// What is written around it, outermost first.
    around: Vec<String>,
    slots: Vec<Option<Value>>,
    frames: Vec<Frame>,
    /// The frame of the function that runs.
    frame: usize,
    /// Whether a function may outlive the frame that it was made in.
    is_captured: bool,
    objects: Vec<Object>,
    /// The texts that filters of blocks are applied to.
    bodies: Vec<Value>,
    /// What the blocks see of the template's names.
    exported: HashMap<Arc<str>, Value>,
    steps: u64,
    bytes: u64,
    depth: u32,
    line: usize,
    generations: Vec<Range<usize>>,
}

/// The slots of a function that runs.
#[derive(Debug, Clone, Copy)]
struct Frame {
    base: usize,
    parent: usize,
}

/// How statements end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    On,
    Break,
    Continue,
}

/// Statements and expressions are run by recursion. Python's own limit is about as deep.
const DEEPEST: u32 = 1000;

/// The most items of a list that a template makes.
pub const MOST_ITEMS: usize = 1 << 24;

/// A text, and where `{% generation %}` was in it, in bytes.
pub struct Rendered {
    pub text: String,
    pub generations: Vec<Range<usize>>,
}

/// Renders a program.
pub fn render(program: &Program, context: &Context<'_>) -> std::result::Result<Rendered, Error> {
    let mut run = Run {
        program,
        context,
        out: String::new(),
        around: Vec::new(),
        slots: vec![None; program.slots],
        frames: vec![Frame { base: 0, parent: 0 }],
        frame: 0,
        is_captured: false,
        objects: Vec::new(),
        bodies: Vec::new(),
        exported: HashMap::new(),
        steps: context.limits.steps,
        bytes: context.limits.bytes,
        depth: 0,
        line: 0,
        generations: Vec::new(),
    };
    run.enter(&program.loads);
    match run.nodes(&program.body) {
        Ok(_) => Ok(Rendered { text: run.out, generations: run.generations }),
        Err(error) => Err(*error.at(run.line)),
    }
}

impl Run<'_> {
    /// Counts steps.
    pub fn step(&mut self, count: usize) -> Result<()> {
        match self.steps.checked_sub(count as u64) {
            Some(rest) => {
                self.steps = rest;
                Ok(())
            }
            None => limit("the template takes too many steps"),
        }
    }

    /// Counts what is made.
    pub fn charge(&mut self, bytes: usize) -> Result<()> {
        match self.bytes.checked_sub(bytes as u64) {
            Some(rest) => {
                self.bytes = rest;
                Ok(())
            }
            None => limit("the template makes too much text"),
        }
    }

    /// A text that was made.
    pub fn text(&mut self, text: impl Into<Arc<str>>) -> Result<Value> {
        let text = text.into();
        self.charge(text.len())?;
        Ok(Value::Text(text))
    }

    /// A list that was made.
    pub fn list(&mut self, items: Vec<Value>) -> Result<Value> {
        self.charge(items.len() * size_of::<Value>())?;
        Value::list_of(items)
    }

    pub fn deeper<T>(&mut self, run: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return limit("the template goes too deep");
        }
        let value = run(self);
        self.depth -= 1;
        value
    }

    pub fn object(&mut self, object: Object) -> Result<Value> {
        self.charge(128)?;
        self.objects.push(object);
        match u32::try_from(self.objects.len() - 1) {
            Ok(place) => Ok(Value::Object(place)),
            Err(_) => limit("the template makes too many objects"),
        }
    }

    pub fn object_of(&self, value: &Value) -> Option<&Object> {
        match value {
            Value::Object(place) => self.objects.get(*place as usize),
            _ => None,
        }
    }

    pub fn date(&self) -> Option<Date> {
        self.context.date
    }

    /// `str(value)`.
    pub fn str(&mut self, value: &Value) -> Result<Value> {
        match value {
            Value::Text(_) => Ok(value.clone()),
            Value::Markup(text) => Ok(Value::Text(text.clone())),
            other => {
                let text = self.printed(other)?;
                self.text(text)
            }
        }
    }

    /// `str(value)`, as a text.
    pub fn printed(&self, value: &Value) -> Result<String> {
        let mut text = String::new();
        print::write(&mut text, value, &|place, out| object::write(&self.objects, place, out, 0))?;
        Ok(text)
    }

    /// `repr(value)`.
    pub fn repr(&self, value: &Value) -> Result<String> {
        let mut text = String::new();
        print::write_repr(&mut text, value, &|place, out| {
            object::write(&self.objects, place, out, 0)
        })?;
        Ok(text)
    }

    fn place(&self, slot: Slot) -> usize {
        let mut frame = self.frame;
        for _ in 0..slot.up {
            frame = self.frames[frame].parent;
        }
        self.frames[frame].base + slot.index as usize
    }

    fn slot(&self, slot: Slot) -> Option<&Value> {
        self.slots[self.place(slot)].as_ref()
    }

    fn set_slot(&mut self, slot: Slot, value: Option<Value>) {
        let place = self.place(slot);
        self.slots[place] = value;
    }

    fn resolve(&self, name: &str) -> Option<Value> {
        if let Some(value) = self.exported.get(name) {
            return Some(value.clone());
        }
        if let Some((_, value)) = self.context.given.iter().find(|(given, _)| *given == name) {
            return Some(value.clone());
        }
        self.context.variables.get(name).cloned().or_else(|| globals::find(name))
    }

    /// Fills the slots of a scope.
    fn enter(&mut self, loads: &[Load]) {
        for load in loads {
            match load {
                Load::Resolve(slot, name) => self.set_slot(*slot, self.resolve(name)),
                Load::Alias(slot, outer) => self.set_slot(*slot, self.slot(*outer).cloned()),
                Load::Undefined(slot) => self.set_slot(*slot, None),
            }
        }
    }

    /// Runs what writes, and gives what it wrote.
    fn captured<T>(&mut self, run: impl FnOnce(&mut Self) -> Result<T>) -> Result<(String, T)> {
        let around = std::mem::take(&mut self.out);
        self.around.push(around);
        let value = run(self)?;
        let around = self.around.pop().unwrap_or_default();
        Ok((std::mem::replace(&mut self.out, around), value))
    }

    fn nodes(&mut self, nodes: &[Node]) -> Result<Flow> {
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

    fn write(&mut self, text: &str) -> Result<()> {
        self.charge(text.len())?;
        self.out.push_str(text);
        Ok(())
    }

    fn print(&mut self, value: &Value) -> Result<()> {
        if let Some(text) = value.as_text() {
            return self.write(text);
        }
        let start = self.out.len();
        let objects = &self.objects;
        print::write(&mut self.out, value, &|place, out| object::write(objects, place, out, 0))?;
        self.charge(self.out.len() - start)
    }

    fn node(&mut self, node: &Node) -> Result<Flow> {
        self.step(1)?;
        match node {
            Node::Text(text) => self.write(text)?,
            Node::Print(value, line) => {
                self.line = *line;
                let value = self.evaluate(value)?;
                self.print(&value)?;
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

    /// What is within is noted where it is in the whole text; within a macro or a block that is set,
    /// where that begins, as transformers notes it.
    fn generation(&mut self, of: &Arc<Macro>) -> Result<()> {
        let text = self.call_macro(of, self.frame, Default::default())?;
        let start = self.around.first().unwrap_or(&self.out).len();
        let length = text.as_text().map_or(0, str::len);
        self.generations.push(start..start + length);
        self.print(&text)
    }

    fn set_block(&mut self, block: &SetBlock) -> Result<Flow> {
        self.line = block.line;
        let (text, flow) = self.captured(|run| {
            run.enter(&block.loads);
            run.nodes(&block.body)
        })?;
        if flow != Flow::On {
            return Ok(flow);
        }
        let mut value = self.text(text)?;
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
        self.line = block.line;
        let (text, flow) = self.captured(|run| {
            run.enter(&block.loads);
            run.nodes(&block.body)
        })?;
        if flow != Flow::On {
            return Ok(flow);
        }
        let value = self.text(text)?;
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

    /// A block has names of its own, and sees the template's.
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

    /// Runs in new slots.
    fn in_frame<T>(
        &mut self,
        parent: usize,
        slots: usize,
        run: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let (before, base) = (self.frame, self.slots.len());
        self.charge(slots * size_of::<Value>())?;
        self.slots.resize(base + slots, None);
        self.frames.push(Frame { base, parent });
        self.frame = self.frames.len() - 1;
        let value = run(self)?;
        self.frame = before;
        if !self.is_captured {
            self.frames.pop();
            self.slots.truncate(base);
        }
        Ok(value)
    }

    /// Only namespaces have attributes that can be set.
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

    fn assign(&mut self, target: &Target, value: Value) -> Result<()> {
        match target {
            Target::Name(_, slot) => self.set_slot(*slot, Some(value)),
            Target::Attribute(_, slot, name) => {
                object::check_attribute(name)?;
                if let Some(Value::Object(place)) = self.slot(*slot).cloned() {
                    self.objects[place as usize].set(name, value);
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

    fn undefined_name(name: &Arc<str>) -> Value {
        Value::Undefined(Missing { of: Of::Scope, name: name.clone() })
    }
}
