//! One defect for each check of Megatron datasets and streams: how it changes the good sets, and
//! the arguments of ds-check for it.

use std::fs;
use std::sync::Arc;

use arrow_array::{Int32Array, RecordBatch};
use arrow_ipc::writer::StreamWriter;
use serde_json::json;

use super::edit::*;
use super::foreign::FOREIGN;
use super::games::POOLS;
use super::pairs::PAIRS;
use super::puzzles::{DOMAINS, PUZZLES_AND_SETS};
use super::rows::ROWS;
use super::shards;
use crate::common::{TempDir, conversation, conversations};

/// A defect, and the check that finds it.
pub struct Defect {
    pub id: &'static str,
    /// Other checks that must find it, too.
    pub also: &'static [&'static str],
    /// Arguments of ds-check: flags, and names of files in the directory.
    arguments: &'static str,
    change: fn(&TempDir),
    /// What makes sizes and hashes in the manifest of the set correct again.
    mend: Option<fn(&TempDir, &str)>,
}

pub const fn defect(id: &'static str, arguments: &'static str, change: fn(&TempDir)) -> Defect {
    Defect { id, also: &[], arguments, change, mend: None }
}

impl Defect {
    pub const fn mended(mut self, mend: fn(&TempDir, &str)) -> Defect {
        self.mend = Some(mend);
        self
    }

    /// Makes it, and gives the arguments of ds-check.
    pub fn make(&self, dir: &TempDir) -> Vec<String> {
        (self.change)(dir);
        if let Some(mend) = self.mend {
            mend(dir, self.arguments);
        }
        let of = |word: &str| if word.starts_with('-') { word.to_string() } else { dir.at(word) };
        self.arguments.split(' ').map(of).collect()
    }

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
    PAIRS,
    FOREIGN,
];

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
    defect("kd.triple.missing", "kd/p", |dir| fs::remove_file(dir.at("kd/p_span.bin")).unwrap()),
    defect("kd.idx.magic", "kd/p", |dir| patch(dir, "kd/p_span.idx", 0, b"N")),
    defect("kd.idx.version", "kd/p", |dir| patch(dir, "kd/p_tokens.idx", 9, &[2])),
    defect("kd.idx.dtype", "kd/p", |dir| patch(dir, "kd/p_lossmask.idx", 17, &[99])),
    defect("kd.idx.length", "kd/p", |dir| {
        edit(dir, "kd/p_tokens.idx", |idx| idx.truncate(idx.len() - 8))
    }),
    defect("kd.idx.empty", "kd/p", |dir| {
        fs::remove_file(dir.at("kd/p_ids.parquet")).unwrap();
        MEMBERS.iter().for_each(|(member, _)| edit(dir, &format!("kd/p_{member}.bin"), Vec::clear));
        reindex(dir, |lengths, documents| {
            lengths.clear();
            documents.truncate(1);
        });
    }),
    defect("kd.idx.modes", "kd/p", |dir| {
        edit(dir, "kd/p_tokens.idx", |idx| idx.extend(vec![0; number(idx, 18) as usize]))
    }),
    defect("kd.idx.sequence_length", "kd/p", |dir| {
        reindex(dir, |lengths, documents| {
            lengths.push(0);
            documents.push(lengths.len() as i64);
        })
    }),
    defect("kd.idx.pointer", "kd/p", |dir| {
        edit(dir, "kd/p_span.idx", |idx| {
            let pointers = HEADER + 4 * number(idx, 18) as usize;
            let (second, third) = (pointers + 8, pointers + 16);
            let moved = idx[second..third].to_vec();
            idx.copy_within(third..third + 8, second);
            idx[third..third + 8].copy_from_slice(&moved);
        })
    }),
    defect("kd.idx.documents", "kd/p", |dir| reindex(dir, |_, documents| documents[0] = 1)),
    defect("kd.bin.length", "kd/p", |dir| edit(dir, "kd/p_tokens.bin", |bin| bin.extend([0; 4]))),
    defect("kd.triple.dtype", "kd/p", |dir| {
        let lengths = lengths(&dir.read("kd/p_lossmask.idx"));
        let documents: Vec<i64> = (0..=lengths.len() as i64).collect();
        dir.write("kd/p_lossmask.idx", index(INT32, &lengths, &documents));
        edit(dir, "kd/p_lossmask.bin", |bin| {
            *bin = bin.iter().flat_map(|&value| [value, 0, 0, 0]).collect();
        });
    }),
    defect("kd.triple.count", "kd/p", |dir| {
        let mut lengths = lengths(&dir.read("kd/p_span.idx"));
        let lost = lengths.pop().unwrap() as usize;
        let documents: Vec<i64> = (0..=lengths.len() as i64).collect();
        dir.write("kd/p_span.idx", index(UINT8, &lengths, &documents));
        edit(dir, "kd/p_span.bin", |bin| bin.truncate(bin.len() - lost));
    }),
    defect("kd.triple.lengths", "kd/p", |dir| {
        let mut lengths = lengths(&dir.read("kd/p_span.idx"));
        lengths[0] -= 1;
        lengths[1] += 1;
        let documents: Vec<i64> = (0..=lengths.len() as i64).collect();
        dir.write("kd/p_span.idx", index(UINT8, &lengths, &documents));
    }),
    defect("kd.triple.documents", "kd/p", |dir| {
        let lengths = lengths(&dir.read("kd/p_tokens.idx"));
        let documents = [0, lengths.len() as i64];
        dir.write("kd/p_tokens.idx", index(INT32, &lengths, &documents));
    }),
];

/// Puts a token into the content of the user's message of sequence 3.
fn token(dir: &TempDir, id: i32) {
    Triple::change(dir, "kd/p", |triple| {
        let place = triple.content(3, 1);
        triple.tokens[3][place + 1] = id;
    });
}

/// Changes the masks of all sequences: mask, then span ids.
fn masks(dir: &TempDir, change: fn(&mut Vec<u8>, &mut Vec<u8>)) {
    Triple::change(dir, "kd/p", |triple| {
        triple.mask.iter_mut().zip(&mut triple.span).for_each(|(mask, span)| change(mask, span));
    });
}

const SEQUENCES: &[Defect] = &[
    defect("kd.token.range", "kd/p", |dir| token(dir, 201_088)),
    defect("kd.token.reserved", "kd/p", |dir| token(dir, 200_500)),
    defect("kd.eod.missing", "kd/p", |dir| {
        Triple::change(dir, "kd/p", |triple| *triple.tokens[3].last_mut().unwrap() = 64)
    }),
    defect("kd.eod.middle", "kd/p", |dir| token(dir, 199_999)),
    defect("kd.harmony.structure", "kd/p", |dir| token(dir, MESSAGE)),
    // A byte that cannot begin a character.
    defect("kd.token.text", "kd/p", |dir| token(dir, 94)),
    defect("kd.harmony.return", "kd/p", |dir| {
        Triple::change(dir, "kd/p", |triple| {
            let tokens = &mut triple.tokens[3];
            *tokens.iter_mut().find(|id| **id == RETURN).unwrap() = END;
        })
    }),
    defect("kd.harmony.policy", "chat/p", |dir| {
        let mut line = conversation(1);
        line["messages"][2]["channel"] = json!("commentary");
        dir.write("line", line.to_string() + "\n");
        dir.bash("harmony-tok --policy chat line | span-mask | mmidx-write --prefix chat/p").ok();
        edit_json(dir, "chat/p.part.json", |part| part["source"]["policy"] = json!("synth-kd-v1"));
    }),
    defect("kd.token.canonical", "kd/p", |dir| {
        Triple::change(dir, "kd/p", |triple| {
            // "a" and "a", which are one token when side by side.
            let place = triple.content(3, 1);
            triple.tokens[3][place + 1..place + 3].fill(64);
        });
    }),
    defect("kd.mask.unshifted", "kd/p", |dir| {
        masks(dir, |mask, span| {
            mask.rotate_right(1);
            span.rotate_right(1);
        })
    }),
    defect("kd.mask.double_shift", "kd/p", |dir| {
        masks(dir, |mask, span| {
            mask.rotate_left(1);
            span.rotate_left(1);
        })
    }),
    defect("kd.mask.swapped", "kd/p", |dir| masks(dir, std::mem::swap)),
    defect("kd.mask.value", "kd/p", |dir| {
        masks(dir, |mask, _| mask.iter_mut().for_each(|value| *value *= 255))
    }),
    defect("kd.span.value", "kd/p", |dir| {
        masks(dir, |_, span| span.iter_mut().filter(|id| **id == 2).for_each(|id| *id = 3))
    }),
    defect("kd.mask.last", "kd/p", |dir| {
        masks(dir, |mask, span| {
            *mask.last_mut().unwrap() = 1;
            *span.last_mut().unwrap() = 2;
        })
    }),
    defect("kd.mask.span", "kd/p", |dir| masks(dir, |mask, _| mask[0] = 1)),
    defect("kd.mask.derived", "kd/p", |dir| {
        masks(dir, |mask, span| {
            mask[0] = 1;
            span[0] = 1;
        })
    }),
    defect("kd.mask.unsupervised", "kd/p", |dir| {
        Triple::change(dir, "kd/p", |triple| {
            triple.mask[3].fill(0);
            triple.span[3].fill(0);
        })
    })
    .also(&["kd.mask.derived"]),
];

const ROOT: &str = "root/manifest.json";
const PART: &str = "root/parts/shard_00.json";

/// Changes what the root's and the part's manifest state for the train split of shard_00.
fn claims(dir: &TempDir, change: fn(&mut serde_json::Value)) {
    edit_json(dir, ROOT, |root| change(&mut root["splits"]["train"]["shards"][0]));
    edit_json(dir, PART, |part| change(&mut part["splits"]["train"]));
}

const MANIFESTS: &[Defect] = &[
    defect("kd.manifest.form", "part/p", |dir| {
        edit(dir, "part/p.part.json", |text| text.truncate(text.len() / 2))
    }),
    defect("kd.manifest.foreign", "r", |dir| {
        dir.bash("mkdir -p r/train; mv kd/p_* r/train").ok();
        dir.write("r/manifest.json", "{\"made_by\": \"another program\"}");
    }),
    defect("kd.manifest.file", "root", |dir| {
        // The whole split: of a triple's file it would be kd.triple.missing too.
        fs::remove_dir_all(dir.at("root/valid")).unwrap();
        fs::remove_dir_all(dir.at("root/ids/valid")).unwrap();
    }),
    defect("kd.manifest.bytes", "root", |dir| {
        claims(dir, |shard| shard["bytes"]["span_bin"] = json!(1))
    }),
    defect("kd.manifest.sha256", "root", |dir| {
        claims(dir, |shard| shard["sha256"]["tokens_idx"] = shard["sha256"]["span_idx"].clone())
    }),
    defect("kd.manifest.counts", "part/p", |dir| {
        edit_json(dir, "part/p.part.json", |part| part["splits"]["all"]["rows"] = json!(39))
    }),
    defect("kd.manifest.surplus", "root", |dir| {
        fs::write(dir.at("more"), conversation(99).to_string() + "\n").unwrap();
        dir.bash(
            "harmony-tok more | span-mask | mmidx-write --prefix root/train/shard_07 &&
             rm root/train/shard_07.part.json",
        )
        .ok();
    }),
    defect("kd.manifest.config", "root", |dir| {
        let hash = "0".repeat(64);
        for name in [ROOT, PART, "root/parts/shard_01.json"] {
            edit_json(dir, name, |manifest| manifest["config_hash"] = json!(hash));
        }
    }),
    defect("kd.manifest.parts", "root", |dir| {
        // (What a part has read is compared with the rows of its inputs, too.)
        edit_json(dir, "root/manifest.json", |manifest| {
            manifest["records"]["read"] = json!(46);
            manifest["records"]["rejected"] = json!(1);
        });
    }),
    defect("kd.manifest.input", "root --input-manifest other.json", |dir| {
        drop(dir.write("other.json", "{}"))
    }),
];

/// Writes a triple of these conversations.
fn triple(dir: &TempDir, prefix: &str, numbers: &[usize]) {
    let lines: String = numbers.iter().map(|&n| conversation(n).to_string() + "\n").collect();
    dir.write("lines", lines);
    dir.bash(&format!(
        "harmony-tok lines | span-mask | mmidx-write --prefix {prefix} --no-ids &&
         rm {prefix}.part.json"
    ))
    .ok();
}

/// Writes a root without manifest.json from `m.arrows`.
fn rows_in_root(dir: &TempDir, root: &str, fraction: &str) {
    let arguments = format!("--root {root} --shard s --valid-fraction {fraction}");
    dir.bash(&format!("mmidx-write m.arrows {arguments}")).ok();
}

const IDS: &[Defect] = &[
    defect("kd.ids.form", "kd/p", |dir| {
        edit(dir, "kd/p_ids.parquet", |file| file.truncate(file.len() - 8))
    }),
    defect("kd.ids.rows", "kd/p", |dir| {
        dir.bash("head -3 m.ndjson | mmidx-write --prefix few/p && cp few/p_ids.parquet kd").ok();
    }),
    defect("kd.ids.rows", "kd/p", |dir| {
        dir.bash(
            "(tail -1 m.ndjson; head -39 m.ndjson) | mmidx-write --prefix turned/p &&
             cp turned/p_ids.parquet kd",
        )
        .ok();
    }),
    defect("kd.ids.split", "a", |dir| {
        rows_in_root(dir, "a", "0.3");
        rows_in_root(dir, "b", "0.2");
        let other = dir.json("b/parts/s.json");
        edit_json(dir, "a/parts/s.json", |part| {
            part["config"] = other["config"].clone();
            part["config_hash"] = other["config_hash"].clone();
        });
    }),
    defect("kd.ids.repeated", "twice/p", |dir| {
        dir.bash("sed '2s/\"id-1\"/\"id-0\"/' m.ndjson | mmidx-write --prefix twice/p").ok();
    }),
    defect("kd.ids.surplus", "root", |dir| {
        drop(
            dir.write(
                "root/ids/train/shard_09.parquet",
                dir.read("root/ids/train/shard_00.parquet"),
            ),
        )
    }),
];

/// Writes the index cache of a triple of so many documents, as Megatron does, from a day ago.
fn cache(dir: &TempDir, documents: i32) {
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
}

const ROOTS: &[Defect] = &[
    defect("kd.root.unsupervised", "kd/p", |dir| {
        masks(dir, |mask, span| {
            mask.fill(0);
            span.fill(0);
        })
    })
    .also(&["kd.mask.derived", "kd.mask.unsupervised"]),
    defect("kd.tokenizer.other", "root", |dir| {
        drop(dir.write("root/tokenizer/tokenizer.json", "{}"))
    }),
    defect("kd.cache.documents", "cached", |dir| cache(dir, 5)),
    defect("kd.cache.documents", "cached", |dir| cache(dir, 2)),
    defect("kd.cache.older", "cached", |dir| cache(dir, 3)),
    defect("kd.root.stray", "bare", |dir| {
        triple(dir, "bare/train/p", &[1, 2, 3]);
        triple(dir, "bare/p", &[4, 5]);
    }),
    defect("kd.root.overlap", "bare", |dir| {
        triple(dir, "bare/train/p", &[1, 2, 3]);
        triple(dir, "bare/valid/p", &[4, 2]);
    }),
    defect("kd.root.repeated", "twice", |dir| triple(dir, "twice/p", &[1, 2, 1])),
    defect("kd.root.fraction", "bare", |dir| {
        triple(dir, "bare/train/p", &[1, 2, 3]);
        triple(dir, "bare/valid/p", &(4..30).collect::<Vec<_>>());
    }),
    defect("kd.root.manifest", "root --strict", |dir| {
        fs::remove_file(dir.at("root/manifest.json")).unwrap();
    }),
    defect("kd.root.temporary", "root", |dir| {
        drop(dir.write("root/train/.shard_00_span.bin.gristmill-tmp.host.1.0123456789abcdef", ""))
    }),
];

const SHARDS: &[Defect] = &[
    defect("shards.manifest.missing", "in", |dir| {
        fs::remove_file(dir.at("in/manifest.json")).unwrap()
    }),
    defect("shards.manifest.form", "in", |dir| {
        edit(dir, "in/manifest.json", |text| text.truncate(40))
    }),
    defect("shards.manifest.file", "in", |dir| {
        fs::remove_file(dir.at("in/synth_harmony_shard_01.parquet")).unwrap()
    }),
    defect("shards.manifest.surplus", "in", |dir| {
        shards(dir, "other", &[vec![98, 99]]);
        let from = dir.at("other/synth_harmony_shard_00.parquet");
        fs::rename(from, dir.at("in/synth_harmony_shard_02.parquet")).unwrap();
    }),
    defect("shards.manifest.sha256", "in", |dir| {
        edit_json(dir, "in/manifest.json", |manifest| {
            manifest["storage"]["shards"][0]["sha256"] = json!("0");
        })
    }),
    defect("shards.manifest.counts", "in", |dir| {
        edit_json(dir, "in/manifest.json", |manifest| {
            manifest["storage"]["shards"][1]["rows"] = json!(6);
            manifest["storage"]["total_rows"] = json!(46);
        })
    }),
];

const STREAMS: &[Defect] = &[
    defect("stream.end", "m.arrows", |dir| {
        edit(dir, "m.arrows", |stream| stream.truncate(stream.len() - 8))
    }),
    defect("stream.form", "c.parquet", |dir| {
        edit(dir, "c.parquet", |file| file.truncate(file.len() - 8))
    }),
    defect("stream.record", "t.ndjson", |dir| {
        edit_line(dir, "t.ndjson", 3, |line| line["tokens"] = json!("none"))
    }),
    defect("stream.type", "other.arrows", |dir| {
        let column = Arc::new(Int32Array::from(vec![1, 2]));
        let batch = RecordBatch::try_from_iter([("number", column as _)]).unwrap();
        let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
        writer.write(&batch).unwrap();
        dir.write("other.arrows", writer.into_inner().unwrap());
    }),
    defect("stream.rejected", "some.arrows", |dir| {
        dir.write("lines", conversations(2) + "{}\n");
        dir.bash("harmony-tok lines --on-error skip -q --to arrow > some.arrows").ok();
    }),
    defect("stream.id.repeated", "c.ndjson", |dir| {
        edit_line(dir, "c.ndjson", 5, |line| line["id"] = json!("id-1"))
    }),
    defect("stream.conversation.id", "c.ndjson", |dir| {
        edit_line(dir, "c.ndjson", 5, |line| line["id"] = json!(null))
    }),
    defect("stream.conversation.messages", "c.ndjson", |dir| {
        edit_line(dir, "c.ndjson", 5, |line| line["messages"] = json!(null))
    }),
    defect("stream.conversation.refused", "c.ndjson", |dir| {
        edit_line(dir, "c.ndjson", 5, |line| line["messages"][1]["role"] = json!("tool"))
    }),
    defect("stream.tokens.null", "m.ndjson", |dir| {
        edit_line(dir, "m.ndjson", 5, |line| line["span_id"] = json!(null))
    }),
    defect("stream.tokens.lengths", "m.ndjson", |dir| {
        edit_line(dir, "m.ndjson", 5, |line| {
            line["span_id"].as_array_mut().unwrap().push(json!(0));
        })
    }),
    defect("stream.tokens.unknown", "m.ndjson", |dir| {
        // (As of another tokenizer.)
        edit_line(dir, "m.ndjson", 5, |line| {
            let tokens = line["tokens"].as_array_mut().unwrap();
            tokens.iter_mut().for_each(|token| *token = json!(token.as_u64().unwrap() % 100_000));
        })
    }),
    defect("stream.tokens.alignment", "own.arrows", |dir| {
        dir.bash("span-mask t.arrows --align token --to arrow > own.arrows").ok();
    }),
    defect("stream.tokens.segments", "t.ndjson", |dir| {
        edit_line(dir, "t.ndjson", 5, |line| line["segments"][0]["role"] = json!("user"))
    }),
];
