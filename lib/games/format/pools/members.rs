//! Writes the text of a JSON object member by member, since there may be millions.

use serde_json::Value;

/// Writes an object whose members come in the order of their names.
#[derive(Default)]
pub(super) struct Members {
    text: String,
    last: Option<(String, usize)>,
}

impl Members {
    /// If a name comes again, its last value counts.
    pub fn push(&mut self, name: &str, value: &Value) {
        let again = self.last.take().filter(|(last, _)| last == name);
        let start = again.map_or(self.text.len(), |(_, start)| start);
        self.text.truncate(start);
        self.text.push(if start == 0 { '{' } else { ',' });
        self.text.push_str(&format!("{}:{value}", Value::from(name)));
        self.last = Some((name.to_string(), start));
    }

    pub fn end(mut self) -> String {
        self.text.push_str(if self.text.is_empty() { "{}" } else { "}" });
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_those_of_an_object() {
        assert_eq!(Members::default().end(), "{}");
        let mut members = Members::default();
        members.push("a\n", &Value::Null);
        members.push("b", &Value::from("1"));
        members.push("b", &Value::from("\"2\""));
        members.push("c", &Value::from(3));
        assert_eq!(members.end(), r#"{"a\n":null,"b":"\"2\"","c":3}"#);
    }
}
