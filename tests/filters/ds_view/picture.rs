//! The pictures of the pages are what ds-view prints now.

use std::path::Path;

use crate::common::{TempDir, bash, installed};

/// A checkout of its own: beside the original scripts there may be a release build, which they
/// would prefer.
fn tools(dir: &TempDir) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let link = |name: &str| std::os::unix::fs::symlink(root.join(name), dir.path().join(name));
    link("scripts").unwrap();
    link("tools").unwrap();
    std::fs::create_dir(dir.path().join("target")).unwrap();
    if root.join("target/models").exists() {
        link("target/models").unwrap();
    }
    dir.at("tools")
}

#[test]
fn the_pictures_are_what_is_printed_now() {
    if !installed("python3") {
        return;
    }
    let dir = TempDir::new();
    let tools = tools(&dir);
    // Whatever the machine's own settings of colours are.
    for (pictures, settings) in [("a", ""), ("b", "NO_COLOR=1 TERM=dumb COLUMNS=40 ")] {
        bash(&format!("{settings}{tools}/picture.sh {}", dir.at(pictures))).ok();
        for name in ["ds-view.svg", "models.svg"] {
            let drawn = dir.path().join(pictures).join(name);
            if name == "models.svg" && !dir.path().join("target/models").exists() {
                continue;
            }
            let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name);
            let [drawn, kept] = [drawn, kept].map(|path| std::fs::read_to_string(path).unwrap());
            assert!(drawn == kept, "docs/{name} is old: tools/picture.sh makes it anew");
        }
    }
}

#[test]
fn colours_become_svg() {
    if !installed("python3") {
        return;
    }
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tools/ansi-to-svg.py");
    let draw = |text: &str| bash(&format!("printf '{text}' | {}", program.display()));
    let svg =
        draw(r"\033[1;34ma<b\033[0m \033[48;5;24m漢字\033[0m z\n\033[7mr\033[0m\n").ok().text();
    for expected in [
        "class=\"f4 bold\">a&lt;b</text>",
        "<rect x=\"47.6\" y=\"14\" width=\"33.6\" height=\"18\" fill=\"#005f87\"/>",
        "textLength=\"33.6\" class=\"ink\">漢字</text>",
        "<text x=\"89.6\"",
        "class=\"paper\">r</text>",
    ] {
        assert!(svg.contains(expected), "{expected}\n{svg}");
    }
    // What would be drawn wrong is refused.
    assert!(draw(r"\033[5mblink").stderr.contains("cannot draw"));
    assert!(draw(r"\033[2Jclear").stderr.contains("an escape that is no colour"));
}
