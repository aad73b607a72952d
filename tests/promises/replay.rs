//! The fuzz targets on their corpus, and on a few thousand mutations of it, the same in every run.

#[path = "../../fuzz/targets/mod.rs"]
mod targets;

use std::fs;
use std::path::Path;

use targets::models::{self, MODELS};
use targets::{PARTS, READERS};

use crate::common::Random;

/// Mutations of each file of the corpus; `GRISTMILL_MUTATIONS` says another number.
const MUTATIONS: usize = 60;

fn mutated(good: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = good.to_vec();
    for _ in 0..1 + random.below(4) {
        let at = random.below(bytes.len().max(1));
        match random.below(8) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at.min(bytes.len()), random.next() as u8),
            2 if !bytes.is_empty() => drop(bytes.remove(at)),
            3..6 if !bytes.is_empty() => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][random.below(5)],
            _ if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
            _ => {}
        }
    }
    bytes
}

/// In one test: what is counted is the memory of the process.
#[test]
fn every_target_survives_its_corpus_and_mutations() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let more = std::env::var("GRISTMILL_MUTATIONS").ok();
    let mutations = more.map_or(MUTATIONS, |number| number.parse().unwrap());
    let mut run_all = |name: &str, run: &dyn Fn(&[u8])| {
        let mut files: Vec<_> =
            fs::read_dir(corpus.join(name)).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        assert!(!files.is_empty(), "{name} has no corpus");
        run(&[]);
        for file in files {
            let good = fs::read(&file).unwrap();
            run(&good);
            for _ in 0..mutations {
                run(&mutated(&good, &mut random));
            }
        }
    };
    for (name, target) in READERS.iter().chain(PARTS) {
        run_all(name, &|bytes| targets::run(*target, bytes));
    }
    for (name, target) in MODELS {
        run_all(name, &|bytes| models::run(target, bytes));
    }
    let takes: [targets::Target; 2] = [
        |_, _| Ok(()),
        |_, _| {
            std::hint::black_box(vec![1u8; 200 << 20]);
            Ok(())
        },
    ];
    let is_refused = |target| std::panic::catch_unwind(|| targets::run(target, &[])).is_err();
    assert_eq!(takes.map(is_refused), [false, true], "memory is not counted");
}
