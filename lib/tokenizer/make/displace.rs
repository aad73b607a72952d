//! A hash without probing: keys fall into small buckets, and each bucket gets one byte (its
//! pilot) that moves all its keys to free slots. The lookup stands in `hash.rs`.

use super::hash::{BUCKETS, SLOTS, bucket, slot};

pub struct Placement {
    pub seed: u64,
    pub pilots: Vec<u8>,
    /// The keys, spread by the seed.
    pub keys: Vec<u64>,
    /// The slot of each key.
    pub slots: Vec<usize>,
}

/// Places distinct keys, which `spread` gives for a seed. Returns `None` if `seeds` seeds fail. (For 200,000 keys,
/// one of the first few seeds succeeds.)
pub fn place(seeds: u64, spread: impl Fn(u64) -> Vec<u64>) -> Option<Placement> {
    (0..seeds)
        .map(|number| 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(2 * number + 1) | 1)
        .find_map(|seed| place_keys(spread(seed), seed))
}

fn place_keys(keys: Vec<u64>, seed: u64) -> Option<Placement> {
    // The keys of a bucket stand side by side, up to its end.
    let mut ends = vec![0u32; BUCKETS];
    for &key in &keys {
        ends[bucket(key)] += 1;
    }
    // The fullest buckets first; of equal ones in order.
    let most = ends.iter().copied().max().unwrap_or(0);
    let mut of_size = vec![Vec::new(); most as usize + 1];
    for (&count, number) in ends.iter().zip(0u32..) {
        of_size[count as usize].push(number);
    }
    let order = of_size.into_iter().enumerate().rev();
    let order = order.flat_map(|(count, numbers)| numbers.into_iter().map(move |n| (count, n)));
    let mut sum = 0;
    for end in &mut ends {
        (*end, sum) = (sum, sum + *end);
    }
    let mut members = vec![0u32; keys.len()];
    for (&key, number) in keys.iter().zip(0..) {
        let end = &mut ends[bucket(key)];
        members[*end as usize] = number;
        *end += 1;
    }
    let mut taken = vec![false; SLOTS];
    let mut pilots = vec![0u8; BUCKETS];
    let mut slots = vec![0usize; keys.len()];
    for (count, number) in order {
        let end = ends[number as usize] as usize;
        let those = &members[end - count..end];
        let pilot = (0..=255u8).find(|&pilot| {
            those.iter().enumerate().all(|(at, &key)| {
                let place = slot(keys[key as usize], pilot);
                !taken[place]
                    && those[..at].iter().all(|&other| slot(keys[other as usize], pilot) != place)
            })
        })?;
        pilots[number as usize] = pilot;
        for &key in those {
            let key = key as usize;
            slots[key] = slot(keys[key], pilot);
            taken[slots[key]] = true;
        }
    }
    Some(Placement { seed, pilots, keys, slots })
}
