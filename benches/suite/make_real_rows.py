"""SYNTH rows of real texts, none of which comes twice: for measuring.

    python make_real_rows.py SAMPLE.parquet TEXTS.ndjson OUT.parquet ROWS

Each row is one of the sample whose texts of user and assistant are parts of one document of TEXTS (a JSON string a
line): its first lines the question, then reasoning and answer. Ids are unique. Row groups of 2,000, zstd.
"""

import itertools
import json
import sys

import pyarrow as pa
import pyarrow.parquet as pq

from make_synth_rows import GROUP, texts, with_id


def make(number, row, text):
    conversation = json.loads(row["messages_json"])
    parts = [part for _, part in texts(conversation["messages"])]
    lines = text.splitlines(keepends=True)
    size = -(-len(lines) // len(parts))
    for at, part in enumerate(parts):
        part["text"] = "".join(lines[at * size : (at + 1) * size]) or "."
    return with_id(row, f"real_{number:09d}", json.dumps(conversation, ensure_ascii=False))


def main():
    sample, source, out, count = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    rows, schema = pq.read_table(sample).to_pylist(), pq.read_schema(sample)
    with open(source) as lines, pq.ParquetWriter(out, schema, compression="zstd") as writer:
        made = (make(number, rows[number % len(rows)], json.loads(line)) for number, line in enumerate(lines))
        made = itertools.islice(made, count)
        while group := list(itertools.islice(made, GROUP)):
            writer.write_table(pa.Table.from_pylist(group, schema=schema))


main()
