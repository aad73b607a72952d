//! The value of `run.<id>` in `session`: the other fields of the run's sidecar, as JSON.

use crate::game2048::Game;
use crate::json::{self, Reader, Str};

/// Fills a game's fields from the text of a JSON object; members without a field of their own go to
/// `meta`, with their values as they are written.
pub(super) fn fill(game: &mut Game, text: &str) -> Result<(), json::Error> {
    let mut meta = String::new();
    let mut reader = Reader::new(text);
    reader.object(|reader, key: Str<'_>| -> Result<(), json::Error> {
        let value = reader.raw()?;
        let small = |value| json::integer_u64(value);
        let taken = if key.eq_str("depth") && game.depth.is_none() {
            game.depth = small(value).and_then(|n| n.try_into().ok());
            game.depth.is_some()
        } else if key.eq_str("max_rank") && game.max_rank.is_none() {
            game.max_rank = small(value).and_then(|n| n.try_into().ok());
            game.max_rank.is_some()
        } else if key.eq_str("num_moves") && small(value).is_some() {
            // The number is stated only if it differs from the number of rows, which `runs` has.
            game.num_moves = small(value);
            true
        } else if key.eq_str("seconds") && game.seconds.is_none() {
            game.seconds = value.parse().ok().filter(|seconds: &f64| seconds.is_finite());
            game.seconds.is_some()
        } else {
            false
        };
        if !taken {
            meta.push(if meta.is_empty() { '{' } else { ',' });
            meta.extend(["\"", key.raw(), "\":"]);
            // Line breaks can only be between the tokens of JSON; a record is one line.
            meta.extend(value.chars().filter(|c| !matches!(c, '\n' | '\r')));
        }
        Ok(())
    })?;
    reader.end()?;
    if !meta.is_empty() {
        meta.push('}');
    }
    game.meta = meta;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_fields_are_taken_and_the_rest_is_kept_as_written() {
        let mut game = Game::default();
        let text = "{\"depth\": 6, \"seconds\": 1.50,\n \"sum_tile\": 6.1e4, \"max_rank\": 300,\n\
                    \"extra\": {\n\"a\": [1,\n2]}}";
        fill(&mut game, text).unwrap();
        assert_eq!((game.depth, game.seconds, game.max_rank), (Some(6), Some(1.5), None));
        assert_eq!(game.meta, r#"{"sum_tile":6.1e4,"max_rank":300,"extra":{"a": [1,2]}}"#);
        let mut game = Game::default();
        fill(&mut game, "{}").unwrap();
        assert_eq!(game.meta, "");
        for bad in ["", "[]", "3", "{", "{} x"] {
            assert!(fill(&mut Game::default(), bad).is_err(), "{bad}");
        }
    }
}
