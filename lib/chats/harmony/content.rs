//! The parts of a message's content: text, and the structured parts of system and developer messages.

use std::ops::Range;

use super::RenderError;
use super::field::{self, attempt, expect, nullable, optional, or_default, required};
use super::tools::{self, Tools};
use crate::json::{Kind, Reader, Str};

/// One part of a content, borrowed from the JSON text.
pub(super) enum Part<'a> {
    Text(PartText<'a>),
    System(Box<SystemContent<'a>>),
    Developer(Box<DeveloperContent<'a>>),
}

/// The text of a part; such texts are nearly all of a conversation.
pub(super) struct PartText<'a> {
    pub source: Str<'a>,
    /// The range of its value in the decoded texts, if it was decoded.
    pub decoded: Option<Range<usize>>,
}

impl<'a> PartText<'a> {
    /// Reads a text; if it has escapes, its value is appended to `texts`.
    pub(super) fn read(
        reader: &mut Reader<'a>,
        texts: &mut String,
    ) -> Result<PartText<'a>, RenderError> {
        expect(reader, Kind::String)?;
        let (source, decoded) = reader.string_onto(texts)?;
        Ok(PartText { source, decoded })
    }

    /// Returns its value; `texts` are the decoded texts.
    pub(super) fn value<'t>(&self, texts: &'t str) -> &'t str
    where
        'a: 't,
    {
        let decoded = self.decoded.clone().and_then(|place| texts.get(place));
        decoded.unwrap_or(self.source.raw())
    }
}

/// The reason for refusing a content if [`is_of_parts`] is true.
pub const OF_PARTS: &str = "the text is a JSON array of parts, as a JSON column becomes when it is read as text; \
     try: the array itself, or --content-is-text";

/// Whether a text is a JSON array of parts. A content of parts becomes such a text if it stands in a JSON
/// column that is then read as text.
pub fn is_of_parts(text: &str) -> bool {
    // Nearly every text ends here.
    let inside = text.trim_start().strip_prefix('[').map(str::trim_start);
    if !inside.is_some_and(|inside| inside.starts_with('{')) {
        return false;
    }
    let mut reader = Reader::new(text);
    let mut texts = String::new();
    let read = reader.array(|reader| part(reader, &mut texts).map(|_| ()));
    read.is_ok() && reader.end().is_ok()
}

/// A text of the input, or a default for it.
#[derive(Clone, Copy)]
pub(super) enum Text<'a> {
    Input(Str<'a>),
    Default(&'static str),
}

#[derive(Clone, Copy)]
pub(super) enum Effort {
    Low,
    Medium,
    High,
}

pub(super) struct SystemContent<'a> {
    pub model_identity: Option<Text<'a>>,
    pub knowledge_cutoff: Option<Text<'a>>,
    pub conversation_start_date: Option<Text<'a>>,
    pub reasoning_effort: Option<Effort>,
    pub tools: Option<Tools>,
    pub channels: Option<Channels<'a>>,
}

pub(super) struct Channels<'a> {
    pub names: Vec<Text<'a>>,
    pub required: bool,
}

pub(super) struct DeveloperContent<'a> {
    pub instructions: Option<Text<'a>>,
    pub tools: Option<Tools>,
}

/// Reads one part. Its kind may come after its other fields.
pub(super) fn part<'a>(
    reader: &mut Reader<'a>,
    texts: &mut String,
) -> Result<Part<'a>, RenderError> {
    expect(reader, Kind::Object)?;
    let start = reader.clone();
    let (mut kind, mut text) = (None, None);
    let mut scratch = String::new();
    reader.object(|reader, key| {
        match field::name(&key, &mut scratch) {
            "type" => kind = Some(attempt(reader, field::string)?),
            "text" => text = Some(attempt(reader, |r| PartText::read(r, texts))?),
            _ => reader.skip()?,
        }
        Ok::<_, RenderError>(())
    })?;
    let kind = required(kind, "type")?;
    if kind.eq_str("text") {
        return Ok(Part::Text(required(text, "text")?));
    }
    let mut again = start;
    if kind.eq_str("system_content") {
        Ok(Part::System(Box::new(system(&mut again)?)))
    } else if kind.eq_str("developer_content") {
        Ok(Part::Developer(Box::new(developer(&mut again)?)))
    } else {
        let kind = field::quoted(&kind);
        Err(RenderError::new(format!("unknown content type {kind}")))
    }
}

fn system<'a>(reader: &mut Reader<'a>) -> Result<SystemContent<'a>, RenderError> {
    let (mut identity, mut cutoff, mut date) = (None, None, None);
    let (mut effort, mut tools, mut channels) = (None, None, None);
    let mut scratch = String::new();
    reader.object(|reader, key| {
        match field::name(&key, &mut scratch) {
            "model_identity" => identity = Some(attempt(reader, |r| nullable(r, text))?),
            "knowledge_cutoff" => cutoff = Some(attempt(reader, |r| nullable(r, text))?),
            "conversation_start_date" => date = Some(attempt(reader, |r| nullable(r, text))?),
            "reasoning_effort" => effort = Some(attempt(reader, |r| nullable(r, self::effort))?),
            "tools" => tools = Some(attempt(reader, |r| nullable(r, tools::read))?),
            "channel_config" => channels = Some(attempt(reader, |r| nullable(r, self::channels))?),
            _ => reader.skip()?,
        }
        Ok::<_, RenderError>(())
    })?;
    Ok(SystemContent {
        model_identity: or_default(identity, "model_identity", || {
            Some(Text::Default("You are ChatGPT, a large language model trained by OpenAI."))
        })?,
        knowledge_cutoff: or_default(cutoff, "knowledge_cutoff", || {
            Some(Text::Default("2024-06"))
        })?,
        conversation_start_date: optional(date, "conversation_start_date")?,
        reasoning_effort: or_default(effort, "reasoning_effort", || Some(Effort::Medium))?,
        tools: optional(tools, "tools")?,
        channels: or_default(channels, "channel_config", || {
            Some(Channels {
                names: ["analysis", "commentary", "final"].map(Text::Default).into(),
                required: true,
            })
        })?,
    })
}

fn developer<'a>(reader: &mut Reader<'a>) -> Result<DeveloperContent<'a>, RenderError> {
    let (mut instructions, mut tools) = (None, None);
    let mut scratch = String::new();
    reader.object(|reader, key| {
        match field::name(&key, &mut scratch) {
            "instructions" => instructions = Some(attempt(reader, |r| nullable(r, text))?),
            "tools" => tools = Some(attempt(reader, |r| nullable(r, tools::read))?),
            _ => reader.skip()?,
        }
        Ok::<_, RenderError>(())
    })?;
    Ok(DeveloperContent {
        instructions: optional(instructions, "instructions")?,
        tools: optional(tools, "tools")?,
    })
}

fn text<'a>(reader: &mut Reader<'a>) -> Result<Text<'a>, RenderError> {
    field::string(reader).map(Text::Input)
}

fn effort(reader: &mut Reader) -> Result<Effort, RenderError> {
    let name = field::string(reader)?;
    [("Low", Effort::Low), ("Medium", Effort::Medium), ("High", Effort::High)]
        .into_iter()
        .find(|(known, _)| name.eq_str(known))
        .map(|(_, effort)| effort)
        .ok_or_else(|| {
            let name = field::quoted(&name);
            RenderError::new(format!("{name} is not Low, Medium or High"))
        })
}

fn channels<'a>(reader: &mut Reader<'a>) -> Result<Channels<'a>, RenderError> {
    expect(reader, Kind::Object)?;
    let (mut names, mut is_required) = (None, None);
    let mut scratch = String::new();
    reader.object(|reader, key| {
        match field::name(&key, &mut scratch) {
            "valid_channels" => names = Some(attempt(reader, texts)?),
            "channel_required" => is_required = Some(attempt(reader, lax_boolean)?),
            _ => reader.skip()?,
        }
        Ok::<_, RenderError>(())
    })?;
    Ok(Channels {
        names: required(names, "valid_channels")?,
        required: required(is_required, "channel_required")?,
    })
}

fn texts<'a>(reader: &mut Reader<'a>) -> Result<Vec<Text<'a>>, RenderError> {
    expect(reader, Kind::Array)?;
    let mut texts = Vec::new();
    reader.array(|reader| {
        texts.push(text(reader)?);
        Ok::<_, RenderError>(())
    })?;
    Ok(texts)
}

/// Reads what pydantic accepts as a boolean in non-strict mode.
fn lax_boolean(reader: &mut Reader) -> Result<bool, RenderError> {
    const TRUE: [&str; 6] = ["1", "t", "y", "yes", "on", "true"];
    const FALSE: [&str; 6] = ["0", "f", "n", "no", "off", "false"];
    let found = match reader.peek()? {
        Kind::True | Kind::False => Some(reader.boolean()?),
        Kind::Number => match reader.number()?.parse::<f64>() {
            Ok(1.0) => Some(true),
            Ok(0.0) => Some(false),
            _ => None,
        },
        Kind::String => {
            let mut scratch = String::new();
            let word = reader.string()?.decode(&mut scratch)?.to_ascii_lowercase();
            if TRUE.contains(&word.as_str()) {
                Some(true)
            } else {
                FALSE.contains(&word.as_str()).then_some(false)
            }
        }
        _ => None,
    };
    found.ok_or_else(|| RenderError::new("not a boolean"))
}
