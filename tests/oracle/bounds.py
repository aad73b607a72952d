"""Small files that are large in memory: `bounds.py DIRECTORY`."""

import json
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

directory = sys.argv[1]


def conversation(size):
    message = {"role": "assistant", "channel": "final", "content": "x" * size}
    return json.dumps({"messages": [message]})


def write(name, lengths):
    """Rows with texts of these lengths, dictionary-coded."""
    different = sorted(set(lengths))
    indices = pa.array(np.searchsorted(different, lengths).astype(np.int32))
    texts = pa.array([conversation(length) for length in different], pa.large_string())
    table = pa.table({
        "synth_id": pa.array(["a"] * len(lengths)),
        "messages_json": pa.DictionaryArray.from_arrays(indices, texts),
    })
    pq.write_table(table, f"{directory}/{name}.parquet", compression="zstd", store_schema=False,
                   row_group_size=len(lengths))


# 700 times the same text of 300 kB.
write("same", [300_000] * 700)
# Rows of 5 MB among many that are tiny.
write("mixed", [1] * 20_000 + [5_000_000] * 30 + [1] * 20_000)
