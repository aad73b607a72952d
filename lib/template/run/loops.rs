//! `{% for %}` and its special variable.

use std::sync::Arc;

use super::iterate::Source;
use super::object::{Loop, Object};
use super::{Flow, Run};
use crate::error::{Result, fault};
use crate::syntax::{For, Slot};
use crate::value::Value;
use crate::value::compare::equal;

/// The items of a running loop.
#[derive(Debug, Clone)]
pub(super) enum LoopItems {
    Plain(Source),
    /// Of a loop that uses its special variable: its object and its slot.
    Named(u32, Slot),
}

impl Run<'_> {
    pub fn for_loop(&mut self, of: &Arc<For>) -> Result<Flow> {
        self.line = of.line;
        let over = self.evaluate(&of.iter)?;
        if of.is_recursive {
            let text = self.recursive_loop(of, self.frame, &over, 0)?;
            self.print(&text)?;
            return Ok(Flow::On);
        }
        self.run_loop(of, &over, 0, 0)
    }

    /// Runs a recursive loop, which is a function; returns its text.
    fn recursive_loop(
        &mut self,
        of: &Arc<For>,
        parent: usize,
        over: &Value,
        depth: usize,
    ) -> Result<Value> {
        let (text, _) = self.captured(|run| {
            run.in_frame(parent, of.slots, |run| run.run_loop(of, over, depth, parent))
        })?;
        Ok(text)
    }

    pub(super) fn run_loop(
        &mut self,
        of: &Arc<For>,
        over: &Value,
        depth: usize,
        parent: usize,
    ) -> Result<Flow> {
        let source = self.iter(over)?;
        // (The number of items that may become more is not looked at before it is asked for.)
        let length = match over {
            Value::Object(_) => None,
            Value::List(items) if items.offset().is_some() => None,
            over => over.length().ok().filter(|_| of.test.is_none()),
        };
        let mut items = self.begin_loop(of, source, length, depth, parent)?;
        let mut is_empty = true;
        while let Some(flow) = self.iteration(of, &mut items)? {
            is_empty = false;
            if flow == Flow::Break {
                break;
            }
        }
        self.end_loop(of, is_empty)
    }

    /// Begins a loop; its items follow by [`Run::iteration`].
    pub(super) fn begin_loop(
        &mut self,
        of: &Arc<For>,
        source: Source,
        length: Option<usize>,
        depth: usize,
        parent: usize,
    ) -> Result<LoopItems> {
        let Some(slot) = of.loop_slot else { return Ok(LoopItems::Plain(source)) };
        let state = self.object(Object::Loop(Box::new(Loop {
            of: of.clone(),
            source,
            frame: self.frame,
            index: 0,
            is_tested: false,
            length,
            after: None,
            current: None,
            before: None,
            last_changed: None,
            depth,
            parent,
        })))?;
        let Value::Object(place) = state else { return fault("a loop without a state") };
        Ok(LoopItems::Named(place, slot))
    }

    /// Runs the body of a loop for its next item; none if there is no more.
    pub(super) fn iteration(&mut self, of: &For, items: &mut LoopItems) -> Result<Option<Flow>> {
        let item = match items {
            LoopItems::Plain(source) => self.advance(of, source)?,
            LoopItems::Named(place, _) => self.next_of_loop(*place)?,
        };
        let Some(item) = item else { return Ok(None) };
        if let LoopItems::Named(place, slot) = items {
            self.set_slot(*slot, Some(Value::Object(*place)));
        }
        self.assign(&of.target, item)?;
        self.enter(&of.loads);
        self.nodes(&of.body).map(Some)
    }

    /// Ends a loop: its `else` runs if it had no item.
    pub(super) fn end_loop(&mut self, of: &For, is_empty: bool) -> Result<Flow> {
        if is_empty && !of.otherwise.is_empty() {
            self.enter(&of.otherwise_loads);
            return self.nodes(&of.otherwise);
        }
        Ok(Flow::On)
    }

    /// Returns the next item that passes the test of a loop.
    fn advance(&mut self, of: &For, source: &mut Source) -> Result<Option<Value>> {
        loop {
            self.step(1)?;
            let Some(item) = self.next(source)? else { return Ok(None) };
            let Some(test) = &of.test else { return Ok(Some(item)) };
            self.enter(&test.loads);
            self.assign(&test.target, item.clone())?;
            if self.is_true(&test.test)? {
                return Ok(Some(item));
            }
        }
    }

    fn state(&mut self, place: u32) -> Result<&mut Loop> {
        match self.object_mut(place) {
            Object::Loop(state) => Ok(state),
            _ => fault("a loop that is not one"),
        }
    }

    /// Takes the next item from the source of a loop, in the frame of the loop.
    fn pull(&mut self, place: u32) -> Result<Option<Value>> {
        let state = self.state(place)?;
        let (of, frame) = (state.of.clone(), state.frame);
        let mut source = std::mem::replace(&mut state.source, Source::Empty);
        let before = std::mem::replace(&mut self.frame, frame);
        let is_tested = self.state(place)?.is_tested;
        let item =
            if is_tested { self.next(&mut source)? } else { self.advance(&of, &mut source)? };
        self.frame = before;
        self.state(place)?.source = source;
        Ok(item)
    }

    fn next_of_loop(&mut self, place: u32) -> Result<Option<Value>> {
        let item = match self.state(place)?.after.take() {
            Some(item) => item,
            None => self.pull(place)?,
        };
        let Some(item) = item else { return Ok(None) };
        let state = self.state(place)?;
        state.index += 1;
        state.before = state.current.replace(item.clone());
        Ok(Some(item))
    }

    fn peek_of_loop(&mut self, place: u32) -> Result<Option<Value>> {
        if let Some(after) = &self.state(place)?.after {
            return Ok(after.clone());
        }
        let item = self.pull(place)?;
        self.state(place)?.after = Some(item.clone());
        Ok(item)
    }

    /// Finds the lengths of the loops in a value, which are printed with them.
    pub fn measure_loops(&mut self, value: &Value) -> Result<()> {
        match value {
            Value::Object(place) if matches!(self.object_of(value), Some(Object::Loop(_))) => {
                self.length_of_loop(*place).map(|_| ())
            }
            Value::List(items) | Value::Tuple(items) => {
                items.iter().try_for_each(|item| self.measure_loops(item))
            }
            Value::Dict(dict) => {
                dict.entries().iter().try_for_each(|(_, value)| self.measure_loops(value))
            }
            _ => Ok(()),
        }
    }

    pub fn length_of_loop(&mut self, place: u32) -> Result<usize> {
        if let Some(length) = self.state(place)?.length {
            return Ok(length);
        }
        let mut items = Vec::new();
        while let Some(item) = self.pull(place)? {
            items.push(item);
        }
        let list = Value::list_of(items)?;
        let source = self.iter(&list)?;
        let rest = list.length()?;
        let state = self.state(place)?;
        state.source = source;
        state.is_tested = true;
        let has_after = matches!(state.after, Some(Some(_)));
        let length = rest + state.index + usize::from(has_after);
        state.length = Some(length);
        Ok(length)
    }

    /// An attribute of the special variable; none if it does not have it.
    pub fn loop_attribute(&mut self, place: u32, name: &str) -> Result<Option<Value>> {
        let state = self.state(place)?;
        let index = state.index;
        Ok(Some(match name {
            "index" => Value::from(index),
            "index0" => Value::Int(index as i64 - 1),
            "first" => Value::Bool(index == 1),
            "depth" => Value::from(state.depth + 1),
            "depth0" => Value::from(state.depth),
            "length" => Value::from(self.length_of_loop(place)?),
            "revindex" => Value::Int(self.length_of_loop(place)? as i64 - index as i64 + 1),
            "revindex0" => Value::Int(self.length_of_loop(place)? as i64 - index as i64),
            "last" => Value::Bool(self.peek_of_loop(place)?.is_none()),
            "previtem" if index == 1 => Value::hint("there is no previous item"),
            "previtem" => state.before.clone().unwrap_or_default(),
            "nextitem" => {
                self.peek_of_loop(place)?.unwrap_or_else(|| Value::hint("there is no next item"))
            }
            "cycle" | "changed" => Value::Method(Arc::new((Value::Object(place), name.into()))),
            _ => return Ok(None),
        }))
    }

    pub fn cycle(&mut self, place: u32, list: Vec<Value>) -> Result<Value> {
        let index = self.state(place)?.index;
        match list.is_empty() {
            true => fault("no items for cycling given"),
            false => Ok(list[(index.max(1) - 1) % list.len()].clone()),
        }
    }

    pub fn changed(&mut self, place: u32, list: Vec<Value>) -> Result<Value> {
        let state = self.state(place)?;
        let is_same = state.last_changed.as_ref().is_some_and(|last| {
            last.len() == list.len() && last.iter().zip(&list).all(|(a, b)| equal(a, b))
        });
        if !is_same {
            state.last_changed = Some(list);
        }
        Ok(Value::Bool(!is_same))
    }

    /// `loop(items)` in a recursive loop.
    pub fn call_loop(&mut self, place: u32, over: &Value) -> Result<Value> {
        let state = self.state(place)?;
        let (of, depth, parent) = (state.of.clone(), state.depth + 1, state.parent);
        if !of.is_recursive {
            return fault("The loop must have the 'recursive' marker to be called recursively.");
        }
        self.deeper(|run| run.recursive_loop(&of, parent, over, depth))
    }
}
