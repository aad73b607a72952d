use gristmill_template::{Chat, Prefix, Template, Value};
use std::time::Instant;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let t = Template::new(&std::fs::read_to_string(&a[1]).unwrap()).unwrap();
    let c = Value::from_json(&std::fs::read_to_string(&a[2]).unwrap()).unwrap();
    let mut chat = Chat::new(c.get("messages").unwrap().as_list().unwrap().to_vec()).unwrap();
    if let Some(t) = c.get("tools").and_then(Value::as_list) {
        chat = chat.with_tools(t.to_vec()).unwrap();
    }
    let now = Instant::now();
    let n = t.render(&chat, false).map(|t| t.len());
    println!("one {:?} {:?}", now.elapsed(), n);
    let mut w = vec![];
    for m in chat.turns() {
        w.push(Prefix { count: m + 1, has_prompt: false });
        if m > 0 {
            w.push(Prefix { count: m, has_prompt: true });
        }
    }
    let now = Instant::now();
    let p = t.render_prefixes(&chat, &w).unwrap();
    let mut total = 0;
    for i in 0..w.len() {
        if let Ok(t) = p.text(i) {
            total += t.parts[1].len();
        }
    }
    println!("prefixes {} {:?} rest {}", w.len(), now.elapsed(), total);
}
