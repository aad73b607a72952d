//! The help, version and other texts of every filter, in the same form for all.

use crate::common::{FILTERS, bash, bin_dir, installed, tool};

/// Filters whose help is that of their subcommands.
const SUBCOMMANDS: [(&str, &[&str]); 2] = [
    ("puzzle-encode", &["sudoku", "arc", "maze", "domino"]),
    ("ds-plan", &["build", "plan", "run", "status", "parts", "finish", "merge"]),
];

/// A screen has 24 lines of 80 columns; what is rare is in `--help`, under headings.
#[test]
fn short_help_fits_a_screen() {
    let fits = |name: &str, arguments: &[&str]| {
        let help = tool(name).args(arguments).run().silent().text();
        assert!((8..=24).contains(&help.lines().count()), "{}: {help}", help.lines().count());
        let longest = help.lines().map(|line| line.chars().count()).max();
        assert!(longest <= Some(80), "{name}: a line of {longest:?}");
        let typed = [&[name], &arguments[..arguments.len() - 1]].concat().join(" ");
        assert!(help.contains(&format!("Usage: {typed} ")), "{help}");
    };
    for name in FILTERS.iter() {
        fits(name, &["-h"]);
    }
    for (name, subcommands) in SUBCOMMANDS {
        subcommands.iter().for_each(|subcommand| fits(name, &[subcommand, "-h"]));
    }
}

#[test]
fn long_help_has_examples_and_exit_codes() {
    for name in FILTERS.iter() {
        let help = tool(name).args(&["--help"]).run().silent().text();
        let examples = help.split("Examples:\n").nth(1).unwrap_or_else(|| panic!("{name}: {help}"));
        let examples = examples.lines().take_while(|line| !line.is_empty()).collect::<Vec<_>>();
        // What is further in goes on with the line before.
        let whole = examples.iter().filter(|line| !line.starts_with("   ")).count();
        assert!((2..=5).contains(&whole), "{name}: {examples:?}");
        assert!(examples.iter().all(|line| line.starts_with("  ")), "{name}: {examples:?}");
        assert!(examples.iter().any(|line| line.contains(name)), "{name}: {examples:?}");
        for part in ["Exit codes: 0 ", " 1 ", " 2 ", " 75 ", "In: ", "Out: "] {
            // (Lines are filled.)
            let words = help.replace('\n', " ");
            assert!(words.contains(part), "{name}: {part:?} is not in its help");
        }
        assert!(help.lines().count() > tool(name).args(&["-h"]).run().text().lines().count());
    }
}

/// The flags in the examples are flags that the filter has.
#[test]
fn examples_use_flags_that_exist() {
    let help = |name: &String| (name.clone(), tool(name).args(&["--help"]).run().text());
    let helps: Vec<(String, String)> = FILTERS.iter().map(help).collect();
    for (_, help) in &helps {
        let examples = help.split("Examples:\n").nth(1).unwrap().split("\n\n").next().unwrap();
        let commands = examples.split(['|', '\n', '&']);
        for command in commands {
            let words: Vec<&str> = command.split_whitespace().collect();
            let Some((_, own)) =
                helps.iter().find(|(name, _)| words.first() == Some(&name.as_str()))
            else {
                continue;
            };
            for flag in words.iter().filter(|word| word.starts_with('-') && word.len() > 1) {
                let listed = own.contains(&format!("{flag} "))
                    || own.contains(&format!("{flag},"))
                    || own.contains(&format!("{flag}\n"));
                assert!(listed, "{command:?}: {flag} is not one of its flags");
            }
        }
    }
}

/// Help fits a terminal of 80 columns, wherever it is printed.
#[test]
fn help_has_80_columns() {
    let too_wide = |name: &str, help: &str| {
        let wide: Vec<&str> = help.lines().filter(|line| line.chars().count() > 80).collect();
        assert!(wide.is_empty(), "{name}: {wide:#?}");
    };
    for name in FILTERS.iter().map(String::as_str).chain(["gristmill"]) {
        for flag in ["-h", "--help"] {
            too_wide(name, &tool(name).args(&[flag]).run().silent().text());
        }
    }
    for line in ["puzzle-encode arc", "ds-plan build", "ds-plan finish", "ds-plan merge"] {
        too_wide(line, &bash(&format!("{line} --help")).ok().text());
    }
    let scripts = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts");
    for name in ["synth-kd", "synth-raw", "macroxue", "merge-packs", "puzzles", "quickstart"] {
        too_wide(name, &bash(&format!("{scripts}/{name}.sh --help")).ok().text());
    }
}

/// The version that `--version` prints, without the commit and whether it was changed, where they are known.
fn long_version(name: &str) -> String {
    let text = tool(name).args(&["--version"]).run().silent().text();
    let line = text.trim_end();
    let Some((version, built)) = line.split_once(" (") else { return line.to_string() };
    let built = built.strip_suffix(')').unwrap().trim_end_matches(", changed");
    let is_commit = built.len() == 12 && built.bytes().all(|byte| byte.is_ascii_hexdigit());
    assert!(is_commit || built == "changed", "{line}");
    version.to_string()
}

#[test]
fn version_and_wrong_flags() {
    for name in FILTERS.iter() {
        let short = tool(name).args(&["-V"]).run().silent().text();
        assert_eq!(short, format!("{name} {}\n", env!("CARGO_PKG_VERSION")));
        assert_eq!(long_version(name), short.trim_end(), "{name}");
        for wrong in ["--no-such-flag", "--slice=1", "-Z"] {
            let run = tool(name).args(&[wrong]).input("").run();
            assert_eq!(run.code(), Some(2), "{run:?}");
            assert!(
                run.stdout.is_empty() && run.stderr.starts_with(&format!("{name}: ")),
                "{run:?}"
            );
        }
    }
    for (name, arguments) in [
        ("harmony-tok", &["--slice", "3/3"][..]),
        ("harmony-tok", &["--jobs", "0"]),
        ("harmony-tok", &["--decode", "--max-tokens", "3"]),
        ("harmony-tok", &["--to", "parquet"]),
        ("span-mask", &["--span", "analysis=256"]),
        ("mmidx-write", &[]),
        ("mmidx-write", &["--root", "x"]),
        ("mmidx-write", &["--prefix", "x", "--valid-fraction", "1.5"]),
        ("mmidx-write", &["--prefix", "x", "--rejects", "y"]),
        ("mmidx-write", &["--root", "x", "--shard", "a/b"]),
        ("ds-cat", &["--to", "parquet"]),
        ("ds-cat", &["--overwrite"]),
        ("ds-cat", &["--grid", "--columns", "inputs"]),
        ("npy-pack", &["-o", "x", "--ignore-label-id", "x"]),
        ("puzzle-encode", &[]),
        ("puzzle-encode", &["chess"]),
        ("puzzle-encode", &["domino", "--num-games", "0"]),
        ("ds-check", &[]),
        ("ds-stat", &["--merge"]),
        ("ds-diff", &["a"]),
        ("ds-stat", &["--nth", "3-1"]),
        ("ds-view", &["--step", "3-1"]),
        ("ds-view", &["--color", "blue"]),
        ("ds-check", &["-", "--only", "kd.mas"]),
        ("ds-manifest", &[]),
        ("ds-manifest", &["/nonexistent"]),
    ] {
        let run = tool(name).args(arguments).input("\n").run();
        assert_eq!(run.code(), Some(2), "{run:?}");
    }
}

#[test]
fn manual_pages_and_completions() {
    for name in FILTERS.iter() {
        for (what, part) in
            [("man", ".TH"), ("bash", "complete -F"), ("zsh", "#compdef"), ("fish", "complete -c")]
        {
            let page = tool(name).args(&["--generate", what]).run().silent().text();
            // A minus sign that can be copied has a backslash in a man page.
            let page = page.replace("\\-", "-");
            assert!(page.contains(part) && page.contains(name), "{name} --generate {what}: {page}");
        }
        tool(name)
            .args(&["--generate", "pdf"])
            .run()
            .fails(2, &["--generate pdf: expected man, bash"]);
    }
}

#[test]
fn a_full_disk_is_noticed_even_by_the_help() {
    for name in FILTERS.iter() {
        for flag in ["-h", "--help", "--version", "--generate man"] {
            bash(&format!("{name} {flag} > /dev/full"))
                .says(75, &format!("{name}: stdout: No space left on device"));
        }
    }
}

/// The one program that holds all filters does what each of them does, under either name.
#[test]
fn one_program_is_all_filters() {
    let all = tool("gristmill").args(&["--help"]).run().silent().text();
    for name in FILTERS.iter() {
        assert!(all.contains(&format!("\n  {name} ")), "{name}: {all}");
        let own = tool(name).args(&["--help"]).run().silent().text();
        assert_eq!(tool("gristmill").args(&[name, "--help"]).run().silent().text(), own);
        assert_eq!(tool("gristmill").args(&["help", name]).run().silent().text(), own);
        let wrong = tool("gristmill").args(&[name, "--no-such-flag"]).run();
        assert_eq!(wrong.stderr, tool(name).args(&["--no-such-flag"]).run().stderr);
    }
    let dir = crate::common::TempDir::new();
    let program = bin_dir().join("gristmill");
    std::os::unix::fs::symlink(program, dir.path().join("ds-cat")).unwrap();
    let link = dir.at("ds-cat");
    bash(&format!("echo '{{' | {link}")).fails(1, &["ds-cat: "]);
    // What the program is called is not in the data.
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/example/conversations.ndjson");
    let arrow =
        |program: &str| bash(&format!("{program} {example} --to arrow | sha256sum")).ok().text();
    assert_eq!(arrow("gristmill ds-cat"), arrow("ds-cat"));
    assert_eq!(arrow(&link), arrow("ds-cat"));
    tool("gristmill").run().fails(2, &["gristmill: no filter is named; try: gristmill help"]);
    tool("gristmill").args(&["ds-dog"]).run().fails(2, &["gristmill: ds-dog: no such filter"]);
    let version = tool("gristmill").args(&["-V"]).run().silent().text();
    assert_eq!(version, format!("gristmill {}\n", env!("CARGO_PKG_VERSION")));
    assert_eq!(long_version("gristmill"), version.trim_end());
}

/// A filter that is started at a terminal without input says so instead of waiting.
#[test]
fn no_input_at_a_terminal() {
    if !installed("script") {
        return;
    }
    for name in ["harmony-tok", "span-mask", "ds-cat", "mmidx-write --prefix /tmp/never"] {
        let run = bash(&format!("script -qec '{name}' /dev/null < /dev/null"));
        assert_eq!(run.code(), Some(2), "{run:?}");
        assert!(
            run.text().contains("no input: give a FILE or pipe records in; see --help"),
            "{run:?}"
        );
    }
}

/// Binary does not reach a terminal, and the hint of the refusal works.
#[test]
fn no_binary_to_a_terminal() {
    if !installed("script") {
        return;
    }
    let line = r#"{"id":"a","messages":[{"role":"assistant","channel":"final","content":"hi"}]}"#;
    for (flags, code) in [("--to arrow", 2), ("--to arrow | cat", 0), ("", 0)] {
        let dir = crate::common::TempDir::new();
        let file = dir.write("in.ndjson", format!("{line}\n"));
        for name in ["harmony-tok", "ds-cat"] {
            let run = bash(&format!("script -qec '{name} {file} {flags}' /dev/null < /dev/null"));
            assert_eq!(run.code(), Some(code), "{run:?}");
            assert_eq!(
                run.lossy().contains("is binary and stdout is a terminal"),
                code == 2,
                "{run:?}"
            );
        }
    }
}

#[test]
fn progress_only_when_asked_for() {
    let line = r#"{"id":"a","messages":[{"role":"assistant","channel":"final","content":"hi"}]}"#;
    let run =
        |flags: &[&str]| tool("harmony-tok").args(flags).input(format!("{line}\n")).run().ok();
    assert_eq!(run(&[]).stderr, "");
    assert_eq!(run(&["--progress", "never"]).stderr, "");
    let shown = run(&["--progress", "always"]).stderr;
    assert!(shown.contains("1 conversation,") && shown.ends_with('\n'), "{shown:?}");
}
