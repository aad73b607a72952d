//! Texts as Python's `str` sees them: characters are counted, and Python's idea of a space.

/// `str.isspace` of one character.
pub fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\x1c'..='\x1f').contains(&c)
}

/// `len(text)`.
pub fn length(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().count() }
}

/// The byte at which a character begins; the end of the text if there are fewer.
pub fn byte_of(text: &str, character: usize) -> usize {
    if text.is_ascii() {
        return character.min(text.len());
    }
    text.char_indices().nth(character).map_or(text.len(), |(at, _)| at)
}

/// `text.splitlines(keepends)`.
pub fn lines(text: &str, keeps_ends: bool) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut start = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let ends = matches!(
            c,
            '\n' | '\r' | '\x0b' | '\x0c' | '\x1c'..='\x1e' | '\u{85}' | '\u{2028}' | '\u{2029}'
        );
        if !ends {
            continue;
        }
        let mut after = at + c.len_utf8();
        if c == '\r' && chars.next_if(|(_, next)| *next == '\n').is_some() {
            after += 1;
        }
        lines.push(&text[start..if keeps_ends { after } else { at }]);
        start = after;
    }
    if start < text.len() {
        lines.push(&text[start..]);
    }
    lines
}

/// `text.capitalize()`.
pub fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => titled(first) + &chars.as_str().to_lowercase(),
        None => String::new(),
    }
}

/// The title case of a character, which differs from upper case for ligatures and digraphs.
pub fn titled(c: char) -> String {
    match c {
        'Ǆ'..='ǆ' => "ǅ".into(),
        'Ǉ'..='ǉ' => "ǈ".into(),
        'Ǌ'..='ǌ' => "ǋ".into(),
        'Ǳ'..='ǳ' => "ǲ".into(),
        'ა'..='ჺ' | 'ჽ'..='ჿ' => c.into(),
        c => {
            let upper: Vec<char> = c.to_uppercase().collect();
            match upper.split_first() {
                Some((first, rest)) if !rest.is_empty() => {
                    rest.iter().fold(String::from(*first), |mut text, c| {
                        text.extend(c.to_lowercase());
                        text
                    })
                }
                _ => upper.into_iter().collect(),
            }
        }
    }
}

/// `text.title()`.
pub fn title(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut is_in_word = false;
    for c in text.chars() {
        let is_cased = c.is_lowercase() || c.is_uppercase() || is_title_case(c);
        if is_in_word {
            out.extend(c.to_lowercase());
        } else {
            out.push_str(&titled(c));
        }
        is_in_word = is_cased;
    }
    out
}

pub fn is_title_case(c: char) -> bool {
    matches!(c, 'ǅ' | 'ǈ' | 'ǋ' | 'ǲ')
}

/// Markup without special characters, as `markupsafe.escape` makes it.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\'' => out.push_str("&#39;"),
            '"' => out.push_str("&#34;"),
            c => out.push(c),
        }
    }
    out
}

/// The characters that `str.strip` takes: spaces, or those of a text.
pub struct Stripped<'a>(pub Option<&'a str>);

impl Stripped<'_> {
    pub fn has(&self, c: char) -> bool {
        self.0.map_or_else(|| is_space(c), |chars| chars.contains(c))
    }

    pub fn both<'t>(&self, text: &'t str) -> &'t str {
        text.trim_matches(|c| self.has(c))
    }

    pub fn start<'t>(&self, text: &'t str) -> &'t str {
        text.trim_start_matches(|c| self.has(c))
    }

    pub fn end<'t>(&self, text: &'t str) -> &'t str {
        text.trim_end_matches(|c| self.has(c))
    }
}
