//! Which names a scope stores and loads. Jinja2's `idtracking` decides what a name means in nested scopes, so its
//! rules are followed one by one.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use super::{Arguments, Expr, Load, Node, Slot, Target};

/// A slot, with the depth of the function that has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place {
    function: u32,
    index: u32,
}

#[derive(Debug, Clone)]
enum Source {
    Parameter,
    Resolve(Arc<str>),
    Alias(Place),
    Undefined,
}

/// The names of a scope.
#[derive(Clone)]
pub struct Symbols<'p> {
    parent: Option<&'p Symbols<'p>>,
    function: u32,
    /// The number of slots that the function has so far.
    count: Rc<Cell<u32>>,
    /// The slots of this scope and of its branches.
    places: Rc<RefCell<HashMap<Arc<str>, Place>>>,
    refs: HashMap<Arc<str>, Place>,
    loads: HashMap<Place, Source>,
    stores: HashSet<Arc<str>>,
}

impl<'p> Symbols<'p> {
    /// The symbols of a new function.
    pub fn of_function(parent: Option<&'p Symbols<'p>>) -> Symbols<'p> {
        let function = parent.map_or(0, |parent| parent.function + 1);
        Symbols::new(parent, function, Rc::default())
    }

    /// The symbols of a scope in `parent`, in the same function.
    pub fn within(parent: &'p Symbols<'p>) -> Symbols<'p> {
        Symbols::new(Some(parent), parent.function, parent.count.clone())
    }

    /// The symbols of another scope with the same parent, in the same function.
    pub fn beside(&self) -> Symbols<'p> {
        Symbols::new(self.parent, self.function, self.count.clone())
    }

    fn new(parent: Option<&'p Symbols<'p>>, function: u32, count: Rc<Cell<u32>>) -> Symbols<'p> {
        Symbols {
            parent,
            function,
            count,
            places: Rc::default(),
            refs: HashMap::new(),
            loads: HashMap::new(),
            stores: HashSet::new(),
        }
    }

    /// The number of slots that the function has so far.
    pub fn count(&self) -> usize {
        self.count.get() as usize
    }

    fn find(&self, name: &str) -> Option<Place> {
        self.refs.get(name).copied().or_else(|| self.parent?.find(name))
    }

    /// The slot of a name, relative to this scope's function.
    pub fn slot(&self, name: &str) -> Slot {
        match self.find(name) {
            Some(place) => self.seen(place),
            // (Does not happen: every name was visited.)
            None => Slot::default(),
        }
    }

    fn seen(&self, place: Place) -> Slot {
        Slot { up: self.function - place.function, index: place.index }
    }

    fn define(&mut self, name: &Arc<str>, source: Source) {
        let place = *self.places.borrow_mut().entry(name.clone()).or_insert_with(|| {
            let index = self.count.get();
            self.count.set(index + 1);
            Place { function: self.function, index }
        });
        self.refs.insert(name.clone(), place);
        self.loads.insert(place, source);
    }

    fn store(&mut self, name: &Arc<str>) {
        self.stores.insert(name.clone());
        if self.refs.contains_key(name) {
            return;
        }
        let source = match self.parent.and_then(|parent| parent.find(name)) {
            Some(outer) => Source::Alias(outer),
            None => Source::Undefined,
        };
        self.define(name, source);
    }

    /// Defines a name that the caller sets.
    pub fn parameter(&mut self, name: &Arc<str>) {
        self.stores.insert(name.clone());
        self.define(name, Source::Parameter);
    }

    fn load(&mut self, name: &Arc<str>) {
        if self.find(name).is_none() {
            self.define(name, Source::Resolve(name.clone()));
        }
    }

    fn join(&mut self, branches: Vec<Symbols<'p>>) {
        let mut stores: HashSet<Arc<str>> = HashSet::new();
        for branch in &branches {
            stores.extend(branch.stores.iter().cloned());
        }
        stores.retain(|name| !self.stores.contains(name));
        for branch in branches {
            self.refs.extend(branch.refs);
            self.loads.extend(branch.loads);
            self.stores.extend(branch.stores);
        }
        for name in stores {
            let Some(place) = self.find(&name) else { continue };
            let source = match self.parent.and_then(|parent| parent.find(&name)) {
                Some(outer) => Source::Alias(outer),
                None => Source::Resolve(name),
            };
            self.loads.insert(place, source);
        }
    }

    /// All names that the scope stores, with their slots.
    pub fn stored(&self) -> Vec<(Arc<str>, Slot)> {
        self.stores.iter().map(|name| (name.clone(), self.slot(name))).collect()
    }

    /// The loads to do when the scope is entered.
    pub fn loads(&self) -> Vec<Load> {
        let mut places: Vec<(&Place, &Source)> = self.loads.iter().collect();
        places.sort_by_key(|(place, _)| place.index);
        let load = |(place, source): (&Place, &Source)| {
            let slot = self.seen(*place);
            Some(match source {
                Source::Parameter => return None,
                Source::Resolve(name) => Load::Resolve(slot, name.clone()),
                Source::Alias(outer) => Load::Alias(slot, self.seen(*outer)),
                Source::Undefined => Load::Undefined(slot),
            })
        };
        places.into_iter().filter_map(load).collect()
    }

    pub fn visit_all(&mut self, nodes: &[Node]) {
        nodes.iter().for_each(|node| self.visit(node));
    }

    fn visit(&mut self, node: &Node) {
        match node {
            Node::Text(_)
            | Node::Block(_)
            | Node::Generation(..)
            | Node::Refused(..)
            | Node::Break(_)
            | Node::Continue(_) => {}
            Node::Print(value, _) => self.expression(value),
            Node::If(branches, otherwise, _) => self.condition(branches, otherwise),
            Node::For(of) => self.expression(&of.iter),
            Node::Set(target, value, _) => {
                self.expression(value);
                self.target(target);
            }
            Node::SetBlock(block) => {
                if let Some(target) = &block.target {
                    self.target(target);
                }
            }
            Node::Macro(of, _) => self.store(&of.name),
            Node::Call(_, call, _) => self.expression(call),
            Node::FilterBlock(block) => {
                if let Some(filter) = &block.filter {
                    self.expression(filter);
                }
            }
            Node::With(with) => with.values.iter().for_each(|value| self.expression(value)),
        }
    }

    fn condition(&mut self, branches: &[(Expr, Vec<Node>)], otherwise: &[Node]) {
        let Some(((test, body), others)) = branches.split_first() else { return };
        self.expression(test);
        let mut first = self.clone();
        first.visit_all(body);
        let mut middle = self.clone();
        for (test, body) in others {
            middle.expression(test);
            let mut inner = middle.clone();
            inner.visit_all(body);
            let rest = middle.clone();
            middle.join(vec![inner, rest.clone(), rest]);
        }
        let mut last = self.clone();
        last.visit_all(otherwise);
        self.join(vec![first, middle, last]);
    }

    /// Stores the names of an assignment's target.
    pub fn target(&mut self, target: &Target) {
        match target {
            Target::Name(name, _) => self.store(name),
            Target::Attribute(name, ..) => self.load(name),
            Target::Tuple(targets) => targets.iter().for_each(|target| self.target(target)),
        }
    }

    /// Defines the names of a target that the caller sets.
    pub fn parameters(&mut self, target: &Target) {
        match target {
            Target::Name(name, _) => self.parameter(name),
            Target::Attribute(name, ..) => self.load(name),
            Target::Tuple(targets) => targets.iter().for_each(|target| self.parameters(target)),
        }
    }

    pub fn expression(&mut self, expression: &Expr) {
        walk(expression, &mut |name| self.load(name));
    }
}

/// Calls `take` with each name that an expression loads.
pub fn walk(expression: &Expr, take: &mut dyn FnMut(&Arc<str>)) {
    match expression {
        Expr::Const(_) | Expr::Body => {}
        Expr::Name(name, _) => take(name),
        Expr::Tuple(items) | Expr::List(items) | Expr::Concat(items) => {
            items.iter().for_each(|item| walk(item, take));
        }
        Expr::Dict(items) => items.iter().for_each(|(key, value)| {
            walk(key, take);
            walk(value, take);
        }),
        Expr::Negative(of) | Expr::Positive(of) | Expr::Not(of) | Expr::Attribute(of, _) => {
            walk(of, take);
        }
        Expr::Binary(_, pair) | Expr::And(pair) | Expr::Or(pair) | Expr::Item(pair) => {
            walk(&pair.0, take);
            walk(&pair.1, take);
        }
        Expr::Compare(first, rest) => {
            walk(first, take);
            rest.iter().for_each(|(_, item)| walk(item, take));
        }
        Expr::Condition(parts) => {
            walk(&parts.0, take);
            walk(&parts.1, take);
            parts.2.iter().for_each(|part| walk(part, take));
        }
        Expr::Slice(of, parts) => {
            walk(of, take);
            parts.iter().flatten().for_each(|part| walk(part, take));
        }
        Expr::Call(call) => {
            walk(&call.function, take);
            walk_arguments(&call.arguments, take);
        }
        Expr::Filter(apply) => {
            walk(&apply.to, take);
            walk_arguments(&apply.arguments, take);
        }
        Expr::Test(apply) => {
            walk(&apply.to, take);
            walk_arguments(&apply.arguments, take);
        }
    }
}

fn walk_arguments(arguments: &Arguments, take: &mut dyn FnMut(&Arc<str>)) {
    let named = arguments.named.iter().map(|(_, value)| value);
    let all = arguments.list.iter().chain(named);
    all.chain(&arguments.rest).chain(&arguments.named_rest).for_each(|value| walk(value, take));
}
