use std::fs::File;
use std::io::{Cursor, Write};

use super::*;

const ALIGNED: &str = "{'descr': [('run_id', '<u4'), ('step_index', '<u4'), ('board', '<u8'), \
    ('board_eval', '<i4'), ('tile_65536_mask', '<u2'), ('move_dir', '|u1'), \
    ('valuation_type', '|u1'), ('ev_legal', '|u1'), ('max_rank', '|u1'), ('', '|V2'), \
    ('seed', '<u4'), ('branch_evs', '<f4', (4,))], 'fortran_order': False, 'shape': (0,), }";

fn with_text(version: [u8; 2], text: &str) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY".to_vec();
    bytes.extend(version);
    if version[0] == 1 {
        bytes.extend((text.len() as u16).to_le_bytes());
    } else {
        bytes.extend((text.len() as u32).to_le_bytes());
    }
    bytes.extend(text.as_bytes());
    bytes
}

fn read(text: &str) -> Result<ArrayHeader, Error> {
    ArrayHeader::read(&mut &with_text([1, 0], text)[..]).map(|(header, _)| header)
}

fn error_text(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

#[test]
fn the_aligned_header_is_384_bytes_for_any_number_of_rows() {
    assert_eq!(aligned_step_row().num_bytes(), Some(48));
    assert_eq!(packed_step_row().num_bytes(), Some(46));
    assert_eq!(selfplay_row().num_bytes(), Some(28));
    for rows in [0, 1, 999, 11_400, 1 << 32, u64::MAX] {
        let bytes = ArrayHeader::of_rows(aligned_step_row(), rows, &[]).to_bytes().unwrap();
        assert_eq!(bytes.len(), 384);
        let (header, length) = ArrayHeader::read(&mut &bytes[..]).unwrap();
        assert_eq!((header.shape, length), (vec![rows], 384));
    }
    let bytes = ArrayHeader::of_rows(aligned_step_row(), 0, &[]).to_bytes().unwrap();
    assert!(bytes[10..].starts_with(ALIGNED.as_bytes()));
    assert!(bytes.ends_with(b" \n"));
}

#[test]
fn a_file_of_unknown_length_is_patched_in_place() {
    let mut out = Cursor::new(b"before".to_vec());
    out.set_position(6);
    let mut writer = Writer::new(out, i32::default_dtype(), &[3]).unwrap();
    let rows: Vec<u8> = (0..24 * 12).map(|i| i as u8).collect();
    writer.write_rows(&rows[..12]).unwrap();
    writer.write_rows(&rows[12..]).unwrap();
    writer.write_rows(&[]).unwrap();
    assert_eq!(
        writer.write_rows(&rows[..11]).unwrap_err().to_string(),
        "11 bytes, which is not in whole rows of 12"
    );
    assert_eq!((writer.rows(), writer.bytes()), (24, 128 + 288));
    let bytes = writer.finish().unwrap().into_inner();
    let header = ArrayHeader::of_rows(i32::default_dtype(), 24, &[3]).to_bytes().unwrap();
    assert_eq!(bytes, [b"before", &header[..], &rows].concat());
}

#[test]
fn what_numpy_or_python_2_may_write_is_read() {
    let header = read("{\"shape\": (3L, 4L), 'fortran_order': True, 'descr': '<f4'}   \n").unwrap();
    assert_eq!(header.shape, [3, 4]);
    assert!(header.fortran_order);
    let header = read(
        "{'descr': [(u'a', '<i2', 3), (('t', 'b'), [('c', '>u4')], (2, 2,),), ('', '|V6')],\n\
         'fortran_order': False, 'shape': (), }",
    )
    .unwrap();
    assert_eq!(header.item_bytes().unwrap(), 6 + 16 + 6);
    assert_eq!(field(&header.dtype, "b").unwrap().0, 6);
    assert_eq!(field(&header.dtype, ""), None);
    // One type has one form, whatever byte order is written where there is none.
    let row = |order| format!("[('a', '{order}u1'), ('b', '{order}S3', 2)]");
    for order in ["<", ">", "=", ""] {
        let of = |row| format!("{{'descr': {row}, 'fortran_order': False, 'shape': (1,)}}");
        assert_eq!(read(&of(row(order))).unwrap(), read(&of(row("|"))).unwrap());
    }
    assert!(matches!(header.rows(), Err(Error::NoRows)));
}

#[test]
fn broken_headers_are_refused_with_the_place() {
    let of = |descr: &str, shape: &str| {
        error_text(&format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}"))
    };
    assert_eq!(of("'|O'", "(3,)"), "the .npy file holds pickled objects");
    assert_eq!(of("[('a', '|O8')]", "(3,)"), "the .npy file holds pickled objects");
    assert_eq!(of("'<x4'", "(3,)"), "the .npy type '<x4' is not known");
    assert_eq!(of("'<i3'", "(3,)"), "the .npy type '<i3' is not known");
    assert_eq!(of("'|i4'", "(3,)"), "the .npy type '|i4' is not known");
    assert_eq!(of("''", "(3,)"), "the .npy type '' is not known");
    assert_eq!(of("u '<i4'", "(3,)"), "broken .npy header: a string expected at byte 10");
    assert_eq!(of("[]", "(3,)"), "broken .npy header: a structure without fields");
    assert_eq!(
        of("[('a', '<i4'), ('a', '<i4')]", "(3,)"),
        "broken .npy header: two fields of the name \"a\""
    );
    assert_eq!(of("'<i4'", "(3)"), "broken .npy header: `,` expected at byte 52");
    assert_eq!(of("'<i4'", "3"), "broken .npy header: a tuple of lengths expected at byte 50");
    assert_eq!(of("'<i4'", "(-3,)"), "broken .npy header: a length expected at byte 51");
    assert_eq!(of("'<i4'", "(99999999999999999999,)"), "the .npy header gives an impossible shape");
    assert_eq!(error_text("[]"), "broken .npy header: a dictionary expected at byte 0");
    assert_eq!(
        error_text("{'descr': '<i4'}"),
        "broken .npy header: all of the keys descr, fortran_order, shape expected at byte 16"
    );
    assert_eq!(
        error_text("{'descr': '<i4', 'descr': '<i4'}"),
        "broken .npy header: one each of the keys descr, fortran_order, shape expected at byte 17"
    );
    assert_eq!(
        error_text("{'descr': '<i4"),
        "broken .npy header: a closed string expected at byte 11"
    );
    let deep = format!("{}{}", "[('a', ".repeat(5000), "'<i4'");
    assert!(error_text(&format!("{{'descr': {deep}")).contains("fewer structures"));
}

#[test]
fn no_prefix_of_a_header_and_no_changed_byte_is_a_panic() {
    let bytes = ArrayHeader::of_rows(aligned_step_row(), 5, &[]).to_bytes().unwrap();
    for length in 0..bytes.len() {
        let error = ArrayHeader::read(&mut &bytes[..length]).unwrap_err();
        assert_eq!(error.to_string(), "the file ends inside its .npy header");
    }
    for i in 0..bytes.len() {
        for byte in [0, b'\'', b'(', b'9', 0xff] {
            let mut changed = bytes.clone();
            changed[i] = byte;
            if let Ok((header, _)) = ArrayHeader::read(&mut &changed[..]) {
                let _ = (header.data_bytes(), header.row_bytes());
            }
        }
    }
}

#[test]
fn magic_version_and_length_are_checked() {
    let text = |bytes: &[u8]| ArrayHeader::read(&mut &bytes[..]).unwrap_err().to_string();
    assert_eq!(text(b"PK\x03\x04 zip file"), "not a .npy file: it does not start with \\x93NUMPY");
    assert_eq!(text(b"\x93NUMPY\x04\x00abcdef"), ".npy format version 4.0 is not known");
    let long = b"\x93NUMPY\x02\x00\xff\xff\xff\xff{";
    assert_eq!(text(long), "a .npy header of 4294967295 bytes");
}

#[test]
fn shapes_are_checked_before_anything_is_allocated() {
    let header = |shape: &[u64]| ArrayHeader {
        dtype: i32::default_dtype(),
        fortran_order: false,
        shape: shape.to_vec(),
    };
    assert!(matches!(header(&[1 << 62, 1]).data_bytes(), Err(Error::Overflow)));
    assert!(matches!(header(&[1, 1 << 62, 1 << 10]).row_bytes(), Err(Error::Overflow)));
    assert_eq!(header(&[0, 1 << 40]).data_bytes().unwrap(), 0);
    assert!(header(&[6, 2]).check_length(128, 176).is_ok());
    assert_eq!(
        header(&[6, 2]).check_length(128, 175).unwrap_err().to_string(),
        "the .npy file is cut: 175 bytes, its header needs 176"
    );
    assert_eq!(
        header(&[6, 2]).check_length(128, 177).unwrap_err().to_string(),
        "the .npy file is too long: 177 bytes, its header needs 176"
    );
    // A header that promises much, and no data.
    let path = std::env::temp_dir().join(format!("gristmill-npy-cut-{}.npy", std::process::id()));
    let mut bytes = header(&[1 << 40]).to_bytes().unwrap();
    bytes.extend([1, 2, 3]);
    std::fs::write(&path, bytes).unwrap();
    assert_eq!(
        MappedArray::open(&File::open(&path).unwrap()).unwrap_err().to_string(),
        "the .npy file is cut: 131 bytes, its header needs 4398046511232"
    );
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn rows_come_back_mapped() {
    let path = std::env::temp_dir().join(format!("gristmill-npy-{}.npy", std::process::id()));
    let rows: Vec<u8> = (0..100_000u32 * 28).map(|i| (i % 251) as u8).collect();
    let mut writer = Writer::new(File::create(&path).unwrap(), selfplay_row(), &[]).unwrap();
    writer.write_rows(&rows).unwrap();
    drop(writer.finish().unwrap());

    let mapped = MappedArray::open(&File::open(&path).unwrap()).unwrap();
    assert_eq!((mapped.rows(), mapped.row_bytes()), (100_000, 28));
    assert_eq!(mapped.header().dtype, selfplay_row());
    assert_eq!(mapped.row(77_777).unwrap(), &rows[77_777 * 28..77_778 * 28]);
    assert_eq!(mapped.row(100_000), None);
    assert!(mapped.data() == rows);
    drop(mapped);

    let mut file = File::options().append(true).open(&path).unwrap();
    file.write_all(b"x").unwrap();
    let too_long = "the .npy file is too long: 2800193 bytes, its header needs 2800192";
    assert_eq!(MappedArray::open(&File::open(&path).unwrap()).unwrap_err().to_string(), too_long);
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn fortran_order_is_refused_where_it_matters() {
    let path = std::env::temp_dir().join(format!("gristmill-npy-f-{}.npy", std::process::id()));
    let open = |shape: &str| {
        let text = format!("{{'descr': '|u1', 'fortran_order': True, 'shape': {shape}}}");
        std::fs::write(&path, [with_text([2, 0], &text), vec![0; 6]].concat()).unwrap();
        MappedArray::open(&File::open(&path).unwrap())
    };
    assert!(matches!(open("(3, 2)"), Err(Error::FortranOrder)));
    assert!(open("(6,)").is_ok());
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn every_width_order_and_sign() {
    let value = |kind, is_big_endian, bytes: &[u8]| {
        Scalar { kind, is_big_endian, bytes: bytes.len() }.integer(bytes)
    };
    use TypeChar::{Int, Uint};
    assert_eq!(value(Int, false, &[0xff]), -1);
    assert_eq!(value(Uint, false, &[0xff]), 255);
    assert_eq!(value(Int, false, &[0x9c, 0xff]), -100);
    assert_eq!(value(Int, true, &[0xff, 0x9c]), -100);
    assert_eq!(value(Uint, true, &[1, 2, 3, 4]), 0x0102_0304);
    assert_eq!(value(Int, false, &[1, 0, 0, 0, 0, 0, 0, 0x80]), i64::MIN + 1);
    assert_eq!(value(Uint, false, &[0xff; 8]), i64::MAX);
}

#[test]
fn names_have_the_escapes_of_repr() {
    let name = |quoted: &str| {
        let header = read(&format!(
            "{{'descr': [({quoted}, '<u4')], 'fortran_order': False, 'shape': (2,)}}"
        ));
        let DType::Record(fields) = header?.dtype else { panic!("{quoted}: no structure") };
        Ok::<String, Error>(fields[0].name.clone())
    };
    let quoted = r#"'\\ \' " \n\r\t \x1f \xe9 \u20ac \U0001f600'"#;
    assert_eq!(name(quoted).unwrap(), "\\ ' \" \n\r\t \u{1f} \u{e9} \u{20ac} \u{1f600}");
    for broken in [r"'\q'", r"'\x1'", r"'\x+1'", r"'\ud800'", r"'\U00110000'", r"'\N{DASH}'"] {
        let error = name(broken).unwrap_err().to_string();
        assert_eq!(error, "broken .npy header: a string of known escapes expected at byte 13");
    }
}

#[test]
fn hostile_headers_end_soon_and_in_little_memory() {
    let of = |descr: &str, shape: &str| {
        format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}")
    };
    let nested = |depth: usize, inner: &str| {
        format!("{}{inner}{}", "[('a', ".repeat(depth), ")]".repeat(depth))
    };
    let sixteen = read(&of(&nested(16, "'<i4'"), "(3,)")).unwrap();
    assert_eq!(sixteen.item_bytes().unwrap(), 4);
    let fewer = "broken .npy header: fewer structures inside structures expected at byte ";
    for text in
        [of(&nested(18, "'<i4'"), "(3,)"), "{'descr': ".to_string() + &"[('', ".repeat(10_000)]
    {
        assert!(error_text(&text).starts_with(fewer), "{}", error_text(&text));
    }
    for inner in ["?", "'<i4',, ", "{'names': []}", "'<i4' '<i4'", "-1", "'"] {
        assert!(error_text(&of(&nested(16, inner), "(3,)")).contains(".npy"));
    }
    let ones = "1,".repeat(30_000);
    for text in [of("'<i4'", &format!("({ones})")), of(&format!("[('a', '<i4', ({ones}))]"), "()")]
    {
        assert!(error_text(&text).starts_with("broken .npy header: fewer axes expected at byte"));
    }
    let impossible = "the .npy header gives an impossible shape";
    assert_eq!(error_text(&of("'<i4'", &format!("({},)", "9".repeat(60_000)))), impossible);
    for shape in ["(4294967296, 4294967296)", "(4294967296, 4294967296, 0)"] {
        let header = read(&of("'<i4'", shape)).unwrap();
        assert_eq!(header.data_bytes().unwrap_err().to_string(), impossible);
    }
    let large = "[('a', '<i4', (4294967296, 4294967296))]";
    assert_eq!(error_text(&of(large, "(3,)")), impossible);
    assert_eq!(
        error_text(&of("'|V2147483648'", "(3,)")),
        "the .npy type '|V2147483648' is not known"
    );
}
