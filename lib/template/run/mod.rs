//! Runs a template: its statements, and the objects whose state they change.

pub mod arguments;
mod attribute;
mod backward;
mod call;
mod evaluate;
pub mod iterate;
mod loops;
pub mod object;
mod pairs;
mod prefix_texts;
mod prefixes;
mod printed;
mod statements;

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::sync::Arc;

use foldhash::HashMap;

use crate::error::{Error, Result, limit};
use crate::globals;
use crate::syntax::{For, Load, Program, Slot};
use crate::value::{MissingFrom, MissingValue, Value, print};
use crate::{Date, Limits, Rendering};
use backward::Scan;
use object::Object;
use printed::{MadeText, SpoiledTexts};

pub use prefix_texts::{Parts, Prefix, Prefixes};
pub use prefixes::render_prefixes;
pub use printed::PrintedText;

/// The variable that says whether a generation prompt follows the chat.
pub const PROMPT: &str = "add_generation_prompt";

/// The inputs of a rendering.
pub struct Context<'c> {
    /// Variables of the chat.
    pub given: &'c [(&'static str, Value)],
    /// The value of [`PROMPT`].
    pub has_prompt: bool,
    /// Variables of the template.
    pub variables: &'c HashMap<Arc<str>, Value>,
    /// The day of `strftime_now`.
    pub date: Option<Date>,
    pub limits: Limits,
    /// Where the texts are kept whose places are noted, in order.
    pub texts: &'c [usize],
}

/// A rendering.
pub struct Run<'c> {
    program: &'c Program,
    context: &'c Context<'c>,
    has_prompt: bool,
    /// The slot of [`PROMPT`], if the template itself names it.
    prompt_slot: Option<usize>,
    /// Whether [`PROMPT`] was read.
    prompt_seen: Cell<bool>,
    /// The text that is being written.
    out: String,
    /// The unfinished texts around `out`, outermost first, and how many texts were printed in them.
    around: Vec<(String, usize)>,
    slots: Vec<Option<Value>>,
    frames: Vec<Frame>,
    /// The frame of the running function.
    frame: usize,
    /// Whether a macro may outlive the frame that it was made in.
    is_captured: bool,
    objects: Vec<Object>,
    /// Objects as they were at the last mark.
    journal: Vec<(usize, Object)>,
    /// How many objects there were at the last mark.
    journaled: usize,
    /// What is known of scans from the last message to the first.
    scans: HashMap<*const For, Option<Scan>>,
    /// The attributes that were set, while somebody asks for them.
    stored: Option<Vec<(Slot, Arc<str>)>>,
    /// The texts that filters of blocks are applied to.
    bodies: Vec<Value>,
    /// The template's names, as its blocks see them.
    exported: HashMap<Arc<str>, Value>,
    steps: u64,
    bytes: u64,
    depth: u32,
    line: usize,
    generations: Vec<Range<usize>>,
    /// Where texts of the context were printed, in `out` and in the texts around it.
    printed: Vec<PrintedText>,
    /// Texts that were made of texts of the context.
    made: HashMap<usize, MadeText>,
    spoiled: RefCell<SpoiledTexts>,
}

/// The slots of a running function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

/// The bytes for which a text has room at first.
const FIRST_ROOM: usize = 4096;

/// Maximum depth: statements and expressions run by recursion. Python's own limit is about the same.
const DEEPEST: u32 = 1000;

/// Maximum number of items of a list that a template makes.
pub const MOST_ITEMS: usize = 1 << 24;

/// Renders a program.
pub fn render(program: &Program, context: &Context<'_>) -> std::result::Result<Rendering, Error> {
    let mut run = Run::new(program, context);
    match run.nodes(&program.body) {
        Ok(_) => Ok(Rendering { text: run.out, generations: run.generations }),
        Err(error) => Err(*error.at(run.line)),
    }
}

impl<'c> Run<'c> {
    /// A rendering that has not begun.
    fn new(program: &'c Program, context: &'c Context<'c>) -> Run<'c> {
        let prompt_slot = program.loads.iter().find_map(|load| match load {
            Load::Resolve(slot, name) if **name == *PROMPT => Some(slot.index as usize),
            _ => None,
        });
        let mut run = Run {
            program,
            context,
            has_prompt: context.has_prompt,
            prompt_slot,
            prompt_seen: Cell::new(false),
            // (As it grows, it is copied: a fortieth of the time of a chat.)
            out: String::with_capacity(FIRST_ROOM),
            around: Vec::new(),
            slots: vec![None; program.slots],
            frames: vec![Frame { base: 0, parent: 0 }],
            frame: 0,
            is_captured: false,
            objects: Vec::new(),
            journal: Vec::new(),
            journaled: 0,
            scans: HashMap::default(),
            stored: None,
            bodies: Vec::new(),
            exported: HashMap::default(),
            steps: context.limits.steps,
            bytes: context.limits.bytes,
            depth: 0,
            line: 0,
            generations: Vec::new(),
            printed: Vec::new(),
            made: HashMap::default(),
            spoiled: RefCell::default(),
        };
        run.enter(&program.loads);
        run
    }
}

impl Run<'_> {
    /// Counts steps; an error above the limit.
    pub fn step(&mut self, count: usize) -> Result<()> {
        match self.steps.checked_sub(count as u64) {
            Some(rest) => {
                self.steps = rest;
                Ok(())
            }
            None => limit("the template takes too many steps"),
        }
    }

    /// Counts bytes that are made; an error above the limit.
    pub fn charge(&mut self, bytes: usize) -> Result<()> {
        match self.bytes.checked_sub(bytes as u64) {
            Some(rest) => {
                self.bytes = rest;
                Ok(())
            }
            None => limit("the template makes too much text"),
        }
    }

    /// Counts the steps of looking through a text.
    pub fn look_through(&mut self, text: &str) -> Result<()> {
        self.step(text.len() / 64)
    }

    /// Makes a text, and counts its bytes.
    pub fn text(&mut self, text: impl Into<Arc<str>>) -> Result<Value> {
        let text = text.into();
        self.charge(text.len())?;
        Ok(Value::Text(text))
    }

    /// Makes a list, and counts its bytes.
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

    /// An object that is about to change.
    pub fn object_mut(&mut self, place: u32) -> &mut Object {
        let place = place as usize;
        if place < self.journaled && !self.journal.iter().any(|(other, _)| *other == place) {
            self.journal.push((place, self.objects[place].clone()));
        }
        &mut self.objects[place]
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

    /// `str(value)` as a string of Rust.
    pub fn printed(&mut self, value: &Value) -> Result<String> {
        self.spoil(value);
        self.measure_loops(value)?;
        let mut text = String::new();
        print::write(&mut text, value, &|place, out| object::write(&self.objects, place, out, 0))?;
        Ok(text)
    }

    /// `repr(value)`.
    pub fn repr(&mut self, value: &Value) -> Result<String> {
        self.spoil(value);
        self.measure_loops(value)?;
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
        let place = self.place(slot);
        if Some(place) == self.prompt_slot {
            self.prompt_seen.set(true);
        }
        self.slots[place].as_ref()
    }

    fn set_slot(&mut self, slot: Slot, value: Option<Value>) {
        let place = self.place(slot);
        self.slots[place] = value;
    }

    fn resolve(&self, name: &str) -> Option<Value> {
        if let Some(value) = self.exported.get(name) {
            return Some(value.clone());
        }
        if name == PROMPT {
            self.prompt_seen.set(true);
            return Some(Value::Bool(self.has_prompt));
        }
        if let Some((_, value)) = self.context.given.iter().find(|(given, _)| *given == name) {
            return Some(value.clone());
        }
        self.context.variables.get(name).cloned().or_else(|| globals::find(name))
    }

    /// Sets the slots of a scope.
    fn enter(&mut self, loads: &[Load]) {
        for load in loads {
            match load {
                Load::Resolve(slot, name) => self.set_slot(*slot, self.resolve(name)),
                Load::Alias(slot, outer) => self.set_slot(*slot, self.slot(*outer).cloned()),
                Load::Undefined(slot) => self.set_slot(*slot, None),
            }
        }
    }

    /// Runs `run`; returns the text that it wrote, and its result.
    fn captured<T>(&mut self, run: impl FnOnce(&mut Self) -> Result<T>) -> Result<(Value, T)> {
        let around = std::mem::take(&mut self.out);
        self.around.push((around, self.printed.len()));
        let value = run(self)?;
        let (around, printed) = self.around.pop().unwrap_or_default();
        let text: Arc<str> = std::mem::replace(&mut self.out, around).into();
        let parts = self.printed.split_off(printed);
        self.made_of(&text, parts);
        Ok((self.text(text)?, value))
    }

    /// Runs `run` in a frame with new slots.
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

    fn undefined_name(name: &Arc<str>) -> Value {
        Value::Undefined(MissingValue { of: MissingFrom::Scope, name: name.clone() })
    }
}
