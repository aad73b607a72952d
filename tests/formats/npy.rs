//! `.npy` headers against numpy itself, and hostile ones.
//!
//! Runs when `GRISTMILL_PYTHON` names a Python with numpy; else it says that it was skipped.

use std::collections::HashMap;

use gristmill::format::npy::{ArrayHeader, AutoSerialize, DType, field, is_padding};
use gristmill::game2048::{aligned_step_row, packed_step_row, selfplay_row};
use serde::Deserialize;
use serde_json::Value;

use crate::common::{TempDir, oracle, python, tool};

#[derive(Deserialize)]
struct Case {
    kind: String,
    dtype: String,
    header: String,
    shape: Vec<String>,
    fortran: bool,
    itemsize: usize,
    fields: HashMap<String, (usize, usize)>,
}

fn written_dtype(name: &str) -> DType {
    match name {
        "aligned" => aligned_step_row(),
        "packed" => packed_step_row(),
        "selfplay" => selfplay_row(),
        "u1" => u8::default_dtype(),
        "b1" => bool::default_dtype(),
        "i8" => i64::default_dtype(),
        _ if name.starts_with("f4") => f32::default_dtype(),
        _ => i32::default_dtype(),
    }
}

#[test]
fn headers_equal_numpys_and_its_headers_are_read() {
    let Some(python) = python() else { return };
    let output = oracle(&python, "npy_oracle.py", &[]).ok();
    let (mut written, mut read) = (0, 0);
    for line in output.text().lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        let bytes: Vec<u8> = (0..case.header.len() / 2)
            .map(|i| u8::from_str_radix(&case.header[2 * i..2 * i + 2], 16).unwrap())
            .collect();
        let shape: Vec<u64> = case.shape.iter().map(|length| length.parse().unwrap()).collect();
        let (header, length) =
            ArrayHeader::read(&mut &bytes[..]).unwrap_or_else(|error| panic!("{line}\n{error}"));
        assert_eq!(length, bytes.len() as u64, "{line}");
        assert_eq!(header.shape, shape, "{line}");
        assert_eq!(header.fortran_order, case.fortran, "{line}");
        assert_eq!(header.item_bytes().unwrap(), case.itemsize, "{line}");
        for (name, &(offset, bytes)) in &case.fields {
            let (found, dtype) = field(&header.dtype, name).unwrap();
            assert_eq!((found, dtype.num_bytes()), (offset, Some(bytes)), "{line}");
        }
        if let DType::Record(fields) = &header.dtype {
            // A field with a title is in numpy's table under both names.
            let named = fields.iter().filter(|field| !is_padding(field)).count();
            assert!(named <= case.fields.len(), "{line}");
        }
        if case.kind == "written" {
            let dtype = written_dtype(&case.dtype);
            assert_eq!(header.dtype, dtype, "{line}");
            let ours = ArrayHeader::of_rows(dtype, shape[0], &shape[1..]).to_bytes().unwrap();
            assert_eq!(
                String::from_utf8_lossy(&ours),
                String::from_utf8_lossy(&bytes),
                "{}",
                case.dtype
            );
            written += 1;
        }
        read += 1;
    }
    assert!(written > 300 && read > 800, "{written} written, {read} read");
}

const BOARDS: [u64; 2] = [0x1234_5678_9abc_def0, 0x0011_2233_4455_6677];

fn little() -> Vec<u8> {
    BOARDS.iter().flat_map(|board| board.to_le_bytes()).collect()
}

fn big() -> Vec<u8> {
    BOARDS.iter().flat_map(|board| board.to_be_bytes()).collect()
}

/// Each board with bytes before and after it.
fn padded(before: usize, after: usize) -> Vec<u8> {
    let row =
        |board: &u64| [vec![7; before], board.to_le_bytes().to_vec(), vec![0; after]].concat();
    BOARDS.iter().flat_map(row).collect()
}

/// A file of this version and text, whatever they are; the text as UTF-8 if the version is 3.
fn file(version: u8, text: &str, data: &[u8]) -> Vec<u8> {
    let text = match version {
        3 => text.as_bytes().to_vec(),
        _ => text.chars().map(|c| u8::try_from(c).unwrap()).collect(),
    };
    let length = (text.len() as u32).to_le_bytes();
    let length = if version == 1 { &length[..2] } else { &length };
    [b"\x93NUMPY", [version, 0].as_slice(), length, &text, data].concat()
}

fn dictionary(descr: &str, shape: &str) -> String {
    format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n")
}

/// Types and forms of headers that are read.
fn readable() -> Vec<(&'static str, Vec<u8>)> {
    let of = |descr: &str, data: &[u8]| file(1, &dictionary(descr, "(2,)"), data);
    let plain = dictionary("'<u8'", "(2,)");
    let nested = |depth| format!("{}'<i2'{}", "[('a', ".repeat(depth), ")]".repeat(depth));
    let deep = format!("[('board', '<u8'), ('x', {})]", nested(15));
    let axes = format!("[('board', '<u8'), ('x', '|i1', ({}))]", "1, ".repeat(32));
    let umlaut = "[('board', '<u8'), ('größe', '|u1')]";
    vec![
        ("version-1", file(1, &plain, &little())),
        ("version-2", file(2, &plain, &little())),
        ("version-3", file(3, &plain, &little())),
        (
            "other-order-and-quotes",
            file(1, "{\"shape\":(2,),\t\"fortran_order\" : True,\n \"descr\":\"<u8\"}", &little()),
        ),
        ("big-endian", of("'>u8'", &big())),
        ("machine-order", of("'=u8'", &little())),
        ("python-2", file(1, &dictionary("[(u'board', '<u8')]", "(2L,)"), &little())),
        ("title", of("[(('the board', 'board'), '<u8')]", &little())),
        ("escape", of("[('bo\\x61rd', '<u8'), ('d\\'e', '|V1')]", &padded(0, 1))),
        ("latin-1-name", of(umlaut, &padded(0, 1))),
        ("utf-8-name", file(3, &dictionary(umlaut, "(2,)"), &padded(0, 1))),
        ("padding", of("[('', '|V3'), ('board', '<u8'), ('', '|V5')]", &padded(3, 5))),
        ("sub-array", of("[('board', '<u8'), ('x', '<i2', (4, 4))]", &padded(0, 32))),
        ("sub-array-length", of("[('x', '<i2', 3), ('board', '<u8')]", &padded(6, 0))),
        ("empty-sub-array", of("[('x', '<i8', (3, 0)), ('board', '<u8')]", &little())),
        ("sixteen-structures", of(&deep, &padded(0, 2))),
        ("many-axes", of(&axes, &padded(0, 1))),
        ("times", of("[('when', '<M8[ms]'), ('board', '<u8')]", &padded(8, 0))),
        ("text", of("[('board', '<u8'), ('move', '<U1')]", &padded(0, 4))),
        ("no-rows", file(1, &dictionary("'<u8'", "(0,)"), &[])),
    ]
}

/// What is refused, each with one cause.
fn hostile() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let of = |descr: &str, shape: &str| file(2, &dictionary(descr, shape), &little());
    let names = "{'names': ['board'], 'formats': ['<u8'], 'offsets': [8], 'itemsize': 16}";
    let mut four_gib = file(2, &dictionary("'<u8'", "(2,)"), &little());
    four_gib[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
    let mut longer_than_file = file(2, &dictionary("'<u8'", "(2,)"), &little());
    longer_than_file[8..12].copy_from_slice(&60_000u32.to_le_bytes());
    let brackets = |count: usize| format!("{{'descr': {}", "[('a', ".repeat(count / 7));
    let wrong_inside = format!("{}?{}", "[('a', ".repeat(16), ")]".repeat(16));
    let impossible = "the .npy header gives an impossible shape";
    let fewer = "broken .npy header: fewer structures inside structures expected at byte 129";
    let pickled = "the .npy file holds pickled objects";
    vec![
        ("four-gib", four_gib, "a .npy header of 4294967295 bytes"),
        ("longer", longer_than_file, "the file ends inside its .npy header"),
        ("brackets-100000", file(2, &brackets(100_000), b""), "a .npy header of 100005 bytes"),
        ("brackets-60000", file(1, &brackets(60_000), b""), fewer),
        (
            "wrong-inside",
            of(&wrong_inside, "(2,)"),
            "a type or a list of fields expected at byte 122",
        ),
        (
            "dictionary-type",
            of(names, "(2,)"),
            "broken .npy header: a type or a list of fields expected at byte 10",
        ),
        (
            "tuple-type",
            of("('<u8', (1,))", "(2,)"),
            "broken .npy header: a type or a list of fields expected at byte 10",
        ),
        ("product", of("'<u8'", "(4294967296, 4294967296)"), impossible),
        ("product-and-zero", of("'<u8'", "(4294967296, 4294967296, 0)"), impossible),
        ("bytes", of("'<u8'", "(9223372036854775808,)"), impossible),
        ("digits", of("'<u8'", &format!("({},)", "1".repeat(60_000))), impossible),
        (
            "axes",
            of("'<u8'", &format!("({})", "1, ".repeat(20_000))),
            "broken .npy header: fewer axes expected at byte 243",
        ),
        (
            "promises",
            of("'<u8'", "(1099511627776,)"),
            "the .npy file is cut: 98 bytes, its header needs 8796093022290",
        ),
        (
            "surplus",
            of("'<u8'", "(1,)"),
            "the .npy file is too long: 86 bytes, its header needs 78",
        ),
        ("negative", of("'<u8'", "(-2,)"), "broken .npy header: a length expected at byte 51"),
        ("no-tuple", of("'<u8'", "(2)"), "broken .npy header: `,` expected at byte 52"),
        ("list", of("'<u8'", "[2]"), "a tuple of lengths expected at byte 50"),
        ("float", of("'<u8'", "(2.0,)"), "`,` or a closing bracket expected at byte 52"),
        ("truth", of("'<u8'", "(True,)"), "broken .npy header: a length expected at byte 51"),
        ("object", of("'|O'", "(2,)"), pickled),
        ("object-inside", of("[('board', '<u8'), ('x', '|O8')]", "(2,)"), pickled),
        ("unknown-type", of("'<x8'", "(2,)"), "the .npy type '<x8' is not known"),
        ("odd-size", of("'<i3'", "(2,)"), "the .npy type '<i3' is not known"),
        ("no-order", of("'|i4'", "(2,)"), "the .npy type '|i4' is not known"),
        ("no-type", of("''", "(2,)"), "the .npy type '' is not known"),
        ("large-void", of("'|V2147483648'", "(2,)"), "the .npy type '|V2147483648' is not known"),
        ("u-alone", of("u '<u8'", "(2,)"), "a string expected at byte 10"),
        ("number", of("'<u8'", "2"), "a tuple of lengths expected at byte 50"),
        (
            "eighteen-structures",
            of(&format!("{}'<i2'{}", "[('a', ".repeat(18), ")]".repeat(18)), "(2,)"),
            fewer,
        ),
        (
            "axes-inside",
            of(&format!("[('a', '<i4', ({}))]", "1,".repeat(20_000)), "()"),
            "broken .npy header: fewer axes expected at byte",
        ),
        ("large-type", of("[('board', '<u8', (4294967296, 4294967296))]", "(2,)"), impossible),
        (
            "two-names",
            of("[('board', '<u8'), ('board', '<u8')]", "(2,)"),
            "broken .npy header: two fields of the name \"board\"",
        ),
        ("no-field", of("[('', '|V8')]", "(2,)"), "broken .npy header: a structure without fields"),
        (
            "one-part",
            of("[('board',)]", "(2,)"),
            "broken .npy header: a type or a list of fields expected at byte 20",
        ),
        ("open", file(2, "{'descr': '<u8", b""), "a closed string expected at byte 11"),
        (
            "missing-key",
            file(2, "{'descr': '<u8', 'shape': (2,)}", b""),
            "all of the keys descr, fortran_order, shape",
        ),
        ("key-twice", file(2, "{'descr': '<u8', 'descr': '<u8'}", b""), "one each of the keys"),
        ("other-key", file(2, "{'descr': '<u8', 'x': 1}", b""), "one each of the keys"),
        (
            "rest",
            file(2, &(dictionary("'<u8'", "(2,)") + "x"), &little()),
            "the end expected at byte 58",
        ),
        ("zeros", file(2, &"\0".repeat(118), &little()), "a dictionary expected at byte 0"),
        (
            "not-utf-8",
            file(2, &dictionary("[('größe', '<u8')]", "(2,)"), &little())
                .into_iter()
                .enumerate()
                .map(|(i, byte)| if i == 6 { 3 } else { byte })
                .collect(),
            "broken .npy header: UTF-8 expected",
        ),
        (
            "version-4",
            file(4, &dictionary("'<u8'", "(2,)"), &little()),
            ".npy format version 4.0 is not known",
        ),
        (
            "magic",
            b"PK\x03\x04 an archive".to_vec(),
            "not a .npy file: it does not start with \\x93NUMPY",
        ),
        ("nothing", Vec::new(), "the file ends inside its .npy header"),
        (
            "fortran",
            file(1, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 8)}", &little()),
            "the .npy array is in Fortran order",
        ),
        ("scalar", of("'<u8'", "()"), "the .npy array is a single value, no rows"),
    ]
}

/// ds-cat and ds-check on every file of both tables, and numpy as the oracle of those that are read.
#[test]
fn hostile_headers_get_one_error_and_the_others_are_read_as_numpy_does() {
    let Some(python) = python() else { return };
    let directory = TempDir::new();
    let read = readable().into_iter().map(|(name, bytes)| (name, bytes, None));
    let refused = hostile().into_iter().map(|(name, bytes, cause)| (name, bytes, Some(cause)));
    let table: Vec<_> = read.chain(refused).collect();
    for (name, bytes, _) in &table {
        directory.write(&format!("{name}/steps.npy"), bytes);
    }
    let oracle = oracle(&python, "npy_boards.py", &[&directory.at("")]).ok().records();
    let by_numpy: HashMap<&str, &Value> =
        oracle.iter().map(|line| (line["name"].as_str().unwrap(), &line["boards"])).collect();
    for (name, _, refused) in &table {
        let pool = directory.at(name);
        let cat = tool("ds-cat").args(&[&pool, "-q"]).run();
        let check = tool("ds-check").args(&["--structure", &pool]).run();
        match refused {
            None => {
                let games = cat.ok().records();
                let steps = games.iter().flat_map(|game| game["steps"].as_array().unwrap());
                let ours: Vec<Value> = steps.map(|step| step["board"].clone()).collect();
                let theirs =
                    by_numpy[name.to_owned()].as_array().unwrap_or_else(|| panic!("{name}"));
                assert_eq!(ours.len(), if *name == "no-rows" { 0 } else { 2 }, "{name}");
                assert_eq!(ours, theirs.iter().map(exponents_of).collect::<Vec<_>>(), "{name}");
                assert_eq!(check.code(), Some(0), "{name}: {check:?}");
            }
            Some(cause) => {
                cat.fails(1, &[&format!("{pool}/steps.npy: "), cause]);
                assert_eq!(check.code(), Some(1), "{name}: {check:?}");
                // The report is wrapped.
                let words: Vec<String> =
                    check.text().split_whitespace().map(String::from).collect();
                assert!(words.join(" ").contains(cause), "{name}: {check:?}");
            }
        }
    }
}

/// A board of numpy as sixteen exponents.
fn exponents_of(board: &Value) -> Value {
    let nibbles = board.as_u64().unwrap();
    (0..16).map(|cell| nibbles >> (60 - 4 * cell) & 15).collect()
}
