//! Words already encoded that are longer than a key or have more tokens than an entry of the
//! word cache. They are one after the other in a room of fixed size; when it is full, all are
//! dropped. This changes the speed of the encoder, never its output.

/// Bytes for words and tokens.
const ROOM: usize = 1 << 19;
/// A word in the room begins at a multiple of this.
const UNIT: usize = 4;
/// Sets of four places, the newest first.
const SETS: usize = 1 << 13;
const WAYS: usize = 4;
/// A place has the word's position in units below, and above it bits of its hash.
const POSITION_BITS: u32 = (ROOM / UNIT).trailing_zeros();
/// The longest word, and the most tokens.
const MOST: usize = 1 << 10;

pub struct RareCache {
    places: Vec<u32>,
    /// For each word its length and the number of its tokens in two bytes each, the word, and
    /// its tokens in four bytes each.
    room: Vec<u8>,
    /// Where the next word goes; nothing is at 0, so that no place is 0.
    end: usize,
}

impl RareCache {
    pub fn new() -> Self {
        // Zeroed by the system when they are touched.
        Self { places: vec![0; SETS * WAYS], room: vec![0; ROOM], end: UNIT }
    }

    #[inline]
    fn mark(hash: u64) -> u32 {
        (hash >> 32) as u32 >> POSITION_BITS
    }

    /// Appends the tokens of the word if it is here.
    #[inline]
    pub fn get(&self, word: &[u8], hash: u64, out: &mut Vec<i32>) -> bool {
        let Some(tokens) = self.find(word, hash) else { return false };
        out.extend(tokens.iter().map(|&token| i32::from_le_bytes(token)));
        true
    }

    pub fn has(&self, word: &[u8], hash: u64) -> bool {
        self.find(word, hash).is_some()
    }

    #[inline]
    fn find(&self, word: &[u8], hash: u64) -> Option<&[[u8; 4]]> {
        let (sets, _) = self.places.as_chunks::<WAYS>();
        let mark = Self::mark(hash);
        let places = sets[hash as usize % SETS].iter();
        places
            .filter(|&place| place >> POSITION_BITS == mark)
            .find_map(|&place| self.tokens(place, word))
    }

    #[inline]
    fn tokens(&self, place: u32, word: &[u8]) -> Option<&[[u8; 4]]> {
        let at = (place as usize % (ROOM / UNIT)) * UNIT;
        let (&[low, high, count_low, count_high], rest) =
            self.room.get(at..)?.split_first_chunk()?;
        // A place that was never taken leads to the start of the room, where there is no word.
        if at == 0 || u16::from_le_bytes([low, high]) as usize != word.len() {
            return None;
        }
        let (bytes, rest) = rest.split_at_checked(word.len())?;
        let count = u16::from_le_bytes([count_low, count_high]) as usize;
        if bytes != word { None } else { rest.as_chunks().0.get(..count) }
    }

    pub fn put(&mut self, word: &[u8], hash: u64, tokens: &[i32]) {
        if word.len() > MOST || tokens.len() > MOST {
            return;
        }
        let size = (4 + word.len() + 4 * tokens.len()).next_multiple_of(UNIT);
        if self.end + size > ROOM {
            self.places.fill(0);
            self.end = UNIT;
        }
        let at = self.end;
        self.end += size;
        let (head, rest) = self.room[at..at + size].split_at_mut(4);
        head[..2].copy_from_slice(&(word.len() as u16).to_le_bytes());
        head[2..].copy_from_slice(&(tokens.len() as u16).to_le_bytes());
        let (bytes, rest) = rest.split_at_mut(word.len());
        bytes.copy_from_slice(word);
        for (place, token) in rest.as_chunks_mut().0.iter_mut().zip(tokens) {
            *place = token.to_le_bytes();
        }
        let place = Self::mark(hash) << POSITION_BITS | (at / UNIT) as u32;
        let (sets, _) = self.places.as_chunks_mut::<WAYS>();
        let set = &mut sets[hash as usize % SETS];
        set.copy_within(..WAYS - 1, 1);
        set[0] = place;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back_whole_or_not_at_all() {
        let mut cache = RareCache::new();
        let mut out = vec![5];
        assert!(!cache.get(b"a long word indeed", 3, &mut out));
        assert!(!cache.get(b"", 3, &mut out));
        cache.put(b"a long word indeed", 3, &[1, 2, -3]);
        assert!(!cache.get(b"a long word indeee", 3, &mut out));
        assert!(!cache.get(b"a long word", 3, &mut out));
        assert!(!cache.get(b"a long word indeed", 3 | 1 << 63, &mut out));
        assert!(cache.get(b"a long word indeed", 3, &mut out));
        assert_eq!(out, [5, 1, 2, -3]);
        // A word that is too long or has too many tokens is not kept.
        cache.put(&[7; MOST + 1], 4, &[1]);
        assert!(!cache.get(&[7; MOST + 1], 4, &mut out));
        cache.put(b"x", 4, &[1; MOST + 1]);
        assert!(!cache.get(b"x", 4, &mut out));
        cache.put(&[7; MOST], 4, &[1; MOST]);
        assert!(cache.get(&[7; MOST], 4, &mut out));
    }

    #[test]
    fn a_full_room_forgets_and_never_mixes() {
        let mut cache = RareCache::new();
        for number in 0..100_000u32 {
            let (word, tokens) = (format!("word {number}"), [number as i32; 5]);
            let hash = u64::from(number % 97) << 2 | u64::from(number) << 60;
            let mut out = Vec::new();
            assert!(!cache.get(word.as_bytes(), hash, &mut out));
            cache.put(word.as_bytes(), hash, &tokens);
            assert!(cache.get(word.as_bytes(), hash, &mut out));
            assert_eq!(out, tokens);
        }
    }
}
