//! Folders of trainers' own formats: what `datasets` and numpy read of them are the rows of `--form rows`.

use serde_json::json;

use crate::common::{TempDir, assert_no_temporaries, python, python_code, tool};

/// A root of gpt-oss and a stream of another model, whose sequences have no end of document.
fn inputs(dir: &TempDir, count: usize) {
    let lines = (0..count).map(|n| {
        let (asked, answer) = (format!("q{}", "x ".repeat(n % 7)), format!("a{n}"));
        let messages =
            json!([{"role": "user", "content": asked}, {"role": "assistant", "content": answer}]);
        json!({"id": format!("c{n}"), "messages": messages}).to_string() + "\n"
    });
    dir.write("c.jsonl", lines.collect::<String>());
    dir.bash("chat-tok --model gpt-oss c.jsonl --to arrow | span-mask --to arrow > m.arrows").ok();
    dir.bash("mmidx-write m.arrows --root root --shard shard_00 --valid-fraction 0 -q").ok();
}

const READ: &str = "
import gzip, json, os, sys
import numpy as np, pyarrow.parquet as pq
form, folder, rows = sys.argv[1:]
wanted = pq.read_table(rows).to_pylist()
if form == 'llama-factory':
    from datasets import load_from_disk
    data = load_from_disk(folder)
    assert {name: str(of.feature.dtype) for name, of in data.features.items()} == {'input_ids': 'int32', 'attention_mask': 'int8', 'labels': 'int32'}, data.features
    found = [{name: row[name] for name in ('input_ids', 'labels', 'attention_mask')} for row in data]
else:
    found = []
    for name in sorted(of for of in os.listdir(folder) if of.startswith('token_ids') and of.endswith('.npy')):
        tokens = np.memmap(os.path.join(folder, name), np.uint32)
        masks = np.memmap(os.path.join(folder, name.replace('token_ids', 'labels_mask')), np.bool_)
        assert len(tokens) == len(masks)
        with gzip.open(os.path.join(folder, name.replace('.npy', '.csv.gz')), 'rt') as lines:
            for line in lines:
                start, end = map(int, line.split(','))
                ids = tokens[start:end]
                labels = np.where(masks[start:end], ids.astype(np.int64), -100)
                found.append({'input_ids': ids.tolist(), 'labels': labels.tolist(), 'attention_mask': [1] * len(ids)})
        assert end == len(tokens)
assert found == wanted, 'other rows'
print(json.dumps({'rows': len(found), 'trained': sum(label != -100 for row in found for label in row['labels'])}))
";

#[test]
fn they_hold_the_rows() {
    let Some(python) = python() else { return };
    let dir = TempDir::new();
    inputs(&dir, 2345);
    for (input, flags) in [("root/train", ""), ("m.arrows", ""), ("m.arrows", "--keep-eod")] {
        let flags: Vec<&str> = flags.split_whitespace().collect();
        let rows = dir.at("rows.parquet");
        let of = |more: &[&str]| tool("seq-pack").args(&[&dir.at(input)]).args(more).args(&flags);
        of(&["-o", &rows, "--overwrite", "-q"]).run().ok();
        for form in ["llama-factory", "olmo-core"] {
            let folder = dir.at(form);
            of(&["-o", &folder, "--form", form, "--overwrite", "-q"]).run().ok();
            let found =
                python_code(&python, READ, &[form, &folder, &rows]).ok().records().remove(0);
            assert_eq!(found["rows"], 2345, "{form}");
            let manifest = dir.json(&format!("{form}/rows.json"));
            assert_eq!(manifest["sequences"], 2345);
            assert_eq!(manifest["trained_tokens"], found["trained"]);
            assert_no_temporaries(dir.path());
        }
    }
}

#[test]
fn what_stands_there_stays_and_options_of_packing_are_refused() {
    let dir = TempDir::new();
    inputs(&dir, 10);
    for form in ["llama-factory", "olmo-core"] {
        let run = |more: &[&str]| {
            let input = dir.at("m.arrows");
            tool("seq-pack").args(&[&input, "--form", form]).args(more).run_whatever()
        };
        let folder = dir.at(form);
        assert_eq!(run(&["-o", &folder]).code(), Some(0));
        let again = run(&["-o", &folder]);
        assert_eq!(again.code(), Some(2), "{}", again.stderr);
        assert!(again.stderr.contains("exists already"), "{}", again.stderr);
        assert_eq!(run(&["-o", &folder, "--overwrite"]).code(), Some(0));
        for (flags, cause) in [
            (vec!["-o", "x", "-n", "64"], "--seq-length is for rows of sequences"),
            (vec!["-o", "x", "--columns", "id"], "--columns is for rows of sequences"),
            (vec!["-o", "x", "--compression", "zstd"], "--compression is for rows of sequences"),
            (vec!["-o", "x", "--overflow", "split"], "--overflow is for rows of sequences"),
        ] {
            let refused = run(&flags);
            assert_eq!(refused.code(), Some(2));
            assert!(refused.stderr.contains(cause), "{cause}: {}", refused.stderr);
        }
        // A cut input publishes nothing.
        dir.bash("head -c 2000 m.arrows > cut.arrows").ok();
        let cut = tool("seq-pack")
            .args(&[&dir.at("cut.arrows"), "--form", form, "-o", &dir.at("cut")])
            .run_whatever();
        assert_ne!(cut.code(), Some(0));
        assert!(!dir.path().join("cut").join("state.json").exists());
        assert!(!dir.path().join("cut").join("rows.json").exists());
    }
}
