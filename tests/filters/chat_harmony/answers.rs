//! Answers of no text, reasoning that is there twice, and the output of models as content.

use serde_json::{Value, json};

use super::{NO_TEXT, converted};
use crate::common::tool;

fn answered(answer: Value) -> Value {
    json!({"messages": [{"role": "user", "content": "x"}, answer]})
}

fn content(content: Value) -> Value {
    json!({"role": "assistant", "content": content})
}

/// The channels and texts of the assistant.
fn said(record: &Value) -> Result<Vec<String>, String> {
    let made = converted(record, &["-q"])?;
    let messages = made["messages"].as_array().unwrap().iter();
    let messages = messages.filter(|message| message["role"] == "assistant");
    let shown = |message: &Value| {
        let of = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        format!("{} {}", of(&message["channel"]), of(&message["content"][0]["text"]))
    };
    Ok(messages.map(shown).collect())
}

#[test]
fn answers_of_no_text_are_not_trained_on() {
    let texts = [
        json!(""),
        json!([]),
        json!([{"type": "text", "text": ""}]),
        json!("<think>a</think>"),
        json!("<think>a</think>\n\n"),
    ];
    let mut records: Vec<Value> =
        texts.iter().map(|text| answered(content(text.clone()))).collect();
    records.extend([
        json!({"prompt": "x", "completion": ""}),
        json!({"prompt": [{"role": "user", "content": "x"}], "completion": [content(json!(""))]}),
        json!({"instruction": "x", "input": "", "output": ""}),
        json!({"conversations": [{"from": "human", "value": "x"}, {"from": "gpt", "value": ""}]}),
        json!({"input": "x", "output": ""}),
        json!({"input": "x", "output": [{"role": "assistant", "content": []}]}),
        json!({"user": "x", "final": ""}),
    ]);
    for record in records {
        assert_eq!(said(&record), Err(NO_TEXT.to_string()), "{record}");
    }
    // White space is text: it stands in what is trained on.
    assert_eq!(said(&answered(content(json!(" \n")))), Ok(vec!["final  \n".to_string()]));
    for text in texts {
        let mut untrained = content(text.clone());
        untrained["weight"] = 0.into();
        assert!(said(&answered(untrained)).is_ok());
        let mut call = content(text);
        call["tool_calls"] = json!([{"function": {"name": "f", "arguments": "{}"}}]);
        assert!(said(&answered(call)).is_ok());
    }
}

#[test]
fn reasoning_that_is_there_twice_is_equal_or_refused() {
    for key in ["thinking", "reasoning_content", "reasoning"] {
        for (text, reasoning, expected) in [
            ("<think>a</think>b", "a", Some(["analysis a", "final b"])),
            ("<think>\na\n</think>\n\nb", " a\n", Some(["analysis  a\n", "final b"])),
            ("<think>a</think>b", "", Some(["analysis a", "final b"])),
            ("<think></think>b", "a", Some(["analysis a", "final b"])),
            ("<think>a</think>b", "c", None),
            ("a</think>b", "a", None),
            (
                "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b",
                "a",
                Some(["analysis a", "final b"]),
            ),
            (
                "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b",
                "c",
                None,
            ),
        ] {
            let mut answer = content(text.into());
            answer[key] = reasoning.into();
            assert_eq!(
                said(&answered(answer)).ok(),
                expected.map(|texts| texts.map(str::to_owned).to_vec()),
                "{text} {reasoning}"
            );
        }
    }
    let counted = json!({"role": "assistant", "content": "<think>a</think>b", "thinking": "a"});
    let told = tool("chat-harmony").input(format!("{}\n", answered(counted))).run().ok();
    assert_eq!(told.stderr, "chat-harmony: warning: reasoning in the content too: left out once\n");
    for (first, second, is_taken) in
        [("a", "a", true), ("a", "b", false), ("", "b", true), ("a", "", true)]
    {
        let answer =
            json!({"role": "assistant", "content": "x", "thinking": first, "reasoning": second});
        let wanted = if first.is_empty() { second } else { first };
        assert_eq!(
            said(&answered(answer)).ok(),
            is_taken.then(|| vec![format!("analysis {wanted}"), "final x".into()])
        );
    }
}

#[test]
fn the_output_of_a_model_is_read_or_refused() {
    for text in [
        "<|channel|>final<|message|>4",
        "<|start|>assistant<|channel|>final<|message|>4",
        "<|channel|>final<|message|>4<|return|>",
        "<|start|>assistant<|channel|>final<|message|>4<|end|>\n",
    ] {
        assert_eq!(said(&answered(content(text.into()))), Ok(vec!["final 4".into()]), "{text}");
    }
    for text in [
        "analysisEasy sum.assistantfinal4",
        "analysis\nEasy.\nassistant\nfinal\n4",
        "analysis Easy. assistant final 4",
        "analysisWeather.assistantcommentary to=functions.f json{}",
        "assistantanalysisEasy.assistantfinal4",
        "assistantfinal4",
        "commentaryLet me look.assistantfinal4",
        "<|channel|>final<|message|>4<|end|><|start|>user<|message|>x",
    ] {
        assert!(
            said(&answered(content(text.into()))).unwrap_err().contains("Harmony channel"),
            "{text}"
        );
    }
    for text in [
        "analysis of data",
        "The assistant final exam",
        "assistant final exam",
        "final answer: 4",
        "Analysis: an assistantfinal",
    ] {
        assert_eq!(said(&answered(content(text.into()))), Ok(vec![format!("final {text}")]));
    }
}

/// A turn that is not trained on has no conversation of its own.
#[test]
fn split_leaves_out_turns_that_are_not_trained_on() {
    let answer = |weight: u8| json!({"role": "assistant", "content": "b", "thinking": "t", "weight": weight});
    let user = json!({"role": "user", "content": "x"});
    let record = json!({"id": "a", "messages": [user, answer(0), user, answer(1)]});
    let made = tool("chat-harmony").input(format!("{record}\n")).run().ok();
    let ids: Vec<Value> = made.records().iter().map(|made| made["id"].clone()).collect();
    assert_eq!(ids, ["a"]);
    assert_eq!(
        made.stderr,
        "chat-harmony: warning: turns that are not trained on: left out once\n"
    );
}
