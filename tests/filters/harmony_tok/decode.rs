//! harmony-tok --decode: the masks of a sequence as spans of its text.

use serde_json::Value;

use crate::common::{TempDir, bash, conversation, tool};

/// The control tokens in a decoded sequence.
pub fn control_in(decoded: &Value) -> Vec<String> {
    let text: Vec<char> = decoded["text"].as_str().unwrap().chars().collect();
    let place = |place: &Value, name: &str| place[name].as_u64().unwrap() as usize;
    let places = decoded["control"].as_array().unwrap().iter();
    places.map(|at| text[place(at, "start")..place(at, "end")].iter().collect()).collect()
}

/// Decoding keeps the masks as spans of the text: an independent computation makes the same.
#[test]
fn decoding_keeps_the_masks() {
    let lines: String = [0, 3, 7].map(|n| conversation(n).to_string() + "\n").concat();
    for flags in ["", "--align token --span commentary=3"] {
        let masked = format!("harmony-tok in --to arrow | span-mask -q {flags}");
        let dir = TempDir::new();
        dir.write("in", &lines);
        let cd = format!("set -eo pipefail; cd {}", dir.path().display());
        let tokens = bash(&format!("{cd}; {masked}")).silent().records();
        let decoded = bash(&format!("{cd}; {masked} --to arrow | harmony-tok --decode"));
        // NDJSON has no header that says how masks are aligned.
        let align = if flags.is_empty() { "label" } else { "token" };
        let of_text = bash(&format!("{cd}; {masked} | harmony-tok --decode --align {align}"));
        assert_eq!(of_text.silent().text(), decoded.text());
        for (tokens, decoded) in tokens.iter().zip(decoded.silent().records()) {
            let names = control_in(&decoded);
            let ids = tokens["tokens"].as_array().unwrap().iter();
            // (o200k has no text with an id from here on.)
            let count = ids.filter(|id| id.as_u64() >= Some(199_998)).count();
            assert_eq!(names.len(), count);
            assert!(
                names.iter().all(|name| name.starts_with("<|") && name.ends_with("|>")),
                "{names:?}"
            );
            let spans = decoded["spans"].as_array().unwrap();
            assert_eq!(spans.len(), 2, "{decoded}");
            let text: Vec<char> = decoded["text"].as_str().unwrap().chars().collect();
            for (span, (message, id)) in spans.iter().zip([(2, 1), (3, 2)]) {
                assert_eq!((&span["message"], &span["span_id"]), (&message.into(), &id.into()));
                let at = |name: &str| span[name].as_u64().unwrap() as usize;
                let part: String = text[at("start")..at("end")].iter().collect();
                let channel = ["analysis", "final"][id - 1];
                let content = decoded["messages"][message]["text"].as_str().unwrap();
                let end = if id == 1 { "<|end|>" } else { "<|return|>" };
                let whole =
                    format!("<|start|>assistant<|channel|>{channel}<|message|>{content}{end}");
                assert_eq!(part, whole);
            }
            assert!(tokens["loss_mask"].is_array());
        }
    }
    // Without masks there is nothing to keep; parts of characters are kept whole.
    let plain = bash(&format!("echo '{}' | harmony-tok | harmony-tok --decode", conversation(1)));
    assert!(plain.silent().records()[0]["spans"].is_null());
    let record = bash(&format!("echo '{}' | harmony-tok | span-mask", conversation(3)));
    let mut record = record.silent().records().remove(0);
    let length = record["tokens"].as_array().unwrap().len();
    let mut ids = vec![0u8; length];
    let text = tool("harmony-tok").args(&["--decode"]).input(format!("{record}\n")).run().silent();
    let text: Vec<char> = text.records()[0]["text"].as_str().unwrap().chars().collect();
    let mut lines = String::new();
    for position in 0..length - 1 {
        ids.fill(0);
        ids[position] = 7;
        record["span_id"] = ids.clone().into();
        record["loss_mask"] = ids.iter().map(|id| u8::from(*id > 0)).collect::<Vec<_>>().into();
        lines += &format!("{record}\n");
    }
    let decoded = tool("harmony-tok").args(&["--decode"]).input(lines).run().silent().records();
    for (position, decoded) in decoded.iter().enumerate() {
        let spans = &decoded["spans"];
        let at = |name: &str| spans[0][name].as_u64().unwrap() as usize;
        assert_eq!(spans.as_array().unwrap().len(), 1);
        assert!(at("start") < at("end") && at("end") <= text.len(), "{position}: {spans}");
        assert_eq!(spans[0]["message"].is_null(), position + 2 == length, "{position}: {spans}");
    }
}
