"""Rows of every type, and what Python makes of them: an independent converter.

    python synth_raw.py make SEED OUT.parquet [OUT.arrows OUT.ndjson]
    python synth_raw.py convert IN.parquet FIELDS
    python synth_raw.py write EXPRESSION OUT.parquet

`convert` prints the columns of the conversations, one JSON object a line, as pyarrow's to_pylist,
json.dumps and str() give them.
"""

import json
import math
import random
import sys
import unicodedata

import pyarrow as pa
import pyarrow.parquet as pq

TEXTS = ["query", "synthetic_reasoning", "synthetic_answer"]
INTEGERS = [0, 1, -1, 5, 2**31 - 1, -(2**31), 2**53 + 1, 2**63 - 1, -(2**63)]
FLOATS = [0.0, -0.0, 1.0, 1.5, 0.1, 1e15, 1e16, 1e17, 1e22, 1e-4, 1e-5, 1.2e-7, 5e-324, 1e308, 123456.789,
          math.nan, math.inf, -math.inf, 2.0**53, 1 / 3]
PIECES = ["", "a", " ", "it's", '"so"', "\\", "\n", "\r", "\t", "\0", "\x1f", "\x7f", "\x80", "\xa0", "\xad", "é",
          "Ω", "\u200b", "\u2028", "\u2029", "\u3000", "\ufeff", "\ue000", "\uffff", "😀", "\U000e0001", "\U0010ffff",
          "日本", "/", "<|start|>", "{", "'", "word " * 9]


def text(rng):
    if rng.random() < 0.1:
        # What this Python and the program's Unicode both know.
        points = [rng.randrange(0x110000) for _ in range(40)]
        known = [chr(p) for p in points if unicodedata.category(chr(p)) not in ("Cn", "Cs")]
        return "".join(known)
    return "".join(rng.choice(PIECES) for _ in range(rng.randrange(1, 6)))


def value(rng, kind):
    """A value of a type, or None."""
    if rng.random() < 0.15:
        return None
    if pa.types.is_boolean(kind):
        return rng.random() < 0.5
    if pa.types.is_floating(kind):
        limit = {16: 6e4, 32: 3e38, 64: math.inf}[kind.bit_width]
        found = rng.choice(FLOATS) if rng.random() < 0.5 else rng.uniform(-1, 1) * 10 ** rng.randrange(-30, 30)
        return found if math.isnan(found) or math.isinf(found) or abs(found) < limit else 1.5
    if pa.types.is_integer(kind):
        signed = not pa.types.is_unsigned_integer(kind)
        low = -(2 ** (kind.bit_width - 1)) if signed else 0
        high = 2 ** (kind.bit_width - signed) - 1
        fitting = [number for number in INTEGERS + [high, low] if low <= number <= high]
        return rng.choice(fitting)
    if pa.types.is_struct(kind):
        return {field.name: value(rng, field.type) for field in kind}
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [value(rng, kind.value_type) for _ in range(rng.randrange(3))]
    if pa.types.is_fixed_size_list(kind):
        return [value(rng, kind.value_type) for _ in range(kind.list_size)]
    if pa.types.is_null(kind):
        return None
    return text(rng)


def random_type(rng, depth=0):
    plain = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string()), pa.bool_(),
             pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(),
             pa.float16(), pa.float32(), pa.float64(), pa.null()]
    if depth < 3 and rng.random() < 0.4:
        inner = [random_type(rng, depth + 1) for _ in range(2)]
        # Dictionaries and views in lists are not what Parquet gives back.
        inner = [pa.string() if pa.types.is_dictionary(t) or t == pa.string_view() else t for t in inner]
        return rng.choice([pa.list_(inner[0]), pa.large_list(inner[0]), pa.list_(inner[0], 2),
                           pa.struct([("a", inner[0]), ("it's", inner[1])])])
    return rng.choice(plain)


def make(seed, parquet, *others):
    rng = random.Random(seed)
    rows = 40
    columns = {}
    for name in TEXTS:
        kind = pa.string() if rng.random() < 0.7 else random_type(rng)
        columns[name] = column(rng, kind, rows)
    for number in range(8):
        columns[f"f{number}"] = column(rng, random_type(rng), rows)
    table = pa.table(columns)
    pq.write_table(table, parquet, row_group_size=rng.choice([7, 100]))
    if others:
        with pa.ipc.new_stream(others[0], table.schema) as writer:
            writer.write_table(table, max_chunksize=11)


def column(rng, kind, rows):
    values = [value(rng, kind) for _ in range(rows)]
    if pa.types.is_dictionary(kind):
        return pa.array(values, pa.string()).dictionary_encode()
    if kind == pa.float16():
        import numpy as np
        values = [None if v is None else np.float16(v) for v in values]
    return pa.array(values, kind)


def convert(parquet, fields):
    fields = fields.split(",")
    for row in pq.read_table(parquet).to_pylist():
        query, reasoning, answer = (row.get(name) for name in TEXTS)
        if not query or not reasoning or not answer:
            continue
        messages = [
            {"role": "user", "content": [{"type": "text", "text": plain(query)}]},
            {"role": "assistant", "content": [{"type": "text", "text": plain(reasoning)}], "channel": "analysis"},
            {"role": "assistant", "content": [{"type": "text", "text": plain(answer)}], "channel": "final"},
        ]
        metadata = {field: plain(row[field]) for field in fields if field in row}
        made = {"messages": json.dumps(messages)[1:], "metadata_json": json.dumps(metadata)}
        for field in fields:
            found = plain(row.get(field))
            made[field] = None if found is None else str(found)
        print(json.dumps(made))


def write(expression, parquet):
    """Rows whose texts are single letters, and a column `v` of the values."""
    columns = eval("{'v': " + expression + "}")
    columns.update((name, ["x"] * len(columns["v"])) for name in TEXTS)
    pq.write_table(pa.table(columns), parquet)


def plain(found):
    """Half floats as floats: newer versions of pyarrow give numpy's."""
    if isinstance(found, list):
        return [plain(item) for item in found]
    if isinstance(found, dict):
        return {name: plain(item) for name, item in found.items()}
    return float(found) if type(found).__name__ == "float16" else found


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    if command == "make":
        make(int(arguments[0]), *arguments[1:])
    else:
        {"convert": convert, "write": write}[command](*arguments)
