//! Encodes a text with its segments. What is trained on must begin and end between two tokens. If the tokenizer
//! puts a token across such a place, the text is cut there and encoded in pieces, as prompt and answer are at
//! inference.

use std::ops::Range;

use gristmill_models::{EncodeError, Encoder, Special};

/// A segment of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextSegment {
    /// Its bytes; segments follow one another and cover the text.
    pub bytes: Range<usize>,
    /// Whether it is trained on.
    pub is_target: bool,
}

/// A piece of a text that is encoded by itself: from `start` to the next piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    pub start: usize,
    /// The added token that it spells, if it is text all the same.
    pub token: Option<u32>,
}

/// The tokens of a text, by segment.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct EncodedText {
    /// The tokens of each segment, counted from the first token of the text.
    pub segments: Vec<Range<usize>>,
    /// How many places were inside a token, and were cut.
    pub cuts: u64,
}

/// Appends the tokens of a text. `pieces` are those behind the first; `ends` is memory that is reused.
pub fn encode(
    encoder: &mut Encoder,
    text: &str,
    (segments, pieces): (&[TextSegment], &[Piece]),
    tokens: &mut Vec<i32>,
    ends: &mut Vec<usize>,
) -> Result<EncodedText, EncodeError> {
    let first = tokens.len();
    ends.clear();
    encode_pieces(encoder, text, (pieces, &[]), tokens, ends)?;
    let wanted = boundaries(segments, text.len());
    let mut cuts: Vec<usize> = Vec::new();
    loop {
        let inside = |place: &&usize| !is_between(ends, **place);
        let before = cuts.len();
        cuts.extend(wanted.iter().filter(inside));
        if cuts.len() == before {
            break;
        }
        // (What is cut may move the tokens before the next place.)
        cuts.sort_unstable();
        cuts.dedup();
        if cuts.len() == before {
            break;
        }
        tokens.truncate(first);
        ends.clear();
        encode_pieces(encoder, text, (pieces, &cuts), tokens, ends)?;
    }
    let count = ends.len();
    let mut start = 0;
    let mut ranges = Vec::with_capacity(segments.len());
    for (number, segment) in segments.iter().enumerate() {
        let end = match number + 1 == segments.len() {
            true => count,
            false => first_from(ends, segment.bytes.end).max(start),
        };
        ranges.push(start..end);
        start = end;
    }
    Ok(EncodedText { segments: ranges, cuts: cuts.len() as u64 })
}

/// Encodes the pieces of a text, which is cut at more places.
fn encode_pieces(
    encoder: &mut Encoder,
    text: &str,
    (pieces, cuts): (&[Piece], &[usize]),
    tokens: &mut Vec<i32>,
    ends: &mut Vec<usize>,
) -> Result<(), EncodeError> {
    if pieces.is_empty() {
        encoder.encode_pieces(text, cuts, Special::Tokens, tokens, ends)?;
        return Ok(());
    }
    let mut start = 0;
    for number in 0..=pieces.len() {
        let piece = number.checked_sub(1).map(|number| pieces[number]);
        let end = pieces.get(number).map_or(text.len(), |next| next.start);
        let cuts: Vec<usize> =
            cuts.iter().copied().filter(|cut| start < *cut && *cut < end).collect();
        let (first, first_end) = (tokens.len(), ends.len());
        let head = cuts.first().map_or(end, |cut| *cut);
        match piece {
            None => encoder.encode_with_ends(&text[..head], Special::Tokens, tokens, ends)?,
            Some(Piece { token, .. }) => {
                let special = if token.is_some() { Special::Plain } else { Special::Tokens };
                encoder.encode_within(&text[start..head], special, tokens, ends)?;
                if let Some(id) = token
                    && tokens[first..].contains(&(id as i32))
                {
                    let token = &text[start..head];
                    let cause = "is a token also where it is encoded as text; try: --special token";
                    return Err(EncodeError(format!("{token} {cause}")));
                }
            }
        }
        ends[first_end..].iter_mut().for_each(|place| *place += start);
        start = end;
        for (number, cut) in cuts.iter().enumerate() {
            let first_end = ends.len();
            let end = cuts.get(number + 1).copied().unwrap_or(end);
            encoder.encode_with_ends(&text[*cut..end], Special::Tokens, tokens, ends)?;
            ends[first_end..].iter_mut().for_each(|place| *place += cut);
        }
    }
    Ok(())
}

/// Returns the places at which what is trained on begins or ends.
fn boundaries(segments: &[TextSegment], length: usize) -> Vec<usize> {
    let mut places = Vec::new();
    let mut was_target = false;
    for segment in segments {
        if segment.is_target != was_target {
            places.push(segment.bytes.start);
            was_target = !was_target;
        }
    }
    places.retain(|&place| place > 0 && place < length);
    places
}

fn is_between(ends: &[usize], place: usize) -> bool {
    place == 0 || ends.binary_search(&place).is_ok()
}

/// Returns the number of tokens that begin before a place.
fn first_from(ends: &[usize], place: usize) -> usize {
    let before = ends.partition_point(|&end| end <= place);
    // A token across the place belongs to the part in which it begins.
    let is_across = before < ends.len() && !is_between(ends, place);
    before + usize::from(is_across)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(bytes: Range<usize>, is_target: bool) -> TextSegment {
        TextSegment { bytes, is_target }
    }

    #[test]
    fn what_is_trained_on_has_places() {
        let segments = [
            segment(0..3, false),
            segment(3..5, false),
            segment(5..8, true),
            segment(8..9, true),
            segment(9..12, false),
        ];
        assert_eq!(boundaries(&segments, 12), [5, 9]);
        assert_eq!(boundaries(&segments[2..], 12), [5, 9]);
        assert_eq!(boundaries(&[segment(0..4, true)], 4), [0usize; 0]);
    }

    #[test]
    fn a_token_across_a_place_belongs_to_what_it_begins_in() {
        let ends = [2, 5, 5, 7];
        assert_eq!(
            [0, 1, 2, 3, 5, 6, 7].map(|place| first_from(&ends, place)),
            [0, 1, 1, 2, 3, 4, 4]
        );
        assert!(is_between(&ends, 0) && is_between(&ends, 5) && !is_between(&ends, 6));
    }
}
