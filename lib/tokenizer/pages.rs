//! Memory that the system gives zeroed, in huge pages if it has them. Besides `simd` this is the only place of the
//! tokenizer with `unsafe`.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

use memmap2::MmapMut;

/// Size of a huge page.
const HUGE: usize = 2 << 20;

/// Zeroed elements, each at the start of a cache line.
pub struct Room {
    first: NonNull<Line>,
    count: usize,
    from: Source,
}

/// A cache line.
pub type Line = [u64; 8];

enum Source {
    Heap(Layout),
    /// Kept for its drop.
    Map {
        _map: MmapMut,
    },
}

// SAFETY: a room owns its memory and gives it out by the usual rules of `&` and `&mut`.
unsafe impl Send for Room {}
// SAFETY: as above; nothing changes through a `&Room`.
unsafe impl Sync for Room {}

impl Room {
    /// Allocates `count` lines; `count` is not 0. Large rooms come directly from the system, since the
    /// allocator might return used memory, which would have to be zeroed page by page.
    pub fn zeroed(count: usize) -> Self {
        let size = count * size_of::<Line>();
        if size >= HUGE
            && let Ok(mut map) = MmapMut::map_anon(size + HUGE)
        {
            let start = map.as_ptr().align_offset(HUGE).min(HUGE);
            let room = &mut map[start..start + size];
            let first = NonNull::from(room).cast();
            #[cfg(target_os = "linux")]
            for advice in [memmap2::Advice::HugePage, memmap2::Advice::PopulateWrite] {
                // The advice is not needed, and an older system may not know it.
                let _ = map.advise_range(advice, start, size);
            }
            return Self { first, count, from: Source::Map { _map: map } };
        }
        let Ok(layout) = Layout::from_size_align(size, 64) else {
            panic!("a room of {count} lines")
        };
        // SAFETY: the size is not 0.
        let Some(first) = NonNull::new(unsafe { alloc_zeroed(layout) }) else {
            handle_alloc_error(layout)
        };
        Self { first: first.cast(), count, from: Source::Heap(layout) }
    }

    #[inline(always)]
    pub fn lines(&self) -> &[Line] {
        // SAFETY: `first` points to `count` lines, initialized (all zero at first), aligned to 64
        // bytes or more, and alive as long as `self`.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.count) }
    }

    #[inline(always)]
    pub fn lines_mut(&mut self) -> &mut [Line] {
        // SAFETY: as in `lines`, and `&mut self` makes this the only way to them.
        unsafe { std::slice::from_raw_parts_mut(self.first.as_ptr(), self.count) }
    }

    /// Returns the line of a hash, as [`line_of`] does.
    #[inline(always)]
    pub fn line_of_mut(&mut self, hash: u64) -> &mut Line {
        let lines = self.lines_mut();
        let mask = lines.len() - 1;
        &mut lines[hash as usize & mask]
    }
}

/// Returns the line of a hash; the number of lines is a power of two.
#[inline(always)]
pub fn line_of(lines: &[Line], hash: u64) -> &Line {
    &lines[hash as usize & (lines.len() - 1)]
}

impl Drop for Room {
    fn drop(&mut self) {
        if let Source::Heap(layout) = self.from {
            // SAFETY: it came from `alloc_zeroed` with this very layout.
            unsafe { dealloc(self.first.as_ptr().cast(), layout) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rooms_are_zeroed_aligned_and_writable() {
        for count in [1, 1000, HUGE / 64, 1 << 16] {
            for _ in 0..3 {
                let mut room = Room::zeroed(count);
                assert_eq!(room.lines().len(), count);
                assert_eq!(room.lines().as_ptr() as usize % 64, 0);
                assert!(room.lines().iter().all(|line| *line == [0; 8]));
                room.lines_mut().fill([u64::MAX; 8]);
                assert!(room.lines().iter().all(|line| *line == [u64::MAX; 8]));
            }
        }
    }
}
