//! Both sides, aligned.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use arrow_array::UInt64Array;
use arrow_select::take::take_record_batch;

use super::moved::MovedRecords;
use super::parts::{ComparedRows, DiffKind, PARTS};
use super::side::Side;
use super::waiting::{WINDOW, WaitingRecord, WaitingRecords};
use crate::check::repeats::Repeats;
use crate::cli::Progress;
use crate::error::{Error, Result};
use crate::record::plural_of;
use crate::stream::Reader;

/// How many moved records are kept to find pairs that were swapped.
const MOVED: usize = 1000;

/// What counts as a difference, and how many differences are shown.
#[derive(Debug, Clone, Copy)]
pub struct DiffOptions {
    /// Whether a different encoding counts as a difference.
    pub strict: bool,
    /// The most differences that are shown.
    pub most: usize,
}

/// The result of a comparison.
#[derive(Debug, Default)]
pub struct DiffResult {
    pub record: &'static str,
    pub by_id: bool,
    /// The number of records on each side.
    pub records: [u64; 2],
    /// The encodings of the inputs, if a format has several: the type of numbers, the layout.
    pub encodings: [String; 2],
    /// How many pairs of partners differ in a part.
    pub changed: u64,
    /// The number of differences by kind.
    pub counts: BTreeMap<&'static str, u64>,
    /// How many differences of the kind `order` are pairs of records that stand in each other's place.
    pub swapped: u64,
    /// The first differences.
    pub first: Vec<Difference>,
    /// Whether equal records are written differently.
    pub is_rewritten: bool,
    pub is_strict: bool,
}

/// One difference.
#[derive(Debug)]
pub struct Difference {
    pub kind: &'static str,
    pub id: Option<String>,
    /// The record's numbers on both sides, from 0.
    pub numbers: [Option<u64>; 2],
    pub lines: Vec<String>,
}

pub const ONLY: [&str; 2] = ["only in A", "only in B"];
pub const ORDER: &str = "order";

/// Compares all records of two readers.
pub fn compare(
    readers: [Reader; 2],
    options: DiffOptions,
    progress: &mut Progress,
) -> Result<DiffResult> {
    compare_within(WINDOW, readers, options, progress)
}

/// Compares all records of two readers; at most `window` records of a side wait for their partners.
pub fn compare_within(
    window: usize,
    readers: [Reader; 2],
    options: DiffOptions,
    progress: &mut Progress,
) -> Result<DiffResult> {
    let [a, b] = readers;
    let mut sides = [Side::open(a)?, Side::open(b)?];
    let [a, b] = [sides[0].record, sides[1].record];
    if a != b {
        return Err(Error::usage(format!("A has {} and B {}", plural_of(a), plural_of(b))));
    }
    let is_stated = !sides.iter().any(Side::derives);
    let mut by_id = true;
    for side in &mut sides {
        side.is_stated = is_stated;
        let has_id = side.fill()? && side.pair(side, false)?.id(0, 0).is_some();
        by_id &= has_id;
    }
    let found = DiffResult { record: a, by_id, is_strict: options.strict, ..DiffResult::default() };
    let mut comparison = Comparison {
        most: options.most,
        window,
        sides,
        waiting: <_>::default(),
        last: [-1, -1],
        offsets: vec![(0, 0)],
        moved: Vec::new(),
        spilled: None,
        found,
    };
    comparison.run(progress)?;
    comparison.finish()
}

struct Comparison {
    most: usize,
    window: usize,
    sides: [Side; 2],
    waiting: [WaitingRecords; 2],
    /// The numbers of the last two partners that are in order.
    last: [i64; 2],
    /// Pairs of a record number in A and an offset: from this record on, partners stand this much earlier in B.
    offsets: Vec<(u64, i64)>,
    /// Partners that are not in order.
    moved: Vec<[u64; 2]>,
    /// Records that have waited too long, as hashes of their ids, and of their ids and content.
    spilled: Option<SpilledRecords>,
    found: DiffResult,
}

#[derive(Default)]
struct SpilledRecords {
    ids: Repeats,
    contents: Repeats,
    counts: [u64; 2],
}

impl Comparison {
    fn run(&mut self, progress: &mut Progress) -> Result<()> {
        loop {
            let has = [self.sides[0].fill()?, self.sides[1].fill()?];
            let next = [self.sides[0].number, self.sides[1].number];
            let ahead = [0, 1].map(|side| next[side] as i64 - 1 - self.last[side]);
            if has == [true, true] && ahead == [0, 0] {
                let equal = self.lockstep()?;
                if equal > 0 {
                    progress.add(equal, 0);
                    continue;
                }
            }
            let side = match has {
                [false, false] => return Ok(()),
                [true, false] => 0,
                [false, true] => 1,
                [true, true] => usize::from(ahead[1] < ahead[0]),
            };
            self.take(side)?;
            progress.add(1, 0);
            if self.waiting.iter().any(|waiting| waiting.len() > self.window) {
                self.settle()?;
                self.last = [0, 1].map(|side| self.sides[side].number as i64 - 1);
                self.align();
            }
        }
    }

    /// Skips partners that follow one another, as far as both batches go; returns how many.
    fn lockstep(&mut self) -> Result<u64> {
        let [a, b] = &self.sides;
        if let Some(equal) = a.equal_columns(b) {
            return Ok(self.pass(equal));
        }
        let pair = a.pair(b, self.found.is_strict)?;
        let first = [a.row, b.row];
        let at = |passed: usize| first.map(|row| row + passed);
        let most = (a.batch.num_rows() - a.row).min(b.batch.num_rows() - b.row);
        let (mut passed, mut changed) = (0, None);
        let mut is_rewritten = self.found.is_rewritten;
        while passed < most {
            let rows = at(passed);
            if self.found.by_id && pair.id(0, rows[0]) != pair.id(1, rows[1]) {
                break;
            }
            let is_equal = pair.are_equal(rows)?;
            is_rewritten |= is_equal && pair.are_rewritten(rows);
            if !is_equal {
                let is_partner = self.found.by_id && pair.id(0, rows[0]).is_some();
                changed = is_partner.then_some(passed);
                break;
            }
            passed += 1;
        }
        if let Some(passed) = changed {
            let rows = at(passed);
            let numbers = [0, 1].map(|side| self.sides[side].number + passed as u64);
            let id = pair.id(0, rows[0]).map(str::to_string);
            let hashes = (pair.hashes(0, rows[0])?, pair.hashes(1, rows[1])?);
            let shown = Some((&*pair, rows));
            self.found.changed(self.most, a.kind, hashes, (numbers, id), shown)?;
        }
        drop(pair);
        self.found.is_rewritten = is_rewritten;
        Ok(self.pass(passed + usize::from(changed.is_some())))
    }

    /// Passes over `count` partners.
    fn pass(&mut self, count: usize) -> u64 {
        self.sides.iter_mut().for_each(|side| side.advance(count));
        if count > 0 {
            self.last = [0, 1].map(|side| self.sides[side].number as i64 - 1);
        }
        count as u64
    }

    /// Takes the next record of a side: its partner is waiting, or the record waits itself.
    fn take(&mut self, side: usize) -> Result<()> {
        let own = &self.sides[side];
        let rows = own.pair(own, self.found.is_strict)?;
        let begins = own.begins[own.row];
        let hashes = rows.hashes(0, own.row)?;
        let id = if self.found.by_id { rows.id(0, own.row) } else { None };
        let key = match id {
            Some(id) => wide(&(true, id)),
            None => wide(&(false, &hashes[..own.kind.if_stated()])),
        };
        let partner = self.waiting[1 - side].take(key);
        let is_shown = self.found.first.len() < self.most
            && match &partner {
                Some(partner) => partner.hashes != hashes,
                None => self.waiting[side].keeps_whole(),
            };
        let place = UInt64Array::from(vec![own.row as u64]);
        let whole = is_shown.then(|| take_record_batch(&own.batch, &place)).transpose()?;
        let whole = whole.map(|batch| Box::new((batch, begins)));
        let is_named = partner.is_some() || self.waiting[side].keeps_whole();
        let id = id.filter(|_| is_named).map(Box::from);
        let own = WaitingRecord { number: own.number, key, hashes, whole, id };
        drop(rows);
        self.sides[side].advance(1);
        let Some(partner) = partner else {
            self.waiting[side].push(own);
            return Ok(());
        };
        let [a, b] = if side == 0 { [own, partner] } else { [partner, own] };
        self.changed(&a, &b)?;
        self.partners([a.number, b.number], a.id.or(b.id).map(String::from))
    }

    /// Notes that two records are partners: they are in order, or one of them has moved.
    fn partners(&mut self, numbers: [u64; 2], id: Option<String>) -> Result<()> {
        let places = numbers.map(|number| number as i64);
        if places[0] > self.last[0] && places[1] > self.last[1] {
            self.last = places;
            self.align();
            return Ok(());
        }
        let reversed = [numbers[1], numbers[0]];
        let is_swapped =
            self.last == reversed.map(|number| number as i64) || self.moved.contains(&reversed);
        self.found.swapped += u64::from(is_swapped);
        if self.moved.len() < MOVED {
            self.moved.push(numbers);
        }
        self.found.add(self.most, ORDER, id, numbers.map(Some), || Ok(Vec::new()))
    }

    /// Notes how much earlier the partners stand in B from here on.
    fn align(&mut self) {
        let offset = self.last[0] - self.last[1];
        if self.offsets.last().is_none_or(|(_, known)| *known != offset) {
            self.offsets.push((self.last[0].max(0) as u64, offset));
        }
    }

    /// Decides about all records that still wait.
    fn settle(&mut self) -> Result<()> {
        if self.found.by_id {
            return self.spill();
        }
        self.settle_by_first_part()?;
        while let Some(own) = self.waiting[0].pop() {
            let run = self.offsets.partition_point(|(start, _)| *start < own.number.max(1));
            let offset = self.offsets.get(run.saturating_sub(1)).map_or(0, |run| run.1);
            let place = u64::try_from(own.number as i64 - offset).ok();
            match place.and_then(|place| self.waiting[1].take_number(place)) {
                Some(partner) => self.changed(&own, &partner)?,
                None => self.only(0, own)?,
            }
        }
        while let Some(own) = self.waiting[1].pop() {
            self.only(1, own)?;
        }
        let last = self.offsets.last().copied();
        self.offsets = last.into_iter().collect();
        Ok(())
    }

    /// Finds the partners among the records that still wait of which the first part is equal: rows in another order, and
    /// with other masks.
    fn settle_by_first_part(&mut self) -> Result<()> {
        let mut others: BTreeSet<(u64, u64)> = self.waiting[1].first_parts().collect();
        let mut moved = MovedRecords::default();
        for (part, number) in self.waiting[0].first_parts().collect::<Vec<_>>() {
            let equal = others.range((part, 0)..=(part, u64::MAX)).next().copied();
            let Some(partner) = equal.filter(|partner| others.remove(partner)) else { continue };
            let found = [(0, number), (1, partner.1)]
                .map(|(side, number)| self.waiting[side].take_number(number));
            if let [Some(own), Some(partner)] = found {
                moved.add(partner.number);
                self.changed(&own, &partner)?;
            }
        }
        let moved = moved.finish();
        if moved > 0 {
            *self.found.counts.entry(ORDER).or_default() += moved;
        }
        Ok(())
    }

    /// Counts the parts in which two partners differ, if they do.
    fn changed(&mut self, a: &WaitingRecord, b: &WaitingRecord) -> Result<()> {
        let hashes = (a.hashes, b.hashes);
        let id = a.id.as_deref().or(b.id.as_deref()).map(str::to_string);
        let (kind, is_strict) = (self.sides[0].kind, self.found.is_strict);
        let pair = match (a.whole.as_deref(), b.whole.as_deref()) {
            (Some(x), Some(y)) => {
                let of = |side: usize, (batch, begins)| {
                    self.sides[side].rows_in(batch, std::slice::from_ref(begins), is_strict)
                };
                Some(kind.pair([of(0, (&x.0, &x.1)), of(1, (&y.0, &y.1))])?)
            }
            _ => None,
        };
        let shown = pair.as_deref().map(|pair| (pair, [0, 0]));
        self.found.changed(self.most, kind, hashes, ([a.number, b.number], id), shown)
    }

    fn only(&mut self, side: usize, own: WaitingRecord) -> Result<()> {
        let mut numbers = [None; 2];
        numbers[side] = Some(own.number);
        let id = own.id.map(String::from);
        self.found.add(self.most, ONLY[side], id, numbers, || Ok(Vec::new()))
    }

    /// Stops waiting for partners in memory: from now on they are found by the hashes of their ids.
    fn spill(&mut self) -> Result<()> {
        let spilled = self.spilled.get_or_insert_default();
        for side in 0..2 {
            while let Some(own) = self.waiting[side].pop() {
                spilled.counts[side] += 1;
                spilled.ids.add(own.key, side, own.number)?;
                spilled.contents.add(wide(&(own.key, own.hashes)), side, own.number)?;
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<DiffResult> {
        if self.spilled.is_some() {
            self.spill()?;
        }
        if let Some(SpilledRecords { ids, contents, counts }) = self.spilled.take() {
            // A key has A's number in as many leading bits as it needs, then B's number.
            let mut places = Repeats::default();
            let bits = u64::BITS - self.sides[0].number.leading_zeros();
            let partners = partners_in(ids, |[a, b]| {
                let place = u128::from(a).checked_shl(u128::BITS - bits).unwrap_or(0);
                places.add(place | u128::from(b), 0, 0)
            })?;
            let mut moved = MovedRecords::default();
            places.each_hash(|place| {
                moved.add(place as u64);
                Ok(())
            })?;
            let changed = partners - partners_in(contents, |_| Ok(()))?;
            let found = [counts[0] - partners, counts[1] - partners, changed, moved.finish()];
            self.found.changed += changed;
            for (kind, count) in [ONLY[0], ONLY[1], "content", ORDER].into_iter().zip(found) {
                if count > 0 {
                    *self.found.counts.entry(kind).or_default() += count;
                }
            }
        } else if self.found.by_id {
            for side in 0..2 {
                while let Some(own) = self.waiting[side].pop() {
                    self.only(side, own)?;
                }
            }
        } else {
            self.settle()?;
        }
        self.found.records = [0, 1].map(|side| self.sides[side].number);
        self.found.encodings = [0, 1].map(|side| self.sides[side].encoding());
        self.found
            .first
            .sort_by_key(|difference| difference.numbers[0].or(difference.numbers[1]).unwrap_or(0));
        Ok(self.found)
    }
}

/// Counts the records of one side that have a partner on the other; calls `each` with the numbers
/// of both (not where very many records have one key).
fn partners_in(repeats: Repeats, mut each: impl FnMut([u64; 2]) -> Result<()>) -> Result<u64> {
    let mut partners = 0;
    repeats.candidates(|earlier, places| {
        let [a, b] = [0, 1].map(|side| {
            let all = earlier.iter().chain(places).filter(move |place| place.set == side);
            all.map(|place| place.number)
        });
        let mut pairs = a.zip(b);
        partners += pairs.clone().count() as u64;
        if earlier.is_empty() { pairs.try_for_each(|(a, b)| each([a, b])) } else { Ok(()) }
    })?;
    Ok(partners)
}

/// Returns a hash of 128 bits; equal values have equal hashes within one run.
fn wide(value: &impl Hash) -> u128 {
    let half = |seed: u64| {
        let mut hasher = DefaultHasher::new();
        hasher.write_u64(seed);
        value.hash(&mut hasher);
        u128::from(hasher.finish())
    };
    half(1) << 64 | half(2)
}

impl DiffResult {
    /// Returns how many records have an equal partner.
    pub fn equal(&self) -> u64 {
        let only = self.counts.get(ONLY[0]).copied().unwrap_or(0);
        self.records[0].saturating_sub(only + self.changed)
    }

    /// Whether nothing differs.
    pub fn is_same(&self) -> bool {
        self.counts.is_empty() && !(self.is_strict && self.encodings[0] != self.encodings[1])
    }

    fn add(
        &mut self,
        most: usize,
        kind: &'static str,
        id: Option<String>,
        numbers: [Option<u64>; 2],
        lines: impl FnOnce() -> Result<Vec<String>>,
    ) -> Result<()> {
        let count = self.counts.entry(kind).or_default();
        *count += 1;
        let (is_first, is_full) = (*count == 1, self.first.len() >= most);
        // (The first difference of each kind is shown.)
        let of = |kind: &str| self.first.iter().filter(|of| of.kind == kind).count();
        let replaced = self.first.iter().rposition(|shown| of(shown.kind) > 1);
        match replaced.filter(|_| is_full && is_first) {
            Some(place) => drop(self.first.remove(place)),
            None if is_full => return Ok(()),
            None => {}
        }
        self.first.push(Difference { kind, id, numbers, lines: lines()? });
        Ok(())
    }

    /// Counts the parts in which two partners differ.
    fn changed(
        &mut self,
        most: usize,
        kind: &dyn DiffKind,
        (a, b): ([u64; PARTS], [u64; PARTS]),
        (numbers, id): ([u64; 2], Option<String>),
        pair: Option<(&dyn ComparedRows, [usize; 2])>,
    ) -> Result<()> {
        let before = self.counts.values().sum::<u64>();
        for (place, part) in kind.names().iter().enumerate() {
            let (own, other) = (a[place], b[place]);
            let is_stated = place < kind.if_stated() || (own != 0 && other != 0);
            if own != other && is_stated {
                let lines = || pair.map_or(Ok(Vec::new()), |(pair, rows)| pair.shown(part, rows));
                self.add(most, part, id.clone(), numbers.map(Some), lines)?;
            }
        }
        self.changed += u64::from(self.counts.values().sum::<u64>() > before);
        Ok(())
    }
}
