"""Rows of another tool, and what one would write in Python to check them with a model's tokenizer.

    python rows_peer.py make ROWS.parquet OUT.parquet       the columns as another tool would have them
    python rows_peer.py check MODEL ROWS.parquet            labels fit; each text is encoded to the same ids
"""

import sys

import pyarrow as pa
import pyarrow.parquet as pq


def make(path, out):
    table = pq.read_table(path, columns=["input_ids", "labels"])
    pq.write_table(table.cast(pa.schema([(name, pa.list_(pa.int64())) for name in table.column_names])), out)


def check(model, path):
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(f"{model}/tokenizer.json")
    wrong = 0
    for batch in pq.ParquetFile(path).iter_batches(1000):
        ids, labels = (batch.column(name).to_pylist() for name in ("input_ids", "labels"))
        texts = tokenizer.decode_batch(ids, skip_special_tokens=False)
        again = tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        for own, label, other in zip(ids, labels, again):
            wrong += own != other.ids or any(b not in (-100, a) for a, b in zip(own, label))
    print(wrong)


if __name__ == "__main__":
    name, *arguments = sys.argv[1:]
    globals()[name](*arguments)
