//! One defect for each check of Megatron datasets and streams: how it changes the good sets, and
//! the arguments of ds-check for it.

use std::fs;
use std::sync::Arc;

use arrow_array::{Int32Array, RecordBatch};
use arrow_ipc::writer::StreamWriter;
use serde_json::json;

use super::edit::*;
use super::games::POOLS;
use super::puzzles::{DOMAINS, PUZZLES_AND_SETS};
use super::rows::ROWS;
use super::shards;
use crate::common::{TempDir, bash, conversation, conversations};

/// The check that finds it; other checks that must find it too; and the defect.
pub struct Defect {
    pub id: &'static str,
    pub also: &'static [&'static str],
    pub make: fn(&TempDir) -> Vec<String>,
}

pub const fn defect(id: &'static str, make: fn(&TempDir) -> Vec<String>) -> Defect {
    Defect { id, also: &[], make }
}

impl Defect {
    pub const fn also(mut self, also: &'static [&'static str]) -> Defect {
        self.also = also;
        self
    }
}

pub static DEFECTS: &[&[Defect]] = &[
    FRAMES,
    SEQUENCES,
    IDS,
    MANIFESTS,
    ROOTS,
    SHARDS,
    STREAMS,
    POOLS,
    PUZZLES_AND_SETS,
    DOMAINS,
    ROWS,
];

pub fn path(dir: &TempDir, name: &str) -> Vec<String> {
    vec![dir.at(name)]
}

/// The triple without manifests.
fn kd(dir: &TempDir) -> Vec<String> {
    path(dir, "kd/p")
}

const MEMBERS: [(&str, (u8, i64)); 3] = [("tokens", INT32), ("lossmask", UINT8), ("span", UINT8)];

/// Writes the indices of all three members anew.
fn reindex(dir: &TempDir, change: impl Fn(&mut Vec<i32>, &mut Vec<i64>)) {
    for (member, dtype) in MEMBERS {
        let name = format!("kd/p_{member}.idx");
        let mut lengths = lengths(&dir.read(&name));
        let mut documents: Vec<i64> = (0..=lengths.len() as i64).collect();
        change(&mut lengths, &mut documents);
        dir.write(&name, index(dtype, &lengths, &documents));
    }
}

const FRAMES: &[Defect] = &[
    defect("kd.triple.missing", |dir| {
        fs::remove_file(dir.at("kd/p_span.bin")).unwrap();
        kd(dir)
    }),
    defect("kd.idx.magic", |dir| {
        patch(dir, "kd/p_span.idx", 0, b"N");
        kd(dir)
    }),
    defect("kd.idx.version", |dir| {
        patch(dir, "kd/p_tokens.idx", 9, &[2]);
        kd(dir)
    }),
    defect("kd.idx.dtype", |dir| {
        patch(dir, "kd/p_lossmask.idx", 17, &[99]);
        kd(dir)
    }),
    defect("kd.idx.length", |dir| {
        edit(dir, "kd/p_tokens.idx", |idx| idx.truncate(idx.len() - 8));
        kd(dir)
    }),
    defect("kd.idx.empty", |dir| {
        fs::remove_file(dir.at("kd/p_ids.parquet")).unwrap();
        MEMBERS.iter().for_each(|(member, _)| edit(dir, &format!("kd/p_{member}.bin"), Vec::clear));
        reindex(dir, |lengths, documents| {
            lengths.clear();
            documents.truncate(1);
        });
        kd(dir)
    }),
    defect("kd.idx.modes", |dir| {
        edit(dir, "kd/p_tokens.idx", |idx| idx.extend(vec![0; number(idx, 18) as usize]));
        kd(dir)
    }),
    defect("kd.idx.sequence_length", |dir| {
        reindex(dir, |lengths, documents| {
            lengths.push(0);
            documents.push(lengths.len() as i64);
        });
        kd(dir)
    }),
    defect("kd.idx.pointer", |dir| {
        edit(dir, "kd/p_span.idx", |idx| {
            let pointers = HEADER + 4 * number(idx, 18) as usize;
            let (second, third) = (pointers + 8, pointers + 16);
            let moved = idx[second..third].to_vec();
            idx.copy_within(third..third + 8, second);
            idx[third..third + 8].copy_from_slice(&moved);
        });
        kd(dir)
    }),
    defect("kd.idx.documents", |dir| {
        reindex(dir, |_, documents| documents[0] = 1);
        kd(dir)
    }),
    defect("kd.bin.length", |dir| {
        edit(dir, "kd/p_tokens.bin", |bin| bin.extend([0; 4]));
        kd(dir)
    }),
    defect("kd.triple.dtype", |dir| {
        let lengths = lengths(&dir.read("kd/p_lossmask.idx"));
        let documents: Vec<i64> = (0..=lengths.len() as i64).collect();
        dir.write("kd/p_lossmask.idx", index(INT32, &lengths, &documents));
        edit(dir, "kd/p_lossmask.bin", |bin| {
            *bin = bin.iter().flat_map(|&value| [value, 0, 0, 0]).collect();
        });
        kd(dir)
    }),
    defect("kd.triple.count", |dir| {
        let mut lengths = lengths(&dir.read("kd/p_span.idx"));
        let lost = lengths.pop().unwrap() as usize;
        let documents: Vec<i64> = (0..=lengths.len() as i64).collect();
        dir.write("kd/p_span.idx", index(UINT8, &lengths, &documents));
        edit(dir, "kd/p_span.bin", |bin| bin.truncate(bin.len() - lost));
        kd(dir)
    }),
    defect("kd.triple.lengths", |dir| {
        let mut lengths = lengths(&dir.read("kd/p_span.idx"));
        lengths[0] -= 1;
        lengths[1] += 1;
        let documents: Vec<i64> = (0..=lengths.len() as i64).collect();
        dir.write("kd/p_span.idx", index(UINT8, &lengths, &documents));
        kd(dir)
    }),
    defect("kd.triple.documents", |dir| {
        let lengths = lengths(&dir.read("kd/p_tokens.idx"));
        let documents = [0, lengths.len() as i64];
        dir.write("kd/p_tokens.idx", index(INT32, &lengths, &documents));
        kd(dir)
    }),
];

/// Puts a token into the content of the user's message of sequence 3.
fn token(dir: &TempDir, id: i32) -> Vec<String> {
    Triple::change(dir, "kd/p", |triple| {
        let place = triple.content(3, 1);
        triple.tokens[3][place + 1] = id;
    });
    kd(dir)
}

/// Changes the masks of all sequences: mask, then span ids.
fn masks(dir: &TempDir, change: fn(&mut Vec<u8>, &mut Vec<u8>)) -> Vec<String> {
    Triple::change(dir, "kd/p", |triple| {
        triple.mask.iter_mut().zip(&mut triple.span).for_each(|(mask, span)| change(mask, span));
    });
    kd(dir)
}

const SEQUENCES: &[Defect] = &[
    defect("kd.token.range", |dir| token(dir, 201_088)),
    defect("kd.token.reserved", |dir| token(dir, 200_500)),
    defect("kd.eod.missing", |dir| {
        Triple::change(dir, "kd/p", |triple| *triple.tokens[3].last_mut().unwrap() = 64);
        kd(dir)
    }),
    defect("kd.eod.middle", |dir| token(dir, 199_999)),
    defect("kd.harmony.structure", |dir| token(dir, MESSAGE)),
    // A byte that cannot begin a character.
    defect("kd.token.text", |dir| token(dir, 94)),
    defect("kd.harmony.return", |dir| {
        Triple::change(dir, "kd/p", |triple| {
            let tokens = &mut triple.tokens[3];
            *tokens.iter_mut().find(|id| **id == RETURN).unwrap() = END;
        });
        kd(dir)
    }),
    defect("kd.harmony.policy", |dir| {
        let mut line = conversation(1);
        line["messages"][2]["channel"] = json!("commentary");
        dir.write("line", line.to_string() + "\n");
        bash(&format!(
            "cd {} && harmony-tok --policy chat line | span-mask | mmidx-write --prefix chat/p",
            dir.path().display()
        ))
        .ok();
        edit_json(dir, "chat/p.part.json", |part| part["source"]["policy"] = json!("synth-kd-v1"));
        path(dir, "chat/p")
    }),
    defect("kd.token.canonical", |dir| {
        Triple::change(dir, "kd/p", |triple| {
            // "a" and "a", which are one token when side by side.
            let place = triple.content(3, 1);
            triple.tokens[3][place + 1..place + 3].fill(64);
        });
        kd(dir)
    }),
    defect("kd.mask.unshifted", |dir| {
        masks(dir, |mask, span| {
            mask.rotate_right(1);
            span.rotate_right(1);
        })
    }),
    defect("kd.mask.double_shift", |dir| {
        masks(dir, |mask, span| {
            mask.rotate_left(1);
            span.rotate_left(1);
        })
    }),
    defect("kd.mask.swapped", |dir| masks(dir, std::mem::swap)),
    defect("kd.mask.value", |dir| {
        masks(dir, |mask, _| mask.iter_mut().for_each(|value| *value *= 255))
    }),
    defect("kd.span.value", |dir| {
        masks(dir, |_, span| span.iter_mut().filter(|id| **id == 2).for_each(|id| *id = 3))
    }),
    defect("kd.mask.last", |dir| {
        masks(dir, |mask, span| {
            *mask.last_mut().unwrap() = 1;
            *span.last_mut().unwrap() = 2;
        })
    }),
    defect("kd.mask.span", |dir| masks(dir, |mask, _| mask[0] = 1)),
    defect("kd.mask.derived", |dir| {
        masks(dir, |mask, span| {
            mask[0] = 1;
            span[0] = 1;
        })
    }),
    defect("kd.mask.unsupervised", |dir| {
        Triple::change(dir, "kd/p", |triple| {
            triple.mask[3].fill(0);
            triple.span[3].fill(0);
        });
        kd(dir)
    })
    .also(&["kd.mask.derived"]),
];

const ROOT: &str = "root/manifest.json";
const PART: &str = "root/parts/shard_00.json";

fn root(dir: &TempDir) -> Vec<String> {
    path(dir, "root")
}

/// Changes what the root's and the part's manifest state for the train split of shard_00.
fn claims(dir: &TempDir, change: fn(&mut serde_json::Value)) -> Vec<String> {
    edit_json(dir, ROOT, |root| change(&mut root["splits"]["train"]["shards"][0]));
    edit_json(dir, PART, |part| change(&mut part["splits"]["train"]));
    root(dir)
}

const MANIFESTS: &[Defect] = &[
    defect("kd.manifest.form", |dir| {
        edit(dir, "part/p.part.json", |text| text.truncate(text.len() / 2));
        path(dir, "part/p")
    }),
    defect("kd.manifest.foreign", |dir| {
        bash(&format!("cd {}; mkdir -p r/train; mv kd/p_* r/train", dir.path().display())).ok();
        dir.write("r/manifest.json", "{\"made_by\": \"another program\"}");
        path(dir, "r")
    }),
    defect("kd.manifest.file", |dir| {
        // The whole split: of a triple's file it would be kd.triple.missing too.
        fs::remove_dir_all(dir.at("root/valid")).unwrap();
        fs::remove_dir_all(dir.at("root/ids/valid")).unwrap();
        root(dir)
    }),
    defect("kd.manifest.bytes", |dir| {
        claims(dir, |shard| shard["bytes"]["span_bin"] = json!(1));
        root(dir)
    }),
    defect("kd.manifest.sha256", |dir| {
        claims(dir, |shard| shard["sha256"]["tokens_idx"] = shard["sha256"]["span_idx"].clone());
        root(dir)
    }),
    defect("kd.manifest.counts", |dir| {
        edit_json(dir, "part/p.part.json", |part| part["splits"]["all"]["rows"] = json!(39));
        path(dir, "part/p")
    }),
    defect("kd.manifest.surplus", |dir| {
        fs::write(dir.at("more"), conversation(99).to_string() + "\n").unwrap();
        bash(&format!(
            "cd {} && harmony-tok more | span-mask | mmidx-write --prefix root/train/shard_07 &&
             rm root/train/shard_07.part.json",
            dir.path().display()
        ))
        .ok();
        root(dir)
    }),
    defect("kd.manifest.config", |dir| {
        let hash = "0".repeat(64);
        for name in [ROOT, PART, "root/parts/shard_01.json"] {
            edit_json(dir, name, |manifest| manifest["config_hash"] = json!(hash));
        }
        root(dir)
    }),
    defect("kd.manifest.parts", |dir| {
        // (What a part has read is compared with the rows of its inputs, too.)
        edit_json(dir, "root/manifest.json", |manifest| {
            manifest["records"]["read"] = json!(46);
            manifest["records"]["rejected"] = json!(1);
        });
        root(dir)
    }),
    defect("kd.manifest.input", |dir| {
        let other = dir.write("other.json", "{}");
        vec![dir.at("root"), "--input-manifest".to_string(), other]
    }),
];

/// Writes a triple of these conversations.
fn triple(dir: &TempDir, prefix: &str, numbers: &[usize]) {
    let lines: String = numbers.iter().map(|&n| conversation(n).to_string() + "\n").collect();
    dir.write("lines", lines);
    bash(&format!(
        "cd {} && harmony-tok lines | span-mask | mmidx-write --prefix {prefix} --no-ids &&
         rm {prefix}.part.json",
        dir.path().display()
    ))
    .ok();
}

/// Writes a root without manifest.json from `m.arrows`.
fn rows_in_root(dir: &TempDir, root: &str, fraction: &str) {
    let arguments = format!("--root {root} --shard s --valid-fraction {fraction}");
    bash(&format!("cd {} && mmidx-write m.arrows {arguments}", dir.path().display())).ok();
}

const IDS: &[Defect] = &[
    defect("kd.ids.form", |dir| {
        edit(dir, "kd/p_ids.parquet", |file| file.truncate(file.len() - 8));
        kd(dir)
    }),
    defect("kd.ids.rows", |dir| {
        bash(&format!(
            "cd {} && head -3 m.ndjson | mmidx-write --prefix few/p && cp few/p_ids.parquet kd",
            dir.path().display()
        ))
        .ok();
        kd(dir)
    }),
    defect("kd.ids.rows", |dir| {
        bash(&format!(
            "cd {} && (tail -1 m.ndjson; head -39 m.ndjson) | mmidx-write --prefix turned/p &&
             cp turned/p_ids.parquet kd",
            dir.path().display()
        ))
        .ok();
        kd(dir)
    }),
    defect("kd.ids.split", |dir| {
        rows_in_root(dir, "a", "0.3");
        rows_in_root(dir, "b", "0.2");
        let other = dir.json("b/parts/s.json");
        edit_json(dir, "a/parts/s.json", |part| {
            part["config"] = other["config"].clone();
            part["config_hash"] = other["config_hash"].clone();
        });
        path(dir, "a")
    }),
    defect("kd.ids.repeated", |dir| {
        bash(&format!(
            "cd {} && sed '2s/\"id-1\"/\"id-0\"/' m.ndjson | mmidx-write --prefix twice/p",
            dir.path().display()
        ))
        .ok();
        path(dir, "twice/p")
    }),
    defect("kd.ids.surplus", |dir| {
        dir.write("root/ids/train/shard_09.parquet", dir.read("root/ids/train/shard_00.parquet"));
        root(dir)
    }),
];

/// Writes the index cache of a triple of so many documents, as Megatron does, from a day ago.
fn cache(dir: &TempDir, documents: i32) -> Vec<String> {
    triple(dir, "cached/p", &[1, 2, 3]);
    let dict = format!("{{'descr': '<i4', 'fortran_order': False, 'shape': ({documents},), }}");
    let mut npy = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    npy.extend(format!("{dict:<117}\n").into_bytes());
    npy.extend((0..documents).rev().flat_map(i32::to_le_bytes));
    let key = "cached/p_tokens/cache/SynthKDDataset_indices/0123456789abcdef0123456789abcdef-SynthKDDataset-train-";
    dir.write(&format!("{key}description.txt"), r#"{"dataset_path": "p_tokens", "split": null}"#);
    let file = dir.write(&format!("{key}document_index.npy"), npy);
    let day = std::time::Duration::from_secs(86_400);
    let time = fs::metadata(dir.at("cached/p_tokens.idx")).unwrap().modified().unwrap() - day;
    fs::File::options().append(true).open(file).unwrap().set_modified(time).unwrap();
    path(dir, "cached")
}

const ROOTS: &[Defect] = &[
    defect("kd.root.unsupervised", |dir| {
        masks(dir, |mask, span| {
            mask.fill(0);
            span.fill(0);
        })
    })
    .also(&["kd.mask.derived", "kd.mask.unsupervised"]),
    defect("kd.tokenizer.other", |dir| {
        dir.write("root/tokenizer/tokenizer.json", "{}");
        root(dir)
    }),
    defect("kd.cache.documents", |dir| cache(dir, 5)),
    defect("kd.cache.documents", |dir| cache(dir, 2)),
    defect("kd.cache.older", |dir| cache(dir, 3)),
    defect("kd.root.stray", |dir| {
        triple(dir, "bare/train/p", &[1, 2, 3]);
        triple(dir, "bare/p", &[4, 5]);
        vec![dir.at("bare")]
    }),
    defect("kd.root.overlap", |dir| {
        triple(dir, "bare/train/p", &[1, 2, 3]);
        triple(dir, "bare/valid/p", &[4, 2]);
        path(dir, "bare")
    }),
    defect("kd.root.repeated", |dir| {
        triple(dir, "twice/p", &[1, 2, 1]);
        path(dir, "twice")
    }),
    defect("kd.root.fraction", |dir| {
        triple(dir, "bare/train/p", &[1, 2, 3]);
        triple(dir, "bare/valid/p", &(4..30).collect::<Vec<_>>());
        path(dir, "bare")
    }),
    defect("kd.root.manifest", |dir| {
        fs::remove_file(dir.at("root/manifest.json")).unwrap();
        vec![dir.at("root"), "--strict".to_string()]
    }),
    defect("kd.root.temporary", |dir| {
        dir.write("root/train/.shard_00_span.bin.gristmill-tmp.host.1.0123456789abcdef", "");
        root(dir)
    }),
];

const SHARDS: &[Defect] = &[
    defect("shards.manifest.missing", |dir| {
        fs::remove_file(dir.at("in/manifest.json")).unwrap();
        path(dir, "in")
    }),
    defect("shards.manifest.form", |dir| {
        edit(dir, "in/manifest.json", |text| text.truncate(40));
        path(dir, "in")
    }),
    defect("shards.manifest.file", |dir| {
        fs::remove_file(dir.at("in/synth_harmony_shard_01.parquet")).unwrap();
        path(dir, "in")
    }),
    defect("shards.manifest.surplus", |dir| {
        shards(dir, "other", &[vec![98, 99]]);
        let from = dir.at("other/synth_harmony_shard_00.parquet");
        fs::rename(from, dir.at("in/synth_harmony_shard_02.parquet")).unwrap();
        path(dir, "in")
    }),
    defect("shards.manifest.sha256", |dir| {
        edit_json(dir, "in/manifest.json", |manifest| {
            manifest["storage"]["shards"][0]["sha256"] = json!("0");
        });
        path(dir, "in")
    }),
    defect("shards.manifest.counts", |dir| {
        edit_json(dir, "in/manifest.json", |manifest| {
            manifest["storage"]["shards"][1]["rows"] = json!(6);
            manifest["storage"]["total_rows"] = json!(46);
        });
        path(dir, "in")
    }),
];

const STREAMS: &[Defect] = &[
    defect("stream.end", |dir| {
        edit(dir, "m.arrows", |stream| stream.truncate(stream.len() - 8));
        path(dir, "m.arrows")
    }),
    defect("stream.form", |dir| {
        edit(dir, "c.parquet", |file| file.truncate(file.len() - 8));
        path(dir, "c.parquet")
    }),
    defect("stream.record", |dir| {
        edit_line(dir, "t.ndjson", 3, |line| line["tokens"] = json!("none"));
        path(dir, "t.ndjson")
    }),
    defect("stream.type", |dir| {
        let column = Arc::new(Int32Array::from(vec![1, 2]));
        let batch = RecordBatch::try_from_iter([("number", column as _)]).unwrap();
        let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
        writer.write(&batch).unwrap();
        dir.write("other.arrows", writer.into_inner().unwrap());
        path(dir, "other.arrows")
    }),
    defect("stream.rejected", |dir| {
        dir.write("lines", conversations(2) + "{}\n");
        bash(&format!(
            "cd {} && harmony-tok lines --on-error skip -q --to arrow > some.arrows",
            dir.path().display()
        ))
        .ok();
        path(dir, "some.arrows")
    }),
    defect("stream.id.repeated", |dir| {
        edit_line(dir, "c.ndjson", 5, |line| line["id"] = json!("id-1"));
        path(dir, "c.ndjson")
    }),
    defect("stream.conversation.id", |dir| {
        edit_line(dir, "c.ndjson", 5, |line| line["id"] = json!(null));
        path(dir, "c.ndjson")
    }),
    defect("stream.conversation.messages", |dir| {
        edit_line(dir, "c.ndjson", 5, |line| line["messages"] = json!(null));
        path(dir, "c.ndjson")
    }),
    defect("stream.conversation.refused", |dir| {
        edit_line(dir, "c.ndjson", 5, |line| line["messages"][1]["role"] = json!("tool"));
        path(dir, "c.ndjson")
    }),
    defect("stream.tokens.null", |dir| {
        edit_line(dir, "m.ndjson", 5, |line| line["span_id"] = json!(null));
        path(dir, "m.ndjson")
    }),
    defect("stream.tokens.lengths", |dir| {
        edit_line(dir, "m.ndjson", 5, |line| {
            line["span_id"].as_array_mut().unwrap().push(json!(0));
        });
        path(dir, "m.ndjson")
    }),
    defect("stream.tokens.alignment", |dir| {
        bash(&format!(
            "cd {} && span-mask t.arrows --align token --to arrow > own.arrows",
            dir.path().display()
        ))
        .ok();
        path(dir, "own.arrows")
    }),
    defect("stream.tokens.segments", |dir| {
        edit_line(dir, "t.ndjson", 5, |line| line["segments"][0]["role"] = json!("user"));
        path(dir, "t.ndjson")
    }),
];
