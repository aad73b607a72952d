//! A hash without probing: keys fall into small buckets, and each bucket gets one byte (its
//! pilot) that moves all its keys to free slots. The lookup stands in `hash.rs`.

use crate::hash::{BUCKETS, SLOTS, bucket, slot};

pub struct Placement {
    pub seed: u64,
    pub pilots: Vec<u8>,
    /// The keys, spread by the seed.
    pub keys: Vec<u64>,
    /// The slot of each key.
    pub slots: Vec<usize>,
}

/// Places distinct keys, which `spread` gives for a seed. Panics when 1,000 seeds fail, which no
/// set of 200,000 did.
pub fn place(spread: impl Fn(u64) -> Vec<u64>) -> Placement {
    (0..1000u64)
        .map(|number| 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(2 * number + 1) | 1)
        .find_map(|seed| place_keys(spread(seed), seed))
        .expect("a seed that places every key")
}

fn place_keys(keys: Vec<u64>, seed: u64) -> Option<Placement> {
    let mut buckets = vec![Vec::new(); BUCKETS];
    for (number, &key) in keys.iter().enumerate() {
        buckets[bucket(key)].push(number);
    }
    let mut order: Vec<usize> = (0..BUCKETS).collect();
    order.sort_by_key(|&number| std::cmp::Reverse(buckets[number].len()));
    let mut taken = vec![false; SLOTS];
    let mut pilots = vec![0u8; BUCKETS];
    let mut slots = vec![0usize; keys.len()];
    for number in order {
        let those = &buckets[number];
        let pilot = (0..=255u8).find(|&pilot| {
            those.iter().enumerate().all(|(at, &key)| {
                let place = slot(keys[key], pilot);
                !taken[place] && those[..at].iter().all(|&other| slot(keys[other], pilot) != place)
            })
        })?;
        pilots[number] = pilot;
        for &key in those {
            slots[key] = slot(keys[key], pilot);
            taken[slots[key]] = true;
        }
    }
    Some(Placement { seed, pilots, keys, slots })
}
