//! NDJSON in detail: exact integers, odd but legal lines, illegal lines, and compressed inputs.

use serde_json::{Value, json};

use crate::common::{
    Outcome, TempDir, bash, conversations, data, installed, oracle, python, tool, without_places,
};

/// A conversation that renders to eight tokens, with something more in its line.
fn line(more: &str) -> String {
    format!(
        "{{{more}\"id\":\"a\",\"messages\":[{{\"role\":\"assistant\",\"channel\":\"final\",\"content\":\"hi\"}}]}}"
    )
}

fn harmony_tok(input: impl AsRef<[u8]>) -> crate::common::Outcome {
    tool("harmony-tok").input(input).run()
}

fn plain() -> String {
    harmony_tok(line("") + "\n").silent().text()
}

#[test]
fn integers_are_exact() {
    let read = |token: &str| {
        let record = |token| format!("{{\"id\":\"a\",\"tokens\":[7,{token}],\"segments\":null}}\n");
        tool("ds-cat").input(record("8") + &record(token)).run()
    };
    for (token, value) in
        [("0", 0), ("-0", 0), ("-1", -1), ("2147483647", i32::MAX), ("-2147483648", i32::MIN)]
    {
        assert_eq!(read(token).silent().records()[1]["tokens"], json!([7, value]), "{token}");
    }
    for token in ["1.5", "1.0", "1e3", "1E0", "2147483648", "-2147483649", "99999999999999999999"] {
        read(token).says(1, &format!("ds-cat: stdin:2: tokens: {token} is not an int32"));
    }
    for (token, reason) in [
        ("null", "tokens: a null in the list"),
        ("\"1\"", "tokens: a string where a number should be"),
        ("true", "tokens: true where a number should be"),
        ("[1]", "tokens: an array where a number should be"),
        ("01", "invalid JSON: "),
        ("+1", "invalid JSON: "),
        (".5", "invalid JSON: "),
        ("1.", "invalid JSON: "),
        ("0x1", "invalid JSON: "),
    ] {
        read(token).fails(1, &[&format!("ds-cat: stdin:2: {reason}")]);
    }
    let mask = |value: &str| {
        let record = format!(
            "{{\"id\":\"a\",\"tokens\":[7],\"segments\":null,\"loss_mask\":[{value}],\"span_id\":[0]}}\n"
        );
        tool("ds-cat").input(record).run()
    };
    assert_eq!(mask("255").silent().records()[0]["loss_mask"], json!([255]));
    mask("256").says(1, "ds-cat: stdin:1: loss_mask: 256 is not a uint8");
    mask("-1").says(1, "ds-cat: stdin:1: loss_mask: -1 is not a uint8");
}

#[test]
fn ids_may_be_integers_of_any_size() {
    for id in ["7", "-3", "123456789012345678901234567890"] {
        let record = line("").replace("\"a\"", id) + "\n";
        assert_eq!(harmony_tok(record).silent().records()[0]["id"], id);
    }
    let synth = line("\"synth_id\":\"s\",") + "\n" + &line("\"synth_id\":null,") + "\n";
    let ids: Vec<Value> =
        harmony_tok(synth).silent().records().iter().map(|r| r["id"].clone()).collect();
    assert_eq!(ids, ["s", "a"]);
    let named =
        tool("harmony-tok").args(&["--id-field", "key"]).input(line("\"key\":\"k\",") + "\n").run();
    assert_eq!(named.silent().records()[0]["id"], "k");
}

#[test]
fn odd_lines_are_read() {
    let plain = plain();
    for odd in [
        line("") + "\r\n",
        format!("\n  \n\t{}  \n\r\n", line("")),
        line(r#""x":{"y":[1,{"z":null}],"w":1e999},"é":"\n\"","#) + "\n",
        line(r#""id":"first","messages":null,"messages":[],"#) + "\n",
        line("").replace("\"id\"", "\"\\u0069d\"") + "\n",
        line("").replace(':', " : ").replace(',', "\t,\r ") + "\n",
        line("").replace("\"hi\"", "\"\\u0068i\"") + "\n",
        line("").replace("\"hi\"", "\"NO\",\"content\":\"hi\"") + "\n",
        line(&format!("\"x\":{}{},", "[".repeat(200), "]".repeat(200))) + "\n",
    ] {
        assert_eq!(harmony_tok(&odd).silent().text(), plain, "{odd}");
    }
    let text = harmony_tok(line("").replace("\"hi\"", "\"\\u0000\\ud83c\\udf3e\u{2028}\"") + "\n")
        .silent();
    let decoded =
        tool("harmony-tok").args(&["--decode"]).input(&text.stdout).run().silent().records();
    assert_eq!(decoded[0]["messages"][0]["text"], "\0🌾\u{2028}");
}

/// Which of two values of a chat is meant, nobody knows. (In Harmony the last counts.)
#[test]
fn a_name_that_is_there_twice_refuses_its_chat() {
    for chat in [
        r#"{"id":"a","id":"b","messages":[{"role":"assistant","content":"x"}]}"#,
        r#"{"id":"a","messages":[{"role":"assistant","content":"x","content":"y"}]}"#,
    ] {
        tool("chat-harmony")
            .input(format!("{chat}\n"))
            .run()
            .fails(1, &["chat-harmony: stdin:1: ", "a name that is there twice"]);
    }
}

#[test]
fn lines_that_are_none_have_their_number() {
    let good = line("") + "\n";
    for (bad, reason) in [
        (&b"{\"id\":\"a\xff\"}"[..], "not UTF-8 at byte 9"),
        (b"\xef\xbb\xbf{}", "invalid JSON: "),
        (b"{\"id\":\"a\nb\"}", "invalid JSON: "),
        (b"{\"id\":\"a\tb\",\"messages\":[]}", "invalid JSON: "),
        (b"{'id':'a'}", "invalid JSON: "),
        (b"{\"id\":\"a\",}", "invalid JSON: "),
        (b"{\"id\":\"\\x\"}", "invalid JSON: "),
        (b"{\"id\":\"a\",\"messages\":[]}}", "invalid JSON: "),
        (b"{\"id\" \"a\"}", "invalid JSON: "),
        (b"{\"id\":\"a\",\"x\":tru}", "invalid JSON: "),
        (b"\"text\"", "a string where an object should be"),
        (b"12", "a number where an object should be"),
    ] {
        let input = [good.as_bytes(), bad, b"\n", good.as_bytes()].concat();
        harmony_tok(&input).fails(1, &[&format!("harmony-tok: stdin:2: {reason}")]);
        let skip = tool("harmony-tok").args(&["--on-error", "skip"]).input(&input).run().ok();
        assert_eq!(skip.text(), plain().repeat(2));
    }
    let marked = harmony_tok([b"\xef\xbb\xbf", good.as_bytes()].concat());
    assert_eq!(marked.silent().text(), plain());
    harmony_tok("[1,2]\n").fails(1, &["stdin: record 1: a number where an object should be"]);
}

#[test]
fn nesting_has_an_end() {
    for depth in [2_000, 200_000] {
        for (open, close) in [("[", "]"), ("{\"x\":", "}")] {
            let nested = format!("{}1{}", open.repeat(depth), close.repeat(depth));
            for record in [
                line(&format!("\"x\":{nested},")),
                line("").replace("[{", &format!("[{nested},{{")),
                format!("{{\"id\":\"a\",\"messages\":{nested}}}"),
                format!("{{\"id\":\"a\",\"messages\":{}", open.repeat(depth)),
            ] {
                harmony_tok(record + "\n")
                    .fails(1, &["harmony-tok: stdin:1: ", "nested too deeply"]);
            }
        }
    }
}

/// A writer that did not finish leaves no `}`; wherever else a record is cut, it is refused, too.
#[test]
fn a_last_record_may_be_cut_and_may_have_no_newline() {
    let dir = TempDir::new();
    let (whole, count) = (line("\"x\":\"é\\\\\\\"}\","), 3);
    let before = format!("{}\n", line("")).repeat(count - 1);
    for (end, _) in whole.char_indices().skip(1) {
        let content = format!("{before}{}", &whole[..end]);
        let cut = format!("harmony-tok: stdin:{count}: the last record is cut");
        harmony_tok(&content).says(75, &format!("{cut} (the program before this one died?)"));
        let file = dir.write("in", &content);
        let told =
            format!("harmony-tok: {file}:{count}: the last record is cut; the file is truncated");
        tool("harmony-tok").args(&["--on-error", "skip", &file]).run().says(1, &told);
    }
    // Within a character of several bytes, too.
    let middle = whole.find('é').unwrap() + 1;
    harmony_tok([before.as_bytes(), &whole.as_bytes()[..middle]].concat()).fails(75, &["is cut"]);
    for end in ["", "\n", "\r\n", " ", "\n \t"] {
        harmony_tok(format!("{before}{whole}{end}")).ok();
    }
    // A record that is whole and bad is one.
    let bad = harmony_tok(format!("{before}{{\"id\":7}}"));
    bad.fails(1, &["harmony-tok: stdin:3: "]);
    harmony_tok(format!("{before}12")).fails(1, &["stdin:3: a number where an object should be"]);
}

#[test]
fn compressed_inputs_are_seen_through() {
    let dir = TempDir::new();
    dir.write("a", conversations(40));
    dir.write("b", conversations(3));
    let has_zstd = installed("zstd");
    let bare = |run: Outcome| without_places(&run.silent().text());
    let expected = bare(tool("harmony-tok").args(&[dir.at("a")]).run());
    let more = bare(tool("harmony-tok").args(&[dir.at("b")]).run());
    let mut packers = vec!["gzip"];
    packers.extend(has_zstd.then_some("zstd -q"));
    for pack in packers {
        dir.bash(&format!(
            "set -e; {pack} -c a > packed; {pack} -c b > small; cat packed small packed > members; \
             harmony-tok a --to arrow | {pack} -c > arrows; echo | {pack} -c > nothing"
        ))
        .silent();
        let at = |name: &str| dir.at(name);
        for (input, wanted) in [
            ("packed", expected.clone()),
            ("members", format!("{expected}{more}{expected}")),
            ("nothing", String::new()),
        ] {
            let file = at(input);
            let of_file = bare(tool("harmony-tok").args(&[&file]).run());
            assert_eq!(of_file, wanted, "{pack} {input}");
            let of_stdin = bare(bash(&format!("harmony-tok < {file}")));
            assert_eq!(of_stdin, wanted, "{pack} {input}");
        }
        assert_eq!(bare(tool("ds-cat").args(&[at("arrows")]).run()), expected);

        // Cut anywhere after the magic number.
        let whole = dir.read("packed");
        let mut cuts: Vec<usize> = (4..40).chain((40..whole.len()).step_by(101)).collect();
        cuts.extend(whole.len() - 12..whole.len());
        for cut in cuts {
            let stdin = harmony_tok(&whole[..cut]);
            stdin.fails(75, &["harmony-tok: stdin: the compressed data ends too early"]);
            let file = dir.write("cut", &whole[..cut]);
            tool("harmony-tok").args(&[&file]).run().says(
                1,
                &format!(
                    "harmony-tok: {file}: the compressed data ends too early; the file is truncated"
                ),
            );
        }
        let members = dir.read("members");
        let cut = &members[..members.len() - 5];
        harmony_tok(cut).fails(75, &["the compressed data ends too early"]);

        // Damaged, or with garbage after it.
        let mut bad = whole.clone();
        let middle = bad.len() / 2;
        bad[middle..middle + 8].fill(0x5a);
        // (Where damage makes the rest look like one unfinished block, it looks like a cut.)
        let damaged = harmony_tok(&bad);
        assert!(matches!(damaged.code(), Some(1 | 75)), "{damaged:?}");
        let behind = harmony_tok([&whole[..], b"garbage, and more of it"].concat());
        assert_eq!(behind.code(), Some(1), "{behind:?}");
        if pack == "gzip" {
            // Padding with zeros, as gzip reads it: behind the last member, or before another.
            let padded = [&whole[..], &[0; 700], &dir.read("small"), &[0; 3]].concat();
            assert_eq!(bare(harmony_tok(padded)), format!("{expected}{more}"));
            for other in [&b"x"[..], b"\0\0x", b"{\"id\": 1}\n"] {
                let told = "harmony-tok: stdin: there are other bytes behind the gzip data";
                harmony_tok([&whole[..], other].concat()).says(1, told);
            }
        } else {
            // Frames that are passed over, as pzstd writes them.
            let skipped = |first: u8| [&[first][..], b"\x2a\x4d\x18\x04\0\0\0abcd"].concat();
            let frames = [skipped(0x50), whole, skipped(0x5f), dir.read("small")].concat();
            assert_eq!(bare(harmony_tok(frames)), format!("{expected}{more}"));
        }
    }
}

/// Blocks end where lines end, whatever their lengths: a line longer than a block, and one at each
/// side of it.
#[test]
fn long_lines_and_short_ones() {
    let long = "grain ".repeat(400_000);
    let input = format!(
        "{}{}\n{}{}\n",
        conversations(2),
        line("").replace("\"hi\"", &format!("\"{long}\"")),
        conversations(2),
        line(&format!("\"x\":\"{long}\",")),
    );
    let dir = TempDir::new();
    let file = dir.write("in", &input);
    for jobs in ["1", "2"] {
        let records = tool("harmony-tok").args(&[&file, "-j", jobs]).run().silent().records();
        let ids: Vec<&str> = records.iter().map(|r| r["id"].as_str().unwrap()).collect();
        assert_eq!(ids, ["id-0", "id-1", "a", "id-0", "id-1", "a"]);
        assert!(records[2]["tokens"].as_array().unwrap().len() > 400_000);
        assert_eq!(records[5]["tokens"].as_array().unwrap().len(), 8);
    }
}

/// Games are written in the digits that numpy and Python's json give them, and what is read of the lines is
/// what Arrow brings: the packs are equal.
#[test]
fn games_have_the_numbers_of_numpy_and_make_the_same_pack() {
    let (Some(raw), Some(python)) = (data("macroxue/raw_small"), python()) else { return };
    let dir = TempDir::new();
    let (lines, raw) = (dir.at("games.ndjson"), raw.display());
    bash(&format!("mx-decode -q '{raw}' --to ndjson > '{lines}'")).silent();
    let steps: usize =
        oracle(&python, "games.py", &[&lines]).silent().text().trim().parse().unwrap();
    assert!(steps > 1000, "{steps}");
    let arrow = dir.at("arrow");
    bash(&format!("mx-decode -q '{raw}' --to arrow | npy-pack -q -o '{arrow}'")).silent();
    let made = dir.at("lines");
    tool("npy-pack").args(&["-q", "-o", &made, &lines]).run().silent();
    assert_eq!(dir.read("lines/steps.npy"), dir.read("arrow/steps.npy"));
}
