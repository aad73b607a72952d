"""The numbers of ds-stat, computed by numpy, pyarrow and json from the files themselves.

stat.py root ROOT... | conversations FILE | pack PACK | puzzles ROOT
"""
import hashlib
import json
import pathlib
import sqlite3
import sys

import numpy as np


def distribution(values):
    values = np.asarray(values, dtype=np.int64)
    numbers, counts = np.unique(values, return_counts=True)
    quantile = lambda q: float(np.percentile(values, q))
    return {
        "count": len(values), "sum": int(values.sum()), "mean": float(values.mean()),
        "min": int(values.min()), "median": quantile(50), "p90": quantile(90),
        "p99": quantile(99), "max": int(values.max()),
        "counts": [[int(n), int(c)] for n, c in zip(numbers, counts)],
    }


def sequences(prefix, suffix, dtype):
    idx = pathlib.Path(f"{prefix}_{suffix}.idx").read_bytes()
    count = int.from_bytes(idx[18:26], "little")
    lengths = np.frombuffer(idx, "<i4", count, 34)
    offsets = np.frombuffer(idx, "<i8", count, 34 + 4 * count)
    data = np.fromfile(f"{prefix}_{suffix}.bin", dtype)
    size = np.dtype(dtype).itemsize
    return [data[o // size : o // size + n] for o, n in zip(offsets, lengths)]


def repeated(keys):
    return len(keys) - len(set(keys))


def root(*roots):
    tokens, masks, spans = [], [], []
    for directory in roots:
        for split in ("train", "valid"):
            for idx in sorted(pathlib.Path(directory, split).glob("*_tokens.idx")):
                prefix = str(idx)[: -len("_tokens.idx")]
                tokens += sequences(prefix, "tokens", "<i4")
                masks += sequences(prefix, "lossmask", "u1")
                spans += sequences(prefix, "span", "u1")
    ids, counts = np.unique(np.concatenate(spans), return_counts=True)
    return {
        "records": len(tokens), "tokens": sum(map(len, tokens)),
        "lengths": distribution([len(t) for t in tokens]),
        "supervised": int(sum((m != 0).sum() for m in masks)),
        "spans": {str(i): int(c) for i, c in zip(ids, counts) if i},
        "no_reasoning": sum(1 for s in spans if not (s == 1).any()),
        "no_final": sum(1 for s in spans if not (s == 2).any()),
        "nothing_supervised": sum(1 for m in masks if not m.any()),
        "longer": sum(1 for t in tokens if len(t) > 800),
        "repeated_texts": repeated([t.tobytes() for t in tokens]),
        "messages": int(sum((t == 200006).sum() for t in tokens)),
    }


def text_length(content):
    if isinstance(content, str):
        return len(content)
    if isinstance(content, list):
        return sum(map(text_length, content))
    if isinstance(content, dict):
        return sum(text_length(value) for key, value in content.items() if key != "type")
    return 0


def conversations(path):
    import pyarrow.parquet

    rows = pyarrow.parquet.read_table(path).to_pylist()
    roles, languages, lengths = {}, {}, []
    for row in rows:
        messages = json.loads(row["messages_json"])["messages"]
        total = 0
        for message in messages:
            length = text_length(message["content"])
            total += length
            roles.setdefault(message["role"], []).append(length)
        lengths.append(total)
        languages.setdefault(row["language"], []).append(total)
    return {
        "records": len(rows), "lengths": distribution(lengths),
        "bytes": sum(len(row["messages_json"].encode()) for row in rows),
        "roles": {role: distribution(of) for role, of in roles.items()},
        "languages": {language: distribution(of) for language, of in languages.items()},
        "repeated_ids": repeated([row["synth_id"] for row in rows]),
        "repeated_texts": repeated([row["messages_json"] for row in rows]),
    }


def pack(directory):
    rows = np.load(pathlib.Path(directory, "steps.npy"))
    names = json.loads(pathlib.Path(directory, "valuation_types.json").read_text())
    if isinstance(names, list):
        names = dict(enumerate(names))
    else:
        names = {int(number): name for name, number in names.items()}
    types, counts = np.unique(rows["valuation_type"], return_counts=True)
    database = sqlite3.connect(f"file:{directory}/metadata.db?mode=ro", uri=True)
    runs = database.execute("SELECT steps, max_score, highest_tile FROM runs").fetchall()
    legal = int(np.unpackbits(rows["ev_legal"]).sum())
    return {
        "records": len(runs),
        "steps": distribution(np.unique(rows["run_id"], return_counts=True)[1]),
        "scores": distribution([run[1] for run in runs]),
        "tiles": distribution([run[2] for run in runs]),
        "valuations": {names[int(t)]: int(c) for t, c in zip(types, counts)},
        "legal_moves": legal, "legal_share": legal / (4 * len(rows)),
    }


def puzzles(directory, blank):
    all_inputs, all_labels, puzzle_count, group_count = [], [], 0, 0
    for split in ("train", "test"):
        for inputs in sorted(pathlib.Path(directory, split).glob("*__inputs.npy")):
            load = lambda name: np.load(str(inputs).replace("__inputs", f"__{name}"))
            all_inputs.append(load("inputs"))
            all_labels.append(load("labels"))
            puzzle_count += len(load("puzzle_identifiers"))
            group_count += len(load("group_indices")) - 1
    inputs, labels = np.concatenate(all_inputs), np.concatenate(all_labels)
    count = lambda side: {str(t): int(c) for t, c in zip(*np.unique(side, return_counts=True))}
    return {
        "records": len(inputs), "puzzles": puzzle_count, "groups": group_count,
        "inputs": count(inputs), "labels": count(labels),
        "given": distribution((inputs > int(blank)).sum(axis=1)),
        "repeated_texts": repeated([a.tobytes() + b.tobytes() for a, b in zip(inputs, labels)]),
    }


print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])))
