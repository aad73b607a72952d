//! Renders cases for the tests: each line in is `{"template", "messages", "tools", "documents",
//! "prompt", "set", "date"}`, each line out `{"text", "generations"}` or `{"error"}`, with offsets in
//! characters. With `"prefixes"`, all beginnings of the chat are rendered at once and each by itself: a line out is their
//! number, or the first that differs.

use std::collections::HashMap;
use std::io::{BufRead, Write};

use gristmill_template::{Chat, Date, Error, Prefix, Template, Value};

fn main() -> std::io::Result<()> {
    let mut templates = HashMap::new();
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let answer = match Value::from_json(&line?).and_then(|case| render(&mut templates, &case)) {
            Ok(answer) => answer,
            Err(error) => {
                let mut text = Vec::new();
                gristmill_json::write_string(&mut text, &error.to_string());
                format!("{{\"error\":{}}}", String::from_utf8_lossy(&text))
            }
        };
        writeln!(out, "{answer}")?;
    }
    Ok(())
}

type Templates = HashMap<String, Result<Template, Error>>;

fn render(templates: &mut Templates, case: &Value) -> Result<String, Error> {
    let list = |name: &str| case.get(name).and_then(Value::as_list).map(<[Value]>::to_vec);
    let text = |name: &str| case.get(name).and_then(Value::as_text).unwrap_or_default();
    let source = text("template");
    if !templates.contains_key(source) {
        templates.insert(source.to_string(), Template::new(source));
    }
    let mut template = match templates.get(source) {
        Some(Ok(template)) => template.clone(),
        Some(Err(error)) => return Err(error.clone()),
        None => return Err(Error::Chat("no template".into())),
    };
    for (name, value) in
        case.get("set").and_then(Value::as_dict).into_iter().flat_map(|d| d.entries())
    {
        template.set(name.as_text().unwrap_or_default(), value.clone())?;
    }
    if let Some(date) = Date::parse(text("date")) {
        template.set_date(date);
    }
    let mut chat = Chat::new(list("messages").unwrap_or_default())?;
    if let Some(tools) = list("tools") {
        chat = chat.with_tools(tools)?;
    }
    if let Some(documents) = list("documents") {
        chat = chat.with_documents(documents)?;
    }
    if case.get("prefixes").is_some() {
        return compared(&template, &chat);
    }
    let prompt = case.get("prompt").is_some_and(Value::is_true);
    let marked = template.render_marked(&chat, prompt)?;
    let place =
        |byte: usize| marked.text.get(..byte).map_or(-1, |text| text.chars().count() as i64);
    let ranges = marked.generations.iter();
    let ranges: Vec<String> =
        ranges.map(|range| format!("[{},{}]", place(range.start), place(range.end))).collect();
    let mut quoted = Vec::new();
    gristmill_json::write_string(&mut quoted, &marked.text);
    let quoted = String::from_utf8_lossy(&quoted);
    Ok(format!("{{\"text\":{quoted},\"generations\":[{}]}}", ranges.join(",")))
}

fn compared(template: &Template, chat: &Chat) -> Result<String, Error> {
    let count = chat.messages().len();
    let other = chat.with_end(chat.messages()[count / 2].clone());
    let chat = &chat.beside(&other).unwrap_or_else(|| chat.clone());
    let counts = (1..=count).map(|count| (count, false)).chain([(count, true)]);
    let wanted: Vec<Prefix> = counts
        .flat_map(|(count, has_other)| {
            [false, true].map(|has_prompt| Prefix { count, has_prompt, has_other })
        })
        .collect();
    let prefixes = template.render_prefixes(chat, &wanted, &[])?;
    for (number, prefix) in wanted.iter().enumerate() {
        let own = if prefix.has_other { &other } else { &chat.until(prefix.count - 1) };
        let alone = template.render(own, prefix.has_prompt);
        let together = prefixes.text(number).map(|text| text.parts.concat());
        let is_same = match (&alone, &together) {
            (Ok(alone), Ok(together)) => alone == together,
            (alone, together) => alone.is_err() && together.is_err(),
        };
        if !is_same {
            return Ok(format!("differs: {prefix:?}: {alone:?}: {together:?}"));
        }
    }
    Ok(format!("same: {}", wanted.len()))
}
