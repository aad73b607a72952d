//! The trainers' own packages: TRL packs unpacked rows to the same packed rows and `datasets` loads
//! them. (Its collator needs torch: tools/trainers.sh.)

use super::{root, seq_pack};
use crate::common::{TempDir, oracle, python};

#[test]
fn trl_packs_and_collates_the_same_rows() {
    let Some(python) = python() else { return };
    let dir = TempDir::new();
    root(&dir, 400);
    let (train, rows, packed) = (dir.at("root/train"), dir.at("u.parquet"), dir.at("p.parquet"));
    seq_pack(&[&train, "-o", &rows, "-q"]).silent();
    oracle(&python, "packing.py", &["processed", &rows]).ok();
    for (n, strategy, how) in [
        ("512", "bfd", &["--overflow", "cut"][..]),
        ("96", "bfd", &["--overflow", "cut"]),
        ("96", "bfd_split", &["--overflow", "split"]),
        ("512", "wrapped", &["--algorithm", "wrapped"]),
    ] {
        let flags = [&train, "-o", &packed, "--form", "trl", "-n", n, "-q", "--overwrite"];
        seq_pack(&[&flags[..], how].concat()).silent();
        oracle(&python, "packing.py", &["pack-dataset", &rows, &packed, n, strategy]).ok();
    }
}
