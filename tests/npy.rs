//! `.npy` headers against numpy itself.
//!
//! Runs when `GRISTMILL_PYTHON` names a Python with numpy; else it says that it was skipped.

use std::collections::HashMap;
use std::process::Command;

use gristmill::format::npy::{
    ArrayHeader, AutoSerialize, DType, aligned_step_row, field, is_padding, packed_step_row,
    selfplay_row,
};
use serde::Deserialize;

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
    let Some(python) = std::env::var_os("GRISTMILL_PYTHON") else {
        println!("skipped: GRISTMILL_PYTHON is not set");
        return;
    };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle/npy_oracle.py");
    let output = Command::new(python).arg(script).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (mut written, mut read) = (0, 0);
    for line in std::str::from_utf8(&output.stdout).unwrap().lines() {
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
            // A field with a title stands under both in numpy's table.
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
