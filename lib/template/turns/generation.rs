//! What `{% generation %}` of a template names, beside what is found.

use std::ops::Range;

use super::TrustGeneration;
use crate::error::Error;

/// Returns the range of a turn: as it was found if the template names the same, or else as `trust` says.
pub fn agreed(
    message: usize,
    said: Range<usize>,
    generations: &[Range<usize>],
    trust: TrustGeneration,
) -> Result<Range<usize>, Error> {
    let generations = merged(generations);
    if trust == TrustGeneration::No || generations.contains(&said) {
        return Ok(said);
    }
    let overlaps = |range: &&Range<usize>| range.start < said.end && said.start < range.end;
    let mut within = generations.iter().filter(overlaps);
    let (first, second) = (within.next(), within.next());
    let stated = match (first, second) {
        (Some(range), None) if trust == TrustGeneration::Yes => return Ok(range.clone()),
        (None, _) => "{% generation %} names none".to_string(),
        (Some(range), _) => {
            format!("{{% generation %}} names the bytes {} to {}", range.start, range.end)
        }
    };
    let cause = format!("the turn is the bytes {} to {}, and {stated}", said.start, said.end);
    Err(Error::Generation { message, cause })
}

/// Joins ranges that touch, and drops empty ones.
fn merged(ranges: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut merged: Vec<Range<usize>> = Vec::new();
    for range in ranges.iter().filter(|range| !range.is_empty()) {
        match merged.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => merged.push(range.clone()),
        }
    }
    merged
}
