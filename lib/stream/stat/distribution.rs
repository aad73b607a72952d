//! Counts how often each number occurs. Quantiles are exact, and parts add up to the whole.
//!
//! Memory is bounded: if there are more than [`EXACT`] different numbers (scores may have so many, the
//! lengths of real datasets do not), only the leading bits of each are kept, and a quantile is at most
//! 1/1024 too small. Whether it is exact depends only on the numbers, not on their order or their
//! division into parts.

use std::collections::BTreeMap;
use std::iter::{once, successors};

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

/// The most different numbers that are counted separately.
const EXACT: usize = 1 << 16;
/// How many bits of a number are kept if there are more different numbers.
const KEPT_BITS: u32 = 11;
/// Numbers below this, as most lengths are, are counted in a table. The table is small, since for each batch
/// one is added to another.
const TABLE: u64 = 1 << 12;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(into = "DistributionJson", try_from = "DistributionJson")]
pub struct Distribution {
    /// How often each number below [`TABLE`] occurs, up to the last that does.
    table: Vec<u64>,
    /// How often each other number occurs.
    counts: BTreeMap<u64, u64>,
    /// How many different numbers there are.
    different: usize,
    /// Whether the numbers have lost their low bits.
    is_coarse: bool,
    count: u64,
    /// The sum, at most 2^64 - 1.
    sum: u64,
    min: u64,
    max: u64,
}

/// The form of a distribution in JSON, with computed values beside the counts.
#[derive(Serialize, Deserialize)]
struct DistributionJson {
    count: u64,
    sum: u64,
    #[serde(skip_deserializing)]
    mean: Option<f64>,
    min: Option<u64>,
    #[serde(skip_deserializing)]
    median: Value,
    #[serde(skip_deserializing)]
    p90: Value,
    #[serde(skip_deserializing)]
    p99: Value,
    max: Option<u64>,
    exact: bool,
    counts: Vec<(u64, u64)>,
}

impl Distribution {
    pub fn add(&mut self, number: u64) {
        self.add_many(number, 1);
    }

    fn add_many(&mut self, number: u64, times: u64) {
        self.min = if self.count == 0 { number } else { self.min.min(number) };
        self.max = self.max.max(number);
        self.count = self.count.saturating_add(times);
        self.sum = self.sum.saturating_add(number.saturating_mul(times));
        self.insert(number, times);
    }

    fn insert(&mut self, number: u64, times: u64) {
        let number = if self.is_coarse { coarse(number) } else { number };
        let count = if number < TABLE {
            let place = number as usize;
            if place >= self.table.len() {
                self.table.resize(place + 1, 0);
            }
            &mut self.table[place]
        } else {
            self.counts.entry(number).or_default()
        };
        self.different += usize::from(*count == 0);
        *count = count.saturating_add(times);
        self.bound();
    }

    /// Drops the low bits of all numbers, if too many are different.
    fn bound(&mut self) {
        if self.is_coarse || self.different <= EXACT {
            return;
        }
        let exact: Vec<(u64, u64)> = self.counts().collect();
        (self.is_coarse, self.different) = (true, 0);
        self.table.clear();
        self.counts.clear();
        exact.into_iter().for_each(|(number, times)| self.insert(number, times));
    }

    pub fn merge(&mut self, other: Distribution) {
        if other.count == 0 {
            return;
        }
        if other.is_coarse && !self.is_coarse {
            let own = std::mem::replace(self, other);
            return self.merge(own);
        }
        self.min = if self.count == 0 { other.min } else { self.min.min(other.min) };
        self.max = self.max.max(other.max);
        self.count = self.count.saturating_add(other.count);
        self.sum = self.sum.saturating_add(other.sum);
        if self.is_coarse && !other.is_coarse {
            return other.counts().for_each(|(number, times)| self.insert(number, times));
        }
        if self.table.len() < other.table.len() {
            self.table.resize(other.table.len(), 0);
        }
        for (own, times) in self.table.iter_mut().zip(&other.table) {
            self.different += usize::from(*own == 0 && *times > 0);
            *own = own.saturating_add(*times);
        }
        other.counts.into_iter().for_each(|(number, times)| self.insert(number, times));
        self.bound();
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn sum(&self) -> u64 {
        self.sum
    }

    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Returns each number and how often it occurs, ascending.
    pub fn counts(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let of_table = (0..).zip(self.table.iter().copied()).filter(|(_, times)| *times > 0);
        of_table.chain(self.counts.iter().map(|(number, times)| (*number, *times)))
    }

    /// Returns the quantile of `hundredths`; between two numbers it is linear, as NumPy's default.
    pub fn percentile(&self, hundredths: u64) -> Option<f64> {
        let last = u128::from(self.count.checked_sub(1)?);
        let place = last * u128::from(hundredths);
        let (below, part) = ((place / 100) as u64, (place % 100) as f64);
        let mut numbers = self.counts();
        let mut passed = 0u64;
        let (low, high) = loop {
            let (number, times) = numbers.next()?;
            passed = passed.saturating_add(times);
            if passed > below {
                let after = numbers.next().filter(|_| passed == below + 1);
                break (number as f64, after.map_or(number, |(next, _)| next) as f64);
            }
        };
        // As NumPy does, the sum begins with the nearer of the two numbers.
        Some(if part < 50.0 {
            low + (high - low) * (part / 100.0)
        } else {
            high - (high - low) * ((100.0 - part) / 100.0)
        })
    }

    /// Returns at most `most` bars that hold all numbers (one more if they are of equal width). A bar has its
    /// first number, its last number, and how many numbers it holds. Bars are of equal width unless most
    /// numbers would be in the first few bars (a long tail): then each bar is about twice as wide as the one
    /// before, or wider.
    pub fn histogram(&self, most: u64) -> Vec<(u64, u64, u64)> {
        if self.count == 0 || most == 0 {
            return Vec::new();
        }
        let width = round((self.max - self.min) / most + 1);
        if self.has_long_tail(most) {
            let mut series = SERIES.iter().map(|series| self.widening(series));
            if let Some((firsts, last)) = series.find(|bars| bars.0.len() as u64 <= most) {
                return self.bars(&firsts, last);
            }
        }
        let start = self.min / width * width;
        let firsts = (0..=most).map_while(|bar| start.checked_add(bar.checked_mul(width)?));
        let firsts: Vec<u64> = firsts.take_while(|first| *first <= self.max).collect();
        let last = firsts.last().map_or(0, |first| first.saturating_add(width - 1));
        self.bars(&firsts, last)
    }

    /// Whether nine numbers in ten are in the first quarter of the range between the least and the largest,
    /// and the range has more than `most` numbers. Bars of equal width would then show little.
    pub(super) fn has_long_tail(&self, most: u64) -> bool {
        let range = self.max.saturating_sub(self.min);
        let p90 = self.percentile(90).unwrap_or(0.0);
        range > most && (p90 - self.min as f64) * LONG_TAIL < range as f64
    }

    /// Returns the first numbers of bars that begin with the numbers of a series (see [`SERIES`]),
    /// and the last number of the last bar.
    fn widening(&self, (factors, step): &(&[u64], u64)) -> (Vec<u64>, u64) {
        let powers = successors(Some(1u64), |power| power.checked_mul(*step));
        let series =
            powers.flat_map(|power| factors.iter().map_while(move |f| power.checked_mul(*f)));
        let mut firsts = vec![0];
        for first in series {
            if first > self.max {
                return (firsts, first - 1);
            }
            if first <= self.min {
                firsts.clear();
            }
            firsts.push(first);
        }
        (firsts, u64::MAX)
    }

    fn bars(&self, firsts: &[u64], last: u64) -> Vec<(u64, u64, u64)> {
        let lasts = firsts.iter().skip(1).map(|first| first - 1).chain(once(last));
        let mut bars: Vec<(u64, u64, u64)> =
            firsts.iter().zip(lasts).map(|(first, last)| (*first, last, 0)).collect();
        let mut bar = 0;
        for (number, times) in self.counts() {
            while bars.get(bar + 1).is_some_and(|next| next.0 <= number) {
                bar += 1;
            }
            if let Some(bar) = bars.get_mut(bar) {
                bar.2 += times;
            }
        }
        bars
    }
}

/// The first numbers of widening bars: 0, the numbers in the list, and their products with all powers of the
/// number after the list. The first series that has few enough bars is taken.
const SERIES: [(&[u64], u64); 5] =
    [(&[1, 2, 5], 10), (&[1, 3], 10), (&[1], 10), (&[1], 100), (&[1], 10_000)];
/// The tail is long if nine numbers in ten are in the first of this many parts of their range.
const LONG_TAIL: f64 = 4.0;

/// Returns a number without its low bits.
fn coarse(number: u64) -> u64 {
    let dropped = (u64::BITS - number.leading_zeros()).saturating_sub(KEPT_BITS);
    number >> dropped << dropped
}

/// Returns the least of 1, 2, 5, 10, 20, 50, ... that is not less than `width`.
pub(super) fn round(width: u64) -> u64 {
    let mut step = 1u64;
    loop {
        for factor in [1, 2, 5] {
            match step.checked_mul(factor) {
                Some(rounded) if rounded >= width => return rounded,
                Some(_) => {}
                None => return width,
            }
        }
        step = match step.checked_mul(10) {
            Some(step) => step,
            None => return width,
        };
    }
}

/// Returns a number as JSON has it: an integer if it is whole.
pub fn number(value: Option<f64>) -> Value {
    let Some(value) = value else { return Value::Null };
    if value.fract() == 0.0 && value.abs() < 9e15 {
        return Value::from(value as i64);
    }
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

impl From<Distribution> for DistributionJson {
    fn from(of: Distribution) -> DistributionJson {
        DistributionJson {
            count: of.count,
            sum: of.sum,
            mean: of.mean(),
            min: of.min(),
            median: number(of.percentile(50)),
            p90: number(of.percentile(90)),
            p99: number(of.percentile(99)),
            max: of.max(),
            exact: !of.is_coarse,
            counts: of.counts().collect(),
        }
    }
}

impl TryFrom<DistributionJson> for Distribution {
    type Error = String;

    fn try_from(written: DistributionJson) -> Result<Distribution, String> {
        let DistributionJson { count, sum, min, max, exact, counts, .. } = written;
        let all = counts.iter().try_fold(0u64, |all, (_, times)| all.checked_add(*times));
        if all != Some(count) || min.is_some() != (count > 0) || max.is_some() != (count > 0) {
            return Err(format!("its counts are not of {count} numbers"));
        }
        let (min, max) = (min.unwrap_or(0), max.unwrap_or(0));
        let mut read = Distribution { is_coarse: !exact, count, sum, min, max, ..<_>::default() };
        counts.into_iter().for_each(|(number, times)| read.insert(number, times));
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(numbers: impl IntoIterator<Item = u64>) -> Distribution {
        let mut all = Distribution::default();
        numbers.into_iter().for_each(|number| all.add(number));
        all
    }

    #[test]
    fn quantiles_are_numpy_s() {
        let all = of([3, 1, 2, 10]);
        assert_eq!([50, 90, 99].map(|p| all.percentile(p)), [Some(2.5), Some(7.9), Some(9.79)]);
        assert_eq!((all.min(), all.max(), all.sum()), (Some(1), Some(10), 16));
        assert_eq!(of([]).percentile(50), None);
        assert_eq!(of([7]).percentile(99), Some(7.0));
    }

    /// Exact or not, the parts give the same as the whole in any order, and JSON keeps all of it.
    #[test]
    fn parts_add_up() {
        for count in [10u64, 1000, 70_000, 200_000] {
            let numbers = |part: u64| (0..count).filter(move |n| n % 3 == part).map(|n| n * n);
            let whole = of((0..count).map(|n| n * n));
            for order in [[0, 1, 2], [2, 0, 1]] {
                let mut merged = Distribution::default();
                order.iter().for_each(|part| merged.merge(of(numbers(*part))));
                assert_eq!(merged, whole);
            }
            assert_eq!(whole.is_coarse, count > EXACT as u64);
            assert_eq!(whole.different, whole.counts().count());
            assert!(whole.different <= EXACT);
            let text = serde_json::to_string(&whole).unwrap();
            assert_eq!(serde_json::from_str::<Distribution>(&text).unwrap(), whole);
            let median = whole.percentile(50).unwrap();
            // The mean of the two numbers in the middle.
            let exact =
                [(count - 1) / 2, count / 2].map(|n| (n * n) as f64).iter().sum::<f64>() / 2.0;
            assert!(median <= exact && median >= exact * (1.0 - 1.0 / 1024.0), "{median} {exact}");
            assert!(whole.is_coarse || median == exact);
        }
    }

    #[test]
    fn bars_hold_everything() {
        for numbers in [vec![5], vec![0, 1, 2], (0..1000).collect(), vec![0, u64::MAX]] {
            let bars = of(numbers.iter().copied()).histogram(10);
            assert_eq!(bars.iter().map(|bar| bar.2).sum::<u64>(), numbers.len() as u64);
            assert!(bars.len() <= 11, "{bars:?}");
            assert!(bars.windows(2).all(|pair| pair[0].1 + 1 == pair[1].0), "{bars:?}");
        }
    }

    /// A few numbers far away do not push all others into one bar.
    #[test]
    fn bars_fit_a_long_tail() {
        let firsts = |numbers: &mut dyn Iterator<Item = u64>, most: u64| {
            let all = of(numbers);
            let bars = all.histogram(most);
            assert_eq!(bars.iter().map(|bar| bar.2).sum::<u64>(), all.count());
            assert!(bars.len() as u64 <= most + 1, "{bars:?}");
            bars.iter().map(|bar| bar.0).collect::<Vec<u64>>()
        };
        assert_eq!(firsts(&mut (0..=1100), 12), (0..12).map(|n| n * 100).collect::<Vec<_>>());
        let tail = firsts(&mut (60..=600).chain([30_000]), 12);
        assert_eq!(tail, [50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000]);
        assert_eq!(
            firsts(&mut (0..9).chain([0, 0, 1_000_000]), 8),
            [0, 1, 10, 100, 1000, 10_000, 100_000, 1_000_000]
        );
        let longest = of((0..99).chain([u64::MAX])).histogram(12);
        assert_eq!((longest[0], longest.last().unwrap().1), ((0, 0, 1), u64::MAX));
    }
}
