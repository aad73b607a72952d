"""Writes and compares streams and Parquet files with pyarrow."""

import json
import os
import sys

import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

OPTIONS = ipc.IpcWriteOptions


def table_of(path):
    """The rows of a Parquet file, or of the streams one after another in a file."""
    if open(path, "rb").read(4) == b"PAR1":
        return pq.read_table(path)
    tables = []
    with pa.OSFile(path) as file:
        while file.tell() < file.size():
            reader = ipc.open_stream(file)
            batches = list(reader)
            tables.append(pa.Table.from_batches(batches, reader.schema))
    return pa.concat_tables(tables)


def rows(path):
    """Prints the rows as NDJSON."""
    for row in table_of(path).to_pylist():
        print(json.dumps(row))


def metadata(path):
    """Prints the schema's metadata, JSON values read."""
    found = {k.decode(): v.decode() for k, v in (ipc.open_stream(path).schema.metadata or {}).items()}
    for key in ("gristmill.parameters", "gristmill.provenance"):
        if key in found:
            found[key] = json.loads(found[key])
    print(json.dumps(found))


def without_nulls(rows):
    """The rows without the members of messages that NDJSON leaves out where they are null."""
    for message in (message for row in rows for message in row.get("segments", row.get("messages"))):
        for name in ("train", "name"):
            if message.get(name, "") is None:
                del message[name]
    return rows


def twins(ndjson, arrow):
    """The NDJSON lines are the rows of the stream, and every batch is valid."""
    lines = [json.loads(line) for line in open(ndjson)]
    table = table_of(arrow)
    table.validate(full=True)
    assert without_nulls(table.to_pylist()) == lines
    assert table.schema.names == list(lines[0]) if lines else True
    print(len(lines))


def row_groups(source, target, size):
    """The same rows in row groups of another size."""
    pq.write_table(pq.read_table(source), target, row_group_size=int(size), compression="zstd")


def write(path, table, options=None, rows_in_batch=None, batches=None):
    with ipc.new_stream(path, table.schema, options=options) as out:
        for batch in batches or table.to_batches(max_chunksize=rows_in_batch):
            out.write_batch(batch)


def retype(table, **types):
    for name, data_type in types.items():
        index = table.schema.names.index(name)
        table = table.set_column(index, pa.field(name, data_type), table[name].cast(data_type))
    return table


def variants(source, directory):
    """Streams of the same tokens records as others may write them; prints their names."""
    table = table_of(source).combine_chunks()
    bare = table.replace_schema_metadata(None)
    segment = table.schema.field("segments").type.value_type
    reordered = pa.struct([segment.field(name) for name in ("end", "channel", "start", "role")])
    other_segments = pa.array(bare["segments"].to_pylist(), pa.large_list(reordered))
    wide = pa.struct([*segment, pa.field("more", pa.float64())])
    wide_segments = pa.array(bare["segments"].to_pylist(), pa.list_(wide))
    at = bare.schema.names.index("segments")
    long_list = pa.large_list(pa.int64())
    empty = pa.RecordBatch.from_pylist([], bare.schema)
    made = {
        "bare": dict(table=bare),
        "large": dict(table=retype(bare, id=pa.large_utf8(), tokens=long_list)),
        "unsigned": dict(table=retype(bare, tokens=pa.list_(pa.uint32()))),
        "nullable": dict(table=retype(bare, tokens=pa.list_(pa.field("element", pa.int32(), True)))),
        "view": dict(table=retype(bare, id=pa.string_view())),
        "dictionary": dict(table=bare.set_column(0, "id", bare["id"].dictionary_encode())),
        "segments-reordered": dict(table=bare.set_column(at, "segments", other_segments)),
        "segments-wide": dict(table=bare.set_column(at, "segments", wide_segments)),
        "columns-reversed": dict(table=bare.select(bare.schema.names[::-1])),
        "columns-more": dict(table=bare.append_column("x", pa.array([None] * len(bare), pa.null()))
                             .append_column("y", pa.array([{"z": 1.5}] * len(bare)))),
        "batches-of-1": dict(table=bare, rows_in_batch=1),
        "batches-empty": dict(table=bare, batches=[empty, *bare.to_batches(), empty]),
        "sliced": dict(table=bare, batches=[b for i in range(0, len(bare), 3)
                                            for b in bare.slice(i, 3).to_batches()]),
        "zstd": dict(table=table, options=OPTIONS(compression="zstd")),
        "lz4": dict(table=table, options=OPTIONS(compression="lz4")),
        "zstd-large": dict(table=retype(bare, tokens=long_list), options=OPTIONS(compression="zstd")),
    }
    parts = [b for i in range(0, len(bare), 3) for b in bare.slice(i, 3).to_batches()]
    ids = pa.chunked_array([b.column(0) for b in parts]).dictionary_encode()
    changing = [b.set_column(0, "id", b.column(0).dictionary_encode()) for b in parts]
    made["dictionary-replaced"] = dict(table=bare.set_column(0, "id", ids), batches=changing)
    made["dictionary-deltas"] = dict(
        table=bare.set_column(0, "id", ids), rows_in_batch=3,
        options=OPTIONS(emit_dictionary_deltas=True))
    for name, arguments in made.items():
        write(os.path.join(directory, name + ".arrows"), **arguments)
    both = [open(os.path.join(directory, n + ".arrows"), "rb").read() for n in ("zstd", "large")]
    open(os.path.join(directory, "twice.arrows"), "wb").write(both[0] + both[1])
    print(json.dumps(sorted(made)))


def wrong(directory):
    """Streams that are no token sequences; prints the message expected for each."""
    i32 = pa.list_(pa.int32())
    ids = pa.array(["a", "b"])
    cases = {
        "too-large": ({"id": ids, "tokens": pa.array([[1], [2**31]], pa.list_(pa.int64()))}, "2147483648"),
        "floats": ({"id": ids, "tokens": pa.array([[1.0], [2.5]])}, 'column "tokens": expected a list of int32, got a list of float64'),
        "text": ({"id": ids, "tokens": pa.array(["1", "2"])}, 'column "tokens": expected a list of int32, got utf8'),
        "null-tokens": ({"id": ids, "tokens": pa.array([[1], None], i32)}, 'tokens is null'),
        "null-token": ({"id": ids, "tokens": pa.array([[1], [None]], i32)}, "null"),
        "binary-id": ({"id": pa.array([b"a", b"b"]), "tokens": pa.array([[1], [2]], i32)}, 'column "id": expected utf8, got binary'),
        "no-tokens": ({"id": ids, "token": pa.array([[1], [2]], i32)}, 'no column "tokens"; there are: id, token'),
    }
    for name, (columns, _) in cases.items():
        write(os.path.join(directory, name + ".arrows"), pa.table(columns))
    print(json.dumps({name: text for name, (_, text) in cases.items()}))


def conversations(ndjson, directory):
    """Conversations as others may keep them: streams and Parquet with messages_json."""
    lines = [json.loads(line) for line in open(ndjson)]
    texts = [json.dumps({"messages": line["messages"]}) for line in lines]
    numbers = pa.array(range(len(lines)))
    names = [str(number) for number in range(len(lines))]
    made = {
        "int-id": {"id": numbers, "messages_json": pa.array(texts, pa.large_utf8())},
        "uint8-id": {"synth_id": numbers.cast(pa.uint8()), "messages_json": pa.array(texts)},
        "view": {"messages_json": pa.array(texts, pa.string_view()), "id": pa.array(names)},
        "both-ids": {"id": pa.array(["x"] * len(lines)), "synth_id": pa.array(names), "messages_json": texts},
        "some-ids": {"id": pa.array(names), "synth_id": pa.array([None] * len(lines), pa.utf8()),
                     "messages_json": pa.array(texts).dictionary_encode(), "more": numbers},
    }
    # As datasets of Hugging Face, and of polars, have them: a column for every member.
    structs = pa.array([line["messages"] for line in lines])
    assert "channel" in str(structs.type)
    item = pa.struct([
        ("role", pa.large_utf8()), ("content", pa.large_utf8()), ("channel", pa.large_utf8()),
        ("tool_calls", pa.list_(pa.struct([("name", pa.utf8())]))),
    ])
    messages = [[dict(message) for message in line["messages"]] for line in lines]
    made["structs"] = {"id": pa.array(names), "messages": structs}
    made["large-structs"] = {"messages": pa.array(messages, pa.large_list(item)), "id": numbers}
    made["content-lists"] = {
        "id": numbers,
        "messages": pa.array([
            [dict(m, content=[{"type": "text", "text": m["content"]}]) for m in line["messages"]]
            for line in lines
        ]),
    }
    for name, columns in made.items():
        table = pa.table(columns)
        write(os.path.join(directory, name + ".arrows"), table, rows_in_batch=4)
        pq.write_table(table, os.path.join(directory, name + ".parquet"), row_group_size=3)
    print(json.dumps(sorted(made)))


COMMANDS = {
    "rows": rows,
    "metadata": metadata,
    "twins": twins,
    "row-groups": row_groups,
    "variants": variants,
    "wrong": wrong,
    "conversations": conversations,
}

if __name__ == "__main__":
    COMMANDS[sys.argv[1]](*sys.argv[2:])
