"""Raw SYNTH rows that conversations could have been made of: for measuring.

    python make_raw_rows.py CONVERSATIONS.parquet OUT.parquet

The texts of the user, the reasoning and the answer become columns, with the metadata columns and
those that no converter reads. Row groups of 2,000, zstd.
"""

import json
import sys

import pyarrow as pa
import pyarrow.parquet as pq

TEXTS = "synth_id language exercise model query query_seed_url query_seed_text additional_seed_url"
TEXTS += " seed_license constraints script synthetic_reasoning synthetic_answer"
SCHEMA = pa.schema([*((name, pa.string()) for name in TEXTS.split()), ("words", pa.int64())])
COLUMNS = {("user", None): "query", ("assistant", "analysis"): "synthetic_reasoning"}
COLUMNS["assistant", "final"] = "synthetic_answer"


def raw(row):
    made = {name: row.get(name) or "" for name in TEXTS.split()}
    for message in json.loads(row["messages_json"])["messages"]:
        column = COLUMNS.get((message["role"], message.get("channel")))
        if column:
            content = message["content"]
            parts = [content] if isinstance(content, str) else [part["text"] for part in content]
            made[column] += "".join(parts)
    made["words"] = len(made["synthetic_answer"].split())
    return made


def main():
    source, out = sys.argv[1:]
    with pq.ParquetWriter(out, SCHEMA, compression="zstd") as writer:
        for batch in pq.ParquetFile(source).iter_batches(2000):
            rows = [raw(row) for row in batch.to_pylist()]
            writer.write_table(pa.Table.from_pylist(rows, schema=SCHEMA))


main()
