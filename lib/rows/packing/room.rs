//! The room that is left in bins, and how the right bin is found.

/// Marks that there is no bin.
const NONE: u32 = u32::MAX;

/// Bins by their room: a queue for each amount of room.
pub(super) struct Rooms {
    /// The first and the last bin of each queue.
    queues: Vec<(u32, u32)>,
    /// The bin after each bin in its queue.
    behind: Vec<u32>,
    /// Which amounts of room have a bin: bits in words of 64. Each level has a bit for every word
    /// of the level before that is not 0.
    levels: Vec<Vec<u64>>,
}

impl Rooms {
    pub fn new(capacity: u32) -> Rooms {
        let rooms = capacity as usize + 1;
        let mut levels = Vec::new();
        let mut bits = rooms;
        loop {
            bits = bits.div_ceil(64);
            levels.push(vec![0; bits]);
            if bits == 1 {
                break;
            }
        }
        Rooms { queues: vec![(NONE, NONE); rooms], behind: Vec::new(), levels }
    }

    /// Puts a bin at the end of the queue of its room.
    pub fn put(&mut self, bin: u32, room: u32) {
        if bin as usize == self.behind.len() {
            self.behind.push(NONE);
        }
        self.behind[bin as usize] = NONE;
        let (first, last) = &mut self.queues[room as usize];
        match *last {
            NONE => {
                *first = bin;
                let mut at = room as usize;
                for level in &mut self.levels {
                    let word = &mut level[at / 64];
                    let was_empty = *word == 0;
                    *word |= 1 << (at % 64);
                    if !was_empty {
                        break;
                    }
                    at /= 64;
                }
            }
            last => self.behind[last as usize] = bin,
        }
        *last = bin;
    }

    /// Takes the first bin with the least room of at least `least`; returns it with its room.
    pub fn take(&mut self, least: u32) -> Option<(u32, u32)> {
        let room = self.least_room(least as usize)?;
        let (first, last) = &mut self.queues[room];
        let bin = *first;
        *first = self.behind[bin as usize];
        if *first == NONE {
            *last = NONE;
            let mut at = room;
            for level in &mut self.levels {
                let word = &mut level[at / 64];
                *word &= !(1 << (at % 64));
                if *word != 0 {
                    break;
                }
                at /= 64;
            }
        }
        Some((bin, room as u32))
    }

    /// Returns the first set bit from `from` on.
    fn least_room(&self, from: usize) -> Option<usize> {
        let mut at = from;
        for (height, level) in self.levels.iter().enumerate() {
            let word = level.get(at / 64)? & (u64::MAX << (at % 64));
            if word != 0 {
                let mut found = at / 64 * 64 + word.trailing_zeros() as usize;
                for below in self.levels[..height].iter().rev() {
                    found = found * 64 + below[found].trailing_zeros() as usize;
                }
                return Some(found);
            }
            at = at / 64 + 1;
        }
        None
    }
}

/// Bins in the order of opening, in a tree whose nodes have the most room below them.
#[derive(Default)]
pub(super) struct FirstRoom {
    /// Node 1 is the root, the children of `n` are `2n` and `2n + 1`; the last half are the bins.
    most: Vec<u32>,
    bins: usize,
}

impl FirstRoom {
    pub fn bins(&self) -> usize {
        self.bins
    }

    /// Takes room in the first bin that has enough, or in a new one.
    pub fn take(&mut self, weight: u32, capacity: u32) -> u32 {
        let leaves = self.most.len() / 2;
        let is_new = self.most.get(1).is_none_or(|&most| most < weight);
        if is_new {
            if self.bins == leaves {
                self.grow();
            }
            self.bins += 1;
            let leaf = self.most.len() / 2 + self.bins - 1;
            self.set(leaf, capacity - weight);
            return self.bins as u32 - 1;
        }
        let mut node = 1;
        while node < leaves {
            node *= 2;
            node += usize::from(self.most[node] < weight);
        }
        self.set(node, self.most[node] - weight);
        (node - leaves) as u32
    }

    fn set(&mut self, leaf: usize, room: u32) {
        let mut node = leaf;
        self.most[node] = room;
        while node > 1 {
            node /= 2;
            let most = self.most[2 * node].max(self.most[2 * node + 1]);
            if self.most[node] == most {
                break;
            }
            self.most[node] = most;
        }
    }

    /// Doubles the number of leaves.
    fn grow(&mut self) {
        let leaves = self.most.len() / 2;
        let wider = (2 * leaves).max(1);
        let mut most = vec![0; 2 * wider];
        most[wider..wider + leaves].copy_from_slice(self.most.get(leaves..).unwrap_or_default());
        for node in (1..wider).rev() {
            most[node] = most[2 * node].max(most[2 * node + 1]);
        }
        self.most = most;
    }
}
