//! What is run: every reader, sink and script.

use super::drive::Case;

/// Commands whose inputs cannot be read.
pub fn readers() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, arguments) in [
        ("root", "$IN/root"),
        ("prefix", "$IN/p/a"),
        ("single", "$IN/single/a"),
        ("pack", "$IN/pack"),
        ("sharded pack", "$IN/sharded"),
        ("selfplay pool", "$IN/selfplay"),
        ("puzzle set", "$IN/domino"),
        ("parquet", "$IN/shards/synth_harmony_shard_00.parquet"),
        ("folder of parquet", "$IN/shards"),
        ("arrow", "$IN/masked.arrows"),
        ("ndjson", "$IN/a.ndjson"),
        ("gzip", "$IN/a.ndjson.gz"),
        ("slice", "--slice 1/2 $IN/shards $IN/shards/synth_harmony_shard_00.parquet"),
    ] {
        cases.push(Case::reader(
            &format!("ds-cat {name}"),
            "ds-cat",
            &format!("ds-cat {arguments}"),
        ));
    }
    cases.push(Case::reader("ds-cat stdin", "ds-cat", "ds-cat < <(cat $IN/a.masked)"));
    for (name, path) in [
        ("root", "root"),
        ("prefix", "p/a"),
        ("pack", "pack"),
        ("sharded pack", "sharded"),
        ("selfplay pool", "selfplay"),
        ("puzzle set", "arc_set"),
        ("folder of parquet", "shards"),
        ("arrow", "masked.arrows"),
    ] {
        cases.push(Case::reader(
            &format!("ds-check {name}"),
            "ds-check",
            &format!("ds-check -q --skip pool.step.next $IN/{path}"),
        ));
    }
    let others = [
        (
            "harmony-tok parquet",
            "harmony-tok",
            "harmony-tok -j 2 $IN/shards/synth_harmony_shard_00.parquet",
        ),
        ("mx-decode raw", "mx-decode", "mx-decode -q $IN/raw"),
        (
            "puzzle-encode sudoku",
            "puzzle-encode",
            "puzzle-encode sudoku --train $IN/sudoku/train.csv --test $IN/sudoku/test.csv --num-aug 1",
        ),
        ("puzzle-encode arc", "puzzle-encode", "puzzle-encode arc $IN/arc --num-aug 1"),
        ("npy-pack pools", "npy-pack", "npy-pack -q $IN/pack $IN/sharded -o $OUT"),
        ("npy-pack puzzle sets", "npy-pack", "npy-pack -q $IN/arc_set -o $OUT"),
        (
            "mmidx-write --concat",
            "mmidx-write",
            "mmidx-write -q --concat $IN/p/a $IN/p/b --prefix $OUT/p",
        ),
        ("mmidx-write arrow", "mmidx-write", "mmidx-write -q $IN/masked.arrows --prefix $OUT/p"),
    ];
    cases.extend(others.map(|(name, process, command)| Case::reader(name, process, command)));
    cases
}
