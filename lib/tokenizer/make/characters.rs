//! The table of characters: which characters are tokens, and beside which bytes a merge may take a part of a character
//! before the character is whole.

use super::HashMap;

/// A merge across the border of a character that takes only a part of it.
struct Crossing {
    /// The byte on the other side of the border.
    byte: u8,
    /// Merges with lower ids come first.
    id: u32,
}

pub struct Characters {
    pub table: Vec<u8>,
    pub sets: Vec<u8>,
}

type Pairs = [Option<(u32, u32)>];
/// A set of bytes, one bit each.
type Bytes = [u8; 32];

/// `table` is in two stages: for each 64 code points the number of a block in two bytes; then the
/// blocks, of 64 entries in four bytes each. An entry is the id of the character if it is a token
/// beyond ASCII (else 0: id 0 is no such token), from bit 18 on the number of a set, from bit 25 on
/// the number of another set. `sets` has 32 bytes for each set, with one bit for each byte: after one of the
/// bytes of the first set, and before one of the second, a part of the character may be merged away.
///
/// Merging makes a character from its bytes in steps. It always takes the lowest id, so a merge across
/// a border comes before the next step only if its id is lower.
///
/// Characters of a block that is not `known` (no surrogates) get an entry that is right for every character but slow:
/// no id, and every byte in both sets. Returns `None` if there are too many sets.
pub fn table(tokens: &[&[u8]], pairs: &Pairs, known: impl Fn(u32) -> bool) -> Option<Characters> {
    let steps = Steps::new(tokens, pairs);
    let mut numbers = HashMap::default();
    let mut sets = Vec::new();
    let mut number_of = |set: Bytes| {
        *numbers.entry(set).or_insert_with(|| {
            sets.extend_from_slice(&set);
            sets.len() as u32 / 32 - 1
        })
    };
    // The set without a byte is number 0.
    number_of([0; 32]);
    let every = number_of([0xff; 32]);

    let mut stage_one = Vec::new();
    let mut blocks: Vec<[u32; 64]> = Vec::new();
    let mut places: HashMap<[u32; 64], u16> = HashMap::default();
    let mut most = 0;
    // The place of the block that all characters which are not known have.
    let mut unknown = None;
    for first in (0..0x11_0000).step_by(64) {
        let is_known = first < 0x80 || known(first);
        if let (false, Some(place)) = (is_known, unknown) {
            stage_one.extend_from_slice(&u16::to_le_bytes(place));
            continue;
        }
        let block = std::array::from_fn(|at| {
            let Some(character) = char::from_u32(first + at as u32) else { return 0 };
            if character.is_ascii() {
                return 0;
            }
            if !is_known {
                return every << 18 | every << 25;
            }
            let (id, after, before) = steps.of(character);
            let [after, before] = [after, before].map(&mut number_of);
            most = after.max(before).max(most);
            id | after << 18 | before << 25
        });
        let place = *places.entry(block).or_insert_with(|| {
            blocks.push(block);
            (blocks.len() - 1) as u16
        });
        if !is_known {
            unknown = Some(place);
        }
        stage_one.extend_from_slice(&place.to_le_bytes());
    }
    let mut table = stage_one;
    table.extend(blocks.as_flattened().iter().flat_map(|entry| entry.to_le_bytes()));
    // The numbers of sets have seven bits.
    (most < 128).then_some(Characters { table, sets })
}

struct Steps {
    bytes: [u32; 256],
    /// The id that two parts of a character are merged to.
    merges: HashMap<(u32, u32), u32>,
    /// The merges that may take away a part of a character, by the tokens of its first part and of its last part.
    into_first: HashMap<u32, Vec<Crossing>>,
    into_last: HashMap<u32, Vec<Crossing>>,
}

impl Steps {
    fn new(tokens: &[&[u8]], pairs: &Pairs) -> Steps {
        let mut steps = Steps {
            bytes: [0; 256],
            merges: HashMap::default(),
            into_first: HashMap::default(),
            into_last: HashMap::default(),
        };
        for (id, (token, pair)) in (0..).zip(tokens.iter().zip(pairs)) {
            let &Some((left, right)) = pair else {
                if let [byte] = token[..] {
                    steps.bytes[usize::from(byte)] = id;
                }
                continue;
            };
            if token.len() <= 4 && token[0] >= 0x80 {
                steps.merges.insert((left, right), id);
            }
            let [before, after] = [left, right].map(|part| tokens[part as usize]);
            if is_first_part(after) {
                let byte = before[before.len() - 1];
                steps.into_first.entry(right).or_default().push(Crossing { byte, id });
            }
            if before.iter().all(|&byte| is_continuation(byte)) && !is_continuation(after[0]) {
                steps.into_last.entry(left).or_default().push(Crossing { byte: after[0], id });
            }
        }
        steps
    }

    /// The id of a character, or 0; and the bytes after which and before which a part of it may be
    /// merged away.
    fn of(&self, character: char) -> (u32, Bytes, Bytes) {
        let mut bytes = [0; 4];
        let bytes = character.encode_utf8(&mut bytes).as_bytes();
        let mut parts = [0; 4];
        let mut count = bytes.len();
        for (part, &byte) in parts.iter_mut().zip(bytes) {
            *part = self.bytes[usize::from(byte)];
        }
        let (mut after, mut before) = ([0; 32], [0; 32]);
        while count > 1 {
            let merges = parts[..count].windows(2).zip(0..);
            let next = merges
                .filter_map(|(pair, at)| Some((*self.merges.get(&(pair[0], pair[1]))?, at)))
                .min();
            let limit = next.map_or(u32::MAX, |(id, _)| id);
            let sides = [
                (self.into_first.get(&parts[0]), &mut after),
                (self.into_last.get(&parts[count - 1]), &mut before),
            ];
            for (crossings, set) in sides {
                for crossing in crossings.into_iter().flatten().filter(|other| other.id < limit) {
                    set[usize::from(crossing.byte) / 8] |= 1 << (crossing.byte % 8);
                }
            }
            let Some((id, at)) = next else { return (0, after, before) };
            parts[at] = id;
            parts.copy_within(at + 2..count, at + 1);
            count -= 1;
        }
        (parts[0], after, before)
    }
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

/// Whether these are the first bytes of a character, and not all of it.
fn is_first_part(bytes: &[u8]) -> bool {
    let whole = match bytes[0] {
        0xc2..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0..0xf5 => 4,
        _ => return false,
    };
    bytes.len() < whole && bytes[1..].iter().all(|&byte| is_continuation(byte))
}
