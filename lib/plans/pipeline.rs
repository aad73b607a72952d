//! The pipeline of a plan: filters with `|` between them, as words. `gristmill` runs them in one process; with a program
//! of somebody else's among them, or where there is no `gristmill`, each is a process of its own.

use std::io;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use serde::{Deserialize, Serialize};

use crate::chain::{PIPE, first_cause};
use crate::error::{At, Error, Result};
use crate::files;
use crate::program;
use crate::wording::shell_word;

/// The filters of our pipelines.
const OF_PIPELINES: [&str; 9] = [
    "synth-harmony",
    "chat-harmony",
    "chat-tok",
    "harmony-tok",
    "mx-decode",
    "puzzle-encode",
    "span-mask",
    "mmidx-write",
    "npy-pack",
];

/// Filters with their words; the first word is the filter's name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pipeline(pub Vec<Vec<String>>);

impl Pipeline {
    /// Reads the words of a pipeline.
    pub fn parse(words: &[String]) -> Result<Pipeline> {
        let filters: Vec<Vec<String>> =
            words.split(|word| word == PIPE).map(<[String]>::to_vec).collect();
        if filters.iter().any(Vec::is_empty) {
            return Err(Error::usage("a filter is missing beside '|'"));
        }
        Ok(Pipeline(filters))
    }

    /// Returns the names of the filters.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|words| words.first()).map(String::as_str)
    }

    pub fn words(&self) -> Vec<String> {
        self.0.join(&PIPE.to_string())
    }

    /// Returns it as one line for a shell, in which `'|'` is a word.
    pub fn line(&self) -> String {
        self.words().iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
    }

    /// Returns the first program that is none of our filters: neither one of pipelines, nor any beside this program.
    pub fn foreign(&self) -> Result<Option<&str>> {
        for name in self.names() {
            let is_plain = Path::new(name).file_name().is_some_and(|own| own == name);
            let beside = program::filter(name).at(name)?;
            if !is_plain || !(OF_PIPELINES.contains(&name) || files::is_file(&beside)?) {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    /// Starts it with an empty stdin. `set` sets what all its processes have in common; `stderr` is given to each.
    pub fn spawn(
        &self,
        set: impl Fn(&mut Command),
        stderr: impl Fn() -> io::Result<Stdio>,
    ) -> Result<RunningPipeline> {
        let all = program::filter(program::ALL).at(program::ALL)?;
        let is_one = self.0.len() > 1 && self.foreign()?.is_none() && files::is_file(&all)?;
        let programs = match is_one {
            true => vec![[&[program::ALL.to_string()], &*self.words()].concat()],
            false => self.0.clone(),
        };
        let last = programs.len() - 1;
        let (mut children, mut stdin) = (Vec::new(), Stdio::null());
        for (place, words) in programs.iter().enumerate() {
            let name = words.first().map(String::as_str).unwrap_or_default();
            let mut command = Command::new(name);
            set(&mut command);
            command.args(words.iter().skip(1)).stdin(stdin);
            command.stdout(if place == last { Stdio::null() } else { Stdio::piped() });
            let child = stderr().and_then(|stderr| command.stderr(stderr).spawn());
            let mut child = child.at(name)?;
            stdin = child.stdout.take().map_or_else(Stdio::null, Stdio::from);
            children.push(child);
        }
        Ok(RunningPipeline(children))
    }
}

/// The processes of a pipeline.
pub struct RunningPipeline(Vec<Child>);

impl RunningPipeline {
    pub fn ids(&self) -> impl Iterator<Item = u32> {
        self.0.iter().map(Child::id)
    }

    /// Waits for the end of all processes; returns the exit code of the first cause of a failure. A process that a signal
    /// has ended counts as 75, but for SIGPIPE: its reader had enough, or has failed itself.
    pub fn wait(&mut self) -> io::Result<u8> {
        let mut codes = Vec::new();
        for child in &mut self.0 {
            codes.push(code_of(child.wait()?));
        }
        // (The last one has no reader.)
        if let Some(last) = codes.last_mut().filter(|code| **code == crate::chain::CLOSED) {
            *last = 75;
        }
        Ok(first_cause(&codes))
    }
}

fn code_of(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(0), _) => 0,
        (Some(code @ (1 | 2)), _) => code as u8,
        (_, Some(libc::SIGPIPE)) => crate::chain::CLOSED,
        _ => 75,
    }
}

/// Reads a line of shell words as [`shell_word`] writes them; `None` if it has anything else that a shell would obey.
pub(super) fn words_of_line(line: &str) -> Option<Vec<String>> {
    let (mut words, mut word): (Vec<String>, Option<String>) = (Vec::new(), None);
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            ' ' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next()? {
                        '\'' => break,
                        inner => word.push(inner),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(characters.next()?),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_are_written() {
        for words in [vec!["a", "|", "b c", "it's", ""], vec!["'", "\\", "$x", "é"], vec![]] {
            let line = words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ");
            assert_eq!(words_of_line(&line).unwrap(), words, "{line}");
        }
        assert_eq!(words_of_line(" a  b "), Some(vec!["a".into(), "b".into()]));
        assert_eq!(words_of_line("'a"), None);
    }
}
