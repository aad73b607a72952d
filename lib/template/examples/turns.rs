//! Finds the turns of cases for the tests: each line in is as for `render`, with `"stops"`, `"wanted"`
//! (places of messages, all if it is not there) and `"trust"`; each line out has the text, the turns,
//! the segments and what is unseen, or `{"error"}`. Offsets are in characters.

use std::collections::HashMap;
use std::io::{BufRead, Write};

use gristmill_template::{Chat, Date, Error, Finder, FoundTurns, Template, UnseenText, Value};

fn main() -> std::io::Result<()> {
    let mut finders = HashMap::new();
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let answer = match Value::from_json(&line?).and_then(|case| find(&mut finders, &case)) {
            Ok(answer) => answer,
            Err(error) => format!("{{\"error\":{}}}", quoted(&error.to_string())),
        };
        writeln!(out, "{answer}")?;
    }
    Ok(())
}

fn quoted(text: &str) -> String {
    let mut out = Vec::new();
    gristmill_json::write_string(&mut out, text);
    String::from_utf8_lossy(&out).into_owned()
}

fn texts(value: Option<&Value>) -> Vec<String> {
    let items = value.and_then(Value::as_list).unwrap_or_default().iter();
    items.filter_map(Value::as_text).map(String::from).collect()
}

fn finder(case: &Value) -> Result<Finder, Error> {
    let text = |name: &str| case.get(name).and_then(Value::as_text).unwrap_or_default();
    let mut template = Template::new(text("template"))?;
    for (name, value) in
        case.get("set").and_then(Value::as_dict).into_iter().flat_map(|d| d.entries())
    {
        template.set(name.as_text().unwrap_or_default(), value.clone())?;
    }
    if let Some(date) = Date::parse(text("date")) {
        template.set_date(date);
    }
    let mut finder = Finder::new(template, texts(case.get("stops")));
    finder.trust_generation(case.get("trust").is_some_and(Value::is_true));
    Ok(finder)
}

fn find(finders: &mut HashMap<String, Finder>, case: &Value) -> Result<String, Error> {
    let key = format!("{:?}", ["template", "set", "stops", "trust"].map(|name| case.get(name)));
    if !finders.contains_key(&key) {
        finders.insert(key.clone(), finder(case)?);
    }
    let Some(finder) = finders.get(&key) else { return Err(Error::Chat("no template".into())) };
    let list = |name: &str| case.get(name).and_then(Value::as_list).map(<[Value]>::to_vec);
    let mut chat = Chat::new(list("messages").unwrap_or_default())?;
    if let Some(tools) = list("tools") {
        chat = chat.with_tools(tools)?;
    }
    if let Some(documents) = list("documents") {
        chat = chat.with_documents(documents)?;
    }
    let wanted = list("wanted");
    let found = finder.find(&chat, |message| {
        wanted.as_ref().is_none_or(|wanted| wanted.contains(&Value::from(message)))
    })?;
    Ok(shown(&found))
}

fn shown(found: &FoundTurns) -> String {
    let mut places = vec![0; found.text.len() + 1];
    let mut count = 0;
    for (at, _) in found.text.char_indices() {
        places[at] = count;
        count += 1;
    }
    places[found.text.len()] = count;
    let turns = found.turns.iter().map(|turn| {
        let (start, end) = (places[turn.said.start], places[turn.said.end]);
        format!("[{},{start},{end},{},{}]", turn.message, turn.has_stop, turn.is_prompt_whole)
    });
    let segments = found.segments.iter().map(|segment| {
        let (start, end) = (places[segment.range.start], places[segment.range.end]);
        let channel = segment.channel.map_or("null".into(), |channel| format!("\"{channel:?}\""));
        format!("[{start},{end},\"{:?}\",{channel},{}]", segment.role, segment.message)
    });
    let unseen = found.unseen.iter().map(|unseen| match unseen {
        UnseenText::Content(message) => format!("[\"content\",{message}]"),
        UnseenText::Reasoning(message) => format!("[\"reasoning\",{message}]"),
        UnseenText::Call(message) => format!("[\"call\",{message}]"),
        UnseenText::Tools => "[\"tools\",null]".into(),
    });
    let joined = |items: Vec<String>| items.join(",");
    format!(
        "{{\"text\":{},\"turns\":[{}],\"segments\":[{}],\"unseen\":[{}]}}",
        quoted(&found.text),
        joined(turns.collect()),
        joined(segments.collect()),
        joined(unseen.collect())
    )
}
