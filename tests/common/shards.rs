//! Inputs of the pipelines, and the scripts that run them.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use serde_json::{Value, json};

use super::{TempDir, bin_dir, conversation, tool};

/// Copies the scripts: beside the originals there may be a release build, which they would prefer.
pub fn copy_scripts(dir: &TempDir) {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts");
    for entry in fs::read_dir(scripts).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "sh") {
            let name = path.file_name().unwrap().to_str().unwrap();
            dir.write(&format!("scripts/{name}"), fs::read(&path).unwrap());
        }
    }
}

/// Puts ds-plan into `bin`: its tasks prefer the filters beside it.
pub fn copy_ds_plan(dir: &TempDir) {
    let (built, own) = (bin_dir().join("ds-plan"), dir.path().join("bin/ds-plan"));
    fs::create_dir_all(dir.path().join("bin")).unwrap();
    if !own.exists() {
        fs::hard_link(&built, &own).or_else(|_| fs::copy(&built, &own).map(|_| ())).unwrap();
    }
}

/// Puts ds-plan into `bin`, and beside it a filter that does `script` first, by its own name and as the first of a
/// chain.
pub fn wrap(dir: &TempDir, filter: &str, script: &str) {
    copy_ds_plan(dir);
    let as_first =
        format!("if [[ $1 == {filter} ]]; then\nshift\n{script}\nset -- {filter} \"$@\"\nfi");
    for (name, script) in [(filter, script), ("gristmill", &as_first)] {
        let built = bin_dir().join(name);
        let script = format!("#!/bin/bash\n{script}\nexec {} \"$@\"\n", built.display());
        let wrapper = dir.write(&format!("bin/{name}"), script);
        fs::set_permissions(wrapper, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// Writes shards of so many rows into `in`, with a manifest beside them.
pub fn write_shards(dir: &TempDir, rows: &[usize]) {
    let mut first = 0;
    for (shard, rows) in rows.iter().enumerate() {
        write_shard(dir, &format!("shard_{shard:02}"), first..first + rows);
        first += rows;
    }
    dir.write("in/manifest.json", "{\"of\": \"the tests\"}\n");
}

/// Writes one shard of these conversations.
pub fn write_shard(dir: &TempDir, name: &str, numbers: std::ops::Range<usize>) {
    let line = |number| {
        let mut line = conversation(number);
        let messages = json!({"messages": line["messages"].take()});
        json!({"synth_id": format!("s-{number}"), "messages_json": messages.to_string()})
            .to_string()
    };
    // Without any row, a shard has its columns all the same.
    let limit = numbers.len().to_string();
    let lines: Vec<String> =
        (numbers.start..numbers.end.max(numbers.start + 1)).map(line).collect();
    dir.write("lines", lines.join("\n") + "\n");
    let path = dir.at(&format!("in/synth_harmony_{name}.parquet"));
    let convert =
        [&dir.at("lines"), "--to", "parquet", "-o", &path, "--limit", &limit, "--overwrite"];
    tool("ds-cat").args(&convert).run().silent();
}

/// Writes rows of texts, a line each, as the columns of a Parquet file that no filter has made.
pub fn write_parquet(path: &Path, lines: &str) {
    let rows: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names = rows[0].as_object().unwrap().keys();
    let columns = names.map(|name| {
        let texts = rows.iter().map(|row| row[name].as_str().unwrap());
        (name, Arc::new(StringArray::from_iter_values(texts)) as ArrayRef)
    });
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut writer =
        ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

/// Writes a folder as `datasets` saves it, whose rows are those of an Arrow stream.
pub fn write_saved(dir: &TempDir, name: &str, stream: &str) {
    let file = "data-00000-of-00001.arrow";
    let state = json!({"_data_files": [{"filename": file}], "_fingerprint": "f", "_split": null});
    dir.write(&format!("{name}/{file}"), dir.read(stream));
    dir.write(&format!("{name}/state.json"), state.to_string());
    dir.write(&format!("{name}/dataset_info.json"), "{}");
}
