//! The page of ds-view in a real browser: it steps, searches, draws, fits a phone, and says what
//! ds-stat says.

use serde_json::{Value, json};

use crate::common::browser::{Browser, DESK, PHONE, Window};
use crate::common::{TempDir, bash, conversations, data, tool};

/// A page of something.
#[track_caller]
pub(super) fn page(dir: &TempDir, name: &str, arguments: &[&str]) -> String {
    let path = dir.at(name);
    tool("ds-view").args(arguments).args(&["-q", "--html", &path]).run().silent();
    path
}

fn stat(arguments: &[&str]) -> Value {
    let run = tool("ds-stat").args(&["--format", "json", "-q"]).args(arguments).run().silent();
    serde_json::from_slice(&run.stdout).unwrap()
}

fn grouped(number: &Value) -> String {
    let digits = number.as_u64().unwrap().to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|g| str::from_utf8(g).unwrap()).collect();
    groups.join(",")
}

/// Names and values of all lists of facts of the numbers.
fn facts(browser: &mut Browser) -> Value {
    browser.eval(
        "Object.fromEntries([...document.querySelectorAll('#numbers .card > .facts > div')]
             .map((pair) => [pair.children[0].textContent, pair.children[1].textContent]))",
    )
}

/// The first two cells of each row of a table of shares.
fn shares(browser: &mut Browser, label: &str) -> Value {
    browser.eval(&format!(
        "Object.fromEntries([...document.querySelectorAll('[aria-label={}] tr')]
             .map((row) => [row.cells[0].textContent, row.cells[1].textContent]))",
        json!(label)
    ))
}

/// The quantiles under a plot.
fn quantiles(browser: &mut Browser, head: &str) -> Value {
    browser.eval(&format!(
        "Object.fromEntries([...[...document.querySelectorAll('figure')]
             .find((figure) => figure.querySelector('figcaption').textContent === {})
             .querySelectorAll('.facts > div')]
             .map((pair) => [pair.children[0].textContent, pair.children[1].textContent]))",
        json!(head)
    ))
}

fn root(dir: &TempDir, count: usize) -> String {
    let root = dir.at("root");
    let input = dir.write("conversations.ndjson", conversations(count));
    bash(&format!(
        "set -e -o pipefail; export GRISTMILL_TO=arrow
         harmony-tok {input} | span-mask | mmidx-write -q --root {root} --shard s --valid-fraction 0.2"
    ))
    .ok();
    root
}

/// What every page must hold: nothing is told to the console or asked of a network, it fits a phone
/// with targets for fingers, and text can be read in light and in dark.
#[track_caller]
pub(super) fn assert_good(browser: &mut Browser, path: &str) {
    for window in [DESK, PHONE, Window { is_dark: true, ..DESK }] {
        browser.open(path, window);
        let wide = browser.eval("document.documentElement.scrollWidth <= innerWidth");
        assert_eq!(wide, true, "wider than {window:?}");
        // (Boxes hide what is wider than they are.)
        let cut = browser.eval(
            "[...document.querySelectorAll('h2, h3, h4')]
                 .filter((node) => node.scrollWidth > node.clientWidth + 1).map((node) => node.textContent)",
        );
        assert_eq!(cut, json!([]), "headers are cut in {window:?}");
        let small = browser.eval(
            "[...document.querySelectorAll('button, input, select, nav a, summary')]
                 .map((node) => [node.id || node.textContent, node.getBoundingClientRect()])
                 .filter(([_, box]) => box.width && (box.width < 44 || box.height < 44))
                 .map(([name]) => name)",
        );
        assert_eq!(small, json!([]), "targets too small in {window:?}");
        let contrast = browser.eval(CONTRAST);
        assert_eq!(contrast, json!([]), "hard to read in {window:?}");
        let unnamed = browser.eval(
            "[...document.querySelectorAll('svg, input, select, [role=img]')]
                 .filter((node) => !node.closest('[aria-hidden=true]'))
                 .filter((node) => !node.getAttribute('aria-label')).map((node) => node.outerHTML)",
        );
        assert_eq!(unnamed, json!([]), "without a name");
        assert_eq!(browser.problems(), Vec::<String>::new(), "{window:?}");
        if let Some(axe) = crate::common::axe() {
            browser.eval(&format!("{axe};0"));
            let found = browser.eval(
                "axe.run().then(({ violations }) => violations.map((rule) =>
                     `${rule.id}: ${rule.nodes.map((node) => node.html).slice(0, 3).join(' ')}`))",
            );
            assert_eq!(found, json!([]), "{window:?}");
        }
    }
    browser.open(path, DESK);
}

/// Texts whose colour is too near to their background's, by WCAG's ratio of 4.5.
const CONTRAST: &str = "(() => {
    const paint = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const rgba = (colour) => {
        paint.clearRect(0, 0, 1, 1);
        paint.fillStyle = colour;
        paint.fillRect(0, 0, 1, 1);
        return [...paint.getImageData(0, 0, 1, 1).data];
    };
    const light = (colour) => {
        const [r, g, b] = rgba(colour).map((v) => v / 255)
            .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const back = (node) => {
        for (; node; node = node.parentElement) {
            const colour = getComputedStyle(node).backgroundColor;
            if (rgba(colour)[3] === 255) return colour;
        }
        return 'white';
    };
    const bad = new Set();
    for (const node of document.querySelectorAll('body *')) {
        const own = [...node.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
        if (!own || !node.checkVisibility() || node.disabled || node.tagName === 'SCRIPT') continue;
        const [a, b] = [light(getComputedStyle(node).color), light(back(node))];
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (ratio < 4.5) bad.add(`${node.className} ${node.textContent.slice(0, 20)} ${ratio}`);
    }
    return [...bad];
})()";

#[test]
fn a_root_is_stepped_through_searched_and_counted() {
    let Some(mut browser) = Browser::start() else { return };
    let dir = TempDir::new();
    let root = root(&dir, 40);
    let path = page(&dir, "root.html", &[&root, "--check", "--nth", "0-9"]);
    assert_good(&mut browser, &path);

    // The numbers are those of ds-stat.
    let answer = stat(&[&root]);
    let numbers = &answer["numbers"]["tokens"];
    let told = facts(&mut browser);
    assert_eq!(told["records"], grouped(&answer["records"]));
    assert_eq!(told["tokens"], grouped(&numbers["tokens"]));
    let spans = shares(&mut browser, "positions by span");
    assert_eq!(spans["1 reasoning"], grouped(&numbers["spans"]["1"]));
    assert_eq!(spans["2 final"], grouped(&numbers["spans"]["2"]));
    assert_eq!(spans["loss mask"], grouped(&numbers["supervised"]));
    let roles = shares(&mut browser, "tokens by role");
    for (role, lengths) in numbers["messages"]["roles"].as_object().unwrap() {
        assert_eq!(roles[role], grouped(&lengths["sum"]), "{role}");
    }
    let lengths = quantiles(&mut browser, "tokens of a sequence");
    for name in ["min", "max"] {
        assert_eq!(lengths[name], grouped(&numbers["lengths"][name]));
    }
    let bars = browser.eval(
        "[...document.querySelectorAll('.bars')[0].parentNode.querySelectorAll('details td')]
             .reduce((sum, cell) => sum + Number(cell.textContent.replaceAll(',', '')), 0)",
    );
    assert_eq!(bars, answer["records"]);
    assert_eq!(browser.eval("document.querySelectorAll('.bars')[0].children.length - 1 > 1"), true);
    assert!(browser.seen("#findings").contains("no problems found"));
    let chain = browser.seen("#provenance");
    assert!(chain.contains("harmony-tok") && chain.contains("span-mask"), "{chain}");

    // Keys and buttons step.
    let title = |browser: &mut Browser| browser.seen("#record h3");
    let ids: Vec<String> = tool("ds-cat")
        .args(&[&root, "--nth", "0-9", "-q"])
        .run()
        .silent()
        .records()
        .iter()
        .map(|record| record["id"].as_str().unwrap().to_string())
        .collect();
    assert!(title(&mut browser).starts_with(&ids[0]));
    browser.key("ArrowRight");
    assert!(title(&mut browser).starts_with(&ids[1]));
    browser.click("#next");
    assert!(title(&mut browser).starts_with(&ids[2]));
    browser.click("#previous");
    browser.key("ArrowLeft");
    assert!(title(&mut browser).starts_with(&ids[0]));
    browser.key("ArrowLeft");
    assert!(title(&mut browser).starts_with(&ids[0]));
    browser.key("End");
    assert!(title(&mut browser).starts_with(&ids[9]));
    assert_eq!(browser.eval("document.getElementById('next').disabled"), true);
    browser.key("Home");

    // The search finds one, marks it, and gives all back.
    browser.key("/");
    let question = format!("Question {}?", ids[7].trim_start_matches("id-"));
    browser.write(&question.to_lowercase());
    assert!(title(&mut browser).starts_with(&ids[7]));
    assert!(browser.seen("#status").starts_with("1 of 1"));
    assert_eq!(browser.text("String([...CSS.highlights.get('hit')][0])"), question);
    browser.eval("document.getElementById('search').select()");
    browser.write("no such text");
    assert!(browser.seen("#status").starts_with("None of these 10 records "));
    browser.eval("document.getElementById('search').select()");
    browser.write("assistant");
    assert!(browser.seen("#status").contains(" of 10"));
    browser.key("Escape");

    // All that is drawn is the text of the record, and its tokens are those of the data.
    browser.key("Home");
    let record = &tool("ds-cat").args(&[&root, "--nth", "0", "-q"]).run().silent().records()[0];
    let decoded = tool("harmony-tok")
        .args(&["--decode", "-q"])
        .input(record.to_string() + "\n")
        .run()
        .silent();
    let pieces =
        browser.text("[...document.querySelectorAll('.piece')].map((p) => p.textContent).join('')");
    assert_eq!(pieces, decoded.records()[0]["text"]);
    let tokens = browser.eval(
        "[...document.querySelectorAll('.token')].map((t) => Number(t.title.match(/id (\\d+)/)[1]))",
    );
    assert_eq!(tokens, record["tokens"]);

    // Each token has its own text. (One in the middle of a character has none that can be compared.)
    let texts =
        browser.eval("[...document.querySelectorAll('.token')].map((token) => token.textContent)");
    let vocabulary = tiktoken_rs::o200k_harmony().unwrap();
    for (id, text) in record["tokens"].as_array().unwrap().iter().zip(texts.as_array().unwrap()) {
        let bytes = vocabulary.decode_bytes(&[id.as_u64().unwrap() as u32]).unwrap();
        if bytes.is_ascii() {
            assert_eq!(text.as_str().unwrap().as_bytes(), bytes, "{id}");
        }
    }

    // A token says what it is where the mouse is over it, and has a border there.
    let shadow = "getComputedStyle(document.querySelector('.c-final .token')).boxShadow";
    assert_eq!(browser.eval(shadow), "none");
    browser.hover(".c-final .token");
    let says = browser.seen("#status");
    assert!(says.starts_with("token ") && says.ends_with("final"), "{says}");
    assert_ne!(browser.eval(shadow), "none");
    browser.hover("h1");
    assert_eq!(browser.eval(shadow), "none");
    browser.key("t");
    assert_ne!(browser.eval(shadow), "none");
    assert_eq!(browser.problems(), Vec::<String>::new());
}

#[test]
fn a_game_is_stepped_through() {
    let Some(raw) = data("macroxue/raw_small") else { return };
    let Some(mut browser) = Browser::start() else { return };
    let dir = TempDir::new();
    let pack = dir.at("pack");
    bash(&format!(
        "set -e -o pipefail; mx-decode -q {} --legality board | npy-pack -q -o {pack}",
        raw.display()
    ))
    .ok();
    let path = page(&dir, "pack.html", &[&pack]);
    assert_good(&mut browser, &path);
    let answer = stat(&[&pack]);
    let numbers = &answer["numbers"]["game"];
    assert_eq!(facts(&mut browser)["steps"], grouped(&numbers["steps"]["sum"]));
    let tiles = shares(&mut browser, "games by largest tile");
    for count in numbers["tiles"]["counts"].as_array().unwrap() {
        assert_eq!(tiles[grouped(&count[0])], grouped(&count[1]));
    }
    let names = shares(&mut browser, "steps by valuation");
    for (name, count) in numbers["valuations"].as_object().unwrap() {
        assert_eq!(names[name], grouped(count));
    }
    assert_eq!(
        browser.eval("document.querySelectorAll('.line').length"),
        names.as_object().unwrap().len()
    );

    let games = tool("ds-cat").args(&[&pack, "--nth", "0", "-q"]).run().silent().records();
    let steps = games[0]["steps"].as_array().unwrap();
    let board = |browser: &mut Browser| {
        browser.eval("[...document.querySelectorAll('.tile')].map((cell) => cell.textContent ? Math.log2(Number(cell.textContent)) : 0)")
    };
    assert_eq!(board(&mut browser), steps[0]["board"]);
    // The slider, by keys, by the mouse and by its buttons.
    browser.eval("document.getElementById('step').focus()");
    browser.key("ArrowRight");
    assert_eq!(board(&mut browser), steps[1]["board"]);
    browser.key("End");
    assert_eq!(board(&mut browser), steps[steps.len() - 1]["board"]);
    browser.click("#step");
    let at =
        browser.eval("Number(document.getElementById('step').value)").as_u64().unwrap() as usize;
    assert!(at.abs_diff(steps.len() / 2) < steps.len() / 20, "{at}");
    assert_eq!(board(&mut browser), steps[at]["board"]);
    browser.click("[aria-label='One step on (.)']");
    browser.key(".");
    assert_eq!(board(&mut browser), steps[at + 2]["board"]);
    let moves = ["up", "down", "left", "right"];
    let chosen = steps[at + 2]["move_dir"].as_u64().unwrap() as usize;
    assert!(browser.seen(".branch.chosen").contains(moves[chosen]));
    let illegal =
        browser.eval("document.querySelectorAll('.branch.illegal').length").as_u64().unwrap();
    assert_eq!(4 - illegal, u64::from(steps[at + 2]["ev_legal"].as_u64().unwrap().count_ones()));
    // It plays until it is told to stop.
    browser.key("p");
    browser.eval("new Promise((done) => { const first = document.getElementById('step').value;
        const wait = () => document.getElementById('step').value === first ? setTimeout(wait, 20) : done();
        wait(); })");
    browser.key("p");
    assert_eq!(browser.problems(), Vec::<String>::new());
}

#[test]
fn puzzles_are_drawn() {
    let Some(raw) = data("hrm/raw") else { return };
    let Some(mut browser) = Browser::start() else { return };
    let dir = TempDir::new();
    let sets = [
        ("arc", format!("arc {0}/arc/training {0}/arc/evaluation", raw.display())),
        ("domino", "domino --num-games 20".to_string()),
    ];
    for (name, arguments) in sets {
        let set = dir.at(name);
        bash(&format!("set -e -o pipefail; puzzle-encode {arguments} -q | npy-pack -q -o {set}"))
            .ok();
        let path = page(&dir, &format!("{name}.html"), &[&set, "--limit", "3"]);
        assert_good(&mut browser, &path);
        let answer = stat(&[&set]);
        let numbers = &answer["numbers"]["puzzle"];
        assert_eq!(facts(&mut browser)["puzzles"], grouped(&numbers["puzzles"]["count"]));
        let examples = quantiles(&mut browser, "examples of a puzzle");
        let mean =
            answer["records"].as_f64().unwrap() / numbers["puzzles"]["count"].as_f64().unwrap();
        let shown: f64 = examples["mean"].as_str().unwrap().parse().unwrap();
        assert!((mean - shown).abs() < 0.06, "{mean} {shown}");
        if name == "arc" {
            let sizes = shares(&mut browser, "examples by size of the grid (rows × columns)");
            let count = |cell: &Value| cell.as_str().unwrap().parse::<u64>().unwrap();
            let grids = tool("ds-cat").args(&[&set, "--grid", "-q"]).run().silent().records();
            let threes = grids.iter().filter(|g| {
                let grid = g["inputs"]["grid"].as_array().unwrap();
                grid.len() == 3 && grid[0].as_array().unwrap().len() == 3
            });
            assert_eq!(count(&sizes["3 × 3"]), threes.count() as u64);
            let drawn = browser.eval(
                "[...document.querySelectorAll('.grid')[0].querySelectorAll('[class*=a-]')].map((c) => Number(c.textContent))",
            );
            let cells: Vec<Value> = grids[0]["inputs"]["grid"]
                .as_array()
                .unwrap()
                .iter()
                .flat_map(|row| row.as_array().unwrap().clone())
                .collect();
            assert_eq!(drawn, Value::from(cells));
        }
        browser.key("ArrowRight");
        assert!(browser.seen("#status").starts_with("2 of 3"));
    }
}

#[test]
fn hostile_text_is_text() {
    let Some(mut browser) = Browser::start() else { return };
    let dir = TempDir::new();
    let evil = "</script><script>document.title='broken'</script></style><!-- <img src=x \
        onerror=\"document.title='broken'\"> ]]> &lt;b&gt; \u{202e}desrever\u{0}\u{1b}[31m \u{2028} \
        ${document.title='broken'}`";
    let record = |number: usize, text: &str| {
        json!({"id": format!("{evil}{number}"), "language": evil, "messages": [
            {"role": "user", "content": text},
            {"role": "assistant", "channel": "final", "content": "an answer"},
        ]})
        .to_string()
    };
    let lone = record(2, "x").replace("\"x\"", "\"lone \\ud800 and \\udc00\"");
    let lines = [
        record(0, evil),
        record(1, &"<w\u{202e}".repeat(400_000)),
        record(2, &"m".repeat(1_000_000)),
        record(3, &"\n".repeat(10_000)),
    ];
    let input = dir.write("</title><script>alert(1)<", "");
    drop(input);
    let path_of =
        |dir: &TempDir, lines: &[String]| dir.write("a<b>'\"&.ndjson", lines.join("\n") + "\n");
    let input = path_of(&dir, &lines);
    let path = page(&dir, "hostile.html", &[&input, "--limit", "10"]);
    assert!(std::fs::metadata(&path).unwrap().len() < 2_000_000);
    assert_good(&mut browser, &path);
    assert!(browser.text("document.title").contains("a<b>'\"&.ndjson"));
    assert_eq!(browser.eval("[document.scripts.length, document.images.length]"), json!([2, 0]));
    let seen = browser.text("document.querySelector('.piece').textContent");
    assert!(seen.starts_with("</script><script>") && seen.contains("<U+202E>desrever␀␛"), "{seen}");
    for number in 1..4 {
        browser.key("ArrowRight");
        assert!(browser.seen("#status").starts_with(&format!("{} of 4", number + 1)));
        assert_eq!(browser.eval("document.documentElement.scrollWidth <= innerWidth"), true);
        let cut = browser.eval("document.querySelector('#record .cut')?.textContent ?? ''");
        let is_cut = cut.as_str().unwrap().contains("more characters are not on this page");
        assert_eq!(is_cut, number < 3, "{cut}");
    }
    assert_eq!(browser.problems(), Vec::<String>::new());
    let text = std::fs::read_to_string(&path).unwrap();
    for hidden in ['\u{202e}', '\0', '\u{1b}', '\u{2028}'] {
        assert!(!text.contains(hidden), "{hidden:?}");
    }
    // What JSON can say and UTF-8 cannot is shown or refused, as everywhere.
    let refused = tool("ds-view").args(&["-q", "--html", "-"]).input(lone + "\n").run();
    assert!([Some(0), Some(1)].contains(&refused.code()), "{refused:?}");
}
