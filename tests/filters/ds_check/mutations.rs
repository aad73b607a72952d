//! How much ds-check sees: one bit or byte of a good dataset is changed at a time, and ds-check must
//! say so, or the change must be one that means nothing or makes another good dataset. Which those
//! are is decided here, without ds-check. `--nocapture` shows the rates; GRISTMILL_MUTATIONS sets
//! how many changes each dataset gets.

use std::collections::BTreeMap;
use std::fs;

use gristmill::format::FORMATS;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;

use crate::checks::edit::{MESSAGE, Triple};
use crate::checks::{Good, found};
use crate::common::{Random, TempDir, data, tool, write_saved};

/// Changes of each dataset in a usual run.
const MUTATIONS: usize = 100;
const THREADS: usize = 2;

/// A good dataset.
struct Set {
    name: &'static str,
    make: fn(&Good) -> TempDir,
    /// The arguments of ds-check; the first is the path. Names of files below the copy are in `{}`.
    arguments: &'static str,
    /// Which of its files are changed, by how their names begin.
    below: &'static str,
    /// Why a change that ds-check does not see means nothing, or could not be seen by anyone.
    free: fn(&Change) -> Option<String>,
}

const fn set(
    name: &'static str,
    make: fn(&Good) -> TempDir,
    arguments: &'static str,
    below: &'static str,
    free: fn(&Change) -> Option<String>,
) -> Set {
    Set { name, make, arguments, below, free }
}

/// One changed byte.
struct Change<'a> {
    dir: &'a TempDir,
    file: &'a str,
    place: usize,
    before: &'a [u8],
    after: &'a [u8],
}

static SETS: &[Set] = &[
    set(
        "Megatron root, manifests",
        |good| root(good, true),
        "{}/root --input-manifest {}/in/manifest.json",
        "root/",
        free_in_manifest,
    ),
    set("Megatron root, no manifest", |good| root(good, false), "{}/root", "root/", free_token),
    set("Parquet shards, manifest", Good::copy, "{}/in", "in/", |change| {
        match change.file.ends_with(".json") {
            true => free_in_shard_manifest(change),
            false => free_record(change),
        }
    }),
    set("Arrow stream, conversations", Good::copy, "{}/c.arrows", "c.arrows", free_record),
    set("Arrow stream, masked tokens", Good::copy, "{}/m.arrows", "m.arrows", free_record),
    set("folder of datasets, masked tokens", Good::copy, "{}/saved", "saved/data-", free_record),
    set("NDJSON, masked tokens", Good::copy, "{}/m.ndjson", "m.ndjson", free_record),
    set(
        "rows for trainers (TRL)",
        Good::copy,
        "{}/rows/trl.parquet",
        "rows/trl.parquet",
        free_in_rows,
    ),
    set(
        "rows for trainers (unpacked)",
        Good::copy,
        "{}/rows/plain.parquet",
        "rows/plain.parquet",
        free_in_rows,
    ),
    set(
        "rows for trainers (Megatron-Bridge)",
        Good::copy,
        "{}/rows/bridge.parquet",
        "rows/bridge.parquet",
        free_in_rows,
    ),
    set(
        "rows for trainers (padded)",
        Good::copy,
        "{}/rows/padded.parquet",
        "rows/padded.parquet",
        free_in_rows,
    ),
    set("pairs for trainers (DPO)", Good::copy, "{}/pairs/dpo.parquet", "pairs/dpo", free_in_rows),
    set(
        "pairs for trainers (reward)",
        Good::copy,
        "{}/pairs/reward.parquet",
        "pairs/reward",
        free_in_rows,
    ),
    set("pairs for trainers (KTO)", Good::copy, "{}/pairs/kto.parquet", "pairs/kto", free_in_rows),
    set("index of rows", Good::copy, "{}/rows/index.parquet", "rows/index.parquet", free_in_index),
    set("ids of sequences", |good| root(good, true), "{}/root", "root/ids/", free_record),
    set("Macroxue pack, manifest", Good::copy, "{}/pack", "pack/", free_in_pack),
    set(
        "Macroxue pack, no manifest",
        |good| without(good, "pack/manifest.json"),
        "{}/pack",
        "pack/",
        free_in_pack,
    ),
    set("puzzle set (sudoku), build.json", Good::copy, "{}/sudoku", "sudoku/", free_in_puzzles),
    set(
        "puzzle set (sudoku), no build.json",
        |good| without(good, "sudoku/build.json"),
        "{}/sudoku",
        "sudoku/",
        free_in_puzzles,
    ),
];

/// The sets without one of their files.
fn without(good: &Good, name: &str) -> TempDir {
    let dir = good.copy();
    fs::remove_file(dir.at(name)).unwrap();
    dir
}

/// A KD root of SYNTH where there is the data, else of our own conversations.
fn root(good: &Good, manifests: bool) -> TempDir {
    let dir = good.copy();
    // Without the data nothing is skipped.
    let there = std::env::var_os("GRISTMILL_DATA").is_some();
    if let Some(data) = there.then(|| data("synth_harmony")).flatten() {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/synth-kd.sh");
        dir.bash(&format!(
            "set -e; rm -r root in; cp {script} .; mkdir in
             cp {data}/manifest.json {data}/*.parquet in
             bash synth-kd.sh in root --valid-fraction 0.2 --max-rows 40",
            data = data.display()
        ))
        .ok();
    }
    if !manifests {
        fs::remove_file(dir.at("root/manifest.json")).unwrap();
        fs::remove_dir_all(dir.at("root/parts")).unwrap();
    }
    dir
}

/// What became of the changes of a set.
#[derive(Default)]
struct Tally {
    by_rule: usize,
    by_hash: usize,
    free: BTreeMap<String, usize>,
    missed: Vec<String>,
    checks: BTreeMap<String, usize>,
}

impl Tally {
    fn add(&mut self, other: Tally) {
        self.by_rule += other.by_rule;
        self.by_hash += other.by_hash;
        self.missed.extend(other.missed);
        for (sums, counts) in [(&mut self.free, other.free), (&mut self.checks, other.checks)] {
            for (name, count) in counts {
                *sums.entry(name).or_default() += count;
            }
        }
    }
}

/// One byte of one file becomes another: files alike, so that small ones get their share.
fn mutate(set: &Set, dir: &TempDir, random: &mut Random, tally: &mut Tally) {
    let files: Vec<String> =
        dir.files().into_iter().filter(|name| name.starts_with(set.below)).collect();
    let file = &files[random.below(files.len())];
    let before = dir.read(file);
    let place = random.below(before.len());
    let mut after = before.clone();
    match random.below(2) {
        0 => after[place] ^= 1 << random.below(8),
        _ => after[place] = after[place].wrapping_add(1 + random.below(255) as u8),
    }
    dir.write(file, &after);
    let arguments = set.arguments.replace("{}", &dir.at(""));
    let found = found(&arguments.split(' ').collect::<Vec<_>>());
    let ids = found.ids();
    if ids.iter().any(|id| !id.ends_with(".sha256")) {
        tally.by_rule += 1;
    } else if !ids.is_empty() {
        tally.by_hash += 1;
    } else {
        let change = Change { dir, file, place, before: &before, after: &after };
        match (set.free)(&change) {
            Some(why) => *tally.free.entry(why).or_default() += 1,
            None => tally.missed.push(format!(
                "{}: {file}, byte {place}: {:#04x} -> {:#04x}: {:?} -> {:?}",
                set.name,
                before[place],
                after[place],
                around(&before, place),
                around(&after, place)
            )),
        }
    }
    for id in ids {
        *tally.checks.entry(id).or_default() += 1;
    }
    dir.write(file, &before);
}

fn around(bytes: &[u8], place: usize) -> String {
    let range = place.saturating_sub(40)..(place + 20).min(bytes.len());
    bytes[range].escape_ascii().to_string()
}

#[test]
fn no_changed_byte_escapes() {
    let count = std::env::var("GRISTMILL_MUTATIONS").map_or(MUTATIONS, |n| n.parse().unwrap());
    let good = Good::new();
    write_saved(good.dir(), "saved", "m.arrows");
    let mut table = String::new();
    let mut missed = Vec::new();
    let mut left = FORMATS.to_vec();
    for set in SETS {
        let mut tally = Tally::default();
        let path = set.arguments.split(' ').next().unwrap().replace("{}", &good.dir().at(""));
        left.retain(|format| !(format.knows)(path.as_ref()).unwrap());
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS)
                .map(|thread| {
                    let dir = (set.make)(&good);
                    scope.spawn(move || {
                        let mut tally = Tally::default();
                        let mut random = Random(0x9e37_79b9_7f4a_7c15 + thread as u64);
                        for _ in 0..count / THREADS {
                            mutate(set, &dir, &mut random, &mut tally);
                        }
                        tally
                    })
                })
                .collect();
            threads.into_iter().for_each(|thread| tally.add(thread.join().unwrap()));
        });
        let share = |number: usize| {
            format!("{:.1} %", 100.0 * number as f64 / (count / THREADS * THREADS) as f64)
        };
        let free: usize = tally.free.values().sum();
        table += &format!(
            "| {} | {} | {} | {} | {} |\n",
            set.name,
            share(tally.by_rule),
            share(tally.by_hash),
            share(free),
            share(tally.missed.len())
        );
        for (why, number) in &tally.free {
            table += &format!("    free: {why}: {number}\n");
        }
        table += &format!("    checks: {:?}\n", tally.checks);
        missed.extend(tally.missed);
    }
    println!(
        "{count} changes of each\n\n| dataset | a rule | only a hash | free | missed |\n{table}"
    );
    let left: Vec<&str> = left.iter().map(|format| format.name).collect();
    assert!(left.is_empty(), "no set is of {left:?}");
    assert!(missed.is_empty(), "{} escaped:\n{}", missed.len(), missed.join("\n"));
}

/// A token of a text that became another one, in a text that encodes to just these tokens: a good
/// dataset of another text. Only a hash could show it.
fn free_token(change: &Change) -> Option<String> {
    if change.file.ends_with(".parquet") {
        return free_record(change);
    }
    let prefix = change.file.strip_suffix("_tokens.bin")?;
    let triple = Triple::read(change.dir, prefix);
    let (mut place, mut sequence) = (change.place / 4, 0);
    while place >= triple.tokens[sequence].len() {
        place -= triple.tokens[sequence].len();
        sequence += 1;
    }
    is_canonical(&triple.tokens[sequence], place).then(|| "another good text".to_string())
}

/// Whether the message around a token has a text that tiktoken encodes to the very tokens.
fn is_canonical(tokens: &[i32], place: usize) -> bool {
    let is_text = |id: &i32| (0..199_998).contains(id);
    if !is_text(&tokens[place]) {
        return false;
    }
    let start = tokens[..place].iter().rposition(|id| !is_text(id)).map_or(0, |at| at + 1);
    if start == 0 || tokens[start - 1] != MESSAGE {
        return false;
    }
    let length = tokens[start..].iter().position(|id| !is_text(id)).unwrap();
    let content: Vec<u32> = tokens[start..start + length].iter().map(|&id| id as u32).collect();
    let encoder = tiktoken_rs::o200k_base_singleton();
    encoder.decode(&content).is_ok_and(|text| encoder.encode_ordinary(&text) == content)
}

/// Where two JSON values differ, as `a.b.*`: numbers of items are stars. A member that is not there
/// is null; one that only `b` has is nobody's.
fn differing(a: &Value, b: &Value, path: &str, places: &mut Vec<String>) {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let of = |key: &str| b.get(key).unwrap_or(&Value::Null);
            a.iter().for_each(|(key, x)| differing(x, of(key), &format!("{path}.{key}"), places));
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).for_each(|(a, b)| differing(a, b, &format!("{path}.*"), places));
        }
        _ if a == b => {}
        _ => places.push(path.trim_start_matches('.').to_string()),
    }
}

fn json_places(change: &Change) -> Option<Vec<String>> {
    let mut places = Vec::new();
    let parse = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).ok();
    differing(&parse(change.before)?, &parse(change.after)?, "", &mut places);
    Some(places)
}

/// Where and when it was made, by which build, of how much: a manifest is the only one to say.
fn free_in_manifest(change: &Change) -> Option<String> {
    let members = [
        "git_sha",
        "run",
        "renderer",
        "limits",
        "made",
        "input.dataset_dir",
        "input.manifest_path",
        "input.glob",
        "source.limits",
        "source.manifest.path",
    ];
    free_json(change, &members)
}

fn free_in_shard_manifest(change: &Change) -> Option<String> {
    // A shard is known by its file's name.
    let names = |bytes: &[u8]| -> Option<Vec<String>> {
        let manifest: Value = serde_json::from_slice(bytes).ok()?;
        let path = |shard: &Value| Some(shard["path"].as_str()?.rsplit('/').next()?.to_string());
        manifest["storage"]["shards"].as_array()?.iter().map(path).collect()
    };
    let same = names(change.before)? == names(change.after)?;
    same.then(|| free_json(change, &["storage.shards.*.path"])).flatten()
}

/// Members of a manifest that say how a dataset was made, without effect on its content.
fn free_json(change: &Change, members: &[&str]) -> Option<String> {
    let places = json_places(change)?;
    if places.is_empty() {
        return Some("the same JSON".to_string());
    }
    let member = |place: &String| {
        let named = members.iter().find(|member| {
            place
                .strip_prefix(**member)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        });
        named.map(|member| format!("manifest: {member}"))
    };
    places.iter().map(member).collect::<Option<Vec<_>>>()?.pop()
}

/// A conversation with its messages as JSON values.
fn parsed_messages(mut record: Value) -> Value {
    if let Some(Value::String(text)) = record.get("messages_json")
        && let Ok(mut value) = serde_json::from_str::<Value>(text)
    {
        record["messages"] = value["messages"].take();
        record.as_object_mut().unwrap().remove("messages_json");
    }
    record
}

/// Records that are the same to every reader, or good records of another content.
fn free_record(change: &Change) -> Option<String> {
    let records = |bytes: &[u8]| -> Option<Vec<Value>> {
        change.dir.write("looked-at", bytes);
        let run = tool("ds-cat").args(&[&change.dir.at("looked-at"), "--to", "ndjson"]).run();
        (run.code() == Some(0)).then(|| run.records().into_iter().map(parsed_messages).collect())
    };
    let (before, after) = (records(change.before)?, records(change.after)?);
    if before == after {
        return Some("no record changes".to_string());
    }
    if before.len() != after.len() {
        return None;
    }
    let mut why = Some("no record changes");
    for (a, b) in before.iter().zip(&after).filter(|(a, b)| a != b) {
        let mut places = Vec::new();
        differing(a, b, "", &mut places);
        for place in places {
            why = Some(match place.as_str() {
                "id" | "synth_id" => "another id",
                "input" | "row" => "another place",
                "messages" | "messages.*.content" => "another good text",
                // The masks that are made of them are there, and right.
                "segments" if b["segments"].is_null() && a["loss_mask"].is_array() => "no segments",
                "tokens.*" => {
                    let tokens: Vec<i32> = serde_json::from_value(b["tokens"].clone()).unwrap();
                    let old: Vec<i32> = serde_json::from_value(a["tokens"].clone()).unwrap();
                    let at = tokens.iter().zip(&old).position(|(a, b)| a != b).unwrap();
                    if !is_canonical(&tokens, at) {
                        return None;
                    }
                    "another good text"
                }
                _ => {
                    eprintln!("{place} differs in {}", change.file);
                    return None;
                }
            });
        }
    }
    why.map(str::to_string)
}

/// Rows that are the same sequences to every reader: how they were made; or sequences with other ids.
fn free_in_rows(change: &Change) -> Option<String> {
    let records = |bytes: &[u8]| {
        let path = change.dir.write("looked-at.parquet", bytes);
        let run = tool("ds-cat").args(&[&path, "--to", "ndjson"]).run();
        (run.code() == Some(0)).then(|| run.records())
    };
    let (before, after) = (records(change.before)?, records(change.after)?);
    if before == after {
        return Some("no record changes".to_string());
    }
    let mut places = Vec::new();
    differing(&Value::from(before), &Value::from(after), "", &mut places);
    places.iter().all(|place| place == "*.id").then(|| "another id".to_string())
}

/// The same pieces, and the same said of them but for how they were made; and no change of the header of a
/// page, whose types pyarrow reads as well.
fn free_in_index(change: &Change) -> Option<String> {
    let opened = |bytes: &[u8]| {
        let bytes = bytes::Bytes::copy_from_slice(bytes);
        let file = ParquetRecordBatchReaderBuilder::try_new(bytes).ok()?;
        let footer = file.metadata().clone();
        let batches: Vec<_> = file.build().ok()?.collect::<Result<_, _>>().ok()?;
        let pairs = footer.file_metadata().key_value_metadata()?;
        let told = pairs.iter().find(|pair| pair.key == "gristmill.rows")?.value.clone()?;
        let told: Value = serde_json::from_str(&told).ok()?;
        let values: Vec<_> = batches.iter().flat_map(|batch| batch.columns().to_vec()).collect();
        Some((values, told, footer))
    };
    let ((before, told, footer), (after, now, _)) = (opened(change.before)?, opened(change.after)?);
    let chunks = footer.row_groups().iter().flat_map(|group| group.columns());
    let mut starts = chunks.map(|chunk| chunk.data_page_offset() as usize);
    // The encodings of levels, which these columns do not have, are at 12 and 14.
    let header = 17;
    let is_of_page = |start: usize| {
        (start..start + header).contains(&change.place)
            && ![12, 14].contains(&(change.place - start))
    };
    let mut places = Vec::new();
    differing(&told, &now, "", &mut places);
    let is_said =
        |place: &String| place.starts_with("provenance") || place.starts_with("parameters");
    let is_free = before == after && !starts.any(is_of_page) && places.iter().all(is_said);
    is_free.then(|| "the same pieces".to_string())
}

/// How a pack was made; values of moves, which nobody can verify; names without effect.
fn free_in_pack(change: &Change) -> Option<String> {
    match change.file.strip_prefix("pack/")? {
        "manifest.json" => free_json(change, &["git_sha", "run", "provenance"]),
        "metadata.db" => {
            let rows = |bytes: &[u8], table: &str| -> Option<Vec<Vec<rusqlite::types::Value>>> {
                let path = change.dir.write("looked-at.db", bytes);
                let database = rusqlite::Connection::open(path).ok()?;
                let mut all = database.prepare(&format!("SELECT * FROM {table}")).ok()?;
                let columns = all.column_count();
                let row = |row: &rusqlite::Row<'_>| (0..columns).map(|at| row.get(at)).collect();
                all.query_map([], row).ok()?.collect::<Result<_, _>>().ok()
            };
            let same =
                |table: &str| Some(rows(change.before, table)? == rows(change.after, table)?);
            match (same("runs")?, same("session")?) {
                (true, true) => Some("metadata.db: no row changes".to_string()),
                (true, false) => Some("metadata.db: what is said of a run beside".to_string()),
                (false, _) => None,
            }
        }
        "valuation_types.json" => free_json(change, &[]),
        shard if shard.ends_with(".npy") => {
            let (header, row) = (384, 48);
            if change.place < header {
                return free_in_header(change);
            }
            match (change.place - header) % row {
                23 if change.after[change.place] < 3 => Some("another valuation".to_string()),
                26 | 27 => Some("padding between fields".to_string()),
                32.. => Some("another value of a move".to_string()),
                _ => None,
            }
        }
        _ => None,
    }
}

/// One clue more or less, in agreement with the answer.
fn free_in_puzzles(change: &Change) -> Option<String> {
    let name = change.file.strip_prefix("sudoku/")?;
    if name == "build.json" {
        // The name of a domain may be anybody's.
        return free_json(change, &["domain", "seed", "parameters", "inputs", "run"]);
    }
    if name == "identifiers.json" || name.ends_with("dataset.json") {
        return free_json(change, &[]);
    }
    if change.place < 128 {
        return free_in_header(change);
    }
    let cell = change.place / 4 * 4;
    let at = |bytes: &[u8]| i32::from_le_bytes(bytes[cell..cell + 4].try_into().unwrap());
    let answers = change.dir.read(&change.file.replace("inputs", "labels"));
    let (clue, answer) = (at(change.after), at(&answers));
    let is_clue = name.ends_with("inputs.npy") && (clue == 1 || clue == answer);
    is_clue.then(|| "another good puzzle".to_string())
}

/// The header of an array, written otherwise: other spaces, this machine's byte order, a byte order
/// for single bytes.
fn free_in_header(change: &Change) -> Option<String> {
    let (before, after) = (change.before[change.place], change.after[change.place]);
    let same = before == b' ' && after.is_ascii_whitespace()
        || matches!((before, after), (b'<', b'=') | (b'|', b'<' | b'>' | b'='));
    same.then(|| "the same header".to_string())
}
