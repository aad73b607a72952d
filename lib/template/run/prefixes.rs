//! Renders many beginnings of a chat, each as if nothing followed it, in about the time of the longest one.
//!
//! The longest chat is rendered. Before each item of a loop over the messages, the rendering is left for the chats that
//! end there: they see fewer messages, run the rest of the template, and what they changed is taken back. That is right
//! as long as nothing that ran before has looked further than they reach; a list knows how far it was looked at
//! (`value/window.rs`). Chats for which it is not right begin again before the place that looked too far. What they have
//! come to at the next loop is compared: chats in equal states go on together. A chat with another last message is left
//! for where that begins, as if it were shorter.

use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use super::iterate::Source;
use super::loops::LoopItems;
use super::object::Object;
use super::pairs::Pairs;
use super::prefix_texts::{Prefix, PrefixText, Prefixes, TOO_LONG, WholeText};
use super::printed::PrintedText;
use super::{Context, Flow, Frame, Run};
use crate::error::{Error, Result};
use crate::syntax::{For, Load, Node, Program};
use crate::value::{Extent, Value};

/// What is still to run: lists of statements, the innermost last.
type Rest<'c> = Vec<&'c [Node]>;

/// Where a rendering has come to.
enum Stop<'c> {
    /// A loop over the messages, which has not begun.
    Loop(&'c Arc<For>, Value, Rest<'c>),
    End,
}

/// A rendering before a loop.
struct Start<'c> {
    of: &'c Arc<For>,
    over: Value,
    rest: Rest<'c>,
    mark: Mark,
    objects: Vec<Object>,
    out: String,
    generations: Vec<Range<usize>>,
    printed: Vec<PrintedText>,
}

/// Prefixes in the same state.
struct Group<'c> {
    start: Rc<Start<'c>>,
    /// Their places among the wanted ones.
    members: Vec<usize>,
    /// How many items before its last one a prefix leaves the rendering of the longest.
    lag: usize,
}

/// A place in a rendering to which it can be taken back.
#[derive(Clone)]
struct Mark {
    slots: Vec<Option<Value>>,
    frames: Vec<Frame>,
    is_captured: bool,
    objects: usize,
    out: usize,
    generations: usize,
    printed: usize,
    steps: u64,
    bytes: u64,
    line: usize,
}

struct Explorer<'c, 'w> {
    run: Run<'c>,
    extent: Arc<Extent>,
    /// What the rendering sees.
    seeing: Prefix,
    wanted: &'w [Prefix],
    /// The slots that the template's own names have; others are of scopes that have ended at a loop.
    own: Vec<bool>,
    groups: Vec<Group<'c>>,
    wholes: Vec<WholeText>,
    texts: Vec<Option<std::result::Result<PrefixText, Error>>>,
    /// The bytes that are stored.
    stored: usize,
}

/// The most bytes that are stored: where earlier turns change, each turn repeats the chat before it.
const MOST_STORED: usize = 1 << 28;

/// Renders prefixes of the messages in `context`, which see as many messages as `extent` says.
pub fn render_prefixes(
    program: &Program,
    context: &Context<'_>,
    extent: Arc<Extent>,
    wanted: &[Prefix],
) -> Prefixes {
    let mut own = vec![false; program.slots];
    for load in &program.loads {
        let (Load::Resolve(slot, _) | Load::Alias(slot, _) | Load::Undefined(slot)) = load;
        own[slot.index as usize] = true;
    }
    let run = Run::new(program, context);
    let texts = wanted.iter().map(|_| None).collect();
    let (groups, wholes) = (Vec::new(), Vec::new());
    let seeing = Prefix::new(0, false);
    let mut explorer =
        Explorer { run, extent, seeing, wanted, own, groups, wholes, texts, stored: 0 };
    if !wanted.is_empty() {
        explorer.open();
    }
    while let Some(group) = explorer.groups.pop() {
        explorer.group(group);
    }
    let missing = || Err(Error::Chat("a prefix that was not rendered".into()));
    let texts = explorer.texts.into_iter().map(|text| text.unwrap_or_else(missing));
    Prefixes::new(explorer.wholes, texts.collect(), explorer.run.spoiled.into_inner())
}

impl<'c> Explorer<'c, '_> {
    /// Sets what the rendering sees, and forgets what it has looked at.
    fn see(&mut self, prefix: Prefix) {
        self.seeing = prefix;
        self.extent.set(prefix.count, prefix.has_other);
        self.extent.set_seen(0);
        self.run.has_prompt = prefix.has_prompt;
        if let Some(slot) = self.run.prompt_slot {
            self.run.slots[slot] = Some(Value::Bool(prefix.has_prompt));
        }
        self.run.prompt_seen.set(false);
    }

    /// The longest of some prefixes, with a prompt if all have one.
    fn longest(&self, members: &[usize]) -> Prefix {
        let of = || members.iter().map(|member| self.wanted[*member]);
        let count = of().map(|prefix| prefix.count).max().unwrap_or(0);
        Prefix {
            count,
            has_prompt: of().all(|prefix| prefix.has_prompt),
            has_other: of().all(|prefix| prefix.has_other || prefix.count < count),
        }
    }

    /// Whether what has run since [`Explorer::see`] would have run for a prefix, too.
    fn holds_for(&self, prefix: Prefix) -> bool {
        self.extent.seen() <= prefix.in_common(self.seeing)
            && (self.run.has_prompt == prefix.has_prompt || !self.run.prompt_seen.get())
    }

    /// Runs the statements before the first loop over the messages.
    fn open(&mut self) {
        let members: Vec<usize> = (0..self.wanted.len()).collect();
        self.see(self.longest(&members));
        let mut rest: Rest<'c> = vec![&self.run.program.body];
        let mut kept = (self.run.mark(), rest.clone());
        // The last place that is right for all of them is kept.
        let done = loop {
            if self.wanted.iter().all(|prefix| self.holds_for(*prefix)) {
                kept = (self.run.mark(), rest.clone());
            }
            match self.run.proceed(&mut rest) {
                Ok(None) => {}
                Ok(Some(stop)) => break Ok(stop),
                Err(error) => break Err(error),
            }
        };
        let (together, alone): (Vec<usize>, Vec<usize>) = match done {
            Ok(_) => members.iter().partition(|member| self.holds_for(self.wanted[**member])),
            Err(_) => (Vec::new(), members),
        };
        let (mark, rest) = kept;
        let whole = self.reserve();
        if !together.is_empty() {
            self.arrive(done, &together, whole, 0);
        }
        for member in alone {
            self.run.back(&mark);
            self.see(self.wanted[member]);
            let done = self.run.run_on(rest.clone());
            let whole = self.reserve();
            self.arrive(done, &[member], whole, 0);
        }
    }

    /// A new text that others share.
    fn reserve(&mut self) -> usize {
        self.wholes.push(WholeText::default());
        self.wholes.len() - 1
    }

    /// Notes where a rendering has come to; its first `shared` bytes are those of a whole text.
    fn arrive(&mut self, done: Result<Stop<'c>>, members: &[usize], whole: usize, shared: usize) {
        let (of, over, rest) = match done {
            Err(error) => {
                let error = *error.at(self.run.line);
                members.iter().for_each(|member| self.texts[*member] = Some(Err(error.clone())));
                return;
            }
            Ok(Stop::End) => {
                self.stored += (self.run.out.len() - shared) * members.len();
                if self.stored > MOST_STORED {
                    let error = Error::Limit { line: self.run.line, cause: TOO_LONG };
                    members
                        .iter()
                        .for_each(|member| self.texts[*member] = Some(Err(error.clone())));
                    return;
                }
                for member in members {
                    let rest = self.run.out[shared..].to_string();
                    // (The text that is stored has all.)
                    let own = if shared == self.run.out.len() { 0 } else { shared };
                    let from = self.run.generations.partition_point(|range| range.end <= own);
                    let generations = self.run.generations[from..].to_vec();
                    let from = self.run.printed.partition_point(|of| of.at < shared);
                    let printed = self.run.printed[from..].to_vec();
                    let text = PrefixText { whole, shared, rest, generations, printed };
                    self.texts[*member] = Some(Ok(text));
                }
                return;
            }
            Ok(Stop::Loop(of, over, rest)) => (of, over, rest),
        };
        for (slot, is_own) in self.run.slots.iter_mut().zip(&self.own) {
            if !is_own {
                *slot = None;
            }
        }
        // (Equal states follow one another; others are not looked for among many.)
        let same = self.groups.iter_mut().rev().take(4).find(|group| {
            let is_there =
                Arc::ptr_eq(group.start.of, of) && is_same_rest(&group.start.rest, &rest);
            is_there && self.run.is_at(&group.start, &over)
        });
        match same {
            Some(group) => group.members.extend(members),
            None => {
                let start = Start {
                    of,
                    over,
                    rest,
                    mark: self.run.here(),
                    objects: self.run.objects.clone(),
                    out: self.run.out.clone(),
                    generations: self.run.generations.clone(),
                    printed: self.run.printed.clone(),
                };
                let group = Group { start: Rc::new(start), members: members.to_vec(), lag: 0 };
                self.groups.push(group);
            }
        }
    }

    /// Runs a loop for all members of a group.
    fn group(&mut self, group: Group<'c>) {
        let Group { start, mut members, lag } = group;
        let offset = match &start.over {
            Value::List(items) => items.offset().unwrap_or(0),
            _ => 0,
        };
        let longest = self.longest(&members);
        members.sort_by_key(|member| (self.wanted[*member] == longest, self.wanted[*member]));
        let whole = self.reserve();
        self.run.load(&start);
        self.see(longest);
        let mut open = VecDeque::from(members);
        // Those that are not right here: the first ones because of the prompt, the others because of later messages.
        let (mut prompted, mut early) = (Vec::new(), Vec::new());
        let mut items = LoopItems::Plain(Source::Empty);
        let source = self.run.iter(&start.over);
        let begun = source.and_then(|source| self.run.begin_loop(start.of, source, None, 0, 0));
        let begun = begun.map(|begun| items = begun);
        let mut place = 0;
        let done = loop {
            if let Err(error) = begun {
                break Err(error);
            }
            while let Some(&member) = open.front()
                && self.wanted[member] != longest
                && self.wanted[member].count <= offset + place + 1 + lag
            {
                open.pop_front();
                let prefix = self.wanted[member];
                if self.extent.seen() > prefix.in_common(longest) {
                    early.push(member);
                } else if !self.holds_for(prefix) {
                    prompted.push(member);
                } else {
                    self.leave(&start, items.clone(), place == 0, member, whole);
                }
            }
            if open.is_empty() {
                break Ok(Stop::End);
            }
            match self.run.iteration(start.of, &mut items) {
                Ok(Some(Flow::Break)) | Ok(None) => {
                    break self.run.end(&start, place == 0);
                }
                Ok(Some(_)) => place += 1,
                Err(error) => break Err(error),
            }
        };
        // (What is open here is as long as the longest, or follows an error or a break.)
        let (main, others): (Vec<usize>, Vec<usize>) =
            open.into_iter().partition(|member| self.wanted[*member] == longest);
        self.stored += self.run.written().len();
        if self.stored <= MOST_STORED {
            self.wholes[whole].text.clone_from(self.run.written());
            let printed = self.run.around.first().map_or(self.run.printed.len(), |around| around.1);
            self.wholes[whole].printed = self.run.printed[..printed].to_vec();
        }
        if !main.is_empty() {
            let shared = match &done {
                Ok(Stop::End) => self.wholes[whole].text.len(),
                _ => 0,
            };
            self.arrive(done, &main, whole, shared);
        }
        let mut again = |members: Vec<usize>, lag: usize| {
            if !members.is_empty() {
                self.groups.push(Group { start: start.clone(), members, lag });
            }
        };
        again(prompted, lag);
        match lag < longest.count && early.len() > 1 {
            true => again(early, (2 * lag).max(1)),
            false => early.into_iter().for_each(|member| again(vec![member], 0)),
        }
        others.into_iter().for_each(|member| again(vec![member], 0));
    }

    /// Runs the rest of the template for a member that reaches no further, and takes it back.
    fn leave(
        &mut self,
        start: &Start<'c>,
        mut items: LoopItems,
        is_empty: bool,
        member: usize,
        whole: usize,
    ) {
        let mark = self.run.mark();
        let (seen, prompt_seen) = (self.extent.seen(), self.run.prompt_seen.get());
        let (seeing, has_prompt) = (self.seeing, self.run.has_prompt);
        self.see(self.wanted[member]);
        let done = self.run.finish(start, &mut items, is_empty);
        self.arrive(done, &[member], whole, mark.out);
        self.run.back(&mark);
        self.run.has_prompt = has_prompt;
        self.seeing = seeing;
        self.extent.set(seeing.count, seeing.has_other);
        self.extent.set_seen(seen);
        self.run.prompt_seen.set(prompt_seen);
    }
}

impl<'c> Run<'c> {
    /// The state without its objects and texts.
    fn here(&self) -> Mark {
        Mark {
            slots: self.slots.clone(),
            frames: self.frames.clone(),
            is_captured: self.is_captured,
            objects: self.objects.len(),
            out: self.out.len(),
            generations: self.generations.len(),
            printed: self.printed.len(),
            steps: self.steps,
            bytes: self.bytes,
            line: self.line,
        }
    }

    /// Marks this place; from here on, changes of objects are noted.
    fn mark(&mut self) -> Mark {
        self.journal.clear();
        self.journaled = self.objects.len();
        self.here()
    }

    /// The text so far, also after an error inside a block.
    pub(super) fn written(&self) -> &String {
        self.around.first().map_or(&self.out, |(text, _)| text)
    }

    /// Takes back what happened since the last mark.
    fn back(&mut self, mark: &Mark) {
        if !self.around.is_empty() {
            self.out = std::mem::take(&mut self.around[0].0);
            self.around.clear();
        }
        self.out.truncate(mark.out);
        self.generations.truncate(mark.generations);
        self.printed.truncate(mark.printed);
        self.objects.truncate(mark.objects);
        for (place, object) in self.journal.drain(..) {
            self.objects[place] = object;
        }
        self.set_state(mark);
    }

    fn set_state(&mut self, mark: &Mark) {
        self.slots.clone_from(&mark.slots);
        self.frames.clone_from(&mark.frames);
        self.is_captured = mark.is_captured;
        (self.steps, self.bytes, self.line) = (mark.steps, mark.bytes, mark.line);
        (self.frame, self.depth) = (0, 0);
        self.bodies.clear();
    }

    /// Goes to a start.
    fn load(&mut self, start: &Start<'c>) {
        (self.journaled, self.around) = (0, Vec::new());
        self.journal.clear();
        self.objects.clone_from(&start.objects);
        self.out.clone_from(&start.out);
        self.generations.clone_from(&start.generations);
        self.printed.clone_from(&start.printed);
        self.set_state(&start.mark);
    }

    /// Runs one statement; returns where the rendering stops.
    fn proceed(&mut self, rest: &mut Rest<'c>) -> Result<Option<Stop<'c>>> {
        let Some(nodes) = rest.last_mut() else { return Ok(Some(Stop::End)) };
        let Some((node, after)) = nodes.split_first() else {
            rest.pop();
            return Ok(None);
        };
        *nodes = after;
        match node {
            Node::If(branches, otherwise, line) => {
                self.step(1)?;
                self.line = *line;
                for (test, body) in branches {
                    if self.is_true(test)? {
                        rest.push(body);
                        return Ok(None);
                    }
                }
                rest.push(otherwise);
            }
            Node::For(of) if !of.is_recursive => {
                if self.scan(of)? {
                    return Ok(None);
                }
                self.step(1)?;
                self.line = of.line;
                let over = self.evaluate(&of.iter)?;
                if matches!(&over, Value::List(items) if items.offset().is_some()) {
                    return Ok(Some(Stop::Loop(of, over, std::mem::take(rest))));
                }
                self.run_loop(of, &over, 0, 0)?;
            }
            node => {
                self.node(node)?;
            }
        }
        Ok(None)
    }

    /// Runs statements up to a loop over the messages.
    fn run_on(&mut self, mut rest: Rest<'c>) -> Result<Stop<'c>> {
        loop {
            if let Some(stop) = self.proceed(&mut rest)? {
                return Ok(stop);
            }
        }
    }

    /// Runs the rest of a loop and what follows it.
    fn finish(
        &mut self,
        start: &Start<'c>,
        items: &mut LoopItems,
        mut is_empty: bool,
    ) -> Result<Stop<'c>> {
        while let Some(flow) = self.iteration(start.of, items)? {
            is_empty = false;
            if flow == Flow::Break {
                break;
            }
        }
        self.end(start, is_empty)
    }

    /// Runs what follows a loop.
    fn end(&mut self, start: &Start<'c>, is_empty: bool) -> Result<Stop<'c>> {
        self.end_loop(start.of, is_empty)?;
        self.run_on(start.rest.clone())
    }

    /// Whether the rendering is in the state of a start, but for the prompt.
    fn is_at(&self, start: &Start<'c>, over: &Value) -> bool {
        let mark = &start.mark;
        let mut pairs = Pairs::new(&self.objects, &start.objects);
        self.frames == mark.frames
            && self.is_captured == mark.is_captured
            && self.generations == start.generations
            && self.printed == start.printed
            && self.slots.len() == mark.slots.len()
            && pairs.are_same(over, &start.over, 0)
            && self.slots.iter().zip(&mark.slots).enumerate().all(|(place, pair)| match pair {
                _ if Some(place) == self.prompt_slot => true,
                (Some(a), Some(b)) => pairs.are_same(a, b, 0),
                (a, b) => a.is_none() && b.is_none(),
            })
            && self.out == start.out
    }
}

fn is_same_rest(a: &Rest<'_>, b: &Rest<'_>) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| std::ptr::eq(*a, *b))
}
