//! The model of the tokens: its roles, and the texts of its tokens.

use std::ops::Range;
use std::path::Path;

use gristmill_models::Tokenizer;

use super::roles::Roles;
use crate::check::{ModelTexts, Targets, TextFault};
use crate::error::{Result, shown};
use crate::harmony::Alignment;
use crate::kind::TokenTexts;
use crate::model::{ChatModel, GPT_OSS, ModelSettings, open_folder};
use crate::tokenizer::{Encoder, START_OF_TEXT, decode_into, token_bytes};

/// The model of the tokens, as far as it is known.
#[derive(Default)]
pub(super) struct RowModel {
    pub roles: Option<Roles>,
    /// How tokens are shown.
    pub shown: TokenTexts,
    /// The token with which texts begin, and the token of padding.
    beginning: Option<i32>,
    padding: Option<i32>,
    /// What is not checked, and why.
    pub remark: Option<String>,
}

impl RowModel {
    /// Opens the model that the user names.
    pub fn open(named: Option<&Path>) -> Result<RowModel> {
        let Some(path) = named else {
            let remark = "whose tokens these are is not known, so their messages and texts are not checked; try: --model DIR";
            let shown = TokenTexts::Ids;
            return Ok(RowModel { shown, remark: Some(remark.to_string()), ..RowModel::default() });
        };
        if path.as_os_str() == GPT_OSS {
            let (roles, shown) = (Some(Roles::harmony()), TokenTexts::O200k);
            return Ok(RowModel { roles, shown, ..RowModel::default() });
        }
        // (Some templates write the date, which shows no role.)
        let (folder, date) = (path.to_path_buf(), Some("2025-01-01".to_string()));
        let settings = ModelSettings { folder, date, ..ModelSettings::default() };
        let opened = ChatModel::open(&settings);
        let (tokenizer, special, roles) = match opened {
            Ok(model) => {
                let special = ["bos_token", "pad_token"]
                    .map(|name| model.special_token(name).map(str::to_string));
                (model.tokenizer().clone(), special, Roles::of_model(&model))
            }
            // (A folder may have a tokenizer and no template.)
            Err(error) => {
                let folder = open_folder(path)?;
                let special = ["bos_token", "pad_token"]
                    .map(|name| folder.special_token(name).map(str::to_string));
                (folder.tokenizer().clone(), special, Err(error.without_place().to_string()))
            }
        };
        let id = |token: &Option<String>| {
            let id = tokenizer.id_of(token.as_deref()?)?;
            i32::try_from(id).ok()
        };
        let [beginning, padding] = special.each_ref().map(id);
        let unknown = |why: &String| {
            format!("{}: {why}; what is trained on is not compared with messages", shown(path))
        };
        let without_stops = |roles: &Roles| {
            let cause = "no token is known that ends turns; stop tokens are not checked";
            roles.stops.is_empty().then(|| format!("{}: {cause}", shown(path)))
        };
        let remark = roles.as_ref().map_or_else(|why| Some(unknown(why)), without_stops);
        let (roles, shown) = (roles.ok(), TokenTexts::of_model(&tokenizer));
        Ok(RowModel { roles, shown, beginning, padding, remark })
    }

    /// Returns what looks at texts; each thread has its own.
    pub fn texts(&self) -> RowTexts {
        match &self.shown {
            TokenTexts::Model(tokenizer, _) => RowTexts::of_model(tokenizer),
            TokenTexts::O200k | TokenTexts::Assumed => RowTexts::O200k {
                encoder: Box::new(Encoder::new()),
                bytes: Vec::new(),
                encoded: Vec::new(),
            },
            TokenTexts::Ids => RowTexts::Unknown,
        }
    }

    /// Returns a sequence without the padding at its end, if no attention mask says what is padding. (Where the token of
    /// padding also ends turns, the first one does.)
    pub fn without_padding(&self, tokens: &[i32], sequence: Range<usize>) -> Range<usize> {
        let Some(padding) = self.padding else { return sequence };
        let own = &tokens[sequence.clone()];
        let kept = own.iter().rposition(|token| *token != padding).map_or(0, |last| last + 1);
        let is_stop = self.roles.as_ref().is_none_or(|roles| roles.is_stop(padding));
        let end = (kept + usize::from(is_stop)).min(own.len());
        sequence.start..sequence.start + end
    }

    /// Divides a sequence where a text begins, if the token there ends no text.
    pub fn divided(&self, tokens: &[i32], sequence: Range<usize>) -> Vec<Range<usize>> {
        let ends_texts =
            |token: &i32| self.roles.as_ref().is_none_or(|roles| roles.is_stop(*token));
        let Some(beginning) = self.beginning.filter(|token| !ends_texts(token)) else {
            return vec![sequence];
        };
        let is_begin =
            |place: &usize| tokens[*place] == beginning && tokens[*place - 1] != beginning;
        let starts = (sequence.start + 1..sequence.end).filter(is_begin);
        let starts: Vec<usize> = [sequence.start].into_iter().chain(starts).collect();
        let ends = starts.iter().skip(1).copied().chain([sequence.end]);
        starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect()
    }

    /// Whether a sequence has two beginnings, one behind the other.
    pub fn begins_twice(&self, tokens: &[i32]) -> bool {
        self.beginning.is_some_and(|beginning| tokens.starts_with(&[beginning; 2]))
    }

    /// Whether the text of a token is white space alone.
    pub fn is_space(&self, token: i32) -> bool {
        let bytes = self.shown.bytes(token);
        bytes.is_some_and(|bytes| bytes.iter().all(u8::is_ascii_whitespace))
    }
}

/// Looks at the texts of one sequence after another.
pub(super) enum RowTexts {
    Model(Box<ModelTexts>, Targets),
    O200k {
        encoder: Box<Encoder>,
        bytes: Vec<u8>,
        encoded: Vec<i32>,
    },
    /// The tokenizer is not known.
    Unknown,
}

impl RowTexts {
    fn of_model(tokenizer: &Tokenizer) -> RowTexts {
        RowTexts::Model(Box::new(ModelTexts::new(tokenizer)), Targets::default())
    }

    /// Returns what is wrong with the tokens of a sequence; `trained` is 1 for each that is trained on, or empty.
    pub fn fault(&mut self, tokens: &[i32], trained: &[u8], encodes: bool) -> Option<TextFault> {
        match self {
            RowTexts::Unknown => tokens.iter().position(|token| *token < 0).map(TextFault::Unknown),
            RowTexts::Model(texts, targets) => {
                targets.clear();
                targets.push_spans(trained, Alignment::Token);
                targets.are_all = true;
                texts.fault(tokens, targets, encodes)
            }
            RowTexts::O200k { encoder, bytes, encoded } => {
                if let Some(place) = tokens.iter().position(|token| token_bytes(*token).is_none()) {
                    return Some(TextFault::Unknown(place));
                }
                let mut start = 0;
                for part in tokens.chunk_by(|a, b| (*a < START_OF_TEXT) == (*b < START_OF_TEXT)) {
                    let place = start;
                    start += part.len();
                    if part[0] >= START_OF_TEXT {
                        continue;
                    }
                    bytes.clear();
                    encoded.clear();
                    // (Each of them has bytes.)
                    let _ = decode_into(part, bytes);
                    let Ok(text) = str::from_utf8(bytes) else { return Some(TextFault::NotText) };
                    if !encodes {
                        continue;
                    }
                    encoder.encode(text, encoded);
                    if encoded != part {
                        let same = encoded.iter().zip(part).take_while(|(a, b)| a == b).count();
                        return Some(TextFault::Different(place + same));
                    }
                }
                None
            }
        }
    }
}
