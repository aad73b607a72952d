//! A list of which a rendering sees only a beginning, and which knows how much of it was looked at. So one rendering of
//! a chat can become the rendering of a shorter one, wherever it has not yet looked further.

use std::ops::{Deref, Range};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Items, Value};

/// How many items of a list are there, and how many were looked at.
#[derive(Debug, Default)]
pub struct Extent {
    count: AtomicUsize,
    /// The number of first items that what happened depends on; `usize::MAX` if it depends on their number.
    seen: AtomicUsize,
}

/// Items of a list from a place on, up to its extent.
#[derive(Debug, Clone)]
pub(super) struct Window {
    all: Arc<[Value]>,
    from: usize,
    extent: Arc<Extent>,
}

impl Extent {
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    pub fn set_count(&self, count: usize) {
        self.count.store(count, Ordering::Relaxed);
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
    fn range(&self) -> Range<usize> {
        let end = self.extent.count().min(self.all.len());
        self.from.min(end)..end
    }

    /// The item at a place; that there is none depends on the number of items.
    fn at(&self, place: usize) -> Option<&Value> {
        let item = self.all[self.range()].get(place);
        self.extent.see(item.map_or(usize::MAX, |_| self.from + place + 1));
        item
    }
}

impl Items {
    /// The items of a list up to an extent.
    pub(crate) fn within(items: Vec<Value>, extent: &Arc<Extent>) -> crate::error::Result<Items> {
        let Items { items, depth, weight, .. } = Items::new(items)?;
        let window = Window { all: items.into(), from: 0, extent: extent.clone() };
        Ok(Items { window: Some(Box::new(window)), depth, weight, ..Items::default() })
    }

    /// The item at a place.
    pub(crate) fn at(&self, place: usize) -> Option<&Value> {
        match &self.window {
            None => self.items.get(place),
            Some(window) => window.at(place),
        }
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
        let Window { all, from: before, extent } = &**self.window.as_ref()?;
        let from = before + from;
        extent.see(if from <= extent.count() { from } else { usize::MAX });
        let window = Window { all: all.clone(), from, extent: extent.clone() };
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
                &window.all[window.range()]
            }
        }
    }
}

impl PartialEq for Items {
    fn eq(&self, other: &Items) -> bool {
        **self == **other
    }
}
