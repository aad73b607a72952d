//! Refuses a folder with files of several splits, as clones of sets of the Hugging Face Hub have them: a dataset
//! for training must be made from one split. Names are recognised as `datasets` does
//! (<https://huggingface.co/docs/datasets/repository_structure>), in any case.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result, shown};
use crate::wording::shell_word;

/// The splits, and their words in names of files and folders. The first split is the one to train
/// on.
const SPLITS: [(&str, &[&str]); 3] = [
    ("train", &["train", "training"]),
    ("validation", &["validation", "valid", "val", "dev"]),
    ("test", &["test", "testing", "eval", "evaluation"]),
];
/// The characters around such a word, besides digits.
const AROUND: &[u8] = b"-._ ";

/// The split of a file, and the part of its path that states it.
struct StatedSplit {
    split: usize,
    /// The path up to the end of the word.
    path: PathBuf,
    is_folder: bool,
}

/// Refuses a folder whose files are of several splits.
pub fn refuse_several(folder: &Path, files: &[PathBuf]) -> Result<()> {
    let said = |path: &PathBuf| Some((said_of(folder, path)?, path.clone()));
    let said: Vec<(StatedSplit, PathBuf)> = files.iter().filter_map(said).collect();
    let is_there = |split: &usize| said.iter().any(|(said, _)| said.split == *split);
    let there: Vec<usize> = (0..SPLITS.len()).filter(is_there).collect();
    let [first, _, ..] = *there else { return Ok(()) };
    let names: Vec<&str> = there.iter().filter_map(|&split| Some(SPLITS.get(split)?.0)).collect();
    let cause =
        format!("has files of several splits ({}), but only one is for training", names.join(", "));
    let of_first: Vec<&(StatedSplit, PathBuf)> =
        said.iter().filter(|(said, _)| said.split == first).collect();
    let pattern = pattern_for(&of_first, files);
    Err(Error::usage(cause)
        .at(folder)
        .hint(pattern.unwrap_or_else(|| "name the FILEs".to_string())))
}

/// Returns what a path below the folder states: its name, or else the nearest folder above it that
/// states a split.
fn said_of(folder: &Path, path: &Path) -> Option<StatedSplit> {
    path.ancestors().take_while(|above| *above != folder).find_map(|above| {
        let name = above.file_name()?.to_str()?;
        let (split, end) = word_in(name)?;
        let is_folder = above != path;
        let path = if is_folder { above.to_path_buf() } else { above.with_file_name(&name[..end]) };
        Some(StatedSplit { split, path, is_folder })
    })
}

/// Returns the first word in a name that is one for a split, and where the word ends.
fn word_in(name: &str) -> Option<(usize, usize)> {
    let is_around = |byte: &u8| AROUND.contains(byte) || byte.is_ascii_digit();
    let mut end = 0;
    for word in name.as_bytes().split(is_around) {
        end += word.len();
        let is_word = |known: &&str| known.as_bytes().eq_ignore_ascii_case(word);
        if let Some(split) = SPLITS.iter().position(|(_, words)| words.iter().any(is_word)) {
            return Some((split, end));
        }
        end += 1;
    }
    None
}

/// Returns a shell word for these files alone: their folder, the file, or a pattern.
fn pattern_for(chosen: &[&(StatedSplit, PathBuf)], files: &[PathBuf]) -> Option<String> {
    let (said, first) = chosen.first()?;
    if said.is_folder {
        let is_below = |path: &PathBuf| path.starts_with(&said.path);
        let below = files.iter().filter(|path| is_below(path)).count();
        return (below == chosen.len()).then(|| shell_word(&shown(&said.path)));
    }
    let (name, before) = (shown(first), shown(&said.path));
    let after = name.strip_prefix(&before)?;
    // `train.jsonl`: only the ending follows.
    let Some(after) = after.strip_prefix(['-', '_', ' ']) else {
        return (chosen.len() == 1).then(|| shell_word(&name));
    };
    let before = &name[..before.len() + 1];
    let ending = &after[after.find('.')?..];
    let is_matched = |path: &PathBuf| {
        let rest = shown(path).strip_prefix(before).map(str::to_string);
        rest.is_some_and(|rest| !rest.contains('/') && rest.ends_with(ending))
    };
    let matched: Vec<&PathBuf> = files.iter().filter(|path| is_matched(path)).collect();
    let is_all = matched.iter().copied().eq(chosen.iter().map(|(_, path)| path));
    is_all.then(|| format!("{}*{}", shell_word(before), shell_word(ending)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(names: &[&str]) -> Option<String> {
        let paths: Vec<PathBuf> = names.iter().map(|name| Path::new("d").join(name)).collect();
        refuse_several(Path::new("d"), &paths).err().map(|error| error.to_string())
    }

    #[test]
    fn splits_are_known_as_datasets_knows_them() {
        let other = |name: &str| refused(&["train.jsonl", name]).is_some();
        for name in [
            "test.jsonl",
            "test-00000-of-00001.parquet",
            "my_test.jsonl",
            "test_1.jsonl",
            "a-val.jsonl",
            "valid.jsonl",
            "validation0.jsonl",
            "x.dev.jsonl",
            "eval.jsonl",
            "evaluation/a.jsonl",
            "TEST.jsonl",
            "a/test/b.jsonl",
            "test_sft-00000-of-00001.parquet",
        ] {
            assert!(other(name), "{name}");
        }
        for name in [
            "train-1.jsonl",
            "training.jsonl",
            "latest.jsonl",
            "contest.jsonl",
            "devices.jsonl",
            "a.jsonl",
            "retrain/x.jsonl",
            "values.jsonl",
        ] {
            assert!(!other(name), "{name}");
        }
        // The folder that is named states nothing about its content.
        let paths = ["a.jsonl", "train.jsonl"].map(|name| Path::new("test").join(name));
        assert!(refuse_several(Path::new("test"), &paths).is_ok());
    }

    #[test]
    fn the_way_on_names_the_files_of_one_split() {
        let way = |names: &[&str]| {
            let error = refused(names).unwrap_or_default();
            error.split_once("try: ").map(|(_, way)| way.to_string()).unwrap_or_default()
        };
        for (names, wanted) in [
            (&["test.jsonl", "train.jsonl"][..], "d/train.jsonl"),
            (&["data/test-0.parquet", "data/train-0.parquet"], "d/data/train-*.parquet"),
            (&["a b/test-0.parquet", "a b/train-0.parquet"], "'d/a b/train-'*.parquet"),
            (&["test/a.jsonl", "train/a.jsonl", "train/b.jsonl"], "d/train"),
            (&["dev.jsonl", "test.jsonl"], "d/dev.jsonl"),
            (&["test.jsonl", "train1.jsonl", "train2.jsonl"], "name the FILEs"),
            (&["train-test.jsonl", "train-a.jsonl", "x-test.jsonl"], "d/train-*.jsonl"),
        ] {
            assert_eq!(way(names), wanted, "{names:?}");
        }
    }
}
