//! A list of which a rendering sees only a beginning, and which knows how much of it was looked at. So one rendering of
//! a chat can become the rendering of a shorter one, or of one with another last message, wherever it has not yet
//! looked further.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::{Items, Value};

/// How many items of a list are there, and how many were looked at.
#[derive(Debug, Default)]
pub struct Extent {
    count: AtomicUsize,
    /// Whether the last item is the other one.
    has_other: AtomicBool,
    /// The number of first items that what happened depends on; `usize::MAX` if it depends on their number.
    seen: AtomicUsize,
}

/// Items of a list from a place on, up to its extent.
#[derive(Debug, Clone)]
pub(super) struct Window {
    all: Arc<[Value]>,
    /// The same items but for the last one.
    other: Option<Arc<[Value]>>,
    from: usize,
    extent: Arc<Extent>,
}

impl Extent {
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    fn has_other(&self) -> bool {
        self.has_other.load(Ordering::Relaxed)
    }

    /// Sets how many items are there, and whether the last one is the other one.
    pub fn set(&self, count: usize, has_other: bool) {
        self.count.store(count, Ordering::Relaxed);
        self.has_other.store(has_other, Ordering::Relaxed);
    }

    pub fn seen(&self) -> usize {
        self.seen.load(Ordering::Relaxed)
    }

    pub fn set_seen(&self, seen: usize) {
        self.seen.store(seen, Ordering::Relaxed);
    }

    fn see(&self, count: usize) {
        if count > self.seen() {
            self.set_seen(count);
        }
    }
}

impl Window {
    fn items(&self) -> &[Value] {
        let all = self.other.as_ref().filter(|_| self.extent.has_other()).unwrap_or(&self.all);
        let end = self.extent.count().min(all.len());
        &all[self.from.min(end)..end]
    }

    /// The item at a place; that there is none depends on the number of items.
    fn at(&self, place: usize) -> Option<&Value> {
        let item = self.items().get(place);
        self.extent.see(item.map_or(usize::MAX, |_| self.from + place + 1));
        item
    }
}

impl Items {
    /// The items of a list up to an extent; `other` may stand in the place of the last one.
    pub(crate) fn within(
        items: Vec<Value>,
        other: Option<&Value>,
        extent: &Arc<Extent>,
    ) -> crate::error::Result<Items> {
        let other = other.map(|last| {
            let before = &items[..items.len().saturating_sub(1)];
            Items::new([before, std::slice::from_ref(last)].concat())
        });
        let other = other.transpose()?.unwrap_or_default();
        let Items { items, depth, weight, .. } = Items::new(items)?;
        let (depth, weight) = (depth.max(other.depth), weight.max(other.weight));
        let other = (!other.items.is_empty()).then(|| other.items.into());
        let window = Window { all: items.into(), other, from: 0, extent: extent.clone() };
        Ok(Items { window: Some(Box::new(window)), depth, weight, ..Items::default() })
    }

    /// The item at a place.
    pub(crate) fn at(&self, place: usize) -> Option<&Value> {
        match &self.window {
            None => self.items.get(place),
            Some(window) => window.at(place),
        }
    }

    /// The number of the item at a place: the place, or another one if the item is the other last one.
    pub(crate) fn number(&self, place: usize) -> usize {
        let is_other = |window: &&Window| {
            window.extent.has_other() && window.from + place + 1 == window.all.len()
        };
        self.window.as_deref().filter(|window| is_other(window)).map_or(place, |of| of.all.len())
    }

    /// Whether there is no item.
    pub fn is_empty(&self) -> bool {
        self.at(0).is_none()
    }

    /// The place in the whole list at which the items begin, if more items may follow than are seen.
    pub(crate) fn offset(&self) -> Option<usize> {
        self.window.as_ref().map(|window| window.from)
    }

    /// The items from a place on, if more may follow than are seen.
    pub(crate) fn rest(&self, from: usize) -> Option<Items> {
        let window = self.window.as_ref()?;
        let (from, extent) = (window.from + from, &window.extent);
        extent.see(if from <= extent.count() { from } else { usize::MAX });
        let window = Window { from, ..Window::clone(window) };
        let (depth, weight) = (self.depth, self.weight);
        Some(Items { window: Some(Box::new(window)), depth, weight, ..Items::default() })
    }
}

impl Deref for Items {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        match &self.window {
            None => &self.items,
            Some(window) => {
                window.extent.see(usize::MAX);
                window.items()
            }
        }
    }
}

impl PartialEq for Items {
    fn eq(&self, other: &Items) -> bool {
        **self == **other
    }
}
