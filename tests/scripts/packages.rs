//! What is installed: the packages in places of their own, manual pages and completions.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use super::readme::blocks;
use crate::common::{TempDir, assert_same_datasets, bash, bin_dir, installed, python, tool};

const SCRIPTS: [&str; 6] =
    ["synth-raw", "synth-kd", "macroxue", "merge-packs", "puzzles", "quickstart"];

/// The wheel and the tarball, made from the binaries under test; the tarball is installed in `prefix`.
struct Packages {
    dir: TempDir,
    prefix: PathBuf,
}

static PACKAGES: LazyLock<Option<Packages>> = LazyLock::new(|| {
    for program in ["python3", "objdump"] {
        if !installed(program) {
            println!("skipped: {program} is not installed");
            return None;
        }
    }
    let dir = TempDir::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tools/package.sh");
    let out = dir.at("out");
    bash(&format!("{script} wheel tarball --binaries {} -o {out}", bin_dir().display())).ok();
    bash(&format!(
        "tar -xzf {out}/*.tar.gz -C {0} && {0}/gristmill-*/install.sh --prefix {0}/prefix",
        dir.path().display()
    ))
    .ok();
    let prefix = dir.path().join("prefix");
    Some(Packages { dir, prefix })
});

impl Packages {
    /// Runs a command with the package's programs and those of the system, and nothing else.
    fn run(&self, bin: &Path, directory: &Path, command: &str) -> crate::common::Outcome {
        let path = format!("{}:/usr/bin:/bin", bin.display());
        let (home, directory) = (directory.display(), directory.display());
        bash(&format!(
            "cd {directory} && env -i HOME={home} TERM=dumb PATH={path} bash -ec '{command}'"
        ))
    }

    fn share(&self) -> PathBuf {
        self.prefix.join("share")
    }
}

fn filters() -> Vec<String> {
    let entries = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/bin")).unwrap();
    let name = |path: PathBuf| path.file_stem().unwrap().to_str().unwrap().to_string();
    let mut names: Vec<String> = entries.map(|entry| name(entry.unwrap().path())).collect();
    names.sort();
    names
}

/// The main job, from an unpacked tarball: the scripts find the filters beside them, and the same
/// bytes come out as in the checkout.
#[test]
fn a_tarball_does_the_main_job() {
    let Some(packages) = PACKAGES.as_ref() else { return };
    let work = TempDir::new();
    let bin = packages.prefix.join("bin");
    packages
        .run(&bin, work.path(), "gristmill-quickstart && ds-check gristmill-quickstart/dataset")
        .ok();
    // Without bin/ in PATH, and through a link from elsewhere.
    let link = work.at("linked");
    std::os::unix::fs::symlink(bin.join("gristmill-synth-kd"), &link).unwrap();
    let nowhere = Path::new("/nonexistent");
    packages
        .run(
            nowhere,
            work.path(),
            "./linked gristmill-quickstart/input direct --valid-fraction 0.2",
        )
        .ok();
    let checkout = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/synth-kd.sh");
    packages
        .run(
            &bin_dir(),
            work.path(),
            &format!("{checkout} gristmill-quickstart/input own --valid-fraction 0.2"),
        )
        .ok();
    for root in ["gristmill-quickstart/dataset", "direct"] {
        assert_same_datasets(&work.path().join(root), &work.path().join("own"));
    }
    // A plan's lines name the installed script and program.
    let plan = packages
        .run(&bin, work.path(), "gristmill-synth-kd plan gristmill-quickstart/input planned")
        .ok();
    assert!(plan.text().contains(&bin.join("ds-plan").display().to_string()), "{plan:?}");
    fs::write(work.path().join("tasks"), plan.text()).unwrap();
    packages
        .run(
            nowhere,
            work.path(),
            &format!("sh tasks && {}/gristmill-synth-kd finish planned", bin.display()),
        )
        .ok();
    // What holds something else is not replaced.
    fs::create_dir(work.path().join("other")).unwrap();
    work.write("other/file", "x");
    packages
        .run(&bin, work.path(), "gristmill-quickstart other")
        .fails(2, &["other holds something else"]);
    assert!(work.path().join("other/file").exists());
}

/// Pages say what holds where they are installed, and their blocks run there.
#[test]
fn installed_pages_are_of_what_is_installed() {
    let Some(packages) = PACKAGES.as_ref() else { return };
    if !installed("jq") || !installed("parallel") {
        println!("skipped: jq or parallel is not installed");
        return;
    }
    let documentation = packages.share().join("doc/gristmill");
    let work = TempDir::new();
    let bin = packages.prefix.join("bin");
    packages.run(&bin, work.path(), "gristmill-quickstart").ok();
    let mut count = 0;
    for page in
        ["README.md", "docs/your-chats.md", "docs/chat.md", "docs/games.md", "docs/puzzles.md"]
            .into_iter()
            .chain([
                "docs/pipelines.md",
                "docs/errors.md",
                "docs/trainers/README.md",
                "docs/install.md",
            ])
    {
        let page = documentation.join(page);
        let text = fs::read_to_string(&page).unwrap();
        for word in
            ["scripts/synth", "scripts/example", "target/quick", "target/release", "a checkout"]
        {
            assert!(!text.contains(word), "{}: {word}", page.display());
        }
        for block in blocks(&page).into_iter().filter(|block| block.modules.is_empty()) {
            let room = TempDir::new();
            let example = "gristmill-quickstart";
            std::os::unix::fs::symlink(work.path().join(example), room.path().join(example))
                .unwrap();
            let script = work.write("block.sh", &block.code);
            packages.run(&bin, room.path(), &format!("bash -euo pipefail {script}")).ok();
            count += 1;
        }
    }
    assert!(count >= 20, "{count}");
}

/// The other scripts do theirs on the bundled example.
#[test]
fn installed_scripts_work() {
    let Some(packages) = PACKAGES.as_ref() else { return };
    let work = TempDir::new();
    let example = packages.share().join("gristmill/example");
    let run = |command: &str| {
        let command = command.replace("EXAMPLE", &example.display().to_string());
        packages.run(&packages.prefix.join("bin"), work.path(), &command)
    };
    run("gristmill-macroxue EXAMPLE/games a && gristmill-macroxue EXAMPLE/games b").ok();
    run("gristmill-merge-packs --output merged a b").ok();
    run("gristmill-puzzles sets --sudoku EXAMPLE/sudoku --domino 5").ok();
    run("mkdir raw && cp EXAMPLE/raw.ndjson raw && gristmill-synth-raw raw shards").ok();
    run("gristmill-macroxue nowhere c").fails(2, &["ds-plan: nowhere: no such folder"]);
    for script in SCRIPTS {
        let help = run(&format!("gristmill-{script} --help")).ok().text();
        assert!(help.contains("Usage: ") && help.contains("Examples:"), "{help}");
    }
}

/// A newer version replaces what the older one has left, and nothing stays in the end.
#[test]
fn a_tarball_is_upgraded_and_removed() {
    let Some(packages) = PACKAGES.as_ref() else { return };
    let dir = TempDir::new();
    let install = format!(
        "{}/gristmill-*/install.sh --prefix {}",
        packages.dir.path().display(),
        dir.path().display()
    );
    bash(&install).ok();
    // What an older version had and this one has not.
    let list = dir.path().join("share/gristmill/installed.txt");
    fs::write(&list, fs::read_to_string(&list).unwrap() + "bin/old-filter\n").unwrap();
    dir.write("bin/old-filter", "");
    dir.write("bin/mine", "");
    bash(&install).ok();
    assert!(!dir.path().join("bin/old-filter").exists());
    bash(&format!("{install} --uninstall")).ok();
    assert_eq!(dir.files(), ["bin/mine"]);
    bash(&format!("{install} --uninstall")).fails(2, &["nothing was installed here"]);
    // A damaged file is not installed.
    let copy = TempDir::new();
    bash(&format!(
        "cp -R {}/gristmill-*/. {1} && echo >> {1}/README.md",
        packages.dir.path().display(),
        copy.path().display()
    ))
    .ok();
    bash(&format!("{}/install.sh --prefix {}/x", copy.path().display(), copy.path().display()))
        .fails(1, &["differs from SHA256SUMS: ./README.md; try: "]);
    assert!(!copy.path().join("x").exists());
}

/// A new venv with nothing but the wheel.
#[test]
fn a_wheel_does_the_main_job() {
    let Some(packages) = PACKAGES.as_ref() else { return };
    let Some(python) = python() else { return };
    let work = TempDir::new();
    let venv = work.at("venv");
    bash(&format!("{} -m venv {venv}", python.display())).ok();
    bash(&format!(
        "{venv}/bin/pip install -q --no-index --no-deps {}/out/*.whl",
        packages.dir.path().display()
    ))
    .ok();
    let bin = PathBuf::from(&venv).join("bin");
    packages
        .run(&bin, work.path(), "gristmill-quickstart && ds-check gristmill-quickstart/dataset")
        .ok();
    packages.run(&bin, work.path(), "ds-cat nowhere").fails(2, &["ds-cat: nowhere: "]);
    let version = packages.run(&bin, work.path(), "gristmill --version").ok().text();
    assert!(version.starts_with(&format!("gristmill {}", env!("CARGO_PKG_VERSION"))), "{version}");
    let show = bash(&format!("{venv}/bin/pip show gristmill")).ok().text();
    assert!(show.contains(&format!("Version: {}", env!("CARGO_PKG_VERSION"))), "{show}");
    // The readers, with the numpy that the trainer has.
    let numpy = bash(&format!(
        "{} -c 'import numpy, os; print(os.path.dirname(os.path.dirname(numpy.__file__)))'",
        python.display()
    ));
    let site = numpy.ok().text();
    packages
        .run(
            &bin,
            work.path(),
            &format!(
                "PYTHONPATH={} python -c \"import gristmill_data as g; print(g.__file__)\"",
                site.trim()
            ),
        )
        .ok();
    bash(&format!("{venv}/bin/pip uninstall -q -y gristmill")).ok();
    let left =
        bash(&format!("find {venv} -name '*gristmill*' -o -name 'harmony-tok*'")).ok().text();
    assert_eq!(left, "");
}

/// A checkout's first build is the quick one, which says so; a build at full speed is kept up to date.
/// Scripts find the filters of both, and take those at full speed where there are some.
#[test]
fn a_checkout_is_built_in_a_short_time_first() {
    let checkout = TempDir::new();
    for name in ["scripts", "src", "Cargo.toml"] {
        let place = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
        std::os::unix::fs::symlink(place, checkout.path().join(name)).unwrap();
    }
    // In the place of cargo: it notes what is to be built, and the program is there.
    let cargo = checkout.write(
        "bin/cargo",
        format!(
            "#!/bin/sh\necho \"$*\" >>cargo.log\nmkdir -p target/$3\ncp {} target/$3/gristmill\n",
            bin_dir().join("gristmill").display()
        ),
    );
    bash(&format!("chmod 755 {cargo}")).ok();
    let run = |command: &str| {
        let root = checkout.path().display();
        bash(&format!("cd {root} && env -i HOME={root} PATH={root}/bin:/usr/bin:/bin {command}"))
    };
    let full_speed = "For large data: cargo build --release";
    let text = run("scripts/quickstart.sh").ok().text();
    assert!(text.ends_with(&format!("{full_speed}\n")), "{text}");
    run("scripts/synth-kd.sh target/quickstart/input own").ok();
    // Filters at full speed that do nothing but fail.
    bash(&format!(
        "mkdir {0}/target/release && cd {0}/target/release && for filter in {0}/src/bin/*.rs; do \
         ln -s /bin/false $(basename $filter .rs); done",
        checkout.path().display()
    ))
    .ok();
    let failed = run("scripts/synth-kd.sh target/quickstart/input other");
    assert_eq!(failed.code(), Some(1), "{failed:?}");
    fs::write(checkout.path().join("target/release/gristmill"), "").unwrap();
    bash(&format!("chmod 755 {}", checkout.at("target/release/gristmill"))).ok();
    let text = run("scripts/quickstart.sh").ok().text();
    assert!(text.contains("page.html") && !text.contains(full_speed), "{text}");
    let built = fs::read_to_string(checkout.path().join("cargo.log")).unwrap();
    let build = |profile: &str| format!("build --profile {profile} --bin gristmill\n");
    assert_eq!(built, build("quick") + &build("release"));
}

/// Every filter, subcommand and script has a page without a warning, with examples that can be copied.
#[test]
fn manual_pages() {
    let Some(packages) = PACKAGES.as_ref() else { return };
    if !installed("mandoc") {
        println!("skipped: mandoc is not installed");
        return;
    }
    let man = packages.share().join("man");
    let pages: Vec<String> = fs::read_dir(man.join("man1"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let scripts = SCRIPTS.iter().map(|script| format!("gristmill-{script}"));
    let subcommands =
        ["arc", "sudoku", "maze", "domino"].map(|domain| format!("puzzle-encode-{domain}"));
    for name in filters().into_iter().chain(scripts).chain(subcommands) {
        assert!(pages.contains(&format!("{name}.1")), "{name}: {pages:?}");
    }
    let lint = bash(&format!("mandoc -T lint -W warning {}/man?/*", man.display()));
    assert_eq!((lint.code(), lint.text()), (Some(0), String::new()));
    for page in pages {
        let text =
            bash(&format!("mandoc -T ascii {}/man1/{page} | col -bx", man.display())).ok().text();
        let name = page.strip_suffix(".1").unwrap();
        for part in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "SEE ALSO"] {
            let is_script = name.starts_with("gristmill-") && part == "OPTIONS";
            assert!(
                is_script || text.contains(&format!("\n{part}\n")),
                "{name}: no {part}\n{text}"
            );
        }
        // A line of an example is the line of the help, its minus signs too.
        if name.starts_with("ds-plan-") {
            continue;
        }
        let examples =
            text.split("\nEXAMPLES\n").nth(1).unwrap_or_else(|| panic!("{name}: {text}"));
        let shown: Vec<&str> =
            examples.lines().take_while(|line| line.starts_with(' ')).map(str::trim).collect();
        assert!(
            shown
                .iter()
                .any(|line| line.contains(&name.replace("puzzle-encode-", "puzzle-encode "))),
            "{name}: {shown:?}"
        );
        if filters().contains(&name.to_string()) {
            let help = tool(name).args(&["--help"]).run().ok().text();
            let help = as_installed(&help);
            assert!(
                shown.iter().all(|line| help.contains(&format!("  {line}\n"))),
                "{name}: {shown:?}\n{help}"
            );
        }
    }
    let all =
        bash(&format!("mandoc -T ascii {}/man7/gristmill.7 | col -bx", man.display())).ok().text();
    for part in
        filters().iter().map(String::as_str).chain(["STREAMS", "EXIT STATUS", "GRISTMILL_TO"])
    {
        assert!(all.contains(part), "gristmill(7) does not name {part}");
    }
}

/// Texts with the names that the scripts have when they are installed.
fn as_installed(text: &str) -> String {
    let rename = |text: String, script: &&str| {
        text.replace(&format!("scripts/{script}.sh"), &format!("gristmill-{script}"))
    };
    SCRIPTS.iter().fold(text.to_string(), rename)
}

/// What is typed, and what the shells must offer for it.
const TYPED: [(&str, &str); 11] = [
    ("puzzle-encode sudoku --tr", "--train"),
    ("ds-plan status --wat", "--watch"),
    ("ds-check --skip kd.mask.v", "kd.mask.value"),
    ("gristmill ds-che", "ds-check"),
    ("gristmill puzzle-encode sudoku --tr", "--train"),
    ("ds-cat --colu", "--columns"),
    ("harmony-tok --dec", "--decode"),
    ("puzzle-encode sudo", "sudoku"),
    ("gristmill-synth-kd --valid-f", "--valid-fraction"),
    ("gristmill-synth-kd fini", "finish"),
    ("gristmill-macroxue --legality val", "values"),
];

fn completes(program: &str, script: impl Fn(&Path, &str) -> String) {
    let Some(packages) = PACKAGES.as_ref() else { return };
    if !installed(program) {
        println!("skipped: {program} is not installed");
        return;
    }
    let work = TempDir::new();
    for (typed, expected) in TYPED {
        let script = work.write("script", script(&packages.share(), typed));
        let output = Command::new(program)
            .arg(script)
            .env("TERM", "dumb")
            .current_dir(work.path())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let is_there = text
            .split(|c: char| !(c.is_alphanumeric() || "-._".contains(c)))
            .any(|word| word == expected);
        let complains = text.contains("bad option") || !output.stderr.is_empty();
        assert!(is_there && !complains, "{program}: {typed}: {output:?}");
    }
}

#[test]
fn bash_completes() {
    completes("bash", |share, typed| {
        let (command, word) =
            (typed.split(' ').next().unwrap(), typed.split(' ').next_back().unwrap());
        let file = share.join("bash-completion/completions").join(command);
        format!(
            "set -eu; . {0}
            COMP_WORDS=({typed}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
            function=$(complete -p {command} | sed 's/.* -F \\([^ ]*\\) .*/\\1/')
            $function {command} '{word}' \"${{COMP_WORDS[COMP_CWORD - 1]}}\" || true
            printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            file.display()
        )
    });
}

#[test]
fn fish_completes() {
    completes("fish", |share, typed| {
        let command = typed.split(' ').next().unwrap();
        let file = share.join("fish/vendor_completions.d").join(format!("{command}.fish"));
        format!("source {}; complete -C '{typed}'", file.display())
    });
}

/// In a terminal of its own, as zsh completes nowhere else: what is typed, then the tabulator.
#[test]
fn zsh_completes() {
    completes("zsh", |share, typed| {
        format!(
            "zmodload zsh/zpty
            zpty -b shell zsh -f -i
            zpty -w shell 'PS1=; fpath=({}/zsh/site-functions $fpath); autoload -U compinit; compinit -u -D'
            zpty -w shell 'print -r re''ady'
            zpty -r -m shell output '*ready*'
            zpty -w -n shell '{typed}'$'\\t'
            for round in {{1..100}}; do
                sleep 0.05
                zpty -r -t shell part && output+=$part && (( waited = round ))
                (( round - waited < 30 )) || break
            done
            print -r -- ${{output##*ready}}
            zpty -d shell",
            share.display()
        )
    });
}

/// What is linked into the binaries comes from crates.io under licences that deny.toml allows.
/// (`cargo deny` checks the same and more; this runs where it is not installed.)
#[test]
fn licences_of_the_crates() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let deny = fs::read_to_string(root.join("deny.toml")).unwrap();
    let list = deny.split("allow = [").nth(1).unwrap().split(']').next().unwrap();
    let allowed: Vec<&str> = list.split(',').map(|line| line.trim().trim_matches('"')).collect();
    let command = format!(
        "cd {} && cargo metadata --format-version 1 --filter-platform {}-unknown-linux-gnu",
        root.display(),
        std::env::consts::ARCH
    );
    let metadata: serde_json::Value = serde_json::from_str(&bash(&command).ok().text()).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 50);
    for package in packages {
        let name = &package["name"];
        let source = package["source"].as_str().unwrap_or("ours");
        assert!(
            source == "ours" || source.ends_with("rust-lang/crates.io-index"),
            "{name}: {source}"
        );
        let licence =
            package["license"].as_str().unwrap_or("").replace(['(', ')'], "").replace('/', " OR ");
        let is_good = |part: &str| part.split(" OR ").any(|one| allowed.contains(&one.trim()));
        assert!(licence.split(" AND ").all(is_good), "{name}: {licence}");
    }
    let Some(packages) = PACKAGES.as_ref() else { return };
    let notices =
        fs::read_to_string(packages.share().join("doc/gristmill/THIRD-PARTY.txt")).unwrap();
    for name in ["arrow-array", "clap", "zstd-sys"] {
        assert!(notices.contains(&format!("\n{name} ")), "{name}");
    }
}
