//! The renderings of a chat up to each of its turns, plain and with marks.

use std::cell::OnceCell;
use std::ops::Range;
use std::rc::Rc;

use super::difference::{self, Alignment, NumberedMarks, Places, kinds};
use super::mark::Kind;
use super::printed::PrintedTexts;
use crate::chat::Chat;
use crate::error::Error;
use crate::run::{Parts, Prefix, Prefixes, PrintedText};
use crate::template::Template;

/// Renderings of beginnings of a chat.
#[derive(Debug)]
pub struct Texts {
    prefixes: Rc<Prefixes>,
    /// The beginnings, in order.
    wanted: Rc<[Prefix]>,
    /// Whether they are those of the chat with its other end.
    has_other: bool,
}

impl Texts {
    /// Renders beginnings of a chat; notes where the texts are printed that are kept at the addresses.
    pub fn new(
        template: &Template,
        chat: &Chat,
        mut wanted: Vec<Prefix>,
        texts: &[usize],
    ) -> Result<Texts, Error> {
        wanted.sort();
        wanted.dedup();
        let prefixes = template.render_prefixes(chat, &wanted, texts)?;
        Ok(Texts { prefixes: prefixes.into(), wanted: wanted.into(), has_other: false })
    }

    /// The renderings of the chat with its other end.
    pub fn with_other_end(&self) -> Texts {
        let Texts { prefixes, wanted, .. } = self;
        Texts { prefixes: prefixes.clone(), wanted: wanted.clone(), has_other: true }
    }

    /// Whether a beginning was rendered.
    pub fn has(&self, of: Prefix) -> bool {
        self.wanted.binary_search(&of).is_ok()
    }

    fn number(&self, count: usize, has_prompt: bool) -> Result<usize, Error> {
        let plain = Prefix::new(count, has_prompt);
        let own = Prefix { has_other: self.has_other, ..plain };
        let number = self.wanted.binary_search(&own);
        let number = number.or_else(|_| self.wanted.binary_search(&plain));
        number.map_err(|_| Error::Chat("a prefix that was not rendered".into()))
    }

    /// The rendering of the first `count` messages.
    pub fn of(&self, count: usize, has_prompt: bool) -> Result<Parts<'_>, Error> {
        self.prefixes.text(self.number(count, has_prompt)?)
    }

    /// Where a text of the chat is printed in the rendering of the first `count` messages, by the address of its bytes, if
    /// it is known.
    pub fn printed(&self, count: usize, text: usize) -> Option<impl Iterator<Item = &PrintedText>> {
        self.prefixes.printed(self.number(count, false).ok()?, text)
    }

    /// What `{% generation %}` names in the rendering of the first `count` messages, as far as it stands for them alone.
    pub fn generations(&self, count: usize) -> &[Range<usize>] {
        self.number(count, false).map_or(&[], |number| self.prefixes.generations(number))
    }
}

/// The renderings with marks around all texts.
pub struct MarkedTexts {
    texts: Texts,
    marks: NumberedMarks,
    /// A place up to which two stored texts are known to differ in marks alone.
    known: Alignment,
}

impl MarkedTexts {
    /// Renders the same beginnings with marks; none if not all texts can have one.
    pub fn new(
        template: &Template,
        chat: &Chat,
        with_ids: bool,
        wanted: Vec<Prefix>,
    ) -> Option<MarkedTexts> {
        let (marked, marks) = difference::marked(chat, with_ids)?;
        let texts = Texts::new(template, &marked, wanted, &[]).ok()?;
        Some(MarkedTexts { texts, marks, known: Alignment::default() })
    }

    /// Finds the texts of one message at the end of the rendering of the first `count` messages.
    fn of_message(
        &mut self,
        text: &Parts<'_>,
        count: usize,
        message: usize,
    ) -> Option<Vec<(Kind, Range<usize>)>> {
        let marked = self.texts.of(count, false).ok()?;
        Some(self.marks.align(text, &marked, &mut self.known)?.of_message(message))
    }

    /// The places of all texts in the rendering of the first `count` messages.
    pub fn places<'c>(
        &self,
        template: &'c Template,
        chat: &'c Chat,
        text: &'c str,
        count: usize,
    ) -> Option<Places<'c>> {
        let marked = self.texts.of(count, false).ok()?;
        let plain = Parts::of(text);
        let found = self.marks.align(&plain, &marked, &mut Alignment::default())?;
        Some(Places::complete(template, chat, text, &found))
    }
}

/// Finds the texts of messages in renderings.
pub struct Marks<'c> {
    pub template: &'c Template,
    pub chat: &'c Chat,
    /// The texts of the chat, if a template may print them as they are.
    printed: Option<PrintedTexts>,
    /// The beginnings of the chat in which texts are looked for.
    wanted: Vec<Prefix>,
    /// The same with marks, once they are needed.
    marked: OnceCell<Option<MarkedTexts>>,
}

impl<'c> Marks<'c> {
    /// Looks for texts in these beginnings of a chat.
    pub fn new(template: &'c Template, chat: &'c Chat, wanted: Vec<Prefix>) -> Marks<'c> {
        let (printed, marked) = (PrintedTexts::of(chat), OnceCell::new());
        Marks { template, chat, printed, wanted, marked }
    }

    /// The addresses of the texts that a template may print as they are.
    pub fn addresses(&self) -> &[usize] {
        self.printed.as_ref().map_or(&[], |printed| &printed.addresses)
    }

    fn marked(&self) -> Option<&MarkedTexts> {
        let make = || MarkedTexts::new(self.template, self.chat, false, self.wanted.clone());
        self.marked.get_or_init(make).as_ref()
    }

    /// Returns the places of the texts of message `message` in the rendering that ends with it.
    pub fn own(
        &mut self,
        texts: &Texts,
        message: usize,
    ) -> Result<Vec<(Kind, Range<usize>)>, Error> {
        let count = message + 1;
        let printed = self.printed.as_ref();
        if let Some(own) = printed.and_then(|of| of.of_message(texts, count, message)) {
            return Ok(own);
        }
        let text = &texts.of(count, false)?;
        self.marked();
        let marked = self.marked.get_mut().and_then(Option::as_mut);
        if let Some(own) = marked.and_then(|marked| marked.of_message(text, count, message)) {
            return Ok(own);
        }
        let (chat, text) = (self.chat.until(message), text.after(0));
        let mut places = Places::new(self.template, &chat, &text);
        let mut own = Vec::new();
        for kind in kinds(&chat.messages()[message]) {
            own.extend(places.of(message, kind)?.map(|place| (kind, place)));
        }
        Ok(own)
    }

    /// Returns the places of all texts in the rendering of a chat.
    pub fn places<'t>(&'t self, texts: &Texts, chat: &'t Chat, text: &'t str) -> Places<'t> {
        let count = chat.messages().len();
        let printed = self.printed.as_ref();
        if let Some(found) = printed.and_then(|printed| printed.places(texts, count)) {
            return Places::complete(self.template, chat, text, &found);
        }
        self.marked()
            .and_then(|marked| marked.places(self.template, chat, text, count))
            .unwrap_or_else(|| Places::new(self.template, chat, text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;

    /// Texts that a template prints as JSON stand where marks show them, if it is known where they stand.
    #[test]
    fn printed_texts_stand_where_marks_show_them() {
        let messages = r#"[{"role":"user","content":"get"},
            {"role":"assistant","content":" \"é\" \n","reasoning_content":"r","tool_calls":[
                {"function":{"name":"get","arguments":{"b":"\t \"q\"\n ","a":[1,"é\\",{"k":" "}],"n":{}}}},
                {"function":{"name":"put","arguments":{"n":1}}}]},
            {"role":"tool","name":"get","content":{"n":5,"t":"get"}},
            {"role":"assistant","content":"b","reasoning_content":"s"}]"#;
        let chat = Chat::new(Value::from_json(messages).unwrap().as_list().unwrap().to_vec());
        let chat = chat.unwrap();
        let mut known = Vec::new();
        for made in [
            "c.function.arguments|tojson",
            "c.function.arguments|tojson(ensure_ascii=true)",
            "c.function.arguments|tojson(indent=2)",
            "c.function.arguments|tojson(sort_keys=true)",
            "c.function.name + (c.function.arguments|tojson)",
            "c.function|tojson",
            "c|tojson|trim|string",
            "c|tojson|trim('{}')",
            "{'name': c.function.name, 'x': c.function.arguments, 'y': 1}|tojson",
            "c.function.name|tojson",
            "m.tool_calls|tojson",
            "m|tojson",
            "c|tojson|trim('{\"funct}')",
            "(c|tojson)[:-1]",
            "'%s' % (c|tojson)",
            "'%s%s' % (c.function.name, c.function.arguments)",
            "{'name': c.function.name + '!'}|tojson",
            "c.function.arguments.values()|list|tojson",
            "c.function.arguments|tojson|tojson",
        ] {
            let source = format!(
                "{{% for m in messages %}}<{{{{ m.role }}}}>{{% if loop.last %}}{{{{ m.reasoning_content }}}}{{% endif %}}\
                 {{{{ m.content if m.content is string else m.content|tojson }}}}\
                 {{% for c in m.tool_calls or [] %}}<call>{{{{ {made} }}}}</call>{{% endfor %}}{{% endfor %}}"
            );
            let template = Template::new(&source).unwrap();
            let count = chat.messages().len();
            let wanted = vec![Prefix::new(count, false)];
            let printed = PrintedTexts::of(&chat).unwrap();
            let texts = Texts::new(&template, &chat, wanted.clone(), &printed.addresses).unwrap();
            let marked = MarkedTexts::new(&template, &chat, false, wanted).unwrap();
            let plain = texts.of(count, false).unwrap();
            let other = marked.texts.of(count, false).unwrap();
            let (own, other) = (
                printed.places(&texts, count),
                marked.marks.align(&plain, &other, &mut Alignment::default()),
            );
            known.push(own.is_some());
            if let (Some(own), Some(other)) = (own, other) {
                for message in 0..count {
                    assert_eq!(own.of_message(message), other.of_message(message), "{made}");
                }
            }
        }
        assert_eq!(known.iter().filter(|is_known| **is_known).count(), 12, "{known:?}");
    }
}
