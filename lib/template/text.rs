//! Texts with the rules of Python's `str`: places are counted in characters, and spaces and cases are Python's.

/// `str.isspace` of one character.
pub fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\x1c'..='\x1f').contains(&c)
}

/// `len(text)`.
pub fn length(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().count() }
}

/// The byte at which a character begins, by its place; the end of the text if there are fewer characters.
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

/// The characters of a text, each with its lower case. (The lower case of a capital sigma depends on the
/// characters around it, which `str::to_lowercase` looks at.)
fn lowered(text: &str) -> impl Iterator<Item = (char, String)> {
    let sigmas: Vec<char> =
        text.to_lowercase().chars().filter(|c| matches!(c, 'σ' | 'ς')).collect();
    let mut sigmas = sigmas.into_iter();
    text.chars().map(move |c| match c {
        'Σ' | 'σ' | 'ς' => (c, sigmas.next().unwrap_or(c).into()),
        c => (c, c.to_lowercase().collect()),
    })
}

/// `text.capitalize()`.
pub fn capitalized(text: &str) -> String {
    let characters = lowered(text).enumerate();
    characters.map(|(place, (c, lower))| if place == 0 { titled(c) } else { lower }).collect()
}

/// `text.title()`.
pub fn title(text: &str) -> String {
    let mut is_in_word = false;
    let characters = lowered(text).map(|(c, lower)| {
        let is_first = !std::mem::replace(&mut is_in_word, is_cased(c));
        if is_first { titled(c) } else { lower }
    });
    characters.collect()
}

/// The title case of a character, which differs from upper case for ligatures and digraphs.
fn titled(c: char) -> String {
    match c {
        'Ǆ'..='ǆ' => "ǅ".into(),
        'Ǉ'..='ǉ' => "ǈ".into(),
        'Ǌ'..='ǌ' => "ǋ".into(),
        'Ǳ'..='ǳ' => "ǲ".into(),
        'ŉ' => "ʼN".into(),
        'ა'..='ჺ' | 'ჽ'..='ჿ' => c.into(),
        // Greek with a small iota below.
        'ᾀ'..='ᾯ' => char::from_u32(u32::from(c) | 8).unwrap_or(c).into(),
        'ᾳ' | 'ᾼ' => "ᾼ".into(),
        'ῃ' | 'ῌ' => "ῌ".into(),
        'ῳ' | 'ῼ' => "ῼ".into(),
        c => {
            let lower = |(place, c): (usize, char)| match (place, c) {
                (0, c) => String::from(c),
                (_, 'Ι') => "\u{345}".into(),
                (_, c) => c.to_lowercase().collect(),
            };
            c.to_uppercase().enumerate().map(lower).collect()
        }
    }
}

/// Whether a character has the general category Lt.
pub fn is_title_case(c: char) -> bool {
    matches!(c, 'ǅ' | 'ǈ' | 'ǋ' | 'ǲ' | 'ᾈ'..='ᾏ' | 'ᾘ'..='ᾟ' | 'ᾨ'..='ᾯ' | 'ᾼ' | 'ῌ' | 'ῼ')
}

/// Whether a character has the property Cased.
pub fn is_cased(c: char) -> bool {
    c.is_lowercase() || c.is_uppercase() || is_title_case(c)
}

/// A text with its special characters escaped, as `markupsafe.escape` does it.
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

/// The characters that `str.strip` takes away: spaces, or the characters of a text.
pub struct StripSet<'a>(pub Option<&'a str>);

impl StripSet<'_> {
    fn has(&self, c: char) -> bool {
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
