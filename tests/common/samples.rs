//! Small inputs of the tests' own making.

use serde_json::{Value, json};

/// xorshift64*: the same numbers in every run.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    pub fn below(&mut self, end: usize) -> usize {
        self.next() as usize % end
    }
}

/// One conversation; all of them differ in id, text and length.
pub fn conversation(number: usize) -> Value {
    let words = "a mill grinds grain into flour; größer, мельница, 製粉 🌾 ".repeat(number % 4);
    json!({
        "id": format!("id-{number}"),
        "messages": [
            {"role": "system", "content": "You are a miller."},
            {"role": "user", "content": format!("Question {number}? {words}")},
            {"role": "assistant", "channel": "analysis", "content": format!("Hm, {number}. {words}")},
            {"role": "assistant", "channel": "final", "content": format!("It is {number}.\n")},
        ],
    })
}

/// The first `count` conversations as NDJSON.
pub fn conversations(count: usize) -> String {
    (0..count).map(|number| conversation(number).to_string() + "\n").collect()
}

/// Tokens records without their `input` and `row`, which say by which way they came.
pub fn without_places(lines: &str) -> String {
    let bare = |line: &str| {
        let mut record: Value = serde_json::from_str(line).unwrap();
        record.as_object_mut().unwrap().retain(|name, _| name != "input" && name != "row");
        record.to_string() + "\n"
    };
    lines.lines().map(bare).collect()
}

/// A tokens record without masks, whose tokens say nothing.
pub fn tokens_line(id: &str, tokens: &[i64]) -> String {
    json!({"id": id, "tokens": tokens, "segments": null}).to_string() + "\n"
}

/// A masked record whose one message, final and the assistant's, has these tokens.
pub fn masked_answer(id: &str, content: &[i64]) -> String {
    const HEAD: [i64; 5] = [200_006, 173_781, 200_005, 17_196, 200_008];
    const TAIL: [i64; 2] = [200_002, 199_999];
    let tokens = [&HEAD, content, &TAIL].concat();
    let is_label = |at: usize| u8::from(at + 2 < tokens.len());
    let mask: Vec<u8> = (0..tokens.len()).map(is_label).collect();
    let span: Vec<u8> = mask.iter().map(|one| one * 2).collect();
    json!({"id": id, "tokens": tokens, "segments": null, "loss_mask": mask, "span_id": span})
        .to_string()
        + "\n"
}

/// A tokens record whose middle is supervised: 0 1 ... 1 0.
pub fn masked_line(id: &str, tokens: &[i64]) -> String {
    let inside = |at: usize| u8::from(at + 1 < tokens.len());
    let mask: Vec<u8> = (0..tokens.len()).map(inside).collect();
    let span: Vec<u8> = mask.iter().map(|one| one * 2).collect();
    json!({"id": id, "tokens": tokens, "segments": null, "loss_mask": mask, "span_id": span})
        .to_string()
        + "\n"
}
