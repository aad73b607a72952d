//! The command lines after `try:` in errors. Pasted into a shell, they do what the user wanted.

use std::path::Path;

use crate::error::shown;
use crate::inputs;
use crate::program;
use crate::wording::shell_word;

/// Returns the command line of this run after these filters (`a | b`); the first of them reads the
/// inputs. `input` is the input that holds other records, under the name in the error.
pub fn through(filters: &str, input: &str) -> String {
    let (first, rest) = filters.split_once(" | ").unwrap_or((filters, ""));
    let command = Command::of_run(input);
    if command.is_of_script() {
        // For a script, an option decides which filter reads the input.
        return match first {
            "chat-harmony" => "--chat".to_string(),
            "synth-harmony" => "--raw".to_string(),
            other => format!("{other} before it"),
        };
    }
    let read = match command.inputs.is_empty() {
        true => format!("... | {first}"),
        false => format!("{first} {}", command.inputs.join(" ")),
    };
    match rest.is_empty() {
        true => command.behind(&read),
        false => command.behind(&format!("{read} | {rest}")),
    }
}

/// Returns the command line of this run after a command that reads something other than its inputs.
pub fn behind(producer: &str, input: &str) -> String {
    Command::of_run(input).behind(producer)
}

/// Returns a word that can be pasted into a shell; FILE if it contains characters that are not
/// printed as they are.
pub fn shown_word(word: &str) -> String {
    if shown(Path::new(word)) == word { shell_word(word) } else { "FILE".to_string() }
}

/// The command line of this run.
struct Command {
    tool: String,
    /// The words that name inputs, without stdin.
    inputs: Vec<String>,
    others: Vec<String>,
}

impl Command {
    fn of_run(input: &str) -> Command {
        let mut words =
            program::command_line().into_iter().map(|word| word.to_string_lossy().into_owned());
        let tool =
            words.next().and_then(|word| Some(Path::new(&word).file_name()?.to_str()?.to_string()));
        let is_input = |word: &String| {
            let path = Path::new(word);
            word == "-" || shown(path) == input || inputs::is_named(path)
        };
        let (mut inputs, others): (Vec<String>, Vec<String>) = words.partition(is_input);
        inputs.retain(|word| word != "-");
        let shown = |words: Vec<String>| words.iter().map(|word| shown_word(word)).collect();
        Command { tool: tool.unwrap_or_default(), inputs: shown(inputs), others: shown(others) }
    }

    /// Whether a script runs this command for a task.
    fn is_of_script(&self) -> bool {
        self.others.iter().any(|word| word.starts_with("--progress-to"))
    }

    /// Returns this command after other filters. If these begin or end with the running filter, they are the whole
    /// command line.
    fn behind(&self, filters: &str) -> String {
        let tool = self.tool.as_str();
        let (before, read) = match filters.strip_prefix("... | ") {
            Some(read) => ("... | ", read),
            None => ("", filters),
        };
        if read.split(' ').next() == Some(tool) {
            return format!("{before}{}", read.split(" | ").next().unwrap_or_default());
        }
        let own = format!(" | {tool}");
        let mut way = filters.strip_suffix(own.as_str()).unwrap_or(filters).to_string();
        way += &format!("{own} -");
        self.others.iter().for_each(|word| way += &format!(" {word}"));
        way
    }
}
