//! A distribution as it is drawn: bars of equal width on an axis with ticks.

use super::Distribution;
use super::distribution::round;

/// The most ticks of an axis.
const TICKS: usize = 6;

/// A histogram. Places on the axis go from 0 to 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Plot {
    /// Whether equal distances on the axis are equal ratios of numbers (after adding one), not
    /// equal differences.
    pub is_logarithmic: bool,
    pub bars: Vec<Bar>,
    /// Numbers with their places.
    pub ticks: Vec<(u64, f64)>,
    /// The place of the median.
    pub median: f64,
}

/// A bar: its first and last number, how many numbers it holds, and where it begins and ends.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    pub first: u64,
    pub last: u64,
    pub count: u64,
    pub start: f64,
    pub end: f64,
}

/// Maps numbers to places on the axis.
struct Axis {
    is_logarithmic: bool,
    start: f64,
    span: f64,
}

impl Axis {
    fn scaled(&self, number: f64) -> f64 {
        if self.is_logarithmic { number.ln_1p() } else { number }
    }

    fn place(&self, number: f64) -> f64 {
        (self.scaled(number) - self.start) / self.span
    }
}

impl Distribution {
    /// Returns its plot with at most `most` bars; `None` if there is no number.
    pub fn plot(&self, most: u64) -> Option<Plot> {
        let (min, max) = (self.min()?, self.max()?);
        let median = self.percentile(50)?;
        let is_logarithmic = self.has_long_tail(most);
        let (axis, bars) = match is_logarithmic {
            true => {
                let start = (min as f64).ln_1p();
                let span = (max as f64 + 1.0).ln_1p() - start;
                // No bar is narrower than the bar of the first number.
                let narrowest = (min as f64 + 1.0).ln_1p() - start;
                let bars = ((span / narrowest) as u64).clamp(1, most);
                (Axis { is_logarithmic, start, span }, bars)
            }
            false => {
                let width = round(((max - min) / most).saturating_add(1));
                let start = min / width * width;
                let bars = (max - start) / width + 1;
                let span = bars as f64 * width as f64;
                (Axis { is_logarithmic, start: start as f64, span }, bars)
            }
        };
        let last = bars - 1;
        let bar_of = |number: u64| ((axis.place(number as f64) * bars as f64) as u64).min(last);
        let mut drawn: Vec<Bar> = Vec::new();
        for (number, count) in self.counts() {
            let bar = bar_of(number);
            let start = bar as f64 / bars as f64;
            match drawn.last_mut().filter(|last| last.start == start) {
                Some(own) => (own.last, own.count) = (number, own.count + count),
                None => {
                    let end = (bar + 1) as f64 / bars as f64;
                    drawn.push(Bar { first: number, last: number, count, start, end });
                }
            }
        }
        let numbers = if is_logarithmic { powers(min, max) } else { steps(min, max) };
        // The place of a number is the middle of its own bar.
        let middle = |number: f64| axis.place(number + 0.5);
        let ticks = numbers.into_iter().map(|number| (number, middle(number as f64))).collect();
        Some(Plot { is_logarithmic, bars: drawn, ticks, median: middle(median) })
    }
}

/// Returns round numbers at equal distances.
fn steps(min: u64, max: u64) -> Vec<u64> {
    let step = round(((max - min) / (TICKS as u64 - 1)).max(1));
    let first = min.div_ceil(step).saturating_mul(step);
    (0..TICKS as u64)
        .map_while(|tick| first.checked_add(tick.checked_mul(step)?))
        .take_while(|number| *number <= max)
        .collect()
}

/// Returns powers of ten, with twice and five times these if there is room.
fn powers(min: u64, max: u64) -> Vec<u64> {
    let all = |factors: &[u64]| -> Vec<u64> {
        let tens = std::iter::successors(Some(1u64), |power| power.checked_mul(10));
        let numbers = tens.flat_map(|ten| factors.iter().map_while(move |f| ten.checked_mul(*f)));
        let numbers = std::iter::once(0).chain(numbers);
        numbers.skip_while(|number| *number < min).take_while(|number| *number <= max).collect()
    };
    let few = [&[1, 2, 5][..], &[1, 3], &[1]].into_iter().map(all).find(|n| n.len() <= TICKS);
    few.unwrap_or_else(|| {
        let tens = all(&[1]);
        let every = tens.len().div_ceil(TICKS);
        tens.into_iter().step_by(every).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(numbers: impl IntoIterator<Item = u64>) -> Plot {
        let mut distribution = Distribution::default();
        numbers.into_iter().for_each(|number| distribution.add(number));
        distribution.plot(30).unwrap()
    }

    #[test]
    fn bars_are_of_equal_width_and_hold_all_numbers() {
        for numbers in [vec![7], (0..10).collect(), (100..1000).collect(), vec![0, 1, 1, 5, 90_000]]
        {
            let plot = plot(numbers.clone());
            let sum: u64 = plot.bars.iter().map(|bar| bar.count).sum();
            assert_eq!(sum, numbers.len() as u64);
            let width = plot.bars[0].end - plot.bars[0].start;
            assert!(plot.bars.iter().all(|bar| (bar.end - bar.start - width).abs() < 1e-9));
            assert!(plot.bars.len() <= 30);
            assert!(plot.ticks.len() <= TICKS && !plot.ticks.is_empty() || numbers.len() == 1);
            let is_there = |place: f64| (0.0..=1.0).contains(&place);
            assert!(plot.ticks.iter().all(|(_, place)| is_there(*place)) && is_there(plot.median));
        }
    }

    #[test]
    fn a_long_tail_is_drawn_by_ratios() {
        let lengths = (0..1000u64).map(|n| if n % 100 == 0 { 50_000 } else { 300 + n % 60 });
        let of_tail = plot(lengths);
        assert!(of_tail.is_logarithmic && of_tail.bars.len() > 1, "{of_tail:?}");
        assert_eq!(of_tail.ticks[0].0, 300);
        let even = plot(200..1400);
        assert!(!even.is_logarithmic);
        assert_eq!(even.bars.len(), 24);
        assert_eq!((even.bars[0].first, even.bars[0].last), (200, 249));
        assert_eq!(even.ticks.iter().map(|tick| tick.0).collect::<Vec<_>>(), [500, 1000]);
    }
}
