"""Chats of a model in Parquet, and the rows of a root made of them, by transformers and pyarrow alone.

  chat_rows.py parquet CHATS OUT ROWS        JSONL as a table, in row groups of so many rows
  chat_rows.py rows MODEL CHATS FILE...      the pieces of packed rows (TRL) are the chats, each once: ids, and labels
                                             on what the model would have generated
"""

import json
import sys
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq

from chat_tok import records


def parquet(chats, out, rows):
    table = pa.Table.from_pylist([json.loads(line) for line in open(chats)])
    pq.write_table(table, out, row_group_size=int(rows))


def rows(model, chats, *files):
    # Position 0 of a sequence is nobody's label.
    label = lambda at, token, mask: token if mask and at else -100
    expected = Counter(
        (tuple(ids), tuple(label(at, *pair) for at, pair in enumerate(zip(ids, mask))))
        for _, _, ids, mask in records(model, chats, {})
    )
    found = Counter()
    for file in files:
        for row in pq.read_table(file).to_pylist():
            start = 0
            for length in row["seq_lengths"]:
                piece = slice(start, start + length)
                found[tuple(row["input_ids"][piece]), tuple(row["labels"][piece])] += 1
                start += length
            assert start == len(row["input_ids"]) == len(row["labels"]), row
    assert found == expected, (found - expected, expected - found)
    print(sum(found.values()))


if __name__ == "__main__":
    {"parquet": parquet, "rows": rows}[sys.argv[1]](*sys.argv[2:])
