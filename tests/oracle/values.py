"""Tables with values of every kind, good and bad ones, and how they are printed: values.py DIRECTORY

good.arrows and good.parquet with good.ndjson; the others are named where they are made.
"""

import datetime as dt
import decimal
import json
import os
import sys
import uuid

import pyarrow as pa
import pyarrow.parquet as pq

directory = sys.argv[1]
decimal.getcontext().prec = 80


def at(name):
    return os.path.join(directory, name)


def both(name, columns):
    """A table as Arrow and as Parquet."""
    table = pa.table(columns)
    with pa.ipc.new_stream(at(f"{name}.arrows"), table.schema) as out:
        out.write_table(table)
    pq.write_table(table, at(f"{name}.parquet"), store_schema=False)


def decimals(kind, texts):
    values = [text and decimal.Decimal(text) for text in texts]
    return pa.array(values, kind), [text and format(value, "f") for text, value in zip(texts, values)]


# Each column with the JSON of its values.
SECONDS = [0, 1_700_000_000, -1]
columns = {
    "cents": decimals(pa.decimal128(10, 2), ["0.00", "-0.05", "12345678.90"]),
    "whole": decimals(pa.decimal128(38, 0), ["0", "-7", "99999999999999999999999999999999999999"]),
    "wide": decimals(pa.decimal256(60, 10), ["0.0000000001", None, "-123456789012345678901234567890.5"]),
}
columns["wide"] = (columns["wide"][0], ["0.0000000001", None, "-123456789012345678901234567890.5000000000"])
for unit, more in [("s", ""), ("us", ".000007")]:
    scale, rest = (1, 0) if unit == "s" else (10**6, 7)
    texts = [dt.datetime.fromtimestamp(s, dt.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S") + more for s in SECONDS]
    for name, zone, end in [("utc", "UTC", "Z"), ("berlin", "Europe/Berlin", "Z"), ("zero", "+00:00", "Z"), ("none", None, "")]:
        if unit == "s" and zone is None:
            continue
        # (Parquet has no seconds.)
        values = pa.array([s * scale + rest for s in SECONDS], pa.timestamp(unit, zone))
        columns[f"{name}_{unit}"] = (values, [json.dumps(text + end) for text in texts])
ids = [uuid.UUID(int=number) for number in (1, 2**127 + 5, 2**128 - 1)]
columns["uuid"] = (pa.ExtensionArray.from_storage(pa.uuid(), pa.array([i.bytes for i in ids], pa.binary(16))),
                   [json.dumps(str(i)) for i in ids])
columns["fixed"] = (pa.array([b"abcd", "é__".encode(), None], pa.binary(4)), ['"abcd"', '"é__"', None])
columns["bytes"] = (pa.array([b"", "é\"".encode(), None], pa.binary()), ['""', '"é\\""', None])
columns["large"] = (pa.array([b"x", b"y", b"z"], pa.large_binary()), ['"x"', '"y"', '"z"'])
columns["listed"] = (pa.array([[decimal.Decimal("1.5"), None], [], None], pa.list_(pa.decimal128(3, 1))), ["[1.5,null]", "[]", None])
columns["struct"] = (pa.array([{"w": decimal.Decimal("0.0"), "b": b"t"}] * 3, pa.struct([("w", pa.decimal128(2, 1)), ("b", pa.binary())])),
                     ['{"w":0.0,"b":"t"}'] * 3)
both("good", {name: values for name, (values, _) in columns.items()})
with open(at("good.ndjson"), "w") as lines:
    for row in range(3):
        members = (f"{json.dumps(name)}:{texts[row] or 'null'}" for name, (_, texts) in columns.items())
        print("{" + ",".join(members) + "}", file=lines)

# (Parquet has no negative scale.)
tens = pa.array([0, 12, -3, None], pa.int64()).cast(pa.decimal128(19, 0))
tens = pa.Array.from_buffers(pa.decimal128(19, -3), 4, tens.buffers())
with pa.ipc.new_stream(at("tens.arrows"), pa.schema([("n", tens.type)])) as out:
    out.write_table(pa.table({"n": tens}))

# Bytes that are no text, in the second row.
bad = [b"text", b"\xff", b"more"]
both("bad_plain", {"blob": pa.array(bad)})
both("bad_view", {"blob": pa.array(bad, pa.large_binary())})
both("bad_fixed", {"blob": pa.array([b"ab", b"\xc3\x28", b"cd"], pa.binary(2))})
both("bad_struct", {"blob": pa.array([{"b": b} for b in bad])})
both("bad_list", {"blob": pa.array([[b"good", b] for b in bad])})
with pa.ipc.new_stream(at("bad_map.arrows"), pa.schema([("blob", pa.map_(pa.string(), pa.binary()))])) as out:
    out.write_table(pa.table({"blob": pa.array([[("k", b)] for b in bad], pa.map_(pa.string(), pa.binary()))}))

# Chats with weights as DuckDB has them, and with columns that nobody uses.
message = pa.struct([("role", pa.string()), ("content", pa.string()), ("weight", pa.decimal128(2, 1))])


def chat(weight):
    return [{"role": "user", "content": "q", "weight": None},
            {"role": "assistant", "content": "a", "weight": weight and decimal.Decimal(weight)}]


unused = {
    "blob": pa.array(bad),
    "picture": pa.array([{"bytes": b} for b in bad]),
    "at": pa.array([1, 2, 3], pa.timestamp("us", "UTC")),
    "uuid_bytes": pa.array([i.bytes for i in ids], pa.binary(16)),
    "map": pa.array([[("k", b)] for b in bad], pa.map_(pa.string(), pa.binary())),
}
both("weights", {"id": ["a", "b", "c"], "messages": pa.array([chat("0.0"), chat("1.0"), chat(None)], pa.list_(message)), **unused})
both("weight", {"id": ["a", "b", "c"], "weight": pa.array([decimal.Decimal(w) for w in ("0.0", "1.0", "1.0")], pa.decimal128(2, 1)),
                "messages": pa.array([[{"role": "assistant", "content": "a"}]] * 3)})

# Chats whose texts are bytes.
both("chats", {"id": ["a", "b", "c"], "messages": pa.array([[{"role": "assistant", "channel": "final", "content": b}] for b in bad]), **unused})
call = {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}}]}
both("answers", {"id": ["a", "b", "c"], "messages": pa.array([
    [{"role": "user", "content": b"q"}, call, {"role": "tool", "content": b}, {"role": "assistant", "content": b"x"}] for b in bad])})
both("columns", {"id": ["a", "b", "c"], "user": pa.array(bad), "final": ["x", "y", "z"]})
both("system", {"id": ["a", "b", "c"], "system": pa.array(bad), "messages": pa.array([[{"role": "assistant", "content": "a"}]] * 3)})

# One number that is none, beside columns that NDJSON is not read into.
both("nan", {
    "seconds": [1.0, float("nan"), 2.0],
    "cells": pa.array([[1], [2], None], pa.large_list(pa.uint8())),
    "at": unused["at"], "blob": unused["blob"], "small": pa.array([1, 2, 3], pa.int16()),
    "inner": pa.array([{"at": 1, "x": 1.0}] * 3, pa.struct([("at", pa.timestamp("us")), ("x", pa.float64())])),
})
both("nan_inside", {"cells": pa.array([[1.0], [float("nan")], None], pa.large_list(pa.float32()))})

# Raw rows with a map, null but in the second.
rows = {"synth_id": ["a", "b", "c"], "query": ["q"] * 3, "synthetic_reasoning": ["r"] * 3, "synthetic_answer": ["s"] * 3}
both("raw_map", rows | {"constraints": pa.array([None, [("k", "v")], None], pa.map_(pa.string(), pa.string()))})
