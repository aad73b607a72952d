//! Renders the beginnings of cases for the tests, all at once and each by itself: each line in is as for `render`, each
//! line out is the number of beginnings, or the first that differs.

use std::collections::HashMap;
use std::io::{BufRead, Write};

use gristmill_template::{Chat, Date, Error, Prefix, Template, Value};

fn main() -> std::io::Result<()> {
    let mut templates = HashMap::new();
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let case = Value::from_json(&line?);
        let answer = match case.and_then(|case| compared(&mut templates, &case)) {
            Ok(answer) => answer,
            Err(error) => format!("refused: {error}"),
        };
        writeln!(out, "{answer}")?;
    }
    Ok(())
}

fn compared(templates: &mut HashMap<String, Template>, case: &Value) -> Result<String, Error> {
    let list = |name: &str| case.get(name).and_then(Value::as_list).map(<[Value]>::to_vec);
    let text = |name: &str| case.get(name).and_then(Value::as_text).unwrap_or_default();
    let source = text("template");
    if !templates.contains_key(source) {
        templates.insert(source.to_string(), Template::new(source)?);
    }
    let mut template = templates[source].clone();
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
    let counts = 1..=chat.messages().len();
    let wanted: Vec<Prefix> = counts
        .flat_map(|count| [false, true].map(|has_prompt| Prefix { count, has_prompt }))
        .collect();
    let prefixes = template.render_prefixes(&chat, &wanted)?;
    for (number, prefix) in wanted.iter().enumerate() {
        let alone = template.render(&chat.until(prefix.count - 1), prefix.has_prompt);
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
