//! The parser's position in the tokens of a template.

use std::collections::HashSet;
use std::sync::Arc;

use super::lexer::{self, Place, Token};
use super::{Program, names};
use crate::error::{Error, Result};

/// Parses the source of a template.
pub fn program(source: &str) -> Result<Program> {
    let too_large = |cause: &str| Err(Box::new(Error::Syntax { line: 1, cause: cause.into() }));
    if source.len() > LONGEST {
        return too_large("the template is longer than 1048576 bytes");
    }
    let tokens = lexer::tokens(source)?;
    let names: HashSet<&str> = tokens
        .iter()
        .filter_map(|place| match &place.token {
            Token::Name(name) => Some(&**name),
            _ => None,
        })
        .collect();
    let is_branch = |place: &&Place| matches!(&place.token, Token::Name(name) if matches!(&**name, "if" | "elif"));
    if names.len() * tokens.iter().filter(is_branch).count() > MOST_COPIES {
        return too_large("the template has too many names and branches");
    }
    let literals = literals(&tokens);
    let mut parser = Parser { tokens, at: 0, depth: 0, links: 0, program: Program::default() };
    let body = parser.statements(&[])?;
    let mut program = parser.program;
    (program.body, program.literals) = (body, literals);
    names::find(&mut program)?;
    Ok(program)
}

/// The texts that a template itself has.
fn literals(tokens: &[Place]) -> String {
    let mut literals = String::new();
    let mut was_text = false;
    for Place { token, .. } in tokens {
        // (Texts that stand side by side are one constant.)
        let (text, is_text) = match token {
            Token::Data(text) => (&**text, false),
            Token::Text(text) => (text.as_str(), true),
            _ => {
                was_text = false;
                continue;
            }
        };
        if !(is_text && was_text) {
            literals.push('\0');
        }
        literals.push_str(text);
        was_text = is_text;
    }
    literals
}

/// Maximum length of a source, in bytes. Known templates have up to 40,000.
const LONGEST: usize = 1 << 20;

/// Maximum product of names and branches, since the names of a scope are copied for each branch. The template of
/// Harmony has 3,000; with 4,000,000 a debug build took 9 s.
const MOST_COPIES: usize = 1 << 21;

/// Maximum nesting of statements and expressions, which are walked by recursion.
const DEEPEST: usize = 120;

/// Maximum nesting with the links of chains (`a.b.c`, `1 + 2 + 3`), which nest in the tree.
const MOST_LINKS: usize = 300;

pub(super) struct Parser {
    tokens: Vec<Place>,
    pub(super) at: usize,
    depth: usize,
    links: usize,
    pub(super) program: Program,
}

impl Parser {
    pub(super) fn peek(&self) -> &Token {
        &self.tokens[self.at].token
    }

    /// The token after the next.
    pub(super) fn look(&self) -> &Token {
        &self.tokens[(self.at + 1).min(self.tokens.len() - 1)].token
    }

    pub(super) fn line(&self) -> usize {
        self.tokens[self.at].line
    }

    pub(super) fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    pub(super) fn fail<T>(&self, cause: impl Into<String>) -> Result<T> {
        Err(Box::new(Error::Syntax { line: self.line(), cause: cause.into() }))
    }

    /// Reads a nested part with `read`, and counts a level of nesting.
    pub(super) fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let links = self.links;
        self.depth += 1;
        if self.depth > DEEPEST {
            return self.fail("nested too deeply");
        }
        self.link()?;
        let value = read(self);
        self.depth -= 1;
        self.links = links;
        value
    }

    /// Counts a link of a chain.
    pub(super) fn link(&mut self) -> Result<()> {
        self.links += 1;
        if self.links > MOST_LINKS { self.fail("nested too deeply") } else { Ok(()) }
    }

    pub(super) fn is_name(&self, name: &str) -> bool {
        matches!(self.peek(), Token::Name(text) if &**text == name)
    }

    pub(super) fn is_operator(&self, operator: &str) -> bool {
        matches!(self.peek(), Token::Operator(text) if *text == operator)
    }

    pub(super) fn take_name(&mut self, name: &str) -> bool {
        let is = self.is_name(name);
        if is {
            self.next();
        }
        is
    }

    pub(super) fn take_operator(&mut self, operator: &str) -> bool {
        let is = self.is_operator(operator);
        if is {
            self.next();
        }
        is
    }

    pub(super) fn expect_operator(&mut self, operator: &str) -> Result<()> {
        match self.take_operator(operator) {
            true => Ok(()),
            false => self.fail(format!("expected token '{operator}', got {}", self.shown())),
        }
    }

    pub(super) fn expect_name(&mut self) -> Result<Arc<str>> {
        match self.peek() {
            Token::Name(_) => match self.next() {
                Token::Name(name) => Ok(name),
                _ => self.fail("expected a name"),
            },
            _ => self.fail(format!("expected token 'name', got {}", self.shown())),
        }
    }

    pub(super) fn expect_word(&mut self, name: &str) -> Result<()> {
        match self.take_name(name) {
            true => Ok(()),
            false => self.fail(format!("expected token '{name}', got {}", self.shown())),
        }
    }

    /// Describes the next token in errors.
    pub(super) fn shown(&self) -> String {
        match self.peek() {
            Token::Data(_) => "template data".into(),
            Token::VariableBegin => "begin of print statement".into(),
            Token::VariableEnd => "end of print statement".into(),
            Token::BlockBegin => "begin of statement block".into(),
            Token::BlockEnd => "end of statement block".into(),
            Token::Name(name) => format!("'{name}'"),
            Token::Text(text) => format!("'{text}'"),
            Token::Number(_) => "a number".into(),
            Token::Operator(operator) => format!("'{operator}'"),
            Token::End => "end of template".into(),
        }
    }

    pub(super) fn expect_block_end(&mut self) -> Result<()> {
        match self.peek() {
            Token::BlockEnd => {
                self.next();
                Ok(())
            }
            _ => {
                self.fail(format!("expected token 'end of statement block', got {}", self.shown()))
            }
        }
    }
}
