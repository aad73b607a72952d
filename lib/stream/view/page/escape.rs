//! Text of the data on a page: never markup, and nothing in it that a reader cannot see.

use serde_json::Value;

/// Replaces each character that is invisible, or that changes the text around it, by a visible one.
/// Line feeds and tabs stay.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => out.push(character),
            other => crate::visible::visible(other).push_to(&mut out),
        }
    }
    out
}

/// Escapes a text for an element, or for the value of an attribute in quotes.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in visible(text).chars() {
        match character {
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '&' => out += "&amp;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            other => out.push(other),
        }
    }
    out
}

/// Escapes at most `most` characters of a text, and says how many are left out.
pub fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => escaped(&text[..end]) + "…",
        None => escaped(text),
    }
}

/// Writes a value for a script element: without `<` no tag and no comment begins or ends.
pub fn script_json(value: &Value) -> String {
    value.to_string().replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_markup_is_left() {
        let hostile = "<script>&'\"</style>\0\u{202e}\u{2028}\u{e0041}";
        assert_eq!(
            escaped(hostile),
            "&lt;script&gt;&amp;&#39;&quot;&lt;/style&gt;␀&lt;U+202E&gt;&lt;U+2028&gt;&lt;U+E0041&gt;"
        );
        assert_eq!(cut("ab<d", 3), "ab&lt;…");
        assert_eq!(cut("abc", 3), "abc");
    }

    #[test]
    fn json_in_a_script_ends_nothing() {
        let value = Value::from("</script><!-- \0");
        let text = script_json(&value);
        assert!(!text.contains('<'));
        assert_eq!(serde_json::from_str::<Value>(&text).ok(), Some(value));
    }
}
