//! Defects of rows for trainers and of indices.

use std::fs::File;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, Int8Array, Int32Array, Int64Array, ListArray, RecordBatch};
use arrow_schema::DataType;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::KeyValue;
use serde_json::Value;

use super::defects::{Defect, defect};
use super::edit::{edit_line, patch};
use crate::common::TempDir;
use crate::common::models::{CHATML, write_model_at};

/// The keys of manifests: of rows of sequences, and of pairs.
fn key_of(name: &str) -> &'static str {
    if name.starts_with("pairs/") { "gristmill.pairs" } else { "gristmill.rows" }
}

const TRL: &str = "rows/trl.parquet";
const BRIDGE: &str = "rows/bridge.parquet";
const PADDED: &str = "rows/padded.parquet";
const INDEX: &str = "rows/index.parquet";

/// Reads a file whole: its rows in one batch, and its manifest.
fn read(dir: &TempDir, name: &str) -> (RecordBatch, Value) {
    let file = File::open(dir.path().join(name)).unwrap();
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().with_batch_size(1 << 20);
    let pairs = builder.metadata().file_metadata().key_value_metadata().unwrap().clone();
    let manifest = pairs.into_iter().find(|pair| pair.key == key_of(name)).unwrap().value.unwrap();
    let batch = builder.build().unwrap().next().unwrap().unwrap();
    (batch, serde_json::from_str(&manifest).unwrap())
}

fn write(dir: &TempDir, name: &str, batch: &RecordBatch, manifest: &Value) {
    let file = File::create(dir.path().join(name)).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    writer.append_key_value_metadata(KeyValue::new(key_of(name).to_string(), manifest.to_string()));
    writer.close().unwrap();
}

pub fn change_manifest(dir: &TempDir, name: &str, change: impl FnOnce(&mut Value)) {
    let (batch, mut manifest) = read(dir, name);
    change(&mut manifest);
    write(dir, name, &batch, &manifest)
}

/// Changes the values of a column, those of its lists one after another; it is given the tokens, too.
fn change(dir: &TempDir, name: &str, column: &str, change: impl FnOnce(&mut Vec<i64>, &[i32])) {
    let (batch, manifest) = read(dir, name);
    let list =
        |name: &str| batch.column_by_name(name).and_then(|c| c.as_list_opt::<i32>()).cloned();
    let tokens: Vec<i32> = list("input_ids")
        .map_or(Vec::new(), |list| list.values().as_primitive::<Int32Type>().values().to_vec());
    let at = batch.schema().index_of(column).unwrap();
    let list = list(column);
    let values = list.as_ref().map_or(batch.column(at), |list| list.values());
    let mut numbers: Vec<i64> = match values.data_type() {
        DataType::Int8 => {
            values.as_primitive::<Int8Type>().values().iter().map(|&v| v.into()).collect()
        }
        DataType::Int32 => {
            values.as_primitive::<Int32Type>().values().iter().map(|&v| v.into()).collect()
        }
        _ => values.as_primitive::<Int64Type>().values().to_vec(),
    };
    change(&mut numbers, &tokens);
    let made: ArrayRef = match values.data_type() {
        DataType::Int8 => Arc::new(Int8Array::from_iter_values(numbers.iter().map(|&v| v as i8))),
        DataType::Int32 => {
            Arc::new(Int32Array::from_iter_values(numbers.iter().map(|&v| v as i32)))
        }
        _ => Arc::new(Int64Array::from(numbers)),
    };
    let made = match (list, batch.schema().field(at).data_type()) {
        (Some(list), DataType::List(item)) => {
            let offsets = list.offsets().clone();
            Arc::new(ListArray::try_new(item.clone(), offsets, made, None).unwrap())
        }
        _ => made,
    };
    let mut columns = batch.columns().to_vec();
    columns[at] = made;
    write(dir, name, &RecordBatch::try_new(batch.schema(), columns).unwrap(), &manifest)
}

/// The first position with a label.
fn trained(labels: &[i64]) -> usize {
    labels.iter().position(|&label| label != -100).unwrap()
}

/// A token of padding: the second of two <|return|> (200002).
fn padded(tokens: &[i64]) -> usize {
    tokens.windows(2).position(|pair| pair == [200_002; 2]).unwrap() + 1
}

/// Rows of another model, of one sequence that is changed.
fn other(dir: &TempDir, change: fn(&mut Value)) {
    write_model_at(&dir.path().join("model"), CHATML, &[]);
    let messages = serde_json::json!([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]);
    dir.write("x.jsonl", format!("{}\n", serde_json::json!({"id": "x", "messages": messages})));
    dir.bash("set -o pipefail; chat-tok -q --model model x.jsonl | span-mask > x.ndjson").ok();
    edit_line(dir, "x.ndjson", 0, change);
    dir.bash("seq-pack -q --no-check x.ndjson --model model -o rows/other.parquet").ok();
}

pub const ROWS: &[Defect] = &[
    defect("rows.mask", "rows/other.parquet", |dir| {
        other(dir, |line| line["loss_mask"].as_array_mut().unwrap().rotate_right(1))
    }),
    defect("rows.segments", "rows/other.parquet", |dir| {
        other(dir, |line| line["segments"][0]["end"] = 2.into())
    }),
    defect("rows.form", TRL, |dir| {
        change_manifest(dir, TRL, |made| made["schema_version"] = "v9".into())
    }),
    defect("rows.form", TRL, |dir| {
        change_manifest(dir, TRL, |made| made["form"] = "megatron-bridge".into())
    }),
    defect("rows.counts", TRL, |dir| change_manifest(dir, TRL, |made| made["pieces"] = 7.into())),
    defect("rows.counts", INDEX, |dir| {
        change_manifest(dir, INDEX, |made| made["tokens"]["in_sequences"] = 7.into())
    }),
    defect("rows.hash", TRL, |dir| change_manifest(dir, TRL, |made| made["hash"] = "00".into())),
    // A label of another token: the masks are the same.
    defect("rows.value", TRL, |dir| {
        change(dir, TRL, "labels", |labels, _| {
            let at = trained(labels);
            labels[at] += 1;
        })
    }),
    defect("rows.value", BRIDGE, |dir| {
        change(dir, BRIDGE, "loss_mask", |mask, _| {
            let at = mask.iter().position(|&mask| mask == 1).unwrap();
            mask[at] = 2;
        })
    })
    .also(&["rows.hash"]),
    defect("rows.length", TRL, |dir| {
        change_manifest(dir, TRL, |made| made["seq_length"] = 300.into())
    })
    .also(&["rows.counts"]),
    defect("rows.pieces", TRL, |dir| change(dir, TRL, "seq_lengths", |lengths, _| lengths[0] += 1))
        .also(&["rows.counts", "rows.hash"]),
    defect("rows.pieces", BRIDGE, |dir| {
        change(dir, BRIDGE, "seq_start_id", |starts, _| starts[0] = 1)
    })
    .also(&["rows.counts", "rows.hash"]),
    defect("rows.seam", TRL, |dir| {
        change(dir, TRL, "labels", |labels, tokens| labels[0] = tokens[0].into())
    })
    .also(&["rows.counts", "rows.hash"]),
    defect("rows.padding", PADDED, |dir| {
        change(dir, PADDED, "input_ids", |tokens, _| {
            let at = padded(tokens);
            tokens[at] = 199_998;
        })
    }),
    defect("rows.padding", PADDED, |dir| {
        change(dir, PADDED, "loss_mask", |mask, tokens| {
            let tokens: Vec<i64> = tokens.iter().map(|&token| token.into()).collect();
            mask[padded(&tokens)] = 1;
        })
    }),
    defect("rows.padding", PADDED, |dir| {
        change_manifest(dir, PADDED, |made| made["padding"]["token"] = 199_999.into())
    }),
    defect("rows.padding", PADDED, |dir| {
        change_manifest(dir, PADDED, |made| made["padding"]["multiple"] = 8.into())
    })
    .also(&["rows.counts"]),
    defect("rows.counts", PADDED, |dir| {
        change_manifest(dir, PADDED, |made| made["padding"]["tokens"] = 1.into())
    }),
    defect("rows.pieces", PADDED, |dir| change(dir, PADDED, "length", |lengths, _| lengths[0] = 0))
        .also(&["rows.counts", "rows.hash"]),
    defect("rows.form", BRIDGE, |dir| {
        change_manifest(dir, BRIDGE, |made| {
            made["padding"] = serde_json::json!({"multiple": 16, "token": 200_002, "tokens": 0});
        })
    }),
    defect("rows.token", TRL, |dir| change(dir, TRL, "input_ids", |tokens, _| tokens[1] = 300_000))
        .also(&["rows.hash"]),
    defect("rows.token", TRL, |dir| change(dir, TRL, "input_ids", |tokens, _| tokens[1] = 199_999))
        .also(&["rows.hash"]),
    defect("rows.sequence", TRL, |dir| {
        change(dir, TRL, "sequence", |sequences, _| sequences[0] = sequences[1])
    })
    .also(&["rows.counts"]),
    defect("rows.sequence", TRL, |dir| change(dir, TRL, "left", |left, _| left[0] = 9)),
    defect("rows.untrained", BRIDGE, |dir| {
        change(dir, BRIDGE, "loss_mask", |mask, _| mask.fill(0))
    })
    .also(&["rows.counts", "rows.hash", "rows.unsupervised"]),
    defect("rows.unsupervised", BRIDGE, |dir| {
        change(dir, BRIDGE, "loss_mask", |mask, _| mask.fill(0))
    })
    .also(&["rows.counts", "rows.hash", "rows.untrained"]),
    defect("rows.index.data", INDEX, |dir| patch(dir, "kd/p_tokens.bin", 8, &[9])),
    defect("rows.index.data", INDEX, |dir| {
        std::fs::remove_file(dir.path().join("kd/p_span.bin")).unwrap()
    }),
    defect("rows.index.piece", INDEX, |dir| {
        change(dir, INDEX, "length", |lengths, _| lengths[0] = 0)
    })
    .also(&["rows.counts"]),
    defect("rows.index.piece", INDEX, |dir| {
        change(dir, INDEX, "sequence", |of, _| of[0] = 1 << 40)
    })
    .also(&["rows.counts"]),
    defect("rows.index.piece", INDEX, |dir| change(dir, INDEX, "row", |rows, _| rows[0] = -1))
        .also(&["rows.counts"]),
];
