//! What is shown of sequences with masks of every kind, and of decoded ones.

use super::{TokenTexts, sequence};
use crate::harmony::{Alignment, Policy, RenderOutput, Renderer, loss_mask};
use crate::kinds::conversation::{
    Border, Mark, MaskFit, ShownConversation, ShownMessage, TokenTraining, messages,
};
use crate::kinds::decoded::of_decoded;
use crate::record::decoded::DecodedBuilder;
use crate::record::tokens::{Identity, Tokens, TokensBuilder};
use crate::tokenizer::encoded;

const MESSAGES: &str = r#"{"messages": [{"role": "user", "content": "How, é😀?"},
    {"role": "assistant", "channel": "analysis", "content": "So."},
    {"role": "assistant", "channel": "final", "content": "Thus."}]}"#;

/// A sequence, and the span id of each of its tokens.
fn rendered() -> (Vec<i32>, Vec<u8>) {
    let mut renderer = Renderer::new(Policy::SynthKdV1);
    let mut rendered = RenderOutput::default();
    renderer.render(MESSAGES, &mut rendered).unwrap();
    let RenderOutput { tokens, segments } = rendered;
    let mut spans = vec![0; tokens.len()];
    for segment in &segments.list {
        let span = match segments.channel(segment) {
            Some("analysis") => 1,
            Some("final") => 2,
            _ => 0,
        };
        spans[segment.start as usize..segment.end as usize].fill(span);
    }
    (tokens, spans)
}

fn shown(tokens: &[i32], masks: Option<(&[u8], &[u8])>) -> ShownConversation {
    let mut builder = TokensBuilder::masked();
    if masks.is_none() {
        builder = TokensBuilder::default();
    }
    builder.tokens.extend_from_slice(tokens);
    let (mask, span) = masks.unwrap_or_default();
    builder.loss_mask.extend_from_slice(mask);
    builder.span_id.extend_from_slice(span);
    builder.finish_record_without_segments(Identity::default()).unwrap();
    let batch = builder.finish().unwrap();
    let rows = Tokens::of(&batch).unwrap();
    sequence::of_tokens(&rows, 0, Alignment::Label, None, &TokenTexts::O200k)
}

/// Masks by label, `by` tokens later than they should be.
fn masked(by: usize) -> ShownConversation {
    let (tokens, spans) = rendered();
    let late: Vec<u8> =
        spans.iter().copied().cycle().skip(spans.len() + 1 - by).take(spans.len()).collect();
    shown(&tokens, Some((&loss_mask(&late), &late)))
}

/// If the spans are not known, the spans of the masks are taken as right: no token is marked as wrong.
#[test]
fn masks_of_unknown_spans_fit() {
    let (tokens, spans) = rendered();
    let shift = |by: usize| spans.iter().copied().cycle().skip(by).take(spans.len());
    for renamed in [[0, 1, 0], [0, 3, 2], [0, 0, 7]] {
        let of = |by: usize| {
            let ids: Vec<u8> = shift(by).map(|id| renamed[usize::from(id)]).collect();
            shown(&tokens, Some((&loss_mask(&ids), &ids))).fit
        };
        assert_eq!(of(1), Some(MaskFit::Fits), "{renamed:?}");
        assert_eq!(of(0), Some(MaskFit::Shifted { by: 1 }), "{renamed:?}");
        assert_eq!(of(2), Some(MaskFit::Shifted { by: -1 }), "{renamed:?}");
    }
    let mut torn: Vec<u8> = shift(1).collect();
    let end = torn.iter().rposition(|id| *id == 2).unwrap();
    torn[end] = 0;
    let fit = shown(&tokens, Some((&loss_mask(&torn), &torn))).fit;
    assert!(matches!(fit, Some(MaskFit::Differs { tokens: 1, .. })), "{fit:?}");
}

#[test]
fn a_shift_of_the_masks_is_seen() {
    let whole = masked(0);
    assert_eq!(whole.fit, Some(MaskFit::Fits));
    let of = |message: &ShownMessage| {
        message
            .pieces
            .iter()
            .map(|p| (p.text.as_str(), p.trained.letter()))
            .collect::<Vec<_>>()
            .concat_pairs()
    };
    assert_eq!(
        of(&whole.messages[1]),
        "<|start|>R assistantR <|channel|>R analysisR <|message|>R So.R <|end|>R"
    );
    let late = masked(1);
    assert_eq!(late.fit, Some(MaskFit::Shifted { by: 1 }));
    assert_eq!(
        of(&late.messages[1]),
        "<|start|>· assistantR <|channel|>R analysisR <|message|>R So.R <|end|>R"
    );
    assert_eq!(of(&late.messages[2])[..12], *"<|start|>R a");
    assert_eq!(of(&late.messages[3]), "<|endoftext|>F");
    let mark = late.messages[0].pieces.last().unwrap().mark.unwrap();
    let expected = Mark {
        border: Border::Before,
        next: TokenTraining::Not,
        expected: Some(TokenTraining::As(1)),
    };
    assert_eq!(mark, expected);
    let counts: Vec<(TokenTraining, usize)> = whole.counts.0.clone();
    assert_eq!(counts[1..].iter().map(|(trained, _)| trained.letter()).collect::<String>(), "RF");
    assert_eq!(counts.iter().map(|(_, count)| count).sum::<usize>(), whole.tokens.unwrap());
}

/// Texts and letters with spaces between.
trait Concat {
    fn concat_pairs(&self) -> String;
}

impl Concat for Vec<(&str, char)> {
    fn concat_pairs(&self) -> String {
        let pairs: Vec<String> =
            self.iter().map(|(text, letter)| format!("{text}{letter}")).collect();
        pairs.join(" ")
    }
}

#[test]
fn fits_are_told_apart() {
    use TokenTraining::{As, Not};
    let expected = [Not, Not, As(1), As(1), As(2), As(2), Not];
    let fit = |found: [TokenTraining; 7]| MaskFit::of(&found, &expected);
    assert_eq!(fit(expected), MaskFit::Fits);
    assert_eq!(fit([Not, Not, Not, As(1), As(1), As(2), As(2)]), MaskFit::Shifted { by: 1 });
    assert_eq!(fit([Not, As(1), As(1), As(2), As(2), Not, Not]), MaskFit::Shifted { by: -1 });
    let swapped = [Not, Not, As(2), As(2), As(1), As(1), Not];
    assert_eq!(fit(swapped), MaskFit::Differs { tokens: 4, first: 2 });
    assert_eq!(fit([Not; 7]), MaskFit::Differs { tokens: 4, first: 2 });
    let message = fit([Not, As(1), As(1), As(2), As(2), Not, Not]).message();
    assert_eq!(message.unwrap(), "the masks are shifted: 1 token too early");
}

#[test]
fn whatever_the_tokens_are_their_text_is_whole() {
    let (tokens, _) = rendered();
    let whole = shown(&tokens, None);
    let text = |shown: &ShownConversation| {
        shown
            .messages
            .iter()
            .flat_map(|m| &m.pieces)
            .map(|piece| piece.text.as_str())
            .collect::<String>()
    };
    assert!(
        text(&whole).contains("How, é😀?") && text(&whole).ends_with("<|return|><|endoftext|>")
    );
    assert_eq!(whole.fit, None);
    for cut in 0..tokens.len() {
        // Every end, and every beginning: no message is whole, some characters are not either.
        for part in [&tokens[..cut], &tokens[cut..]] {
            let shown = shown(part, None);
            let found: usize =
                shown.messages.iter().flat_map(|m| &m.pieces).map(|p| p.tokens.len()).sum();
            assert_eq!(found, part.len());
        }
    }
    let odd = shown(&[-1, i32::MAX, 201_088, 200_500, 7], None);
    assert_eq!(
        text(&odd),
        "<|unknown -1|><|unknown 2147483647|><|unknown 201088|><|reserved_200500|>("
    );
    assert_eq!((odd.messages.len(), odd.messages[0].pieces.len()), (1, 5));
    assert!(shown(&[], None).messages.is_empty());
}

#[test]
fn a_character_may_be_cut_by_its_masks() {
    let tokens = encoded("\u{1f9ff}");
    assert!(tokens.len() > 1, "the character is one token");
    let mask: Vec<u8> = (0..tokens.len()).map(|at| u8::from(at == 0)).collect();
    let shown = shown(&tokens, Some((&mask, &mask)));
    let pieces = &shown.messages[0].pieces;
    assert!(pieces.len() > 1 && pieces.iter().all(|piece| piece.text.contains('\u{fffd}')));
}

#[test]
fn decoded_sequences_keep_their_spans() {
    let (tokens, spans) = rendered();
    let decoded = crate::harmony::decode(&tokens).unwrap();
    let masks = (loss_mask(&spans), spans);
    let found =
        crate::harmony::text_spans(&decoded, &tokens, (&masks.0, &masks.1), Alignment::Token);
    let mut builder = DecodedBuilder::default();
    let messages = decoded.messages.iter().map(|message| crate::record::decoded::Message {
        role: message.role.as_str().to_string(),
        channel: message.channel.clone(),
        text: message.text.clone(),
        ..Default::default()
    });
    builder.push(Some("a"), decoded.text.clone(), messages.collect(), Some(&found.unwrap()), &[]);
    let batch = builder.finish().unwrap();
    let shown = of_decoded(&batch, 0).unwrap();
    let letters = |message: &ShownMessage| -> String {
        message.pieces.iter().map(|piece| piece.trained.letter()).collect()
    };
    assert_eq!(shown.messages.iter().map(letters).collect::<Vec<_>>(), ["···", "RRR", "FFF", "·"]);
    assert_eq!(shown.messages[0].pieces[1].text, "How, é😀?");
    assert!(shown.notes.is_empty());
}

#[test]
fn messages_of_any_json_are_shown() {
    let text = |json: &str| {
        let shown = messages::of_json(None, json, &[]);
        let lines = shown.messages.iter().map(|message| {
            let text: String = message.pieces.iter().map(|piece| piece.text.as_str()).collect();
            format!("{}: {text}", message.title())
        });
        (lines.collect::<Vec<_>>().join(" / "), shown.notes.join(";"))
    };
    let (lines, notes) = text(MESSAGES);
    assert_eq!(lines, "user: How, é😀? / assistant analysis: So. / assistant final: Thus.");
    assert_eq!(notes, "");
    let parts = r#"{"messages": [{"role": "tool", "name": "f", "content": [{"type": "text", "text": "a"},
        {"type": "system_content", "model_identity": "M"}], "tool_calls": [1]}, 5]}"#;
    assert_eq!(
        text(parts).0,
        "tool:f: a\nmodel_identity: M\ntool_calls: [1] / outside of messages: 5"
    );
    assert_eq!(
        text("[1").1,
        "its messages cannot be read: EOF while parsing a list at line 1 column 2"
    );
    assert_eq!(
        text("{}"),
        ("outside of messages: {}".to_string(), "it has no list of messages".to_string())
    );
}
