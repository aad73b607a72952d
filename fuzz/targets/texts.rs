//! Conversations as text and as tokens, without files.

use gristmill::chat::{
    AnswerChoice, Conversations, HarmonySettings, Json, LeftOutCounts, ReadSettings, Turns,
};
use gristmill::error::{Error, Result};
use gristmill::harmony::{
    Alignment, Policy, RenderOutput, Renderer, Segments, Spans, decode, loss_mask, segments_of,
};

use super::place::Place;

/// The tokens of Harmony's structure, and some of text.
const FIRST_TOKEN: i32 = 199_990;

/// Messages, rendered by every policy, and back.
pub fn messages(_: &mut Place, bytes: &[u8]) -> Result<()> {
    let text = std::str::from_utf8(bytes).map_err(Error::data)?;
    let mut last = Ok(());
    for policy in [Policy::Chat, Policy::SynthKdV1] {
        let mut rendered = RenderOutput::default();
        let outcome = Renderer::new(policy).render(text, &mut rendered);
        if outcome.is_err() {
            assert!(rendered.tokens.is_empty() && rendered.segments.list.is_empty());
        }
        last = outcome.map_err(Error::data).and(last);
        let tokens = &rendered.tokens;
        let segments = rendered.segments.records();
        let mut spans = Vec::new();
        let spanned =
            Spans::synth_kd_v1(&[]).append(segments, tokens.len(), Alignment::Label, &mut spans);
        assert!(spanned.is_ok() && loss_mask(&spans).len() == tokens.len(), "{spanned:?}");
        let _ = decode(tokens);
    }
    last
}

/// A chat, made into conversations in every way, which are rendered.
pub fn chats(_: &mut Place, bytes: &[u8]) -> Result<()> {
    let text = std::str::from_utf8(bytes).map_err(Error::data)?;
    let mut last = Ok(());
    for (is_one, keeps_reasoning) in [(true, false), (true, true), (false, false)] {
        // Each turn repeats those before it.
        if !is_one && text.len() > 1 << 14 {
            continue;
        }
        let record = Json::parse(text).map_err(Error::data)?;
        let read = ReadSettings {
            content_is_text: true,
            take: vec![AnswerChoice::Chosen, AnswerChoice::Wanted],
            turns: Turns { is_one, ..Turns::default() },
            ..ReadSettings::default()
        };
        let builtin_tools = vec!["python".to_string()];
        let settings =
            HarmonySettings { keeps_reasoning, builtin_tools, ..HarmonySettings::default() };
        let conversations = Conversations::new(read, settings);
        let mut made = Vec::new();
        last = match conversations.of(record, &mut LeftOutCounts::default(), &mut made) {
            Err(cause) => Err(Error::data(cause)),
            Ok(all) => {
                assert!(!all.is_empty());
                all.into_iter().for_each(|one| is_rendered(&made[one]));
                last
            }
        };
    }
    last
}

/// Preference data, made into the conversations of both answers.
pub fn pairs(_: &mut Place, bytes: &[u8]) -> Result<()> {
    let text = std::str::from_utf8(bytes).map_err(Error::data)?;
    let record = Json::parse(text).map_err(Error::data)?;
    let read = ReadSettings { take: vec![AnswerChoice::Pair], ..ReadSettings::default() };
    let conversations = Conversations::new(read, HarmonySettings::default());
    let mut made = Vec::new();
    let both = conversations.pair(record, &mut LeftOutCounts::default(), &mut made);
    let both = both.map_err(Error::data)?;
    assert_eq!(both.len(), 2);
    both.into_iter().for_each(|one| is_rendered(&made[one]));
    Ok(())
}

/// Renders a conversation that was made of a chat.
fn is_rendered(made: &[u8]) {
    let text = std::str::from_utf8(made).unwrap();
    let rendered = Renderer::new(Policy::Chat).render(text, &mut RenderOutput::default());
    // Only schemas hold what it cannot show.
    assert!(rendered.is_ok() || text.contains("functions"), "{rendered:?}: {text}");
}

/// Any tokens: half of them of the structure, the others text.
pub fn harmony(_: &mut Place, bytes: &[u8]) -> Result<()> {
    let token = |byte: u8| match i32::from(byte) {
        255 => -1,
        text @ 128.. => text,
        structure => FIRST_TOKEN + structure,
    };
    let tokens: Vec<i32> = bytes.iter().map(|&byte| token(byte)).collect();
    let segmented = segments_of(&tokens, &mut Segments::default()).map_err(Error::data);
    decode(&tokens).map_err(Error::data).map(drop).and(segmented)
}
