"""Compares ROOT/manifest.json with the files that it describes, every number and hash anew."""

import hashlib
import json
import os
import sys
from collections import Counter

import mmidx

root = sys.argv[1]
manifest = json.load(open(os.path.join(root, "manifest.json")))

config = json.dumps(manifest["config"], sort_keys=True, separators=(",", ":"), ensure_ascii=True)
assert hashlib.sha256(config.encode()).hexdigest() == manifest["config_hash"], config

described = set()
for name, split in manifest["splits"].items():
    rows, tokens, spans = 0, 0, Counter()
    assert [s["name"] for s in split["shards"]] == sorted(s["name"] for s in split["shards"])
    for shard in split["shards"]:
        keys = {f"{d}_{e}" for d in ("tokens", "lossmask", "span") for e in ("bin", "idx")}
        keys.add("ids")
        assert set(shard["paths"]) == set(shard["bytes"]) == set(shard["sha256"]) == keys
        for key, path in shard["paths"].items():
            data = open(os.path.join(root, path), "rb").read()
            beside = f"{name}/{shard['name']}_ids.parquet"
            if key == "ids":
                assert path in (f"ids/{name}/{shard['name']}.parquet", beside), path
            else:
                assert path == f"{name}/{shard['name']}_{key.replace('_', '.')}", path
            assert len(data) == shard["bytes"][key], path
            assert hashlib.sha256(data).hexdigest() == shard["sha256"][key], path
            described.add(path)
        read = mmidx.triple(os.path.join(root, name, shard["name"]))
        assert len(read) == shard["rows"]
        assert sum(len(t) for t, _, _ in read) == shard["tokens"]
        rows += shard["rows"]
        tokens += shard["tokens"]
        for _, _, span in read:
            spans.update(span.tolist())
    spans.pop(0, None)
    assert (rows, tokens) == (split["rows"], split["tokens"])
    assert {str(k): v for k, v in spans.items()} == split["supervised_tokens"], name

found = {
    os.path.relpath(os.path.join(d, f), root)
    for d, _, files in os.walk(root)
    for f in files
    if f.endswith((".bin", ".idx", ".parquet"))
}
assert found == described, found ^ described

source = manifest["input"]
if source["manifest_sha256"] is not None:
    data = open(source["manifest_path"], "rb").read()
    assert hashlib.sha256(data).hexdigest() == source["manifest_sha256"]
written = sum(split["rows"] for split in manifest["splits"].values())
print(json.dumps({"rows": written, "records": manifest["records"]}))
