//! Headers and integers; `tests/formats/npy.rs` compares with numpy, and has what is refused.

use super::*;

fn read(text: &str) -> Result<ArrayHeader, Error> {
    let length = (text.len() as u16).to_le_bytes();
    let bytes = [&b"\x93NUMPY\x01\x00"[..], &length, text.as_bytes()].concat();
    ArrayHeader::read(&mut &bytes[..]).map(|(header, _)| header)
}

/// One type has one form, whatever byte order is written where there is none.
#[test]
fn byte_orders_of_single_bytes_are_one() {
    let row = |order| format!("[('a', '{order}u1'), ('b', '{order}S3', 2)]");
    let of = |row| format!("{{'descr': {row}, 'fortran_order': False, 'shape': (1,)}}");
    for order in ["<", ">", "=", ""] {
        assert_eq!(read(&of(row(order))).unwrap(), read(&of(row("|"))).unwrap());
    }
}

#[test]
fn no_prefix_of_a_header_and_no_changed_byte_is_a_panic() {
    let row = "[('a', '<u4'), ('b', '<u8'), ('c', '<u2'), ('', '|V2'), ('d', '<f4', (4,))]";
    let row = format!("{{'descr': {row}, 'fortran_order': False, 'shape': (5,)}}");
    let bytes = read(&row).unwrap().to_bytes().unwrap();
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
